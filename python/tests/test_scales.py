# SPDX-License-Identifier: MIT
"""Scales of blocks from one layout to another, on the host and on a device, against the layouts'
definitions (docs/scales.md)."""

import itertools
import unittest

from support import CompilerTest, context, main, needs_numpy, numpy, rng
from torch_support import DEVICE, torch

import jit_gemm

BYTE_LAYOUTS = ("row", "column", "128x4", "8x4", "mn_k4")
# Rows and elements of K or columns that a block has, and bytes of a scale.
BLOCKS = {
    "1x128": (1, 128, 4),
    "128x128": (128, 128, 4),
    "1x128ue8m0": (1, 128, 1),
    "128x128ue8m0": (128, 128, 1),
    "mx": (1, 32, 1),
    "nv": (1, 16, 1),
}


def places(layout, rows, blocks):
    """Where scale (r, kb) lies, and how many a batch has."""
    r, kb = numpy.ogrid[:rows, :blocks]
    words, ld = -(-blocks // 4), -(-rows // 4) * 4
    if layout == "row":
        return r * blocks + kb, rows * blocks
    if layout == "column":
        return kb * ld + r, blocks * ld
    if layout == "mn_k4":
        return (kb // 4 * ld + r) * 4 + kb % 4, words * ld * 4
    if layout == "8x4":
        return (r // 8 * words + kb // 4) * 32 + r % 8 * 4 + kb % 4, -(-rows // 8) * words * 32
    place = (r // 128 * words + kb // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + kb % 4
    return place, -(-rows // 128) * words * 512


def laid_out(scales, layout, rest):
    """Scales (batch, rows, blocks) in a layout; what belongs to no block is `rest`."""
    index, size = places(layout, *scales.shape[1:])
    memory = numpy.full((len(scales), size), rest, scales.dtype)
    memory[:, index] = scales
    return memory


def draw(block, mn, k, batch=1):
    """Random scales (batch, rows, blocks) of any bits."""
    block_mn, block_k, size = BLOCKS[block]
    shape = (batch, -(-mn // block_mn), -(-k // block_k))
    return rng().integers(1, 1 << 8 * size, shape, f"uint{8 * size}")


def as_given(memory, block):
    return memory.view(numpy.float32) if BLOCKS[block][2] == 4 else memory


def bits(array):
    return numpy.asarray(array).reshape(-1).view(numpy.uint8)


@needs_numpy
class OnTheHost(unittest.TestCase):
    def test_every_pair_of_layouts_is_as_defined(self):
        for block, (_, _, size) in BLOCKS.items():
            layouts = BYTE_LAYOUTS if size == 1 else BYTE_LAYOUTS[:2]
            for before, after in itertools.product(layouts, layouts):
                mn, k, batch = (int(rng().integers(1, most)) for most in (400, 1500, 4))
                scales = draw(block, mn, k, batch)
                given = as_given(laid_out(scales, before, 0xA5), block)
                got = jit_gemm.convert_scales(given, block, mn, k, before, after)
                wanted = laid_out(scales, after, 0)
                numpy.testing.assert_array_equal(
                    bits(got), bits(wanted), f"{block} {mn} {k} {batch} {before} {after}"
                )
                self.assertEqual(got.dtype, given.dtype)

    def test_results_have_the_shape_of_their_layout(self):
        flat = numpy.zeros(5 * 3, numpy.uint8)
        for layout, shape in (("row", (5, 3)), ("column", (3, 8)), ("128x4", (512,))):
            got = jit_gemm.convert_scales(flat, "mx", 5, 96, "linear", layout)
            self.assertEqual(got.shape, shape)
        two = jit_gemm.convert_scales(flat[:10].reshape(2, 5), "mx", 5, 32, "row", "mn_k4")
        self.assertEqual(two.shape, (2, 32))

    def test_words_of_four_and_batches_with_gaps_are_taken(self):
        scales = draw("1x128ue8m0", 37, 1152, 2)
        packed = laid_out(scales, "mn_k4", 0xFF)
        words = numpy.full((2, packed.shape[1] // 4 + 3), -1, numpy.int32)
        words[:, :-3] = packed.view(numpy.int32)
        out = numpy.full((2, 3 * 512 + 512), 0x5A, numpy.uint8)
        made = out[:, : 3 * 512]
        got = jit_gemm.convert_scales(words[:, :-3], "1x128ue8m0", 37, 1152, "mn_k4", out=made)
        self.assertIs(got, made)
        numpy.testing.assert_array_equal(made, laid_out(scales, "128x4", 0))
        self.assertTrue((out[:, 3 * 512 :] == 0x5A).all())

    def test_what_hurts_is_counted(self):
        scales = numpy.full((1, 5, 3), 127, numpy.uint8)
        scales[0, 2, 1] = scales[0, 4, 0] = 0xFF
        found = jit_gemm.count_scales(laid_out(scales, "8x4", 7), "mx", 5, 96, "8x4")
        self.assertEqual((found.scales, found.nans, found.zeros), (15, 2, 0))
        self.assertEqual((found.first_row, found.first_block), (2, 1))
        self.assertEqual((found.padding, found.dirty_padding), (17, 17))
        floats = numpy.float32([[1, 0, -2], [numpy.inf, 3, numpy.nan]])
        found = jit_gemm.count_scales(floats, "1x128", 2, 384, "row")
        counts = (found.nans, found.infinities, found.negatives, found.zeros)
        self.assertEqual(counts, (1, 1, 1, 1))
        self.assertEqual((found.first_row, found.first_block), (0, 1))

    def test_wrong_arguments_are_named(self):
        scales = numpy.zeros((8, 4), numpy.uint8)
        fixed = numpy.zeros(512, numpy.uint8)
        fixed.flags.writeable = False
        cases = [
            (dict(block="1x32"), r"problem.a.scale.kind: .*1x32.*mx"),
            (dict(block="mx b_scale=mx"), "block: 'mx b_scale=mx' is no word"),
            (dict(block=None), "block: None is no word"),
            (dict(block="tensor"), "scale.layout: .* the scale is none of blocks"),
            (dict(to_layout="4x128"), "layout: unknown layout '4x128'"),
            (
                dict(block="1x128", to_layout="column"),
                "its elements are uint8, and those of these scales f32",
            ),
            (dict(mn=9), r"scales: its shape is \(8, 4\), 32 bytes: .* a batch take 36"),
            (dict(k=0), "k: it is 0; give elements"),
            (dict(mn=2**40), "mn: it is 1099511627776"),
            (dict(scales=scales[:, ::2], k=64), "scales: its strides"),
            (dict(scales=scales[:0]), "scales: its shape"),
            (dict(scales=scales.view(numpy.int32)), "scales: its elements are s32"),
            (dict(out=fixed), "out: it is read-only"),
            (dict(out=numpy.zeros(511, numpy.uint8)), "out: its shape .* take 512"),
            (dict(out=numpy.zeros((2, 512), numpy.uint8)), "out: it has 2 batches"),
            (dict(to_layout="row", out=scales), "out: it overlaps"),
            (dict(stream=0), "stream: scales in host memory"),
        ]
        for change, words in cases:
            given = dict(scales=scales, block="mx", mn=8, k=128, layout="row", to_layout="128x4")
            with self.assertRaisesRegex(jit_gemm.ArgumentError, words, msg=str(change)):
                jit_gemm.convert_scales(**{**given, **change})
        with self.assertRaisesRegex(
            jit_gemm.ArgumentError, "to_layout: 128x4 is one of scales of one byte"
        ):
            jit_gemm.convert_scales(
                numpy.zeros((4, 2), numpy.float32), "1x128", 4, 256, "row", "128x4"
            )
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "scales: it has 2 batches"):
            jit_gemm.count_scales(scales, "mx", 4, 128, "row")

    @unittest.skipIf(torch is None, "there is no torch")
    def test_tensors_stay_tensors(self):
        scales = draw("mx", 130, 320)
        for dtype in (torch.uint8, getattr(torch, "float8_e8m0fnu", torch.uint8)):
            for device in {"cpu", DEVICE}:  # of a GPU by a packer
                given = torch.from_numpy(scales[0].copy()).view(dtype).to(device)
                got = jit_gemm.convert_scales(given, "mx", 130, 320, "row")
                self.assertEqual((got.dtype, got.device), (dtype, given.device))
                numpy.testing.assert_array_equal(
                    got.view(torch.uint8).cpu().numpy(), laid_out(scales, "128x4", 0)[0]
                )


@needs_numpy
class OnADevice(CompilerTest):
    def test_a_packer_makes_the_hosts_bytes(self):
        for block, before, after in (
            ("mx", "row", "128x4"),
            ("nv", "mn_k4", "8x4"),
            ("1x128", "column", "row"),
        ):
            mn, k = 133, 1100
            scales = draw(block, mn, k, 2)
            given = as_given(laid_out(scales, before, 0xA5), block)
            wanted = jit_gemm.convert_scales(given, block, mn, k, before, after)
            own = {"mx": "ue8m0", "nv": "ue4m3", "1x128": None}[block]
            typed = jit_gemm.view(given, own) if own else given
            array = jit_gemm.DeviceArray.from_host(context(), typed)
            made = jit_gemm.convert_scales(array, block, mn, k, before, after)
            self.assertIsInstance(made, jit_gemm.DeviceArray)
            got = made.to_host(numpy.empty(wanted.shape, wanted.dtype))
            numpy.testing.assert_array_equal(bits(got), bits(wanted), block)

    def test_a_second_conversion_creates_nothing(self):
        array = jit_gemm.DeviceArray.zeros(context(), (8, 4), "ue8m0")
        out = jit_gemm.DeviceArray.zeros(context(), (512,), "ue8m0")
        jit_gemm.convert_scales(array, "mx", 8, 128, "row", out=out)
        creates = context().stats()["creates"]
        jit_gemm.convert_scales(array, "mx", 8, 128, "row", out=out)
        self.assertEqual(context().stats()["creates"], creates)

    def test_wrong_arguments_of_a_packer_are_named(self):
        array = jit_gemm.DeviceArray.zeros(context(), (8, 4), "ue8m0")
        out = jit_gemm.DeviceArray.zeros(context(), (512,), "ue8m0")
        with jit_gemm.Packer(context(), "mx", "row") as packer:
            self.assertEqual(packer.info.spill_bytes, 0)
            for scales, target, words in (
                (numpy.zeros((8, 4), numpy.uint8), out, "scales: it lies in host memory"),
                (array, numpy.zeros(512, numpy.uint8), "out: it lies in host memory"),
                (array, array, "out: its shape"),
                (jit_gemm.view(out, "e5m2"), out, "scales: its elements are e5m2"),
            ):
                with self.assertRaisesRegex(jit_gemm.ArgumentError, words):
                    packer.run(scales, target, 8, 128)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "packer: it is closed"):
            packer.run(array, out, 8, 128)

    def test_converted_scales_are_those_of_a_product(self):
        rows, n, k = 7, 40, 384
        a = jit_gemm.from_float(rng().uniform(-1, 1, (rows, k)).astype("float32"), "e4m3")
        b = jit_gemm.from_float(rng().uniform(-1, 1, (n, k)).astype("float32"), "e4m3")
        scales = numpy.exp2(rng().integers(-3, 3, (rows, 3))).astype(numpy.float32)
        weights = numpy.ones((1, 3), numpy.float32)
        views = jit_gemm.view(a, "e4m3"), jit_gemm.view(b.T, "e4m3")
        wanted = jit_gemm.gemm(
            *views, dtype="f32", a_scale=scales, b_scale=weights.T, context=context()
        )
        by_columns = jit_gemm.convert_scales(scales, "1x128", rows, k, "row", "column")
        got = jit_gemm.gemm(
            *views,
            dtype="f32",
            a_scale=by_columns[:, :rows].T,
            b_scale=weights.T,
            context=context(),
        )
        numpy.testing.assert_array_equal(got, wanted)


if __name__ == "__main__":
    main()
