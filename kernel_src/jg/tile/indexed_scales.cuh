// SPDX-License-Identifier: MIT
// IndexedScaleColumn: the scales of blocks of rows that an index names, of the problem's A:
// they lie as A's rows do. ScaleColumn of block_scales.cuh has those of rows in order.
//
// Called by one whole warp: begin with each item that has blocks of K, which reads the
// index, then copy once for each block. Of rows beyond the matrix's end, or the group's,
// the index is not read. They and rows whose index is none of A's have scales of 0.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/ptx/copy_async.cuh>

namespace jg {

template <class Scale, u32 kCount>
class IndexedScaleColumn {
    static_assert(Scale::kBlockMn == 1, "each row has its own");
    enum : u32 { kOwn = (kCount + 31) / 32 };

  public:
    // `index`: for each row of the product one of the `count` rows of A, of an item that
    // has the rows from `row` to `end`.
    JG_DEVICE void begin(const MatrixParam &param, const i32 *index, u32 count, u32 row,
                         u32 end, u32 k)
    {
        const f32 *base = param.base<const f32>(0);
        source_ = Scale::address(base, param.ld, 0, k / Scale::kBlockK);
        step_ = Scale::address(base, param.ld, 0, 1) - base;
        distance_ = Scale::address(base, param.ld, 1, 0) - base;
#pragma unroll
        for (u32 i = 0; i < kOwn; ++i) {
            const u32 at = row + place(i);
            const u32 found = at < end ? static_cast<u32>(index[at]) : kNone;
            rows_[i] = found < count ? found : kNone;
        }
    }
    // Copies those of a block, zeros where K or A has none, and goes on to the next.
    JG_DEVICE void copy(f32 *target, bool exists)
    {
#pragma unroll
        for (u32 i = 0; i < kOwn; ++i) {
            const bool has_row = rows_[i] != kNone;
            const f32 *source = source_ + distance_ * (has_row ? rows_[i] : 0);
            if (kCount % 32 == 0 || place(i) < kCount) {
                ptx::copy_async<4>(ptx::shared_address(target + place(i)),
                                   reinterpret_cast<u64>(source),
                                   exists && has_row ? 4 : 0);
            }
        }
        source_ += step_;
    }

  private:
    enum : u32 { kNone = ~0u };
    static JG_DEVICE u32 place(u32 i)
    {
        return 32 * i + threadIdx.x % 32;
    }

    const f32 *source_; // of A's first row
    i64 step_, distance_;
    u32 rows_[kOwn];
};

} // namespace jg
