/* SPDX-License-Identifier: MIT */
/* Scales of A, B and D that a launch gives: of tensors, vectors and blocks, of which the
 * tensor core multiplies by some, and D's are computed. */
#ifndef JG_RUNTIME_SCALE_ARGUMENTS_H
#define JG_RUNTIME_SCALE_ARGUMENTS_H

#include "runtime/argument_row.h"

/* Checks them and fills their parameters and keys of maps. The sizes of the launch and the
 * indices of rows are resolved. ARGUMENT, UNSUPPORTED. */
jit_gemm_status jg_scale_arguments_resolve(const struct jg_launch_arguments *launch);

/* ARGUMENT, if what one of them has reserved is not zero. */
jit_gemm_status jg_scale_arguments_check_reserved(const jit_gemm_args *args);

#endif
