/* SPDX-License-Identifier: MIT */
/* mma.sync.aligned: a warp's product of register fragments, done at once. */
#include <stdlib.h>
#include <string.h>

#include "exec/op_lanes.h"
#include "numbers/numbers.h"
#include "tensor/fragment.h"
#include "tensor/opcodes.h"
#include "tensor/state.h"

#define M       16u
#define N       8u
#define MOST_K  32u
#define MOST_A  4u
#define MOST_B  2u
#define MOST_CD 4u

struct sync_form {
    enum emu_format a, b, d;
    unsigned k, bits;          /* bits of an element of A and B */
    unsigned a_count, b_count; /* registers */
    unsigned d_count;          /* of D and of C */
    bool saturate;
    bool fp8;
};

/* insn->list: registers of D, A, B, C in this order. */
static const uint32_t *list_of(const struct emu_insn *insn, unsigned operand)
{
    const struct sync_form *form = insn->extra;
    const unsigned first[] = {0, form->d_count, form->d_count + form->a_count,
                              form->d_count + form->a_count + form->b_count};
    return insn->list + first[operand];
}

static uint32_t load_registers(const struct emu_warp *warp, const uint32_t *slots,
                               unsigned count, emu_fragment_register *values)
{
    uint32_t undefined = 0;
    for (unsigned i = 0; i < count; i++) {
        undefined |= warp->undefined[slots[i]];
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            values[i][lane] = (uint32_t)warp->r[slots[i]][lane];
        }
    }
    return undefined;
}

/* Row or column l/4 of every lane in the mask. */
static uint32_t spread_groups(uint32_t lanes)
{
    uint32_t groups = 0;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        groups |= 1u << emu_lowest_bit(rest) / 4;
    }
    return groups;
}

/* Elements of D whose row of A, column of B or element of C is undefined; by row. */
static void find_undefined(const struct emu_warp *warp, const struct emu_insn *insn,
                           uint8_t undefined[M])
{
    const struct sync_form *form = insn->extra;
    uint32_t rows = 0;
    uint32_t columns = 0;
    for (unsigned i = 0; i < form->a_count; i++) {
        rows |= spread_groups(warp->undefined[list_of(insn, 1)[i]]) << i % 2 * 8;
    }
    for (unsigned i = 0; i < form->b_count; i++) {
        columns |= spread_groups(warp->undefined[list_of(insn, 2)[i]]);
    }
    for (unsigned row = 0; row < M; row++) {
        undefined[row] = (uint8_t)((rows >> row & 1u) != 0 ? 0xFFu : columns);
    }
    bool half = form->d == EMU_F16;
    for (unsigned i = 0; i < form->d_count; i++) {
        for (uint32_t rest = warp->undefined[list_of(insn, 3)[i]]; rest != 0;
             rest &= rest - 1) {
            unsigned lane = emu_lowest_bit(rest);
            unsigned element = half ? 2 * i : i;
            uint32_t bits = half ? 3u : 1u;
            undefined[emu_fragment_row(lane, element)] |=
                (uint8_t)(bits << emu_fragment_column(lane, element));
        }
    }
}

static void store_result(struct emu_warp *warp, const struct emu_insn *insn,
                         const uint32_t *cells, const uint8_t undefined[M])
{
    const struct sync_form *form = insn->extra;
    bool half = form->d == EMU_F16;
    for (unsigned i = 0; i < form->d_count; i++) {
        uint32_t slot = list_of(insn, 0)[i];
        if (slot == EMU_NO_SLOT) {
            continue;
        }
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            unsigned element = half ? 2 * i : i;
            unsigned row = emu_fragment_row(lane, element);
            unsigned column = emu_fragment_column(lane, element);
            const uint32_t *cell = cells + (size_t)row * N + column;
            emu_set(warp, slot, lane, half ? cell[0] | cell[1] << 16 : cell[0]);
            if ((undefined[row] >> column & (half ? 3u : 1u)) != 0) {
                warp->undefined[slot] |= 1u << lane;
            }
        }
    }
}

/* Elements 4i and 4i + 1 of the rows, or 4i + 2 and 4i + 3, as f16. */
static void take_pairs(enum emu_format format, const uint32_t *cells, unsigned rows,
                       unsigned k, unsigned first, uint32_t *ret_cells)
{
    const struct emu_encode exactly = {.rounding = EMU_RN};
    for (unsigned i = 0; i < rows * k / 2; i++) {
        double value = emu_decode(format, cells[i / 2 * 4 + first + i % 2]);
        ret_cells[i] = (uint32_t)emu_encode(EMU_F16, value, exactly);
    }
}

/*
 * There is no such instruction on FP8 in the machine code of either architecture: ptxas
 * widens the elements to f16 and multiplies the first two elements of every register, then
 * the other two on top of that, and adds C last.
 */
static void multiply_fp8(const struct sync_form *form, struct emu_mma_rule rule,
                         const uint32_t *a_cells, const uint32_t *b_cells,
                         uint32_t *d_cells)
{
    uint32_t a_half[M * MOST_K / 2], b_half[N * MOST_K / 2], sums[M * N];
    rule.a = rule.b = EMU_F16;
    rule.k = form->k / 2;
    for (unsigned first = 0; first < 4; first += 2) {
        take_pairs(form->a, a_cells, M, form->k, first, a_half);
        take_pairs(form->b, b_cells, N, form->k, first, b_half);
        emu_mma(&rule, M, N, a_half, b_half, sums, N, first != 0, NULL, NULL);
    }
    for (unsigned i = 0; i < M * N; i++) {
        d_cells[i] = form->d == EMU_F16
                         ? emu_add_half(EMU_F16, (uint16_t)d_cells[i], (uint16_t)sums[i])
                         : emu_f32_result(emu_f32_of(d_cells[i]) + emu_f32_of(sums[i]));
    }
}

static enum emu_step exec_mma_sync(struct emu_warp *warp, const struct emu_insn *insn,
                                   uint32_t lanes)
{
    const struct sync_form *form = insn->extra;
    emu_fragment_register a[MOST_A], b[MOST_B], c[MOST_CD];
    uint32_t a_cells[M * MOST_K] = {0}, b_cells[N * MOST_K], d_cells[M * N] = {0};
    uint8_t undefined[M] = {0};
    if (!emu_tensor_whole_warp(warp, insn, lanes)) {
        return EMU_FAILED;
    }
    uint32_t any = load_registers(warp, list_of(insn, 1), form->a_count, a) |
                   load_registers(warp, list_of(insn, 2), form->b_count, b) |
                   load_registers(warp, list_of(insn, 3), form->d_count, c);
    if (any != 0) {
        find_undefined(warp, insn, undefined);
    }
    emu_fragment_get_a((const emu_fragment_register *)a, form->a_count, form->bits, a_cells,
                       form->k);
    emu_fragment_get_b((const emu_fragment_register *)b, form->b_count, form->bits, b_cells,
                       form->k);
    bool half = form->d == EMU_F16;
    for (unsigned i = 0; i < form->d_count; i++) {
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            unsigned element = half ? 2 * i : i;
            uint32_t *cell = d_cells + (size_t)emu_fragment_row(lane, element) * N +
                             emu_fragment_column(lane, element);
            cell[0] = half ? c[i][lane] & 0xFFFFu : c[i][lane];
            if (half) {
                cell[1] = c[i][lane] >> 16;
            }
        }
    }
    const struct emu_mma_rule rule = {.a = form->a,
                                      .b = form->b,
                                      .d = form->d,
                                      .k = form->k,
                                      .fraction_bits = 25,
                                      .result_bits = 23,
                                      .saturate = form->saturate,
                                      .fast = emu_tensor_is_fast(warp)};
    if (form->fp8) {
        multiply_fp8(form, rule, a_cells, b_cells, d_cells);
    } else {
        emu_mma(&rule, M, N, a_cells, b_cells, d_cells, N, true, NULL, NULL);
    }
    store_result(warp, insn, d_cells, undefined);
    return EMU_NEXT;
}

/* ------------------------------------------------------------------------------ decode */

static const struct sync_type {
    const char *word;
    enum emu_format format;
    unsigned bits;
    unsigned family; /* types of one family go together */
} types[] = {
    {"f16", EMU_F16, 16, 0},  {"bf16", EMU_BF16, 16, 1}, {"tf32", EMU_TF32, 32, 2},
    {"e4m3", EMU_E4M3, 8, 3}, {"e5m2", EMU_E5M2, 8, 3},  {"s8", EMU_S8, 8, 4},
    {"u8", EMU_U8, 8, 4},
};
enum {
    TYPE_COUNT = sizeof(types) / sizeof(types[0]),
    FAMILY_F16 = 0,
    FAMILY_FP8 = 3,
    FAMILY_INT = 4
};

static const struct sync_type *take_type(struct emu_decoder *decoder)
{
    const char *words[TYPE_COUNT];
    for (unsigned i = 0; i < TYPE_COUNT; i++) {
        words[i] = types[i].word;
    }
    int type = emu_take_one_of(decoder, words, TYPE_COUNT);
    return type < 0 ? NULL : &types[type];
}

/* In the order of the opcode: D, A, B, C. */
static bool decode_types(struct emu_decoder *decoder, struct sync_form *form)
{
    static const char *const results[] = {"f32", "f16", "s32"};
    static const enum emu_format formats[] = {EMU_F32, EMU_F16, EMU_S8};
    int d = emu_take_one_of(decoder, results, 3);
    const struct sync_type *a = take_type(decoder);
    const struct sync_type *b = take_type(decoder);
    int c = emu_take_one_of(decoder, results, 3);
    if (d < 0 || a == NULL || b == NULL || c != d || a->family != b->family) {
        return emu_decode_fail(decoder, "this combination of types is not supported");
    }
    form->d = formats[d];
    form->a = a->format;
    form->b = b->format;
    form->bits = a->bits;
    bool integer = a->family == FAMILY_INT;
    bool half_is_legal = a->family == FAMILY_F16 || a->family == FAMILY_FP8;
    if (integer != (form->d == EMU_S8) || (form->d == EMU_F16 && !half_is_legal) ||
        (form->saturate && !integer)) {
        return emu_decode_fail(decoder, "this combination of types is not legal");
    }
    form->fp8 = a->family == FAMILY_FP8;
    return true;
}

static bool decode_shape(struct emu_decoder *decoder, struct sync_form *form)
{
    if (form->d == EMU_S8 && emu_take(decoder, "m8n8k16")) {
        /* The rows above of m16n8k16. */
        form->k = 16;
        form->a_count = form->b_count = 1;
        form->d_count = 2;
        return true;
    }
    const char *shape = emu_take_prefix(decoder, "m16n8k");
    if (shape == NULL) {
        return emu_decode_fail(decoder, "only the shapes m16n8kK, and m8n8k16 of 8-bit "
                                        "integers, are supported");
    }
    form->k = (unsigned)strtoul(shape, NULL, 10);
    /* A holds 16 rows of K, 32 lanes of 32 bits to the register. */
    unsigned a_count = form->k * form->bits / 64;
    if ((form->k != 4 && form->k != 8 && form->k != 16 && form->k != 32) ||
        (a_count != 2 && a_count != 4)) {
        return emu_decode_fail(decoder, "its shape does not go with its types");
    }
    form->a_count = a_count;
    form->b_count = a_count / 2;
    form->d_count = form->d == EMU_F16 ? 2 : 4;
    return true;
}

bool emu_decode_mma_sync(struct emu_decoder *decoder)
{
    struct emu_insn *insn = decoder->insn;
    struct sync_form *form = emu_decode_alloc(decoder, sizeof(*form));
    insn->extra = form;
    insn->exec = exec_mma_sync;
    if (!insn->aligned || !emu_take(decoder, "row") || !emu_take(decoder, "col")) {
        return emu_decode_fail(decoder, "it lacks .aligned or .row.col");
    }
    form->saturate = emu_take(decoder, "satfinite");
    if (!decode_types(decoder, form) || !decode_shape(decoder, form) ||
        !emu_need_operands(decoder, 4, 4)) {
        return false;
    }
    const unsigned counts[] = {form->d_count, form->a_count, form->b_count, form->d_count};
    insn->list =
        emu_decode_alloc(decoder, (MOST_A + MOST_B + 2 * MOST_CD) * sizeof(*insn->list));
    for (unsigned i = 0; i < 4; i++) {
        uint32_t *slots = NULL;
        uint32_t count = 0;
        if (!emu_operand_vector(decoder, emu_operand(decoder, i), i == 0, 32, &slots,
                                &count)) {
            return false;
        }
        if (count != counts[i]) {
            return emu_decode_fail(decoder, "operand %u has %u registers; it takes %u", i,
                                   count, counts[i]);
        }
        memcpy(insn->list + insn->list_count, slots, count * sizeof(*slots));
        insn->list_count += count;
    }
    return true;
}
