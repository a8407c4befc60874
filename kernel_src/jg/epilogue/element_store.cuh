// SPDX-License-Identifier: MIT
// ElementStore: a warp's vectors to a D whose rows begin at any element. Neighbouring lanes
// store neighbouring elements: eight of each lane, one after the other, reach every sector
// of L2 eight times. They change hands where the accumulators were staged.
//
// Called by all lanes of a warp (VectorEpilogue), which meet.
#pragma once
#include <jg/epilogue/thread_values.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// `whole_steps`: all lanes have vectors of the tile. Beside C eight elements of 32 bits are
// a sector by themselves: an H200 took 1.02 to 1.03 with them.
template <class Config, class Epilogue, class Blocks>
constexpr JG_DEVICE bool stores_by_elements(bool whole_steps)
{
    return Config::kOutputAlignment <= kBits<typename Config::D> / 8 && whole_steps &&
           (!Config::kHasC || kBits<typename Config::D> < 32) && !Config::kIndexedD &&
           !Config::kGated && !Config::kDividesOutput && !Epilogue::kReduces &&
           !Blocks::kSpread;
}

// Of a pass: kRows rows of kAcross vectors.
template <class Config, u32 kAcross, u32 kRows>
struct ElementStore {
    using T = typename Config::D;
    enum : u32 {
        kCols = 8 * kAcross,                // of a row: 16, 32 or 64
        kRowsAtOnce = (31 + kCols) / kCols, // that the lanes have
    };

    // `at`: of the lane's vector.
    template <class At, class ShapeT>
    static JG_DEVICE void run(const At &at, const Packed8<T> &packed, i64 ld,
                              const ShapeT &shape)
    {
        put(at.staged.address_of(at.row(), 2 * at.vector()), packed);
        __syncwarp();
        const u32 down = at.lane / kCols, across = at.lane % kCols;
        const u32 staged_row = at.row() - at.lane / kAcross + down;
        const u32 row = at.coord.row - at.lane / kAcross + down;
        const u32 col = at.coord.col - at.vector() * 8 + across;
        T *target = at.target + (static_cast<i64>(down) - at.lane / kAcross) * ld + across -
                    at.vector() * 8;
#pragma unroll
        for (u32 i = 0; i < kRows; i += kRowsAtOnce, target += kRowsAtOnce * ld) {
            const bool has_row = Config::kWholeRows || row + i < shape.m;
#pragma unroll
            for (u32 j = 0; j < kCols; j += 32) {
                if (has_row && (Config::kWholeCols || col + j < shape.n)) {
                    const u32 vector =
                        at.staged.address_of(staged_row + i, 2 * ((across + j) / 8));
                    const u32 bits =
                        ptx::load_shared_bits<sizeof(T)>(vector ^ (across % 8 * sizeof(T)));
                    ptx::store_global_bits<sizeof(T)>(reinterpret_cast<u64>(target + j),
                                                      bits);
                }
            }
        }
    }

  private:
    static JG_DEVICE void put(u32 address, const Packed8<T> &packed)
    {
        if constexpr (Packed8<T>::kWords == 4) {
            ptx::store_shared_4(address, packed.words);
        } else {
#pragma unroll
            for (u32 i = 0; i < Packed8<T>::kWords; ++i) {
                ptx::store_shared(address ^ (i * 4), __uint_as_float(packed.words[i]));
            }
        }
    }
};

} // namespace jg
