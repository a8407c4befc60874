/* SPDX-License-Identifier: MIT */
/*
 * What instructions cost a warp, by families of opcodes. PTX is not machine code: moves and
 * conversions of addresses vanish in it, 64-bit integers take two instructions, a division
 * takes dozens. Each family stands for what the assembler usually makes of it.
 */
#include <string.h>

#include "exec/decode.h"
#include "exec/timing.h"

static bool is_word(const struct ptx_insn *insn, unsigned index, const char *word)
{
    return index < insn->word_count && strcmp(insn->words[index], word) == 0;
}

static bool has_word(const struct ptx_insn *insn, const char *word)
{
    for (unsigned i = 0; i < insn->word_count; i++) {
        if (strcmp(insn->words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_wide(const struct ptx_insn *insn)
{
    return has_word(insn, "s64") || has_word(insn, "u64") || has_word(insn, "b64") ||
           has_word(insn, "f64");
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) {
            return true;
        }
    }
    return false;
}

/* Others learn by it what the CTA's threads stored to other CTAs' memory, or it may read
 * that. */
static bool tells_of_stores(const struct ptx_insn *insn)
{
    const bool wide = has_word(insn, "cluster") || has_word(insn, "gpu") ||
                      has_word(insn, "sys") || is_word(insn, 0, "membar");
    const bool releases = has_word(insn, "release") || has_word(insn, "acq_rel");
    if (is_word(insn, 0, "fence") || is_word(insn, 0, "membar")) {
        return wide && !has_word(insn, "mbarrier_init");
    }
    if (is_word(insn, 0, "barrier") || is_word(insn, 0, "mbarrier")) {
        return wide && !has_word(insn, "relaxed") &&
               (is_word(insn, 1, "arrive") || is_word(insn, 2, "arrive"));
    }
    const bool reads = is_word(insn, 0, "ld") || is_word(insn, 0, "atom");
    const bool elsewhere = has_word(insn, "global") || has_word(insn, "shared") ||
                           has_word(insn, "shared::cta") || has_word(insn, "param") ||
                           has_word(insn, "const") || has_word(insn, "local");
    return releases || (reads && !elsewhere);
}

/* ---------------------------------------------------------------------------- families */

static void cost_memory(const struct ptx_insn *insn, struct emu_time_insn *info)
{
    const bool load = is_word(insn, 0, "ld") || is_word(insn, 0, "ldu");
    info->kind = load                       ? EMU_TIME_LOAD
                 : is_word(insn, 0, "atom") ? EMU_TIME_ATOMIC
                                            : EMU_TIME_STORE;
    info->meets = true;
    info->stall = EMU_STALL_GRID;
    if (has_word(insn, "param") || has_word(insn, "const")) {
        info->kind = EMU_TIME_PLAIN; /* operands of other instructions in machine code */
        info->meets = false;
        info->issue = 0;
        info->latency = 0;
    }
}

/* Of `opcode.x4` */
static unsigned count_matrices(const struct ptx_insn *insn)
{
    return has_word(insn, "x4") ? 4 : has_word(insn, "x2") ? 2 : 1;
}

static void cost_mbarrier(const struct ptx_insn *insn, const struct emu_chip *chip,
                          struct emu_time_insn *info)
{
    info->meets = true;
    info->stall = EMU_STALL_MBARRIER;
    info->latency = (uint16_t)chip->arrive_latency;
    if (has_word(insn, "release") && has_word(insn, "cluster")) {
        info->fence = (uint16_t)chip->gpu_fence_latency;
    }
    info->is_try_wait = is_word(insn, 1, "try_wait");
    info->is_peek = is_word(insn, 1, "test_wait");
    if (info->is_try_wait || info->is_peek) {
        info->latency = (uint16_t)chip->ask_latency;
    }
}

static void cost_barrier(const struct ptx_insn *insn, const struct emu_chip *chip,
                         struct emu_time_insn *info)
{
    const bool cluster = is_word(insn, 1, "cluster");
    info->meets = true;
    info->latency = (uint16_t)chip->alu_latency;
    info->stall = cluster ? EMU_STALL_CLUSTER_BARRIER : EMU_STALL_BARRIER;
    info->wake =
        (uint16_t)(cluster ? chip->cluster_barrier_latency : chip->barrier_latency);
    if (is_word(insn, 1, "warp")) {
        info->wake = 0;
    }
    if (cluster && is_word(insn, 2, "arrive") && !has_word(insn, "relaxed")) {
        info->fence = (uint16_t)chip->gpu_fence_latency;
    }
}

static void cost_fence(const struct ptx_insn *insn, const struct emu_chip *chip,
                       struct emu_time_insn *info)
{
    const bool wide =
        is_word(insn, 0, "membar") || ((has_word(insn, "gpu") || has_word(insn, "sys")) &&
                                       !has_word(insn, "mbarrier_init"));
    info->meets = true;
    info->stall = EMU_STALL_FENCE;
    info->hold = (uint16_t)(wide ? chip->gpu_fence_latency : chip->fence_latency);
}

static void cost_tensor(const struct ptx_insn *insn, struct emu_time_insn *info)
{
    info->meets = true;
    info->stall = EMU_STALL_PRODUCT;
    if (is_word(insn, 0, "tcgen05")) {
        info->stall = EMU_STALL_TENSOR_LOAD;
        if (is_word(insn, 1, "fence")) {
            info->meets = false;
            info->issue = 0;
        }
    }
}

static void cost_integer(const struct ptx_insn *insn, const struct emu_chip *chip,
                         struct emu_time_insn *info)
{
    const bool wide = is_wide(insn);
    const bool divides = is_word(insn, 0, "div") || is_word(insn, 0, "rem");
    if (divides && !has_word(insn, "f32")) {
        info->issue = wide ? 90 : 24;
        info->latency = wide ? 240 : 70;
    } else if (divides) {
        info->issue = 8;
        info->latency = 40;
    } else if (has_word(insn, "wide") || wide) {
        info->issue = 2;
        info->latency = (uint16_t)(chip->alu_latency + 2);
    }
}

static void cost_arithmetic(const struct ptx_insn *insn, const struct emu_chip *chip,
                            struct emu_time_insn *info)
{
    static const char *const free_ones[] = {"mov", "cvta", "pragma", NULL};
    static const char *const slow[] = {"ex2",  "lg2", "rcp", "rsqrt", "sqrt",
                                       "tanh", "sin", "cos", NULL};
    static const char *const collective[] = {"shfl", "match", "redux", "activemask", NULL};
    static const char *const jumps[] = {"bra", "brx", "call", "ret", "exit", NULL};
    const char *word = insn->words[0];
    if (is_one_of(word, free_ones)) {
        const bool special =
            insn->operand_count > 1 && insn->operands[1].kind == PTX_SPECIAL;
        info->issue = special ? 1 : 0;
        info->latency = (uint16_t)(special ? chip->special_latency : 0);
    } else if (is_one_of(word, slow)) {
        info->issue = (uint16_t)chip->mufu_interval;
        info->latency = (uint16_t)chip->mufu_latency;
    } else if (strcmp(word, "cvt") == 0) {
        /* Between integers they are a part of the next instruction, or one shift. */
        const bool moves = insn->word_count == 3 && !has_word(insn, "f32") &&
                           !has_word(insn, "f16") && !has_word(insn, "bf16");
        info->issue = moves ? 0 : (uint16_t)chip->cvt_interval;
        info->latency = moves ? 0 : (uint16_t)(chip->alu_latency + 2);
    } else if (is_one_of(word, collective)) {
        info->latency = (uint16_t)chip->shuffle_latency;
    } else if (strcmp(word, "elect") == 0 || strcmp(word, "vote") == 0) {
        info->latency = (uint16_t)(chip->shuffle_latency / 2);
    } else if (is_one_of(word, jumps)) {
        info->hold = (uint16_t)chip->branch_latency;
    } else {
        cost_integer(insn, chip, info);
    }
}

static void find_cost(const struct ptx_insn *insn, const struct emu_chip *chip,
                      struct emu_time_insn *info)
{
    static const char *const memory[] = {"ld", "ldu", "st", "atom", "red", NULL};
    const char *word = insn->words[0];
    *info = (struct emu_time_insn){
        .issue = 1, .latency = (uint16_t)chip->alu_latency, .stall = EMU_STALL_OTHER};
    const bool async = has_word(insn, "async");
    if (strcmp(word, "mbarrier") == 0 || (async && is_word(insn, 2, "mbarrier"))) {
        cost_mbarrier(insn, chip, info);
    } else if (is_word(insn, 0, "wgmma") || is_word(insn, 0, "tcgen05")) {
        cost_tensor(insn, info);
    } else if (async || is_word(insn, 0, "clusterlaunchcontrol")) {
        info->meets = true;
        info->stall = EMU_STALL_COPY;
    } else if (is_one_of(word, memory)) {
        cost_memory(insn, info);
    } else if (strcmp(word, "ldmatrix") == 0 || strcmp(word, "stmatrix") == 0) {
        info->kind = EMU_TIME_MATRIX;
        info->issue = (uint16_t)count_matrices(insn);
        info->meets = true;
    } else if (strcmp(word, "bar") == 0 || strcmp(word, "barrier") == 0) {
        cost_barrier(insn, chip, info);
    } else if (strcmp(word, "fence") == 0 || strcmp(word, "membar") == 0) {
        cost_fence(insn, chip, info);
    } else if (strcmp(word, "griddepcontrol") == 0) {
        info->meets = true;
        info->stall = EMU_STALL_GRID;
    } else if (strcmp(word, "setmaxnreg") == 0 || strcmp(word, "nanosleep") == 0) {
        info->meets = true;
        info->hold = strcmp(word, "nanosleep") == 0 ? 200 : 8;
    } else if (strcmp(word, "mma") == 0) {
        info->issue = 16;
        info->latency = 33;
    } else {
        cost_arithmetic(insn, chip, info);
        info->meets = strcmp(word, "exit") == 0 || strcmp(word, "ret") == 0;
    }
}

/* --------------------------------------------------------------------------- registers */

static void add_registers(const struct ptx_operand *operand, struct emu_arena *arena,
                          struct emu_time_insn *info, uint32_t *list)
{
    for (unsigned i = 0; i < operand->count; i++) {
        add_registers(&operand->elements[i], arena, info, list);
    }
    if (operand->kind == PTX_REGISTER) {
        if (list != NULL) {
            list[info->count] = operand->index;
        }
        info->count++;
    }
}

/* wgmma and tcgen05.ld keep watch over their registers themselves. */
static bool is_watched_elsewhere(const struct ptx_insn *insn)
{
    return is_word(insn, 0, "wgmma") ||
           (is_word(insn, 0, "tcgen05") && is_word(insn, 1, "ld"));
}

static void list_registers(const struct emu_program *program, const struct ptx_insn *insn,
                           struct emu_arena *arena, struct emu_time_insn *info,
                           uint32_t *list)
{
    const unsigned first = emu_insn_has_result(insn) ? 1 : 0;
    const uint32_t registers = program->function->register_count;
    info->count = 0;
    if (insn->guard != PTX_NO_GUARD) {
        if (list != NULL) {
            list[info->count] = insn->guard;
        }
        info->count++;
    }
    for (unsigned i = is_watched_elsewhere(insn) ? 1 : first; i < insn->operand_count;
         i++) {
        add_registers(&insn->operands[i], arena, info, list);
    }
    info->sources = info->count;
    if (first == 1 && !is_watched_elsewhere(insn)) {
        add_registers(&insn->operands[0], arena, info, list);
    }
    info->results = info->count - info->sources;
    for (uint32_t i = 0; list != NULL && i < info->count; i++) {
        list[i] = list[i] < registers ? list[i] : 0;
    }
}

/* Does a branch look at the answer at once, as a loop around a wait does? Who keeps it for
 * later has something else to do meanwhile. */
static bool is_asked_again(const struct emu_program *program, uint32_t index)
{
    const struct ptx_insn *next =
        index + 1 < program->insn_count ? program->insns[index + 1].source : NULL;
    return next != NULL && next->guard != PTX_NO_GUARD &&
           strcmp(next->words[0], "bra") == 0;
}

/* A clock, say: what it tells depends on when. */
static bool reads_special(const struct ptx_insn *insn)
{
    for (unsigned i = 0; i < insn->operand_count; i++) {
        if (insn->operands[i].kind == PTX_SPECIAL) {
            return true;
        }
    }
    return false;
}

struct emu_time_insn *emu_time_insns(const struct emu_program *program,
                                     const struct emu_chip *chip, struct emu_arena *arena)
{
    struct emu_time_insn *infos =
        emu_arena_alloc(arena, (program->insn_count + 1) * sizeof(*infos));
    for (uint32_t i = 0; i < program->insn_count; i++) {
        const struct ptx_insn *source = program->insns[i].source;
        find_cost(source, chip, &infos[i]);
        if (infos[i].is_try_wait && !is_asked_again(program, i)) {
            infos[i].is_peek = true; /* it is over before the next phase, mostly */
            infos[i].is_try_wait = false;
        }
        infos[i].tells = infos[i].meets && tells_of_stores(source);
        infos[i].moves = infos[i].kind == EMU_TIME_PLAIN && !infos[i].meets &&
                         infos[i].hold == 0 && !reads_special(source);
        list_registers(program, source, arena, &infos[i], NULL);
        infos[i].registers =
            emu_arena_alloc(arena, (infos[i].count + 1) * sizeof(*infos[i].registers));
        list_registers(program, source, arena, &infos[i], infos[i].registers);
    }
    return infos;
}
