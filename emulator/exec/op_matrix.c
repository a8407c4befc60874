/* SPDX-License-Identifier: MIT */
/*
 * ldmatrix and stmatrix: 8×8 matrices of 16-bit elements between shared memory and the
 * registers of a warp.
 */

#include "exec/memory.h"
#include "exec/op_form.h"
#include "exec/op_lanes.h"

enum { ROWS = 8, ROW_BYTES = 16, MATRICES = 4, ELEMENT_BYTES = 2 };

struct matrices {
    uint8_t data[MATRICES][ROWS][ROW_BYTES];
    uint8_t defined[MATRICES][ROWS][ROW_BYTES];
};

/* Where the row that lane `lane` points to begins. */
static struct emu_cta *find_row(struct emu_warp *warp, const struct emu_insn *insn,
                                unsigned lane, uint32_t *ret_offset)
{
    uint64_t address = warp->r[insn->src[0]][lane] + (uint64_t)insn->offset;
    if (insn->mode2 != 0) {
        enum emu_space space;
        emu_classify(address, &space, &address);
        if (space != EMU_SPACE_SHARED_CLUSTER) {
            emu_report_error(warp, insn, lane, EMU_FINDING_OUT_OF_BOUNDS,
                             "the generic address of a row is not in shared memory");
            return NULL;
        }
    }
    return emu_shared_resolve(warp, insn, lane, (uint32_t)address, false, ret_offset);
}

/* Matrix m's row r is at the address that lane 8m + r gives. */
static bool transfer_rows(struct emu_warp *warp, const struct emu_insn *insn,
                          struct matrices *matrices, bool write)
{
    for (unsigned lane = 0; lane < insn->list_count * ROWS; lane++) {
        uint8_t *data = matrices->data[lane / ROWS][lane % ROWS];
        uint8_t *defined = matrices->defined[lane / ROWS][lane % ROWS];
        const struct emu_actor actor = emu_actor_of_lane(warp, insn, lane);
        uint32_t offset = 0;
        struct emu_cta *cta = find_row(warp, insn, lane, &offset);
        if (cta == NULL || !(write ? emu_shared_write(&actor, cta, offset, ROW_BYTES,
                                                      ROW_BYTES, data, defined)
                                   : emu_shared_read(&actor, cta, offset, ROW_BYTES,
                                                     ROW_BYTES, data, defined))) {
            return false;
        }
    }
    return true;
}

static bool check_lanes(struct emu_warp *warp, const struct emu_insn *insn, uint32_t lanes)
{
    if (lanes != EMU_ALL_LANES) {
        emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_ILLEGAL,
                         "all 32 lanes must execute it; lanes %08x do not", ~lanes);
        return false;
    }
    const unsigned rows = insn->list_count * ROWS;
    const uint32_t needed = rows == EMU_LANES ? EMU_ALL_LANES : (1u << rows) - 1;
    return emu_need_defined(warp, insn, needed, insn->src[0], "address of a row");
}

/* Lane l has two elements that lie beside each other in a row: row l / 4, columns 2(l % 4)
 * and the next; of the transposed matrix with .trans, which insn->mode tells. */
static void locate(const struct emu_insn *insn, unsigned lane, unsigned element,
                   unsigned *ret_row, unsigned *ret_byte)
{
    const unsigned row = lane / 4;
    const unsigned column = 2 * (lane % 4) + element;
    *ret_row = insn->mode != 0 ? column : row;
    *ret_byte = ELEMENT_BYTES * (insn->mode != 0 ? row : column);
}

EMU_EXEC(ldmatrix)
{
    struct matrices matrices;
    if (!check_lanes(warp, insn, lanes) || !transfer_rows(warp, insn, &matrices, false)) {
        return EMU_FAILED;
    }
    for (unsigned m = 0; m < insn->list_count; m++) {
        const uint32_t slot = insn->list[m];
        for (unsigned lane = 0; slot != EMU_NO_SLOT && lane < EMU_LANES; lane++) {
            uint32_t value = 0;
            bool defined = true;
            for (unsigned element = 0; element < 2; element++) {
                unsigned row;
                unsigned byte;
                locate(insn, lane, element, &row, &byte);
                const uint8_t *at = &matrices.data[m][row][byte];
                const uint8_t *state = &matrices.defined[m][row][byte];
                value |= (uint32_t)(at[0] | at[1] << 8) << 16 * element;
                defined = defined && state[0] == EMU_DEFINED && state[1] == EMU_DEFINED;
            }
            warp->r[slot][lane] = value;
            emu_lanes_defined(warp, slot, 1u << lane, defined ? 0 : EMU_ALL_LANES);
        }
    }
    emu_sync_lanes(&warp->sync);
    return EMU_NEXT;
}

EMU_EXEC(stmatrix)
{
    struct matrices matrices;
    for (unsigned m = 0; m < insn->list_count; m++) {
        const uint32_t slot = insn->list[m];
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            const bool defined = (warp->undefined[slot] >> lane & 1) == 0;
            for (unsigned element = 0; element < 2; element++) {
                unsigned row;
                unsigned byte;
                locate(insn, lane, element, &row, &byte);
                const uint64_t value = warp->r[slot][lane] >> 16 * element;
                matrices.data[m][row][byte] = (uint8_t)value;
                matrices.data[m][row][byte + 1] = (uint8_t)(value >> 8);
                matrices.defined[m][row][byte] = defined ? EMU_DEFINED : EMU_UNDEFINED;
                matrices.defined[m][row][byte + 1] = defined ? EMU_DEFINED : EMU_UNDEFINED;
            }
        }
    }
    if (!check_lanes(warp, insn, lanes) || !transfer_rows(warp, insn, &matrices, true)) {
        return EMU_FAILED;
    }
    emu_sync_lanes(&warp->sync);
    return EMU_NEXT;
}

static bool decode_matrix(struct emu_decoder *decoder, unsigned address, unsigned registers,
                          bool load)
{
    static const char *const numbers[] = {"x1", "x2", "x4"};
    struct emu_insn *insn = decoder->insn;
    const int number = emu_take_one_of(decoder, numbers, 3);
    const bool is_shared = emu_take(decoder, "shared") || emu_take(decoder, "shared::cta");
    if (!emu_take(decoder, "sync") || !insn->aligned || !emu_take(decoder, "m8n8") ||
        !emu_take(decoder, "b16") || number < 0) {
        return emu_decode_fail(decoder, "only .sync.aligned.m8n8.x1, x2 and x4 of .b16 are "
                                        "supported");
    }
    insn->mode = emu_take(decoder, "trans");
    insn->mode2 = !is_shared;
    if (!emu_need_operands(decoder, 2, 2) ||
        !emu_operand_address(decoder, emu_operand(decoder, address), &insn->src[0],
                             &insn->offset) ||
        !emu_operand_vector(decoder, emu_operand(decoder, registers), load, 32, &insn->list,
                            &insn->list_count)) {
        return false;
    }
    return insn->list_count == 1u << number ||
           emu_decode_fail(decoder, "%u registers for .%s", insn->list_count,
                           numbers[number]);
}

static bool decode_ldmatrix(struct emu_decoder *decoder)
{
    decoder->insn->exec = ldmatrix;
    return decode_matrix(decoder, 1, 0, true);
}

static bool decode_stmatrix(struct emu_decoder *decoder)
{
    decoder->insn->exec = stmatrix;
    return decode_matrix(decoder, 0, 1, false);
}

const struct emu_opcode emu_matrix_opcodes[] = {
    {"ldmatrix", decode_ldmatrix},
    {"stmatrix", decode_stmatrix},
    {0},
};
