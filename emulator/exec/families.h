/* SPDX-License-Identifier: MIT */
/* What async/ and tensor/ hang into the machine, and when they are asked. */
#ifndef EMU_EXEC_FAMILIES_H
#define EMU_EXEC_FAMILIES_H

#include "exec/machine.h"

struct emu_published; /* exec/strong.h */

/* Called in this order for each cluster: cluster, its CTAs, their warps; free in reverse.
 * All accept that the state was never made. */
void emu_async_attach_cluster(struct emu_cluster *cluster);
void emu_async_attach_cta(struct emu_cta *cta);
void emu_async_attach_warp(struct emu_warp *warp);
void emu_async_detach_cluster(struct emu_cluster *cluster);
void emu_async_detach_cta(struct emu_cta *cta);
void emu_async_detach_warp(struct emu_warp *warp);
void emu_tensor_attach_cluster(struct emu_cluster *cluster);
void emu_tensor_attach_cta(struct emu_cta *cta);
void emu_tensor_attach_warp(struct emu_warp *warp);
void emu_tensor_detach_cluster(struct emu_cluster *cluster);
void emu_tensor_detach_cta(struct emu_cta *cta);
void emu_tensor_detach_warp(struct emu_warp *warp);

/* Lanes have left: barriers may complete. `warp_done`: the whole warp has ended. */
void emu_async_lanes_exited(struct emu_warp *warp, uint32_t lanes, bool warp_done);
/* The CTA's last warp ended: leaks and work in flight are reported. False: an error was. */
bool emu_async_cta_exited(struct emu_cta *cta);
bool emu_tensor_cta_exited(struct emu_cta *cta);

/* The lines of a deadlock report for a warp that is blocked or spinning at insn: which
 * barrier, its state, its last events. */
void emu_async_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                             struct emu_text *text);
void emu_tensor_describe_wait(struct emu_warp *warp, const struct emu_insn *insn,
                              struct emu_text *text);

/* What async/ offers to tensor/ and exec/: */

/* Arrive (count 1) at an mbarrier on behalf of an asynchronous operation. `offset` is in
 * cta's shared memory. Publishes `knowledge`. False: reported. */
bool emu_mbarrier_async_arrive(struct emu_warp *issuer, const struct emu_insn *insn,
                               struct emu_cta *cta, uint32_t offset,
                               const struct emu_knowledge *knowledge);
/* complete_tx of `bytes`. Returns (in ret_entity, ret_epoch) what stamps the data that came
 * with it: call emu_mbarrier_stamp before writing, then this after. */
bool emu_mbarrier_complete_tx(struct emu_warp *issuer, const struct emu_insn *insn,
                              struct emu_cta *cta, uint32_t offset, uint32_t bytes);
/* The entity and epoch that an observer of the barrier's current phase will know. */
bool emu_mbarrier_stamp(struct emu_warp *issuer, const struct emu_insn *insn,
                        struct emu_cta *cta, uint32_t offset, uint32_t *ret_entity,
                        uint32_t *ret_epoch);

/* What tensor/ offers to exec/: an instruction that reads a register of a tcgen05.ld waits
 * for it, without tcgen05.wait::ld. Asked while warp->loads_in_flight is not 0. EMU_NEXT:
 * it can be executed; EMU_BLOCKED; EMU_FAILED. */
enum emu_step emu_tensor_await_registers(struct emu_warp *warp,
                                         const struct emu_insn *insn);

/* Knowledge, no-ops when races are not checked. */
void emu_know_release(struct emu_warp *warp, struct emu_knowledge *published);
void emu_know_acquire(struct emu_warp *warp, const struct emu_knowledge *published);
/* What the last release fence of at least that scope published; NULL: there was none. */
struct emu_published *emu_know_fenced(const struct emu_warp *warp, enum emu_scope scope);
/* What a relaxed read has seen, for the next acquire fence of at least that scope. */
void emu_know_acquire_relaxed(struct emu_warp *warp, enum emu_scope scope,
                              const struct emu_knowledge *published);
void emu_know_proxy_fence(struct emu_warp *warp);
void emu_know_tensor_before(struct emu_warp *warp);
void emu_know_tensor_after(struct emu_warp *warp);
/* The lanes of the warp met (bar.warp.sync, any .aligned): later accesses are ordered. */
void emu_know_warp_meeting(struct emu_warp *warp);

#endif
