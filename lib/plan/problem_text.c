/* SPDX-License-Identifier: MIT */
#include "plan/problem_text.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/config.h"
#include "plan/dtype.h"
#include "plan/groups.h"
#include "plan/invariance.h"
#include "plan/problem.h"
#include "plan/problem_words.h"
#include "plan/rows.h"
#include "plan/scale.h"
#include "plan/text.h"
#include "plan/typical_sizes.h"

static const char problem_example[] =
    "give for instance 'm=4096 n=4096 k=4096 a=bf16' or '4096x4096x4096 bf16'";

struct problem_reader;

/* A key of the text form. */
struct problem_key {
    const char *name;
    const char *where; /* in messages: the field, or the key where that sets several */
    jit_gemm_status (*read)(struct problem_reader *reader, const struct problem_key *key,
                            const struct jg_word *word);
    int index; /* of the dimension or matrix that it speaks of */
    const char *hint;
};

/* ------------------------------------------------------------------------- parsing */

struct problem_reader {
    jit_gemm_problem problem;
    uint64_t seen;     /* bit of each key that was given */
    uint64_t brought;  /* keys of them that a type brought along */
    bool a_has_scales; /* A's type brought its scales along */
    bool has_batch, has_groups;
};

static jit_gemm_matrix *matrix_of(struct problem_reader *reader,
                                  const struct problem_key *key)
{
    return jg_problem_matrix(&reader->problem, (enum jg_matrix_index)key->index);
}

/* `thing` is what the word's value should be, such as "type"; `nearest` is what was meant.
 */
static jit_gemm_status refuse_far(const struct problem_key *key, const char *thing,
                                  const struct jg_word *word,
                                  const struct jg_nearest *nearest)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, jg_near_hint(nearest, key->hint).text,
                   "unknown %s %s at column %zu", thing,
                   jg_quote(word->value, word->value_size).text, word->value_column);
}

/* Up to a `;` the hint names what may stand there. */
static jit_gemm_status refuse_unknown(const struct problem_key *key, const char *thing,
                                      const struct jg_word *word)
{
    struct jg_nearest nearest = jg_nearest_begin(word->value, word->value_size);
    for (const char *at = key->hint; *at != '\0' && *at != ';';) {
        const size_t size = strcspn(at, " ,;");
        if (size > 0 && !jg_word_is(at, size, "give") && !jg_word_is(at, size, "or")) {
            jg_nearest_try(&nearest, at, size);
        }
        at += size + (at[size] == ' ' || at[size] == ',' ? 1 : 0);
    }
    return refuse_far(key, thing, word, &nearest);
}

static jit_gemm_status refuse_dtype(const struct problem_key *key,
                                    const struct jg_word *word)
{
    struct jg_nearest nearest = jg_nearest_begin(word->value, word->value_size);
    const bool is_input = key->index == JG_MATRIX_A || key->index == JG_MATRIX_B;
    jg_dtype_nearest(&nearest, is_input ? jg_dtype_is_input : jg_dtype_is_output);
    if (key->index != JG_MATRIX_C) {
        jg_scale_format_nearest(&nearest);
    }
    return refuse_far(key, "type", word, &nearest);
}

static jit_gemm_status read_size(struct problem_reader *reader,
                                 const struct problem_key *key, const struct jg_word *word)
{
    const enum jg_dim_index index = (enum jg_dim_index)key->index;
    jit_gemm_dim *dim = jg_problem_dim(&reader->problem, index);
    if (!jg_number_parse(word->value, word->value_size, 1, JG_MAX_SIZE, &dim->size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where,
                       memmem(word->value, word->value_size, "..", 2) != NULL
                           ? "give one size; ranges stand in manifests and plan --sweep"
                           : jg_dim_hint(index),
                       "must be a number from 1 to %lld, is %s at column %zu",
                       (long long)JG_MAX_SIZE, jg_quote(word->value, word->value_size).text,
                       word->value_column);
    }
    reader->has_batch |= index == JG_DIM_BATCH;
    return JIT_GEMM_OK;
}

/* They are counted as a batch is, and lie by offsets unless `group_by` says otherwise. */
static jit_gemm_status read_groups(struct problem_reader *reader,
                                   const struct problem_key *key,
                                   const struct jg_word *word)
{
    jit_gemm_problem *problem = &reader->problem;
    if (!jg_number_parse(word->value, word->value_size, 1, JG_MOST_GROUPS,
                         &problem->batch.size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "must be a number from 1 to %d, is %s at column %zu", JG_MOST_GROUPS,
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    reader->has_groups = true;
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        problem->group_by = JIT_GEMM_GROUP_BY_OFFSETS;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status mark_scale(struct problem_reader *reader,
                                  const struct problem_key *key,
                                  const struct jg_word *word);

static jit_gemm_status read_dtype(struct problem_reader *reader,
                                  const struct problem_key *key, const struct jg_word *word)
{
    jit_gemm_dtype *dtype = &matrix_of(reader, key)->dtype;
    if (key->index != JG_MATRIX_C &&
        jg_scale_format_parse(word->value, word->value_size, matrix_of(reader, key))) {
        reader->a_has_scales |= key->index == JG_MATRIX_A;
        return mark_scale(reader, key, word);
    }
    if (!jg_dtype_parse(word->value, word->value_size, dtype) ||
        (*dtype == JIT_GEMM_DTYPE_NONE && key->index != JG_MATRIX_C)) {
        return refuse_dtype(key, word);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_layouts(struct problem_reader *reader,
                                    const struct problem_key *key,
                                    const struct jg_word *word)
{
    if (word->value_size != JG_LAYOUT_LETTERS) {
        return refuse_unknown(key, "layout", word);
    }
    for (int i = JG_MATRIX_A; i <= JG_MATRIX_B; i++) {
        const bool is_k_major = word->value[i] == jg_k_major_letters[i];
        if (!is_k_major && word->value[i] != jg_mn_major_letters[i]) {
            return refuse_unknown(key, "layout", word);
        }
        jg_problem_matrix(&reader->problem, (enum jg_matrix_index)i)->layout =
            is_k_major ? JIT_GEMM_LAYOUT_K_MAJOR : JIT_GEMM_LAYOUT_MN_MAJOR;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_layout(struct problem_reader *reader,
                                   const struct problem_key *key,
                                   const struct jg_word *word)
{
    const bool is_column = jg_word_is(word->value, word->value_size, "column");
    if (!is_column && !jg_word_is(word->value, word->value_size, "row")) {
        return refuse_unknown(key, "layout", word);
    }
    matrix_of(reader, key)->layout =
        is_column ? JIT_GEMM_LAYOUT_COLUMN_MAJOR : JIT_GEMM_LAYOUT_ROW_MAJOR;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_scale(struct problem_reader *reader,
                                  const struct problem_key *key, const struct jg_word *word)
{
    jit_gemm_scale *scale = &matrix_of(reader, key)->scale;
    if (jg_scale_parse(word->value, word->value_size, scale)) {
        return JIT_GEMM_OK;
    }
    struct jg_nearest nearest = jg_nearest_begin(word->value, word->value_size);
    jg_scale_nearest(&nearest);
    return refuse_far(key, "scale", word, &nearest);
}

static jit_gemm_status read_scale_layout(struct problem_reader *reader,
                                         const struct problem_key *key,
                                         const struct jg_word *word)
{
    uint32_t *layout = &matrix_of(reader, key)->scale.layout;
    if (jg_scale_layout_parse(word->value, word->value_size, layout)) {
        return JIT_GEMM_OK;
    }
    struct jg_nearest nearest = jg_nearest_begin(word->value, word->value_size);
    jg_scale_layout_nearest(&nearest);
    return refuse_far(key, "layout", word, &nearest);
}

/* One name of the list; false if it names no dimension, or one that is dynamic already. */
static bool mark_dynamic(struct problem_reader *reader, const char *name, size_t size)
{
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        jit_gemm_dim *dim = jg_problem_dim(&reader->problem, (enum jg_dim_index)i);
        if (jg_word_is(name, size, jg_dim_names[i]) && dim->mode == JIT_GEMM_DIM_EXACT) {
            dim->mode = JIT_GEMM_DIM_DYNAMIC;
            return true;
        }
    }
    return false;
}

static jit_gemm_status read_dynamic(struct problem_reader *reader,
                                    const struct problem_key *key,
                                    const struct jg_word *word)
{
    size_t begin = 0;
    while (begin <= word->value_size) {
        size_t end = begin;
        while (end < word->value_size && word->value[end] != ',') {
            end++;
        }
        if (!mark_dynamic(reader, word->value + begin, end - begin)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                           "%s at column %zu is unknown or given twice",
                           jg_quote(word->value + begin, end - begin).text,
                           word->value_column + begin);
        }
        begin = end + 1;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_workspace(struct problem_reader *reader,
                                      const struct problem_key *key,
                                      const struct jg_word *word)
{
    size_t digits = word->value_size;
    int shift = 0;
    for (int unit = 0; digits > 0 && jg_size_units[unit] != '\0'; unit++) {
        if (word->value[digits - 1] == jg_size_units[unit]) {
            shift = 10 * (unit + 1);
            digits--;
            break;
        }
    }
    int64_t bytes;
    if (!jg_number_parse(word->value, digits, 0, (int64_t)(JG_WORKSPACE_MOST >> shift),
                         &bytes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "%s at column %zu is no size up to %lldg",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       (long long)(JG_WORKSPACE_MOST >> 30));
    }
    reader->problem.workspace_limit = (uint64_t)bytes << shift;
    return JIT_GEMM_OK;
}

/* Of one matrix; it holds for the other ones that share it. */
static jit_gemm_status read_alignment(struct problem_reader *reader,
                                      const struct problem_key *key,
                                      const struct jg_word *word)
{
    int64_t bytes;
    if (!jg_number_parse(word->value, word->value_size, 1, JG_TMA_ALIGNMENT, &bytes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "%s at column %zu is no alignment",
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    matrix_of(reader, key)->alignment = (uint32_t)bytes;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_epilogue(struct problem_reader *reader,
                                     const struct problem_key *key,
                                     const struct jg_word *word)
{
    if (word->value_size >= JIT_GEMM_NAME_SIZE ||
        !jg_is_identifier(word->value, word->value_size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "%s at column %zu is no C identifier of at most %d bytes",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       JIT_GEMM_NAME_SIZE - 1);
    }
    memcpy(reader->problem.epilogue, word->value, word->value_size);
    return JIT_GEMM_OK;
}

/* The config is the rest of the text. */
static jit_gemm_status read_config(struct problem_reader *reader,
                                   const struct problem_key *key,
                                   const struct jg_word *word)
{
    const char *rest = word->value + jg_trim_begin(word->value);
    const size_t size = jg_trim_end(rest, strlen(rest));
    if (size >= JIT_GEMM_CONFIG_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "the text at column %zu has %zu bytes, at most %d",
                       word->value_column, size, JIT_GEMM_CONFIG_SIZE - 1);
    }
    memcpy(reader->problem.config, rest, size);
    struct jg_config_override override;
    return jg_config_parse(reader->problem.config, &override);
}

static jit_gemm_status read_pair(struct problem_reader *reader,
                                 const struct problem_key *key, const struct jg_word *word)
{
    for (int i = JIT_GEMM_PAIR_INTERLEAVED; i <= JIT_GEMM_PAIR_HALVES; i++) {
        if (jg_word_is(word->value, word->value_size, jg_pair_names[i])) {
            reader->problem.pair = (jit_gemm_pair)i;
            return JIT_GEMM_OK;
        }
    }
    return refuse_unknown(key, "pair", word);
}

static jit_gemm_status read_registers(struct problem_reader *reader,
                                      const struct problem_key *key,
                                      const struct jg_word *word)
{
    int64_t registers;
    if (!jg_number_parse(word->value, word->value_size, 1, JG_MAX_THREAD_REGISTERS,
                         &registers)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "must be a number from 1 to %d, is %s at column %zu",
                       JG_MAX_THREAD_REGISTERS,
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    reader->problem.register_limit = (uint32_t)registers;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_local_memory(struct problem_reader *reader,
                                         const struct problem_key *key,
                                         const struct jg_word *word)
{
    const bool is_none = jg_word_is(word->value, word->value_size, "none");
    if (!is_none && !jg_word_is(word->value, word->value_size, "any")) {
        return refuse_unknown(key, "amount", word);
    }
    reader->problem.no_local_memory = is_none;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_group_rest(struct problem_reader *reader,
                                       const struct problem_key *key,
                                       const struct jg_word *word)
{
    return jg_group_rest_parse(word->value, word->value_size, &reader->problem.group_rest)
               ? JIT_GEMM_OK
               : refuse_unknown(key, "way", word);
}

static jit_gemm_status read_scale_rows(struct problem_reader *reader,
                                       const struct problem_key *key,
                                       const struct jg_word *word)
{
    return jg_scale_rows_parse(word->value, word->value_size, &reader->problem.scale_rows)
               ? JIT_GEMM_OK
               : refuse_unknown(key, "way", word);
}

static jit_gemm_status read_typical_sizes(struct problem_reader *reader,
                                          const struct problem_key *key,
                                          const struct jg_word *word)
{
    if (!jg_typical_sizes_parse(word->value, word->value_size,
                                reader->problem.typical_sizes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, key->hint,
                       "%s at column %zu is no list of up to %d times groups and rows",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       JIT_GEMM_SIZE_RUNS);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_invariant(struct problem_reader *reader,
                                      const struct problem_key *key,
                                      const struct jg_word *word)
{
    return jg_invariance_parse(word->value, word->value_size, &reader->problem.invariant)
               ? JIT_GEMM_OK
               : refuse_unknown(key, "invariance", word);
}

static jit_gemm_status read_accumulate(struct problem_reader *reader,
                                       const struct problem_key *key,
                                       const struct jg_word *word)
{
    for (int i = JIT_GEMM_ACCUMULATE_EXACT; i <= JIT_GEMM_ACCUMULATE_FAST; i++) {
        if (jg_word_is(word->value, word->value_size, jg_accumulate_names[i])) {
            reader->problem.accumulate = (jit_gemm_accumulate)i;
            return JIT_GEMM_OK;
        }
    }
    return refuse_unknown(key, "accumulation", word);
}

static jit_gemm_status read_weights(struct problem_reader *reader,
                                    const struct problem_key *key,
                                    const struct jg_word *word)
{
    for (int i = JIT_GEMM_WEIGHTS_NONE; i <= JIT_GEMM_WEIGHTS_B; i++) {
        if (jg_word_is(word->value, word->value_size, jg_weights_names[i])) {
            reader->problem.weights = (jit_gemm_weights)i;
            return JIT_GEMM_OK;
        }
    }
    return refuse_unknown(key, "matrix", word);
}

static jit_gemm_status read_group_by(struct problem_reader *reader,
                                     const struct problem_key *key,
                                     const struct jg_word *word)
{
    return jg_group_by_parse(word->value, word->value_size, &reader->problem.group_by)
               ? JIT_GEMM_OK
               : refuse_unknown(key, "form", word);
}

static jit_gemm_status read_rows(struct problem_reader *reader,
                                 const struct problem_key *key, const struct jg_word *word)
{
    jit_gemm_rows *rows =
        key->index == JG_MATRIX_A ? &reader->problem.a_rows : &reader->problem.d_rows;
    return jg_rows_parse(word->value, word->value_size, rows)
               ? JIT_GEMM_OK
               : refuse_unknown(key, "way", word);
}

#define ALIGNMENT_HINT "give 1, 2, 4, 8 or 16 bytes"

/* In the order in which they are listed and printed. */
static const struct problem_key keys[] = {
    {"m", "problem.m", read_size, JG_DIM_M, NULL},
    {"n", "problem.n", read_size, JG_DIM_N, NULL},
    {"k", "problem.k", read_size, JG_DIM_K, NULL},
    {"batch", "problem.batch", read_size, JG_DIM_BATCH, NULL},
    {"groups", "problem.batch", read_groups, 0, "give the number of groups"},
    {"group_by", "problem.group_by", read_group_by, 0,
     "give offsets, counts, rows, k_offsets or pointers"},
    {"group_rest", "problem.group_rest", read_group_rest, 0, "give untouched or zero"},
    {"scale_rows", "problem.scale_rows", read_scale_rows, 0,
     "give stacked or per_group_padded"},
    {"typical_sizes", "problem.typical_sizes", read_typical_sizes, 0,
     "give groups and their rows, such as 8x512,24x0..96: 8 of 512, and 24 that go evenly "
     "from 0 to 96"},
#define SCALED_TYPES "; with scales: mxfp8 mxfp8e5m2 mxfp4 nvfp4"
    {"a", "problem.a.dtype", read_dtype, JG_MATRIX_A, JG_INPUT_TYPES SCALED_TYPES},
    {"b", "problem.b.dtype", read_dtype, JG_MATRIX_B, JG_INPUT_TYPES SCALED_TYPES},
#undef SCALED_TYPES
    {"c", "problem.c.dtype", read_dtype, JG_MATRIX_C, JG_OUTPUT_TYPES ", or none"},
    {"d", "problem.d.dtype", read_dtype, JG_MATRIX_D,
     JG_OUTPUT_TYPES "; with scales: mxfp8 mxfp8e5m2 nvfp4"},
    {"layout", "problem.layout", read_layouts, 0,
     "layouts: nt nn tn tt; A's letter, then B's; nt: both K-major"},
    {"d_layout", "problem.d.layout", read_layout, JG_MATRIX_D, "give row or column"},
    {"a_rows", "problem.a_rows", read_rows, JG_MATRIX_A, "give in_order or indexed"},
    {"d_rows", "problem.d_rows", read_rows, JG_MATRIX_D, "give in_order or indexed"},
    {"a_scale", "problem.a.scale.kind", read_scale, JG_MATRIX_A, JG_SCALES},
    {"a_scale_layout", "problem.a.scale.layout", read_scale_layout, JG_MATRIX_A,
     JG_SCALE_LAYOUTS},
    {"b_scale", "problem.b.scale.kind", read_scale, JG_MATRIX_B, JG_SCALES},
    {"b_scale_layout", "problem.b.scale.layout", read_scale_layout, JG_MATRIX_B,
     JG_SCALE_LAYOUTS},
    {"d_scale", "problem.d.scale.kind", read_scale, JG_MATRIX_D, JG_SCALES},
    {"d_scale_layout", "problem.d.scale.layout", read_scale_layout, JG_MATRIX_D,
     JG_SCALE_LAYOUTS},
    {"dynamic", "problem.dynamic", read_dynamic, 0,
     "give a list of m n k batch, such as dynamic=m,n, each once"},
    {"workspace", "problem.workspace_limit", read_workspace, 0,
     "give bytes, with k, m or g for powers of 1024, such as workspace=64m"},
    {"input_align", "problem.a.alignment", read_alignment, JG_MATRIX_A, ALIGNMENT_HINT},
    {"output_align", "problem.d.alignment", read_alignment, JG_MATRIX_D, ALIGNMENT_HINT},
    {"pair", "problem.pair", read_pair, 0, "give interleaved or halves"},
    {"invariant", "problem.invariant", read_invariant, 0, "give none or m"},
    {"accumulate", "problem.accumulate", read_accumulate, 0, "give exact or fast"},
    {"weights", "problem.weights", read_weights, 0, "give none, a or b"},
    {"max_registers", "problem.register_limit", read_registers, 0,
     "give the most registers of a thread, such as max_registers=168"},
    {"local_memory", "problem.no_local_memory", read_local_memory, 0, "give any or none"},
    {"epilogue", "problem.epilogue", read_epilogue, 0,
     "give the name of a registered epilogue"},
    {"config", "problem.config", read_config, 0, "use a shorter text"},
};

/* Those that are named here; the others are in the table only. */
enum { KEY_M, KEY_N, KEY_K, KEY_A = 9, KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

#define SCALES_GIVEN "leave one of them out, or name the element type alone"

/* Counts the scale's key as given: the type has brought it along. */
static jit_gemm_status mark_scale(struct problem_reader *reader,
                                  const struct problem_key *key, const struct jg_word *word)
{
    int i = 0;
    while (keys[i].read != read_scale || keys[i].index != key->index) {
        i++;
    }
    if ((reader->seen & (UINT64_C(1) << i)) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, SCALES_GIVEN,
                       "%s at column %zu brings its scales along, and '%s' is given too",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       keys[i].name);
    }
    reader->seen |= UINT64_C(1) << i;
    reader->brought |= UINT64_C(1) << i;
    return JIT_GEMM_OK;
}

static struct jg_key_list list_keys(const struct jg_word *word)
{
    struct jg_key_list list = {"keys:"};
    struct jg_nearest nearest = jg_nearest_begin(word->key, word->key_size);
    for (int i = 0; i < KEY_COUNT; i++) {
        jg_key_list_add(&list, keys[i].name);
        jg_nearest_try(&nearest, keys[i].name, strlen(keys[i].name));
    }
    jg_key_list_ask(&list, &nearest);
    return list;
}

static jit_gemm_status read_key(struct problem_reader *reader,
                                const struct problem_key *key, const struct jg_word *word)
{
    const uint64_t bit = UINT64_C(1) << (key - keys);
    if ((reader->brought & bit) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, SCALES_GIVEN,
                       "'%s' at column %zu is given, and the type brought scales along",
                       key->name, word->column);
    }
    if ((reader->seen & bit) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, key->where, "give each key once",
                       "key '%s' at column %zu is given twice", key->name, word->column);
    }
    reader->seen |= bit;
    return key->read(reader, key, word);
}

/* `ret_is_last`: the word's value was the rest of the text. */
static jit_gemm_status read_problem_word(struct problem_reader *reader,
                                         const struct jg_word *word, bool *ret_is_last)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        if (jg_word_is(word->key, word->key_size, keys[i].name)) {
            *ret_is_last = keys[i].read == read_config;
            return read_key(reader, &keys[i], word);
        }
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", list_keys(word).text,
                   "unknown key %s at column %zu", jg_quote(word->key, word->key_size).text,
                   word->column);
}

static jit_gemm_status read_short_sizes(struct problem_reader *reader,
                                        const struct jg_word *word)
{
    int64_t sizes[3];
    if (!jg_numbers_parse(word->key, word->key_size, 3, 1, JG_MAX_SIZE, sizes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", problem_example,
                       "%s at column %zu is neither key=value nor MxNxK with sizes from 1 "
                       "to %lld",
                       jg_quote(word->key, word->key_size).text, word->column,
                       (long long)JG_MAX_SIZE);
    }
    reader->problem.m.size = sizes[0];
    reader->problem.n.size = sizes[1];
    reader->problem.k.size = sizes[2];
    reader->seen |= UINT64_C(1) << KEY_M | UINT64_C(1) << KEY_N | UINT64_C(1) << KEY_K;
    return JIT_GEMM_OK;
}

/* Is it the name of a type, or of one with scales, and not a key or sizes? */
static bool is_type_name(const struct jg_word *word)
{
    jit_gemm_matrix any = {0};
    return jg_scale_format_parse(word->key, word->key_size, &any) ||
           (jg_dtype_parse(word->key, word->key_size, &any.dtype) &&
            any.dtype != JIT_GEMM_DTYPE_NONE);
}

/* A's type, which has no key. */
static jit_gemm_status read_short_type(struct problem_reader *reader,
                                       const struct jg_word *word)
{
    const struct jg_word typed = {.value = word->key,
                                  .value_size = word->key_size,
                                  .column = word->column,
                                  .value_column = word->column};
    if ((reader->seen & UINT64_C(1) << KEY_A) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_A].where,
                       "give A's type once, and others as b=, c= and d=",
                       "%s at column %zu is given, and A has a type already",
                       jg_quote(word->key, word->key_size).text, word->column);
    }
    return read_key(reader, &keys[KEY_A], &typed);
}

/* A word without `=`, number `index` of the text: A's type, anywhere, or the sizes of the
 * short form, which is one of the first two words. `is_short`: the first one has no key. */
static jit_gemm_status read_short_word(struct problem_reader *reader, int index,
                                       bool is_short, const struct jg_word *word)
{
    const bool has_type = (reader->seen & UINT64_C(1) << KEY_A) != 0;
    if (is_type_name(word)) {
        return read_short_type(reader, word);
    }
    if (index == 0 || (index == 1 && is_short && has_type)) {
        return read_short_sizes(reader, word);
    }
    if (index == 1 && is_short) {
        return read_short_type(reader, word);
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", list_keys(word).text,
                   "%s at column %zu is not of the form key=value",
                   jg_quote(word->key, word->key_size).text, word->column);
}

static jit_gemm_status check_groups(const struct problem_reader *reader)
{
    if (reader->has_batch && reader->has_groups) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.batch",
                       "give groups= for rows in groups, batch= for whole products",
                       "the keys 'batch' and 'groups' are both given");
    }
    if (reader->problem.group_by != JIT_GEMM_GROUP_NONE && !reader->has_groups) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.batch",
                       "give the number of groups, such as groups=8",
                       "key 'group_by' is given, and 'groups' is missing");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_complete(struct problem_reader *reader)
{
    JG_TRY(check_groups(reader));
    for (int i = KEY_M; i <= KEY_K; i++) {
        const jit_gemm_dim *dim =
            jg_problem_dim(&reader->problem, (enum jg_dim_index)keys[i].index);
        if ((reader->seen & (UINT64_C(1) << i)) == 0 && dim->mode == JIT_GEMM_DIM_EXACT) {
            char remedy[160];
            snprintf(remedy, sizeof(remedy), "%s; or dynamic=%s, if launches set it",
                     problem_example, keys[i].name);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[i].where, remedy,
                           "key '%s' is missing", keys[i].name);
        }
    }
    if ((reader->seen & (UINT64_C(1) << KEY_A)) == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_A].where, "give for instance a=bf16",
                       "key 'a', the element type, is missing");
    }
    jit_gemm_matrix *b = &reader->problem.b;
    if (reader->a_has_scales && b->dtype == JIT_GEMM_DTYPE_NONE &&
        b->scale.kind == JIT_GEMM_SCALE_NONE) { /* as A: its type and its scales */
        b->scale = reader->problem.a.scale;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_words(struct problem_reader *reader, const char *text)
{
    size_t offset = 0;
    struct jg_word word;
    bool is_short = false;
    bool is_last = false;
    int index = 0;
    for (; !is_last && jg_word_next(text, &offset, &word); index++) {
        if (word.value != NULL) {
            JG_TRY(read_problem_word(reader, &word, &is_last));
        } else {
            JG_TRY(read_short_word(reader, index, is_short, &word));
            is_short = true;
        }
    }
    if (index == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", problem_example,
                       "the text is empty");
    }
    return check_complete(reader);
}

jit_gemm_status jg_problem_parse(const char *text, jit_gemm_problem *ret_problem)
{
    if (text == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", problem_example,
                       "the text is NULL");
    }
    struct problem_reader reader;
    memset(&reader, 0, sizeof(reader));
    reader.problem.struct_size = sizeof(reader.problem);
    JG_TRY(read_words(&reader, text));
    JG_TRY(jg_problem_check_fields(&reader.problem));
    *ret_problem = reader.problem;
    return JIT_GEMM_OK;
}
