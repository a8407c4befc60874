/* SPDX-License-Identifier: MIT */
#include "plan/problem_text.h"

#include <string.h>

#include "base/error.h"
#include "base/struct.h"
#include "plan/config.h"
#include "plan/text.h"

static const char problem_example[] =
    "give for instance 'm=4096 n=4096 k=4096 a=bf16' or '4096x4096x4096 bf16'";

enum problem_key {
    KEY_M,
    KEY_N,
    KEY_K,
    KEY_BATCH,
    KEY_A,
    KEY_B,
    KEY_C,
    KEY_D,
    KEY_LAYOUT,
    KEY_D_LAYOUT,
    KEY_A_SCALE,
    KEY_B_SCALE,
    KEY_DYNAMIC,
    KEY_WORKSPACE,
    KEY_INPUT_ALIGN,
    KEY_OUTPUT_ALIGN,
    KEY_EPILOGUE,
    KEY_CONFIG,
    KEY_COUNT
};

static const struct {
    const char *name;
    const char *place; /* in messages */
} keys[KEY_COUNT] = {
    [KEY_M] = {"m", "problem.m"},
    [KEY_N] = {"n", "problem.n"},
    [KEY_K] = {"k", "problem.k"},
    [KEY_BATCH] = {"batch", "problem.batch"},
    [KEY_A] = {"a", "problem.a"},
    [KEY_B] = {"b", "problem.b"},
    [KEY_C] = {"c", "problem.c"},
    [KEY_D] = {"d", "problem.d"},
    [KEY_LAYOUT] = {"layout", "problem.layout"},
    [KEY_D_LAYOUT] = {"d_layout", "problem.d_layout"},
    [KEY_A_SCALE] = {"a_scale", "problem.a_scale"},
    [KEY_B_SCALE] = {"b_scale", "problem.b_scale"},
    [KEY_DYNAMIC] = {"dynamic", "problem.dynamic"},
    [KEY_WORKSPACE] = {"workspace", "problem.workspace_limit"},
    [KEY_INPUT_ALIGN] = {"input_align", "problem.input_alignment"},
    [KEY_OUTPUT_ALIGN] = {"output_align", "problem.output_alignment"},
    [KEY_EPILOGUE] = {"epilogue", "problem.epilogue"},
    [KEY_CONFIG] = {"config", "problem.config"},
};

static struct jg_key_list list_keys(void)
{
    struct jg_key_list list = {"keys:"};
    for (int i = 0; i < KEY_COUNT; i++) {
        jg_key_list_add(&list, keys[i].name);
    }
    return list;
}

/* More than any device holds. */
#define MAX_WORKSPACE (INT64_C(1) << 50)

/* ------------------------------------------------------------------------- parsing */

struct problem_reader {
    jit_gemm_problem problem;
    unsigned seen; /* bit of each key that was given */
};

static jit_gemm_status mark_key(struct problem_reader *reader, enum problem_key key,
                                size_t column)
{
    if ((reader->seen & (1u << key)) != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[key].place, "give each key once",
                       "key '%s' at column %zu is given twice", keys[key].name, column);
    }
    reader->seen |= 1u << key;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_size(struct problem_reader *reader, enum problem_key key,
                                 const struct jg_word *word)
{
    const enum jg_dim_index index = (enum jg_dim_index)(key - KEY_M);
    jit_gemm_dim *dim = jg_problem_dim(&reader->problem, index);
    if (!jg_number_parse(word->value, word->value_size, 1, JG_MAX_SIZE, &dim->size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[key].place, jg_dim_hint(index),
                       "must be a number from 1 to %lld, is %s at column %zu",
                       (long long)JG_MAX_SIZE, jg_quote(word->value, word->value_size).text,
                       word->value_column);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_dtype(struct problem_reader *reader, enum problem_key key,
                                  const char *value, size_t size, size_t column)
{
    jit_gemm_dtype *const dtypes[] = {&reader->problem.a, &reader->problem.b,
                                      &reader->problem.c, &reader->problem.d};
    jit_gemm_dtype *dtype = dtypes[key - KEY_A];
    if (!jg_dtype_parse(value, size, dtype) ||
        (*dtype == JIT_GEMM_DTYPE_NONE && key != KEY_C)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[key].place,
                       key == KEY_C   ? JG_OUTPUT_TYPES ", or none"
                       : key == KEY_D ? JG_OUTPUT_TYPES
                                      : JG_INPUT_TYPES,
                       "unknown type %s at column %zu", jg_quote(value, size).text, column);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status read_layout(struct problem_reader *reader,
                                   const struct jg_word *word)
{
    const char *value = word->value;
    if (word->value_size != 2 || (value[0] != 'n' && value[0] != 't') ||
        (value[1] != 'n' && value[1] != 't')) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_LAYOUT].place,
                       "layouts: nt (K-major both) nn tn tt; A's letter, then B's",
                       "unknown layout %s at column %zu",
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    reader->problem.a_layout =
        value[0] == 'n' ? JIT_GEMM_LAYOUT_K_MAJOR : JIT_GEMM_LAYOUT_MN_MAJOR;
    reader->problem.b_layout =
        value[1] == 't' ? JIT_GEMM_LAYOUT_K_MAJOR : JIT_GEMM_LAYOUT_MN_MAJOR;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_scale(enum problem_key key, const struct jg_word *word,
                                  jit_gemm_scale *ret_scale)
{
    for (int scale = JIT_GEMM_SCALE_NONE; scale <= JIT_GEMM_SCALE_VECTOR; scale++) {
        if (jg_word_is(word->value, word->value_size,
                       jg_scale_name((jit_gemm_scale)scale))) {
            *ret_scale = (jit_gemm_scale)scale;
            return JIT_GEMM_OK;
        }
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[key].place, "scales: none tensor vector",
                   "unknown scale %s at column %zu",
                   jg_quote(word->value, word->value_size).text, word->value_column);
}

static jit_gemm_status read_d_layout(struct problem_reader *reader,
                                     const struct jg_word *word)
{
    const int is_column = jg_word_is(word->value, word->value_size, "column");
    if (!is_column && !jg_word_is(word->value, word->value_size, "row")) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_D_LAYOUT].place,
                       "give row or column", "unknown layout %s at column %zu",
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    reader->problem.d_layout = is_column ? JIT_GEMM_D_COLUMN_MAJOR : JIT_GEMM_D_ROW_MAJOR;
    return JIT_GEMM_OK;
}

/* One name of the list; 0 if it names no dimension, or one that is dynamic already. */
static int mark_dynamic(struct problem_reader *reader, const char *name, size_t size)
{
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        jit_gemm_dim *dim = jg_problem_dim(&reader->problem, (enum jg_dim_index)i);
        if (jg_word_is(name, size, keys[KEY_M + i].name) &&
            dim->mode == JIT_GEMM_DIM_EXACT) {
            dim->mode = JIT_GEMM_DIM_DYNAMIC;
            return 1;
        }
    }
    return 0;
}

static jit_gemm_status read_dynamic(struct problem_reader *reader,
                                    const struct jg_word *word)
{
    size_t begin = 0;
    while (begin <= word->value_size) {
        size_t end = begin;
        while (end < word->value_size && word->value[end] != ',') {
            end++;
        }
        if (!mark_dynamic(reader, word->value + begin, end - begin)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_DYNAMIC].place,
                           "give a list of m n k batch, such as dynamic=m,n, each once",
                           "%s at column %zu is unknown or given twice",
                           jg_quote(word->value + begin, end - begin).text,
                           word->value_column + begin);
        }
        begin = end + 1;
    }
    return JIT_GEMM_OK;
}

/* Letters that stand for a power of 1024 behind a number of bytes. */
static const char size_units[] = "kmg";

static jit_gemm_status read_workspace(struct problem_reader *reader,
                                      const struct jg_word *word)
{
    size_t digits = word->value_size;
    int shift = 0;
    for (int unit = 0; digits > 0 && size_units[unit] != '\0'; unit++) {
        if (word->value[digits - 1] == size_units[unit]) {
            shift = 10 * (unit + 1);
            digits--;
            break;
        }
    }
    int64_t bytes;
    if (!jg_number_parse(word->value, digits, 0, MAX_WORKSPACE >> shift, &bytes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_WORKSPACE].place,
                       "give bytes, with k, m or g for powers of 1024, such as "
                       "workspace=64m",
                       "%s at column %zu is no size up to %lldg",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       (long long)(MAX_WORKSPACE >> 30));
    }
    reader->problem.workspace_limit = (uint64_t)bytes << shift;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_alignment(enum problem_key key, const struct jg_word *word,
                                      uint64_t *ret_alignment)
{
    int64_t bytes;
    if (!jg_number_parse(word->value, word->value_size, 1, JG_TMA_ALIGNMENT, &bytes)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[key].place,
                       "give 1, 2, 4, 8 or 16 bytes", "%s at column %zu is no alignment",
                       jg_quote(word->value, word->value_size).text, word->value_column);
    }
    *ret_alignment = (uint64_t)bytes;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_epilogue(struct problem_reader *reader,
                                     const struct jg_word *word)
{
    if (word->value_size >= JIT_GEMM_NAME_SIZE ||
        !jg_is_identifier(word->value, word->value_size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_EPILOGUE].place,
                       "give the name of a registered epilogue",
                       "%s at column %zu is no C identifier of at most %d bytes",
                       jg_quote(word->value, word->value_size).text, word->value_column,
                       JIT_GEMM_NAME_SIZE - 1);
    }
    memcpy(reader->problem.epilogue, word->value, word->value_size);
    return JIT_GEMM_OK;
}

static size_t trim_end(const char *text, size_t size)
{
    while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL) {
        size--;
    }
    return size;
}

static size_t trim_begin(const char *text)
{
    return strspn(text, " \t\r\n");
}

/* The config is the rest of the text. */
static jit_gemm_status read_config(struct problem_reader *reader, const char *rest,
                                   size_t column)
{
    rest += trim_begin(rest);
    const size_t size = trim_end(rest, strlen(rest));
    if (size >= JIT_GEMM_CONFIG_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_CONFIG].place, "use a shorter text",
                       "the text at column %zu has %zu bytes, at most %d", column, size,
                       JIT_GEMM_CONFIG_SIZE - 1);
    }
    memcpy(reader->problem.config, rest, size);
    struct jg_config_override override;
    return jg_config_parse(reader->problem.config, &override);
}

static jit_gemm_status read_problem_word(struct problem_reader *reader,
                                         const struct jg_word *word)
{
    for (int i = 0; i < KEY_COUNT; i++) {
        const enum problem_key key = (enum problem_key)i;
        if (!jg_word_is(word->key, word->key_size, keys[key].name)) {
            continue;
        }
        JG_TRY(mark_key(reader, key, word->column));
        switch (key) {
        case KEY_M:
        case KEY_N:
        case KEY_K:
        case KEY_BATCH:
            return read_size(reader, key, word);
        case KEY_A:
        case KEY_B:
        case KEY_C:
        case KEY_D:
            return read_dtype(reader, key, word->value, word->value_size,
                              word->value_column);
        case KEY_LAYOUT:
            return read_layout(reader, word);
        case KEY_D_LAYOUT:
            return read_d_layout(reader, word);
        case KEY_A_SCALE:
            return read_scale(key, word, &reader->problem.a_scale);
        case KEY_B_SCALE:
            return read_scale(key, word, &reader->problem.b_scale);
        case KEY_DYNAMIC:
            return read_dynamic(reader, word);
        case KEY_WORKSPACE:
            return read_workspace(reader, word);
        case KEY_INPUT_ALIGN:
            return read_alignment(key, word, &reader->problem.input_alignment);
        case KEY_OUTPUT_ALIGN:
            return read_alignment(key, word, &reader->problem.output_alignment);
        case KEY_EPILOGUE:
            return read_epilogue(reader, word);
        case KEY_CONFIG:
            return read_config(reader, word->value, word->value_column);
        case KEY_COUNT:
            break;
        }
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", list_keys().text,
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
    reader->seen |= 1u << KEY_M | 1u << KEY_N | 1u << KEY_K;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_complete(const struct problem_reader *reader)
{
    for (int i = KEY_M; i <= KEY_K; i++) {
        jit_gemm_problem problem = reader->problem;
        const jit_gemm_dim *dim = jg_problem_dim(&problem, (enum jg_dim_index)(i - KEY_M));
        if ((reader->seen & (1u << i)) == 0 && dim->mode == JIT_GEMM_DIM_EXACT) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[i].place, problem_example,
                           "key '%s' is missing", keys[i].name);
        }
    }
    if ((reader->seen & (1u << KEY_A)) == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, keys[KEY_A].place, "give for instance a=bf16",
                       "key 'a', the element type, is missing");
    }
    return JIT_GEMM_OK;
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
    size_t offset = 0;
    struct jg_word word;
    int index = 0;
    int is_short = 0;
    for (; jg_word_next(text, &offset, &word); index++) {
        if (word.value != NULL) {
            JG_TRY(read_problem_word(&reader, &word));
            if ((reader.seen & (1u << KEY_CONFIG)) != 0) {
                break;
            }
        } else if (index == 1 && is_short) {
            JG_TRY(mark_key(&reader, KEY_A, word.column));
            JG_TRY(read_dtype(&reader, KEY_A, word.key, word.key_size, word.column));
        } else if (index == 0) {
            JG_TRY(read_short_sizes(&reader, &word));
            is_short = 1;
        } else {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", list_keys().text,
                           "%s at column %zu is not of the form key=value",
                           jg_quote(word.key, word.key_size).text, word.column);
        }
    }
    if (index == 0 && reader.seen == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem", problem_example,
                       "the text is empty");
    }
    JG_TRY(check_complete(&reader));
    JG_TRY(jg_problem_check_fields(&reader.problem));
    *ret_problem = reader.problem;
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------ printing */

/* With the greatest unit that loses nothing. */
static void print_workspace(uint64_t bytes, struct jg_str *out)
{
    if (bytes == 0) {
        return;
    }
    int unit = 0;
    while (size_units[unit] != '\0' && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    jg_str_printf(out, " workspace=%llu%.*s", (unsigned long long)bytes, unit > 0,
                  unit > 0 ? &size_units[unit - 1] : "");
}

/* `problem` has its defaults filled in. */
static void print_problem(const jit_gemm_problem *problem, struct jg_str *out)
{
    jit_gemm_problem copy = *problem;
    const char *separator = "";
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        const jit_gemm_dim *dim = jg_problem_dim(&copy, (enum jg_dim_index)i);
        const int is_default_batch =
            i == JG_DIM_BATCH && dim->mode == JIT_GEMM_DIM_EXACT && dim->size == 1;
        if (dim->size > 0 && !is_default_batch) {
            jg_str_printf(out, "%s%s=%lld", separator, keys[KEY_M + i].name,
                          (long long)dim->size);
            separator = " ";
        }
    }
    jg_str_printf(out, "%sa=%s", separator, jg_dtype_name(problem->a));
    if (problem->b != problem->a) {
        jg_str_printf(out, " b=%s", jg_dtype_name(problem->b));
    }
    if (problem->c != JIT_GEMM_DTYPE_NONE) {
        jg_str_printf(out, " c=%s", jg_dtype_name(problem->c));
    }
    if (problem->d != jg_dtype_default_d(problem->a)) {
        jg_str_printf(out, " d=%s", jg_dtype_name(problem->d));
    }
    const char a_letter = problem->a_layout == JIT_GEMM_LAYOUT_K_MAJOR ? 'n' : 't';
    const char b_letter = problem->b_layout == JIT_GEMM_LAYOUT_K_MAJOR ? 't' : 'n';
    if (a_letter != 'n' || b_letter != 't') {
        jg_str_printf(out, " layout=%c%c", a_letter, b_letter);
    }
    if (problem->d_layout == JIT_GEMM_D_COLUMN_MAJOR) {
        jg_str_puts(out, " d_layout=column");
    }
    if (problem->a_scale != JIT_GEMM_SCALE_NONE) {
        jg_str_printf(out, " a_scale=%s", jg_scale_name(problem->a_scale));
    }
    if (problem->b_scale != JIT_GEMM_SCALE_NONE) {
        jg_str_printf(out, " b_scale=%s", jg_scale_name(problem->b_scale));
    }
    separator = " dynamic=";
    for (int i = 0; i < JG_DIM_COUNT; i++) {
        if (jg_problem_dim(&copy, (enum jg_dim_index)i)->mode == JIT_GEMM_DIM_DYNAMIC) {
            jg_str_printf(out, "%s%s", separator, keys[KEY_M + i].name);
            separator = ",";
        }
    }
    print_workspace(problem->workspace_limit, out);
    if (problem->input_alignment != 0) {
        jg_str_printf(out, " input_align=%llu",
                      (unsigned long long)problem->input_alignment);
    }
    if (problem->output_alignment != 0) {
        jg_str_printf(out, " output_align=%llu",
                      (unsigned long long)problem->output_alignment);
    }
    if (problem->epilogue[0] != '\0') {
        jg_str_printf(out, " epilogue=%s", problem->epilogue);
    }
    const char *config = problem->config + trim_begin(problem->config);
    const size_t config_size = trim_end(config, strlen(config));
    if (config_size > 0) {
        jg_str_puts(out, " config=");
        for (size_t i = 0; i < config_size; i++) {
            jg_str_add(out, strchr("\t\r\n", config[i]) != NULL ? " " : config + i, 1);
        }
    }
}

jit_gemm_status jg_problem_print(const jit_gemm_problem *problem, struct jg_str *out)
{
    jit_gemm_problem checked = {0};
    JG_TRY(jg_struct_import(problem, &checked, sizeof(checked), "problem"));
    JG_TRY(jg_problem_check_fields(&checked));
    struct jg_config_override override;
    JG_TRY(jg_config_parse(checked.config, &override));
    print_problem(&checked, out);
    return jg_str_status(out);
}

void jg_problem_text(const struct jg_problem *problem, struct jg_str *out)
{
    jit_gemm_problem plain;
    memset(&plain, 0, sizeof(plain));
    plain.m = problem->m;
    plain.n = problem->n;
    plain.k = problem->k;
    plain.batch = problem->batch;
    plain.a = problem->a.dtype;
    plain.b = problem->b.dtype;
    plain.c = problem->c.dtype;
    plain.d = problem->d.dtype;
    plain.a_layout =
        problem->a.is_mn_major ? JIT_GEMM_LAYOUT_MN_MAJOR : JIT_GEMM_LAYOUT_K_MAJOR;
    plain.b_layout =
        problem->b.is_mn_major ? JIT_GEMM_LAYOUT_MN_MAJOR : JIT_GEMM_LAYOUT_K_MAJOR;
    plain.a_scale = problem->a.scale.kind;
    plain.b_scale = problem->b.scale.kind;
    plain.d_layout =
        problem->d.is_mn_major ? JIT_GEMM_D_COLUMN_MAJOR : JIT_GEMM_D_ROW_MAJOR;
    plain.workspace_limit = problem->workspace_limit;
    plain.input_alignment =
        jg_loads_by_threads(problem) ? (uint64_t)problem->a.alignment : 0;
    plain.output_alignment =
        jg_outputs_by_threads(problem) ? (uint64_t)problem->d.alignment : 0;
    memcpy(plain.config, problem->config, sizeof(plain.config));
    if (problem->epilogue != NULL) {
        memcpy(plain.epilogue, problem->epilogue->name, sizeof(plain.epilogue));
    }
    print_problem(&plain, out);
}
