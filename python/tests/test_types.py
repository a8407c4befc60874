# SPDX-License-Identifier: MIT
"""Element types and scales, against numpy in f64."""

import functools
import unittest

from support import (
    DEVICE,
    CompilerTest,
    context,
    expect_close,
    main,
    ml_dtypes,
    needs_numpy,
    numpy,
    product,
    random,
    rng,
    wide,
)

import jit_gemm
from jit_gemm import _enums, _view


def decode_e4m3(bits):
    """Values of e4m3, from its definition."""
    table = []
    for code in range(256):
        exponent, fraction = (code >> 3) & 15, code & 7
        value = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0**-9
        table.append(numpy.nan if code & 127 == 127 else -value if code & 128 else value)
    return numpy.array(table)[bits]


def spread(scales, block, rows, k):
    """The scale of each element, of blocks of `block` rows and 128 along K."""
    return numpy.repeat(numpy.repeat(wide(scales), block, 0), 128, 1)[:rows, :k]


def places(rows, blocks):
    """Where the scales of rows and blocks lie in layout 128x4, from its definition."""
    r, kb = numpy.indices((rows, blocks))
    piece = r // 128 * -(-blocks // 4) + kb // 4
    return piece * 512 + r % 32 * 16 + r % 128 // 32 * 4 + kb % 4


def aligned(array):
    """A copy at a multiple of 32 bytes, of which elements of e2m1 beside larger ones begin."""
    raw = numpy.empty(array.nbytes + 32, numpy.uint8)
    begin = -raw.ctypes.data % 32
    copy = raw[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def swizzle(scales):
    rows, blocks = scales.shape
    flat = numpy.full(-(-rows // 128) * -(-blocks // 4) * 512, 0xFF, numpy.uint8)
    flat[places(rows, blocks)] = scales
    return flat


def swizzle_back(flat, rows, blocks):
    return flat[places(rows, blocks)]


@functools.lru_cache(maxsize=None)
def blackwell():
    return jit_gemm.Context("emulator", arch="sm_100a")


class Names(unittest.TestCase):
    def test_all_but_addresses_are_types_of_the_interface(self):
        # What reads the table for torch asks the library about each of them.
        for ours in _view.FROM_NAME.values():
            with self.subTest(ours):
                is_known = ours.upper() in _enums.Dtype.__members__
                self.assertEqual(is_known, ours != _view.NO_ELEMENTS)


@needs_numpy
class Types(CompilerTest):
    def test_f32_is_multiplied_as_tf32_where_that_is_said(self):
        # Few fraction bits, so that nothing is rounded on the way in.
        a = rng().integers(-8, 9, (40, 24)).astype(numpy.float32) / 8
        b = rng().integers(-8, 9, (24, 32)).astype(numpy.float32) / 8
        result = jit_gemm.gemm(jit_gemm.tf32(a), jit_gemm.tf32(b.T.copy().T), context=context())
        self.assertEqual(result.dtype, numpy.float32)
        self.assertTrue((result == product(a, b)).all())

    def test_integers_are_exact(self):
        a = rng().integers(-128, 128, (40, 48)).astype(numpy.int8)
        b = rng().integers(-128, 128, (32, 48)).astype(numpy.int8).T
        result = jit_gemm.gemm(a, b, context=context())
        self.assertEqual(result.dtype, numpy.int32)
        self.assertTrue((result == product(a, b)).all())

    @unittest.skipIf(ml_dtypes is None, "there is no ml_dtypes")
    def test_bf16_is_that_of_ml_dtypes(self):
        a, b = random((40, 32), ml_dtypes.bfloat16), random((32, 48), ml_dtypes.bfloat16)
        bias = random((48,), ml_dtypes.bfloat16)
        result = jit_gemm.gemm(a, b, "bias", context=context(), bias=bias)
        self.assertEqual(result.dtype, ml_dtypes.bfloat16)
        expect_close(self, result, product(a, b) + wide(bias), 32, "bfloat16")

    def test_bf16_may_be_bits_of_uint16(self):
        a32, b32 = random((40, 32), "float32"), random((32, 48), "float32")
        a, b = ((x.view(numpy.uint32) >> 16).astype(numpy.uint16) for x in (a32, b32))
        cut = [(x.astype(numpy.uint32) << 16).view(numpy.float32) for x in (a, b)]
        bits = [jit_gemm.view(x, "bf16") for x in (a, b)]
        result = jit_gemm.gemm(*bits, dtype="f32", context=context())
        expect_close(self, result, product(*cut), 32, "float32")

    def test_eight_bit_floats_are_bits_of_uint8_with_scales(self):
        a = rng().integers(0, 127, (40, 64)).astype(numpy.uint8)
        b = rng().integers(0, 127, (32, 64)).astype(numpy.uint8).T
        scale, scales = numpy.float32([0.01]), random((32,), "float32")
        result = jit_gemm.gemm(
            jit_gemm.view(a, "e4m3"),
            jit_gemm.view(b, "e4m3"),
            dtype="f32",
            a_scale=scale,
            b_scale=scales,
            context=context(),
        )
        reference = decode_e4m3(a) @ decode_e4m3(b) * wide(scale) * wide(scales)
        # Hopper's tensor cores keep 13 fraction bits of a sum of 128 products.
        magnitude = abs(decode_e4m3(a)) @ abs(decode_e4m3(b)) * wide(scale) * abs(wide(scales))
        self.assertLess(numpy.max(abs(result - reference) / magnitude), 2**-9)

    def test_scales_of_blocks_are_those_of_the_problem(self):
        m, n, k = 40, 32, 256
        a = rng().integers(0, 127, (m, k)).astype(numpy.uint8)
        b = rng().integers(0, 127, (n, k)).astype(numpy.uint8)
        a_scale = rng().uniform(0.001, 0.01, (m, 2)).astype(numpy.float32)
        b_scale = rng().uniform(0.001, 0.01, (1, 2)).astype(numpy.float32)
        inputs = jit_gemm.view(a, "e4m3"), jit_gemm.view(b, "e4m3")
        words = "a_scale=1x128 b_scale=128x128"
        result = jit_gemm.gemm(
            inputs[0],
            jit_gemm.view(b.T, "e4m3"),
            dtype="f32",
            a_scale=a_scale,
            b_scale=b_scale,
            problem=words,
            context=context(),
        )
        first = decode_e4m3(a) * numpy.repeat(wide(a_scale), 128, 1)
        second = decode_e4m3(b) * numpy.repeat(wide(b_scale), 128, 1)
        numpy.testing.assert_allclose(result, first @ second.T, rtol=1e-3, atol=0.05)
        kernel = jit_gemm.Gemm(context(), f"{m}x{n}x{k} e4m3 d=f32 {words}")
        for wrong, why in (
            (a_scale[:, :1], "320 bytes"),
            (a_scale[1:], "320 bytes"),
            (numpy.tile(a_scale, (2, 1)), r"\(80, 2\): .* are \(40, 2\) and packed, 320 bytes"),
            (numpy.asfortranarray(a_scale), "name a_scale_layout=column in the problem"),
            (numpy.repeat(a_scale, 2, 1)[:, ::2], r"strides \(4, 2\) .*, row; copy the array$"),
            (a_scale[::-1], r"strides \(-2, 1\) .*, row; copy the array$"),
            (numpy.broadcast_to(a_scale[0], (m, 2)), r"strides \(0, 1\) .*, row; copy the array$"),
            (numpy.repeat(a_scale.ravel(), 2)[::2], r"strides \(2,\) have gaps"),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "a_scale: .*" + why):
                kernel.run(
                    inputs[0], jit_gemm.view(b.T, "e4m3"), result, a_scale=wrong, b_scale=b_scale
                )

    def test_scales_of_blocks_are_those_that_shapes_and_strides_say(self):
        m, n, k = 130, 258, 300
        a = rng().integers(0, 127, (m, k)).astype(numpy.uint8)
        b = rng().integers(0, 127, (n, k)).astype(numpy.uint8)
        inputs = jit_gemm.view(a, "e4m3"), jit_gemm.view(b.T, "e4m3")
        for a_block, b_block in ((1, 128), (1, 1), (128, 1)):
            first = rng().uniform(0.001, 0.01, (-(-m // a_block), 3)).astype(numpy.float32)
            second = rng().uniform(0.001, 0.01, (-(-n // b_block), 3)).astype(numpy.float32)
            wide_a = decode_e4m3(a) * spread(first, a_block, m, k)
            wide_b = decode_e4m3(b) * spread(second, b_block, n, k)
            gaps = numpy.full((len(first), 7), numpy.nan, numpy.float32)
            gaps[:, 1:4] = first
            for a_scale, b_scale in (
                (first, second.T),
                (numpy.asfortranarray(first), numpy.ascontiguousarray(second.T)),
                (gaps[:, 1:4], second.T),
            ):
                result = jit_gemm.gemm(
                    *inputs, dtype="f32", a_scale=a_scale, b_scale=b_scale, context=context()
                )
                numpy.testing.assert_allclose(result, wide_a @ wide_b.T, rtol=1e-3, atol=0.05)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, r"b_scale: .*\(3, 258\) or \(3, 3\)"):
            jit_gemm.gemm(*inputs, dtype="f32", a_scale=first, b_scale=second, context=context())

    def test_scales_of_rows_by_an_index_are_those_of_all_of_a(self):
        m, n, k, rows = 200, 32, 256, 64
        a = rng().integers(0, 127, (rows, k)).astype(numpy.uint8)
        b = rng().integers(0, 127, (n, k)).astype(numpy.uint8)
        index = rng().integers(0, rows, m).astype(numpy.int32)
        blocks = rng().uniform(0.001, 0.01, (rows, 2)).astype(numpy.float32)
        for words, scale, wide_scale in (
            ("1x128", blocks, spread(blocks, 1, rows, k)),
            ("vector", blocks[:, 0].copy(), wide(blocks[:, :1])),
        ):
            problem = f"{m}x{n}x{k} e4m3 d=f32 a_rows=indexed a_scale={words}"
            out = numpy.zeros((m, n), numpy.float32)
            jit_gemm.Gemm(context(), problem).run(
                jit_gemm.view(a, "e4m3"),
                jit_gemm.view(b.T, "e4m3"),
                out,
                a_scale=scale,
                a_rows=index,
            )
            wanted = (decode_e4m3(a) * wide_scale)[index] @ decode_e4m3(b).T
            # The tensor core of an H200 cuts what it adds up to 13 bits behind the point.
            numpy.testing.assert_allclose(out, wanted, rtol=5e-3, atol=0.05)

    @unittest.skipIf(DEVICE != "emulator", "sm_100a's tensor core multiplies by them")
    def test_mx_and_nvfp4_are_flat_scales_and_pairs_of_e2m1(self):
        m, n, k = 40, 96, 256
        a, b = (rng().integers(0, 256, (rows, k // 2)).astype(numpy.uint8) for rows in (m, n))
        wide_a, wide_b = (jit_gemm.to_float(x, "e2m1").astype(float) for x in (a, b))
        for block, codes, dtype in ((16, (48, 72), "ue4m3"), (32, (124, 131), "ue8m0")):
            scales, flat = [], []
            for rows in (m, n):
                own = rng().integers(*codes, (rows, k // block)).astype(numpy.uint8)
                values = jit_gemm.to_float(own, dtype)
                scales.append(numpy.repeat(values, block, 1))
                flat.append(jit_gemm.view(swizzle(own), dtype))
            result = jit_gemm.gemm(
                jit_gemm.view(a, "e2m1"),
                jit_gemm.view(b.T, "e2m1"),
                dtype="f32",
                alpha=0.5,
                a_scale=flat[0],
                b_scale=flat[1],
                context=blackwell(),
            )
            wanted = 0.5 * (wide_a * scales[0]) @ (wide_b * scales[1]).T
            numpy.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-3)

    @unittest.skipIf(DEVICE != "emulator", "sm_100a's tensor core multiplies by them")
    def test_scales_of_a_byte_are_bits_of_any_array_of_as_many(self):
        m, n, k = 40, 96, 256
        a = aligned(rng().integers(0, 256, (m, k // 2)).astype(numpy.uint8))
        b = rng().integers(0, 127, (n, k)).astype(numpy.uint8)
        own = [rng().integers(124, 131, (rows, k // 32)).astype(numpy.uint8) for rows in (m, n)]
        words = numpy.ascontiguousarray(own[1].view(numpy.int32).T)  # mn_k4
        kernel = jit_gemm.Gemm(
            blackwell(),
            f"{m}x{n}x{k} a=mxfp4 a_scale_layout=row b=mxfp8 b_scale_layout=mn_k4 d=f32",
        )
        result = numpy.zeros((m, n), numpy.float32)
        inputs = jit_gemm.view(a, "e2m1"), jit_gemm.view(b.T, "e4m3")
        kernel.run(*inputs, result, a_scale=own[0], b_scale=words)
        first, second = (numpy.repeat(2.0 ** (x - 127.0), 32, 1) for x in own)
        left, right = jit_gemm.to_float(a, "e2m1") * first, decode_e4m3(b) * second
        # Eight sums of 32 products, each cut off at 2^-22 of what is added up.
        most = numpy.abs(left) @ numpy.abs(right).T * 8 * 2.0**-22
        numpy.testing.assert_array_less(numpy.abs(result - left @ right.T), most)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "a_scale: .*a_scale_layout=row"):
            two = jit_gemm.view(own[0], "ue8m0")
            jit_gemm.gemm(*inputs, dtype="f32", a_scale=two, b_scale=two, context=blackwell())

    def test_e2m1_with_its_scales_is_a_result(self):
        m, n, k = 33, 128, 64
        a = rng().integers(-9, 10, (m, k)).astype(numpy.int8)
        b = rng().integers(-9, 10, (n, k)).astype(numpy.int8)
        flat = numpy.zeros(-(-m // 128) * 128 * n // 16, numpy.uint8)
        result = jit_gemm.gemm(
            a,
            b.T,
            dtype="e2m1",
            problem="output_align=1",
            d_scale=jit_gemm.view(flat, "ue4m3"),
            context=context(),
        )
        self.assertEqual((result.shape, result.dtype), ((m, n // 2), numpy.uint8))
        scales = jit_gemm.to_float(swizzle_back(flat, m, n // 16), "ue4m3")
        found = jit_gemm.to_float(result, "e2m1") * numpy.repeat(scales, 16, 1)
        values = product(a, b.T).clip(-6 * 448, 6 * 448)
        self.assertLess(numpy.linalg.norm(found - values) / numpy.linalg.norm(values), 0.15)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "dtype: .*give dtype="):
            jit_gemm.gemm(
                jit_gemm.view(result, "e2m1"), jit_gemm.view(result.T, "e2m1"), context=context()
            )

    def test_scales_of_groups_have_room_for_bands_and_of_indexed_rows_for_d(self):
        m, n, k, ends = 40, 64, 32, numpy.array([5, 40], numpy.int32)
        a, b = random((m, k)), random((2, n, k)).transpose(0, 2, 1)
        problem = f"m={m} n={n} k={k} a=f16 d=e4m3 d_scale=mx d_scale_layout=128x4 groups=2"
        kernel = jit_gemm.Gemm.create(context(), problem)
        out = jit_gemm.view(numpy.zeros((m, n), numpy.uint8), "e4m3")
        bands = numpy.zeros(2 * 512, numpy.uint8)  # 128 rows of each group
        for short in (bands[:512], bands[:-1]):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "d_scale: its shape .*take 1024"):
                kernel.run(a, b, out, d_scale=short, group_sizes=ends)
        kernel.run(a, b, out, d_scale=bands, group_sizes=ends)
        self.assertTrue(bands[0] != 0 and bands[512] != 0)
        kernel = jit_gemm.Gemm.create(context(), problem + " d_rows=indexed")
        index = numpy.arange(m, dtype=numpy.int32)[::-1].copy()
        own = numpy.zeros(512, numpy.uint8)
        kernel.run(a, b, out, d_scale=own, group_sizes=ends, d_rows=index)
        self.assertEqual(own[0], bands[512 + 34 % 32 * 16 + 34 // 32 * 4])

    def test_computed_scales_are_those_of_blocks_as_d_lies(self):
        m, n, k = 160, 300, 64
        a = rng().integers(-9, 10, (m, k)).astype(numpy.int8)
        b = rng().integers(-9, 10, (n, k)).astype(numpy.int8)
        for words, block in (("1x128", (1, 128)), ("128x128", (128, 128))):
            for by_columns in (False, True):
                lines, width = (n, m) if by_columns else (m, n)
                shape = (-(-lines // block[0]), -(-width // 128))
                memory = numpy.zeros((lines, width), numpy.uint8)
                scales = numpy.zeros(shape, numpy.float32)
                layout = " d_layout=column" if by_columns else ""
                problem = f"{m}x{n}x{k} s8 d=e4m3 output_align=1 d_scale={words}{layout}"
                kernel = jit_gemm.Gemm(context(), problem)
                out = jit_gemm.view(memory.T if by_columns else memory, "e4m3")
                kernel.run(a, b.T, out, d_scale=scales)
                values = product(a, b.T).T if by_columns else product(a, b.T)
                wide_scales = numpy.repeat(numpy.repeat(scales, block[0], 0), 128, 1)
                found = decode_e4m3(memory) * wide_scales[:lines, :width]
                numpy.testing.assert_allclose(found, values, rtol=2**-4, atol=0.02 * 64 * 81 / 448)
                for row, column in numpy.ndindex(*shape):
                    part = values[row * block[0] :, column * 128 :][: block[0], :128]
                    want = numpy.float32(abs(part).max()) / numpy.float32(448)
                    self.assertEqual(scales[row, column], want)
                with self.assertRaisesRegex(jit_gemm.ArgumentError, "d_scale: its shape is"):
                    kernel.run(a, b.T, out, d_scale=scales[:-1])
                with self.assertRaisesRegex(jit_gemm.ArgumentError, "d_scale: .*that shape"):
                    kernel.run(a, b.T, out, d_scale=numpy.tile(scales, 2))


if __name__ == "__main__":
    main()
