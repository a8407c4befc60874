/* SPDX-License-Identifier: MIT */
#include "plan/budget.h"

#include <stdio.h>

#include "base/error.h"

static const char register_field[] = "problem.register_limit";
static const char local_field[] = "problem.no_local_memory";

jit_gemm_status jg_budget_refuse_ptx(const struct jg_budget *budget)
{
    if (budget->registers == 0 && !budget->is_without_local) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED,
                   budget->registers > 0 ? register_field : local_field,
                   "leave it zero here, or build machine code (JIT_GEMM_EMIT_CUBIN)",
                   "what is made is not machine code, so that nobody knows the registers "
                   "and the local memory that it will need");
}

static void add_excess(const char *field, const char *text, const char *hint)
{
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_FIELD, 0, 0, field, text,
                 hint);
}

jit_gemm_status jg_budget_check(const struct jg_budget *budget, const char *entry,
                                uint32_t registers, uint32_t local_bytes)
{
    const bool is_bounded = budget->registers > 0 || budget->is_without_local;
    if (is_bounded && registers == 0) {
        return jg_fail(JIT_GEMM_ERR_BUDGET,
                       budget->registers > 0 ? register_field : local_field,
                       "leave it zero, or use another version of NVRTC",
                       "the compiler did not say what %s needs", entry);
    }
    const bool is_over = budget->registers > 0 && registers > budget->registers;
    const bool is_local = budget->is_without_local && local_bytes > 0;
    if (!is_over && !is_local) {
        return JIT_GEMM_OK;
    }
    char text[192];
    jg_error_begin(JIT_GEMM_ERR_BUDGET);
    if (is_over) {
        snprintf(text, sizeof(text), "%s has %u registers a thread, %u are allowed", entry,
                 registers, budget->registers);
        add_excess(register_field, text,
                   "raise it, choose a smaller tile with problem.config, or shorten the "
                   "epilogue");
    }
    if (is_local) {
        snprintf(text, sizeof(text),
                 "%s has %u bytes of local memory a thread, none are allowed", entry,
                 local_bytes);
        add_excess(local_field, text,
                   "leave it zero, choose a smaller tile with problem.config, or shorten "
                   "the epilogue and index no array of its own with a variable");
    }
    return JIT_GEMM_ERR_BUDGET;
}
