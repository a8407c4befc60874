/* SPDX-License-Identifier: MIT */
/* The second reading of snippets, beside C's own arithmetic: each snippet of the first list
 * is compiled by this file's compiler and read as text. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/random.h"
#include "verify/snippet.h"

/* The prelude in f64. */
static float relu(float x)
{
    return x > 0 ? x : 0;
}
static double sigmoid(float x)
{
    return 1 / (1 + exp(-(double)x));
}
static double silu(float x)
{
    return (double)x * sigmoid(x);
}
static double gelu(float x)
{
    return 0.5 * (double)x * (1 + erf((double)x / sqrt(2)));
}
static double gelu_tanh(float x)
{
    const double y = sqrt(2 / M_PI) * ((double)x + 0.044715 * pow((double)x, 3));
    return 0.5 * (double)x * (1 + tanh(y));
}
static double dgelu(float x)
{
    return 0.5 * (1 + erf((double)x / sqrt(2))) +
           (double)x * exp(-0.5 * (double)x * (double)x) / sqrt(2 * M_PI);
}
static double dgelu_tanh(float x)
{
    const double slope = sqrt(2 / M_PI) * (1 + 3 * 0.044715 * (double)x * (double)x);
    const double y = tanh(sqrt(2 / M_PI) * ((double)x + 0.044715 * pow((double)x, 3)));
    return 0.5 * (1 + y) + 0.5 * (double)x * (1 - y * y) * slope;
}
static float max(float x, float y)
{
    return isnan(x) || x > y ? x : y;
}
static float min(float x, float y)
{
    return isnan(x) || x < y ? x : y;
}
static float clamp(float x, float low, float high)
{
    return min(max(x, low), high);
}

/* What a compiled snippet sees; x and y are inputs, z is an output. */
struct scope {
    float acc, x, y, d, z;
    int row, col, batch, M, N, K;
};

/* A snippet as text and compiled. The second form is for what C writes otherwise. */
struct snippet_case {
    const char *text;
    void (*run)(struct scope *scope);
};

/* clang-format off */
#define BEGIN                                                                              \
    float acc = s->acc, x = s->x, y = s->y, d = acc, z = 0;                                \
    const int row = s->row, col = s->col, batch = s->batch, M = s->M, N = s->N, K = s->K;  \
    (void)x; (void)y; (void)row; (void)col; (void)batch; (void)M; (void)N; (void)K;
#define END s->d = d; s->z = z;
#define BOTH(name, ...) \
    static void run_##name(struct scope *s) { BEGIN { __VA_ARGS__ } END } \
    static const char text_##name[] = #__VA_ARGS__;
#define WITH_TEXT(name, text, ...) \
    static void run_##name(struct scope *s) { BEGIN { __VA_ARGS__ } END } \
    static const char text_##name[] = text;
#define ROW(name) {text_##name, run_##name}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wdangling-else"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wunused-value"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#endif
BOTH(precedence, d = acc + x * y - x / 2.0f - -y; z = (acc + x) * (y - x);)
BOTH(left_to_right, d = acc - x - y; z = 24.0f / 3.0f / 2.0f * acc;)
BOTH(integers, int i = row * 7 + col % 5 - N / 3; d = acc + i; z = -row / 2 + (col - 9) % 4;)
BOTH(bits, int i = (row << 3 ^ col & 13 | 2) >> 1; unsigned u = row; u = u * 2654435761u + 7u; d = acc + i; z = u >> 8 & 255u;)
BOTH(wrapping, unsigned u = 3u - 5u; z = u % 1000u; d = acc + (~u & 3u);)
BOTH(mixed, d = row / 2 + acc * col; z = row * 0.5f + N;)
BOTH(doubles, d = acc * 0.1 + x / 3.0; z = 0.1f * x;)
BOTH(literals, d = acc + 1e-3f + .5f + 2.f + 0x1.8p1f + 1.5e1f; z = 0x10 + 010 + 7;)
BOTH(comparisons, z = (acc < x) + 2 * (acc <= x) + 4 * (acc > y) + 8 * (acc >= y) + 16 * (row == col) + 32 * (row != col);)
BOTH(logic, z = acc > 0 && x > 0 || !(y > 0); d = !row ? acc : -acc;)
BOTH(short_circuit, int i = 0; if (row == 0 || 12 / row > 2) { i = 1; } if (row != 0 && 12 / row < 4) { i += 2; } z = i;)
BOTH(choice, d = acc > 0.0f ? acc : 0.1f * acc; z = row > 3 ? col : x > 0 ? x : y;)
BOTH(branches, if (acc > x) { d = acc; } else if (acc > y) d = y; else { d = -acc; } if (row & 1) z = 1; else z = 2;)
BOTH(dangling_else, z = 0; if (row > 2) if (col > 2) z = 1; else z = 2;)
BOTH(loop, float sum = 0; for (int i = 0; i < row; i++) { if (i == 3) continue; if (i == 7) break; sum += x * i; } d = sum;)
BOTH(loops, z = 0; for (int i = 0, j = 9; i < j; ++i, j -= 2) { z += i * j; } int k = row; while (k > 0) { k /= 2; z++; } do { --k; } while (k > -3); d = k;)
BOTH(nested_loops, z = 0; for (int i = 0; i < 4; ++i) { for (int j = 0; j < i; ++j) { if (j == 2) break; z += i * 10 + j; } })
BOTH(updates, d += x; d -= y; d *= 2.0f; d /= 4.0f; int i = row; i += col + 1; i *= 3; i -= 1; i %= 11; i <<= 2; i |= 1; i ^= 5; i &= 63; i >>= 1; z = i;)
BOTH(update_of_an_int, int i = row; i *= 1.5f; i += 0.75f; z = i;)
BOTH(chain, float a, b; a = b = acc * 2.0f; d = a + b; z = a - b;)
BOTH(shadows, float a = acc; { float a = x; { float x = y; a += x; } d = a; } z = a;)
BOTH(hidden_result, z = 1.0f; float d = relu(acc); z += d;)
BOTH(acc_is_a_copy, acc = acc * x + y; d = acc * acc; z = acc;)
BOTH(truncation, z = (int)(acc * 3.0f); d = (float)(int)x + (float)(row > 2);)
BOTH(squares, d = (acc * acc - x * x) * 0.5f + (y + 1.0f) * (y - 1.0f); z = acc * x - y * acc;)
BOTH(empty, ; {} z = 1; if (row > 1) ; else { z = 2; } d = acc;)
BOTH(functions, d = relu(acc) + min(x, y) - max(acc, x) * clamp(y, -0.5f, 0.25f); z = fmaf(acc, x, y) + fabsf(x);)
BOTH(curves, d = silu(acc) + gelu(x) * 0.5f; z = gelu_tanh(y) + sigmoid(acc);)
BOTH(slopes, d = dgelu(acc) * x; z = dgelu_tanh(y) - dgelu(x);)
BOTH(roots, d = sqrtf(fabsf(acc) + 0.125f); z = expf(x) + logf(fabsf(y) + 2.0f) * tanhf(acc) - erff(x);)
BOTH(sizes, z = M * 10000 + N * 100 + K + batch;)
BOTH(comments, d = acc /* + x */ + y; // d = 0;
)
WITH_TEXT(cpp_casts, "z = (float(row) / float(N)) + int(acc * 4.0f); d = static_cast<float>(col) + bool(row);",
    z = (float)row / (float)N + (int)(acc * 4.0f); d = (float)col + !!row;)
WITH_TEXT(cpp_auto, "auto a = acc * 2.0f; const auto b = row * 2; auto c = b / 4; auto e = a > 1.0f; d = a + c; z = b + e;",
    float a = acc * 2.0f; int b = row * 2, c = b / 4, e = a > 1.0f; d = a + c; z = b + e;)
WITH_TEXT(cpp_bool, "bool f = acc > 0.0f; bool g = !f || x; z = f + 2 * g; d = f ? x : y; bool h = row; z += h;",
    int f = acc > 0.0f; int g = !f || x != 0; z = f + 2 * g; d = f ? x : y; z += row != 0;)
WITH_TEXT(cpp_initial_values, "const float a(acc), b{x}; float const c = a - b; constexpr int t = 3; d = a * b + c; z = t;",
    float a = acc; float b = x; float c = a - b; d = a * b + c; z = 3;)
WITH_TEXT(cpp_functions, "d = fma(acc, x, y) + abs(acc) + sqrt(abs(x)); z = exp(y) - log(2.0f) + tanh(x) * rsqrt(4);",
    d = fmaf(acc, x, y) + fabsf(acc) + sqrtf(fabsf(x)); z = expf(y) - logf(2.0f) + tanhf(x) * 0.5f;)
WITH_TEXT(cpp_separators, "z = 1'000 + 0b101; d = acc * 1'0.5f;", z = 1005; d = acc * 10.5f;)
WITH_TEXT(no_result_is_acc, "z = acc;", z = acc; d = acc;)
#pragma GCC diagnostic pop

static const struct snippet_case cases[] = {
    ROW(precedence), ROW(left_to_right), ROW(integers), ROW(bits), ROW(wrapping), ROW(mixed),
    ROW(doubles), ROW(literals), ROW(comparisons), ROW(logic), ROW(short_circuit), ROW(choice),
    ROW(branches), ROW(dangling_else), ROW(loop), ROW(loops), ROW(nested_loops), ROW(updates),
    ROW(update_of_an_int), ROW(chain), ROW(shadows), ROW(hidden_result), ROW(acc_is_a_copy),
    ROW(truncation), ROW(squares), ROW(empty), ROW(functions), ROW(curves), ROW(slopes), ROW(roots), ROW(sizes),
    ROW(comments), ROW(cpp_casts), ROW(cpp_auto), ROW(cpp_bool), ROW(cpp_initial_values),
    ROW(cpp_functions), ROW(cpp_separators), ROW(no_result_is_acc)};
/* clang-format on */

static const struct snippet_operand operands[] = {{"x", false}, {"y", false}, {"z", true}};

static struct snippet *read_text(const char *text)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    struct snippet *snippet = snippet_read(text, strlen(text), operands, 3, reason);
    cr_assert_neq(snippet, NULL, "%s\n%s", text, reason);
    return snippet;
}

static struct snippet_element element_of(const struct scope *scope)
{
    return (struct snippet_element){
        .acc = interval_of((double)scope->acc),
        .row = scope->row,
        .col = scope->col,
        .batch = scope->batch,
        .m = scope->M,
        .n = scope->N,
        .k = scope->K,
        .operands = {interval_of((double)scope->x), interval_of((double)scope->y)}};
}

/* In -2 to 2, now and then a value that is easy to get wrong. */
static float draw(unsigned *state)
{
    static const float special[] = {0, -0.0f, 1, -1, 0.5f, 1e-30f, 100, -100, 3, -7.5f};
    *state = *state * 1664525u + 1013904223u;
    if (*state >> 28 == 0) {
        return special[(*state >> 8) % (sizeof(special) / sizeof(special[0]))];
    }
    return (float)((int)(*state >> 8) - (1 << 23)) * 0x1p-22f;
}

/* The compiled value is in the interval, which is not much wider than f32 makes it. */
static void expect_in(const char *text, const char *name, struct interval got, double want)
{
    const double width = 1e-5 * (1 + fabs(want));
    cr_expect(got.low <= want && want <= got.high, "%s\n%s: [%.9g, %.9g], compiled %.9g",
              text, name, got.low, got.high, want);
    cr_expect(got.low == got.high || got.high - got.low <= width,
              "%s\n%s: [%.9g, %.9g] is too wide", text, name, got.low, got.high);
}

static void compare_case(const struct snippet_case *row, const struct snippet *snippet,
                         unsigned *state, int *undecided)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    struct snippet_results results;
    struct scope scope = {.acc = draw(state), .x = draw(state), .y = draw(state)};
    scope.row = (int)(*state >> 10) % 12;
    scope.col = (int)(*state >> 16) % 9;
    scope.batch = 1;
    scope.M = 12;
    scope.N = 9;
    scope.K = 33;
    const struct snippet_element element = element_of(&scope);
    const enum snippet_outcome outcome = snippet_run(snippet, &element, &results, reason);
    if (outcome == SNIPPET_UNDECIDED) {
        ++*undecided;
        return;
    }
    cr_assert_eq(outcome, SNIPPET_DONE, "%s\n%s", row->text, reason);
    row->run(&scope);
    expect_in(row->text, "d", results.d, (double)scope.d);
    if (strstr(row->text, "z ") != NULL) {
        expect_in(row->text, "z", results.operands[2], (double)scope.z);
    }
}

/* A snippet without z still has to assign it. */
static struct snippet *read_case(const struct snippet_case *row)
{
    char text[512];
    const bool has_z = strstr(row->text, "z ") != NULL;
    snprintf(text, sizeof(text), "%s%s", has_z ? "" : "z = 0.0f;\n", row->text);
    return read_text(text);
}

Test(snippet, means_what_the_compiler_makes_of_it)
{
    enum { RUNS = 400 };
    unsigned state = 1;
    int undecided = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct snippet *snippet = read_case(&cases[i]);
        for (int run = 0; run < RUNS; run++) {
            compare_case(&cases[i], snippet, &state, &undecided);
        }
        snippet_free(snippet);
    }

    cr_expect_lt(undecided, 40, "%d undecided", undecided);
}

/* d and the outcome of a snippet whose z is 0. */
static enum snippet_outcome run_once(const char *text,
                                     const struct snippet_element *element,
                                     struct interval *ret_d, char *reason)
{
    char whole[512];
    struct snippet_results results;
    snprintf(whole, sizeof(whole), "z = 0.0f; %s", text);
    struct snippet *snippet = read_text(whole);
    const enum snippet_outcome outcome = snippet_run(snippet, element, &results, reason);
    snippet_free(snippet);
    *ret_d = results.d;
    return outcome;
}

static struct interval value_of(const char *text, struct interval acc)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    struct interval d;
    const struct snippet_element element = {.acc = acc,
                                            .operands = {interval_of(1), interval_of(2)}};
    cr_expect_eq(run_once(text, &element, &d, reason), SNIPPET_DONE, "%s: %s", text,
                 reason);
    return d;
}

Test(snippet, a_product_may_be_rounded_or_contracted)
{
    const float a = 1.0f + 0x1p-12f;
    const double rounded = (double)(a * a) - 1;
    const double contracted = (double)fmaf(a, a, -1.0f);

    cr_expect_lt(rounded, contracted);
    /* Where nothing is added, a product stays one. */
    static const char *const texts[] = {"d = acc * acc - 1.0f;",
                                        "d = -(0.0f - acc * acc) - 1.0f;",
                                        "d = (acc * acc + 0.0f) - 1.0f;"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const struct interval d = value_of(texts[i], interval_of((double)a));
        cr_expect_eq(d.low, rounded, "%s", texts[i]);
        cr_expect_eq(d.high, contracted, "%s", texts[i]);
    }
}

Test(snippet, exact_arithmetic_stays_exact)
{
    const struct interval d =
        value_of("d = (acc * 0.5f + 3.0f) / 4.0f - float(7 / 2);", interval_of(6));

    cr_expect_eq(d.low, -1.5);
    cr_expect_eq(d.high, -1.5);
}

Test(snippet, the_error_of_acc_is_carried_on)
{
    const struct interval d = value_of("d = acc * 10.0f;", (struct interval){0.99, 1.01});

    cr_expect(d.low <= 9.9 && d.low > 9.8999);
    cr_expect(d.high >= 10.1 && d.high < 10.1001);
}

Test(snippet, an_open_choice_has_both_values)
{
    const struct interval d =
        value_of("d = acc > 0.0f ? acc : 0.5f * acc;", (struct interval){-0.25, 0.25});

    cr_expect_eq(d.low, -0.25);
    cr_expect_eq(d.high, 0.25);
}

Test(snippet, gelu_is_as_exact_as_results_are)
{
    static const struct {
        int result_bits;
        double least, most; /* of the interval's half width, at 1 */
    } rows[] = {{3, 2e-4, 2.2e-4},
                {8, 2e-4, 2.2e-4},
                {11, 2.5e-5, 2.9e-5},
                {24, 1e-7, 1e-6},
                {0, 1e-7, 1e-6}};
    static const char *const texts[] = {"d = gelu(acc);", "d = gelu_tanh(acc);"};
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        struct interval d;
        const char *text = texts[i % 2];
        const struct snippet_element element = {.acc = interval_of(1),
                                                .result_bits = rows[i / 2].result_bits};
        cr_expect_eq(run_once(text, &element, &d, reason), SNIPPET_DONE, "%s", reason);
        const double want = i % 2 ? gelu_tanh(1) : gelu(1);
        const double half = (d.high - d.low) / 2;
        cr_expect(d.low < want && want < d.high && half >= rows[i / 2].least &&
                      half <= rows[i / 2].most,
                  "%s of %d bits: [%.9g, %.9g]", text, rows[i / 2].result_bits, d.low,
                  d.high);
    }
}

/* An interval of acc that holds an extreme has it; one beside it has its ends. */
Test(snippet, dgelu_is_as_exact_as_results_are)
{
    static const struct {
        double low, high; /* of acc */
        double least, most;
    } rows[] = {{-3, -1, -0.128904145185155, -0.0119457},
                {1, 3, 1.0119457, 1.128904145185155},
                {-1, 1, -0.0833155, 1.0833155},
                {-4, 4, -0.128904145185155, 1.128904145185155}};
    static const struct {
        int result_bits;
        double half; /* at most, beyond either end */
    } bits[] = {{8, 5e-4}, {11, 7e-5}, {24, 1e-6}};
    for (size_t i = 0; i < 3 * sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        struct interval d;
        const struct snippet_element element = {.acc = {rows[i / 3].low, rows[i / 3].high},
                                                .result_bits = bits[i % 3].result_bits};
        cr_expect_eq(run_once("d = dgelu(acc);", &element, &d, reason), SNIPPET_DONE, "%s",
                     reason);
        const double half = bits[i % 3].half;
        cr_expect(d.low < rows[i / 3].least + 1e-7 && d.low > rows[i / 3].least - half &&
                      d.high > rows[i / 3].most - 1e-7 && d.high < rows[i / 3].most + half,
                  "[%g, %g] of %d bits: [%.9g, %.9g]", rows[i / 3].low, rows[i / 3].high,
                  bits[i % 3].result_bits, d.low, d.high);
    }
}

Test(snippet, special_values_go_through)
{
    static const struct {
        const char *text;
        double acc, want;
    } rows[] = {
        {"d = relu(acc);", NAN, NAN},
        {"d = min(acc, 1.0f) + max(1.0f, acc);", NAN, NAN},
        {"d = acc - acc;", INFINITY, NAN},
        {"d = acc * 0.0f;", INFINITY, NAN},
        {"d = acc * 3e38f * 10.0f;", 3, INFINITY},
        {"d = exp(acc);", 1000, INFINITY},
        {"d = sqrt(acc);", -1, NAN},
        {"d = log(acc);", -1, NAN},
        {"d = log(acc);", 0, -INFINITY},
        {"d = gelu(acc) + silu(acc) + gelu_tanh(acc);", INFINITY, INFINITY},
        {"d = sigmoid(acc) * tanh(acc);", INFINITY, 1},
        {"d = dgelu(acc) + dgelu_tanh(acc);", NAN, NAN},
        {"d = acc != acc ? 1.0f : 2.0f;", NAN, 1},
        {"d = acc < 1.0f || acc >= 1.0f || acc == acc ? 1.0f : 2.0f;", NAN, 2},
        {"d = acc <= 1.0f || !(acc != acc) ? 1.0f : 2.0f;", NAN, 2},
        {"d = NAN;", 0, NAN},
        {"d = acc > 0.0f ? acc : -INFINITY;", 0, -INFINITY},
        {"d = acc; if (acc) { d = 5.0f; }", NAN, 5},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct interval d = value_of(rows[i].text, interval_of(rows[i].acc));
        const bool is_same = isnan(rows[i].want)
                                 ? interval_is_nan(d)
                                 : d.low <= rows[i].want && rows[i].want <= d.high &&
                                       (isinf(rows[i].want) || d.high - d.low < 1e-5);
        cr_expect(is_same, "%s: [%g, %g]", rows[i].text, d.low, d.high);
    }
}

Test(snippet, the_result_of_a_pair_begins_as_its_first_accumulator)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    struct interval d;
    const struct snippet_element element = {.pair = {interval_of(2), interval_of(3)}};

    cr_expect_eq(run_once("z = acc1; d += acc1;", &element, &d, reason), SNIPPET_DONE, "%s",
                 reason);

    cr_expect_eq(d.low, 5);
    cr_expect_eq(d.high, 5);
}

Test(snippet, pairs_are_known_by_their_names)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    static const char text[] = "d = silu(acc0) * acc1;";
    struct snippet *snippet = snippet_read(text, strlen(text), NULL, 0, reason);
    cr_assert_neq(snippet, NULL, "%s", reason);
    const struct snippet_element element = {.pair = {interval_of(2), interval_of(3)}};
    struct snippet_results results;

    const enum snippet_outcome outcome = snippet_run(snippet, &element, &results, reason);

    cr_expect(snippet_is_pair(snippet));
    cr_expect_eq(outcome, SNIPPET_DONE);
    expect_in(text, "d", results.d, silu(2) * 3);
    snippet_free(snippet);
}

/* Random123's kat_vectors: philox4x32, 10 rounds. */
Test(snippet, philox_gives_the_published_words)
{
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } rows[] = {
        {{0}, {0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t words[4];
        random_philox(rows[i].counter, rows[i].key, words);
        cr_expect_eq(memcmp(words, rows[i].words, sizeof(words)), 0, "row %zu", i);
    }
}

/* The first of the words above; and no number at all of a seed that is not known. */
Test(snippet, uniform_is_exact_where_its_seed_is)
{
    static const struct {
        const char *text;
        uint32_t seed; /* 0: it is not known */
    } rows[] = {
        {"d = uniform(x);", 0x3f800000},
        {"int row = 77; d = uniform(x);", 0x3f800000},
        {"d = uniform(-x - 1.0f);", 0xc0000000},
        {"d = uniform(3);", 0x40400000},
        {"d = uniform(1e-45f);", 1},
        {"d = uniform(0.0f);", 0},
        {"d = uniform(-0.0f);", 0},
        {"d = uniform(NAN);", 0},
        {"d = uniform(exp(x));", 0},
    };
    const struct snippet_element element = {
        .row = 5, .col = 7, .batch = 2, .operands = {interval_of(1)}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        struct interval d;
        cr_expect_eq(run_once(rows[i].text, &element, &d, reason), SNIPPET_DONE, "%s",
                     reason);
        const double want = random_uniform(rows[i].seed, 5, 7, 2);
        cr_expect_eq(d.low, rows[i].seed != 0 ? want : 0, "%s", rows[i].text);
        cr_expect_eq(d.high, rows[i].seed != 0 ? want : 1 - 0x1p-24, "%s", rows[i].text);
    }
}

Test(snippet, what_is_not_decided_or_not_defined_has_no_value)
{
    static const struct {
        const char *text;
        enum snippet_outcome outcome;
        const char *reason;
    } rows[] = {
        {"if (acc > 0.0f) { d = 1.0f; } else { d = 2.0f; }", SNIPPET_UNDECIDED,
         "1:19: numbers within their error"},
        {"d = acc; if (acc) { d = 1.0f; }", SNIPPET_UNDECIDED, "within its error of 0"},
        {"int i = int(acc * 100.0f); d = i;", SNIPPET_UNDECIDED, "of the next integer"},
        {"d = acc; int i = 2147483647; i++;", SNIPPET_CANNOT, "an int overflows"},
        {"d = acc; int i = 7 / (row - row);", SNIPPET_CANNOT, "is divided by 0"},
        {"d = acc; int i = 7 % (row - row);", SNIPPET_CANNOT, "is divided by 0"},
        {"d = acc; int i = 1 << (row + 32);", SNIPPET_CANNOT, "a shift by"},
        {"d = acc; int i = -1 << 2;", SNIPPET_CANNOT, "shifted to the left"},
        {"d = acc; int i = int(1e10f);", SNIPPET_CANNOT, "beyond the integers"},
        {"d = acc; unsigned u = unsigned(-2.0f);", SNIPPET_CANNOT, "beyond the integers"},
        {"d = acc; int i = int(NAN);", SNIPPET_CANNOT, "NaN"},
        {"float a; d = a;", SNIPPET_CANNOT, "has no value yet"},
        {"for (int i = 0; i < 2; ++i) { float a; if (i == 0) { a = 1.0f; } d = a; }",
         SNIPPET_CANNOT, "has no value yet"},
        {"float a = a; d = a;", SNIPPET_CANNOT, "has no value yet"},
        {"d = acc; for (;;) { d += 1.0f; }", SNIPPET_CANNOT, "a million steps"},
        {"d = acc; while (true) ;", SNIPPET_CANNOT, "a million steps"},
    };
    const struct snippet_element element = {.acc = {-0.5, 0.5}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        struct interval d;
        const enum snippet_outcome outcome = run_once(rows[i].text, &element, &d, reason);
        cr_expect_eq(outcome, rows[i].outcome, "%s: %d", rows[i].text, (int)outcome);
        cr_expect_neq(strstr(reason, rows[i].reason), NULL, "%s: %s", rows[i].text, reason);
        cr_expect(interval_is_unknown(d), "%s", rows[i].text);
    }
}

Test(snippet, an_output_that_is_assigned_on_one_way_only_has_no_value)
{
    struct snippet *snippet = read_text("d = acc; if (row > 0) { z = 1.0f; }");
    struct snippet_results results;
    char reason[SNIPPET_REASON_SIZE] = "";
    const struct snippet_element first = {.row = 0}, second = {.row = 1};

    cr_expect_eq(snippet_run(snippet, &first, &results, reason), SNIPPET_CANNOT);
    cr_expect_eq(snippet_run(snippet, &second, &results, reason), SNIPPET_DONE);

    cr_expect_eq(results.operands[2].low, 1);
    snippet_free(snippet);
}

Test(snippet, what_is_not_known_is_refused_at_its_place)
{
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"float t[4]; d = acc;", "1:8: '[' where ';'"},
        {"d = acc;\n  struct s { int i; };", "2:3: 'struct' is not known"},
        {"auto f = [](float v) { return v; }; d = f(acc);", "1:10: '['"},
        {"float *p = &acc; d = *p;", "1:7: '*' where a name"},
        {"float &r = acc; d = r;", "1:7: '&' where a name"},
        {"d = sinf(acc);", "1:5: the function 'sinf' is not known"},
        {"d = acc + nobody;", "1:11: the name 'nobody' is not known"},
        {"switch (row) { default: d = acc; }", "1:1: 'switch' is not known"},
        {"long i = 1; d = i;", "1:1: the name 'long' is not known"},
        {"d = 3000000000;", "1:5: '3000000000' needs more than 32 bits"},
        {"d = 1.0L;", "1:5: '1.0L' is no number"},
        {"d = 1e99f;", "1:5: '1e99f' is no number"},
        {"d = 089;", "1:5: '089' is no number"},
        {"d = 10l;", "1:5: '10l' is no number"},
        {"d = acc + (z = 1.0f);", "1:14: '=' where ')'"},
        {"int i = 0; d = acc + i++;", "1:23: '++' behind a value"},
        {"int i = 0; d = max(i = 2, acc);", "1:22: '=' where ','"},
        {"row = 3; d = acc;", "1:1: 'row' is no variable that may be assigned"},
        {"x = 3.0f; d = acc;", "1:1: 'x' is no variable that may be assigned"},
        {"const float c = 1.0f; c += 1.0f;", "1:23: 'c' is no variable"},
        {"++K; d = acc;", "1:3: 'K' is no variable"},
        {"d = acc % 2.0f;", "1:9: '%' of a number that is no integer"},
        {"d = ~acc;", "1:5: '~' of a number that is no integer"},
        {"d = acc & 1;", "1:9: '&' of a number that is no integer"},
        {"bool b = true; b++; d = acc;", "1:17: '++' of this is not known"},
        {"d = acc", "1:8: '' where ';' was expected"},
        {"d = ;", "1:5: ';' where a value was expected"},
        {"d = min(acc);", "1:12: ')' where ',' was expected"},
        {"d = relu(acc, x);", "1:13: ',' where ')' was expected"},
        {"float a = acc; float a = x;", "1:22: 'a' is declared twice"},
        {"const float c; d = acc;", "1:13: 'c' has no value"},
        {"auto c; d = acc;", "1:6: 'c' has no value"},
        {"break; d = acc;", "1:1: 'break' outside of a loop"},
        {"if (float f = acc) { d = f; }", "1:5: a declaration in a condition"},
        {"d = acc; }", "1:10: '}' where a value was expected"},
        {"d = \"text\";", "1:5: '\"' where a value was expected"},
        {"d = acc.x;", "1:8: '.' behind a value"},
        {"d = acc + acc0;", "1:16: acc beside acc0 or acc1"},
        {"d = acc; return;", "1:10: 'return' is not known"},
        {"float relu = acc; d = relu(relu);", "1:27: '(' where ';'"},
        {"d = float{acc};", "1:10: '{' where '('"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        struct snippet *snippet =
            snippet_read(rows[i].text, strlen(rows[i].text), operands, 3, reason);
        cr_expect_eq(snippet, NULL, "%s", rows[i].text);
        cr_expect_eq(strncmp(reason, rows[i].reason, strlen(rows[i].reason)), 0,
                     "%s\n%s\nexpected %s", rows[i].text, reason, rows[i].reason);
        snippet_free(snippet);
    }
}

/* Many times the same words between two others. */
static char *repeat(const char *first, const char *words, size_t count, const char *last)
{
    const size_t size = strlen(first) + count * strlen(words) + strlen(last) + 1;
    char *text = malloc(size);
    cr_assert_neq(text, NULL);
    strcpy(text, first);
    char *end = text + strlen(first);
    for (size_t i = 0; i < count; i++) {
        memcpy(end, words, strlen(words));
        end += strlen(words);
    }
    strcpy(end, last);
    return text;
}

Test(snippet, texts_without_end_are_refused)
{
    static const struct {
        const char *first, *words, *last;
    } rows[] = {{"d = ", "(", "acc;"},      {"d = ", "- ", "acc;"},
                {"d = ", "acc + ", "acc;"}, {"d = ", "acc ? acc : ", "acc;"},
                {"", "{", "d = acc;"},      {"", "if (row) ", "d = acc;"},
                {"", "d = ", "acc;"},       {"d = ", "relu(", "acc;"},
                {"", "for(;;) ", ";"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char reason[SNIPPET_REASON_SIZE] = "";
        char *text = repeat(rows[i].first, rows[i].words, 20000, rows[i].last);
        struct snippet *snippet = snippet_read(text, strlen(text), NULL, 0, reason);
        cr_expect_eq(snippet, NULL, "%s", rows[i].words);
        cr_expect_neq(strstr(reason, "deep"), NULL, "%s: %s", rows[i].words, reason);
        snippet_free(snippet);
        free(text);
    }
}

Test(snippet, many_variables_are_refused)
{
    char reason[SNIPPET_REASON_SIZE] = "";
    char *text = repeat("", "{ float a = acc; }", 300, "d = acc;");

    struct snippet *snippet = snippet_read(text, strlen(text), NULL, 0, reason);

    cr_expect_eq(snippet, NULL);
    cr_expect_neq(strstr(reason, "too many variables"), NULL, "%s", reason);
    free(text);
}

/* Whatever stands in a text: an answer or a reason. */
Test(snippet, any_text_is_read_or_refused)
{
    static const char *const words[] = {
        "acc",   "d",     "x",  "z",    "row", "float", "int", "const", "auto", "if",
        "else",  "for",   "do", "=",    ";",   "(",     ")",   "{",     "}",    "+",
        "-",     "*",     "/",  "%",    "<<",  "?",     ":",   "++",    "+=",   "&&",
        "!",     "1.5f",  "0x", "3",    "1e",  ",",     "a",   "<",     "relu", "max",
        "while", "break", "~",  "bool", "\"",  "'",     "/*",  "//"};
    unsigned state = 7;

    for (int i = 0; i < 20000; i++) {
        char text[256] = "";
        for (int word = 0; word < 16; word++) {
            state = state * 1664525u + 1013904223u;
            strcat(text, words[(state >> 8) % (sizeof(words) / sizeof(words[0]))]);
            strcat(text, " ");
        }
        char reason[SNIPPET_REASON_SIZE] = "";
        struct snippet *snippet = snippet_read(text, strlen(text), operands, 3, reason);
        cr_expect((snippet != NULL) == (reason[0] == '\0'), "%s: %s", text, reason);
        snippet_free(snippet);
    }
}
