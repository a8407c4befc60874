/* SPDX-License-Identifier: MIT */
#include "random_unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/quantise.h"

enum { MAX_INPUTS = 6, GUARD_BYTE = 0xa5 };

void unit_fail(struct unit *unit, const char *what, const char *text)
{
    if (unit->wrong[0] == '\0') {
        snprintf(unit->wrong, sizeof(unit->wrong), "%s: %s", what, text);
    }
}

bool unit_check(struct unit *unit, const char *what, jit_gemm_status status)
{
    if (status != JIT_GEMM_OK) {
        unit_fail(unit, what, jit_gemm_last_error());
    }
    return status == JIT_GEMM_OK;
}

uint32_t unit_below(struct unit *unit, uint32_t count)
{
    return draw_below(&unit->draws, count);
}

static bool chance(struct unit *unit, uint32_t percent)
{
    return unit_below(unit, 100) < percent;
}

/* ------------------------------------------------------------------------- problems */

static int64_t draw_size(struct unit *unit, uint32_t most)
{
    static const int64_t borders[] = {1, 7, 8, 31, 32, 33, 63, 64, 65, 80};
    return chance(unit, 40) ? borders[unit_below(unit, 10)] : 1 + unit_below(unit, most);
}

struct types {
    const char *a, *b;
    const char *d[4];
    uint32_t d_count;
    bool is_nt_on_sm_90a;
};

static void draw_config(struct unit *unit, char *text, size_t size)
{
    static const char *const configs[2][4] = {
        {"tile=64x64", "tile=64x128 stages=3", "tile=128x64", "tile=64x64 cluster=2x1"},
        {"mma=128x64", "mma=64x64", "mma=256x64 cta_group=2 cluster=2x1",
         "mma=128x32 swap_ab=1"}};
    /* With whole blocks, mostly. */
    static const char *const wide[2][5] = {
        {"tile=64x128", "tile=64x256", "tile=128x256", "tile=128x128 cluster=2x1",
         "tile=128x32 swap_ab=1"},
        {"mma=128x256", "mma=64x128", "mma=256x256 cta_group=2 cluster=2x1", "mma=128x128",
         "mma=128x32 swap_ab=1"}};
    /* With 8 copies of the snippet, for elements of a vector; others have 16. */
    static const char *const few_copies[2][4] = {
        {"tile=64x64", "tile=64x32", "tile=128x64", "tile=128x16"},
        {"mma=128x64 acc_stages=2", "mma=64x64 acc_stages=2",
         "mma=256x64 cta_group=2 cluster=2x1 acc_stages=2",
         "mma=128x32 swap_ab=1 acc_stages=2"}};
    text[0] = '\0';
    if (unit->of_output > 1) {
        snprintf(text, size, " config=%s", few_copies[unit->arch][unit_below(unit, 4)]);
    } else if (chance(unit, 60)) {
        const char *config = unit->has_blocks ? wide[unit->arch][unit_below(unit, 5)]
                                              : configs[unit->arch][unit_below(unit, 4)];
        snprintf(text, size, " config=%s%s", config, chance(unit, 30) ? " split_k=2" : "");
    }
}

static int64_t b_columns(const struct unit *unit)
{
    return unit->is_gated ? 2 * unit->n : unit->n;
}

int64_t unit_b_column(const struct unit *unit, int64_t column, int accumulator)
{
    if (!unit->is_gated) {
        return column;
    }
    return unit->problem.pair == JIT_GEMM_PAIR_HALVES ? column + accumulator * unit->n
                                                      : 2 * column + accumulator;
}

bool unit_is_scaled(const struct unit *unit)
{
    return unit->problem.d.scale.kind == JIT_GEMM_SCALE_BLOCK;
}

/* A D with computed scales. */
static const char *draw_scaled_type(struct unit *unit)
{
    static const char *const types[] = {"e4m3 d_scale=1x128",
                                        "e5m2 d_scale=1x128 d_scale_layout=column",
                                        "e4m3 d_scale=mx",
                                        "mxfp8e5m2",
                                        "nvfp4",
                                        "nvfp4 d_scale_layout=row",
                                        "e4m3 d_scale=1x128ue8m0 d_scale_layout=mn_k4",
                                        "e5m2 d_scale=1x128ue8m0 d_scale_layout=8x4",
                                        "mxfp8 d_scale_layout=mn_k4",
                                        "mxfp8e5m2 d_scale_layout=column",
                                        "mxfp4",
                                        "mxfp4 d_scale_layout=mn_k4",
                                        "nvfp4 d_scale_layout=8x4",
                                        "e4m3 d_scale=128x128",
                                        "e5m2 d_scale=128x128 d_scale_layout=column",
                                        "e4m3 d_scale=128x128ue8m0 d_scale_layout=mn_k4"};
    return types[unit_below(unit, sizeof(types) / sizeof(types[0]))];
}

/* Few rows of some blocks. */
static void draw_wide_sizes(struct unit *unit)
{
    static const int64_t borders[] = {16, 144, 160, 256, 264, 272};
    unit->m = chance(unit, 30) ? 128 + unit_below(unit, 10) : 1 + unit_below(unit, 40);
    unit->n = chance(unit, 40) ? borders[unit_below(unit, 6)] : 1 + unit_below(unit, 350);
}

void unit_draw_problem(struct unit *unit, bool is_scaled)
{
    static const struct types types[] = {
        {"bf16", "bf16", {"bf16", "f32", "f16", "e4m3"}, 4, 0},
        {"f16", "f16", {"f16", "f32"}, 2, 0},
        {"tf32", "tf32", {"f32", "bf16"}, 2, 1},
        {"e4m3", "e5m2", {"bf16", "f32", "e5m2"}, 3, 1},
        {"s8", "s8", {"f32", "s32", "bf16"}, 3, 1}};
    static const char *const layouts[] = {"nt", "nn", "tn", "tt"};
    static const float factors[] = {1, 0.5f, -2, 1};
    const struct types *type = &types[chance(unit, 60) ? 0 : unit_below(unit, 5)];
    char config[128];
    char sizes[96];
    unit->m = draw_size(unit, 80);
    unit->n = draw_size(unit, 80);
    unit->has_blocks = is_scaled || chance(unit, 20);
    if (unit->has_blocks) {
        draw_wide_sizes(unit);
    }
    unit->of_output = !unit->has_blocks && chance(unit, 40) ? MOST_OF_OUTPUT : 1;
    unit->k = draw_size(unit, 100);
    unit->batch = chance(unit, 15) ? 2 : 1;
    unit->is_dynamic = chance(unit, 20);
    unit->is_gated = chance(unit, 20);
    const bool has_halves = unit->is_gated && chance(unit, 50);
    if (has_halves &&
        unit->is_dynamic) { /* a launch refuses other halves of an MN-major B */
        unit->n += -unit->n & 15;
    }
    if (unit->has_blocks && unit->is_dynamic) { /* nor what ends inside of a byte */
        unit->m += unit->m & 1;
        unit->n += unit->n & 1;
    }
    unit->alpha = factors[unit_below(unit, 4)];
    unit->beta = 1;
    snprintf(sizes, sizeof(sizes), "m=%d n=%d k=%d", (int)unit->m, (int)b_columns(unit),
             (int)unit->k);
    draw_config(unit, config, sizeof(config));
    const bool has_c = !unit->is_gated && chance(unit, 25); /* pairs take none */
    unit->beta = has_c ? factors[unit_below(unit, 4)] : 1;
    const char *d = type->d[unit_below(unit, type->d_count)];
    const char *d_layout = chance(unit, 25) ? "column" : "row";
    if (unit->has_blocks) {
        d = is_scaled || chance(unit, 60) ? draw_scaled_type(unit) : d;
        const bool is_quantised =
            strstr(d, "_scale=") != NULL || d[0] == 'm' || d[0] == 'n';
        d_layout = is_quantised ? d_layout : "row"; /* others have no blocks */
    }
    const bool is_nt = type->is_nt_on_sm_90a && unit->arch == 0;
    snprintf(unit->problem_text, sizeof(unit->problem_text),
             "%s batch=%d a=%s b=%s%s d=%s layout=%s d_layout=%s%s%s%s%s "
             "epilogue=random%s",
             unit->is_dynamic ? "m=256 n=256 k=256 dynamic=m,n,k" : sizes, (int)unit->batch,
             type->a, type->b, has_c ? " c=f32" : "", d,
             is_nt ? "nt" : layouts[unit_below(unit, 4)], d_layout,
             chance(unit, 10) ? " output_align=4" : "",
             chance(unit, 15) ? " a_scale=vector b_scale=tensor" : "",
             chance(unit, 15) ? " workspace=16m" : "", has_halves ? " pair=halves" : "",
             config);
}

/* ------------------------------------------------------------------------- operands */

static void add_operand(struct unit *unit, char letter, jit_gemm_operand_kind kind,
                        jit_gemm_dtype dtype, jit_gemm_operand_role role)
{
    const uint32_t i = unit->operand_count++;
    snprintf(unit->names[i], sizeof(unit->names[i]), "%c%u", letter, i);
    unit->operands[i] = (jit_gemm_operand){
        .name = unit->names[i], .kind = kind, .dtype = dtype, .role = role};
}

static jit_gemm_dtype draw_type(struct unit *unit)
{
    static const jit_gemm_dtype types[] = {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_BF16,
                                           JIT_GEMM_DTYPE_F16, JIT_GEMM_DTYPE_E4M3,
                                           JIT_GEMM_DTYPE_E5M2};
    return types[chance(unit, 50) ? 0 : unit_below(unit, 5)];
}

int unit_block_width(jit_gemm_operand_kind kind)
{
    return kind == JIT_GEMM_OPERAND_BLOCK_1X128  ? 128
           : kind == JIT_GEMM_OPERAND_BLOCK_1X32 ? 32
           : kind == JIT_GEMM_OPERAND_BLOCK_1X16 ? 16
                                                 : 0;
}

/* The last one or two outputs become reductions. */
static void draw_reductions(struct unit *unit)
{
    static const jit_gemm_operand_kind kinds[] = {
        JIT_GEMM_OPERAND_SCALAR,        JIT_GEMM_OPERAND_ROW_VECTOR,
        JIT_GEMM_OPERAND_COLUMN_VECTOR, JIT_GEMM_OPERAND_BLOCK_1X128,
        JIT_GEMM_OPERAND_BLOCK_1X32,    JIT_GEMM_OPERAND_BLOCK_1X16};
    static const jit_gemm_operand_role roles[] = {
        JIT_GEMM_OPERAND_SUM, JIT_GEMM_OPERAND_MAX, JIT_GEMM_OPERAND_MIN};
    static const jit_gemm_dtype types[] = {JIT_GEMM_DTYPE_F32, JIT_GEMM_DTYPE_F32,
                                           JIT_GEMM_DTYPE_BF16, JIT_GEMM_DTYPE_F16};
    unit->reduction_count = 1 + unit_below(unit, 2);
    for (uint32_t i = 1; i <= unit->reduction_count; i++) {
        jit_gemm_operand *operand = &unit->operands[unit->operand_count - i];
        operand->kind = kinds[unit_below(unit, unit->has_blocks ? 6 : 3)];
        operand->role = roles[unit_below(unit, 3)];
        operand->dtype = types[unit_below(unit, 4)];
    }
}

/* In a part of the units D is written over C or over an operand, which then has D's type.
 * On sm_100a a tile whose columns are no multiple of 64 loads some of its neighbour's. */
static void draw_in_place(struct unit *unit)
{
    const jit_gemm_problem *problem = &unit->problem;
    const bool has_even_tiles = unit->arch == 0 || (problem->config[0] != '\0' &&
                                                    strstr(problem->config, "x32") == NULL);
    if (!has_even_tiles || unit_is_scaled(unit) || problem->d.dtype == JIT_GEMM_DTYPE_S32 ||
        !chance(unit, 45)) {
        return;
    }
    if (problem->c.dtype == problem->d.dtype) {
        unit->in_place = MATRIX_C;
        return;
    }
    const uint32_t i = unit_below(unit, unit->input_count);
    unit->operands[i].kind = JIT_GEMM_OPERAND_MATRIX;
    unit->operands[i].dtype = problem->d.dtype;
    unit->in_place = i;
}

/* Inputs first, then outputs. A part of the units has scalars or no outputs only, which
 * take other ways through the epilogue. */
void unit_draw_operands(struct unit *unit)
{
    const bool has_scalars_only = chance(unit, 8);
    unit->input_count = 1 + unit_below(unit, has_scalars_only ? 2 : MAX_INPUTS);
    for (uint32_t i = 0; i < unit->input_count; i++) {
        const jit_gemm_operand_kind kind = has_scalars_only
                                               ? JIT_GEMM_OPERAND_SCALAR
                                               : (jit_gemm_operand_kind)unit_below(unit, 4);
        add_operand(unit, 'v', kind, draw_type(unit), JIT_GEMM_OPERAND_INPUT);
    }
    const bool has_outputs = !has_scalars_only && !chance(unit, 4);
    while (has_outputs && unit->operand_count < JIT_GEMM_MAX_OPERANDS) {
        add_operand(unit, 'y', JIT_GEMM_OPERAND_MATRIX, draw_type(unit),
                    JIT_GEMM_OPERAND_OUTPUT);
    }
    if (has_outputs && chance(unit, unit->has_blocks && !unit_is_scaled(unit) ? 90 : 25)) {
        draw_reductions(unit);
    }
    unit->in_place = MAX_MATRICES;
    if (!has_scalars_only) {
        draw_in_place(unit);
    }
}

/* Inputs that no snippet reads so far: the last one has to, an unused operand is an error.
 * So is an accumulator of a pair without the other. */
static void list_unread(const struct unit *unit, const char **unread)
{
    static const char *const pair[] = {"acc0", "acc1"};
    for (uint32_t i = 0; unit->is_gated && i < 2; i++) {
        if (strstr(unit->source, pair[i]) == NULL) {
            *unread++ = pair[i];
        }
    }
    for (uint32_t i = 0; i < unit->input_count; i++) {
        if (strstr(unit->source, unit->names[i]) == NULL) {
            *unread++ = unit->names[i];
        }
    }
}

void unit_draw_snippets(struct unit *unit, bool has_one_rounding)
{
    struct snippet_scope scope = {.leaves = {unit->is_gated ? "acc0" : "acc"},
                                  .leaf_count = 1,
                                  .has_one_rounding = has_one_rounding};
    if (unit->is_gated) {
        scope.leaves[scope.leaf_count++] = "acc1";
    }
    for (uint32_t i = 0; i < unit->input_count; i++) {
        scope.leaves[scope.leaf_count++] = unit->names[i];
    }
    unit->source = calloc(JIT_GEMM_MAX_OPERANDS + 1, SNIPPET_SIZE);
    const char *unread[MAX_INPUTS + 3] = {NULL}; /* the pair, and the end */
    const char *const none = NULL;
    for (uint32_t output = unit->input_count; output <= unit->operand_count; output++) {
        struct snippet_of *snippet = &unit->snippets[unit->snippet_count++];
        const bool is_d = output == unit->operand_count;
        snippet->output = output;
        snippet->text[0] = '\0'; /* of a problem that was refused */
        if (is_d) {
            list_unread(unit, unread);
        }
        for (int i = 0; i < unit->of_output; i++) {
            const bool is_last = i + 1 == unit->of_output;
            size_t used = strlen(snippet->text);
            if (!is_last) {
                used +=
                    (size_t)snprintf(snippet->text + used, sizeof(snippet->text) - used,
                                     "if ((row + col) %% %d == %d) ", unit->of_output, i);
            }
            scope.depth = unit->of_output == 1 || chance(unit, 40) ? 3 : 2;
            make_snippet(&unit->draws, &scope, is_last ? unread : &none,
                         is_d ? "d" : unit->names[output], snippet->text + used,
                         sizeof(snippet->text) - used);
            if (!is_last) {
                strcat(snippet->text, "else ");
            }
        }
        strcat(unit->source, snippet->text);
    }
}

/* ----------------------------------------------------------------------------- data */

bool unit_is_column_major(const struct unit *unit)
{
    return unit->problem.d.layout == JIT_GEMM_LAYOUT_COLUMN_MAJOR;
}

/* Rows and columns as stored; rows are padded as the problem promises. */
static struct array make_array(const struct unit *unit, jit_gemm_dtype dtype, int64_t rows,
                               int64_t columns, uint32_t promised)
{
    struct array array = {
        .view = {.dtype = dtype,
                 .batch = unit->batch,
                 .rows = rows,
                 .columns = columns,
                 .ld = element_padded_ld(dtype, columns, promised > 0 ? promised : 16)}};
    array.view.batch_stride = rows * array.view.ld;
    array.data = malloc(element_view_bytes(&array.view) + 1);
    element_fill_poison(&array.view, array.data);
    return array;
}

/* Multiples of 1/2 up to 1, or small integers: sums of 100 products are exact in 13 bits.
 */
static void fill_exact(struct unit *unit, struct array *array)
{
    const struct element_view *view = &array->view;
    const double step = element_is_integer(view->dtype) ? 1 : 0.5;
    for (int64_t i = 0; i < view->batch * view->rows * view->columns; i++) {
        const int64_t at = i / view->columns * view->ld + i % view->columns;
        element_store(view->dtype, array->data, (size_t)at,
                      ((double)unit_below(unit, 5) - 2) * step);
    }
}

static void fill_any(struct unit *unit, struct array *array)
{
    static const double special[] = {0, -0.0, 100, -100, 1, -1, 0.5, 6};
    const struct element_view *view = &array->view;
    for (int64_t i = 0; i < view->batch * view->rows * view->columns; i++) {
        const int64_t at = i / view->columns * view->ld + i % view->columns;
        const double value = chance(unit, 3)
                                 ? special[unit_below(unit, 8)]
                                 : (double)unit_below(unit, 1u << 24) * 0x1p-22 - 2;
        element_store(view->dtype, array->data, (size_t)at, value);
    }
}

static struct array make_operand(struct unit *unit, const jit_gemm_operand *operand)
{
    const bool by_columns = unit_is_column_major(unit);
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        return make_array(unit, operand->dtype, 1, unit->n, unit->problem.d.alignment);
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        return make_array(unit, operand->dtype, 1, unit->m, unit->problem.d.alignment);
    case JIT_GEMM_OPERAND_MATRIX:
        return make_array(unit, operand->dtype, by_columns ? unit->n : unit->m,
                          by_columns ? unit->m : unit->n, unit->problem.d.alignment);
    default:
        break;
    }
    const int width = unit_block_width(operand->kind);
    return width > 0 ? make_array(unit, operand->dtype, unit->m,
                                  (unit->n + width - 1) / width, 16)
                     : make_array(unit, operand->dtype, 1, 1, 16);
}

/* Packed; a batch has what its layout says. */
static struct array make_d_scales(const struct unit *unit)
{
    const jit_gemm_scale *scale = &unit->problem.d.scale;
    const int64_t lines = unit_is_column_major(unit) ? unit->n : unit->m;
    struct array array = {
        .view = quantise_scale_view(scale, unit->batch, quantise_scale_rows(scale, lines),
                                    unit_is_column_major(unit) ? unit->m : unit->n)};
    array.data = malloc(element_view_bytes(&array.view) + 1);
    element_fill_poison(&array.view, array.data);
    return array;
}

static bool upload(struct unit *unit, jit_gemm_context *context, struct array *array)
{
    const size_t bytes = element_view_bytes(&array->view);
    const size_t all = bytes + 2 * unit->guard_bytes;
    uint64_t base;
    if (!unit_check(unit, "alloc", jit_gemm_device_alloc(context, all, &base))) {
        return false;
    }
    array->address = base + unit->guard_bytes;
    return (unit->guard_bytes == 0 ||
            unit_check(unit, "fill",
                       jit_gemm_device_fill(context, base, GUARD_BYTE, all))) &&
           unit_check(unit, "upload",
                      jit_gemm_device_upload(context, array->address, array->data, bytes));
}

static void free_array(const struct unit *unit, jit_gemm_context *context,
                       const struct array *array)
{
    if (array->address != 0) {
        (void)jit_gemm_device_free(context, array->address - unit->guard_bytes);
    }
}

static void check_guard(struct unit *unit, jit_gemm_context *context, uint64_t address,
                        const char *what)
{
    uint8_t bytes[256] = {0};
    if (!unit_check(unit, "download",
                    jit_gemm_device_download(context, bytes, address, unit->guard_bytes))) {
        return;
    }
    for (size_t i = 0; i < unit->guard_bytes; i++) {
        if (bytes[i] != GUARD_BYTE) {
            unit_fail(unit, "a byte was written outside of an array", what);
            return;
        }
    }
}

void unit_check_guards(struct unit *unit, jit_gemm_context *context)
{
    for (uint32_t i = 0; i < MAX_MATRICES && unit->guard_bytes > 0; i++) {
        const struct array *array = &unit->arrays[i];
        const char *name = i == MATRIX_A   ? "A"
                           : i == MATRIX_B ? "B"
                           : i == MATRIX_C ? "C"
                           : i == MATRIX_D ? "D"
                                           : "an operand or scales";
        if (array->data != NULL && array->address != 0) {
            check_guard(unit, context, array->address - unit->guard_bytes, name);
            check_guard(unit, context, array->address + element_view_bytes(&array->view),
                        name);
        }
    }
}

static void make_input(struct unit *unit, const jit_gemm_matrix *matrix, int64_t outer,
                       int64_t inner, struct array *ret_array)
{
    const bool is_mn_major = matrix->layout == JIT_GEMM_LAYOUT_MN_MAJOR;
    *ret_array = make_array(unit, matrix->dtype, is_mn_major ? inner : outer,
                            is_mn_major ? outer : inner, matrix->alignment);
    fill_exact(unit, ret_array);
}

bool unit_make_data(struct unit *unit, jit_gemm_context *context)
{
    const jit_gemm_problem *problem = &unit->problem;
    const int64_t rows = unit_is_column_major(unit) ? unit->n : unit->m;
    const int64_t columns = unit_is_column_major(unit) ? unit->m : unit->n;
    make_input(unit, &problem->a, unit->m, unit->k, &unit->arrays[MATRIX_A]);
    make_input(unit, &problem->b, b_columns(unit), unit->k, &unit->arrays[MATRIX_B]);
    if (problem->c.dtype != JIT_GEMM_DTYPE_NONE) {
        unit->arrays[MATRIX_C] =
            make_array(unit, problem->c.dtype, rows, columns, problem->d.alignment);
        fill_exact(unit, &unit->arrays[MATRIX_C]);
    }
    unit->arrays[MATRIX_D] =
        make_array(unit, problem->d.dtype, rows, columns, problem->d.alignment);
    if (unit_is_scaled(unit)) {
        unit->arrays[MATRIX_D_SCALE] = make_d_scales(unit);
    }
    for (uint32_t i = 0; i < unit->operand_count; i++) {
        unit->arrays[i] = make_operand(unit, &unit->operands[i]);
        if (unit->operands[i].role == JIT_GEMM_OPERAND_INPUT) {
            fill_any(unit, &unit->arrays[i]);
        }
    }
    for (int i = 0; i < MAX_MATRICES; i++) {
        const bool is_shared = i == MATRIX_D && unit->in_place < MAX_MATRICES;
        if (unit->arrays[i].data != NULL && !is_shared &&
            !upload(unit, context, &unit->arrays[i])) {
            return false;
        }
    }
    if (unit->in_place < MAX_MATRICES) {
        unit->arrays[MATRIX_D].address = unit->arrays[unit->in_place].address;
    }
    return true;
}

bool unit_restore_in_place(struct unit *unit, jit_gemm_context *context)
{
    if (unit->in_place == MAX_MATRICES) {
        return true;
    }
    const struct array *array = &unit->arrays[unit->in_place];
    return unit_check(unit, "upload",
                      jit_gemm_device_upload(context, array->address, array->data,
                                             element_view_bytes(&array->view)));
}

void unit_free_data(struct unit *unit, jit_gemm_context *context)
{
    for (int i = 0; i < MAX_MATRICES; i++) {
        if (i != MATRIX_D || unit->in_place == MAX_MATRICES) {
            free_array(unit, context, &unit->arrays[i]);
        }
        free(unit->arrays[i].data);
        unit->arrays[i] = (struct array){0};
    }
    (void)jit_gemm_device_free(context, unit->workspace);
    unit->workspace = 0;
}

/* --------------------------------------------------------------------------- launch */

static jit_gemm_arg argument_of(const struct array *array, bool is_matrix)
{
    return (jit_gemm_arg){.pointer = array->address,
                          .ld = is_matrix ? array->view.ld : 0,
                          .batch_stride =
                              array->view.batch > 1 ? array->view.batch_stride : 0};
}

bool unit_make_workspace(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm)
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    enum { MOST = 1 << 22 };
    if (!unit_check(unit, "info", jit_gemm_get_info(gemm, &info))) {
        return false;
    }
    return info.workspace_bytes == 0 ||
           (unit_check(unit, "workspace",
                       jit_gemm_device_alloc(context, MOST, &unit->workspace)) &&
            unit_check(unit, "workspace",
                       jit_gemm_device_fill(context, unit->workspace, 0, MOST)));
}

bool unit_make_scales(struct unit *unit, jit_gemm_context *context,
                      struct unit_scales *scales)
{
    if (unit->problem.a.scale.kind == JIT_GEMM_SCALE_NONE) {
        return true;
    }
    scales->a = make_array(unit, JIT_GEMM_DTYPE_F32, 1, unit->m, unit->problem.d.alignment);
    scales->b = make_array(unit, JIT_GEMM_DTYPE_F32, 1, 1, 16);
    for (int64_t i = 0; i < unit->batch; i++) {
        for (int64_t row = 0; row < unit->m; row++) {
            element_store(JIT_GEMM_DTYPE_F32, scales->a.data,
                          (size_t)(i * scales->a.view.batch_stride + row),
                          row % 3 == 0 ? 0.5 : 2);
        }
        element_store(JIT_GEMM_DTYPE_F32, scales->b.data,
                      (size_t)(i * scales->b.view.batch_stride), 0.25);
    }
    return upload(unit, context, &scales->a) && upload(unit, context, &scales->b);
}

void unit_free_scales(const struct unit *unit, struct unit_scales *scales,
                      jit_gemm_context *context)
{
    free_array(unit, context, &scales->a);
    free_array(unit, context, &scales->b);
    free(scales->a.data);
    free(scales->b.data);
}

/* Every second scalar of f32 by value, where all batches have one. */
static jit_gemm_arg operand_argument(const struct unit *unit, uint32_t i)
{
    const jit_gemm_operand *operand = &unit->operands[i];
    const struct array *array = &unit->arrays[i];
    const bool is_input = operand->role == JIT_GEMM_OPERAND_INPUT;
    if (is_input && operand->kind == JIT_GEMM_OPERAND_SCALAR &&
        operand->dtype == JIT_GEMM_DTYPE_F32 && unit->batch == 1 && i % 2 == 0) {
        return (jit_gemm_arg){.value = *(const float *)array->data};
    }
    const bool has_rows =
        operand->kind == JIT_GEMM_OPERAND_MATRIX || unit_block_width(operand->kind) > 0;
    return argument_of(array, has_rows);
}

bool unit_run(struct unit *unit, jit_gemm_context *context, jit_gemm *gemm,
              const struct unit_scales *scales)
{
    jit_gemm_arg operands[JIT_GEMM_MAX_OPERANDS] = {{0}};
    for (uint32_t i = 0; i < unit->operand_count; i++) {
        operands[i] = operand_argument(unit, i);
    }
    jit_gemm_args args = {.struct_size = sizeof(args),
                          .a = argument_of(&unit->arrays[MATRIX_A], true),
                          .b = argument_of(&unit->arrays[MATRIX_B], true),
                          .d = argument_of(&unit->arrays[MATRIX_D], true),
                          .operands = operands,
                          .operand_count = unit->operand_count,
                          .alpha = &unit->alpha,
                          .workspace = unit->workspace,
                          .workspace_bytes = unit->workspace != 0 ? 1 << 22 : 0};
    if (unit->arrays[MATRIX_C].data != NULL) {
        args.c = argument_of(&unit->arrays[MATRIX_C], true);
        args.beta = &unit->beta;
    }
    if (unit->arrays[MATRIX_D_SCALE].data != NULL) {
        args.d_scale = argument_of(&unit->arrays[MATRIX_D_SCALE], false);
    }
    if (scales->a.data != NULL) {
        args.a_scale = argument_of(&scales->a, false);
        args.b_scale = argument_of(&scales->b, false);
    }
    if (unit->is_dynamic) {
        args.m = unit->m;
        args.n = b_columns(unit);
        args.k = unit->k;
    }
    return unit_check(unit, "run", jit_gemm_run(gemm, &args, NULL)) &&
           unit_check(unit, "run", jit_gemm_device_synchronize(context));
}

bool unit_download(struct unit *unit, jit_gemm_context *context, uint32_t index)
{
    struct array *array = &unit->arrays[index];
    return unit_check(unit, "download",
                      jit_gemm_device_download(context, array->data, array->address,
                                               element_view_bytes(&array->view)));
}
