# SPDX-License-Identifier: MIT
"""Element types and scales, against numpy in f64."""

import unittest

from support import (
    CompilerTest,
    context,
    expect_close,
    main,
    ml_dtypes,
    needs_numpy,
    numpy,
    random,
    rng,
    wide,
)

import jit_gemm
from jit_gemm import _enums, _view


def product(a, b):
    return wide(a) @ wide(b)


def decode_e4m3(bits):
    """Values of e4m3, from its definition."""
    table = []
    for code in range(256):
        exponent, fraction = (code >> 3) & 15, code & 7
        value = (8 + fraction) * 2.0 ** (exponent - 10) if exponent else fraction * 2.0**-9
        table.append(numpy.nan if code & 127 == 127 else -value if code & 128 else value)
    return numpy.array(table)[bits]


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
        for wrong in (a_scale[:, :1], numpy.repeat(a_scale, 2, 0)[::2], a_scale[1:]):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "a_scale: .*320 bytes"):
                kernel.run(
                    inputs[0], jit_gemm.view(b.T, "e4m3"), result, a_scale=wrong, b_scale=b_scale
                )

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


if __name__ == "__main__":
    main()
