# SPDX-License-Identifier: MIT
"""A product with groups in Triton, for torch_grouped.py: one persistent launch, offsets read on the device,
tiles by tensor maps, the fastest of a few tile shapes for each shape and number of rows."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# BLOCK_M, BLOCK_N, BLOCK_K in bytes, stages, warps
TILES = [(128, 256, 128, 4, 8), (128, 128, 128, 4, 8), (128, 128, 256, 3, 8), (64, 256, 128, 4, 8),
         (64, 128, 128, 5, 4), (16, 128, 256, 5, 4), (16, 256, 256, 4, 4)]


@triton.jit
def multiply_groups(a_map, b_map, d, offsets, groups, n, k, block_m: tl.constexpr, block_n: tl.constexpr,
                    block_k: tl.constexpr, programs: tl.constexpr):
    across = tl.cdiv(n, block_n)
    entry = tl.program_id(0)
    first = 0
    begin = 0
    for group in range(groups):
        end = tl.load(offsets + group)
        along = tl.cdiv(end - begin, block_m)
        while entry < first + along * across:
            row = begin + (entry - first) % along * block_m
            column = (entry - first) // along * block_n
            sums = tl.zeros((block_m, block_n), tl.float32)
            for inner in range(0, k, block_k):
                rows = a_map.load([row, inner])
                columns = b_map.load([group * n + column, inner])
                sums = tl.dot(rows, columns.T, sums)
            i = row + tl.arange(0, block_m)
            j = column + tl.arange(0, block_n)
            tl.store(d + i[:, None].to(tl.int64) * n + j[None, :], sums.to(d.dtype.element_ty),
                     mask=(i < end)[:, None] & (j < n)[None, :])
            entry += programs
        first += along * across
        begin = end


class GroupedProduct:
    """D[rows of a group] = A[rows] * B[group]^T, for one A, B and D; N a multiple of the tile's."""

    def __init__(self, a, b, d, tile):
        block_m, block_n, k_bytes, self.stages, self.warps = tile
        self.block = (block_m, block_n, k_bytes // a.element_size())
        groups, n, k = b.shape
        if n % block_n != 0:
            raise ValueError("N is no multiple of the tile's")
        self.a = TensorDescriptor.from_tensor(a, [block_m, self.block[2]])
        self.b = TensorDescriptor.from_tensor(b.view(groups * n, k), [block_n, self.block[2]])
        self.d, self.sizes = d, (groups, n, k)
        self.programs = torch.cuda.get_device_properties(a.device).multi_processor_count

    def run(self, offsets):
        multiply_groups[(self.programs,)](self.a, self.b, self.d, offsets, *self.sizes, *self.block, self.programs,
                                          num_stages=self.stages, num_warps=self.warps)


def find_fastest(a, b, d, offsets):
    """The tile of TILES that takes the least time of three launches."""
    times = {}
    for tile in TILES:
        try:
            product = GroupedProduct(a, b, d, tile)
            product.run(offsets)
        except Exception as error:  # of a tile for which there is no room, and whatever else a version refuses
            print(f"triton {tile}: {str(error).splitlines()[0][:100]}")
            continue
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(3):
            product.run(offsets)
        end.record()
        torch.cuda.synchronize()
        times[tile] = start.elapsed_time(end)
    return min(times, key=times.get)
