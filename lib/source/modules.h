/* SPDX-License-Identifier: MIT */
/*
 * Which device modules a unit includes beside its kernel: what few kernels have. The kernel
 * only names them, so that a unit without one pays nothing for it when it is compiled.
 * Pure.
 */
#ifndef JG_SOURCE_MODULES_H
#define JG_SOURCE_MODULES_H

#include "base/str.h"
#include "plan/choose.h"

/* Appends the include lines of a kernel, or of the reference. They come before the kernel's
 * own: jg/epilogue/user_epilogue.cuh asks for what they define. */
void jg_print_modules(const struct jg_arch *arch, const struct jg_problem *problem,
                      const struct jg_choice *choice, struct jg_str *out);
/* The same of a snippet in its function, without a kernel. */
void jg_print_snippet_modules(const struct jg_epilogue *epilogue, struct jg_str *out);

#endif
