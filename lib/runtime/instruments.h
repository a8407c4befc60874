/* SPDX-License-Identifier: MIT */
/* The host's side of jg/debug: slots in which warps of a debug build say where they are,
 * and the buffer of a trace. Both are given to a loaded kernel through variables of its
 * code. */
#ifndef JG_RUNTIME_INSTRUMENTS_H
#define JG_RUNTIME_INSTRUMENTS_H

#include "runtime/module.h"

/* For a kernel with debug=1: pinned memory that outlives a trap, and its address in the
 * kernel. The context of the device is current. LOAD, NO_MEMORY. */
jit_gemm_status jg_debug_slots_create(struct jg_kernel *kernel);
void jg_debug_slots_destroy(struct jg_kernel *kernel);
/* A line for each warp that gave up, then for those that were at work; nothing if nobody
 * gave up. */
void jg_debug_report_print(const struct jg_kernel *kernel, struct jg_str *out);

/* DEVICE, LOAD. */
jit_gemm_status jg_trace_attach(const struct jg_kernel *kernel, uint64_t address,
                                uint32_t ctas, uint32_t events);

#endif
