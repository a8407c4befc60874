// SPDX-License-Identifier: MIT
// Rows of A and B, which may begin at any element, copied to rows that begin at multiples
// of 16 bytes, for TMA (docs/types.md). A warp copies a piece of a row at a time, each lane
// chunks of 16 bytes: it loads the two aligned chunks that hold the bytes, and shifts. A
// chunk may hold bytes beside the row, which are read as long as they lie between the first
// and the last byte of the matrix, and come to lie behind the copy's row, where TMA reads
// nothing; at the ends of the matrix elements are loaded. A second entry of the unit of
// lib/source/assemble.c; the kernel of the product waits for this grid. The host has
// checked addresses and sizes.
#pragma once
#include <jg/common/shifted_chunk.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/global.cuh>

namespace jg::pack {

// The kernel's parameter; the host fills the same structs (lib/plan/repack.h). Steps are in
// bytes.
struct RepackMatrix {
    u64 from, to; // device addresses
    i64 from_pitch, from_stride;
    i64 to_pitch, to_stride;
    i64 row_bytes;
    u32 rows, batch; // 0 rows: it is not copied
};
struct RepackParams {
    RepackMatrix matrices[2];
};

enum : u32 {
    kLanes = 32,
    kChunksAtOnce = 4, // of a lane
    kUnitBytes = kChunkBytes * kLanes * kChunksAtOnce,
};

// Of a chunk at a multiple of 16 the bytes from `begin` to `end`; the others are 0 and are
// not read. Elements are loaded by few warps: those at the ends of the matrix.
template <u32 kElementBytes>
JG_DEVICE void load_chunk(u32 *words, u64 address, u64 begin, u64 end)
{
#pragma unroll
    for (u32 i = 0; i < kChunkWords; ++i) {
        words[i] = 0;
    }
    if (address >= begin && address + kChunkBytes <= end) {
        f32 bits[kChunkWords];
        ptx::load_global_4(bits, address);
#pragma unroll
        for (u32 i = 0; i < kChunkWords; ++i) {
            words[i] = __float_as_uint(bits[i]);
        }
    } else if (address < end && address + kChunkBytes > begin) {
#pragma unroll
        for (u32 at = 0; at < kChunkBytes; at += kElementBytes) {
            const u64 element = address + at;
            const bool exists = element >= begin && element < end;
            words[at / 4] |= ptx::load_global_if<kElementBytes>(element, exists)
                             << (at % 4 * 8);
        }
    }
}

JG_DEVICE u64 pieces_of_row(const RepackMatrix &matrix)
{
    return (static_cast<u64>(matrix.row_bytes) + kUnitBytes - 1) / kUnitBytes;
}

// Pieces of the rows of all batches.
JG_DEVICE u64 count_units(const RepackMatrix &matrix)
{
    return pieces_of_row(matrix) * matrix.rows * matrix.batch;
}

// One of them, by a warp.
template <u32 kElementBytes>
JG_DEVICE void copy_unit(const RepackMatrix &matrix, u64 unit, u32 lane)
{
    const u64 pieces = pieces_of_row(matrix);
    const u64 line = unit / pieces;
    const u64 batch = line / matrix.rows;
    const u64 row = line % matrix.rows;
    const u64 begin = matrix.from + batch * matrix.from_stride; // of the batch's matrix
    const u64 end = begin + (matrix.rows - 1) * matrix.from_pitch + matrix.row_bytes;
    const u64 source = begin + row * matrix.from_pitch;
    const u64 target = matrix.to + batch * matrix.to_stride + row * matrix.to_pitch;
    const u32 shift = static_cast<u32>(source % kChunkBytes);
    const u64 first = unit % pieces * kUnitBytes + lane * kChunkBytes;
    // All loads of the lane are under way before the first of them is waited for.
    u32 pairs[kChunksAtOnce][2 * kChunkWords];
#pragma unroll
    for (u32 i = 0; i < kChunksAtOnce; ++i) {
        const u64 offset = first + i * kLanes * kChunkBytes;
        const u64 at = source - shift + offset;
        const u64 last = offset < static_cast<u64>(matrix.row_bytes) ? end : begin;
        load_chunk<kElementBytes>(pairs[i], at, begin, last);
        load_chunk<kElementBytes>(pairs[i] + kChunkWords, at + kChunkBytes, begin,
                                  shift > 0 ? last : begin);
    }
#pragma unroll
    for (u32 i = 0; i < kChunksAtOnce; ++i) {
        const u64 at = first + i * kLanes * kChunkBytes;
        if (at < static_cast<u64>(matrix.row_bytes)) {
            const ShiftedChunk chunk(pairs[i], shift);
            ptx::store_global_4(target + at, __uint_as_float(chunk.words[0]),
                                __uint_as_float(chunk.words[1]),
                                __uint_as_float(chunk.words[2]),
                                __uint_as_float(chunk.words[3]));
        }
    }
}

template <u32 kElementBytes, bool kPdl>
JG_DEVICE void repack_kernel(const RepackParams &params)
{
    // What the grid before has written is there, and nobody reads the copies before these.
    // The product's grid may begin when all of this one runs.
    if constexpr (kPdl) {
        ptx::grid_dependency_wait();
        ptx::launch_dependent_grids();
    }
    const u64 units_of_a = count_units(params.matrices[0]);
    const u64 units = units_of_a + count_units(params.matrices[1]);
    const u32 warps = blockDim.x / kLanes;
#pragma unroll 1
    for (u64 unit = u64(blockIdx.x) * warps + threadIdx.x / kLanes; unit < units;
         unit += u64(gridDim.x) * warps) {
        const bool is_of_a = unit < units_of_a;
        copy_unit<kElementBytes>(params.matrices[is_of_a ? 0 : 1],
                                 is_of_a ? unit : unit - units_of_a, threadIdx.x % kLanes);
    }
}

} // namespace jg::pack
