/* SPDX-License-Identifier: MIT */
/* The unit of this folder: its instructions, the life of its state, and what is checked
 * when a CTA exits. */
#include "tensor/unit.h"

#include "tensor/access.h"
#include "tensor/engine.h"
#include "tensor/mma.h"
#include "tensor/opcodes.h"
#include "tensor/tmem.h"
#include "tensor/wgmma.h"

static const struct emu_opcode tensor_opcodes[] = {
    {"mma.sync", emu_decode_mma_sync},
    {"wgmma.mma_async", emu_decode_wgmma},
    {"wgmma.fence", emu_decode_wgmma_fence},
    {"wgmma.commit_group", emu_decode_wgmma_commit},
    {"wgmma.wait_group", emu_decode_wgmma_wait},
    {"tcgen05.alloc", emu_decode_tmem_alloc},
    {"tcgen05.dealloc", emu_decode_tmem_dealloc},
    {"tcgen05.relinquish_alloc_permit", emu_decode_tmem_relinquish},
    {"tcgen05.mma", emu_decode_tensor_mma},
    {"tcgen05.cp", emu_decode_tcgen05_cp},
    {"tcgen05.shift", emu_decode_tensor_shift},
    {"tcgen05.commit", emu_decode_tensor_commit},
    {"tcgen05.ld", emu_decode_tensor_load},
    {"tcgen05.st", emu_decode_tensor_store},
    {"tcgen05.wait::ld", emu_decode_tensor_wait_load},
    {"tcgen05.wait::st", emu_decode_tensor_wait_store},
    {"tcgen05.fence::before_thread_sync", emu_decode_tensor_fence_before},
    {"tcgen05.fence::after_thread_sync", emu_decode_tensor_fence_after},
    {0},
};

static const struct emu_opcode *const opcodes[] = {tensor_opcodes, NULL};

/* -------------------------------------------------------------------------------- life */

static void attach_cluster(struct emu_cluster *cluster)
{
    cluster->tensor_state = emu_alloc(sizeof(struct emu_tensor_cluster));
}

static void attach_cta(struct emu_cta *cta)
{
    cta->tensor_state = emu_alloc(sizeof(struct emu_tensor_cta));
}

static void attach_warp(struct emu_warp *warp)
{
    struct emu_tensor_warp *state = emu_alloc(sizeof(*state));
    state->load_agent = state->store_agent = EMU_NO_AGENT;
    warp->tensor_state = state;
}

static void detach_warp(struct emu_warp *warp)
{
    struct emu_tensor_warp *state = warp->tensor_state;
    if (state != NULL) {
        emu_access_free_all(state);
        emu_free(state->group_ends);
        emu_free(state);
        warp->tensor_state = NULL;
    }
}

static void detach_cta(struct emu_cta *cta)
{
    struct emu_tensor_cta *state = cta->tensor_state;
    if (state != NULL) {
        emu_tmem_free(state->tmem);
        emu_wgmma_free(cta);
        emu_free(state);
        cta->tensor_state = NULL;
    }
}

static void detach_cluster(struct emu_cluster *cluster)
{
    if (cluster->tensor_state != NULL) {
        emu_tensor_engine_free(cluster->tensor_state);
        emu_free(cluster->tensor_state);
        cluster->tensor_state = NULL;
    }
}

static bool cta_exited(struct emu_cta *cta)
{
    const struct emu_tensor_cta *state = cta->tensor_state;
    if (state == NULL || state->tmem == NULL) {
        return true;
    }
    uint32_t columns = emu_tmem_count_taken(state->tmem);
    if (columns == 0) {
        return true;
    }
    const struct emu_program *program = emu_launch_of(cta)->program;
    emu_report_error(&cta->warps[0], &program->insns[program->insn_count - 1], EMU_LANES,
                     EMU_FINDING_TENSOR_MEMORY,
                     "the CTA has ended with %u columns of tensor memory allocated; each "
                     "tcgen05.alloc needs its tcgen05.dealloc",
                     columns);
    return false;
}

static void describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                          struct emu_text *text)
{
    if (insn == NULL || warp->tensor_state == NULL) {
        return;
    }
    emu_wgmma_describe_wait(warp, insn, text);
    emu_tmem_describe_wait(warp, insn, text);
}

const struct emu_unit emu_tensor_unit = {
    .opcodes = opcodes,
    .attach_cluster = attach_cluster,
    .attach_cta = attach_cta,
    .attach_warp = attach_warp,
    .detach_cluster = detach_cluster,
    .detach_cta = detach_cta,
    .detach_warp = detach_warp,
    .cta_exited = cta_exited,
    .describe_wait = describe_wait,
    .await_registers = emu_access_await_registers,
};
