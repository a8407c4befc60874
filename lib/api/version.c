/* SPDX-License-Identifier: MIT */
/* Versions, statuses, the last error and diagnostics: public names over lib/base. */
#include <stddef.h>
#include <string.h>

#include "api/context.h"
#include "base/error.h"
#include "base/struct.h"
#include "compile/key.h"
#include "jit_gemm/groups.h"
#include "plan/operand_text.h"
#include "plan/typical_sizes.h"

const char *jit_gemm_version_string(void)
{
    return JG_LIBRARY_VERSION;
}

int jit_gemm_version(void)
{
    return JIT_GEMM_VERSION;
}

const char *jit_gemm_status_name(jit_gemm_status status)
{
    return jg_status_name(status);
}

const char *jit_gemm_status_text(jit_gemm_status status)
{
    return jg_status_text(status);
}

const char *jit_gemm_origin_name(jit_gemm_origin origin)
{
    switch (origin) {
    case JIT_GEMM_ORIGIN_COMPILED:
        return "compiled";
    case JIT_GEMM_ORIGIN_DISK:
        return "disk";
    case JIT_GEMM_ORIGIN_MEMORY:
        return "memory";
    case JIT_GEMM_ORIGIN_BUNDLE:
        return "bundle";
    }
    return "unknown";
}

const char *jit_gemm_last_error(void)
{
    return jg_error_text();
}

jit_gemm_status jit_gemm_diagnostics_take(jit_gemm_diagnostics **ret_diagnostics)
{
    JG_TRY(jg_check_pointer(ret_diagnostics, "ret_diagnostics"));
    return jg_diagnostics_take(ret_diagnostics);
}

size_t jit_gemm_diagnostics_count(const jit_gemm_diagnostics *diagnostics)
{
    return jg_diagnostics_count(diagnostics);
}

jit_gemm_status jit_gemm_diagnostics_get(const jit_gemm_diagnostics *diagnostics,
                                         size_t index, jit_gemm_diagnostic *ret_diagnostic)
{
    JG_TRY(jg_check_pointer(diagnostics, "diagnostics"));
    const jit_gemm_diagnostic *item = jg_diagnostics_at(diagnostics, index);
    if (item == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "index",
                       "count from 0 to one less than jit_gemm_diagnostics_count",
                       "there is no diagnostic %zu, only %zu of them", index,
                       jg_diagnostics_count(diagnostics));
    }
    return jg_struct_export(item, sizeof(*item), ret_diagnostic, "ret_diagnostic");
}

const char *jit_gemm_diagnostics_log(const jit_gemm_diagnostics *diagnostics)
{
    return jg_diagnostics_log(diagnostics);
}

void jit_gemm_diagnostics_destroy(jit_gemm_diagnostics **diagnostics)
{
    jg_diagnostics_destroy(diagnostics);
}

jit_gemm_status jit_gemm_problem_parse_sized(const char *text, size_t struct_size,
                                             jit_gemm_problem *ret_problem)
{
    jit_gemm_problem problem;
    JG_TRY(jg_check_pointer(text, "text"));
    JG_TRY(jg_check_pointer(ret_problem, "ret_problem"));
    JG_TRY(jg_problem_parse(text, &problem));
    return jg_struct_fill(&problem, sizeof(problem), struct_size, ret_problem,
                          "ret_problem");
}

/* For those who load it by its name; it keeps to this size when the struct grows. */
jit_gemm_status(jit_gemm_problem_parse)(const char *text, jit_gemm_problem *ret_problem)
{
    enum {
        SIZE_OF_0_1 =
            offsetof(jit_gemm_problem, typical_sizes) + sizeof(ret_problem->typical_sizes)
    };
    return jit_gemm_problem_parse_sized(text, SIZE_OF_0_1, ret_problem);
}

jit_gemm_status jit_gemm_operand_parse(const char *text, char *ret_name,
                                       jit_gemm_operand *ret_operand)
{
    JG_TRY(jg_check_pointer(text, "text"));
    JG_TRY(jg_check_pointer(ret_name, "ret_name"));
    JG_TRY(jg_check_pointer(ret_operand, "ret_operand"));
    return jg_operand_parse(text, strlen(text), ':', ret_name, ret_operand);
}

jit_gemm_status jit_gemm_problem_print(const jit_gemm_problem *problem, char *buffer,
                                       size_t size, size_t *ret_length)
{
    if (size > 0) {
        JG_TRY(jg_check_pointer(buffer, "buffer"));
    }
    struct jg_str text = {0};
    const jit_gemm_status status = jg_problem_print(problem, &text);
    return jg_str_deliver(&text, status, buffer, size, ret_length);
}

jit_gemm_status jit_gemm_problem_set_typical_sizes(jit_gemm_problem *problem,
                                                   const int32_t *sizes, uint32_t count)
{
    JG_TRY(jg_check_pointer(problem, "problem"));
    if (count > 0) {
        JG_TRY(jg_check_pointer(sizes, "sizes"));
    }
    return jg_typical_sizes_set(problem, sizes, count);
}
