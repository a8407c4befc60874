// SPDX-License-Identifier: MIT
// Tensor maps of A, B and, where TMA stores it, D for each group, by addresses, leading
// dimensions and sizes that only the device has (docs/grouped.md). A warp makes
// one at a time: it copies what all have in common to shared memory, replaces there what is
// the group's, and copies that to the workspace with the release that the product's kernel
// acquires (tile/tile_loader.cuh). Groups without rows or columns get none, and nobody asks
// for one. A second entry of the unit of lib/source/assemble.c; the kernel of the product
// waits for this grid.
//
// No map is changed while a copy reads it: this grid waits for the one before, and so for
// all that loaded by maps which lay in the same place.
#pragma once
#include <jg/common/group_size.cuh>
#include <jg/common/kernel_params.cuh>
#include <jg/ptx/cluster.cuh>
#include <jg/ptx/tensor_map.cuh>

namespace jg::pack {

// The kernel's parameter; the host fills the same structs (lib/plan/group_maps.h).
struct GroupMapsMatrix {
    u32 map[32];  // what groups' maps have in common
    u64 pointers; // device address of an address per group; 0: nothing is there to load,
    u64 lds;      // and of a leading dimension, in elements; 0: all have `ld`
    u64 to;       // device address of the maps
    i64 ld;       // elements
    u32 element_bits;
    u32 stride_rows[3];  // a stride is so many rows,
    i64 stride_bytes[3]; // and so many bytes more
};
struct GroupMapsParams {
    GroupMapsMatrix
        matrices[3]; // the product's A and B, and D, which has none without `to`
    u64 group_sizes, group_ns, group_ks; // device addresses; 0: all have `m` rows, `n`, `k`
    u32 m, n, k, groups;
};

enum : u32 { kMapWarps = 8 }; // of a CTA

// Which M, N and K a group has.
struct GroupSizes {
    u32 m, n, k;
};

// Of one matrix: dimensions of its maps, and which of them has the group's M, N and K; -1:
// none, or one that all groups have alike.
template <u32 kDims, int kMDim, int kNDim, int kKDim>
struct GroupMaps {
    // By a warp, whose lanes have a word of the map each.
    static JG_DEVICE void write(const GroupMapsMatrix &matrix, u32 group,
                                const GroupSizes &sizes, TensorMap &room, u32 lane)
    {
        const u32 place = ptx::shared_address(&room);
        reinterpret_cast<u32 *>(&room)[lane] = matrix.map[lane];
        __syncwarp();
        // A group without K has nothing to load: its map keeps the address and the strides
        // that it came with, and whoever loads asks for what lies beyond one element of K.
        if (lane == 0 && (kKDim < 0 || sizes.k > 0)) {
            const u64 *pointers = reinterpret_cast<const u64 *>(matrix.pointers);
            const i64 *lds = reinterpret_cast<const i64 *>(matrix.lds);
            const i64 ld = lds != nullptr ? lds[group] : matrix.ld;
            const i64 row_bytes = ld * matrix.element_bits / 8;
            ptx::replace_map_address(place,
                                     pointers != nullptr ? pointers[group] : matrix.to);
            ptx::replace_map_stride<0>(place, stride<0>(matrix, row_bytes));
            ptx::replace_map_stride<1>(place, stride<1>(matrix, row_bytes));
            if constexpr (kDims > 3) {
                ptx::replace_map_stride<2>(place, stride<2>(matrix, row_bytes));
            }
        }
        if (lane == 0) {
            replace_size<kMDim>(place, sizes.m);
            replace_size<kNDim>(place, sizes.n);
            replace_size<kKDim>(place, max_u32(sizes.k, 1));
        }
        __syncwarp();
        ptx::publish_map(matrix.to + group * sizeof(TensorMap), place);
    }

  private:
    template <int kDim>
    static JG_DEVICE void replace_size(u32 place, u32 size)
    {
        if constexpr (kDim >= 0) {
            ptx::replace_map_size<kDim>(place, size);
        }
    }
    template <u32 kIndex>
    static JG_DEVICE u64 stride(const GroupMapsMatrix &matrix, i64 row_bytes)
    {
        return static_cast<u64>(matrix.stride_rows[kIndex] * row_bytes +
                                matrix.stride_bytes[kIndex]);
    }
};

// Row-major; with an N of each group's own threads store D.
using GroupMapsOfD = GroupMaps<3, 1, -1, -1>;

template <class MapsOfA, class MapsOfB, bool kPdl>
JG_DEVICE void group_maps_kernel(const GroupMapsParams &params)
{
    __shared__ alignas(128) TensorMap rooms[kMapWarps];
    // What the grid before has written is there, and nobody loads by maps that lie here.
    // The product's grid may begin when all of this one runs.
    if constexpr (kPdl) {
        ptx::grid_dependency_wait();
        ptx::launch_dependent_grids();
    }
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1
    for (u32 at = blockIdx.x * kMapWarps + warp; at < 3 * params.groups;
         at += gridDim.x * kMapWarps) {
        const u32 group = at / 3, which = at % 3;
        const GroupSizes sizes = {GroupSize<true>(params.group_sizes, params.m).of(group),
                                  GroupSize<true>(params.group_ns, params.n).of(group),
                                  GroupSize<true>(params.group_ks, params.k).of(group)};
        if (sizes.m == 0 || sizes.n == 0) {
            continue;
        }
        if (which == 0) {
            MapsOfA::write(params.matrices[0], group, sizes, rooms[warp], lane);
        } else if (which == 1) {
            MapsOfB::write(params.matrices[1], group, sizes, rooms[warp], lane);
        } else if (params.matrices[2].to != 0) {
            GroupMapsOfD::write(params.matrices[2], group, sizes, rooms[warp], lane);
        }
        __syncwarp(); // the room is read
    }
}

} // namespace jg::pack
