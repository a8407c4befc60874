# SPDX-License-Identifier: MIT
"""A product with groups in Triton, for torch_grouped.py: one persistent launch, offsets read on the device,
tiles by tensor maps, the fastest of a few tile shapes for each shape and number of rows. Without scales, with
one of each row and column, or with those of 1x128 and 128x128, by which each 128 elements' sums are multiplied."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# BLOCK_M, BLOCK_N, BLOCK_K in bytes, stages, warps
TILES = [(128, 256, 128, 4, 8), (128, 128, 128, 4, 8), (128, 128, 256, 3, 8), (64, 256, 128, 4, 8),
         (64, 128, 128, 5, 4), (16, 128, 256, 5, 4), (16, 256, 256, 4, 4)]


# What a kernel reads besides its arguments is named as a constant of Triton's.
NONE, VECTORS, BLOCKS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
BLOCK = tl.constexpr(128)  # elements that have a scale


@triton.jit(do_not_specialize=["groups"])
def multiply_groups(a_map, b_map, d, a_scale, b_scale, offsets, groups, n, k, block_m: tl.constexpr,
                    block_n: tl.constexpr, block_k: tl.constexpr, scales: tl.constexpr, programs: tl.constexpr):
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
            i = row + tl.arange(0, block_m)
            j = column + tl.arange(0, block_n)
            sums = tl.zeros((block_m, block_n), tl.float32)
            for inner in range(0, k, block_k):
                rows = a_map.load([row, inner])
                columns = b_map.load([group * n + column, inner])
                if scales == BLOCKS:
                    of_rows = tl.load(a_scale + i * (k // BLOCK) + inner // BLOCK, mask=i < end, other=0.0)
                    first_scale = b_scale + group * (n // BLOCK) * (k // BLOCK) + inner // BLOCK
                    part = tl.dot(rows, columns.T)
                    if block_n == BLOCK:
                        sums += part * (of_rows * tl.load(first_scale + column // BLOCK * (k // BLOCK)))[:, None]
                    else:
                        sums += part * of_rows[:, None] * tl.load(first_scale + j // BLOCK * (k // BLOCK))[None, :]
                else:
                    sums = tl.dot(rows, columns.T, sums)
            if scales == VECTORS:
                of_rows = tl.load(a_scale + i, mask=i < end, other=0.0)
                sums = sums * of_rows[:, None] * tl.load(b_scale + group * n + j)[None, :]
            tl.store(d + i[:, None].to(tl.int64) * n + j[None, :], sums.to(d.dtype.element_ty),
                     mask=(i < end)[:, None] & (j < n)[None, :])
            entry += programs
        first += along * across
        begin = end


class GroupedProduct:
    """D[rows of a group] = A[rows] * B[group]^T, for one A, B and D; N a multiple of the tile's."""

    def __init__(self, data, d, tile):
        a, b = data["a"], data["b"]
        block_m, block_n, k_bytes, self.stages, self.warps = tile
        self.a_scale, self.b_scale = data.get("a_scale", d), data.get("b_scale", d)
        self.scales = (NONE if "a_scale" not in data else VECTORS if self.a_scale.dim() == 1 else BLOCKS).value
        self.block = (block_m, block_n, BLOCK.value if self.scales == BLOCKS.value else k_bytes // a.element_size())
        groups, n, k = b.shape
        if n % block_n != 0:
            raise ValueError("N is no multiple of the tile's")
        self.a = TensorDescriptor.from_tensor(a, [block_m, self.block[2]])
        self.b = TensorDescriptor.from_tensor(b.view(groups * n, k), [block_n, self.block[2]])
        self.d, self.sizes = d, (groups, n, k)
        self.programs = torch.cuda.get_device_properties(a.device).multi_processor_count

    def run(self, offsets):
        multiply_groups[(self.programs,)](self.a, self.b, self.d, self.a_scale, self.b_scale, offsets, *self.sizes,
                                          *self.block, self.scales, self.programs, num_stages=self.stages,
                                          num_warps=self.warps)


def find_fastest(data, d, offsets):
    """The tile of TILES that takes the least time of three launches."""
    times = {}
    for tile in TILES:
        try:
            product = GroupedProduct(data, d, tile)
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
