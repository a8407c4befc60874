/* SPDX-License-Identifier: MIT */
#include "gemm_groups.h"

#include <stdio.h>
#include <stdlib.h>

#include "jit_gemm/device.h"
#include "verify/elements.h"
#include "verify/quantise.h"

static bool divides_k(jit_gemm_group_by by)
{
    return by == JIT_GEMM_GROUP_BY_K_OFFSETS;
}

static bool is_reduction(const jit_gemm_operand *operand)
{
    return operand->role != JIT_GEMM_OPERAND_INPUT &&
           operand->role != JIT_GEMM_OPERAND_OUTPUT;
}

int gemm_groups_check(const jit_gemm_problem *problem, const jit_gemm_epilogue *epilogue,
                      char error[BENCH_ERROR_SIZE])
{
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return 0;
    }
    if (problem->d.scale.kind == JIT_GEMM_SCALE_BLOCK) {
        return bench_fail(error, "groups beside computed scales of D are not measured; "
                                 "`jit-gemm run --group-sizes` times a launch");
    }
    if (divides_k(problem->group_by) && (problem->a.scale.kind == JIT_GEMM_SCALE_BLOCK ||
                                         problem->b.scale.kind == JIT_GEMM_SCALE_BLOCK)) {
        return bench_fail(error, "groups along K are measured with scales of a tensor or a "
                                 "vector; `jit-gemm run --group-sizes` times a launch with "
                                 "those of blocks");
    }
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (is_reduction(&epilogue->operands[i])) {
            return bench_fail(error,
                              "groups beside reductions, as that to %s, are not measured; "
                              "`jit-gemm run --group-sizes` times a launch",
                              epilogue->operands[i].name);
        }
    }
    return 0;
}

static int64_t count_of(const struct gemm_bench_part *part)
{
    return part->end - part->begin;
}

/* Rows, or elements of K, of all groups. */
static int64_t count_all(const struct gemm_bench_groups *groups)
{
    int64_t count = 0;
    for (size_t i = 0; i < groups->part_count; i++) {
        count += count_of(&groups->parts[i]);
    }
    return count;
}

int64_t gemm_groups_columns(const struct gemm_shape *shape,
                            const struct gemm_bench_groups *groups, int64_t group)
{
    return groups != NULL && groups->ns != NULL ? groups->ns[group] : shape->n;
}

int64_t gemm_groups_depth(const struct gemm_shape *shape,
                          const struct gemm_bench_groups *groups, int64_t group)
{
    return groups != NULL && groups->ks != NULL ? groups->ks[group] : shape->k;
}

bool gemm_groups_has_column(const struct gemm_bench_groups *groups, int64_t group,
                            int64_t column)
{
    return groups == NULL || groups->ns == NULL || column < groups->ns[group];
}

double gemm_groups_flops(const struct gemm_shape *shape,
                         const struct gemm_bench_groups *groups)
{
    const double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k;
    if (groups == NULL) {
        return 2.0 * m * n * k * (double)shape->batch;
    }
    if (divides_k(shape->group_by)) {
        return 2.0 * (double)count_all(groups) * n * m;
    }
    double products = 0.0;
    for (size_t i = 0; i < groups->part_count; i++) {
        const struct gemm_bench_part *part = &groups->parts[i];
        products += (double)count_of(part) *
                    (double)gemm_groups_columns(shape, groups, part->group) *
                    (double)gemm_groups_depth(shape, groups, part->group);
    }
    return 2.0 * products;
}

/* Of the parts that a group has one lies behind the other. */
static bool begins_group(const struct gemm_bench_groups *groups, size_t part)
{
    return part == 0 || groups->parts[part].group != groups->parts[part - 1].group;
}

static int64_t count_used(const struct gemm_bench_groups *groups)
{
    int64_t count = 0;
    for (size_t i = 0; i < groups->part_count; i++) {
        count += begins_group(groups, i);
    }
    return count;
}

int64_t gemm_groups_scale_rows(const struct gemm_shape *shape, int64_t rows)
{
    return shape->group_by == JIT_GEMM_GROUP_BY_OFFSETS &&
                   shape->a_scale.layout == JIT_GEMM_SCALE_LAYOUT_128X4
               ? quantise_group_rows(rows, shape->batch)
               : rows;
}

size_t gemm_groups_read_bytes(const struct gemm_shape *shape,
                              const struct gemm_bench_groups *groups)
{
    const size_t all = (size_t)count_all(groups), used = (size_t)count_used(groups);
    const size_t m = (size_t)shape->m, n = (size_t)shape->n;
    size_t bytes = 0;

    if (divides_k(shape->group_by)) {
        return element_bytes(shape->a_type, all * m) +
               element_bytes(shape->b_type, all * n) +
               element_bytes(shape->c_type, used * m * n);
    }
    for (size_t i = 0; i < groups->part_count; i++) {
        const struct gemm_bench_part *part = &groups->parts[i];
        const size_t rows = (size_t)count_of(part);
        const size_t own_n = (size_t)gemm_groups_columns(shape, groups, part->group);
        const size_t own_k = (size_t)gemm_groups_depth(shape, groups, part->group);
        bytes += element_bytes(shape->a_type, rows * own_k) +
                 element_bytes(shape->c_type, rows * own_n);
        bytes += begins_group(groups, i) ? element_bytes(shape->b_type, own_n * own_k) : 0;
    }
    return bytes > 0 ? bytes : 1;
}

bool *gemm_groups_list_rows(const struct gemm_shape *shape,
                            const struct gemm_bench_groups *groups)
{
    bool *has_row = calloc((size_t)(shape->d_batches * shape->m), sizeof(*has_row));
    for (size_t i = 0; has_row != NULL && i < groups->part_count; i++) {
        const struct gemm_bench_part *part = &groups->parts[i];
        const int64_t first = shape->d_batches > 1 ? part->group * shape->m : 0;
        for (int64_t row = part->begin; row < part->end; row++) {
            has_row[first + row] = true;
        }
    }
    return has_row;
}

/* Of a group, all its parts. */
static int64_t count_group(const struct gemm_bench_groups *groups, size_t first)
{
    int64_t count = count_of(&groups->parts[first]);
    for (size_t i = first + 1; i < groups->part_count && !begins_group(groups, i); i++) {
        count += count_of(&groups->parts[i]);
    }
    return count;
}

void gemm_groups_describe(const struct gemm_shape *shape,
                          const struct gemm_bench_groups *groups, char *text, size_t size)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < groups->part_count; i++) {
        if (begins_group(groups, i)) {
            const int64_t count = count_group(groups, i);
            least = count < least ? count : least;
            most = count > most ? count : most;
        }
    }
    const int used =
        snprintf(text, size, "%lld, of which %lld have %s: %lld to %lld, together %lld",
                 (long long)shape->batch, (long long)count_used(groups),
                 divides_k(shape->group_by) ? "elements of K" : "rows", (long long)least,
                 (long long)most, (long long)count_all(groups));
    if (used > 0 && (size_t)used < size && (groups->ns != NULL || groups->ks != NULL)) {
        snprintf(text + used, size - (size_t)used, "; each with %s of its own",
                 groups->ks == NULL   ? "an N"
                 : groups->ns == NULL ? "a K"
                                      : "an N and a K");
    }
}

size_t gemm_groups_number_bytes(const struct gemm_shape *shape,
                                const struct gemm_bench_groups *groups)
{
    const size_t own = (size_t)(groups->ns != NULL) + (size_t)(groups->ks != NULL);
    return (groups->number_count + own * (size_t)shape->batch) * sizeof(int32_t);
}

size_t gemm_groups_address_bytes(const struct gemm_shape *shape)
{
    return shape->group_by == JIT_GEMM_GROUP_BY_POINTERS
               ? (size_t)(GEMM_GROUPS_MATRICES * shape->batch) * sizeof(uint64_t)
               : 0;
}

static int upload(jit_gemm_context *context, uint64_t address, const void *data,
                  size_t bytes, char error[BENCH_ERROR_SIZE])
{
    return jit_gemm_device_upload(context, address, data, bytes) == JIT_GEMM_OK
               ? 0
               : bench_fail(error, "upload: %s", jit_gemm_last_error());
}

static int upload_addresses(jit_gemm_context *context, const struct gemm_shape *shape,
                            const struct gemm_groups_place *place,
                            char error[BENCH_ERROR_SIZE])
{
    const int64_t strides[GEMM_GROUPS_MATRICES] = {
        shape->a_batch_stride, shape->b_batch_stride, shape->c_batch_stride,
        shape->d_batch_stride};
    const jit_gemm_dtype types[GEMM_GROUPS_MATRICES] = {shape->a_type, shape->b_type,
                                                        shape->c_type, shape->d_type};
    const size_t count = (size_t)shape->batch, bytes = gemm_groups_address_bytes(shape);
    uint64_t *addresses = calloc(1, bytes);
    if (addresses == NULL) {
        return bench_fail(error, "out of memory");
    }
    for (size_t i = 0; i < GEMM_GROUPS_MATRICES; i++) {
        const size_t step = element_bytes(types[i], (size_t)strides[i]);
        for (size_t group = 0; group < count; group++) {
            addresses[i * count + group] = place->matrices[i] + group * step;
        }
    }
    const int status = upload(context, place->addresses, addresses, bytes, error);
    free(addresses);
    return status;
}

/* Where N of the groups lie, and where K: behind the rows, if there are any. */
static uint64_t place_ns(const struct gemm_bench_groups *groups,
                         const struct gemm_groups_place *place)
{
    return place->numbers + groups->number_count * sizeof(int32_t);
}
static uint64_t place_ks(const struct gemm_shape *shape,
                         const struct gemm_bench_groups *groups,
                         const struct gemm_groups_place *place)
{
    const size_t before = groups->ns != NULL ? (size_t)shape->batch : 0;
    return place_ns(groups, place) + before * sizeof(int32_t);
}

int gemm_groups_upload(jit_gemm_context *context, const struct gemm_shape *shape,
                       const struct gemm_bench_groups *groups,
                       const struct gemm_groups_place *place, char error[BENCH_ERROR_SIZE])
{
    const size_t bytes = (size_t)shape->batch * sizeof(int32_t);
    if (upload(context, place->numbers, groups->numbers,
               groups->number_count * sizeof(int32_t), error) != 0 ||
        (groups->ns != NULL &&
         upload(context, place_ns(groups, place), groups->ns, bytes, error) != 0) ||
        (groups->ks != NULL &&
         upload(context, place_ks(shape, groups, place), groups->ks, bytes, error) != 0)) {
        return -1;
    }
    return gemm_groups_address_bytes(shape) > 0
               ? upload_addresses(context, shape, place, error)
               : 0;
}

void gemm_groups_give(const struct gemm_shape *shape,
                      const struct gemm_bench_groups *groups,
                      const struct gemm_groups_place *place, jit_gemm_args *args)
{
    args->group_sizes = place->numbers;
    args->group_ns = groups->ns != NULL ? place_ns(groups, place) : 0;
    args->group_ks = groups->ks != NULL ? place_ks(shape, groups, place) : 0;
    if (gemm_groups_address_bytes(shape) == 0) {
        return;
    }
    jit_gemm_arg *const matrices[GEMM_GROUPS_MATRICES] = {&args->a, &args->b, &args->c,
                                                          &args->d};
    for (size_t i = 0; i < GEMM_GROUPS_MATRICES; i++) {
        if (matrices[i]->pointer != 0) {
            *matrices[i] = (jit_gemm_arg){
                .pointer = place->addresses + i * (size_t)shape->batch * sizeof(uint64_t),
                .ld = matrices[i]->ld};
        }
    }
}
