# SPDX-License-Identifier: MIT
"""Elements on the host: every encoding by its definition, roundings, arrays of others, errors."""

import array
import unittest

from support import main, ml_dtypes, needs_numpy, numpy, optional, rng

import jit_gemm

torch = optional("torch")

# Bits of exponent and fraction, bias, and encodings that are infinite or none.
FORMATS = {
    "bf16": (8, 7, 127, "ieee"),
    "f16": (5, 10, 15, "ieee"),
    "e5m2": (5, 2, 15, "ieee"),
    "e4m3": (4, 3, 7, "one_nan"),
    "e2m1": (2, 1, 1, "all_finite"),
}


def value_of(code, name):
    """An encoding's value, from the definition of its type."""
    exponent_bits, fraction_bits, bias, kind = FORMATS[name]
    sign = -1.0 if code >> (exponent_bits + fraction_bits) & 1 else 1.0
    exponent = code >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = code & ((1 << fraction_bits) - 1)
    is_last = exponent == (1 << exponent_bits) - 1
    if kind == "ieee" and is_last:
        return float("nan") if fraction else sign * float("inf")
    if kind == "one_nan" and is_last and fraction == (1 << fraction_bits) - 1:
        return float("nan")
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (1 + fraction / 2**fraction_bits) * 2.0 ** (exponent - bias)


def bits_of(values):
    """Arrays that are compared bit by bit, with NaN and the sign of zero."""
    return numpy.ascontiguousarray(values).view(f"uint{8 * values.dtype.itemsize}")


@needs_numpy
class Encodings(unittest.TestCase):
    def test_every_encoding_has_its_value_and_comes_back(self):
        for name in ("bf16", "f16", "e4m3", "e5m2"):
            width = 16 if name in ("bf16", "f16") else 8
            codes = numpy.arange(1 << width, dtype=f"uint{width}")
            wanted = numpy.array([value_of(int(code), name) for code in codes], "float32")
            values = jit_gemm.to_float(codes, name)
            self.assertEqual(values.dtype, numpy.float32)
            numpy.testing.assert_array_equal(values, wanted, name)
            finite = numpy.isfinite(wanted)
            back = jit_gemm.from_float(values, name)
            numpy.testing.assert_array_equal(bits_of(back)[finite], codes[finite], name)

    def test_elements_of_e2m1_lie_two_in_a_byte(self):
        codes = numpy.arange(256, dtype=numpy.uint8).reshape(8, 32)
        values = jit_gemm.to_float(codes, "e2m1")
        self.assertEqual(values.shape, (8, 64))
        for byte, pair in zip(codes.reshape(-1), values.reshape(-1, 2)):
            wanted = [value_of(int(byte) & 15, "e2m1"), value_of(int(byte) >> 4, "e2m1")]
            self.assertEqual(list(pair), wanted)
        numpy.testing.assert_array_equal(jit_gemm.from_float(values, "e2m1"), codes)
        odd = jit_gemm.from_float(numpy.float32([1.0, -2.0, 6.0]), "e2m1")
        self.assertEqual(odd.tolist(), [0xC2, 0x07])

    def test_scales_are_powers_of_two_that_are_not_less(self):
        values = numpy.float32([1, 1.5, 2, 0.75, -4, 0, 2.0**-127])
        scales = jit_gemm.from_float(values, "ue8m0")
        self.assertEqual(scales.tolist(), [127, 128, 128, 127, 129, 0, 0])
        self.assertEqual(
            jit_gemm.to_float(scales, "ue8m0").tolist(), [1, 2, 2, 1, 4] + [2.0**-127] * 2
        )
        self.assertEqual(jit_gemm.from_float(numpy.float32([-1.5]), "ue4m3").tolist(), [0x3C])

    def test_what_lies_between_goes_to_the_nearest_and_of_two_to_the_even_one(self):
        for name in ("e4m3", "e5m2", "e2m1"):
            last = {"e4m3": 0x7E, "e5m2": 0x7B, "e2m1": 7}[name]
            grid = numpy.array([value_of(code, name) for code in range(last + 1)])
            middle = ((grid[1:] + grid[:-1]) / 2).astype(numpy.float32)
            even = grid[[code + code % 2 for code in range(last)]]
            for move, wanted in ((0, even), (-1, grid[:-1]), (1, grid[1:])):
                values = middle if move == 0 else numpy.nextafter(middle, numpy.float32(move * 1e9))
                # Each beside a zero, so that a byte of e2m1 has one of them.
                pairs = numpy.stack([values, numpy.zeros_like(values)], axis=1)
                got = jit_gemm.to_float(jit_gemm.from_float(pairs, name), name)[:, 0]
                numpy.testing.assert_array_equal(
                    got, wanted.astype(numpy.float32), f"{name} {move}"
                )

    def test_what_is_too_great_saturates_or_is_infinite(self):
        values = numpy.float32([1e30, -1e30, numpy.inf, numpy.nan])
        for name, most in (("e4m3", 448), ("e5m2", 57344)):
            got = jit_gemm.to_float(jit_gemm.from_float(values, name), name)
            self.assertEqual(got[:3].tolist(), [most, -most, most])
            self.assertTrue(numpy.isnan(got[3]))
        self.assertEqual(
            jit_gemm.from_float(values[:3] * 1e8, "f16").tolist(),
            [numpy.inf, -numpy.inf, numpy.inf],
        )
        self.assertEqual(jit_gemm.from_float(values, "s8").tolist(), [127, -128, 127, 0])

    def test_f16_is_numpys_own(self):
        values = rng().standard_normal((37, 5)).astype(numpy.float32)
        got = jit_gemm.from_float(values, "f16")
        self.assertEqual(got.dtype, numpy.float16)
        numpy.testing.assert_array_equal(got, values.astype(numpy.float16))
        numpy.testing.assert_array_equal(jit_gemm.to_float(got), got.astype(numpy.float32))

    @unittest.skipIf(ml_dtypes is None, "there is no ml_dtypes")
    def test_types_of_ml_dtypes_are_taken_and_filled(self):
        values = rng().standard_normal((9, 6)).astype(numpy.float32)
        own = values.astype(ml_dtypes.bfloat16)
        out = numpy.empty(own.shape, ml_dtypes.bfloat16)
        self.assertIs(jit_gemm.from_float(values, "bf16", out=out), out)
        numpy.testing.assert_array_equal(bits_of(out), bits_of(own))
        numpy.testing.assert_array_equal(jit_gemm.to_float(out), own.astype(numpy.float32))


@needs_numpy
class Arrays(unittest.TestCase):
    def test_results_have_numpys_type_or_bits(self):
        values = numpy.zeros((3, 4), numpy.float32)
        wanted = {
            "bf16": "uint16",
            "f16": "float16",
            "f32": "float32",
            "tf32": "float32",
            "e4m3": "uint8",
            "e5m2": "uint8",
            "s8": "int8",
            "s32": "int32",
            "ue8m0": "uint8",
            "ue4m3": "uint8",
        }
        for name, own in wanted.items():
            got = jit_gemm.from_float(values, name)
            self.assertEqual((got.shape, got.dtype.name), ((3, 4), own), name)
            self.assertEqual(jit_gemm.to_float(got, name).shape, (3, 4), name)
        self.assertEqual(jit_gemm.from_float(values, "e2m1").shape, (3, 2))

    def test_bits_go_into_a_product(self):
        bits = jit_gemm.from_float(numpy.float32([[0.5, 3]]), "bf16")
        seen = jit_gemm.to_float(jit_gemm.view(bits, "bf16"))
        self.assertEqual(seen.tolist(), [[0.5, 3]])

    def test_tf32_may_be_rounded_in_place(self):
        values = numpy.float32([1 + 2.0**-11, 1 + 3 * 2.0**-11])
        self.assertIs(jit_gemm.from_float(values, "tf32", out=values), values)
        self.assertEqual(values.tolist(), [1, 1 + 2.0**-9])

    def test_no_elements_and_none_dimension(self):
        self.assertEqual(
            jit_gemm.from_float(numpy.empty((0, 4), numpy.float32), "e4m3").shape, (0, 4)
        )
        self.assertEqual(jit_gemm.from_float(numpy.float32(2).reshape(()), "bf16").shape, ())

    @unittest.skipIf(torch is None, "there is no torch")
    def test_tensors_have_torchs_types(self):
        values = torch.randn(5, 8)
        got = jit_gemm.from_float(values, "bf16")
        self.assertEqual(got.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(got, values.to(torch.bfloat16)))
        self.assertTrue(torch.equal(jit_gemm.to_float(got), got.float()))
        # Pairs of e2m1, where this torch has a type for them.
        pairs = getattr(torch, "float4_e2m1fn_x2", torch.uint8)
        self.assertEqual(jit_gemm.from_float(values, "e2m1").dtype, pairs)

    def test_wrong_arguments_are_named(self):
        values = numpy.ones((4, 6), numpy.float32)
        fixed = numpy.empty((4, 6), numpy.uint8)
        fixed.flags.writeable = False
        shared = numpy.zeros(64, numpy.uint8)
        cases = [
            (
                lambda: jit_gemm.from_float(values, "e4m4"),
                "dtype: there is no type e4m4; one of bf16",
            ),
            (lambda: jit_gemm.from_float(values, None), "dtype: there is no type None"),
            (
                lambda: jit_gemm.from_float(values.astype("float64"), "bf16"),
                "values: .* float64, not f32",
            ),
            (lambda: jit_gemm.from_float(values.T, "bf16"), "values: its strides"),
            (lambda: jit_gemm.from_float(values[:, ::2], "bf16"), "values: its strides"),
            (
                lambda: jit_gemm.from_float(values[:, :5].copy(), "e2m1"),
                "values: rows of 5 elements",
            ),
            (lambda: jit_gemm.from_float(values, "e4m3", out=fixed), "out: it is read-only"),
            (lambda: jit_gemm.from_float(values, "e4m3", out=shared), "out: it has shape"),
            (
                lambda: jit_gemm.from_float(values, "bf16", out=values.astype("float16")),
                "out: its elements",
            ),
            (
                lambda: jit_gemm.from_float(values, "s32", out=values.view("int32")),
                "out: it overlaps",
            ),
            (
                lambda: jit_gemm.from_float(shared[:32].view("float32"), "e4m3", out=shared[24:32]),
                "out: it overlaps what is read",
            ),
            (lambda: jit_gemm.to_float(values, "bf16"), "array: its elements have 32 bits"),
            (lambda: jit_gemm.to_float(fixed), "dtype: there is no type uint8"),
        ]
        for call, words in cases:
            with self.assertRaisesRegex(jit_gemm.ArgumentError, words):
                call()
        with self.assertRaises(TypeError):
            jit_gemm.from_float([1.0, 2.0], "bf16")


class Buffers(unittest.TestCase):
    """Without numpy."""

    def test_buffers_are_converted(self):
        bits = jit_gemm.from_float(array.array("f", [1, -2, 0.375]), "bf16")
        self.assertEqual(list(bits), [0x3F80, 0xC000, 0x3EC0])
        self.assertEqual(list(jit_gemm.to_float(bits, "bf16")), [1, -2, 0.375])
        self.assertEqual(list(jit_gemm.to_float(bytes([0x21, 0x43]), "e2m1")), [0.5, 1, 1.5, 2])
        self.assertEqual(list(jit_gemm.from_float(array.array("f"), "e4m3")), [])


if __name__ == "__main__":
    main()
