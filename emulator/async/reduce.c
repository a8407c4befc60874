/* SPDX-License-Identifier: MIT */
#include "async/reduce.h"

#include <math.h>
#include <string.h>

#include "numbers/numbers.h"

static const char *const op_names[] = {"add", "min", "max", "inc",
                                       "dec", "and", "or",  "xor"};

bool emu_take_reduce_op(struct emu_decoder *decoder, enum emu_reduce_op *ret_op)
{
    int op = emu_take_one_of(decoder, op_names, sizeof(op_names) / sizeof(op_names[0]));
    *ret_op = (enum emu_reduce_op)(op + 1);
    return op >= 0 || emu_decode_fail(decoder, "its operation is missing");
}

#define T(type) (1u << PTX_##type)

bool emu_reduce_is_legal(const struct emu_reduce *reduce, bool to_global)
{
    uint32_t types = 0;
    switch (reduce->op) {
    case EMU_REDUCE_ADD:
        types = T(U32) | T(S32) | T(U64);
        types |= to_global ? T(F32) | T(F64) | T(F16) | T(BF16) : 0;
        break;
    case EMU_REDUCE_MIN:
    case EMU_REDUCE_MAX:
        types = T(U32) | T(S32);
        types |= to_global ? T(U64) | T(S64) | T(F16) | T(BF16) : 0;
        break;
    case EMU_REDUCE_INC:
    case EMU_REDUCE_DEC:
        types = T(U32);
        break;
    case EMU_REDUCE_AND:
    case EMU_REDUCE_OR:
    case EMU_REDUCE_XOR:
        types = T(B32) | (to_global ? T(B64) : 0);
        break;
    case EMU_REDUCE_NONE:
        return true;
    }
    return (types >> reduce->type & 1) != 0;
}

/* min and max of numbers: the other one where one is NaN, and -0 is below +0. */
static uint64_t pick_half(enum emu_reduce_op op, enum emu_format format, uint64_t a,
                          uint64_t b)
{
    double x = emu_decode(format, a);
    double y = emu_decode(format, b);
    if (isnan(x) && isnan(y)) {
        return 0x7FFF;
    }
    if (isnan(x) || isnan(y)) {
        return isnan(x) ? b : a;
    }
    bool a_below = x < y || (x == y && signbit(x) != 0);
    return (op == EMU_REDUCE_MIN) == a_below ? a : b;
}

static uint64_t add_floats(enum ptx_type type, uint64_t a, uint64_t b)
{
    if (type == PTX_F16 || type == PTX_BF16) {
        return emu_add_half(type == PTX_F16 ? EMU_F16 : EMU_BF16, (uint16_t)a, (uint16_t)b);
    }
    if (type == PTX_F64) {
        double x;
        double y;
        memcpy(&x, &a, sizeof(x));
        memcpy(&y, &b, sizeof(y));
        x = emu_add_f64(x, y, EMU_RN);
        memcpy(&a, &x, sizeof(a));
        return a;
    }
    /* Subnormal operands and results of f32 become zero in global memory. */
    uint32_t bits[2] = {(uint32_t)a, (uint32_t)b};
    float values[2];
    memcpy(values, bits, sizeof(values));
    float sum = emu_flush_f32(
        emu_add_f32(emu_flush_f32(values[0]), emu_flush_f32(values[1]), EMU_RN));
    memcpy(bits, &sum, sizeof(sum));
    return bits[0];
}

static bool is_less(enum ptx_type type, uint64_t a, uint64_t b)
{
    switch (type) {
    case PTX_S32:
        return (int32_t)(uint32_t)a < (int32_t)(uint32_t)b;
    case PTX_S64:
        return (int64_t)a < (int64_t)b;
    default:
        return a < b;
    }
}

/* `old` is what memory holds. */
static uint64_t combine(const struct emu_reduce *reduce, uint64_t old, uint64_t value)
{
    enum ptx_type type = reduce->type;
    switch (reduce->op) {
    case EMU_REDUCE_ADD:
        return type == PTX_U32 || type == PTX_S32 || type == PTX_U64
                   ? old + value
                   : add_floats(type, old, value);
    case EMU_REDUCE_MIN:
    case EMU_REDUCE_MAX:
        if (type == PTX_F16 || type == PTX_BF16) {
            return pick_half(reduce->op, type == PTX_F16 ? EMU_F16 : EMU_BF16, old, value);
        }
        return is_less(type, old, value) == (reduce->op == EMU_REDUCE_MIN) ? old : value;
    case EMU_REDUCE_INC:
        return old >= value ? 0 : old + 1;
    case EMU_REDUCE_DEC:
        return old == 0 || old > value ? value : old - 1;
    case EMU_REDUCE_AND:
        return old & value;
    case EMU_REDUCE_OR:
        return old | value;
    case EMU_REDUCE_XOR:
        return old ^ value;
    case EMU_REDUCE_NONE:
        break;
    }
    return value;
}

void emu_reduce_bytes(const struct emu_reduce *reduce, uint32_t bytes, const uint8_t *from,
                      const uint8_t *from_defined, uint8_t *to, uint8_t *to_defined)
{
    unsigned size = ptx_type_bytes(reduce->type);
    for (uint32_t i = 0; i + size <= bytes; i += size) {
        uint64_t old = 0;
        uint64_t value = 0;
        memcpy(&old, to + i, size);
        memcpy(&value, from + i, size);
        uint64_t result = combine(reduce, old, value);
        memcpy(to + i, &result, size);
        for (unsigned j = 0; j < size; j++) {
            if (from_defined[i + j] != EMU_DEFINED) {
                memset(to_defined + i, EMU_UNDEFINED, size);
            }
        }
    }
}
