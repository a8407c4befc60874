/* SPDX-License-Identifier: MIT */
/* What a caller allows a kernel to need. No machine code depends on it: a finished kernel
 * is compared with it, wherever it came from. */
#ifndef JG_PLAN_BUDGET_H
#define JG_PLAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Most registers that the machine has for a thread. */
#define JG_MAX_THREAD_REGISTERS 255

struct jg_budget {
    uint32_t registers;    /* most of a thread, at launch; 0: any number */
    bool is_without_local; /* no local memory, so no spills either */
};

/* UNSUPPORTED if there is a budget: of PTX nobody knows what the machine code will need. */
jit_gemm_status jg_budget_refuse_ptx(const struct jg_budget *budget);

/* Compares a kernel of machine code; `registers` of 0 says that they are not known. BUDGET,
 * with a diagnostic for each field that is exceeded. */
jit_gemm_status jg_budget_check(const struct jg_budget *budget, const char *entry,
                                uint32_t registers, uint32_t local_bytes);

#endif
