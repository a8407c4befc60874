/* SPDX-License-Identifier: MIT */
#include "source/device_names.h"

const char *jg_source_scale_layout(uint32_t layout)
{
    static const char *const names[] = {[JIT_GEMM_SCALE_LAYOUT_ROW] = "kRow",
                                        [JIT_GEMM_SCALE_LAYOUT_COLUMN] = "kColumn",
                                        [JIT_GEMM_SCALE_LAYOUT_128X4] = "k128x4",
                                        [JIT_GEMM_SCALE_LAYOUT_8X4] = "k8x4",
                                        [JIT_GEMM_SCALE_LAYOUT_MN_K4] = "kMnK4"};
    return names[layout];
}

const char *jg_source_scaled_blocks(const struct jg_derived *derived)
{
    static const char *const names[] = {[JG_SCALED_WAITED] = "kWaited",
                                        [JG_SCALED_PLACED] = "kPlaced",
                                        [JG_SCALED_BEHIND] = "kBehind",
                                        [JG_SCALED_OVERLAPPED] = "kOverlapped"};
    return names[derived->scaled_blocks];
}

const char *jg_source_operand_kind(const struct jg_problem *problem,
                                   jit_gemm_operand_kind kind)
{
    const bool by_columns = jg_problem_is_column_major(problem);
    switch (kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        return "Scalar";
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        return by_columns ? "ColumnVector" : "RowVector";
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        return by_columns ? "RowVector" : "ColumnVector";
    case JIT_GEMM_OPERAND_PAIR_VECTOR: /* less Gate0 or Gate1 */
        return by_columns ? "ColumnVector" : "Vector";
    case JIT_GEMM_OPERAND_BLOCK_1X128: /* of a row-major D only */
        return "Block1x128";
    case JIT_GEMM_OPERAND_BLOCK_1X32:
        return "Block1x32";
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        return "Block1x16";
    case JIT_GEMM_OPERAND_MATRIX:
        break;
    }
    return "Matrix";
}
