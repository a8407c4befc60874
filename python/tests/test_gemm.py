# SPDX-License-Identifier: MIT
"""Results of gemm and Gemm.run against numpy in f64: layouts, kinds, batches, results beside D."""

from support import (
    ARCH,
    DEVICE,
    CompilerTest,
    context,
    expect_close,
    gelu,
    guarded,
    main,
    needs_numpy,
    numpy,
    product,
    random,
    rng,
    silu,
    wide,
)

import jit_gemm


def wider(array, columns):
    """The same rows, `columns` apart."""
    wide_rows = numpy.full((max(array.shape[0], 1), columns), numpy.nan, array.dtype)
    wide_rows[: array.shape[0], : array.shape[1]] = array
    return wide_rows


@needs_numpy
class Layouts(CompilerTest):
    def test_transposes_and_pieces_are_multiplied_where_they_lie(self):
        m, n, k = 72, 56, 40
        wide_a = random((m, 2 * k))
        for name, a, b in (
            ("both row-major", random((m, k)), random((k, n))),
            ("weights as N x K", random((m, k)), random((n, k)).T),
            ("A as K x M", random((k, m)).T, random((k, n))),
            ("Fortran order", random((m, k), order="F"), random((k, n), order="F")),
            ("columns of a larger A", wide_a[:, k:], random((k, n))),
            ("every second row", random((2 * m, k))[::2], random((k, n))),
        ):
            with self.subTest(name):
                out, check = guarded((m, n))
                result = jit_gemm.gemm(a, b, context=context(), out=out)
                self.assertIs(result, out)
                expect_close(self, out, product(a, b), k)
                check()

    def test_results_go_where_the_caller_says(self):
        m, n, k = 40, 24, 32
        a, b = random((m, k)), random((k, n))
        large = numpy.full((m, 3 * n), 7, numpy.float16)
        for name, out in (
            ("columns of a larger array", large[:, n : 2 * n]),
            ("column-major", numpy.full((m, n), numpy.nan, numpy.float16, order="F")),
            ("f32", numpy.full((m, n), numpy.nan, numpy.float32)),
        ):
            with self.subTest(name):
                jit_gemm.gemm(a, b, context=context(), out=out)
                expect_close(self, out, product(a, b), k, out.dtype.name)
        self.assertTrue((large[:, :n] == 7).all() and (large[:, 2 * n :] == 7).all())

    def test_odd_sizes_and_single_elements_are_right(self):
        for m, n, k in ((1, 1, 1), (33, 17, 5), (1, 40, 64), (70, 1, 9)):
            with self.subTest(m=m, n=n, k=k):
                a, b = random((m, k)), random((k, n))
                result = jit_gemm.gemm(a, b, context=context(), dtype="f32")
                expect_close(self, result, product(a, b), k, "float32")

    def test_addresses_of_any_element_are_right(self):
        a, b = random((48, 41))[:, 1:], random((40, 32))
        bias = random((33,))[1:]
        out, check = guarded((48, 32), guard=2)
        jit_gemm.gemm(a, b, "d = acc + bias;", context=context(), out=out, bias=bias)
        expect_close(self, out, product(a, b) + wide(bias), 40)
        check()
        aligned = jit_gemm.gemm(a, b, "d = acc + bias;", context=context(), bias=bias)
        self.assertTrue((aligned == out).all())

    def test_drawn_views_are_right(self):
        draw = rng()
        for number in range(5):
            m, n, k = (int(size) for size in draw.integers(1, 100, 3))
            steps = [int(step) for step in draw.integers(1, 3, 3)]
            a = random((m * steps[0], k + 8), order="CF"[int(draw.integers(2))])
            a = a[:: steps[0]] if a.flags.c_contiguous else a[:m]
            a = a[:, :k]
            b = random((n, k)).T if draw.integers(2) else random((k, n))
            vector = random((m, 1) if draw.integers(2) else (1, n))
            r = random((m, n))
            with self.subTest(number=number, m=m, n=n, k=k, a=a.strides, b=b.strides):
                out, check = guarded((m, n))
                jit_gemm.gemm(
                    a, b, "d = relu(acc * v) + r;", context=context(), out=out, v=vector, r=r
                )
                reference = numpy.maximum(product(a, b) * wide(vector), 0) + wide(r)
                expect_close(self, out, reference, k)
                check()


@needs_numpy
class Operands(CompilerTest):
    m, n, k = 48, 64, 32

    def setUp(self):
        self.a, self.b = random((self.m, self.k)), random((self.k, self.n))
        self.sums = product(self.a, self.b)

    def run_one(self, snippet, **operands):
        return jit_gemm.gemm(self.a, self.b, snippet, context=context(), **operands)

    def test_kinds_come_from_shapes(self):
        row, column, r = random((self.n,)), random((self.m,)), random((self.m, self.n))
        half = numpy.float16(0.75)
        result = self.run_one(
            "d = gelu(acc * s + v) * w + r * t;", s=0.5, t=half, v=row, w=column, r=r
        )
        reference = gelu(self.sums * 0.5 + wide(row)) * wide(column)[:, None] + wide(r) * 0.75
        expect_close(self, result, reference, self.k)

    def test_shapes_with_a_one_say_which_vector_of_a_square_it_is(self):
        a, b = random((40, 32)), random((32, 40))
        row, column = random((40,)), random((40,))
        result = jit_gemm.gemm(
            a, b, "d = acc + x - y;", context=context(), x=row[None, :], y=column[:, None]
        )
        expect_close(self, result, product(a, b) + wide(row) - wide(column)[:, None], 32)
        said = jit_gemm.gemm(
            a,
            b,
            "d = acc + x - y;",
            context=context(),
            x=jit_gemm.row_vector(row),
            y=jit_gemm.column_vector(column),
        )
        self.assertTrue((said == result).all())

    def test_scalars_may_lie_in_memory(self):
        s = numpy.array([0.25], numpy.float32)
        expect_close(self, self.run_one("d = acc * s;", s=s), self.sums * 0.25, self.k)

    def test_named_epilogues_know_their_operands(self):
        bias = random((self.n,))
        result, more = self.run_one("bias_gelu_aux", bias=bias)
        expect_close(self, more["aux"], self.sums + wide(bias), self.k)
        expect_close(self, result, gelu(self.sums + wide(bias)), self.k)

    def test_c_alpha_and_beta_are_those_of_the_formula(self):
        c = random((self.m, self.n), "float32")
        result = jit_gemm.gemm(
            self.a, self.b, c=c, alpha=0.5, beta=-2, dtype="f32", context=context()
        )
        expect_close(self, result, 0.5 * self.sums - 2 * wide(c), self.k, "float32")

    def test_a_residual_is_added_in_place(self):
        r, check = guarded((self.m, self.n))
        r[...] = random((self.m, self.n))
        reference = self.sums + wide(r)
        self.run_one("d = acc + r;", r=r, out=r)
        expect_close(self, r, reference, self.k)
        check()

    def test_a_gated_pair_makes_a_column_of_two(self):
        bias = random((self.n,))
        result = self.run_one("d = silu(acc0 + v0) * (acc1 + v1);", v=jit_gemm.pair_vector(bias))
        x = self.sums + wide(bias)
        expect_close(self, result, silu(x[:, ::2]) * x[:, 1::2], self.k)
        halves = self.run_one("swiglu", problem="pair=halves")
        half = self.n // 2
        expect_close(self, halves, silu(self.sums[:, :half]) * self.sums[:, half:], self.k)

    def test_what_a_snippet_writes_besides_comes_back(self):
        into, check = guarded((self.m,), "float32")
        result, more = self.run_one(
            "aux = acc; d = relu(acc); total = d; top = abs(acc); block = d;",
            aux=jit_gemm.output(dtype="f32"),
            total=jit_gemm.reduction("sum", "column_vector", into),
            top=jit_gemm.reduction("max", "scalar"),
            block=jit_gemm.reduction("min", "1x32"),
        )
        relu = numpy.maximum(self.sums, 0)
        expect_close(self, result, relu, self.k)
        expect_close(self, more["aux"], self.sums, self.k, "float32")
        self.assertIs(more["total"], into)
        numpy.testing.assert_allclose(into, relu.sum(1), rtol=1e-4)
        numpy.testing.assert_allclose(more["top"], numpy.abs(self.sums).max(), rtol=1e-5)
        blocks = relu.reshape(self.m, -1, 32).min(2)
        numpy.testing.assert_allclose(more["block"], blocks, rtol=1e-4, atol=1e-6)
        check()


@needs_numpy
class Batches(CompilerTest):
    def test_each_batch_has_its_own_or_all_have_one(self):
        batch, m, n, k = 3, 24, 40, 16
        a, b = random((batch, m, k)), random((batch, k, n))
        bias, column, shared = random((batch, 1, n)), random((m, 1)), random((m, n))
        result = jit_gemm.gemm(
            a,
            b,
            "d = (acc + bias) * column + r;",
            context=context(),
            bias=bias,
            column=column,
            r=shared,
        )
        expect_close(self, result, (product(a, b) + wide(bias)) * wide(column) + wide(shared), k)
        one = jit_gemm.gemm(a, b[0], context=context())
        expect_close(self, one, product(a, b[0]), k)
        other = jit_gemm.gemm(a[:1], b, context=context())
        expect_close(self, other, product(a[:1], b), k)

    def test_batches_may_lie_between_rows(self):
        a = random((24, 3, 16)).transpose(1, 0, 2)
        b = random((3, 16, 40))
        out = numpy.full((3, 24, 40), numpy.nan, numpy.float16)
        jit_gemm.gemm(a, b, context=context(), out=out)
        expect_close(self, out, product(a, b), 16)

    def test_groups_go_through_a_kernel_of_their_own(self):
        groups, m, n, k = 3, 96, 32, 32
        ends = numpy.array([40, 40, 90], numpy.int32)
        a, b = random((m, k)), random((groups, k, n))
        kernel = jit_gemm.Gemm.create(
            context(), f"m={m} n={n} k={k} a=f16 layout=nn groups={groups} group_by=offsets"
        )
        out, check = guarded((m, n))
        out[...] = 9
        for numbers in (
            {"group_sizes": ends},
            {"host_group_sizes": ends.tolist(), "group_sizes": ends[::-1].copy()},
        ):
            out[...] = 9
            kernel.run(a, b, out, **numbers)
            begin = 0
            for group, end in enumerate(ends):
                expect_close(self, out[begin:end], product(a[begin:end], b[group]), k)
                begin = end
            self.assertTrue((out[90:] == 9).all())
            check()

    def test_groups_by_pointers_have_matrices_and_sizes_of_their_own(self):
        sizes = [(3, 64, 32), (0, 40, 24), (17, 33, 7), (40, 0, 32), (8, 5, 0)]
        groups, most = len(sizes), (40, 64, 32)
        own = context()
        inputs = [(random((m, k)), random((n, k))) for m, n, k in sizes]
        outs = [numpy.full((max(m, 1), 72), 9, numpy.float16) for m, _, _ in sizes]
        held = [
            [jit_gemm.DeviceArray.from_host(own, wider(x, 40)) for x in (a, b)] for a, b in inputs
        ]
        results = [jit_gemm.DeviceArray.from_host(own, out) for out in outs]
        kernel = jit_gemm.Gemm(
            own,
            "m={} n={} k={} a=f16 groups={} group_by=pointers dynamic=n,k".format(*most, groups),
        )
        m, n, k = (numpy.array(column, numpy.int32) for column in zip(*sizes))
        arrays = {
            "a": numpy.array([x[0].pointer for x in held], numpy.int64),
            "b": numpy.array([x[1].pointer for x in held], numpy.int64),
            "out": numpy.array([x.pointer for x in results], numpy.int64),
        }
        lds = {
            "a": numpy.full(groups, 40, numpy.int64),
            "b": numpy.full(groups, 40, numpy.int64),
            "out": numpy.full(groups, 72, numpy.int64),
        }
        for on_device in (False, True):  # where the numbers are
            place = (
                (lambda x: jit_gemm.DeviceArray.from_host(own, x)) if on_device else (lambda x: x)
            )
            for result, out in zip(results, outs):
                result.upload(out.ctypes.data, 0, out.nbytes)
            kernel.run(
                **{name: place(array) for name, array in arrays.items()},
                lds={name: place(array) for name, array in lds.items()},
                group_sizes=place(m),
                group_ns=place(n),
                group_ks=place(k),
            )
            for (a, b), result, out in zip(inputs, results, outs):
                expected = numpy.array(out, numpy.float64)
                expected[: a.shape[0], : b.shape[0]] = product(a, b.T)
                expect_close(self, result.to_host(numpy.empty_like(out)), expected, 32)

    def test_arguments_of_groups_by_pointers_are_checked(self):
        own = context()
        kernel = jit_gemm.Gemm(own, "m=8 n=64 k=32 a=f16 groups=2 group_by=pointers dynamic=k")
        plain = jit_gemm.Gemm(own, "48x64x32 f16 layout=nn")
        some, few = numpy.zeros(2, numpy.int64), numpy.zeros(2, numpy.int32)
        rows = (
            ("a: its elements are s32, and the problem says s64", {"a": few}),
            (r"b: its shape is \(3,\), and it must be \(2,\)", {"b": numpy.zeros(3, numpy.int64)}),
            ("the problem has no C", {"c": some}),
            (r"lds\[a\]: its elements are s32", {"lds": {"a": few}}),
            ("lds: there is no matrix d; one of a, b, c, out", {"lds": {"d": some}}),
            ("group_ns: no group of this problem has a size of its own along N", {"group_ns": few}),
            ("group_ks: its elements are s64", {"group_ks": some}),
            ("a_rows: no index names rows of matrices by pointers", {"a_rows": few}),
        )
        for message, given in rows:
            with self.assertRaisesRegex(jit_gemm.ArgumentError, message):
                kernel.run(**({"a": some, "b": some, "out": some} | given))
        a, b = random((48, 32)), random((32, 64))
        out = numpy.empty((48, 64), numpy.float16)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "group_ks: .* group_by=pointers"):
            plain.run(a, b, out, group_ks=few)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "lds: only matrices by pointers"):
            plain.run(a, b, out, lds={"a": some})


@needs_numpy
class Kernels(CompilerTest):
    def test_a_second_call_creates_nothing(self):
        a, b = random((40, 32)), random((32, 40))
        jit_gemm.gemm(a, b, "d = relu(acc);", context=context())
        before = context().stats()["creates"]
        jit_gemm.gemm(random((40, 32)), b, "d = relu(acc);", context=context())
        self.assertEqual(context().stats()["creates"], before)

    def test_bands_serve_every_size_of_a_range(self):
        b = random((64, 48))
        for m in (1, 40, 130):
            a = random((m, 64))
            result = jit_gemm.gemm(a, b, context=context(), sizes="m=1..200 loss=1000%")
            expect_close(self, result, product(a, b), 64)
        families = [k for k in context().kernels.values() if isinstance(k, jit_gemm.Family)]
        self.assertEqual(len(families), 1)
        bands = families[0].bands
        self.assertEqual((bands[0].first, bands[-1].last), (1, 200))
        planned = jit_gemm.plan_bands(
            context(), "m=1 n=48 k=64 a=f16 layout=nn dynamic=m", "m=1..200 loss=1000%"
        )
        self.assertEqual([b.config for b in planned], [b.config for b in bands])

    def test_info_says_what_is_known(self):
        kernel = jit_gemm.Gemm(context(), "40x48x32 f16 layout=nn", "swiglu")
        self.assertTrue(kernel.info.is_gated)
        self.assertEqual(kernel.info.arch, context().arch)
        self.assertIn(kernel.info.origin, ("compiled", "disk", "memory"))
        self.assertRegex(kernel.info.key, "^[0-9a-f]{32}$")
        self.assertIn("epilogue=swiglu", kernel.problem)
        self.assertIn("chosen:", context().plan(kernel.problem))

    def test_device_arrays_stay_on_the_device(self):
        a, b = random((40, 32)), random((32, 48))
        on_device = [jit_gemm.DeviceArray.from_host(context(), x) for x in (a, b)]
        result = jit_gemm.gemm(*on_device, "relu")
        self.assertIsInstance(result, jit_gemm.DeviceArray)
        host = result.to_host(numpy.empty(result.shape, numpy.float16))
        expect_close(self, host, numpy.maximum(product(a, b), 0), 32)

    def test_an_emulated_device_found_nothing_wrong(self):
        self.assertEqual(context().findings(), 0)


class Buffers(CompilerTest):
    def test_what_has_the_buffer_protocol_needs_no_numpy(self):
        a = memoryview(bytearray(16 * 8 * 4)).cast("B").cast("f", (16, 8))
        b = memoryview(bytearray(8 * 16 * 4)).cast("B").cast("f", (8, 16))
        for i in range(8):
            for j in range(16):
                a[j, i], b[i, j] = j - i, float(i == j)
        arch = "sm_100a" if DEVICE == "emulator" else ARCH  # sm_90a takes tf32 K-major only
        with jit_gemm.Context(DEVICE, arch=arch) as other:
            if other.arch == "sm_90a":
                self.skipTest("tf32 is K-major on sm_90a, and memoryview has no transpose")
            result = jit_gemm.gemm(jit_gemm.tf32(a), jit_gemm.tf32(b), context=other)
        self.assertEqual((result.format, result.shape), ("f", (16, 16)))
        for row in range(16):
            expected = [float(row - j) if j < 8 else 0.0 for j in range(16)]
            self.assertEqual([result[row, j] for j in range(16)], expected)

    def test_memoryviews_have_no_shape_without_elements(self):
        a, b = random((0, 16)), random((16, 8))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, r"out: .* has no shape \(0, 8\)"):
            jit_gemm.gemm(memoryview(a), b, context=context())
        self.assertEqual(jit_gemm.gemm(a, b, context=context()).shape, (0, 8))


if __name__ == "__main__":
    main()
