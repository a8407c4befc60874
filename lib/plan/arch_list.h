/* SPDX-License-Identifier: MIT */
/* The chips that this version has kernels for; one file each. */
#ifndef JG_PLAN_ARCH_LIST_H
#define JG_PLAN_ARCH_LIST_H

#include "plan/arch.h"

extern const struct jg_arch jg_arch_sm90a;
extern const struct jg_arch jg_arch_sm100a;
extern const struct jg_arch jg_arch_sm103a;
extern const struct jg_arch jg_arch_sm100f;

#endif
