/* SPDX-License-Identifier: MIT */
#include "runtime/array.h"

#include <stdio.h>

#include "base/error.h"
#include "base/math.h"

/* Strides of a tensor map are below this many bytes. */
#define JG_STRIDE_BYTES_LIMIT ((int64_t)1 << 40)

struct jg_field_name jg_array_field(const struct jg_array *array, enum jg_array_part part)
{
    struct jg_field_name name;
    if (array->letter == NULL) {
        static const char *const members[] = {"pointer", "ld", "batch_stride"};
        snprintf(name.text, sizeof(name.text), "args.operands[%zu].%s",
                 array->operand_index, members[part]);
    } else if (part == JG_PART_POINTER) {
        snprintf(name.text, sizeof(name.text), "args.%s", array->letter);
    } else if (part == JG_PART_LD) {
        snprintf(name.text, sizeof(name.text), "args.ld%s", array->letter);
    } else {
        snprintf(name.text, sizeof(name.text), "args.%s_batch_stride", array->letter);
    }
    return name;
}

/* The most that an address or a stride of so many bytes is a multiple of. */
static int64_t alignment_of(uint64_t bytes)
{
    return (int64_t)(bytes & (~bytes + 1));
}

static jit_gemm_status check_pointer(const struct jg_array *array)
{
    const uint64_t element_bytes = (uint64_t)array->element_bytes;
    const uint64_t alignment = (uint64_t)array->alignment;
    if (array->pointer == 0 && (array->rows == 0 || array->columns == 0)) {
        return JIT_GEMM_OK; /* no elements, no memory */
    }
    if (array->pointer == 0) {
        const struct jg_field_name name = jg_array_field(array, JG_PART_POINTER);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text, "give a device address",
                       "the address of %s is NULL", array->description);
    }
    if (array->pointer % element_bytes != 0) {
        const struct jg_field_name name = jg_array_field(array, JG_PART_POINTER);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                       "give the address of a whole element",
                       "the address 0x%llx of %s is misaligned: no multiple of the %lld "
                       "bytes of an element",
                       (unsigned long long)array->pointer, array->description,
                       (long long)array->element_bytes);
    }
    if (array->pointer % alignment != 0) {
        const struct jg_field_name name = jg_array_field(array, JG_PART_POINTER);
        char hint[160];
        snprintf(hint, sizeof(hint),
                 "align the address to %lld bytes, or create a kernel for less: %s=%lld",
                 (long long)array->alignment, array->alignment_key,
                 (long long)alignment_of(array->pointer));
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, name.text, hint,
                       "the address 0x%llx of %s is misaligned: this kernel moves %lld "
                       "bytes at a time",
                       (unsigned long long)array->pointer, array->description,
                       (long long)array->alignment);
    }
    return JIT_GEMM_OK;
}

/* A stride that the kernel can use: whole vectors, and within the reach of a map. */
static jit_gemm_status check_stride(const struct jg_array *array, enum jg_array_part part,
                                    int64_t stride, int packed)
{
    const int64_t per_vector = array->alignment / array->element_bytes;
    if (array->has_map && stride >= JG_STRIDE_BYTES_LIMIT / array->element_bytes) {
        const struct jg_field_name name = jg_array_field(array, part);
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, name.text,
            "give the stride in elements, below 2^40 bytes",
            "a stride of %lld elements of %s is too large: the copy engine takes "
            "strides below 2^40 bytes",
            (long long)stride, array->description);
    }
    if (per_vector > 1 && stride % per_vector != 0) {
        const struct jg_field_name name = jg_array_field(array, part);
        const int64_t padded = stride - stride % per_vector + per_vector;
        char hint[224];
        snprintf(hint, sizeof(hint),
                 "pad to a multiple of %lld elements, for instance %lld, and give that "
                 "here, or create a kernel for less: %s=%lld",
                 (long long)per_vector, (long long)padded, array->alignment_key,
                 (long long)alignment_of((uint64_t)(stride * array->element_bytes)));
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, name.text, hint,
                       "the %sstride of %lld elements of %s is no multiple of %lld bytes",
                       packed ? "packed " : "", (long long)stride, array->description,
                       (long long)array->alignment);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status settle_ld(struct jg_array *array)
{
    if (!array->has_ld) {
        array->ld = array->columns;
        return JIT_GEMM_OK;
    }
    const int packed = array->ld == 0;
    if (packed) {
        array->ld = array->columns;
    }
    if (array->ld < array->columns) {
        const struct jg_field_name name = jg_array_field(array, JG_PART_LD);
        char hint[96];
        snprintf(hint, sizeof(hint), "give at least %lld, or 0 for packed rows",
                 (long long)array->columns);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text, hint,
                       "the leading dimension %lld of %s is less than its row of %lld "
                       "elements",
                       (long long)array->ld, array->description, (long long)array->columns);
    }
    return check_stride(array, JG_PART_LD, array->ld, packed);
}

static jit_gemm_status fail_overflow(const struct jg_array *array, enum jg_array_part part)
{
    const struct jg_field_name name = jg_array_field(array, part);
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                   "give a device address, and strides in elements",
                   "%s would reach past the end of the address space", array->description);
}

static jit_gemm_status refuse_batch_stride(const struct jg_array *array)
{
    const struct jg_field_name name = jg_array_field(array, JG_PART_BATCH_STRIDE);
    if (array->batch_stride == JIT_GEMM_STRIDE_BROADCAST) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                       "give elements between batches, or 0 for packed",
                       "%s is written and cannot be broadcast", array->description);
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                   array->may_broadcast ? "give elements between batches, 0 for packed, or "
                                          "JIT_GEMM_STRIDE_BROADCAST"
                                        : "give elements between batches, or 0 for packed",
                   "the batch stride %lld of %s is negative",
                   (long long)array->batch_stride, array->description);
}

/* The batch stride: packed, given or broadcast. */
static jit_gemm_status settle_batch_stride(struct jg_array *array)
{
    int64_t packed_stride = 0;
    if (!jg_mul_checked(array->ld, array->rows, &packed_stride)) {
        return fail_overflow(array, JG_PART_LD);
    }
    if (array->batch_stride == JIT_GEMM_STRIDE_BROADCAST && array->may_broadcast) {
        array->batch_stride = 0;
        return JIT_GEMM_OK;
    }
    if (array->batch_stride < 0) {
        return refuse_batch_stride(array);
    }
    const int packed = array->batch_stride == 0;
    if (packed) {
        array->batch_stride = packed_stride;
    }
    if (array->batch <= 1) {
        return JIT_GEMM_OK; /* nothing steps over it */
    }
    const int64_t extent = array->rows > 0 ? packed_stride - array->ld + array->columns : 0;
    if (!array->may_broadcast && array->batch_stride < extent) {
        const struct jg_field_name name = jg_array_field(array, JG_PART_BATCH_STRIDE);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                       "give 0 for packed, or at least the elements of one matrix",
                       "the batches of %s overlap: %lld elements apart, %lld elements each",
                       array->description, (long long)array->batch_stride,
                       (long long)extent);
    }
    return check_stride(array, JG_PART_BATCH_STRIDE, array->batch_stride, packed);
}

/* Does the whole array end below 2^64? */
static jit_gemm_status check_extent(const struct jg_array *array)
{
    const int64_t steps = array->batch > 1 ? array->batch - 1 : 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    uint64_t end = 0;
    if (!jg_mul_checked(array->batch_stride, steps, &elements) ||
        __builtin_add_overflow(elements, array->ld * array->rows, &elements) ||
        !jg_mul_checked(elements, array->element_bytes, &bytes)) {
        if (steps > 0) {
            return fail_overflow(array, JG_PART_BATCH_STRIDE);
        }
        return fail_overflow(array, array->has_ld ? JG_PART_LD : JG_PART_POINTER);
    }
    if (__builtin_add_overflow(array->pointer, (uint64_t)bytes, &end)) {
        return fail_overflow(array, JG_PART_POINTER);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_array_settle(struct jg_array *array)
{
    JG_TRY(check_pointer(array));
    JG_TRY(settle_ld(array));
    JG_TRY(settle_batch_stride(array));
    return check_extent(array);
}
