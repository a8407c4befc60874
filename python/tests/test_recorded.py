# SPDX-License-Identifier: MIT
"""Launches that are made again, with other addresses and numbers: on arrays of the device."""

import dataclasses
from unittest import mock

from support import (
    ARCH,
    DEVICE,
    CompilerTest,
    context,
    expect_close,
    main,
    needs_numpy,
    numpy,
    random,
    wide,
)

import jit_gemm
from jit_gemm import _call, _recorded
from jit_gemm._recorded import Recorded
from jit_gemm._view import look_at

LEGACY = 1  # CU_STREAM_LEGACY, the default stream by its number


def put(array):
    return jit_gemm.DeviceArray.from_host(context(), array)


def get(array):
    names = {"f16": numpy.float16, "f32": numpy.float32}
    return array.to_host(numpy.empty(array.shape, names[array.dtype]))


class Counted:
    """Counts the launches that were made again."""

    def __enter__(self):
        self.count = 0
        own = Recorded.run

        def run(*words):
            done = own(*words)
            self.count += done
            return done

        self.patch = mock.patch.object(Recorded, "run", run)
        self.patch.start()
        return self

    def __exit__(self, *_):
        self.patch.stop()


@needs_numpy
class Again(CompilerTest):
    m, n, k = 40, 48, 32

    def inputs(self):
        return random((self.m, self.k)), random((self.k, self.n))

    def test_new_arrays_and_numbers_are_read(self):
        with Counted() as again:
            for turn in range(3):
                a, b = self.inputs()
                v, w, r = random((self.n,)), random((self.m, 1)), random((self.m, self.n))
                c = random((self.m, self.n), "float32")
                s, alpha, beta = 0.5 + turn, 0.25 * turn - 1, 2.0 - turn
                result = jit_gemm.gemm(
                    put(a),
                    put(b),
                    "d = (acc + v) * w + r * s;",
                    c=put(c),
                    dtype="f32",
                    alpha=alpha,
                    beta=beta,
                    v=put(v),
                    s=s,
                    w=put(w),
                    r=put(r),
                )
                sums = alpha * (wide(a) @ wide(b)) + beta * wide(c)
                reference = (sums + wide(v)) * wide(w) + wide(r) * s
                expect_close(self, get(result), reference, 4 * self.k, "float32")
        self.assertGreaterEqual(again.count, 2)

    def test_results_are_new_arrays_each_time(self):
        kept = []
        with Counted() as again:
            for _ in range(3):
                a, b = self.inputs()
                d, more = jit_gemm.gemm(
                    put(a),
                    put(b),
                    "d = acc; aux = -acc; s = acc;",
                    aux=jit_gemm.output(),
                    s=jit_gemm.reduction("sum", "row_vector"),
                )
                kept.append((a, b, d, more))
            self.assertGreaterEqual(again.count, 2)
        for a, b, d, more in kept:
            sums = wide(a) @ wide(b)
            expect_close(self, get(d), sums, self.k)
            expect_close(self, get(more["aux"]), -sums, self.k)
            expect_close(self, get(more["s"]), sums.sum(0), self.k * self.m, "float32")

    def test_what_is_allocated_is_looked_at_for_the_launch_s_stream(self):
        """Torch's new tensors would make the default stream wait, which no capture allows."""
        a, b = map(put, self.inputs())
        seen = []

        def look(field, array, stream=0, is_current=False):
            seen.append((field, stream))
            return look_at(field, array, stream, is_current)

        with mock.patch.object(_call, "look_at", look), mock.patch.object(
            _recorded, "look_at", look
        ):
            for _ in range(2):
                seen.clear()
                jit_gemm.gemm(
                    a,
                    b,
                    "d = acc; e = acc;",
                    e=jit_gemm.output(dtype="f32"),
                    stream=LEGACY,
                )
                self.assertEqual(dict(seen), dict.fromkeys(("a", "b", "out", "e"), LEGACY))

    def test_residuals_are_added_in_place_again(self):
        with Counted() as again:
            for _ in range(3):
                a, b = self.inputs()
                r = random((self.m, self.n))
                on_device = put(r)
                jit_gemm.gemm(put(a), put(b), "d = acc + r;", r=on_device, out=on_device)
                expect_close(self, get(on_device), wide(a) @ wide(b) + wide(r), self.k)
        self.assertGreaterEqual(again.count, 2)

    def test_memory_that_overlaps_the_second_time_is_refused(self):
        a, b = (put(x) for x in self.inputs())
        v = put(random((self.n,)))
        for _ in range(2):
            out = jit_gemm.DeviceArray(context(), (self.m, self.n), "f16")
            jit_gemm.gemm(a, b, "d = acc * v;", out=out, v=v)
        inside = dataclasses.replace(v.__jit_gemm_view__(), pointer=out.pointer + 64)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "out: it shares memory with v"):
            jit_gemm.gemm(a, b, "d = acc * v;", out=out, v=inside, context=context())
        square = put(random((32, 32)))
        other = put(random((32, 32)))
        jit_gemm.gemm(square, other, out=put(random((32, 32))))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "out: it shares memory with a"):
            jit_gemm.gemm(square, other, out=square)

    def test_an_address_of_another_alignment_takes_another_kernel(self):
        a, b = self.inputs()
        shifted = numpy.concatenate([numpy.float16([9]), a.ravel()])
        on_device, second = put(shifted), put(b)
        view = dataclasses.replace(
            put(a).__jit_gemm_view__(), pointer=on_device.pointer + 2, keep=on_device
        )
        for first in (put(a), view):
            result = jit_gemm.gemm(first, second, "d = acc + 1.0f;", context=context())
            expect_close(self, get(result), wide(a) @ wide(b) + 1, self.k)

    def test_operands_may_be_called_as_arguments_are(self):
        a, b = self.inputs()
        v, w, r = random((self.n,)), random((self.m, 1)), random((self.m, self.n))
        snippet = "d = (acc + a) * out + c * alpha;"
        reference = (wide(a) @ wide(b) + wide(v)) * wide(w) + wide(r) * 3
        operands = {"a": v, "out": w, "c": r, "alpha": 3}
        result = jit_gemm.gemm(a, b, snippet, operands=operands, context=context())
        expect_close(self, result, reference, 4 * self.k)
        placed = {key: x if key == "alpha" else put(x) for key, x in operands.items()}
        for _ in range(2):
            result = jit_gemm.gemm(put(a), put(b), snippet, operands=placed)
            expect_close(self, get(result), reference, 4 * self.k)

    def test_a_closed_context_launches_nothing_again(self):
        own = jit_gemm.Context(DEVICE, arch=ARCH)
        a, b = (jit_gemm.DeviceArray.from_host(own, x) for x in self.inputs())
        for _ in range(2):
            jit_gemm.gemm(a, b)
        own.close()
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "context: it is closed"):
            jit_gemm.gemm(a, b)


if __name__ == "__main__":
    main()
