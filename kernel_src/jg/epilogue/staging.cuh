// SPDX-License-Identifier: MIT
// StagingBuffer: a warp's shared memory, in which accumulators become vectors of 8
// neighbouring columns of D. PanelStagingBuffer: the same for several steps side by side.
// TransposedStagingBuffer: where D lies transposed in the accumulator.
//
// Filled by accumulators (copy_step), read by VectorEpilogue. From byte kScratch on nothing
// is kept from step to step: reductions have it between two of them. The memory belongs to
// one warp only, which orders its stores and loads by __syncwarp: nothing here waits or
// signals.
#pragma once
#include <jg/epilogue/accumulator.cuh>
#include <jg/epilogue/partition.cuh>
#include <jg/ptx/address.cuh>
#include <jg/ptx/shared.cuh>

namespace jg {

// A vector of a buffer: two chunks of a row, which no permutation takes apart.
template <class Buffer>
JG_DEVICE void load_vector(const Buffer &buffer, u32 row, u32 vector, f32 (&values)[8])
{
    const u32 address = buffer.address_of(row, 2 * vector);
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        const float4 part = ptx::load_shared_4(address ^ (i * 16));
        values[4 * i] = part.x;
        values[4 * i + 1] = part.y;
        values[4 * i + 2] = part.z;
        values[4 * i + 3] = part.w;
    }
}

// The other way.
template <class Buffer>
JG_DEVICE void put_vector(const Buffer &buffer, u32 row, u32 vector, const f32 (&values)[8])
{
    const u32 address = buffer.address_of(row, 2 * vector);
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        const u32 words[4] = {
            __float_as_uint(values[4 * i]), __float_as_uint(values[4 * i + 1]),
            __float_as_uint(values[4 * i + 2]), __float_as_uint(values[4 * i + 3])};
        ptx::store_shared_4(address ^ (i * 16), words);
    }
}

// Rows of 64 f32, in 16-byte chunks that are permuted so that neither the fragment's stores
// (8 rows of 32 bytes) nor the vector's loads (8 neighbouring vectors of a row) meet in a
// bank. Where registers are few, addresses are computed in each step, not once for all
// tiles.
template <u32 kWarpRows, bool kFewRegisters>
class StagingBuffer {
  public:
    enum : u32 {
        kRows = kWarpRows,
        kCols = 64,
        kBytes = kRows * kCols * sizeof(f32),
        kScratch = 0,
    };

    JG_DEVICE explicit StagingBuffer(const u8 *memory) : base_(ptx::shared_address(memory))
    {
    }

    // This thread's part of the 16 rows from `row` on: groups of 8 columns, 4 accumulators
    // each, of `acc` from `first` on.
    template <u32 kGroups = kCols / 8, u32 kFirstGroup = 0, class Accumulator, u32 kCount>
    JG_DEVICE void store(u32 row, const Accumulator (&acc)[kCount], u32 first = 0) const
    {
        const u32 lane = threadIdx.x % 32;
        u32 own = address_of(row + lane / 4, lane % 4 / 2) + lane % 2 * 8;
        if constexpr (kFewRegisters) {
            ptx::hold(own);
        }
#pragma unroll
        for (u32 group = 0; group < kGroups; ++group) {
            const u32 address = own ^ (permuted(2 * (kFirstGroup + group)) * 16);
            const Accumulator *v = acc + first + 4 * group;
            // 8 rows on, the permutation is the same.
            ptx::store_shared_two_pairs<8 * kCols * sizeof(f32)>(
                address, accumulator_bits(v[0]), accumulator_bits(v[1]),
                accumulator_bits(v[2]), accumulator_bits(v[3]));
        }
    }
    JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
    {
        load_vector(*this, row, vector, values);
    }

    // Of a 16-byte chunk of a row. Rows begin at multiples of their size: an exclusive or
    // with the place of a chunk in the row is an addition.
    JG_DEVICE u32 address_of(u32 row, u32 chunk) const
    {
        return base_ + row * (kCols * 4) + ((permuted(chunk) ^ (row % 8 * 2)) * 16);
    }

  private:
    static constexpr JG_DEVICE u32 permuted(u32 chunk)
    {
        return chunk ^ (chunk >> 3);
    }

    u32 base_;
};

// Panels of 32 columns: kRows rows of 128 bytes each, whose 16-byte chunks are permuted so
// that neither the fragment's stores (4 rows of 32 bytes at once), nor the vector's loads
// (8 vectors of a row in two panels, or 4 of two rows in one) meet in a bank. Step `i` has
// kStepPanels of them from panel i * kStepPanels on, and beyond that its second
// accumulators, where D is gated. What a vector was computed to may be put in its place.
template <u32 kWarpRows, u32 kStepPanels, u32 kPanels>
class PanelStagingBuffer {
  public:
    enum : u32 {
        kRows = kWarpRows,
        kPanelBytes = kRows * 128,
        kBytes = kPanels * kPanelBytes,
        kScratch = kBytes - kPanelBytes,
    };

    JG_DEVICE explicit PanelStagingBuffer(const u8 *memory)
        : base_(ptx::shared_address(memory))
    {
    }

    // The same memory from a step's first panel on.
    JG_DEVICE PanelStagingBuffer step(u32 index) const
    {
        PanelStagingBuffer from = *this;
        from.base_ += index * kStepPanels * kPanelBytes;
        return from;
    }
    // Address of the last panel.
    JG_DEVICE u32 scratch() const
    {
        return base_ + kScratch;
    }

    // This thread's part of the 16 rows from `row` on: groups of 8 columns, 4 accumulators
    // each, of `acc` from `first` on.
    template <u32 kGroups, u32 kFirstGroup = 0, class Accumulator, u32 kCount>
    JG_DEVICE void store(u32 row, const Accumulator (&acc)[kCount], u32 first = 0) const
    {
        const u32 lane = threadIdx.x % 32;
        const u32 own = address_of(row + lane / 4, lane % 4 / 2) + lane % 2 * 8;
#pragma unroll
        for (u32 group = 0; group < kGroups; ++group) {
            const u32 chunk = 2 * (kFirstGroup + group);
            const u32 address = (own ^ (permuted(chunk) % 8 * 16)) + panel_of(chunk);
            const Accumulator *v = acc + first + 4 * group;
            // 8 rows on, the permutation is the same.
            ptx::store_shared_two_pairs<8 * 128>(
                address, accumulator_bits(v[0]), accumulator_bits(v[1]),
                accumulator_bits(v[2]), accumulator_bits(v[3]));
        }
    }
    JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
    {
        load_vector(*this, row, vector, values);
    }
    JG_DEVICE void put(u32 row, u32 vector, const f32 (&values)[8]) const
    {
        put_vector(*this, row, vector, values);
    }

    // Of a 16-byte chunk of a row.
    JG_DEVICE u32 address_of(u32 row, u32 chunk) const
    {
        const u32 of_row = row % 4 * 2 + row % 2;
        return base_ + panel_of(chunk) + row * 128 + ((permuted(chunk) ^ of_row) % 8 * 16);
    }

  private:
    static constexpr JG_DEVICE u32 panel_of(u32 chunk)
    {
        return chunk / 8 * kPanelBytes;
    }
    static constexpr JG_DEVICE u32 permuted(u32 chunk)
    {
        return chunk ^ (chunk / 8 % 2);
    }

    u32 base_;
};

// Rows of 32 f32, or pairs of rows of 16, in lines of 128 bytes; the 16-byte chunks of a
// line are permuted by its number. Neither the stores (4 even or 4 odd rows of 8 f32) nor
// the loads (2 rows of 4 vectors, or 4 of 2) meet in a bank.
template <u32 kWarpRows, u32 kWarpCols>
class TransposedStagingBuffer {
  public:
    enum : u32 {
        kRows = kWarpRows,
        kCols = kWarpCols,
        kBytes = kRows * kCols * sizeof(f32),
        kScratch = 0,
    };

    JG_DEVICE explicit TransposedStagingBuffer(const u8 *memory)
        : base_(ptx::shared_address(memory))
    {
    }

    // This thread's part of the 16 columns from `col` on: groups of 8 rows, 4 accumulators
    // each.
    template <u32 kGroups, u32 kFirstGroup = 0, u32 kCount>
    JG_DEVICE void store(u32 col, const f32 (&acc)[kCount]) const
    {
        const u32 lane = threadIdx.x % 32;
#pragma unroll
        for (u32 i = 0; i < 4 * kGroups; ++i) {
            const u32 row = (kFirstGroup + i / 4) * 8 + lane % 4 * 2 + i % 2;
            const u32 column = col + i / 2 % 2 * 8 + lane / 4;
            ptx::store_shared(address_of(row, column / 4) + column % 4 * 4, acc[i]);
        }
    }
    JG_DEVICE void load(u32 row, u32 vector, f32 (&values)[8]) const
    {
        load_vector(*this, row, vector, values);
    }

    JG_DEVICE void put(u32 row, u32 vector, const f32 (&values)[8]) const
    {
        put_vector(*this, row, vector, values);
    }
    // The address behind it.
    JG_DEVICE u32 end() const
    {
        return base_ + kBytes;
    }

    // Of a 16-byte chunk of a row.
    JG_DEVICE u32 address_of(u32 row, u32 chunk) const
    {
        constexpr u32 kLineRows = 32 / kCols;
        const u32 line = row / kLineRows;
        const u32 in_line = row % kLineRows * (kCols / 4) + chunk;
        return base_ + line * 128 + ((in_line ^ permutation(line)) * 16);
    }

  private:
    // Of two rows in a line, stores reach the same one in 4 neighbouring lines, 2 chunks of
    // each; loads all chunks with the same lowest bit in 2 lines.
    static JG_DEVICE u32 permutation(u32 line)
    {
        return kCols == 32 ? line % 8 : line % 4 * 2 + line % 2;
    }

    u32 base_;
};

// Both accumulators of a vector of D.
template <class Partition, class Buffer>
JG_DEVICE void load_gated(const Buffer &buffer, u32 row, u32 vector, f32 (&acc0)[8],
                          f32 (&acc1)[8])
{
    constexpr bool kByRows = Partition::kTransposed;
    if constexpr (!Partition::kNeighbours) {
        buffer.load(row, vector, acc0);
        buffer.load(row + (kByRows ? Partition::kStepRows : 0),
                    vector + (kByRows ? 0 : Partition::kStepCols / 8), acc1);
    } else if constexpr (kByRows) {
        buffer.load(2 * row, vector, acc0);
        buffer.load(2 * row + 1, vector, acc1);
    } else {
#pragma unroll
        for (u32 i = 0; i < 2; ++i) {
            f32 both[8];
            buffer.load(row, 2 * vector + i, both);
#pragma unroll
            for (u32 j = 0; j < 4; ++j) {
                acc0[4 * i + j] = both[2 * j];
                acc1[4 * i + j] = both[2 * j + 1];
            }
        }
    }
}

// The staging buffer of a partition's warps. Of a gated D the accumulators of acc0 come
// first, then those of acc1, in the columns of the buffer or, transposed, in its rows; or
// they take turns, as in the accumulator.
template <class Partition, bool kTransposed = Partition::kTransposed>
struct StagingBufferFor {
    using Type = StagingBuffer<Partition::kWarpRows, Partition::kFewRegisters>;
};
template <class Partition>
struct StagingBufferFor<Partition, true> {
    enum : u32 { kAccumulators = Partition::kGateColumns > 0 ? 2 : 1 };
    using Type =
        TransposedStagingBuffer<kAccumulators * Partition::kWarpRows, Partition::kWarpCols>;
};

template <class Partition, u32 kColumns, u32 kFirstGroup, class Accumulators, class Buffer>
JG_DEVICE void copy_part(const Accumulators &acc, const Buffer &buffer, u32 step, u32 col)
{
    f32 values[Partition::kFragments][kColumns / 2];
    acc.read(step, col, values);
#pragma unroll
    for (u32 i = 0; i < Partition::kFragments; ++i) {
        buffer.template store<kColumns / 8, kFirstGroup>(16 * i, values[i]);
    }
}

// Of a gated D the accumulators of acc0, and behind them those of acc1, or both in turn.
template <class Partition, u32 kColumns, class Accumulators, class Buffer>
JG_DEVICE void copy_columns(const Accumulators &acc, const Buffer &buffer, u32 step,
                            u32 col)
{
    if constexpr (Partition::kNeighbours) {
        copy_part<Partition, 2 * kColumns, 0>(acc, buffer, step, 2 * col);
    } else {
        copy_part<Partition, kColumns, 0>(acc, buffer, step, col);
    }
    if constexpr (Partition::kGateColumns > 1) {
        copy_part<Partition, kColumns, Partition::kStepAccColumns / 8>(
            acc, buffer, step, Partition::kGateColumns + col);
    }
}

// One step of VectorEpilogue from accumulators that can be indexed to the staging buffer;
// of the last one, which may reach beyond the tile, what there is.
template <class Partition, class Accumulators, class Buffer>
JG_DEVICE void copy_indexed_step(const Accumulators &acc, const Buffer &buffer, u32 step)
{
    constexpr u32 kColumns = Partition::kTransposed ? Partition::kRows : Partition::kCols;
    constexpr u32 kStep = Partition::kStepAccColumns;
    constexpr u32 kTail = kColumns % kStep;
    constexpr u32 kAcross = (kColumns + kStep - 1) / kStep;
    const u32 across = step % kAcross;
    if constexpr (kTail == 0) {
        copy_columns<Partition, kStep>(acc, buffer, step / kAcross, across * kStep);
    } else if (across + 1 < kAcross) {
        copy_columns<Partition, kStep>(acc, buffer, step / kAcross, across * kStep);
    } else {
        copy_columns<Partition, kTail>(acc, buffer, step / kAcross, across * kStep);
    }
}

} // namespace jg
