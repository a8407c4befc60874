/* SPDX-License-Identifier: MIT */
/* What a tcgen05.mma does when it takes effect. */
#include <math.h>
#include <string.h>

#include "tensor/mma.h"
#include "tensor/scale_origin.h"
#include "tensor/tmem.h"

#define MOST_ROWS      256u
#define MOST_FACTORS   4u
#define PARTITIONS     4u
#define PARTITION_ROWS 32u
#define A_COLUMNS      8u
/* The upper half of a cell that holds an f16 result: nothing is promised about it. */
#define POISON_HALF 0xBAD00000u

/* --------------------------------------------------------------------------- geometry */

/* A rectangle of D: where rows and columns of the result lie in a CTA's tensor memory. */
struct mma_part {
    unsigned row, rows;       /* of the CTA's rows of A */
    unsigned column, columns; /* of N */
    uint32_t lane, tmem_column;
};
#define MOST_PARTS 4u

/* The parts of the layout (A, B, D or F) for d at this address; their number. */
static unsigned find_parts(unsigned cta_group, unsigned m, unsigned n, uint32_t d,
                           struct mma_part parts[MOST_PARTS])
{
    uint32_t lane = emu_tmem_lane(d);
    uint32_t column = emu_tmem_column(d);
    if (cta_group == 2 && m == 128) { /* B: the upper lanes take the right half of N */
        for (unsigned i = 0; i < 2; i++) {
            parts[i] = (struct mma_part){.rows = 64,
                                         .column = i * (n / 2),
                                         .columns = n / 2,
                                         .lane = i * 64,
                                         .tmem_column = column};
        }
        return 2;
    }
    if (m == 64) { /* F: 16 lanes of each partition */
        for (unsigned i = 0; i < PARTITIONS; i++) {
            parts[i] = (struct mma_part){.row = i * 16,
                                         .rows = 16,
                                         .columns = n,
                                         .lane = i * PARTITION_ROWS + lane,
                                         .tmem_column = column};
        }
        return PARTITIONS;
    }
    /* A and D: a lane is a row. */
    parts[0] =
        (struct mma_part){.rows = 128, .columns = n, .lane = lane, .tmem_column = column};
    return 1;
}

unsigned emu_mma_count_columns(unsigned cta_group, unsigned m, unsigned n)
{
    return cta_group == 2 && m == 128 ? n / 2 : n;
}

/* ---------------------------------------------------------------------- tensor memory */

/* Puts 4 bytes of A into cells; returns how many. */
static unsigned unpack_word(const struct emu_instruction *instruction, uint32_t word,
                            uint32_t *cells)
{
    switch (instruction->a_packing) {
    case EMU_PACK_32:
        cells[0] = word;
        return 1;
    case EMU_PACK_16:
        cells[0] = word & 0xFFFFu;
        cells[1] = word >> 16;
        return 2;
    case EMU_PACK_4:
        for (unsigned i = 0; i < 8; i++) {
            cells[i] = word >> 4 * i & 0xFu;
        }
        return 8;
    default:
        /* One byte per element. Four bits lie in the middle of their byte, as tcgen05.cp
         * puts them when it decompresses; six bits at its lower end. */
        for (unsigned i = 0; i < 4; i++) {
            uint32_t byte = word >> 8 * i & 0xFFu;
            cells[i] = instruction->a_packing == EMU_PACK_4_PADDED   ? byte >> 2 & 0xFu
                       : instruction->a_packing == EMU_PACK_6_PADDED ? byte & 0x3Fu
                                                                     : byte;
        }
        return 4;
    }
}

static bool fetch_a_from_tensor_memory(const struct emu_actor *actor, struct emu_cta *cta,
                                       const struct emu_mma_task *task,
                                       const struct mma_part *part, uint32_t *cells)
{
    uint32_t column = emu_tmem_column(task->a_address);
    emu_tmem_note(actor, cta, part->lane, part->rows, column, A_COLUMNS, false);
    if (!emu_tmem_need_defined(actor, cta, part->lane, part->rows, column, A_COLUMNS,
                               "A of tcgen05.mma")) {
        return false;
    }
    const struct emu_tmem *tmem = emu_tmem_of(cta);
    for (unsigned row = 0; row < part->rows; row++) {
        for (unsigned i = 0; i < A_COLUMNS; i++) {
            cells += unpack_word(&task->instruction,
                                 tmem->cells[part->lane + row][column + i], cells);
        }
    }
    return true;
}

/*
 * Scale factors: row r has its bytes in lane r % 32 of column r / 32, the same in all of
 * the given partitions.
 */
static bool fetch_scales(const struct emu_actor *actor, struct emu_cta *cta,
                         uint32_t address, unsigned byte, unsigned factors, unsigned rows,
                         unsigned first_partition, unsigned partitions,
                         const char *operand_name, uint8_t *scales)
{
    const struct emu_tmem *tmem = emu_tmem_of(cta);
    uint32_t first_column = emu_tmem_column(address);
    for (unsigned row = 0; row < rows; row += PARTITION_ROWS) {
        uint32_t column = first_column + row / PARTITION_ROWS;
        unsigned lanes = rows - row < PARTITION_ROWS ? rows - row : PARTITION_ROWS;
        for (unsigned i = 0; i < partitions; i++) {
            uint32_t base = (first_partition + i) * PARTITION_ROWS;
            emu_tmem_note(actor, cta, base, lanes, column, 1, false);
            if (!emu_tmem_need_defined(actor, cta, base, lanes, column, 1, operand_name)) {
                return false;
            }
        }
        for (unsigned lane = 0; lane < lanes; lane++) {
            uint32_t base = first_partition * PARTITION_ROWS + lane;
            uint32_t word = tmem->cells[base][column];
            for (unsigned i = 1; i < partitions; i++) {
                if (tmem->cells[base + i * PARTITION_ROWS][column] != word) {
                    emu_report_error(
                        actor->warp, actor->insn, actor->lane, EMU_FINDING_TENSOR_MEMORY,
                        "%s, row %u: lanes %u and %u of column %u differ; the "
                        "factors must be the same in all partitions",
                        operand_name, row + lane, base, base + i * PARTITION_ROWS, column);
                    return false;
                }
            }
            for (unsigned i = 0; i < factors; i++) {
                *scales++ = (uint8_t)(word >> 8 * (byte + i));
            }
        }
    }
    return true;
}

/* ---------------------------------------------------------------------------- one part */

/* Everything of one CTA that its parts share. */
struct operands {
    const uint32_t *a; /* the CTA's rows; NULL: in tensor memory */
    const uint32_t *b; /* all of N */
    uint32_t *a_scratch;
    const uint8_t *a_scales, *b_scales; /* NULL: not block-scaled */
    const uint32_t *disabled;           /* by 32 lanes */
};

static bool is_disabled(const struct operands *operands, uint32_t lane)
{
    return (operands->disabled[lane / 32] >> lane % 32 & 1u) != 0;
}

/* Lanes whose D is not written get back what they had. */
struct saved_row {
    uint32_t cells[MOST_ROWS];
    uint8_t defined[MOST_ROWS];
};

static struct saved_row *save_disabled(const struct emu_tmem *tmem,
                                       const struct mma_part *part,
                                       const struct operands *operands)
{
    struct saved_row *rows = emu_alloc(part->rows * sizeof(*rows));
    for (unsigned i = 0; i < part->rows; i++) {
        uint32_t lane = part->lane + i;
        if (is_disabled(operands, lane)) {
            memcpy(rows[i].cells, &tmem->cells[lane][part->tmem_column],
                   part->columns * sizeof(uint32_t));
            memcpy(rows[i].defined, &tmem->defined[lane][part->tmem_column], part->columns);
        }
    }
    return rows;
}

static void restore_disabled(struct emu_tmem *tmem, const struct mma_part *part,
                             const struct operands *operands, struct saved_row *rows)
{
    for (unsigned i = 0; i < part->rows; i++) {
        uint32_t lane = part->lane + i;
        if (is_disabled(operands, lane)) {
            memcpy(&tmem->cells[lane][part->tmem_column], rows[i].cells,
                   part->columns * sizeof(uint32_t));
            memcpy(&tmem->defined[lane][part->tmem_column], rows[i].defined, part->columns);
        }
    }
    emu_free(rows);
}

/* D · 2^-scale of one cell. */
static uint32_t scale_cell(enum emu_format format, uint32_t bits, unsigned scale)
{
    const struct emu_encode nearest = {.rounding = EMU_RN};
    double value = ldexp(emu_decode(format, bits), -(int)scale);
    return (uint32_t)emu_encode(format, value, nearest);
}

/* Makes the old D ready: scaled, and without the undefined half of an f16 cell. */
static void prepare_input(const struct emu_mma_task *task, struct emu_tmem *tmem,
                          const struct mma_part *part)
{
    enum emu_format format = task->instruction.d;
    if (format != EMU_F16 && task->scale_input == 0) {
        return;
    }
    for (unsigned row = 0; row < part->rows; row++) {
        uint32_t *cells = &tmem->cells[part->lane + row][part->tmem_column];
        for (unsigned i = 0; i < part->columns; i++) {
            cells[i] &= format == EMU_F16 ? 0xFFFFu : UINT32_MAX;
            if (task->scale_input != 0) {
                cells[i] = scale_cell(format, cells[i], task->scale_input);
            }
        }
    }
}

static void finish_output(const struct emu_mma_task *task, struct emu_tmem *tmem,
                          const struct mma_part *part)
{
    for (unsigned row = 0; row < part->rows; row++) {
        uint32_t *cells = &tmem->cells[part->lane + row][part->tmem_column];
        memset(&tmem->defined[part->lane + row][part->tmem_column], EMU_DEFINED,
               part->columns);
        for (unsigned i = 0; task->instruction.d == EMU_F16 && i < part->columns; i++) {
            cells[i] = POISON_HALF | (cells[i] & 0xFFFFu);
        }
    }
}

static struct emu_mma_rule make_rule(const struct emu_warp *warp,
                                     const struct emu_mma_task *task)
{
    const struct emu_instruction *instruction = &task->instruction;
    bool f4 = instruction->kind == EMU_KIND_MXF4 || instruction->kind == EMU_KIND_MXF4NVF4;
    return (struct emu_mma_rule){
        .a = instruction->a,
        .b = instruction->b,
        .d = instruction->d,
        .k = instruction->k,
        .fraction_bits = f4 ? 35 : 25,
        .result_bits = 23,
        .scale_block = task->factors == 0 ? 0 : instruction->k / task->factors,
        .scale = instruction->scale,
        .negate_a = instruction->negate_a,
        .negate_b = instruction->negate_b,
        .saturate = instruction->saturate,
        .fast = emu_tensor_is_fast(warp)};
}

static bool run_part(const struct emu_actor *actor, struct emu_cta *cta,
                     const struct emu_mma_task *task, const struct mma_part *part,
                     const struct operands *operands)
{
    const unsigned k = task->instruction.k;
    struct emu_tmem *tmem = emu_tmem_of(cta);
    const uint32_t *a =
        operands->a == NULL ? operands->a_scratch : operands->a + (size_t)part->row * k;
    if (operands->a == NULL &&
        !fetch_a_from_tensor_memory(actor, cta, task, part, operands->a_scratch)) {
        return false;
    }
    emu_tmem_note(actor, cta, part->lane, part->rows, part->tmem_column, part->columns,
                  true);
    struct saved_row *saved =
        task->any_disabled ? save_disabled(tmem, part, operands) : NULL;
    if (task->accumulate) {
        for (unsigned row = 0; row < part->rows; row++) {
            if (!is_disabled(operands, part->lane + row) &&
                !emu_tmem_need_defined(actor, cta, part->lane + row, 1, part->tmem_column,
                                       part->columns, "D, which enable-input-d asks for")) {
                emu_free(saved);
                return false;
            }
        }
        prepare_input(task, tmem, part);
    }
    struct emu_mma_rule rule = make_rule(actor->warp, task);
    emu_mma(&rule, part->rows, part->columns, a, operands->b + (size_t)part->column * k,
            &tmem->cells[part->lane][part->tmem_column], EMU_TMEM_COLUMNS, task->accumulate,
            operands->a_scales == NULL
                ? NULL
                : operands->a_scales + (size_t)part->row * task->factors,
            operands->b_scales == NULL
                ? NULL
                : operands->b_scales + (size_t)part->column * task->factors);
    finish_output(task, tmem, part);
    if (saved != NULL) {
        restore_disabled(tmem, part, operands, saved);
    }
    return true;
}

/* --------------------------------------------------------------------- the instruction */

/* Factors of all of N. For M = 128 over a pair the two halves of N lie side by side in
 * lanes, each in two partitions. */
static bool fetch_b_scales(const struct emu_actor *actor, struct emu_cta *cta,
                           const struct emu_mma_task *task, uint8_t *scales)
{
    const struct emu_instruction *instruction = &task->instruction;
    const char *const operand_name = "scale factors of B";
    if (task->cta_count == 2 && instruction->m == 128) {
        unsigned half = instruction->n / 2;
        return fetch_scales(actor, cta, task->b_scales, instruction->b_scale_id,
                            task->factors, half, 0, 2, operand_name, scales) &&
               fetch_scales(actor, cta, task->b_scales, instruction->b_scale_id,
                            task->factors, half, 2, 2, operand_name,
                            scales + (size_t)half * task->factors);
    }
    return fetch_scales(actor, cta, task->b_scales, instruction->b_scale_id, task->factors,
                        instruction->n, 0, PARTITIONS, operand_name, scales);
}

static bool run_cta(const struct emu_actor *actor, struct emu_cta *cta, unsigned index,
                    const struct emu_mma_task *task, uint32_t *a, const uint32_t *b)
{
    const struct emu_instruction *instruction = &task->instruction;
    uint8_t a_scales[MOST_ROWS * MOST_FACTORS];
    uint8_t b_scales[MOST_ROWS * MOST_FACTORS];
    struct operands operands = {
        .b = b, .a_scratch = a, .disabled = &task->disabled[(size_t)index * 4]};
    if (!task->a_in_tensor_memory) {
        if (!emu_tile_fetch(actor, cta, &task->a, a)) {
            return false;
        }
        operands.a = a;
    }
    struct emu_actor in_tensor_memory = *actor;
    in_tensor_memory.proxy = EMU_PROXY_TENSOR;
    if (task->factors != 0) {
        if (!fetch_scales(&in_tensor_memory, cta, task->a_scales, instruction->a_scale_id,
                          task->factors, task->a.rows, 0, PARTITIONS, "scale factors of A",
                          a_scales) ||
            !fetch_b_scales(&in_tensor_memory, cta, task, b_scales)) {
            return false;
        }
        operands.a_scales = a_scales;
        operands.b_scales = b_scales;
    }
    struct mma_part parts[MOST_PARTS];
    unsigned count =
        find_parts(task->cta_count, instruction->m, instruction->n, task->d, parts);
    for (unsigned i = 0; i < count; i++) {
        if (!run_part(&in_tensor_memory, cta, task, &parts[i], &operands)) {
            return false;
        }
    }
    return true;
}

bool emu_mma_run(struct emu_tensor_op *op)
{
    if (emu_launch_of(op->warp->cta)->settings.numbers == EMU_NUMBERS_OFF) {
        return true;
    }
    const struct emu_mma_task *task = (const struct emu_mma_task *)(void *)op->payload;
    uint32_t *a = emu_tensor_scratch(op->warp);
    uint32_t *b = a + EMU_TENSOR_OPERAND_CELLS;
    struct emu_cta *ctas[2];
    unsigned count = emu_tensor_ctas(op->warp->cta, op->cta_group, ctas);
    const struct emu_actor actor = emu_tensor_op_actor(op, EMU_PROXY_ASYNC);
    /* Each CTA of a pair holds half of the rows of B; both need all of them. */
    for (unsigned i = 0; i < count; i++) {
        if (!emu_tensor_check_alive(op->warp, op->insn, ctas[i]) ||
            !emu_tile_fetch(&actor, ctas[i], &task->b,
                            b + (size_t)i * task->b.rows * task->b.k)) {
            return false;
        }
    }
    if (task->factors != 0) {
        emu_scale_uses_check(&actor, ctas, task);
    }
    for (unsigned i = 0; i < count; i++) {
        if (!run_cta(&actor, ctas[i], i, task, a, b)) {
            return false;
        }
    }
    return true;
}
