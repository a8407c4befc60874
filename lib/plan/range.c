/* SPDX-License-Identifier: MIT */
#include "plan/range.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/struct.h"
#include "plan/text.h"
#include "plan/typical_sizes.h"

#define DEFAULT_LOSS 0.05
#define MOST_LOSS    10.0

enum { PARTS_OF_PERCENT = 100, PARTS_OF_ONE = 10000 }; /* two decimals of a percentage */

static const char range_hint[] = "give for instance m=1..8192, and loss=5% if you like";

static const char *const names[JG_DIM_COUNT] = {
    [JG_DIM_M] = "m", [JG_DIM_N] = "n", [JG_DIM_K] = "k", [JG_DIM_BATCH] = "batch"};

const char *jg_range_name(const struct jg_range *range)
{
    return names[range->index];
}

static const jit_gemm_dim *dim_of(const struct jg_problem *problem, int index)
{
    const jit_gemm_dim *const dims[JG_DIM_COUNT] = {&problem->m, &problem->n, &problem->k,
                                                    &problem->batch};
    return dims[index];
}

jit_gemm_dim *jg_range_dim(const struct jg_range *range, struct jg_problem *problem)
{
    return (jit_gemm_dim *)dim_of(problem, (int)range->index);
}

/* ---------------------------------------------------------------------------- checks */

static bool is_dynamic(const struct jg_problem *problem, int index)
{
    return dim_of(problem, index)->mode == JIT_GEMM_DIM_DYNAMIC;
}

/* Which dimension is meant, and is it dynamic? */
static jit_gemm_status find_dimension(jit_gemm_dimension dimension,
                                      const struct jg_problem *problem,
                                      enum jg_dim_index *ret_index)
{
    if (dimension < JIT_GEMM_DIMENSION_DYNAMIC || dimension > JIT_GEMM_DIMENSION_BATCH) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.dimension",
                       "give a jit_gemm_dimension", "unknown value %d", (int)dimension);
    }
    if (dimension != JIT_GEMM_DIMENSION_DYNAMIC) {
        const int index = (int)dimension - JIT_GEMM_DIMENSION_M;
        *ret_index = (enum jg_dim_index)index;
        return is_dynamic(problem, index)
                   ? JIT_GEMM_OK
                   : jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.dimension",
                             "make it dynamic in the problem, such as dynamic=m",
                             "'%s' is compiled into the kernel: it has no range",
                             names[index]);
    }
    int count = 0;
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        if (is_dynamic(problem, i)) {
            *ret_index = (enum jg_dim_index)i;
            count++;
        }
    }
    return count == 1 ? JIT_GEMM_OK
                      : jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.dimension",
                                "name the dimension of the range, which is dynamic",
                                "the problem has %d dynamic dimensions", count);
}

jit_gemm_status jg_range_check(const jit_gemm_range *user, const struct jg_problem *problem,
                               struct jg_range *ret_range)
{
    jit_gemm_range own;
    JG_TRY(jg_struct_import(user, &own, sizeof(own), "range"));
    struct jg_range range = {.first = own.first, .last = own.last, .loss = own.loss};
    JG_TRY(find_dimension(own.dimension, problem, &range.index));
    if (range.index == JG_DIM_M && jg_has_typical_sizes(problem)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.typical_sizes",
                       "leave it out, or the range",
                       "the rows of groups are given, and with a range of M there are any");
    }
    if (own.reserved != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.reserved",
                       "zero the struct before filling it", "must be 0, is %d",
                       own.reserved);
    }
    if (own.first < 1) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.first", range_hint,
                       "must be 1 or more, is %lld", (long long)own.first);
    }
    if (own.last < own.first || own.last > JG_MAX_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.last", range_hint,
                       "must be from range.first, %lld, to %lld, is %lld",
                       (long long)own.first, (long long)JG_MAX_SIZE, (long long)own.last);
    }
    if (own.loss == 0.0) {
        range.loss = DEFAULT_LOSS;
    } else if (own.loss == JIT_GEMM_LOSS_NONE) {
        range.loss = 0.0;
    } else if (!(own.loss > 0.0 && own.loss <= MOST_LOSS)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.loss",
                       "give 0.05 for 5 percent, or JIT_GEMM_LOSS_NONE",
                       "must be from 0 to %d", (int)MOST_LOSS);
    }
    *ret_range = range;
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------------ text */

static const char *find_dots(const char *value, size_t size)
{
    for (size_t i = 0; i + 1 < size; i++) {
        if (value[i] == '.' && value[i + 1] == '.') {
            return value + i;
        }
    }
    return NULL;
}

/* Of the word of a dimension, whose value has dots. */
static jit_gemm_status read_sizes(const struct jg_word *word, const char *dots, int index,
                                  jit_gemm_range *range)
{
    const size_t before = (size_t)(dots - word->value);
    const size_t after = word->value_size - before - 2;
    if (!jg_number_parse(word->value, before, 1, JG_MAX_SIZE, &range->first) ||
        !jg_number_parse(dots + 2, after, range->first, JG_MAX_SIZE, &range->last)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range", range_hint,
                       "%s at column %zu is no range of sizes from 1 to %lld",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       (long long)JG_MAX_SIZE);
    }
    range->dimension = (jit_gemm_dimension)(JIT_GEMM_DIMENSION_M + index);
    return JIT_GEMM_OK;
}

/* Digits, perhaps a point and one or two more, and a percent sign: in PARTS_OF_ONE. */
static bool parse_percent(const char *piece, size_t size, int64_t *ret_parts)
{
    if (size == 0 || piece[size - 1] != '%') {
        return false;
    }
    size--;
    const char *point = memchr(piece, '.', size);
    const size_t whole = point != NULL ? (size_t)(point - piece) : size;
    const size_t decimals = point != NULL ? size - whole - 1 : 0;
    int64_t percent;
    int64_t part = 0;
    if (!jg_number_parse(piece, whole, 0, (int64_t)(MOST_LOSS * PARTS_OF_PERCENT),
                         &percent) ||
        (point != NULL &&
         (decimals > 2 || !jg_number_parse(point + 1, decimals, 0, 99, &part)))) {
        return false;
    }
    *ret_parts = percent * PARTS_OF_PERCENT + (decimals == 1 ? part * 10 : part);
    return *ret_parts <= (int64_t)(MOST_LOSS * PARTS_OF_ONE);
}

static jit_gemm_status read_loss(const struct jg_word *word, jit_gemm_range *range)
{
    int64_t parts;
    if (!parse_percent(word->value, word->value_size, &parts)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.loss",
                       "give a percentage up to 1000% with up to two decimals, such as 5%",
                       "%s at column %zu is none",
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    range->loss = parts > 0 ? (double)parts / PARTS_OF_ONE : JIT_GEMM_LOSS_NONE;
    return JIT_GEMM_OK;
}

/* What a word is to a range. */
enum word_kind { WORD_OTHER, WORD_SIZES, WORD_LOSS, WORD_CONFIG };

static enum word_kind read_word(const struct jg_word *word, jit_gemm_range *range,
                                jit_gemm_status *ret_status)
{
    *ret_status = JIT_GEMM_OK;
    if (word->value == NULL) {
        return WORD_OTHER;
    }
    if (jg_word_is(word->key, word->key_size, "config")) {
        return WORD_CONFIG;
    }
    if (jg_word_is(word->key, word->key_size, "loss")) {
        *ret_status = range->loss != 0.0 ? jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.loss",
                                                   "give it once", "'loss' is given twice")
                                         : read_loss(word, range);
        return WORD_LOSS;
    }
    const char *dots = find_dots(word->value, word->value_size);
    for (int i = 0; i < JG_DIM_COUNT && dots != NULL; i++) {
        if (jg_word_is(word->key, word->key_size, names[i])) {
            *ret_status = range->last != 0
                              ? jg_fail(JIT_GEMM_ERR_ARGUMENT, "range",
                                        "give the other sizes as single numbers",
                                        "two dimensions have a range")
                              : read_sizes(word, dots, i, range);
            return WORD_SIZES;
        }
    }
    return WORD_OTHER;
}

static jit_gemm_status check_loss_alone(const jit_gemm_range *range)
{
    return range->loss == 0.0 || range->last != 0
               ? JIT_GEMM_OK
               : jg_fail(JIT_GEMM_ERR_ARGUMENT, "range.loss", range_hint,
                         "a loss is given, and no size has a range");
}

jit_gemm_status jg_range_parse(const char *text, jit_gemm_range *ret_range)
{
    jit_gemm_range range = {.struct_size = sizeof(range)};
    size_t offset = 0;
    struct jg_word word;
    while (jg_word_next(text, &offset, &word)) {
        jit_gemm_status status;
        const enum word_kind kind = read_word(&word, &range, &status);
        JG_TRY(status);
        if (kind == WORD_OTHER || kind == WORD_CONFIG) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range", range_hint,
                           "%s at column %zu is neither a size's range nor a loss",
                           jg_quote(word.key, word.key_size).text, word.column);
        }
    }
    if (range.last == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "range", range_hint, "no size has a range");
    }
    *ret_range = range;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_range_take(char *text, jit_gemm_range *ret_range, bool *ret_has_range)
{
    jit_gemm_range range = {.struct_size = sizeof(range)};
    size_t offset = 0;
    struct jg_word word;
    enum word_kind kind = WORD_OTHER;
    while (kind != WORD_CONFIG && jg_word_next(text, &offset, &word)) {
        jit_gemm_status status;
        kind = read_word(&word, &range, &status);
        JG_TRY(status);
        if (kind == WORD_LOSS) {
            memset(text + (word.column - 1), ' ',
                   word.value_column - word.column + word.value_size);
        } else if (kind == WORD_SIZES) { /* the greatest size, and blanks behind it */
            char *value = text + (word.value_column - 1);
            const size_t cut = (size_t)(find_dots(value, word.value_size) - value) + 2;
            memmove(value, value + cut, word.value_size - cut);
            memset(value + word.value_size - cut, ' ', cut);
        }
    }
    JG_TRY(check_loss_alone(&range));
    *ret_has_range = range.last != 0;
    *ret_range = range;
    return JIT_GEMM_OK;
}

void jg_range_print(const struct jg_range *range, struct jg_str *out)
{
    const int64_t parts = (int64_t)(range->loss * PARTS_OF_ONE + 0.5);
    const int64_t decimals = parts % PARTS_OF_PERCENT;
    jg_str_printf(out, "%s=%lld..%lld loss=%lld", names[range->index],
                  (long long)range->first, (long long)range->last,
                  (long long)(parts / PARTS_OF_PERCENT));
    if (decimals > 0) {
        jg_str_printf(out, decimals % 10 == 0 ? ".%lld" : ".%02lld",
                      (long long)(decimals % 10 == 0 ? decimals / 10 : decimals));
    }
    jg_str_puts(out, "%");
}
