/* SPDX-License-Identifier: MIT */
/* The list of operands that a launch gives, before any of them is looked at. */
#ifndef JG_RUNTIME_OPERAND_LIST_H
#define JG_RUNTIME_OPERAND_LIST_H

#include "base/status.h"
#include "jit_gemm/launch.h"
#include "runtime/module.h"

/* ARGUMENT, unless it has an entry for each operand that the kernel's epilogue declares. */
jit_gemm_status jg_operand_list_check(const struct jg_kernel *kernel,
                                      const jit_gemm_args *args);

#endif
