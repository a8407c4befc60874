/* SPDX-License-Identifier: MIT */
/*
 * A kernel and an epilogue in LTO-IR, joined by nvJitLink. The linker takes a function of
 * another signature without a word, and calls it with what lies in the registers; so a
 * probe goes first: a kernel that only takes the function's address, linked to PTX, where
 * the function's parameters can be read.
 */
#ifndef JG_COMPILE_LINK_EPILOGUE_H
#define JG_COMPILE_LINK_EPILOGUE_H

#include "compile/compiler.h"
#include "cuda/nvjitlink.h"

/* Appends the source of the probe. */
void jg_link_probe_text(const struct jg_epilogue *epilogue, struct jg_str *out);
/* Links the probe and looks at the function. ARGUMENT (damaged code, no such symbol,
 * another signature), UNSUPPORTED (for another chip), COMPILE, INTERNAL, NO_MEMORY. */
jit_gemm_status jg_link_check_function(const struct jg_compile_request *request,
                                       const struct jg_str *probe_ltoir);
/* Links the kernel to code of the request's kind. COMPILE with the linker's log,
 * UNSUPPORTED (a cubin of a family of chips), INTERNAL, NO_MEMORY. */
jit_gemm_status jg_link_kernel(const struct jg_compile_request *request,
                               const struct jg_str *kernel_ltoir,
                               struct jg_nvjitlink_output *ret_output);

#endif
