// SPDX-License-Identifier: MIT
// The reference: one thread an element, products and sums in f64, the same epilogue. Slow,
// and free of everything that can go wrong in the fast kernels: no copies, no barriers, no
// alignment rules. A factor of 0 reads nothing, as in BLAS: with alpha 0 the epilogue is
// applied to C alone, for callers who have the sums already.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/epilogue/scales.cuh>
#include <jg/epilogue/user_epilogue.cuh>

namespace jg::reference {

template <class Config, class Params>
JG_DEVICE double dot(const Params &params, u32 k_count, u32 row, u32 col, u32 batch)
{
    using A = typename Config::A;
    using B = typename Config::B;
    const A *a = reinterpret_cast<const A *>(params.a) +
                 params.a_batch_stride * i64(batch) +
                 (Config::kAKMajor ? params.lda * i64(row) : i64(row));
    const B *b = reinterpret_cast<const B *>(params.b) +
                 params.b_batch_stride * i64(batch) +
                 (Config::kBKMajor ? params.ldb * i64(col) : i64(col));
    const i64 a_step = Config::kAKMajor ? 1 : params.lda;
    const i64 b_step = Config::kBKMajor ? 1 : params.ldb;
    double sum = 0.0;
    for (u32 k = 0; k < k_count; ++k) {
        sum += double(to_f32(*a)) * double(to_f32(*b));
        a += a_step;
        b += b_step;
    }
    return sum;
}

template <class Config, class Epilogue, class Params>
JG_DEVICE void gemm_kernel(const Params &params)
{
    static_assert(sizeof(Params) == Config::kParamsBytes,
                  "host and device disagree on parameters");
    static_assert(Epilogue::kOperandCount == Config::kOperandCount, "operand lists differ");
    const Shape<Config, Params> shape(params);
    const double alpha = params.load_alpha();
    const double beta = Config::kHasC ? params.load_beta() : 0.0f;
    const u64 per_batch = u64(shape.m) * shape.n;
    const u64 total = per_batch * shape.batch;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
         i += u64(gridDim.x) * blockDim.x) {
        const u32 batch = u32(i / per_batch);
        const u32 row = u32(i % per_batch / shape.n);
        const u32 col = u32(i % shape.n);
        double sum = 0.0;
        if (alpha != 0.0) {
            typename Scales<Config>::Element scales;
            scales.load(params, row, col, batch);
            sum = scales.factor(alpha) * dot<Config>(params, shape.k, row, col, batch);
        }
        if constexpr (Config::kHasC) {
            if (beta != 0.0) {
                using C = typename Config::C;
                sum += beta * double(to_f32(reinterpret_cast<const C *>(
                                  params.c)[params.c_batch_stride * i64(batch) +
                                            params.ldc * i64(row) + col]));
            }
        }
        typename Epilogue::Element element;
        const f32 d = element.run(params.operands, f32(sum), shape, row, col, batch);
        using D = typename Config::D;
        D &target = reinterpret_cast<D *>(
            params.d)[params.d_batch_stride * i64(batch) + params.ldd * i64(row) + col];
        target = Convert<D>::from(d);
        if constexpr (IsSame<D, s32>::value && Config::kPlain) {
            if (alpha == 1.0) { // D is the sum itself (DElement)
                target.value = i32(i64(sum));
            }
        }
    }
}

} // namespace jg::reference
