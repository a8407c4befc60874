/* SPDX-License-Identifier: MIT */
#include "runtime/array.h"

#include <stdio.h>

#include "base/error.h"
#include "base/math.h"
#include "plan/dtype.h"

/* Strides of a tensor map are below this many bytes. */
#define STRIDE_BYTES_LIMIT ((int64_t)1 << 40)

/* A field of an argument. */
enum part { PART_POINTER, PART_LD, PART_BATCH_STRIDE, PART_VALUE, PART_RESERVED };

static const struct {
    const char *member;
    const char *words;
} parts[] = {
    [PART_POINTER] = {"pointer", "address"},
    [PART_LD] = {"ld", "leading dimension"},
    [PART_BATCH_STRIDE] = {"batch_stride", "batch stride"},
    [PART_VALUE] = {"value", "value"},
    [PART_RESERVED] = {"reserved", ""},
};

/* Name of a field of the arguments, for messages: "args.a.ld". */
struct field_name {
    char text[64];
};

static struct field_name field_of(const struct jg_array *array, enum part part)
{
    struct field_name name;
    if (array->field != NULL) {
        snprintf(name.text, sizeof(name.text), "args.%s.%s", array->field,
                 parts[part].member);
    } else {
        snprintf(name.text, sizeof(name.text), "args.operands[%zu].%s",
                 array->operand_index, parts[part].member);
    }
    return name;
}

/* What an argument gives there, for messages; "" for zero. */
struct part_text {
    char text[32];
};

static struct part_text text_of(const jit_gemm_arg *arg, enum part part)
{
    struct part_text value = {""};
    if (part == PART_POINTER && arg->pointer != 0) {
        snprintf(value.text, sizeof(value.text), "an address");
    } else if (part == PART_LD && arg->ld != 0) {
        snprintf(value.text, sizeof(value.text), "%lld", (long long)arg->ld);
    } else if (part == PART_BATCH_STRIDE && arg->batch_stride != 0) {
        snprintf(value.text, sizeof(value.text), "%lld", (long long)arg->batch_stride);
    } else if (part == PART_VALUE && arg->value != 0.0F) {
        snprintf(value.text, sizeof(value.text), "%g", (double)arg->value);
    }
    return value;
}

jit_gemm_status jg_array_refuse_reserved(const struct jg_array *array,
                                         const jit_gemm_arg *arg)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_RESERVED).text,
                   "set the whole entry to zero first", "must be zero, is %u (%s%s)",
                   arg->reserved, array->field == NULL ? "operand " : "",
                   array->description);
}

jit_gemm_status jg_array_refuse_given(const char *field, const jit_gemm_arg *arg,
                                      const char *fact, const char *hint)
{
    const struct jg_array array = {.field = field};
    enum part part = PART_POINTER;
    while (part < PART_VALUE && text_of(arg, part).text[0] == '\0') {
        part++;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(&array, part).text, hint,
                   "%s is given, but %s", text_of(arg, part).text, fact);
}

static jit_gemm_status refuse_part(const struct jg_array *array, const jit_gemm_arg *arg,
                                   enum part part)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, part).text, "leave it zero",
                   "%s %s a %s and %s no %s (%s)", array->description,
                   array->is_plural ? "are" : "is", array->kind,
                   array->is_plural ? "have" : "has", parts[part].words,
                   text_of(arg, part).text);
}

jit_gemm_status jg_array_check_parts(const struct jg_array *array, const jit_gemm_arg *arg)
{
    if (arg->ld != 0 && !array->has_ld) {
        return refuse_part(array, arg, PART_LD);
    }
    if (arg->value != 0.0F && !array->has_value) {
        return refuse_part(array, arg, PART_VALUE);
    }
    return JIT_GEMM_OK;
}

/* The most that an address or a stride of so many bytes is a multiple of. */
static int64_t alignment_of(uint64_t bytes)
{
    return (int64_t)(bytes & (~bytes + 1));
}

/* What a kernel for less would be called, for hints: for an address or a stride of so many
 * bytes. "" where there is none. */
struct less {
    char text[96];
};

static struct less less_of(const struct jg_array *array, uint64_t bytes)
{
    struct less less = {""};
    if (array->alignment_key != NULL) {
        snprintf(less.text, sizeof(less.text), ", or create a kernel for less: %s=%lld",
                 array->alignment_key, (long long)alignment_of(bytes));
    }
    return less;
}

static jit_gemm_status check_pointer(const struct jg_array *array, uint64_t pointer)
{
    const uint64_t element_bytes = (uint64_t)jg_bytes_of(array->dtype, 1);
    const uint64_t alignment = (uint64_t)array->alignment;
    if (pointer == 0 && (array->rows == 0 || array->columns == 0)) {
        return JIT_GEMM_OK; /* no elements, no memory */
    }
    if (pointer == 0) {
        const struct field_name name = field_of(array, PART_POINTER);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text, "give a device address",
                       "the address of %s is NULL", array->description);
    }
    if (!jg_is_multiple(pointer, element_bytes)) {
        const struct field_name name = field_of(array, PART_POINTER);
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, name.text, "give the address of a whole element",
            "the address 0x%llx of %s is misaligned: no multiple of the %lld "
            "bytes of an element",
            (unsigned long long)pointer, array->description, (long long)element_bytes);
    }
    if (!jg_is_multiple(pointer, alignment)) {
        const struct field_name name = field_of(array, PART_POINTER);
        char hint[160];
        snprintf(hint, sizeof(hint), "align the address to %lld bytes%s",
                 (long long)array->alignment, less_of(array, pointer).text);
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, name.text, hint,
                       "the address 0x%llx of %s is misaligned: this kernel moves %lld "
                       "bytes at a time",
                       (unsigned long long)pointer, array->description,
                       (long long)array->alignment);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status refuse_stride(const struct jg_array *array, enum part part,
                                     int64_t stride, bool is_packed)
{
    const int64_t per_vector = 8 * array->alignment / jg_dtype_bits(array->dtype);
    /* The next multiple, or the one before where 64 bits end. */
    const int64_t below = stride - stride % per_vector;
    const int64_t padded = below <= INT64_MAX - per_vector ? below + per_vector : below;
    const uint64_t bits = (uint64_t)stride * (uint64_t)jg_dtype_bits(array->dtype);
    char hint[224];
    snprintf(hint, sizeof(hint),
             "pad to a multiple of %lld elements, for instance %lld, and give that here%s",
             (long long)per_vector, (long long)padded,
             bits % 8 == 0 ? less_of(array, bits / 8).text : "");
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field_of(array, part).text, hint,
                   "the %sstride of %lld elements of %s is no multiple of %lld bytes",
                   is_packed ? "packed " : "", (long long)stride, array->description,
                   (long long)array->alignment);
}

/* A stride that the kernel can use: whole vectors, and within the reach of a map. */
static jit_gemm_status check_stride(const struct jg_array *array, enum part part,
                                    int64_t stride, bool is_packed)
{
    if (array->has_map && (stride >= STRIDE_BYTES_LIMIT ||
                           stride * jg_bytes_of(array->dtype, 1) >= STRIDE_BYTES_LIMIT)) {
        return jg_fail(
            JIT_GEMM_ERR_UNSUPPORTED, field_of(array, part).text,
            "give the stride in elements, below 2^40 bytes",
            "a stride of %lld elements of %s is too large: TMA takes strides below 2^40 "
            "bytes",
            (long long)stride, array->description);
    }
    /* Modulo 2^64, which every alignment divides. */
    const uint64_t bits = (uint64_t)stride * (uint64_t)jg_dtype_bits(array->dtype);
    return jg_is_multiple(bits, 8 * (uint64_t)array->alignment)
               ? JIT_GEMM_OK
               : refuse_stride(array, part, stride, is_packed);
}

static jit_gemm_status resolve_ld(const struct jg_array *array,
                                  struct jg_matrix_param *param)
{
    if (!array->has_ld) {
        param->ld = array->columns;
        return JIT_GEMM_OK;
    }
    const bool is_packed = param->ld == 0;
    if (is_packed) {
        param->ld = array->columns;
    }
    if (param->ld < array->columns) {
        const struct field_name name = field_of(array, PART_LD);
        char hint[96];
        snprintf(hint, sizeof(hint), "give at least %lld, or 0 for packed rows",
                 (long long)array->columns);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text, hint,
                       "the leading dimension %lld of %s is less than its row of %lld "
                       "elements",
                       (long long)param->ld, array->description, (long long)array->columns);
    }
    return check_stride(array, PART_LD, param->ld, is_packed);
}

static jit_gemm_status fail_overflow(const struct jg_array *array, enum part part)
{
    const struct field_name name = field_of(array, part);
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                   "give a device address, and strides in elements",
                   "%s would reach past the end of the address space", array->description);
}

static jit_gemm_status refuse_batch_stride(const struct jg_array *array, int64_t stride)
{
    const struct field_name name = field_of(array, PART_BATCH_STRIDE);
    if (stride == JIT_GEMM_STRIDE_BROADCAST) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                       "give elements between batches, or 0 for packed",
                       "%s %s written and cannot be broadcast", array->description,
                       array->is_plural ? "are" : "is");
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                   array->may_broadcast ? "give elements between batches, 0 for packed, or "
                                          "JIT_GEMM_STRIDE_BROADCAST"
                                        : "give elements between batches, or 0 for packed",
                   "the batch stride %lld of %s is negative", (long long)stride,
                   array->description);
}

/* Of what has all groups: nothing steps from one to the next. */
static jit_gemm_status resolve_stacked(const struct jg_array *array,
                                       struct jg_matrix_param *param)
{
    if (param->batch_stride != 0) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_BATCH_STRIDE).text, "leave it zero",
            "%s %s all groups or batches, one after the other, and no batch stride "
            "(%lld)",
            array->description, array->is_plural ? "have" : "has",
            (long long)param->batch_stride);
    }
    return JIT_GEMM_OK;
}

/* The batch stride: packed, given or broadcast. */
static jit_gemm_status resolve_batch_stride(const struct jg_array *array,
                                            struct jg_matrix_param *param)
{
    int64_t packed_stride = 0;
    if (!jg_mul_checked(param->ld, array->rows, &packed_stride)) {
        return fail_overflow(array, PART_LD);
    }
    if (array->is_stacked) {
        return resolve_stacked(array, param);
    }
    if (param->batch_stride == JIT_GEMM_STRIDE_BROADCAST && array->may_broadcast) {
        param->batch_stride = 0;
        return JIT_GEMM_OK;
    }
    if (param->batch_stride < 0) {
        return refuse_batch_stride(array, param->batch_stride);
    }
    const bool is_packed = param->batch_stride == 0;
    if (is_packed) {
        param->batch_stride = packed_stride;
    }
    if (array->batch <= 1) {
        return JIT_GEMM_OK; /* nothing steps over it */
    }
    const int64_t extent = array->rows > 0 ? packed_stride - param->ld + array->columns : 0;
    if (!array->may_broadcast && param->batch_stride < extent) {
        const struct field_name name = field_of(array, PART_BATCH_STRIDE);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name.text,
                       "give 0 for packed, or at least the elements of one matrix",
                       "the batches of %s overlap: %lld elements apart, %lld elements each",
                       array->description, (long long)param->batch_stride,
                       (long long)extent);
    }
    return check_stride(array, PART_BATCH_STRIDE, param->batch_stride, is_packed);
}

/* False if there are too many. */
static bool bytes_checked(jit_gemm_dtype dtype, int64_t elements, int64_t *ret_bytes)
{
    const int bits = jg_dtype_bits(dtype);
    if (bits >= 8) {
        return jg_mul_checked(elements, bits / 8, ret_bytes);
    }
    *ret_bytes =
        elements / 8 * bits + 8; /* at least so many: elements are parts of bytes */
    return true;
}

static void note_extent(const struct jg_array *array, int64_t bytes, int64_t ld)
{
    struct jg_extents *extents = array->extents;
    if (extents != NULL) {
        extents->items[extents->count++] =
            (struct jg_extent){array->field, array->operand_index, bytes, ld};
    }
}

/* Does the whole array end below 2^64? */
static jit_gemm_status check_extent(const struct jg_array *array,
                                    const struct jg_matrix_param *param)
{
    const int64_t steps = array->batch > 1 ? array->batch - 1 : 0;
    int64_t elements = 0;
    int64_t bytes = 0;
    uint64_t end = 0;
    if (!jg_mul_checked(param->batch_stride, steps, &elements) ||
        __builtin_add_overflow(elements, param->ld * array->rows, &elements) ||
        !bytes_checked(array->dtype, elements, &bytes)) {
        if (steps > 0) {
            return fail_overflow(array, PART_BATCH_STRIDE);
        }
        return fail_overflow(array, array->has_ld ? PART_LD : PART_POINTER);
    }
    if (__builtin_add_overflow(param->pointer, (uint64_t)bytes, &end)) {
        return fail_overflow(array, PART_POINTER);
    }
    note_extent(array, bytes, param->ld);
    return JIT_GEMM_OK;
}

/* The matrix of one group, by pointers. */
static jit_gemm_status measure_group(const struct jg_array *array, int64_t ld)
{
    int64_t elements = 0;
    int64_t bytes = 0;
    if (!jg_mul_checked(jg_max(ld, array->columns), array->rows, &elements) ||
        !bytes_checked(array->dtype, elements, &bytes)) {
        return fail_overflow(array, PART_LD);
    }
    note_extent(array, bytes, jg_max(ld, array->columns));
    return JIT_GEMM_OK;
}

/* Of a scalar that is given by value: nothing steps over it. */
static jit_gemm_status resolve_value(const struct jg_array *array, const jit_gemm_arg *arg,
                                     struct jg_matrix_param *param)
{
    if (arg->batch_stride != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_BATCH_STRIDE).text,
                       "leave it zero, or give addresses of one value per batch",
                       "%s is given by value and has no batch stride (%lld)",
                       array->description, (long long)arg->batch_stride);
    }
    *param = (struct jg_matrix_param){.value = arg->value};
    return JIT_GEMM_OK;
}

jit_gemm_status jg_array_resolve(const struct jg_array *array, const jit_gemm_arg *arg,
                                 struct jg_matrix_param *param)
{
    JG_TRY(jg_array_check_parts(array, arg));
    if (array->has_value && arg->pointer == 0) {
        return resolve_value(array, arg, param);
    }
    JG_TRY(check_pointer(array, arg->pointer));
    param->pointer = arg->pointer;
    param->ld = arg->ld;
    param->batch_stride = arg->batch_stride;
    param->value = 0.0F;
    JG_TRY(resolve_ld(array, param));
    JG_TRY(resolve_batch_stride(array, param));
    JG_TRY(check_extent(array, param));
    param->batch_step = array->has_map && param->batch_stride != 0;
    return JIT_GEMM_OK;
}

/* Of what only the device knows, an array of words of 8 bytes: is the address one of a
 * word? */
static bool is_word_address(uint64_t address)
{
    return jg_is_multiple(address, sizeof(uint64_t));
}

static jit_gemm_status refuse_word_address(const char *field, const char *what,
                                           const char *description, uint64_t address)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                   "give the device address of an array of a word of 8 bytes per group",
                   "the address 0x%llx of the %s of %s is misaligned: no multiple of 8",
                   (unsigned long long)address, what, description);
}

struct lds_name {
    char text[16];
};

static struct lds_name lds_field(const char *field)
{
    struct lds_name name;
    snprintf(name.text, sizeof(name.text), "args.%s_lds", field);
    return name;
}

jit_gemm_status jg_array_refuse_lds(const char *field)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, lds_field(field).text,
                   "leave it zero, or give group_by=pointers in the problem",
                   "an address is given, but this problem has no matrix by pointers");
}

/* Without elements there is no memory, and without an array nobody looks for it. */
static jit_gemm_status check_pointer_array(const struct jg_array *array, uint64_t pointer)
{
    if (pointer == 0 && array->rows > 0 && array->columns > 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_POINTER).text,
                       "give the device address of an array of a uint64_t per group",
                       "the address of the addresses of %s is NULL", array->description);
    }
    return is_word_address(pointer)
               ? JIT_GEMM_OK
               : refuse_word_address(field_of(array, PART_POINTER).text, "addresses",
                                     array->description, pointer);
}

jit_gemm_status jg_array_resolve_pointers(const struct jg_array *array,
                                          const jit_gemm_arg *arg, uint64_t lds,
                                          struct jg_matrix_param *param)
{
    JG_TRY(jg_array_check_parts(array, arg));
    JG_TRY(check_pointer_array(array, arg->pointer));
    if (!is_word_address(lds)) {
        return refuse_word_address(lds_field(array->field).text, "leading dimensions",
                                   array->description, lds);
    }
    if (arg->batch_stride != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_BATCH_STRIDE).text,
                       "leave it zero",
                       "with group_by=pointers each group has an address of %s, and no "
                       "batch stride (%lld)",
                       array->description, (long long)arg->batch_stride);
    }
    if (arg->ld != 0 && lds != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field_of(array, PART_LD).text,
                       "leave it zero, or the array",
                       "%s has the leading dimension %lld for all groups and an array of "
                       "them",
                       array->description, (long long)arg->ld);
    }
    *param = (struct jg_matrix_param){.pointer = arg->pointer, .ld = arg->ld};
    if (lds == 0) {
        JG_TRY(resolve_ld(array, param));
    }
    const int64_t ld = param->ld;
    param->batch_stride = (int64_t)lds;
    return array->extents != NULL ? measure_group(array, ld) : JIT_GEMM_OK;
}
