/* SPDX-License-Identifier: MIT */
/* The launch: step 12. One driver call, two where A or B is copied first; no allocation,
 * lock, file or environment. */
#ifndef JG_RUNTIME_LAUNCH_H
#define JG_RUNTIME_LAUNCH_H

#include "jit_gemm/launch.h"
#include "runtime/tensor_map.h"

/*
 * Checks the arguments, fills the parameters on the stack and launches. An empty problem
 * (M, N or batch 0) is OK without a launch. `args` has the library's own size. If the
 * thread has no current context, the launch is refused by the driver; then the primary
 * context becomes current and the launch is tried once more.
 * ARGUMENT, UNSUPPORTED, LAUNCH.
 */
jit_gemm_status jg_launch(const struct jg_kernel *kernel, struct jg_map_slots *slots,
                          const jit_gemm_args *args, void *stream);

/*
 * Launches so many CTAs of a kernel with its one parameter, which is read during the call
 * only. One driver call, as above. LAUNCH.
 */
jit_gemm_status jg_launch_params(const struct jg_kernel *kernel, unsigned int grid_ctas,
                                 void *params, void *stream);

#endif
