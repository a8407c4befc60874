// SPDX-License-Identifier: MIT
// IndexedRow: where a row of the product lies in D, where the problem has an index for
// that: an int32 for each row of the product, which only the device has. Rows of all
// batches and groups lie in one D. A row whose index is none of D's rows is dropped: only D
// and the scales of its blocks lack it. IndexedPlaces: the same for whoever scales D's
// blocks.
//
// Called by whoever stores D, when the grid before this one has written the index. Waits
// for nothing. Two rows with the same index are stored in any order.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/epilogue/output_blocks.cuh>
#include <jg/ptx/global.cuh>

namespace jg {

template <class Config>
class IndexedRow {
    using D = typename Config::D;

  public:
    // Asks for the index of row `row` of the product, which has to exist.
    template <class Params>
    JG_DEVICE void load(const Params &params, u32 row, u32 batch)
    {
        row_ = read(params.d_rows, row, batch);
    }
    static JG_DEVICE u32 read(const MatrixParam &indices, u32 row, u32 batch)
    {
        const i32 *index = indices.base<const i32>(batch) + row;
        return static_cast<u32>(ptx::load_global_bits<4>(reinterpret_cast<u64>(index)));
    }

    // Is it a row of D? What is below 0 is no row either.
    template <class Params>
    JG_DEVICE bool exists(const Params &params) const
    {
        return row_ < params.d_row_count;
    }

    // Where a vector of the row lies in D; dropped, it has no elements.
    template <class Params, class CoordT>
    JG_DEVICE CoordT place(const Params &params, CoordT coord) const
    {
        coord.row = row_;
        coord.count = exists(params) ? coord.count : 0;
        return coord;
    }
    // Of D's column `col`.
    template <class Params>
    JG_DEVICE D *target(const Params &params, u32 col) const
    {
        return params.d.template element<D>(row_, col, 0);
    }

  private:
    u32 row_ = 0;
};

template <class Config>
class IndexedPlaces {
  public:
    template <class Params>
    JG_DEVICE explicit IndexedPlaces(const Params &params)
        : index_(params.d_rows), count_(params.d_row_count)
    {
    }
    JG_DEVICE RowPlace of(u32 row, u32 batch, bool exists) const
    {
        const u32 place = exists ? IndexedRow<Config>::read(index_, row, batch) : ~0u;
        return RowPlace{place, place < count_};
    }

  private:
    const MatrixParam &index_;
    const u32 &count_;
};

} // namespace jg
