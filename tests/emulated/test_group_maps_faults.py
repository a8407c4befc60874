#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Faults in maps of groups: in the kernel that writes them, in who waits for it, and in who loads by
them. Each is planted in the device code before NVRTC compiles it: `run --verify` on the emulator has
to see it, by a finding or by wrong numbers.

Usage: test_group_maps_faults.py JIT_GEMM EMULATOR NVRTC POINTERS

Each fault is tried in one kernel after the other until one shows it. POINTERS is a program of tests in
which matrices end where their memory does, launches have a workspace in common, and the kernel before
makes the addresses; the last faults are its. Those of an N
and a K of each group are beside them. Every 20th is planted, of those every 40th; JIT_GEMM_TEST_EVERY=1 plants all.
Prints TAP.
"""
from functools import partial
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from emulated_runs import pool  # noqa: E402
from planted_faults import Kernels, report, seen_in_tests  # noqa: E402
from strides import stride  # noqa: E402

EVERY = stride(20)
OWN_EVERY = stride(40)

POINTERS = ["groups=5", "group_by=pointers", "--group-sizes", "1,130,0,75,300"]
KERNELS = {
    "shared tiles, C": ["m=300", "n=200", "k=128", "a=bf16", "c=bf16", *POINTERS, "--arch", "sm_90a",
                        "--config", "tile=128x128 cluster=1x2 group_maps=1"],
    "pairs of CTAs": ["m=300", "n=264", "k=128", "a=bf16", *POINTERS, "--arch", "sm_100a",
                      "--config", "mma=256x128 cta_group=2 cluster=2x2 group_maps=1"],
    "halves of pairs": ["m=300", "n=256", "k=128", "a=bf16", "pair=halves", "--epilogue", "d = acc0 * acc1;",
                        *POINTERS, "--arch", "sm_90a", "--config", "tile=128x128 group_maps=1"],
    "transposed, MN-major": ["m=300", "n=136", "k=200", "a=bf16", "d=f32", "layout=tt", *POINTERS, "--arch",
                             "sm_100a", "--config", "mma=128x32 swap_ab=1 group_maps=1"],
}

# What it is, the device code, and what stands in its place.
FAULTS = [
    # Who loads by them.
    ("no map is acquired", "maps.settle(item);", ""),
    ("the first group's maps are acquired", "item.batch != group_", "group_ == ~0u"),
    ("A's map is not acquired", "ptx::acquire_map(a_map_ + group);", ""),
    ("B's map is not acquired", "ptx::acquire_map(b_map_ + group);", ""),
    ("maps of the next group are acquired", "loader_.acquire_maps(item.batch);",
     "loader_.acquire_maps(item.batch + 1);"),
    ("loads by the first group's maps", "group = group_of(work)", "group = 0"),
    ("loads by the next group's maps", "group = group_of(work)", "group = work.batch + 1"),
    ("loads of B by the maps of A", "maps_of(params.maps[kMapB], params.b)", "maps_of(params.maps[kMapB], params.a)"),
    ("loads by the map that all have in common", "return reinterpret_cast<const TensorMap *>(own.pointer);",
     "return &map;"),
    # Who stores by them.
    ("D's map is not acquired", "        if (issuer_ && map != map_) {", "        if (false) {"),
    ("only the first group's map of D is acquired", "        map_ = map;\n        store(row, col, 0);",
     "        store(row, col, 0);\n        map_ = map;"),
    ("D by the first group's map", "(params.d.pointer) + batch,", "(params.d.pointer) + 0 * batch,"),
    ("D by the maps of B", "reinterpret_cast<const TensorMap *>(params.d.pointer)",
     "reinterpret_cast<const TensorMap *>(params.b.pointer)"),
    ("the product waits for no maps", "        ptx::grid_dependency_wait();\n    }", "    }"),
    ("the product of sm_100a waits for no maps",
     "            __syncwarp();\n        }\n        ptx::grid_dependency_wait();",
     "            __syncwarp();\n        }"),
    # Who writes them.
    ("the first group's address", "pointers != nullptr ? pointers[group]", "pointers != nullptr ? pointers[0]"),
    ("no group's address", "ptx::replace_map_address(place,", "if (false) ptx::replace_map_address(place,"),
    ("rows as far apart as the first group's", "lds != nullptr ? lds[group] : matrix.ld",
     "lds != nullptr ? lds[0] : matrix.ld"),
    ("rows as far apart as of all", "lds != nullptr ? lds[group] : matrix.ld", "matrix.ld"),
    ("elements for bytes", "ld * matrix.element_bits / 8", "ld"),
    ("one row from half to half", "matrix.stride_rows[kIndex] * row_bytes", "row_bytes"),
    ("rows without a distance", "matrix.stride_rows[kIndex] * row_bytes +", "0 * row_bytes +"),
    ("a group has a row less", "replace_size<kMDim>(place, sizes.m);",
     "replace_size<kMDim>(place, sizes.m > 1 ? sizes.m - 1 : 1);"),
    ("rows are the other dimension", "replace_size<kMDim>(place, sizes.m);",
     "replace_size<kMDim < 0 ? -1 : 1 - kMDim>(place, sizes.m);"),
    ("all to the first group's place", "group * sizeof(TensorMap)", "0 * sizeof(TensorMap)"),
    ("A for D", "GroupMapsOfD::write(params.matrices[2]", "GroupMapsOfD::write(params.matrices[0]"),
    ("no map of D", "GroupMapsOfD::write(params.matrices[2], group, sizes, rooms[warp], lane);", ""),
    ("A for B", "MapsOfB::write(params.matrices[1]", "MapsOfB::write(params.matrices[0]"),
    ("half of the groups", "at < 3 * params.groups;", "at < 3 * params.groups / 2;"),
    ("CTAs that write what their neighbours do", "blockIdx.x * kMapWarps + warp", "blockIdx.x + warp"),
    ("warps of a CTA share a room", "rooms[warp], lane", "rooms[0], lane"),
    ("a word of each map is missing", "reinterpret_cast<u32 *>(&room)[lane] = matrix.map[lane];",
     "if (lane > 0) reinterpret_cast<u32 *>(&room)[lane] = matrix.map[lane];"),
    ("published by half of the warp", "ptx::publish_map(matrix.to", "if (lane < 16) ptx::publish_map(matrix.to"),
]
# K that ends inside of 16 bytes, of a block and with one, and none; N about a tile's, and none.
OWN = ["groups=5", "group_by=pointers", "dynamic=n,k", "--group-sizes", "300,7,129,1,75", "--group-ns",
       "129,264,7,0,200", "--group-ks", "0,65,128,64,201"]
OWN_KERNELS = {
    "N and K of its own": ["m=300", "n=264", "k=201", "a=bf16", "c=bf16", *OWN, "--epilogue", "d = acc * u + bias + N;",
                           "--operand", "u:column_vector:f32", "--operand", "bias:row_vector:bf16", "--arch", "sm_90a", "--config", "tile=128x128"],
    "N and K of its own, transposed": ["m=300", "n=264", "k=208", "a=bf16", "d=f32", "layout=tn", *OWN, "--arch",
                                       "sm_100a", "--config", "mma=128x32 swap_ab=1"],
    "N and K of its own, by maps": ["m=300", "n=264", "k=208", "a=bf16", "d=f32", *OWN, "--arch", "sm_90a",
                                    "--config", "tile=128x128 cluster=1x2 group_maps=1"],
}
# Tried in the kernels whose groups have an N and a K of their own.
OWN_FAULTS = [
    ("all groups have the launch's N", "if (sizes_ != nullptr) {\n                const i32 size",
     "if (false) {\n                const i32 size"),
    ("the N of the next group", "const i32 size = sizes_[group];\n                return",
     "const i32 size = sizes_[group + 1];\n                return"),
    ("as many tiles across as the launch has", "return clusters_across(columns_.of(group));", "return across_;"),
    ("tiles across are those of the first group", "columns_.of(group));", "columns_.of(0));"),
    ("columns end where the first group's do", "columns_.of(group) : 0}", "columns_.of(0) : 0}"),
    ("the launch's columns are stored", "this->n = tile.column_end;", ""),
    ("columns are rows", "this->n = tile.column_end;", "this->n = tile.group_end;"),
    ("N is the group's own", "return static_cast<int>(all_columns);", "return static_cast<int>(ShapeT::n);"),
    ("K beyond the group's", "kEndsK ? work.k_end", "kEndsK ? shape_.k"),
    ("the K of the first group", "const u32 k = depths_.of(group);", "const u32 k = depths_.of(0);"),
    ("a block of K too few", "max_u32(ceil_div(k, Config::kBlockK), 1),", "max_u32(k / Config::kBlockK, 1),"),
    ("a group without K reads its first block", "k == 0 ? Config::kBlockK : 0", "0"),
    ("a group's K is not handed on", "                        part.end};", "                        0};"),
    ("N by the array of K", "{shape.group_ns, Config", "{shape.group_ks, Config"),
    ("K by the array of N", "{shape.group_ks, shape.k}", "{shape.group_ns, shape.k}"),
    ("the maps' K is the launch's", "replace_size<kKDim>(place, max_u32(sizes.k, 1));", ""),
    ("the maps' N is the launch's", "replace_size<kNDim>(place, sizes.n);", ""),
    ("the maps' N and K change places", "replace_size<kNDim>(place, sizes.n);",
     "replace_size<kKDim>(place, sizes.n);"),
    ("a map of a group without K says so", "max_u32(sizes.k, 1)", "sizes.k"),
]
# Looked for in tests: which ones, and what they say.
TESTED = [
    ("a map has a row of the next group", "pointer_groups/nothing_is_read*", "[out-of-bounds]",
     "replace_size<kMDim>(place, sizes.m);", "replace_size<kMDim>(place, sizes.m + 1);"),
    ("a map has M rows", "pointer_groups/nothing_is_read*", "[out-of-bounds]",
     "replace_size<kMDim>(place, sizes.m);", ""),
    ("more rows than M", "pointer_groups/nothing_is_read*", "[out-of-bounds]",
     "GroupSize<true>(params.group_sizes, params.m)", "GroupSize<true>(params.group_sizes, ~0u)"),
    # No number shows it: what is read there becomes columns that nobody stores.
    ("columns of B beyond the group's", "pointer_groups/sizes_of_each*", "[out-of-bounds]",
     "kOwnN ? work.column_end : ", ""),
    ("written while the product before loads by them", "pointer_groups/launches_of_a_stream*", "[",
     "        ptx::grid_dependency_wait();\n        ptx::launch_dependent_grids();",
     "        ptx::launch_dependent_grids();"),
    ("addresses of the launch before", "pointer_groups/kernel_before*", "[race]",
     "        ptx::grid_dependency_wait();\n        ptx::launch_dependent_grids();",
     "        ptx::launch_dependent_grids();"),
]


def main():
    tool, emulator, nvrtc, program = (pathlib.Path(word).resolve() for word in sys.argv[1:5])
    with tempfile.TemporaryDirectory(prefix="jit_gemm_group_maps_faults_") as holder, pool() as workers:
        kernels = Kernels(tool, emulator, nvrtc, holder)
        jobs = kernels.all_unchanged(KERNELS, "GroupMapsMatrix")
        jobs += kernels.all_unchanged(OWN_KERNELS, "GroupSize")
        jobs += [(name, partial(kernels.seen_in, OWN_KERNELS, before, after))
                 for name, before, after in OWN_FAULTS[::OWN_EVERY]]
        jobs += [(name, partial(kernels.seen_in, KERNELS, before, after))
                 for name, before, after in FAULTS[::EVERY]]
        jobs += [(name, partial(seen_in_tests, program, tests, nvrtc, (said,), before, after))
                 for name, tests, said, before, after in TESTED]
        sys.exit(report(workers, jobs, [*FAULTS, *OWN_FAULTS, *((name, *code) for name, _, _, *code in TESTED)]))


if __name__ == "__main__":
    main()
