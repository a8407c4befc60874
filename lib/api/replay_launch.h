/* SPDX-License-Identifier: MIT */
/* A launch of a capsule, made once more over memory of its own. */
#ifndef JG_API_REPLAY_LAUNCH_H
#define JG_API_REPLAY_LAUNCH_H

#include <stdbool.h>

#include "base/str.h"
#include "runtime/module.h"

/*
 * Launches the kernel with the arguments of a capsule's launch.txt and waits for it. All
 * that had an address gets memory of its own, aligned as that was and filled with zeros;
 * groups share rows and K evenly, and indices name rows in order.
 *
 * *ret_is_launched: the launch was tried, and the status is what came of it: LAUNCH if it
 * was refused or the kernel failed. Without it: ARGUMENT, UNSUPPORTED (the text is
 * of another kernel), DEVICE (there is not enough memory), NO_MEMORY.
 */
jit_gemm_status jg_replay_launch(const struct jg_kernel *kernel, const struct jg_str *text,
                                 bool *ret_is_launched);

#endif
