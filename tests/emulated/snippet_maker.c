/* SPDX-License-Identifier: MIT */
#include "snippet_maker.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LOCALS = 3 };

struct maker {
    struct draws *draws;
    const struct snippet_scope *scope;
    char *text;
    size_t size, used;
    int locals; /* t0, t1, ... that have a value */
};

/* Vigna's splitmix64. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Mixed, or neighbouring seeds would have nearly the same numbers. */
struct draws draws_of(uint64_t seed)
{
    return (struct draws){mix(seed + 1)};
}

uint32_t draw_below(struct draws *draws, uint32_t count)
{
    draws->state += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mix(draws->state) >> 32) % count;
}

static void put(struct maker *maker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct maker *maker, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int written =
        vsnprintf(maker->text + maker->used, maker->size - maker->used, format, args);
    va_end(args);
    maker->used += (size_t)written;
    if (maker->used >= maker->size) {
        fprintf(stderr, "Bail out! a random snippet is longer than %zu bytes\n",
                maker->size);
        exit(1);
    }
}

static uint32_t below(struct maker *maker, uint32_t count)
{
    return draw_below(maker->draws, count);
}

static bool chance(struct maker *maker, uint32_t percent)
{
    return below(maker, 100) < percent;
}

static void put_float(struct maker *maker, int depth);

/* -------------------------------------------------------------- integers and truths */

static void put_integer(struct maker *maker, int depth)
{
    static const char *const leaves[] = {"row", "col", "batch", "M", "N", "K", "3", "10"};
    static const char *const forms[] = {" + ",     " - ", " % 7 + ", " / 3 - ",
                                        " * 2 + ", " & ", " | ",     " ^ "};
    if (depth <= 0) {
        put(maker, "%s", leaves[below(maker, 8)]);
        return;
    }
    if (chance(maker, 8)) {
        put(maker, "int(clamp(");
        put_float(maker, depth - 1);
        put(maker, ", -50.0f, 50.0f) * 1.37f)");
        return;
    }
    const bool is_shifted = chance(maker, 10); /* of a number that is not negative */
    put(maker, is_shifted ? "((15 & " : "(");
    put_integer(maker, depth - 1);
    put(maker, "%s", is_shifted ? ") << 2)" : forms[below(maker, 8)]);
    if (!is_shifted) {
        put_integer(maker, depth - 1);
        put(maker, ")");
    }
}

static void put_truth(struct maker *maker, int depth)
{
    static const char *const signs[] = {" < ", " > ", " <= ", " >= ", " == ", " != "};
    if (depth > 0 && chance(maker, 20)) {
        put(maker, chance(maker, 30) ? "!(" : "(");
        put_truth(maker, depth - 1);
        put(maker, chance(maker, 50) ? " && " : " || ");
        put_truth(maker, depth - 1);
        put(maker, ")");
    } else if (chance(maker, 30)) {
        put_integer(maker, 1);
        put(maker, "%s", signs[below(maker, 6)]);
        put_integer(maker, 0);
    } else {
        put_float(maker, depth - 1);
        put(maker, "%s", signs[below(maker, 4)]);
        put_float(maker, 0);
    }
}

/* ------------------------------------------------------------------------- floats */

static void put_leaf(struct maker *maker)
{
    static const char *const numbers[] = {"0.5f",  "1.25f", "2.0f",      "3",     "0.0f",
                                          "1e-3f", "0.7f",  "0x1.8p-2f", "-1.5f", "0.1"};
    const struct snippet_scope *scope = maker->scope;
    const uint32_t kind = below(maker, 100);
    if (kind < 30) {
        put(maker, "%s", scope->leaves[0]);
    } else if (kind < 65) {
        put(maker, "%s", scope->leaves[below(maker, (uint32_t)scope->leaf_count)]);
    } else if (kind < 78 && maker->locals > 0) {
        put(maker, "t%d", (int)below(maker, (uint32_t)maker->locals));
    } else if (kind < 94) { /* the double seldom: it is slow to interpret */
        put(maker, "%s", numbers[below(maker, chance(maker, 25) ? 10 : 9)]);
    } else {
        const bool is_random = chance(maker, 30);
        put(maker, is_random ? "uniform(" : "float(");
        put_integer(maker, 1);
        put(maker, is_random ? ")" : ") * 0.03125f");
    }
}

static void put_call(struct maker *maker, int depth)
{
    /* Each argument behind its part. The first ones are without products inside. */
    enum { ONE_ROUNDING = 8 };
    static const char *const calls[][4] = {
        {"abs(", ")"},
        {"relu(", ")"},
        {"min(", ", ", ")"},
        {"max(", ", ", ")"},
        {"clamp(", ", -1.5f, 2.5f)"},
        {"fma(", ", ", ", ", ")"},
        {"sqrt(abs(", "))"},
        {"rsqrt(abs(", ") + 0.125f)"},
        {"gelu(", ")"},
        {"gelu_tanh(", ")"},
        {"dgelu(", ")"},
        {"dgelu_tanh(", ")"},
        {"silu(", ")"},
        {"sigmoid(", ")"},
        {"tanh(", ")"},
        {"exp(-abs(", "))"},
        {"exp(min(", ", 3.0f))"},
        {"log(abs(", ") + 0.25f)"},
    };
    enum { ALL = sizeof(calls) / sizeof(calls[0]) };
    const char *const *call =
        calls[below(maker, maker->scope->has_one_rounding ? ONE_ROUNDING : ALL)];
    put(maker, "%s", call[0]);
    for (int i = 1; i < 4 && call[i] != NULL; i++) {
        put_float(maker, depth - 1);
        put(maker, "%s", call[i]);
    }
}

static void put_operation(struct maker *maker, int depth)
{
    static const char *const signs[] = {" + ", " - ", " + ", " - ", " * ", " * "};
    put(maker, chance(maker, 10) ? "-(" : "(");
    put_float(maker, depth - 1);
    if (chance(maker, 12)) {
        put(maker, " / (abs(");
        put_float(maker, depth - 1);
        put(maker, ") + 0.5f)");
    } else {
        put(maker, "%s", signs[below(maker, maker->scope->has_one_rounding ? 4 : 6)]);
        put_float(maker, depth - 1);
    }
    put(maker, ")");
}

static void put_float(struct maker *maker, int depth)
{
    const uint32_t kind = below(maker, 100);
    if (depth <= 0 || kind < 14) {
        put_leaf(maker);
    } else if (kind < 58) {
        put_operation(maker, depth);
    } else if (kind < 88) {
        put_call(maker, depth);
    } else {
        put(maker, "(");
        put_truth(maker, depth - 1);
        put(maker, " ? ");
        put_float(maker, depth - 1);
        put(maker, " : ");
        put_float(maker, depth - 1);
        put(maker, ")");
    }
}

/* --------------------------------------------------------------------- statements */

static void put_loop(struct maker *maker, int local)
{
    put(maker, "float t%d = ", local);
    put_float(maker, 1);
    put(maker, ";\n  for (int i = 0; i < %u; ++i) { ", 2 + below(maker, 3));
    if (chance(maker, 30)) {
        put(maker, "if (i == 1) { continue; } ");
    }
    put(maker, "t%d = fma(t%d, 0.5f, float(i) + ", local, local);
    put_float(maker, 1);
    put(maker, "); }\n  ");
}

static void put_branches(struct maker *maker, int local)
{
    put(maker, "float t%d;\n  if (", local);
    put_truth(maker, 1);
    put(maker, ") { t%d = ", local);
    put_float(maker, 2);
    put(maker, "; } else t%d = ", local);
    put_float(maker, 1);
    put(maker, ";\n  ");
}

/* Declares and sets one more local. */
static void put_local(struct maker *maker)
{
    static const char *const types[] = {"float", "const float", "float const"};
    static const char *const changes[] = {"+=", "-=", "*="};
    const int local = maker->locals;
    const uint32_t kind = below(maker, 100);
    if (kind < 15) {
        put_loop(maker, local);
    } else if (kind < 35) {
        put_branches(maker, local);
    } else if (kind < 70) {
        put(maker, "%s t%d = ", types[below(maker, 3)], local);
        put_float(maker, 2);
        put(maker, ";\n  ");
    } else {
        put(maker, "float t%d = ", local);
        put_float(maker, 1);
        put(maker, "; t%d %s ", local,
            changes[below(maker, maker->scope->has_one_rounding ? 2 : 3)]);
        put_float(maker, 1);
        put(maker, ";\n  ");
    }
    maker->locals++;
}

void make_snippet(struct draws *draws, const struct snippet_scope *scope,
                  const char *const *must_read, const char *output, char *text, size_t size)
{
    struct maker maker = {.draws = draws, .scope = scope, .text = text, .size = size};
    put(&maker, "{ ");
    while (maker.locals < MAX_LOCALS && chance(&maker, 30)) {
        put_local(&maker);
    }
    put(&maker, "%s = ", output);
    put_float(&maker, scope->depth);
    for (; *must_read != NULL; must_read++) {
        put(&maker, " + %s", *must_read);
    }
    put(&maker, "; }\n");
}
