/* SPDX-License-Identifier: MIT */
/* tcgen05.mma: decoding, and what is checked when a thread issues it. */
#include "exec/timing.h"
#include "tensor/mma.h"
#include "tensor/opcodes.h"
#include "tensor/tmem.h"
#include "tensor/unvalidated.h"

#define A_COLUMNS 8u /* of A in tensor memory: 32 bytes of K */

/* Operands: slots or predicates. */
struct mma_form {
    enum emu_mma_kind kind;
    unsigned cta_group;
    unsigned factors; /* scale factors per row, or 0 */
    bool a_in_tensor_memory;
    uint32_t d, a, b, instruction, a_scales, b_scales;
    int64_t d_offset, a_offset, a_scales_offset, b_scales_offset;
    uint32_t enable; /* predicate, or EMU_NO_PREDICATE and `enabled` */
    bool enable_negated, enabled;
    uint32_t *disabled;
    uint32_t disabled_count;
    unsigned scale_input;
};

/* ------------------------------------------------------------------------------- issue */

static bool fail_descriptor(struct emu_warp *warp, const struct emu_insn *insn,
                            unsigned lane, const char *which, const struct emu_error *error)
{
    emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR, "%s: %s", which,
                     error->text);
    return false;
}

static bool get_address(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        uint32_t slot, int64_t offset, const char *operand_name,
                        uint32_t *ret_address)
{
    uint64_t value = 0;
    if (!emu_tensor_operand(warp, insn, lane, slot, operand_name, &value)) {
        return false;
    }
    *ret_address = (uint32_t)(value + (uint64_t)offset);
    return true;
}

static bool get_tile(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                     uint32_t slot, const char *operand_name, struct emu_tile *tile)
{
    uint64_t bits = 0;
    struct emu_error error = {0};
    if (!emu_tensor_operand(warp, insn, lane, slot, operand_name, &bits)) {
        return false;
    }
    if (!emu_matrix_decode_sm100(bits, &tile->matrix, &error) ||
        !emu_tile_check(tile, &error)) {
        return fail_descriptor(warp, insn, lane, operand_name, &error);
    }
    return true;
}

/* The rows of A and B that each CTA holds. */
static bool get_operands(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         struct emu_mma_task *task)
{
    const struct mma_form *form = insn->extra;
    const struct emu_instruction *instruction = &task->instruction;
    task->a = (struct emu_tile){.packing = instruction->a_packing,
                                .mn_major = instruction->a_mn_major,
                                .rows = instruction->m / task->cta_count,
                                .k = instruction->k};
    task->b = (struct emu_tile){.packing = instruction->b_packing,
                                .mn_major = instruction->b_mn_major,
                                .rows = instruction->n / task->cta_count,
                                .k = instruction->k};
    if (!get_tile(warp, insn, lane, form->b, "descriptor of B", &task->b)) {
        return false;
    }
    if (!form->a_in_tensor_memory) {
        return get_tile(warp, insn, lane, form->a, "descriptor of A", &task->a);
    }
    task->a_in_tensor_memory = true;
    if (instruction->a_mn_major) {
        emu_report_error(warp, insn, lane, EMU_FINDING_DESCRIPTOR,
                         "transpose A (bit 15 of the instruction descriptor): A in tensor "
                         "memory is K-major");
        return false;
    }
    return get_address(warp, insn, lane, form->a, form->a_offset, "address of A",
                       &task->a_address);
}

/* The first lane of D, A and scale factors is fixed by the layout. */
static bool check_lane(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       uint32_t address, uint32_t wanted, const char *operand_name)
{
    if (emu_tmem_lane(address) == wanted) {
        return true;
    }
    emu_report_error(warp, insn, lane, EMU_FINDING_MISALIGNED,
                     "%s: the address 0x%08x has lane %u; it must be %u", operand_name,
                     address, emu_tmem_lane(address), wanted);
    return false;
}

/* D, A and scale factors lie in allocated columns of all CTAs. */
static bool check_places(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         const struct emu_mma_task *task)
{
    const struct emu_instruction *instruction = &task->instruction;
    struct emu_cta *ctas[2];
    emu_tensor_ctas(warp->cta, task->cta_count, ctas);
    /* Layout F uses half of the lanes, from 0 or from 16. */
    uint32_t first = 0;
    if (instruction->m == 64 && emu_tmem_lane(task->d) == 16) {
        first = 16;
    }
    if (!check_lane(warp, insn, lane, task->d, first, "D") ||
        (task->a_in_tensor_memory &&
         !check_lane(warp, insn, lane, task->a_address, first, "A")) ||
        (task->factors != 0 &&
         (!check_lane(warp, insn, lane, task->a_scales, 0, "scale factors of A") ||
          !check_lane(warp, insn, lane, task->b_scales, 0, "scale factors of B")))) {
        return false;
    }
    unsigned columns =
        emu_mma_count_columns(task->cta_count, instruction->m, instruction->n);
    for (unsigned i = 0; i < task->cta_count; i++) {
        if (!emu_tmem_check(warp, insn, lane, ctas[i], emu_tmem_column(task->d), columns,
                            "D of tcgen05.mma") ||
            (task->a_in_tensor_memory &&
             !emu_tmem_check(warp, insn, lane, ctas[i], emu_tmem_column(task->a_address),
                             A_COLUMNS, "A of tcgen05.mma"))) {
            return false;
        }
        /* 32 rows to a column; a CTA holds the factors of its rows and of all of N. */
        unsigned rows = instruction->m / task->cta_count;
        unsigned n = instruction->m == 128 && task->cta_count == 2 ? instruction->n / 2
                                                                   : instruction->n;
        if (task->factors != 0 &&
            (!emu_tmem_check(warp, insn, lane, ctas[i], emu_tmem_column(task->a_scales),
                             (rows + 31) / 32, "scale factors of A") ||
             !emu_tmem_check(warp, insn, lane, ctas[i], emu_tmem_column(task->b_scales),
                             (n + 31) / 32, "scale factors of B"))) {
            return false;
        }
    }
    return true;
}

static bool get_enable(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       bool *ret_enable)
{
    const struct mma_form *form = insn->extra;
    if (form->enable == EMU_NO_PREDICATE) {
        *ret_enable = form->enabled;
        return true;
    }
    if ((warp->p_undefined[form->enable] >> lane & 1u) != 0 &&
        emu_tensor_checks_defined(warp)) {
        emu_report_error(warp, insn, lane, EMU_FINDING_UNDEFINED,
                         "the predicate enable-input-d is undefined");
        return false;
    }
    *ret_enable = ((warp->p[form->enable] >> lane & 1u) != 0) != form->enable_negated;
    return true;
}

static bool get_disabled(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                         struct emu_mma_task *task)
{
    const struct mma_form *form = insn->extra;
    for (uint32_t i = 0; i < form->disabled_count; i++) {
        uint64_t mask = 0;
        if (!emu_tensor_operand(warp, insn, lane, form->disabled[i], "disable-output-lane",
                                &mask)) {
            return false;
        }
        task->disabled[i] = (uint32_t)mask;
        task->any_disabled |= task->disabled[i] != 0;
    }
    return true;
}

static uint32_t find_tile_features(const struct emu_tile *tile)
{
    enum emu_swizzle swizzle = tile->matrix.swizzle;
    return emu_feature_if(tile->mn_major && swizzle == EMU_SWIZZLE_NONE,
                          EMU_FEATURE_MN_NO_SWIZZLE) |
           emu_feature_if(tile->packing == EMU_PACK_6_PADDED, EMU_FEATURE_NARROW_TYPES);
}

static uint32_t find_features(const struct emu_mma_task *task)
{
    const struct emu_instruction *instruction = &task->instruction;
    bool pair = task->cta_count == 2;
    bool narrow = instruction->a_packing == EMU_PACK_4_PADDED ||
                  instruction->a_packing == EMU_PACK_6_PADDED;
    bool wide =
        instruction->a_packing == EMU_PACK_16 || instruction->a_packing == EMU_PACK_32;
    bool odd_n = !pair && instruction->m == 128 && instruction->n % 16 != 0;
    uint32_t features = emu_feature_if(pair && instruction->m == 128 && task->factors != 0,
                                       EMU_FEATURE_PAIR_128_SCALES) |
                        emu_feature_if(task->a_in_tensor_memory && (pair || !wide),
                                       EMU_FEATURE_A_IN_TENSOR_MEMORY) |
                        emu_feature_if(task->a_in_tensor_memory && narrow,
                                       EMU_FEATURE_NARROW_A_IN_TENSOR_MEMORY) |
                        emu_feature_if(odd_n, EMU_FEATURE_N_STEP) |
                        emu_feature_if(task->scale_input != 0, EMU_FEATURE_SCALE_INPUT) |
                        emu_feature_if(task->any_disabled, EMU_FEATURE_DISABLED_LANES) |
                        find_tile_features(&task->b);
    return task->a_in_tensor_memory ? features : features | find_tile_features(&task->a);
}

/* The two upper bits of the address of scale factors may repeat their id, which the
 * instruction descriptor decides. Returns the address without them. */
static uint32_t take_id(struct emu_warp *warp, const struct emu_insn *insn,
                        uint32_t address, unsigned id, char operand)
{
    unsigned repeated = address >> 30;
    if (repeated != 0 && repeated != id) {
        emu_report(warp, insn, EMU_LANES, EMU_WARNING, EMU_FINDING_ILLEGAL,
                   "the address of the scale factors of %c says id %u, and the instruction "
                   "descriptor %u, which is taken",
                   operand, repeated, id);
    }
    return address & 0x3FFFFFFFu;
}

static bool get_scales(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                       struct emu_mma_task *task)
{
    const struct mma_form *form = insn->extra;
    if (form->factors == 0) {
        return true;
    }
    if (!get_address(warp, insn, lane, form->a_scales, form->a_scales_offset,
                     "address of the scale factors of A", &task->a_scales) ||
        !get_address(warp, insn, lane, form->b_scales, form->b_scales_offset,
                     "address of the scale factors of B", &task->b_scales)) {
        return false;
    }
    const struct emu_instruction *instruction = &task->instruction;
    task->a_scales = take_id(warp, insn, task->a_scales, instruction->a_scale_id, 'A');
    task->b_scales = take_id(warp, insn, task->b_scales, instruction->b_scale_id, 'B');
    return true;
}

static bool fill_task(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                      struct emu_mma_task *task)
{
    const struct mma_form *form = insn->extra;
    struct emu_error error = {0};
    uint64_t bits = 0;
    task->cta_count = form->cta_group;
    task->factors = form->factors;
    task->scale_input = form->scale_input;
    if (!emu_tensor_check_group(warp, insn, lane, form->cta_group) ||
        !emu_tensor_operand(warp, insn, lane, form->instruction, "instruction descriptor",
                            &bits)) {
        return false;
    }
    if (!emu_instruction_decode(form->kind, form->cta_group, form->factors, (uint32_t)bits,
                                &task->instruction, &error)) {
        return fail_descriptor(warp, insn, lane, "instruction descriptor", &error);
    }
    return get_operands(warp, insn, lane, task) &&
           get_address(warp, insn, lane, form->d, form->d_offset, "address of D",
                       &task->d) &&
           get_scales(warp, insn, lane, task) &&
           get_enable(warp, insn, lane, &task->accumulate) &&
           get_disabled(warp, insn, lane, task) && check_places(warp, insn, lane, task);
}

/* When a product of a timed launch has left the tensor core. */
static uint64_t mma_time(struct emu_warp *warp, const struct emu_mma_task *task)
{
    struct emu_cta *ctas[2];
    const unsigned count = emu_tensor_ctas(warp->cta, task->cta_count, ctas);
    const struct emu_time_product product = {
        .cta = ctas[0],
        .pair = count == 2 ? ctas[1] : NULL,
        .rows = task->instruction.m,
        .columns = task->instruction.n,
        .k_bytes = emu_packing_bytes(task->instruction.b_packing, task->b.k),
        .a_is_shared = !task->a_in_tensor_memory,
        .begins = !task->accumulate};
    return emu_time_mma(&product);
}

static bool issue(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane)
{
    struct emu_mma_task task = {0};
    if (!fill_task(warp, insn, lane, &task)) {
        return false;
    }
    const struct emu_instruction *instruction = &task.instruction;
    emu_features_advise(warp, insn,
                        find_features(&task) |
                            emu_feature_if(task.cta_count == 2 && warp->cta->rank % 2 != 0,
                                           EMU_FEATURE_ODD_ISSUER));
    struct emu_tensor_op *op = emu_tensor_op_new(warp, insn, lane, EMU_OP_MMA,
                                                 task.cta_count, sizeof(task), emu_mma_run);
    *(struct emu_mma_task *)(void *)op->payload = task;
    op->column = emu_tmem_column(task.d);
    op->columns = emu_mma_count_columns(task.cta_count, instruction->m, instruction->n);
    op->accumulator = (uint64_t)task.d << 32 | instruction->m << 16 | instruction->n << 4 |
                      (uint64_t)instruction->kind;
    if (emu_is_timed(warp->cta)) {
        op->done_at = mma_time(warp, &task);
    }
    if (task.factors != 0) {
        emu_tensor_note_scales(op, emu_tmem_column(task.a_scales),
                               (instruction->m / task.cta_count + 31) / 32);
        emu_tensor_note_scales(op, emu_tmem_column(task.b_scales),
                               (instruction->n + 31) / 32);
    }
    return emu_tensor_op_submit(op);
}

static enum emu_step exec_mma(struct emu_warp *warp, const struct emu_insn *insn,
                              uint32_t lanes)
{
    if (emu_count_bits(lanes) > 1) {
        emu_report(warp, insn, EMU_LANES, EMU_WARNING, EMU_FINDING_ILLEGAL,
                   "%u lanes issue this tcgen05.mma, and so it is done %u times",
                   emu_count_bits(lanes), emu_count_bits(lanes));
    }
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        if (!issue(warp, insn, emu_lowest_bit(rest))) {
            return EMU_FAILED;
        }
    }
    return EMU_NEXT;
}

/* ------------------------------------------------------------------------------ decode */

static bool decode_kind(struct emu_decoder *decoder, struct mma_form *form)
{
    const char *kind = emu_take_prefix(decoder, "kind::");
    for (unsigned i = 0; kind != NULL && i < EMU_KIND_COUNT; i++) {
        const char *word = emu_mma_kind_words[i];
        size_t length = 0;
        while (word[length] != 0 && word[length] == kind[length]) {
            length++;
        }
        if (word[length] == 0 && kind[length] == 0) {
            form->kind = (enum emu_mma_kind)i;
            return true;
        }
    }
    return emu_decode_fail(decoder, "its kind is not supported");
}

/* Scale factors per row: .scale_vec::NX, or .blockN as 32 bytes of K have them. */
static bool decode_factors(struct emu_decoder *decoder, struct mma_form *form)
{
    static const char *const words[] = {"scale_vec::1X", "scale_vec::2X", "scale_vec::4X",
                                        "block16", "block32"};
    bool scaled = emu_take(decoder, "block_scale");
    if (scaled != emu_kind_is_scaled(form->kind)) {
        return emu_decode_fail(decoder, scaled ? ".block_scale needs an mx kind"
                                               : "this kind needs .block_scale");
    }
    if (!scaled) {
        return true;
    }
    decoder->program->scales_blocks = true;
    bool mxf8 = form->kind == EMU_KIND_MXF8F6F4;
    switch (emu_take_one_of(decoder, words, 5)) {
    case 0:
        form->factors = 1;
        break;
    case 1:
        form->factors = 2;
        break;
    case 2:
    case 3:
        form->factors = 4;
        break;
    case 4:
        form->factors = mxf8 ? 1 : 2;
        break;
    default:
        if (form->kind == EMU_KIND_MXF4NVF4) {
            return emu_decode_fail(decoder, "kind::mxf4nvf4 needs .block16 or .block32");
        }
        form->factors = mxf8 ? 1 : 2;
        break;
    }
    if ((mxf8 && form->factors != 1) ||
        (form->kind == EMU_KIND_MXF4 && form->factors != 2) ||
        (form->kind == EMU_KIND_MXF4NVF4 && form->factors == 1)) {
        return emu_decode_fail(decoder, "this kind has no such scale vector");
    }
    return true;
}

static bool decode_enable(struct emu_decoder *decoder, struct mma_form *form,
                          const struct ptx_operand *operand)
{
    form->enable = EMU_NO_PREDICATE;
    if (operand->kind == PTX_INTEGER) {
        form->enabled = operand->value != 0;
        return true;
    }
    return emu_operand_predicate(decoder, operand, &form->enable, &form->enable_negated);
}

/* What follows idesc: scale factors or disabled lanes, enable-input-d, scale-input-d. */
static bool decode_tail(struct emu_decoder *decoder, struct mma_form *form)
{
    unsigned count = emu_operand_count(decoder);
    unsigned next = 4;
    if (form->factors != 0) {
        if (!emu_need_operands(decoder, 7, 7) ||
            !emu_operand_address(decoder, emu_operand(decoder, 4), &form->a_scales,
                                 &form->a_scales_offset) ||
            !emu_operand_address(decoder, emu_operand(decoder, 5), &form->b_scales,
                                 &form->b_scales_offset)) {
            return false;
        }
        return decode_enable(decoder, form, emu_operand(decoder, 6));
    }
    if (emu_operand(decoder, next)->kind == PTX_VECTOR) {
        if (!emu_operand_vector(decoder, emu_operand(decoder, next), false, 32,
                                &form->disabled, &form->disabled_count)) {
            return false;
        }
        if (form->disabled_count != 4 * form->cta_group) {
            return emu_decode_fail(decoder, "disable-output-lane has %u words; it takes %u",
                                   form->disabled_count, 4 * form->cta_group);
        }
        next++;
    }
    if (next >= count || !decode_enable(decoder, form, emu_operand(decoder, next))) {
        return emu_decode_fail(decoder, "it lacks enable-input-d");
    }
    next++;
    if (next < count) {
        int64_t scale = 0;
        if (!emu_operand_integer(decoder, emu_operand(decoder, next), &scale)) {
            return false;
        }
        if (scale < 0 || scale > 15 ||
            (form->kind != EMU_KIND_F16 && form->kind != EMU_KIND_TF32)) {
            return emu_decode_fail(decoder, "scale-input-d is 0 to 15, and only for "
                                            "kind::f16 and kind::tf32");
        }
        form->scale_input = (unsigned)scale;
        next++;
    }
    return next == count || emu_decode_fail(decoder, "it has too many operands");
}

bool emu_decode_tensor_mma(struct emu_decoder *decoder)
{
    static const char *const refused[] = {"sp", "ws", "ashift"};
    struct mma_form *form = emu_decode_alloc(decoder, sizeof(*form));
    decoder->insn->extra = form;
    decoder->insn->exec = exec_mma;
    int word = emu_take_one_of(decoder, refused, 3);
    if (word >= 0) {
        return emu_decode_fail(decoder, "tcgen05.mma .%s is not supported", refused[word]);
    }
    /* Hints: what a collector keeps does not change the result. */
    (void)emu_take_prefix(decoder, "collector::a::");
    if (!emu_tensor_take_group(decoder, &form->cta_group) || !decode_kind(decoder, form) ||
        !decode_factors(decoder, form) || !emu_need_operands(decoder, 5, 7) ||
        !emu_operand_address(decoder, emu_operand(decoder, 0), &form->d, &form->d_offset)) {
        return false;
    }
    const struct ptx_operand *a = emu_operand(decoder, 1);
    form->a_in_tensor_memory = a->kind == PTX_ADDRESS;
    if (form->a_in_tensor_memory
            ? !emu_operand_address(decoder, a, &form->a, &form->a_offset)
            : !emu_operand_src(decoder, a, 64, &form->a)) {
        return false;
    }
    return emu_operand_src(decoder, emu_operand(decoder, 2), 64, &form->b) &&
           emu_operand_src(decoder, emu_operand(decoder, 3), 32, &form->instruction) &&
           decode_tail(decoder, form);
}
