/* SPDX-License-Identifier: MIT */
#include "gemm_set.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_groups.h"
#include "verify/quantise.h"

/* Elements of the random block that fills every matrix, from another place each time. Odd,
 * so that the rows of a matrix do not repeat. */
#define BLOCK_ELEMENTS ((size_t)4194301)

#define ADDRESS_ALIGNMENT ((size_t)256)

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Uniform in [-1, 1], as verify/elements.h says. NULL without memory. */
static void *make_block(jit_gemm_dtype type, uint64_t *state)
{
    const int64_t count = (int64_t)BLOCK_ELEMENTS;
    const struct element_view view = {type, 1, 1, count, count, count};
    void *block = malloc(element_view_bytes(&view));
    if (block != NULL) {
        element_fill_random(&view, block, next_random(state));
    }
    return block;
}

static size_t reserve(size_t *used, size_t bytes)
{
    const size_t offset = *used;
    *used =
        (offset + bytes + ADDRESS_ALIGNMENT - 1) / ADDRESS_ALIGNMENT * ADDRESS_ALIGNMENT;
    return offset;
}

static size_t matrix_bytes(int64_t batch_stride, int64_t batch, jit_gemm_dtype type)
{
    return element_bytes(type, (size_t)batch_stride * (size_t)batch);
}

static bool reduces(jit_gemm_operand_role role)
{
    return role != JIT_GEMM_OPERAND_INPUT && role != JIT_GEMM_OPERAND_OUTPUT;
}

static int64_t divide_up(int64_t elements, int64_t block)
{
    return (elements + block - 1) / block;
}

/* Inputs other than matrices are shared by all of a batch, results are not. */
static struct element_view view_operand(const struct gemm_shape *shape,
                                        const jit_gemm_operand *operand)
{
    const bool is_input = operand->role == JIT_GEMM_OPERAND_INPUT;
    struct element_view view = {.dtype = operand->dtype,
                                .batch = is_input ? 1 : shape->d_batches,
                                .rows = 1,
                                .columns = 1};
    jit_gemm_operand_kind kind = operand->kind;
    if (shape->is_reference && reduces(operand->role)) {
        kind = JIT_GEMM_OPERAND_MATRIX; /* of what was assigned for each element */
        view.dtype = JIT_GEMM_DTYPE_F32;
    }
    switch (kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        view.columns = shape->d_columns;
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR:
        view.columns = shape->n;
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        view.columns = shape->m;
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X128:
        view.rows = shape->m;
        view.columns = divide_up(shape->d_columns, 128);
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X32:
        view.rows = shape->m;
        view.columns = divide_up(shape->d_columns, 32);
        break;
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        view.rows = shape->m;
        view.columns = divide_up(shape->d_columns, 16);
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        view.batch = shape->d_batches;
        view.rows = gemm_shape_d_rows(shape);
        view.columns = gemm_shape_d_row(shape);
        break;
    }
    view.ld = kind == JIT_GEMM_OPERAND_MATRIX
                  ? gemm_shape_ld(view.columns, view.dtype, shape->output_alignment)
                  : view.columns;
    view.batch_stride = view.ld * view.rows;
    return view;
}

/* Vectors have 64 bytes to spare, so that vector loads past their end stay inside. */
static void place_operand(const struct gemm_shape *shape, const jit_gemm_operand *operand,
                          size_t *used, struct gemm_operand_place *ret_place)
{
    struct gemm_operand_place place = {.name = operand->name,
                                       .kind = operand->kind,
                                       .role = operand->role,
                                       .view = view_operand(shape, operand)};
    const size_t spare = operand->kind == JIT_GEMM_OPERAND_MATRIX ? 0 : 64;
    if (operand->kind == JIT_GEMM_OPERAND_SCALAR &&
        operand->role == JIT_GEMM_OPERAND_INPUT) {
        place.value = 0.75F;
    } else {
        place.bytes = element_view_bytes(&place.view) + spare;
    }
    place.offset = reserve(used, place.bytes);
    *ret_place = place;
}

/* 0 where there is one of it. */
static int64_t stride_of(int64_t batches, int64_t batch_stride)
{
    return batches > 1 ? batch_stride : 0;
}

/* Of scales of a byte. */
static void place_byte_scales(const jit_gemm_scale *scale, int64_t mn, int64_t batch,
                              const struct gemm_shape *shape, size_t *used,
                              struct gemm_scale_place *ret_place)
{
    ret_place->scales = (struct gemm_scales){.mn = mn, .k = shape->k, .batches = batch};
    ret_place->view = gemm_scales_view_bytes(scale, mn, shape->k, batch);
    ret_place->bytes = element_view_bytes(&ret_place->view);
    ret_place->batch_stride = stride_of(batch, ret_place->view.batch_stride);
    ret_place->offset = reserve(used, ret_place->bytes);
}

static void place_scales(const jit_gemm_scale *scale, int64_t mn, int64_t batch,
                         const struct gemm_shape *shape, size_t *used,
                         struct gemm_scale_place *ret_place)
{
    if (quantise_has_byte_scales(scale)) {
        place_byte_scales(scale, mn, batch, shape, used, ret_place);
        return;
    }
    gemm_scales_describe(scale, mn, shape->k, batch, &ret_place->scales);
    ret_place->bytes =
        (size_t)(ret_place->scales.count * ret_place->scales.batches) * sizeof(float);
    const int64_t stride = stride_of(ret_place->scales.batches, ret_place->scales.count);
    ret_place->batch_stride =
        scale->kind == JIT_GEMM_SCALE_TENSOR ? JIT_GEMM_STRIDE_BROADCAST : stride;
    ret_place->offset = reserve(used, ret_place->bytes);
}

/* Those that the kernel computes. */
static void place_d_scales(const struct gemm_shape *shape, size_t *used,
                           struct gemm_scale_place *ret_place)
{
    if (shape->d_scale.kind == JIT_GEMM_SCALE_BLOCK) {
        const struct element_view view = quantise_scale_view(
            &shape->d_scale, shape->batch,
            quantise_scale_rows(&shape->d_scale, gemm_shape_d_rows(shape)),
            gemm_shape_d_row(shape));
        ret_place->bytes = element_view_bytes(&view);
        ret_place->batch_stride = view.batch_stride;
    }
    ret_place->offset = reserve(used, ret_place->bytes);
}

static void lay_out_set(struct gemm_sets *sets, const jit_gemm_epilogue *epilogue)
{
    const struct gemm_shape *s = &sets->shape;
    size_t used = 0;
    const size_t a_bytes = matrix_bytes(s->a_batch_stride, s->a_batches, s->a_type);
    const size_t b_bytes = matrix_bytes(s->b_batch_stride, s->b_batches, s->b_type);
    const size_t c_bytes = s->c_type != JIT_GEMM_DTYPE_NONE
                               ? matrix_bytes(s->c_batch_stride, s->d_batches, s->c_type)
                               : 0;
    sets->d_bytes = matrix_bytes(s->d_batch_stride, s->d_batches, s->d_type);
    sets->a_offset = reserve(&used, a_bytes);
    sets->b_offset = reserve(&used, b_bytes);
    sets->c_offset = reserve(&used, c_bytes);
    const int64_t parts = s->a_rows == JIT_GEMM_ROWS_INDEXED ? 1 : s->d_batches; /* of A */
    place_scales(&s->a_scale, gemm_groups_scale_rows(s, s->m * s->d_batches / parts), parts,
                 s, &used, &sets->a_scale);
    place_scales(&s->b_scale, s->n, s->batch, s, &used, &sets->b_scale);
    const size_t read_bytes = sets->groups != NULL ? gemm_groups_read_bytes(s, sets->groups)
                                                   : a_bytes + b_bytes + c_bytes;
    sets->input_bytes = read_bytes + sets->a_scale.bytes + sets->b_scale.bytes;
    if (sets->groups != NULL) {
        sets->numbers_offset = reserve(&used, gemm_groups_number_bytes(s, sets->groups));
        sets->addresses_offset = reserve(&used, gemm_groups_address_bytes(s));
    }
    sets->a_rows.offset = reserve(&used, gemm_row_index_bytes(s, s->a_rows));
    sets->d_rows.offset = reserve(&used, gemm_row_index_bytes(s, s->d_rows));
    sets->operand_count = epilogue != NULL ? epilogue->operand_count : 0;
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        place_operand(s, &epilogue->operands[i], &used, &sets->operands[i]);
        if (sets->operands[i].role == JIT_GEMM_OPERAND_INPUT) {
            sets->input_bytes += sets->operands[i].bytes;
        }
    }
    sets->d_offset = reserve(&used, sets->d_bytes);
    place_d_scales(s, &used, &sets->d_scale);
    sets->set_bytes = used;
}

uint64_t gemm_sets_address(const struct gemm_sets *sets, size_t set, size_t offset)
{
    return sets->arena + (uint64_t)set * sets->set_bytes + offset;
}

/* Inputs other than matrices are one for all batches, unless they have the rows of all
 * groups. */
static int64_t shared_stride(const struct gemm_shape *shape, bool has_rows)
{
    return has_rows && shape->d_batches < shape->batch ? 0 : JIT_GEMM_STRIDE_BROADCAST;
}

static jit_gemm_arg operand_argument(const struct gemm_sets *sets, size_t set,
                                     const struct gemm_operand_place *place)
{
    if (reduces(place->role)) {
        return (jit_gemm_arg){.pointer = gemm_sets_address(sets, set, place->offset),
                              .ld = sets->shape.is_reference ? place->view.ld : 0};
    }
    if (place->kind == JIT_GEMM_OPERAND_SCALAR) {
        return (jit_gemm_arg){.value = place->value};
    }
    const bool is_matrix = place->kind == JIT_GEMM_OPERAND_MATRIX;
    const bool has_rows = place->kind == JIT_GEMM_OPERAND_COLUMN_VECTOR;
    return (jit_gemm_arg){
        .pointer = gemm_sets_address(sets, set, place->offset),
        .ld = is_matrix ? place->view.ld : 0,
        .batch_stride = is_matrix ? stride_of(place->view.batch, place->view.batch_stride)
                                  : shared_stride(&sets->shape, has_rows)};
}

/* `batch_stride` 0: there is one matrix. */
static jit_gemm_arg matrix_argument(const struct gemm_sets *sets, size_t set, size_t offset,
                                    int64_t ld, int64_t batch_stride)
{
    return (jit_gemm_arg){.pointer = gemm_sets_address(sets, set, offset),
                          .ld = ld,
                          .batch_stride = batch_stride};
}

static jit_gemm_arg scale_argument(const struct gemm_sets *sets, size_t set,
                                   const struct gemm_scale_place *place)
{
    if (place->bytes == 0) {
        return (jit_gemm_arg){0};
    }
    return (jit_gemm_arg){.pointer = gemm_sets_address(sets, set, place->offset),
                          .batch_stride =
                              stride_of(sets->shape.batch, place->batch_stride)};
}

void gemm_sets_give_rows(const struct gemm_sets *sets, size_t set, int64_t row,
                         jit_gemm_args *args)
{
    args->a_rows = gemm_row_index_argument(
        &sets->a_rows, gemm_sets_address(sets, set, sets->a_rows.offset), row);
    args->a_row_count = sets->a_rows.count;
    args->d_rows = gemm_row_index_argument(
        &sets->d_rows, gemm_sets_address(sets, set, sets->d_rows.offset), row);
    args->d_row_count = sets->d_rows.count;
}

static struct gemm_groups_place place_groups(const struct gemm_sets *sets, size_t set)
{
    return (struct gemm_groups_place){
        .numbers = gemm_sets_address(sets, set, sets->numbers_offset),
        .addresses = gemm_sets_address(sets, set, sets->addresses_offset),
        .matrices = {gemm_sets_address(sets, set, sets->a_offset),
                     gemm_sets_address(sets, set, sets->b_offset),
                     gemm_sets_address(sets, set, sets->c_offset),
                     gemm_sets_address(sets, set, sets->d_offset)}};
}

static void fill_arguments(struct gemm_sets *sets, size_t set)
{
    const struct gemm_shape *s = &sets->shape;
    const int64_t a_stride = s->a_rows == JIT_GEMM_ROWS_INDEXED ? 0 : s->a_batch_stride;
    const int64_t d_stride = s->d_rows == JIT_GEMM_ROWS_INDEXED ? 0 : s->d_batch_stride;
    jit_gemm_arg *operands = sets->operand_args + set * sets->operand_count;
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        operands[i] = operand_argument(sets, set, &sets->operands[i]);
    }
    sets->args[set] =
        (jit_gemm_args){.struct_size = sizeof(jit_gemm_args),
                        .a = matrix_argument(sets, set, sets->a_offset, s->lda,
                                             stride_of(s->a_batches, a_stride)),
                        .b = matrix_argument(sets, set, sets->b_offset, s->ldb,
                                             stride_of(s->b_batches, s->b_batch_stride)),
                        .d = matrix_argument(sets, set, sets->d_offset, s->ldd,
                                             stride_of(s->d_batches, d_stride)),
                        .a_scale = scale_argument(sets, set, &sets->a_scale),
                        .b_scale = scale_argument(sets, set, &sets->b_scale),
                        .d_scale = scale_argument(sets, set, &sets->d_scale),
                        .operands = sets->operand_count > 0 ? operands : NULL,
                        .operand_count = sets->operand_count,
                        .m = s->m,
                        .n = s->n,
                        .k = s->k,
                        .batch = s->batch};
    if (s->c_type != JIT_GEMM_DTYPE_NONE) {
        sets->args[set].c = matrix_argument(sets, set, sets->c_offset, s->ldc,
                                            stride_of(s->d_batches, s->c_batch_stride));
    }
    if (sets->groups != NULL) {
        const struct gemm_groups_place place = place_groups(sets, set);
        gemm_groups_give(s, sets->groups, &place, &sets->args[set]);
    }
    gemm_sets_give_rows(sets, set, 0, &sets->args[set]);
}

/* Repeats the block over device memory, beginning at a random element of it. */
static int upload_random(const struct gemm_sets *sets, uint64_t address, size_t bytes,
                         const unsigned char *block, jit_gemm_dtype type, uint64_t *state,
                         char error[BENCH_ERROR_SIZE])
{
    const size_t block_bytes = element_bytes(type, BLOCK_ELEMENTS);
    const size_t size = element_size(type); /* two elements of e2m1 are one byte */
    size_t from = (size_t)(next_random(state) % (block_bytes / size)) * size;
    size_t done = 0;
    while (done < bytes) {
        size_t piece = block_bytes - from;
        if (piece > bytes - done) {
            piece = bytes - done;
        }
        if (jit_gemm_device_upload(sets->context, address + done, block + from, piece) !=
            JIT_GEMM_OK) {
            return bench_fail(error, "upload: %s", jit_gemm_last_error());
        }
        done += piece;
        from = 0;
    }
    return 0;
}

struct input_piece {
    jit_gemm_dtype type;
    size_t offset, bytes;
};

static size_t list_inputs(const struct gemm_sets *sets,
                          struct input_piece pieces[JIT_GEMM_MAX_OPERANDS + 3])
{
    const struct gemm_shape *s = &sets->shape;
    size_t count = 0;
    pieces[count++] =
        (struct input_piece){s->a_type, sets->a_offset,
                             matrix_bytes(s->a_batch_stride, s->a_batches, s->a_type)};
    pieces[count++] =
        (struct input_piece){s->b_type, sets->b_offset,
                             matrix_bytes(s->b_batch_stride, s->b_batches, s->b_type)};
    if (s->c_type != JIT_GEMM_DTYPE_NONE) {
        pieces[count++] =
            (struct input_piece){s->c_type, sets->c_offset,
                                 matrix_bytes(s->c_batch_stride, s->d_batches, s->c_type)};
    }
    for (uint32_t i = 0; i < sets->operand_count; i++) {
        const struct gemm_operand_place *place = &sets->operands[i];
        if (place->role == JIT_GEMM_OPERAND_INPUT && place->bytes > 0) {
            pieces[count++] =
                (struct input_piece){place->view.dtype, place->offset, place->bytes};
        }
    }
    return count;
}

static int fill_scales(const struct gemm_sets *sets, size_t set,
                       const struct gemm_scale_place *place, uint64_t *state,
                       char error[BENCH_ERROR_SIZE])
{
    if (place->bytes == 0) {
        return 0;
    }
    void *values = malloc(place->bytes);
    if (values == NULL) {
        return bench_fail(error, "out of memory");
    }
    if (place->view.columns > 0) {
        gemm_scales_fill_bytes(&place->view, next_random(state), values);
    } else {
        gemm_scales_fill(&place->scales, next_random(state), values);
    }
    const jit_gemm_status status = jit_gemm_device_upload(
        sets->context, gemm_sets_address(sets, set, place->offset), values, place->bytes);
    free(values);
    return status == JIT_GEMM_OK ? 0
                                 : bench_fail(error, "upload: %s", jit_gemm_last_error());
}

static int fill_index(const struct gemm_sets *sets, size_t set,
                      const struct gemm_row_index *index, char error[BENCH_ERROR_SIZE])
{
    const size_t bytes = (size_t)index->count * sizeof(*index->entries);
    if (bytes > 0 &&
        jit_gemm_device_upload(sets->context, gemm_sets_address(sets, set, index->offset),
                               index->entries, bytes) != JIT_GEMM_OK) {
        return bench_fail(error, "upload: %s", jit_gemm_last_error());
    }
    return 0;
}

static int fill_inputs(const struct gemm_sets *sets, uint64_t seed,
                       char error[BENCH_ERROR_SIZE])
{
    struct input_piece pieces[JIT_GEMM_MAX_OPERANDS + 3];
    const size_t piece_count = list_inputs(sets, pieces);
    unsigned char *blocks[JIT_GEMM_DTYPE_UE4M3 + 1] = {NULL};
    uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 0x1234567ULL;
    int status = 0;
    for (size_t set = 0; set < sets->count && status == 0; set++) {
        for (size_t i = 0; i < piece_count && status == 0; i++) {
            const jit_gemm_dtype type = pieces[i].type;
            if (blocks[type] == NULL) {
                blocks[type] = make_block(type, &state);
            }
            status =
                blocks[type] == NULL
                    ? bench_fail(error, "out of memory")
                    : upload_random(sets, gemm_sets_address(sets, set, pieces[i].offset),
                                    pieces[i].bytes, blocks[type], type, &state, error);
        }
        if (status == 0) {
            status = fill_scales(sets, set, &sets->a_scale, &state, error);
        }
        if (status == 0) {
            status = fill_scales(sets, set, &sets->b_scale, &state, error);
        }
        if (status == 0 && sets->groups != NULL) {
            const struct gemm_groups_place place = place_groups(sets, set);
            status = gemm_groups_upload(sets->context, &sets->shape, sets->groups, &place,
                                        error);
        }
        if (status == 0) {
            status = fill_index(sets, set, &sets->a_rows, error);
        }
        if (status == 0) {
            status = fill_index(sets, set, &sets->d_rows, error);
        }
    }
    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        free(blocks[i]);
    }
    return status;
}

static int allocate_sets(struct gemm_sets *sets, size_t rotate_bytes, size_t memory_bytes,
                         char error[BENCH_ERROR_SIZE])
{
    sets->count = rotate_bytes / sets->input_bytes + 1;
    if (sets->count < 2) {
        sets->count = 2;
    }
    if (sets->set_bytes > memory_bytes / 10 * 9 / sets->count) {
        bench_fail(error,
                   "%zu sets of %.0f MiB do not fit into the device's %.0f MiB: "
                   "choose a smaller problem",
                   sets->count, (double)sets->set_bytes / 1048576.0,
                   (double)memory_bytes / 1048576.0);
        return -1;
    }
    sets->args = calloc(sets->count, sizeof(*sets->args));
    sets->operand_args =
        calloc(sets->count * JIT_GEMM_MAX_OPERANDS, sizeof(*sets->operand_args));
    if (sets->args == NULL || sets->operand_args == NULL) {
        bench_fail(error, "out of memory");
        return -1;
    }
    if (jit_gemm_device_alloc(sets->context, sets->count * sets->set_bytes, &sets->arena) !=
        JIT_GEMM_OK) {
        return bench_fail(error, "device memory: %s", jit_gemm_last_error());
    }
    return 0;
}

/* Which rows are a group's, and the indices of rows. */
static int list_rows(struct gemm_sets *sets, uint64_t seed)
{
    const struct gemm_shape *s = &sets->shape;
    if (sets->groups != NULL && s->group_by != JIT_GEMM_GROUP_BY_K_OFFSETS) {
        sets->has_row = gemm_groups_list_rows(s, sets->groups);
        if (sets->has_row == NULL) {
            return -1;
        }
    }
    if (gemm_row_index_draw(s, s->a_rows, seed, &sets->a_rows) != 0 ||
        gemm_row_index_draw(s, s->d_rows, seed + 1, &sets->d_rows) != 0) {
        return -1;
    }
    if (sets->has_row != NULL && sets->d_rows.count > 0) {
        sets->has_d_row = gemm_row_index_move(&sets->d_rows, sets->has_row);
        return sets->has_d_row != NULL ? 0 : -1;
    }
    return 0;
}

int gemm_sets_create(jit_gemm_context *context, const struct gemm_sets_request *request,
                     struct gemm_sets **ret_sets, char error[BENCH_ERROR_SIZE])
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    if (request->epilogue != NULL &&
        request->epilogue->operand_count > JIT_GEMM_MAX_OPERANDS) {
        return bench_fail(error, "the epilogue has more than %d operands",
                          JIT_GEMM_MAX_OPERANDS);
    }
    if (gemm_shape_check(request->problem, error) != 0 ||
        gemm_groups_check(request->problem, request->epilogue, error) != 0) {
        return -1;
    }
    if (jit_gemm_get_info(request->gemm, &info) != JIT_GEMM_OK) {
        return bench_fail(error, "%s", jit_gemm_last_error());
    }
    struct gemm_sets *sets = calloc(1, sizeof(*sets));
    if (sets == NULL) {
        return bench_fail(error, "out of memory");
    }
    sets->context = context;
    sets->groups = request->groups;
    gemm_shape_read(request->problem, &info, &sets->shape);
    lay_out_set(sets, request->epilogue);
    if (list_rows(sets, request->seed) != 0) {
        gemm_sets_destroy(&sets);
        return bench_fail(error, "out of memory");
    }
    if (allocate_sets(sets, request->rotate_bytes, request->memory_bytes, error) != 0 ||
        fill_inputs(sets, request->seed, error) != 0) {
        gemm_sets_destroy(&sets);
        return -1;
    }
    for (size_t set = 0; set < sets->count; set++) {
        fill_arguments(sets, set);
    }
    *ret_sets = sets;
    return 0;
}

int gemm_sets_give_workspace(struct gemm_sets *sets, const jit_gemm *gemm,
                             char error[BENCH_ERROR_SIZE])
{
    jit_gemm_info info = {.struct_size = sizeof(info)};
    jit_gemm_status status = jit_gemm_get_info(gemm, &info);
    if (status == JIT_GEMM_OK && info.workspace_bytes > sets->workspace_bytes) {
        const size_t bytes = (size_t)info.workspace_bytes;
        if (sets->workspace != 0) {
            jit_gemm_device_free(sets->context, sets->workspace);
            sets->workspace = 0;
        }
        sets->workspace_bytes = bytes;
        status = jit_gemm_device_alloc(sets->context, bytes, &sets->workspace);
        if (status == JIT_GEMM_OK) {
            status = jit_gemm_device_fill(sets->context, sets->workspace, 0, bytes);
        }
    }
    if (status != JIT_GEMM_OK) {
        return bench_fail(error, "workspace: %s", jit_gemm_last_error());
    }
    for (size_t set = 0; set < sets->count; set++) {
        sets->args[set].workspace = sets->workspace;
    }
    return 0;
}

void gemm_sets_destroy(struct gemm_sets **sets)
{
    if (sets == NULL || *sets == NULL) {
        return;
    }
    if ((*sets)->arena != 0) {
        jit_gemm_device_free((*sets)->context, (*sets)->arena);
    }
    if ((*sets)->workspace != 0) {
        jit_gemm_device_free((*sets)->context, (*sets)->workspace);
    }
    free((*sets)->has_row);
    free((*sets)->has_d_row);
    gemm_row_index_free(&(*sets)->a_rows);
    gemm_row_index_free(&(*sets)->d_rows);
    free((*sets)->args);
    free((*sets)->operand_args);
    free(*sets);
    *sets = NULL;
}
