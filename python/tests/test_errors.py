# SPDX-License-Identifier: MIT
"""What is wrong is an error that names the field and the remedy, before anything is launched."""

import os
import unittest

from support import ARCH, DEVICE, CompilerTest, context, needs_numpy, numpy, optional, random, main

import jit_gemm
from jit_gemm import _context, _current, _library


class Snippets(unittest.TestCase):
    def test_a_wrong_snippet_shows_line_column_and_place(self):
        epilogue = jit_gemm.Epilogue("\n  d = relu(acc + bia);", ("bias:row_vector:f16",))
        with self.assertRaises(jit_gemm.CompileError) as caught:
            context().register(epilogue)
        error = caught.exception
        self.assertEqual(error.status, jit_gemm.Status.COMPILE)
        (item,) = error.diagnostics
        self.assertEqual((item.line, item.column), (2, 18))
        self.assertEqual(item.origin, jit_gemm.DiagnosticOrigin.SNIPPET)
        self.assertIn("bias", item.hint)
        source, mark = error.caret.split("\n")
        self.assertEqual(source[mark.index("^") :], "bia);")
        self.assertTrue(str(error).endswith(error.caret))

    def test_lines_count_from_where_the_text_stands_in_a_file(self):
        epilogue = jit_gemm.Epilogue(
            "d = acc;\nd = d + asm;", source_name="model.py", first_line=40
        )
        with self.assertRaises(jit_gemm.CompileError) as caught:
            context().register(epilogue)
        item = caught.exception.diagnostics[0]
        self.assertEqual((item.where, item.line, item.column), ("model.py", 41, 9))
        self.assertEqual(caught.exception.caret, "  d = d + asm;\n          ^")

    def test_columns_behind_tabs_and_wide_letters_are_those_of_the_text(self):
        for source in ("\td = acc + x;", "/* \u00fc */ d = acc + x;"):
            with self.subTest(source), self.assertRaises(jit_gemm.CompileError) as caught:
                context().check_epilogue(jit_gemm.Epilogue(source + "asm;"))
            source_line, mark = caught.exception.caret.split("\n")
            self.assertEqual(source_line[len(mark) - 1 :], "asm;")

    def test_text_of_an_operand_is_checked(self):
        for text, word in (
            ("bias", "NAME:KIND:TYPE"),
            ("bias:row:f16", "row_vector"),
            ("bias:row_vector:f17", "bf16"),
            ("bias:row_vector:f16:output", "out"),
        ):
            with self.subTest(text), self.assertRaisesRegex(jit_gemm.ArgumentError, word):
                jit_gemm.Operand.parse(text)


class Words(unittest.TestCase):
    @needs_numpy
    def test_what_is_no_text_is_named(self):
        a, b = random((8, 16)), random((16, 8))
        for field, word in (
            ("epilogue", ["d = acc;"]),
            ("epilogue", bytearray(b"relu")),
            ("problem", {}),
            ("problem", 3),
            ("sizes", ["m=1..8"]),
            ("sizes", 8),
            ("dtype", ["f32"]),
            ("dtype", numpy.float32),
            ("device", ["emulator"]),
            ("device", 1.5),
        ):
            words = {field: word} if field == "device" else {field: word, "context": context()}
            with self.subTest(field, word=word), self.assertRaisesRegex(TypeError, f"^{field}: "):
                jit_gemm.gemm(a, b, **words)


class SnippetsCompiled(CompilerTest):
    def test_what_only_the_compiler_finds_has_its_place_too(self):
        kernel = jit_gemm.Epilogue("d = gelo(acc);")
        with self.assertRaisesRegex(jit_gemm.CompileError, r"1:5: error.*\n  d = gelo") as caught:
            jit_gemm.Gemm(context(), "64x64x32 f16", kernel)
        self.assertIn("gelo", caught.exception.log)
        self.assertEqual(context().check_epilogue(jit_gemm.Epilogue("d = -acc;")), "compiled")


@needs_numpy
class Arguments(unittest.TestCase):
    def setUp(self):
        self.a, self.b = random((48, 32)), random((32, 64))

    def expect(self, words, *arrays, kind=jit_gemm.ArgumentError, **named):
        named.setdefault("context", context())
        arrays = arrays or (self.a, self.b)
        before = context().stats()
        with self.assertRaisesRegex(kind, words):
            jit_gemm.gemm(*arrays, **named)
        self.assertEqual(context().stats()["compiles"], before["compiles"])

    def test_shapes_that_do_not_fit_are_named(self):
        self.expect("b: .*rows.*transpose", self.a, random((64, 32)))
        self.expect("a: its shape", self.a[0], self.b)
        self.expect("a: its shape", self.a[None, None], self.b)
        self.expect("b: A has 2 batches", random((2, 48, 32)), random((3, 32, 64)))
        self.expect(r"out: its shape is \(64, 48\)", out=random((64, 48)))
        self.expect("c: its shape", c=random((48, 63)))
        self.expect("bias: its shape", epilogue="d = acc + bias;", bias=random((63,)))
        self.expect("r: its shape", epilogue="d = acc + r;", r=random((64, 48)))
        self.expect("two for one", self.a, random((32, 63)), epilogue="swiglu")
        self.expect("a: .*no columns", self.a[:, :0], self.b[:0])

    def test_a_vector_that_may_be_either_is_refused(self):
        square = random((48, 48))
        self.expect(
            r"v: .*row_vector or a column_vector.*jit_gemm.row_vector\(...\)",
            random((48, 32)),
            random((32, 48)),
            epilogue="d = acc + v;",
            v=square[0],
        )

    def test_types_that_do_not_fit_are_named(self):
        self.expect(r"a: .*f32.*jit_gemm.tf32\(a\)", self.a.astype("f4"), self.b.astype("f4"))
        self.expect("float64", self.a.astype("f8"), self.b.astype("f8"))
        self.expect("byte order", self.a.astype(">f2"), self.b)
        self.expect("b.dtype", self.a, self.b.astype("i1"), kind=jit_gemm.UnsupportedError)
        self.expect("dtype: it is f32, and out is f16", out=random((48, 64)), dtype="f32")
        self.expect("bias: .*f32.*f16", epilogue="bias", bias=random((64,), "float32"))
        self.expect("there is no type half", dtype="half", out=random((48, 64)))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "those of e4m3 8"):
            jit_gemm.gemm(jit_gemm.view(self.a, "e4m3"), self.b, context=context())
        with self.assertRaisesRegex(TypeError, "a: .*no array"):
            jit_gemm.gemm([[1.0]], self.b, context=context())

    def test_what_has_no_form_in_c_is_named(self):
        a, b, wide_out = random((48, 32)), random((32, 64)), numpy.empty((48, 64))
        scaled = {"epilogue": "d = acc * s;", "operands": {"s": 10**400}}
        for error, message, call in (
            (ValueError, "alpha: .*larger than any f32", {"alpha": 10**400}),
            (ValueError, "s: .*larger than any f32", scaled),
            (ValueError, "epilogue: its character 9 is half", {"epilogue": "d = acc;\n\udc80"}),
            (TypeError, "epilogue: a snippet, a name or an Epilogue, not b", {"epilogue": b"d=1;"}),
            (ValueError, "out: its elements are float64, which no kernel", {"out": wide_out}),
        ):
            with self.assertRaisesRegex(error, message):
                jit_gemm.gemm(a, b, context=context(), **call)

    def test_strides_of_neither_layout_are_refused_not_copied(self):
        self.expect("a: strides .*contiguous", random((48, 64))[:, ::2], self.b)
        self.expect("a: strides .*contiguous", self.a[::-1], self.b)
        self.expect("a: strides", numpy.broadcast_to(self.a[:1], (48, 32)), self.b)
        self.expect("v: .*2 elements apart", epilogue="d = acc + v;", v=random((128,))[::2])
        self.expect(
            "out: .*same memory",
            random((2, 48, 32)),
            self.b,
            out=numpy.lib.stride_tricks.as_strided(random((48, 64)), (2, 48, 64), (0, 128, 2)),
        )

    def test_memory_that_is_shared_wrongly_is_refused(self):
        square = random((32, 32))
        self.expect("out: it shares memory with a", square, square.copy(), out=square)
        self.expect("out: it shares memory with b", square.copy(), square, out=square)
        both = random((49, 64))
        self.expect(
            "out: it shares memory with r", out=both[1:], epilogue="d = acc + r;", r=both[:-1]
        )
        v = random((48, 64))
        self.expect("out: it shares memory with v", out=v, epilogue="d = acc + v;", v=v[0])
        aux = random((48, 64))
        self.expect("it shares memory", out=aux, epilogue="d = acc; x = d;", x=jit_gemm.output(aux))

    def test_memory_that_cannot_be_written_is_refused(self):
        out = random((48, 64))
        out.flags.writeable = False
        self.expect("out: it is read-only", out=out)

    def test_names_of_operands_are_checked(self):
        self.expect(
            "x: the epilogue has no such operand.*bias", epilogue="bias", bias=random((64,)), x=1
        )
        self.expect("bias: the epilogue's operand bias:row_vector:f16 is missing", epilogue="bias")
        self.expect("x: the epilogue has no such operand", x=1)
        self.expect("'biass' is none of the library's own.*mean bias", epilogue="biass")
        self.expect("'mine' is none of the library's own.*registered; `", epilogue="mine")
        with self.assertRaisesRegex(TypeError, "s: None is no array; leave it out"):
            jit_gemm.gemm(self.a, self.b, context=context(), epilogue="d = acc * s;", s=None)
        self.expect(
            "bias: it is given as column_vector",
            epilogue="bias",
            bias=jit_gemm.column_vector(random((64,))),
        )

    def test_host_arrays_say_where(self):
        with self.assertRaisesRegex(jit_gemm.ArgumentError, 'device="emulator"'):
            jit_gemm.gemm(self.a, self.b)
        self.expect("device: a context is given as well", device="emulator")
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "'gpu' is no device"):
            jit_gemm.gemm(self.a, self.b, device="gpu")
        on_device = jit_gemm.DeviceArray.from_host(context(), self.a)
        self.expect("b lies in|b: it lies in host memory", on_device, self.b)

    def test_bf16_without_ml_dtypes_says_what_to_do(self):
        if optional("ml_dtypes"):
            self.skipTest("there is ml_dtypes")
        bits = jit_gemm.view(self.a.view("u2"), "bf16"), jit_gemm.view(self.b.view("u2"), "bf16")
        self.expect('ml_dtypes.*dtype="f32"', *bits)

    def test_a_problem_that_has_no_kernel_is_unsupported(self):
        self.expect(
            "layout|K-major",
            self.a.astype("i1").T.copy().T,
            self.b.astype("i1"),
            kind=jit_gemm.UnsupportedError,
        )

    def test_empty_products_give_empty_results(self):
        result = jit_gemm.gemm(self.a[:0], self.b, context=context())
        self.assertEqual(result.shape, (0, 64))
        self.expect(
            "nothing runs",
            self.a[:0],
            self.b,
            epilogue="d = acc; s = d;",
            s=jit_gemm.reduction("sum", "scalar"),
        )


@needs_numpy
class Lifetimes(CompilerTest):
    def test_a_closed_context_is_refused_and_its_kernels_go_on(self):
        a, b = random((48, 32)), random((32, 64))
        other = jit_gemm.Context(DEVICE, arch=ARCH)
        kernel = jit_gemm.Gemm(other, "48x64x32 f16 layout=nn")
        other.close()
        for call in (other.stats, other.describe, lambda: jit_gemm.gemm(a, b, context=other)):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "context: it is closed"):
                call()
        kernel.close()
        out = numpy.empty((48, 64), numpy.float16)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "it is closed"):
            kernel.run(a, b, out)

    def test_a_context_that_may_not_compile_says_what_is_missing(self):
        a, b = random((48, 32)), random((32, 64))
        with jit_gemm.Context(DEVICE, arch=ARCH, compile="forbidden", cache=False) as closed:
            with self.assertRaisesRegex(jit_gemm.NotCachedError, "48") as caught:
                jit_gemm.gemm(a, b, context=closed)
            self.assertEqual(caught.exception.status, jit_gemm.Status.NOT_CACHED)
            self.assertEqual(closed.stats()["forbidden_misses"], 1)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "'never' is no policy"):
            jit_gemm.Context(DEVICE, compile="never")

    def test_a_kernel_refuses_other_sizes_and_layouts(self):
        kernel = jit_gemm.Gemm(context(), "48x64x32 f16 layout=nn")
        out = numpy.empty((48, 64), numpy.float16)
        a, b = random((48, 32)), random((32, 64))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "m: it is 40, and the kernel is for"):
            kernel.run(a[:40], b, out[:40])
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "layout"):
            kernel.run(a, b.T.copy().T, out)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "the problem has no C"):
            kernel.run(a, b, out, c=out)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "a_scale: the problem has no scales"):
            kernel.run(a, b, out, a_scale=numpy.float32([1]))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "no groups"):
            kernel.run(a, b, out, group_sizes=numpy.zeros(1, numpy.int32))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "stream: host arrays"):
            kernel.run(a, b, out, stream=1234)

    def test_numbers_of_groups_that_python_knows_are_checked(self):
        kernel = jit_gemm.Gemm.create(context(), "m=96 n=32 k=32 a=f16 layout=nn groups=3")
        plain = jit_gemm.Gemm.create(context(), "96x32x32 f16 layout=nn")
        a, b, out = random((96, 32)), random((3, 32, 32)), numpy.empty((96, 32), numpy.float16)
        rows = (
            ([40, 39, 90], "args.host_group_sizes: entry 1 is 39, and the one before is 40"),
            ([40, 40, 97], "entry 2, where a group ends, is 97, and M is 96"),
            ([40, 96], "args.host_group_count: 2 numbers are given, and there are 3 groups"),
            ([40, 40.5, 96], "host_group_sizes: .*integer"),
            ([40, 1 << 31, 96], "host_group_sizes: .*32 bits"),
            (7, "host_group_sizes: .*int"),
        )
        for numbers, message in rows:
            with self.assertRaisesRegex(jit_gemm.ArgumentError, message):
                kernel.run(a, b, out, host_group_sizes=numbers)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "host_group_sizes: .*no groups"):
            plain.run(a, b[0], out, host_group_sizes=[96])

    def test_arrays_without_rows_have_any_strides(self):
        b = random((3, 32, 32))
        for by, shape in (("offsets", (0, 32)), ("counts", (3, 0, 32))):
            kernel = jit_gemm.Gemm(
                context(), f"n=32 k=32 a=f16 layout=nn dynamic=m groups=3 group_by={by}"
            )
            empty = numpy.empty(shape, numpy.float16)
            kernel.run(empty, b, empty.copy(), group_sizes=numpy.zeros(3, numpy.int32))

    def test_typical_sizes_choose_a_config_and_are_no_part_of_the_kernel(self):
        text = "m=96 n=32 k=32 a=f16 layout=nn groups=3"
        word = jit_gemm.typical_sizes([40, 0, 50])
        self.assertEqual(word, "typical_sizes=1x0,1x40,1x50")
        priced = context().plan(f"{text} {word}")
        self.assertIn("of 2 groups that typically have 40 to 50 rows", priced)
        plain = jit_gemm.Gemm(context(), text)
        kernel = jit_gemm.Gemm(context(), f"{text} {word} config={plain.info.config}")
        self.assertEqual(kernel.info.key, plain.info.key)
        self.assertIn(word, kernel.problem)
        for wrong, message in (
            ([], "no entry"),
            (7, "sequence of ints"),
            ([-1, 2], "sizes: entry 0 is -1"),
            ([1.5], "integer"),
            ([1 << 31], "32 bits"),
            ([1] * 4097, "at most 4096 groups"),
        ):
            with self.assertRaisesRegex(jit_gemm.ArgumentError, message):
                jit_gemm.typical_sizes(wrong)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "sizes of 2 groups are given"):
            context().check(f"{text} {jit_gemm.typical_sizes([1, 2])}")

    def test_a_child_of_fork_is_told_and_harms_nobody(self):
        a, b = random((48, 32)), random((32, 64))
        own = jit_gemm.Context(DEVICE, arch=ARCH)
        before = jit_gemm.gemm(a, b, context=own)
        kernel = jit_gemm.Gemm(own, "48x64x32 f16 layout=nn")
        first, second = (jit_gemm.DeviceArray.from_host(own, x) for x in (a, b))
        out = jit_gemm.DeviceArray(own, (48, 64), "f16")
        for call in (
            lambda: jit_gemm.gemm(a, b, context=own),
            lambda: kernel.run(first, second, out),
            own.stats,
        ):
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    call()
                except jit_gemm.ArgumentError as error:
                    code = 0 if "before a fork, by the parent" in str(error) else 2
                finally:
                    os._exit(code)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue((jit_gemm.gemm(a, b, context=own) == before).all())

    def test_a_lock_that_is_held_at_a_fork_is_free_in_the_child(self):
        locks = (_context._defaults_lock, _library._lock, _current._lock, context()._lock)
        for number, held in enumerate(locks):
            with held:  # as if another thread were in the middle of something
                child = os.fork()
                if child == 0:
                    os._exit(0 if held._lock.acquire(blocking=False) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0, number)
            with held:  # and the parent's is as it was
                self.assertFalse(held._lock.acquire(blocking=False))


if __name__ == "__main__":
    main()
