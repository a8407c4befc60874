# SPDX-License-Identifier: MIT
"""Rows that an index names, and sums of rows, against numpy in f64."""

import functools
import unittest

from support import (
    CompilerTest,
    context,
    expect_close,
    guarded,
    main,
    needs_numpy,
    numpy,
    product,
    random,
    rng,
    wide,
)

import jit_gemm


@needs_numpy
class Indices(CompilerTest):
    def test_an_index_names_rows_of_a_and_of_d(self):
        m, n, k, rows = 24, 32, 32, 60
        a, b = random((rows, k)), random((k, n))
        from_rows = rng().integers(0, rows, m).astype(numpy.int32)
        to_rows = rng().permutation(rows)[:m].astype(numpy.int32)
        from_rows[3], to_rows[5] = -1, -1  # zeros are read, and nothing is written
        kernel = jit_gemm.Gemm(
            context(), f"m={m} n={n} k={k} a=f16 layout=nn a_rows=indexed d_rows=indexed"
        )
        out, check = guarded((rows, n))
        out[...] = 9
        kernel.run(a, b, out, a_rows=from_rows, d_rows=to_rows)
        expected = numpy.full((rows, n), 9.0)
        for source, target in zip(from_rows, to_rows):
            if target >= 0:
                expected[target] = product(a[source], b) if source >= 0 else 0
        expect_close(self, out, expected, k)
        check()
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "d_rows: it must have 24 entries"):
            kernel.run(a, b, out, a_rows=from_rows, d_rows=to_rows[1:])

    def test_of_groups_by_counts_an_index_has_a_part_for_each(self):
        groups, m, n, k, rows = 3, 20, 32, 32, 50
        a, b = random((rows, k)), random((groups, k, n))
        counts = numpy.array([20, 0, 7], numpy.int32)
        from_rows = rng().integers(0, rows, groups * m).astype(numpy.int32)
        to_rows = rng().permutation(groups * m).astype(numpy.int32)
        problem = f"m={m} n={n} k={k} a=f16 layout=nn groups={groups} group_by=counts"
        kernel = jit_gemm.Gemm(context(), problem + " a_rows=indexed d_rows=indexed")
        out = numpy.full((groups * m, n), 9, numpy.float16)
        kernel.run(a, b, out, group_sizes=counts, a_rows=from_rows, d_rows=to_rows)
        expected = numpy.full(out.shape, 9.0)
        for group, count in enumerate(counts):
            for row in range(group * m, group * m + count):
                expected[to_rows[row]] = product(a[from_rows[row]], b[group])
        expect_close(self, out, expected, k)

    def test_indices_are_checked(self):
        a, b, out = random((50, 32)), random((3, 32, 32)), random((60, 32))
        index = numpy.arange(60, dtype=numpy.int32)
        counts = numpy.array([20, 0, 7], numpy.int32)
        problem = "m=20 n=32 k=32 a=f16 layout=nn groups=3 group_by=counts"
        kernel = jit_gemm.Gemm(context(), problem + " a_rows=indexed d_rows=indexed")
        each = "60 entries, one for each row of the product, 20 of each of 3, and has 20"
        for expected, a_rows, d_rows in (
            ("a_rows: it must have " + each, index[:20].copy(), index),
            ("d_rows: it must have " + each, index, index[:20].copy()),
            (r"a_rows: its shape is \(60, 1\), and it must be a packed", index[:, None], index),
            ("a_rows: its elements are s64", index.astype(numpy.int64), index),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, expected):
                kernel.run(a, b, out, group_sizes=counts, a_rows=a_rows, d_rows=d_rows)
        plain = jit_gemm.Gemm(context(), problem)
        a, out = random((3, 20, 32)), random((3, 20, 32))
        for name in ("a_rows", "d_rows"):
            expected = f"{name}: .* lie in order; leave it out, or name {name}=indexed"
            with self.assertRaisesRegex(jit_gemm.ArgumentError, expected):
                plain.run(a, b, out, group_sizes=counts, **{name: index})

    def test_a_device_array_has_its_transpose(self):
        a, b = random((8, 32)), random((3, 40, 32))
        put = functools.partial(jit_gemm.DeviceArray.from_host, context())
        out = put(numpy.zeros((3, 8, 40), numpy.float16))
        jit_gemm.gemm(put(a), put(b).mT, out=out, context=context())
        got = out.to_host(numpy.empty((3, 8, 40), numpy.float16))
        for batch in range(3):
            expect_close(self, got[batch], product(a, b[batch].T), 32)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, r"mT: its shape is \(4,\)"):
            print(put(a[0, :4].copy()).mT)

    def test_a_launch_may_have_fewer_rows_than_its_arrays(self):
        most, n, k, groups = 30, 40, 32, 3
        a, b = random((most, k)), random((groups, n, k))
        kernel = jit_gemm.Gemm(context(), f"m={most} n={n} k={k} a=f16 groups={groups} dynamic=m")
        rows, weights = put(a), put(b)
        for sizes in ([7, 0, 9], [1, 2, 3]):
            m, ends = sum(sizes), numpy.cumsum(sizes).astype(numpy.int32)
            out = put(numpy.full((most, n), 9, numpy.float16))
            kernel.run(rows[:m], weights.mT, out[:m], group_sizes=put(ends))
            got = out.to_host(numpy.empty((most, n), numpy.float16))
            expected = numpy.full((most, n), 9.0)
            for group, (end, size) in enumerate(zip(ends, sizes)):
                expected[end - size : end] = product(a[end - size : end], b[group].T)
            expect_close(self, got, expected, k)
        middle, out = rows[4:9], put(numpy.zeros((5, n), numpy.float16))
        jit_gemm.gemm(middle, weights[1:2].mT[:1], out=out, context=context())
        got = out.to_host(numpy.empty((5, n), numpy.float16))
        expect_close(self, got, product(a[4:9], b[1].T), k)
        self.assertEqual((rows[28:99].shape, rows[9:4].shape), ((2, k), (0, k)))
        for part in (3, slice(0, 8, 2)):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "index: .* a slice such as"):
                print(rows[part])
        halves = jit_gemm.DeviceArray(context(), (4, 3), "e2m1")
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "index: row 1 begins inside of a"):
            print(halves[1:])

    def test_what_is_missing_or_misplaced_is_named(self):
        a, b, out = random((12, 32)), random((3, 32, 32)), random((12, 32))
        ends = numpy.array([4, 4, 12], numpy.int32)
        index = numpy.arange(12, dtype=numpy.int32)
        text = "m=12 n=32 k=32 a=f16 layout=nn groups=3"
        plain = jit_gemm.Gemm(context(), text)
        indexed = jit_gemm.Gemm(context(), text + " a_rows=indexed d_rows=indexed")
        begins = numpy.array([0, 4, 4, 12], numpy.int32)
        on_device, groups = (put(a), put(b), put(out)), {"group_sizes": ends}
        for kernel, arrays, given, expected in (
            (plain, (a, b, out), {"group_sizes": ends.astype(numpy.int64)}, "s32; convert them"),
            (plain, (a, b, out), {"group_sizes": begins}, "3 groups; .* without the 0 at which"),
            (plain, on_device, groups, "group_sizes: .* the host has are host_group_sizes"),
            (indexed, (a, b, out), {**groups, "d_rows": index}, "a_rows: .* a row of A for each"),
            (indexed, (a, b, out), {**groups, "a_rows": index}, "d_rows: .* a row of D for each"),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, expected):
                kernel.run(*arrays, **given)
        for given, expected in (
            (groups, "group_sizes: .* no such operand; it has: none; Gemm.run takes group_sizes"),
            ({"lds": ends}, "lds: .* no such operand; it has: none; Gemm.run takes lds"),
            ({"problem": "groups=3"}, "problem: it has groups, .* make a Gemm"),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, expected):
                jit_gemm.gemm(a, b[0], context=context(), **given)


def put(array):
    return jit_gemm.DeviceArray.from_host(context(), array)


@needs_numpy
class Sums(CompilerTest):
    def test_rows_are_added_up_by_index_and_weight(self):
        tokens, chosen, columns, count = 9, 3, 40, 20
        rows, c = random((count, columns)), random((tokens, columns))
        index = rng().integers(0, count, (tokens, chosen)).astype(numpy.int32)
        index[2, 1], index[4, 0] = -1, count  # left out
        weights = rng().random((tokens, chosen)).astype(numpy.float32)
        weights[2, 1] = numpy.nan
        expected = wide(c)
        for token, part in numpy.ndindex(index.shape):
            if 0 <= index[token, part] < count:
                expected[token] += weights[token, part] * wide(rows[index[token, part]])
        with jit_gemm.Combiner(context(), "f16", "f16", chosen) as combiner:
            out = put(numpy.zeros((tokens, columns), numpy.float16))
            combiner.run(put(rows), out, index=put(index), weights=put(weights), c=put(c))
            got = out.to_host(numpy.empty((tokens, columns), numpy.float16))
        expect_close(self, got, expected, chosen)

    def test_without_an_index_rows_of_a_token_lie_together(self):
        rows = random((8, 24))
        combiner = jit_gemm.Combiner(context(), "f16", "f32", 2)
        out = put(numpy.zeros((4, 24), numpy.float32))
        combiner.run(put(rows), out)
        got = out.to_host(numpy.empty((4, 24), numpy.float32))
        numpy.testing.assert_array_equal(got, rows.reshape(4, 2, 24).astype(numpy.float32).sum(1))

    def test_arguments_of_sums_are_checked(self):
        rows, out = put(random((8, 24))), put(random((4, 24)))
        index = put(numpy.zeros((4, 2), numpy.int32))
        other = put(numpy.zeros((4, 3), numpy.int32))
        wide_out = put(numpy.zeros((4, 24), numpy.float32))
        combiner = jit_gemm.Combiner(context(), "f16", "f16", 2)
        for words, places, more in (
            ("rows: it lies in host memory; DeviceArray", (random((8, 24)), out), {}),
            ("out: its elements are f32, and must be f16", (rows, wide_out), {}),
            ("rows: .* and D has 20 columns", (rows, put(random((4, 20)))), {}),
            ("rows: there are 8, .* 5 tokens .* have 10", (rows, put(random((5, 24)))), {}),
            ("index: .* must be .4, 2.", (rows, out), {"index": other}),
            ("weights: its elements are f16", (rows, out), {"weights": put(random((4, 2)))}),
            ("c: its shape is", (rows, out), {"index": index, "c": put(random((3, 24)))}),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, words):
                combiner.run(*places, **more)
        combiner.close()
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "combiner: it is closed"):
            combiner.run(rows, out)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "chosen: it is 65"):
            jit_gemm.Combiner(context(), "f16", "f16", 65)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "rows: there is no type 'half'"):
            jit_gemm.Combiner(context(), "half", "f16", 2)


if __name__ == "__main__":
    main()
