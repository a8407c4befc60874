/* SPDX-License-Identifier: MIT */
/* How knowledge moves between warps. */
#ifndef EMU_EXEC_FAMILIES_H
#define EMU_EXEC_FAMILIES_H

#include "exec/machine.h"

struct emu_published; /* exec/strong.h */

/* Knowledge, no-ops when races are not checked. */
void emu_know_release(struct emu_warp *warp, struct emu_view *published);
void emu_know_acquire(struct emu_warp *warp, const struct emu_view *published);
/* What the last release fence of at least that scope published; NULL: there was none. */
struct emu_published *emu_know_fenced(const struct emu_warp *warp, enum emu_scope scope);
/* What a relaxed read has seen, for the next acquire fence of at least that scope. */
void emu_know_acquire_relaxed(struct emu_warp *warp, enum emu_scope scope,
                              const struct emu_view *published);
void emu_know_proxy_fence(struct emu_warp *warp);
void emu_know_tensor_before(struct emu_warp *warp);
void emu_know_tensor_after(struct emu_warp *warp);
/* The lanes of the warp met (bar.warp.sync, any .aligned): later accesses are ordered. */
void emu_know_warp_meeting(struct emu_warp *warp);

#endif
