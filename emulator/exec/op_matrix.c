/* SPDX-License-Identifier: MIT */
/*
 * ldmatrix and stmatrix: matrices between shared memory and the registers of a warp. A
 * register of all lanes holds 128 bytes: an 8×8 matrix of 16-bit elements, an 8×16 one of
 * bytes, or half of a 16×16 one. Memory is read and written by rows of 16 bytes, eight for
 * each register.
 */

#include "exec/memory.h"
#include "exec/op_form.h"
#include "exec/op_lanes.h"

enum { ROWS = 8, ROW_BYTES = 16, MATRICES = 4 };

/* insn->mode: what goes where. */
enum shape {
    SHAPE_8X8,
    SHAPE_8X8_TRANS,
    SHAPE_8X16,        /* of bytes, which may be unpacked */
    SHAPE_16X16_TRANS, /* of bytes, in two registers */
    SHAPE_16X8_TRANS   /* of bytes, to be stored */
};

/* By register, of which each has eight rows in memory. */
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

/* Row r of register m is at the address that lane 8m + r gives. */
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

struct place {
    unsigned matrix, row, byte;
};

/*
 * Where byte `byte` of a lane's register lies in memory. Of 16-bit elements a lane has two
 * neighbours of a row, of bytes four; transposed, of a column. Lanes 4r to 4r + 3 have row
 * (or column) r, and of 16×16 also r + 8, in the second register. What is stored from 16×8
 * is two neighbours of column r and two of r + 8, as mma leaves its results.
 */
static struct place locate(const struct emu_insn *insn, unsigned matrix, unsigned lane,
                           unsigned byte)
{
    const unsigned line = lane / 4;
    const unsigned quarter = lane % 4;
    const unsigned along = 4 * quarter + byte;
    switch ((enum shape)insn->mode) {
    case SHAPE_8X8_TRANS:
        return (struct place){matrix, along / 2, 2 * line + byte % 2};
    case SHAPE_16X16_TRANS:
        return (struct place){matrix / 2 * 2 + along / ROWS, along % ROWS,
                              line + matrix % 2 * ROWS};
    case SHAPE_16X8_TRANS:
        return (struct place){matrix, 2 * quarter + byte % 2, line + byte / 2 * ROWS};
    default: /* SHAPE_8X8, SHAPE_8X16 */
        return (struct place){matrix, line, along};
    }
}

/* Sixteen elements of insn->bytes bits, from the lowest, to a byte each. */
static void unpack_row(const struct emu_insn *insn, uint8_t *data, uint8_t *defined)
{
    uint8_t packed[ROW_BYTES + 1] = {0};
    uint8_t state[ROW_BYTES + 1] = {0};
    memcpy(packed, data, ROW_BYTES);
    memcpy(state, defined, ROW_BYTES);
    for (unsigned i = 0; i < ROW_BYTES; i++) {
        const unsigned first = i * insn->bytes;
        const unsigned last = first + insn->bytes - 1;
        const unsigned both = packed[first / 8] | (unsigned)packed[first / 8 + 1] << 8;
        data[i] = (uint8_t)(both >> first % 8 & ((1u << insn->bytes) - 1));
        defined[i] = state[first / 8] == EMU_DEFINED && state[last / 8] == EMU_DEFINED
                         ? EMU_DEFINED
                         : EMU_UNDEFINED;
    }
}

static void unpack(const struct emu_insn *insn, struct matrices *matrices)
{
    for (unsigned m = 0; m < insn->list_count; m++) {
        for (unsigned row = 0; row < ROWS; row++) {
            unpack_row(insn, matrices->data[m][row], matrices->defined[m][row]);
        }
    }
}

EMU_EXEC(ldmatrix)
{
    struct matrices matrices;
    if (!check_lanes(warp, insn, lanes) || !transfer_rows(warp, insn, &matrices, false)) {
        return EMU_FAILED;
    }
    if (insn->bytes < 8) {
        unpack(insn, &matrices);
    }
    for (unsigned m = 0; m < insn->list_count; m++) {
        const uint32_t slot = insn->list[m];
        for (unsigned lane = 0; slot != EMU_NO_SLOT && lane < EMU_LANES; lane++) {
            uint32_t value = 0;
            bool defined = true;
            for (unsigned byte = 0; byte < 4; byte++) {
                const struct place at = locate(insn, m, lane, byte);
                value |= (uint32_t)matrices.data[at.matrix][at.row][at.byte] << 8 * byte;
                defined =
                    defined && matrices.defined[at.matrix][at.row][at.byte] == EMU_DEFINED;
            }
            warp->r[slot][lane] = value;
            emu_lanes_defined(warp, slot, 1u << lane, defined ? 0 : EMU_ALL_LANES);
        }
    }
    return EMU_NEXT;
}

EMU_EXEC(stmatrix)
{
    struct matrices matrices;
    for (unsigned m = 0; m < insn->list_count; m++) {
        const uint32_t slot = insn->list[m];
        for (unsigned lane = 0; lane < EMU_LANES; lane++) {
            const bool defined = (warp->undefined[slot] >> lane & 1) == 0;
            for (unsigned byte = 0; byte < 4; byte++) {
                const struct place at = locate(insn, m, lane, byte);
                matrices.data[at.matrix][at.row][at.byte] =
                    (uint8_t)(warp->r[slot][lane] >> 8 * byte);
                matrices.defined[at.matrix][at.row][at.byte] =
                    defined ? EMU_DEFINED : EMU_UNDEFINED;
            }
        }
    }
    return check_lanes(warp, insn, lanes) && transfer_rows(warp, insn, &matrices, true)
               ? EMU_NEXT
               : EMU_FAILED;
}

/* Takes shape and type; insn->bytes are the bits of an element in memory. */
static bool take_form(struct emu_decoder *decoder, bool load, unsigned *ret_registers)
{
    static const char *const shapes[] = {"m8n8", "m8n16", "m16n16", "m16n8"};
    static const char *const packings[] = {"b4x16_p64", "b6x16_p32"};
    struct emu_insn *insn = decoder->insn;
    const int shape = emu_take_one_of(decoder, shapes, 4);
    const bool trans = emu_take(decoder, "trans");
    const bool is_unpacked = load && emu_take(decoder, "b8x16");
    const int packing = is_unpacked ? emu_take_one_of(decoder, packings, 2) : -1;
    const bool bytes = is_unpacked ? packing >= 0 : emu_take(decoder, "b8");
    insn->bytes = (uint8_t)(packing < 0 ? 8 : 4 + 2 * packing);
    if (shape == 0 && !is_unpacked && !bytes && emu_take(decoder, "b16")) {
        insn->mode = trans ? SHAPE_8X8_TRANS : SHAPE_8X8;
    } else if (shape == 1 && is_unpacked && bytes && !trans) {
        insn->mode = SHAPE_8X16;
    } else if (shape == 2 && load && bytes && trans && *ret_registers <= 2) {
        insn->mode = SHAPE_16X16_TRANS;
        *ret_registers *= 2;
    } else if (shape == 3 && !load && bytes && trans) {
        insn->mode = SHAPE_16X8_TRANS;
    } else {
        return emu_decode_fail(
            decoder, load ? "it takes .m8n8 with .b16, .m16n16 with .trans, .b8 or "
                            ".b8x16, and up to .x2, or .m8n16 with .b8x16"
                          : "it takes .m8n8 with .b16, or .m16n8 with .trans and "
                            ".b8");
    }
    return true;
}

static bool decode_matrix(struct emu_decoder *decoder, unsigned address, unsigned registers,
                          bool load)
{
    static const char *const numbers[] = {"x1", "x2", "x4"};
    struct emu_insn *insn = decoder->insn;
    const int number = emu_take_one_of(decoder, numbers, 3);
    const bool is_shared = emu_take(decoder, "shared") || emu_take(decoder, "shared::cta");
    if (!emu_take(decoder, "sync") || !insn->aligned || number < 0) {
        return emu_decode_fail(decoder, "it needs .sync.aligned, and .x1, .x2 or .x4");
    }
    unsigned wanted = 1u << number;
    insn->mode2 = !is_shared;
    if (!take_form(decoder, load, &wanted) || !emu_need_operands(decoder, 2, 2) ||
        !emu_operand_address(decoder, emu_operand(decoder, address), &insn->src[0],
                             &insn->offset) ||
        !emu_operand_vector(decoder, emu_operand(decoder, registers), load, 32, &insn->list,
                            &insn->list_count)) {
        return false;
    }
    return insn->list_count == wanted ||
           emu_decode_fail(decoder, "%u registers, not %u", insn->list_count, wanted);
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
