/* SPDX-License-Identifier: MIT */
/* Checks that the tensor-core families share. */
#include "tensor/state.h"

#include "exec/decode.h"

uint32_t *emu_tensor_scratch(struct emu_warp *warp)
{
    struct emu_tensor_cluster *cluster = emu_tensor_cluster_of(warp);
    if (cluster->scratch == NULL) {
        cluster->scratch =
            emu_alloc(2 * EMU_TENSOR_OPERAND_CELLS * sizeof(*cluster->scratch));
    }
    return cluster->scratch;
}

/* ------------------------------------------------------------------------------ checks */

bool emu_tensor_whole_warp(struct emu_warp *warp, const struct emu_insn *insn,
                           uint32_t lanes)
{
    if (lanes == EMU_ALL_LANES) {
        return true;
    }
    emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_DIVERGENCE,
                     "all 32 lanes of the warp must execute this; only lanes %08x do",
                     lanes);
    return false;
}

/* The other CTA of the pair; NULL when there is none. */
static struct emu_cta *peer_of(const struct emu_cta *cta)
{
    return emu_cluster_cta(cta->cluster, cta->rank ^ 1u);
}

unsigned emu_tensor_ctas(struct emu_cta *cta, unsigned cta_group, struct emu_cta *ctas[2])
{
    ctas[0] = cta;
    ctas[1] = NULL;
    if (cta_group == 2) {
        struct emu_cta *peer = peer_of(cta);
        ctas[0] = cta->rank % 2 == 0 ? cta : peer;
        ctas[1] = cta->rank % 2 == 0 ? peer : cta;
    }
    return cta_group;
}

bool emu_tensor_check_group(struct emu_warp *warp, const struct emu_insn *insn,
                            unsigned lane, unsigned cta_group)
{
    struct emu_tensor_cluster *cluster = emu_tensor_cluster_of(warp);
    if (cluster->cta_group == 0) {
        cluster->cta_group = cta_group;
    }
    if (cluster->cta_group != cta_group) {
        emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                         "cta_group::%u in a kernel that has used cta_group::%u: all "
                         "tcgen05 instructions of a kernel must agree",
                         cta_group, cluster->cta_group);
        return false;
    }
    if (cta_group == 2) {
        const struct emu_cta *peer = peer_of(warp->cta);
        if (peer == NULL || peer->exited) {
            emu_report_error(warp, insn, lane, EMU_FINDING_ILLEGAL,
                             "cta_group::2, but the peer CTA (rank %u) %s",
                             warp->cta->rank ^ 1u,
                             peer == NULL ? "is not in the cluster" : "has exited");
            return false;
        }
    }
    return true;
}

bool emu_tensor_check_alive(struct emu_warp *warp, const struct emu_insn *insn,
                            const struct emu_cta *cta)
{
    if (!cta->exited) {
        return true;
    }
    emu_report_error(warp, insn, EMU_LANES, EMU_FINDING_IN_FLIGHT,
                     "CTA %u has exited while this operation on it was in flight",
                     cta->rank);
    return false;
}

uint32_t emu_tensor_agent(struct emu_warp *warp, uint32_t *agent)
{
    if (*agent == EMU_NO_AGENT) {
        *agent = emu_cluster_agent(warp->cta->cluster);
    }
    return *agent;
}

bool emu_tensor_operand(struct emu_warp *warp, const struct emu_insn *insn, unsigned lane,
                        uint32_t slot, const char *operand_name, uint64_t *ret_value)
{
    *ret_value = warp->r[slot][lane];
    return emu_need_defined(warp, insn, 1u << lane, slot, operand_name);
}

bool emu_tensor_take_group(struct emu_decoder *decoder, unsigned *ret_group)
{
    static const char *const words[] = {"cta_group::1", "cta_group::2"};
    int group = emu_take_one_of(decoder, words, 2);
    if (group < 0) {
        return emu_decode_fail(decoder, "it has no cta_group");
    }
    *ret_group = (unsigned)group + 1;
    return true;
}
