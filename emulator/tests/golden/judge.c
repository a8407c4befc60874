/* SPDX-License-Identifier: MIT */
/* Compares outputs with golden ones and says where they differ. */
#include "judge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fields of a floating-point format in its bits. */
struct shape {
    unsigned bytes, mantissa_bits, exponent_bits;
};

static const struct shape shapes[] = {
    [GOLD_BITS] = {0, 0, 0}, [GOLD_F16] = {2, 10, 5},  [GOLD_BF16] = {2, 7, 8},
    [GOLD_F32] = {4, 23, 8}, [GOLD_F64] = {8, 52, 11},
};

static uint64_t read_number(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < count; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

/* Not for NaN and infinity. */
static double decode(const struct shape *shape, uint64_t bits)
{
    unsigned exponent_mask = (1u << shape->exponent_bits) - 1;
    uint64_t mantissa = bits & ((1ull << shape->mantissa_bits) - 1);
    int exponent = (int)(bits >> shape->mantissa_bits & exponent_mask);

    if (exponent > 0) {
        mantissa |= 1ull << shape->mantissa_bits;
    } else {
        exponent = 1;
    }
    double value = ldexp((double)mantissa,
                         exponent - (int)(exponent_mask >> 1) - (int)shape->mantissa_bits);
    return bits >> (8 * shape->bytes - 1) & 1 ? -value : value;
}

/* Numbers in the order of the real line, neighbours one apart, -0 and +0 equal. */
static int64_t order(const struct shape *shape, uint64_t bits)
{
    uint64_t sign = 1ull << (8 * shape->bytes - 1);

    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static bool excuse_number(const struct gold_tolerance *tolerance, const uint8_t *got_bytes,
                          const uint8_t *expected_bytes)
{
    const struct shape *shape = &shapes[tolerance->number];
    uint64_t got = read_number(got_bytes, shape->bytes);
    uint64_t expected = read_number(expected_bytes, shape->bytes);
    uint64_t magnitude = (1ull << (8 * shape->bytes - 1)) - 1;
    uint64_t infinity = magnitude >> shape->mantissa_bits << shape->mantissa_bits;

    if ((got & magnitude) > infinity || (expected & magnitude) > infinity) {
        return (got & magnitude) > infinity && (expected & magnitude) > infinity;
    }
    if ((got & magnitude) == infinity || (expected & magnitude) == infinity) {
        return got == expected;
    }
    int64_t steps = order(shape, got) - order(shape, expected);
    if (steps <= (int64_t)tolerance->ulps && -steps <= (int64_t)tolerance->ulps) {
        return true;
    }
    double distance = fabs(decode(shape, got) - decode(shape, expected));
    return distance <= tolerance->absolute ||
           distance <= tolerance->relative * fabs(decode(shape, expected));
}

static bool items_match(const struct gold_case *one, const uint8_t *got,
                        const uint8_t *expected)
{
    unsigned step = shapes[one->tolerance.number].bytes, i;

    if (memcmp(got, expected, one->item_bytes) == 0) {
        return true;
    }
    if (step == 0) {
        return false;
    }
    for (i = 0; i < one->item_bytes; i += step) {
        if (!excuse_number(&one->tolerance, got + i, expected + i)) {
            return false;
        }
    }
    return true;
}

void gold_print_parts(const struct gold_case *one, const uint8_t *bytes)
{
    for (unsigned i = 0; i < one->item_bytes; i += one->part_bytes) {
        printf(" %0*" PRIx64, (int)(2 * one->part_bytes),
               read_number(bytes + i, one->part_bytes));
    }
}

static void print_index(const struct gold_case *one, unsigned item)
{
    if (one->row_items > 0) {
        printf("[%u][%u]%s%s", item / one->row_items, item % one->row_items,
               one->column_names == NULL ? "" : " ",
               one->column_names == NULL ? "" : one->column_names[item % one->row_items]);
    } else {
        printf("[%u]", item);
    }
}

void gold_print_item(const struct gold_case *one, unsigned item)
{
    const uint8_t *cells =
        (const uint8_t *)one->input + (size_t)item * one->item_input_bytes;

    print_index(one, item);
    for (unsigned i = 0; i < one->item_input_bytes; i += 8) {
        printf("%s%" PRIx64, i == 0 ? " of " : " ", read_number(cells + i, 8));
    }
    printf(":");
}

static unsigned judge_full(const char *group, const struct gold_case *one,
                           const uint8_t *output, const struct gold_record *expected,
                           unsigned shown)
{
    unsigned differing = 0, i;

    for (i = 0; i < expected->full_items; i++) {
        const uint8_t *got = output + (size_t)i * one->item_bytes;
        const uint8_t *golden = expected->full + (size_t)i * one->item_bytes;

        if (items_match(one, got, golden)) {
            continue;
        }
        if (differing++ >= shown) {
            continue;
        }
        printf("  %s/%s ", group, one->name);
        gold_print_item(one, i);
        printf(" expected");
        gold_print_parts(one, golden);
        printf(", got");
        gold_print_parts(one, got);
        printf("\n");
    }
    return differing;
}

static void print_block(const char *group, const struct gold_case *one,
                        const uint8_t *output, unsigned first, unsigned end)
{
    unsigned shown = end - first < 4 ? end - first : 4, i;

    printf("  %s/%s ", group, one->name);
    print_index(one, first);
    printf(" to ");
    print_index(one, end - 1);
    printf(" differ by their hash; got\n");
    for (i = first; i < first + shown; i++) {
        printf("    ");
        gold_print_item(one, i);
        gold_print_parts(one, output + (size_t)i * one->item_bytes);
        printf("\n");
    }
}

unsigned gold_judge(const char *group, const struct gold_case *one, const uint8_t *output,
                    const struct gold_record *expected, unsigned shown)
{
    struct gold_record got = gold_record_make(one, output);
    unsigned differing, printed = 0;

    if (got.key != expected->key || got.items != expected->items ||
        got.item_bytes != expected->item_bytes || got.full_bytes != expected->full_bytes ||
        got.hash_bytes != expected->hash_bytes) {
        printf("  %s/%s: the case has changed since its golden data were made\n", group,
               one->name);
        gold_record_free(&got);
        return 1;
    }
    differing = judge_full(group, one, output, expected, shown);
    for (size_t block = 0; GOLD_HASH_BYTES * block < got.hash_bytes; block++) {
        unsigned first = got.full_items + (unsigned)block * got.block_items;
        unsigned end = first + got.block_items;

        if (memcmp(got.hashes + GOLD_HASH_BYTES * block,
                   expected->hashes + GOLD_HASH_BYTES * block, GOLD_HASH_BYTES) == 0) {
            continue;
        }
        differing++;
        if (printed++ < shown) {
            print_block(group, one, output, first, end < one->items ? end : one->items);
        }
    }
    gold_record_free(&got);
    return differing;
}
