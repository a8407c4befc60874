/* SPDX-License-Identifier: MIT */
/* Prints sizes and offsets of the structs that c_abi.py has once more. */
#include <stddef.h>
#include <stdio.h>

#include "jit_gemm/jit_gemm.h"

struct line {
    const char *name;
    size_t value;
};

#define STRUCT(type)        \
    {                       \
#        type, sizeof(type) \
    }
#define FIELD(type, field)                              \
    {                                                   \
#        type "." #        field, offsetof(type, field) \
    }

static const struct line k_lines[] = {
    STRUCT(jit_gemm_operand),
    FIELD(jit_gemm_operand, name),
    FIELD(jit_gemm_operand, kind),
    FIELD(jit_gemm_operand, dtype),
    FIELD(jit_gemm_operand, role),
    FIELD(jit_gemm_operand, reserved),
    STRUCT(jit_gemm_epilogue),
    FIELD(jit_gemm_epilogue, struct_size),
    FIELD(jit_gemm_epilogue, name),
    FIELD(jit_gemm_epilogue, source),
    FIELD(jit_gemm_epilogue, source_size),
    FIELD(jit_gemm_epilogue, source_name),
    FIELD(jit_gemm_epilogue, first_line),
    FIELD(jit_gemm_epilogue, operand_count),
    FIELD(jit_gemm_epilogue, operands),
    FIELD(jit_gemm_epilogue, code),
    FIELD(jit_gemm_epilogue, code_size),
    FIELD(jit_gemm_epilogue, symbol),
    FIELD(jit_gemm_epilogue, code_kind),
    FIELD(jit_gemm_epilogue, reserved),
    STRUCT(jit_gemm_arg),
    FIELD(jit_gemm_arg, pointer),
    FIELD(jit_gemm_arg, ld),
    FIELD(jit_gemm_arg, batch_stride),
    FIELD(jit_gemm_arg, value),
    FIELD(jit_gemm_arg, reserved),
    STRUCT(jit_gemm_args),
    FIELD(jit_gemm_args, struct_size),
    FIELD(jit_gemm_args, a),
    FIELD(jit_gemm_args, b),
    FIELD(jit_gemm_args, c),
    FIELD(jit_gemm_args, d),
    FIELD(jit_gemm_args, a_scale),
    FIELD(jit_gemm_args, b_scale),
    FIELD(jit_gemm_args, operands),
    FIELD(jit_gemm_args, operand_count),
    FIELD(jit_gemm_args, m),
    FIELD(jit_gemm_args, n),
    FIELD(jit_gemm_args, k),
    FIELD(jit_gemm_args, batch),
    FIELD(jit_gemm_args, alpha),
    FIELD(jit_gemm_args, beta),
    FIELD(jit_gemm_args, alpha_device),
    FIELD(jit_gemm_args, beta_device),
    FIELD(jit_gemm_args, workspace),
    FIELD(jit_gemm_args, workspace_bytes),
    FIELD(jit_gemm_args, d_scale),
    FIELD(jit_gemm_args, group_sizes),
    FIELD(jit_gemm_args, d_rows),
    FIELD(jit_gemm_args, d_row_count),
    FIELD(jit_gemm_args, a_rows),
    FIELD(jit_gemm_args, a_row_count),
    STRUCT(jit_gemm_problem),
};

int main(void)
{
    for (size_t i = 0; i < sizeof(k_lines) / sizeof(k_lines[0]); i++) {
        printf("%s %zu\n", k_lines[i].name, k_lines[i].value);
    }
    return 0;
}
