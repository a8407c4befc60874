// SPDX-License-Identifier: MIT
// The one parameter of every kernel. The host fills the same struct
// (lib/plan/kernel_params.h); the source unit carries the host's size and the kernel
// asserts it.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

struct OperandParam {
    TensorMap map; // of a matrix input
    u64 pointer;
    i64 ld;           // elements
    i64 batch_stride; // elements; 0 broadcasts
    f32 value;        // a scalar by value, used if pointer is 0
    u32 batch_step;   // of a matrix input: 1, or 0 if it is broadcast over batches
};

struct GemmParams {
    TensorMap a_map, b_map, d_map, c_map;
    u64 a, b, c, d;                     // device addresses
    i64 lda, ldb, ldc, ldd;             // elements
    i64 a_batch_stride, b_batch_stride; // elements; 0 broadcasts
    i64 c_batch_stride, d_batch_stride; // elements; c: 0 broadcasts
    u32 m, n, k, batch;                 // sizes of this launch
    f32 alpha, beta;                    // used if the pointers are 0
    u64 alpha_pointer, beta_pointer;    // device addresses of floats, or 0
    u32 a_batch_step, b_batch_step;     // 1, or 0 if the input is broadcast over batches
    u32 c_batch_step, reserved;
    u64 workspace; // device address; of kernels that split K (epilogue/partial_sums.cuh)
    u64 a_scale, b_scale;                           // device addresses of floats, or 0
    i64 a_scale_batch_stride, b_scale_batch_stride; // elements; 0 broadcasts

    JG_DEVICE f32 load_alpha() const
    {
        return alpha_pointer ? *reinterpret_cast<const f32 *>(alpha_pointer) : alpha;
    }
    JG_DEVICE f32 load_beta() const
    {
        return beta_pointer ? *reinterpret_cast<const f32 *>(beta_pointer) : beta;
    }
};

template <u32 kOperandCount>
struct KernelParams : GemmParams {
    OperandParam operands[kOperandCount];
};
template <>
struct KernelParams<0> : GemmParams {
    static constexpr const OperandParam *operands = nullptr;
};

// Sizes of this launch: compiled in where Config has them, arguments where it says 0. With
// a column-major D the epilogue's rows and columns, those of memory, are the problem's
// columns and rows.
template <class Config, class Params>
struct Shape {
    static constexpr bool kColumnMajor = Config::kColumnMajor;
    u32 m, n, k, batch;

    // What the snippet sees, of an epilogue's shape.
    JG_DEVICE int problem_m() const
    {
        return static_cast<int>(kColumnMajor ? n : m);
    }
    JG_DEVICE int problem_n() const
    {
        return static_cast<int>(kColumnMajor ? m : n);
    }
    static JG_DEVICE int problem_row(u32 row, u32 col)
    {
        return static_cast<int>(kColumnMajor ? col : row);
    }
    static JG_DEVICE int problem_col(u32 row, u32 col)
    {
        return static_cast<int>(kColumnMajor ? row : col);
    }

    JG_DEVICE explicit Shape(const Params &params)
        : m(Config::kM ? Config::kM : params.m), n(Config::kN ? Config::kN : params.n),
          k(Config::kK ? Config::kK : params.k),
          batch(Config::kBatch ? Config::kBatch : params.batch)
    {
    }
};

} // namespace jg
