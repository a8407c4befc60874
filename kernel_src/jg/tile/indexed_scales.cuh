// SPDX-License-Identifier: MIT
// IndexedScaleColumn: the scales of blocks of rows that an index names, of the problem's A:
// they lie as A's rows do. ScaleColumn of scale_columns.cuh has those of rows in order.
//
// Called by one whole warp: begin with each item that has blocks of K, then copy once for
// each block. Of rows beyond the matrix's end, or the group's,
// the index is not read. They and rows whose index is none of A's have scales of 0.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/common/math.cuh>
#include <jg/ptx/copy_async.cuh>
#include <jg/tile/scale_columns.cuh>

namespace jg {

// kKeeps: a lane's rows stay in registers, of which a warp that only copies scales has few;
// else the index is read again for each block.
template <class Scale, u32 kCount, ScaleOrder kOrder, bool kKeeps>
class IndexedScaleColumn {
    static_assert(Scale::kBlockMn == 1, "each row has its own");
    enum : u32 {
        kOwn = (kCount + 31) / 32,
        kAtOnce = kKeeps          ? kOwn
                  : kOwn % 2 == 0 ? 2
                                  : 1,
    };
    static_assert(kOwn % kAtOnce == 0, "whole turns");

  public:
    // `index`: for each row of the product one of the `count` rows of A, of an item that
    // has the rows from `row` to `end`.
    JG_DEVICE void begin(const MatrixParam &param, const i32 *index, const u32 &count,
                         u32 row, u32 end, u32 k)
    {
        param_ = &param;
        count_ = &count;
        index_ = index + row;
        left_ = end - min_u32(row, end);
        source_ = Scale::address(param.base<const f32>(0), param.ld, 0, k / Scale::kBlockK);
        if constexpr (kKeeps) {
            find(0);
        }
    }
    // Copies those of a block, zeros where K or A has none, and goes on to the next.
    JG_DEVICE void copy(f32 *target, bool exists)
    {
#pragma unroll 1
        for (u32 first = 0; first < kOwn; first += kAtOnce) {
            if constexpr (!kKeeps) {
                find(first);
            }
#pragma unroll
            for (u32 i = 0; i < kAtOnce; ++i) {
                const u32 at = place(first + i);
                const bool has_row = rows_[i] != kNone;
                const f32 *source =
                    Scale::address(source_, param_->ld, has_row ? rows_[i] : 0, 0);
                if (kCount % 32 == 0 || at < kCount) {
                    const u32 own = place_of_scale<kOrder>(at);
                    ptx::copy_async<4>(ptx::shared_address(target + own),
                                       reinterpret_cast<u64>(source),
                                       exists && has_row ? 4 : 0);
                }
            }
        }
        source_ = Scale::address(source_, param_->ld, 0, 1);
    }

  private:
    enum : u32 { kNone = ~0u };
    static JG_DEVICE u32 place(u32 i)
    {
        return 32 * i + threadIdx.x % 32;
    }
    // The rows of kAtOnce places.
    JG_DEVICE void find(u32 first)
    {
#pragma unroll
        for (u32 i = 0; i < kAtOnce; ++i) {
            const u32 at = place(first + i);
            const u32 found = at < left_ ? static_cast<u32>(index_[at]) : kNone;
            rows_[i] = found < *count_ ? found : kNone;
        }
    }

    const MatrixParam *param_; // constants, which take no registers
    const u32 *count_;
    const i32 *index_;  // of the item's first row
    u32 left_;          // rows of the item
    const f32 *source_; // of A's first row
    u32 rows_[kAtOnce];
};

} // namespace jg
