# SPDX-License-Identifier: MIT
"""Threads, prewarming, manifests, logs and the finding of libraries."""

import copy
import logging
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest

from support import (
    ARCH,
    DEVICE,
    ROOT,
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
from jit_gemm import _library
from jit_gemm._library import library

SNIPPET = "d = relu(acc + bias);"
PTX = DEVICE == "emulator"


def run_threads(work, count):
    """Runs `work(number)` on threads that begin together; raises what one of them raised."""
    failures = []
    barrier = threading.Barrier(count)

    def run(number):
        try:
            barrier.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@needs_numpy
class Threads(CompilerTest):
    def test_threads_share_a_context_and_compile_once(self):
        inputs = [(random((40, 32)), random((32, 48)), random((48,))) for _ in range(4)]
        results = [None] * 4
        with jit_gemm.Context(DEVICE, arch=ARCH, cache=False) as own:

            def work(number):
                a, b, bias = inputs[number]
                for _ in range(2):
                    results[number] = jit_gemm.gemm(a, b, SNIPPET, context=own, bias=bias)

            run_threads(work, 4)
            self.assertEqual(own.stats()["compiles"], 1)
        for (a, b, bias), result in zip(inputs, results):
            expect_close(self, result, numpy.maximum(wide(a) @ wide(b) + wide(bias), 0), 32)

    def test_the_stream_of_each_thread_has_a_workspace_of_its_own(self):
        found = {}
        with jit_gemm.Context(DEVICE, arch=ARCH) as own:

            def work(number):
                found[number] = [own.workspace(stream, 1 << 10) for stream in (2, 2, 7)]

            work("first")
            run_threads(work, 1)
        (one, again, shared), (other, _, also) = found.values()
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)
        self.assertEqual(shared, also)

    def test_errors_are_those_of_their_thread(self):
        def work(number):
            for turn in range(20):
                name = f"missing{number}_{turn}"
                with self.assertRaisesRegex(jit_gemm.CompileError, name):
                    context().register(jit_gemm.Epilogue(f"d = acc + {name} asm;"))

        run_threads(work, 4)

    def test_a_context_that_is_closed_meanwhile_ends_no_call(self):
        a, b = random((40, 32)), random((32, 48))
        for _ in range(3):
            own = jit_gemm.Context(DEVICE, arch=ARCH)

            def work(number, own=own):
                if number == 0:
                    own.close()
                    return
                try:
                    jit_gemm.gemm(a, b, context=own)
                except jit_gemm.ArgumentError as error:
                    self.assertIn("closed", str(error))

            run_threads(work, 3)

    def test_a_compile_is_cancelled_from_another_thread(self):
        # A long snippet, so that the compiler is still at it. Where the other thread gets no turn
        # in time, another compile begins.
        text = "float x = acc;\n" + "x = gelu(x * 1.0009f + 0.1f) + tanh(x);\n" * 120 + "d = x;"
        for _ in range(20):
            with jit_gemm.Context(DEVICE, arch=ARCH, cache=False) as own:
                stop = threading.Event()

                def cancel(own=own, stop=stop):
                    while not stop.is_set():
                        own.cancel()

                canceller = threading.Thread(target=cancel)
                canceller.start()
                try:
                    jit_gemm.Gemm(own, "64x64x32 f16", jit_gemm.Epilogue(text))
                except jit_gemm.CancelledError:
                    return
                finally:
                    stop.set()
                    canceller.join()
        self.fail("twenty compiles, and none was cancelled")


@needs_numpy
class Prewarming(CompilerTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def settings(self, name="cache"):
        return {"cache_dir": self.path / name}

    def test_what_a_program_asked_for_is_built_elsewhere_and_then_nothing_compiles(self):
        a, b, bias = random((40, 32)), random((32, 48)), random((48,))
        with jit_gemm.Context(DEVICE, arch=ARCH, **self.settings("first")) as first:
            expected = jit_gemm.gemm(a, b, SNIPPET, context=first, bias=bias)
            first.write_manifest(self.path / "manifest.txt")
            arch = first.arch
        seen = []
        result = jit_gemm.prewarm(
            self.path / "manifest.txt",
            arch,
            ptx=PTX,
            bundle=self.path / "kernels.jgb",
            progress=lambda done, total, problem: seen.append((done, total, problem)),
            **self.settings(),
        )
        self.assertEqual((result.total, result.compiled, result.failed), (1, 1, 0))
        self.assertEqual(result.bundle_kernels, 1)
        self.assertEqual(seen[-1][:2], (1, 1))
        self.assertIn("a=f16", seen[-1][2])
        again = jit_gemm.prewarm(
            (self.path / "manifest.txt").read_bytes(),
            [arch],
            ptx=PTX,
            require_cached=True,
            **self.settings(),
        )
        self.assertEqual((again.cached, again.compiled), (1, 0))
        for more in (self.settings(), {"cache": False, "cache_roots": [self.path / "kernels.jgb"]}):
            with jit_gemm.Context(DEVICE, arch=ARCH, compile="forbidden", **more) as closed:
                found = jit_gemm.gemm(a, b, SNIPPET, context=closed, bias=bias)
                self.assertTrue((found == expected).all())
                self.assertEqual(closed.stats()["compiles"], 0)

    def test_an_estimate_builds_nothing_and_a_deadline_ends_a_prewarm(self):
        text = self.header() + "".join(f"problem {8 * n}x64x32 f16\n" for n in range(1, 5)).encode()
        estimate = jit_gemm.prewarm(text, "sm_90a", only_estimate=True, jobs=2, **self.settings())
        self.assertEqual((estimate.total, estimate.missing, estimate.compiled), (4, 4, 0))
        self.assertEqual(estimate.jobs, 2)
        self.assertGreater(estimate.estimated_seconds, 0)
        self.assertGreater(estimate.estimated_bytes, 0)
        with self.assertRaises(jit_gemm.CancelledError):
            jit_gemm.prewarm(text, "sm_90a", jobs=1, deadline=0.001, **self.settings())

    def test_a_manifest_is_loaded_before_it_is_needed(self):
        a, b, bias = random((40, 32)), random((32, 48)), random((48,))
        with jit_gemm.Context(DEVICE, arch=ARCH, **self.settings()) as first:
            jit_gemm.gemm(a, b, SNIPPET, context=first, bias=bias)
            first.write_manifest(self.path / "manifest.txt")
        with jit_gemm.Context(DEVICE, arch=ARCH, compile="forbidden", **self.settings()) as second:
            second.load_manifest(self.path / "manifest.txt", create_all=True)
            before = second.stats()
            jit_gemm.gemm(a, b, SNIPPET, context=second, bias=bias)
            self.assertEqual(second.stats()["memory_hits"], before["memory_hits"] + 1)

    def test_a_prewarm_stops_where_the_callback_says_or_raises(self):
        manifest = "".join(f"problem {8 * n}x64x32 f16\n" for n in range(1, 7)).encode()
        header = self.header()
        with self.assertRaises(jit_gemm.CancelledError):
            jit_gemm.prewarm(
                header + manifest,
                "sm_90a",
                jobs=1,
                ptx=True,
                progress=lambda *_: True,
                **self.settings(),
            )

        def fail(*_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            jit_gemm.prewarm(
                header + manifest, "sm_90a", jobs=1, ptx=True, progress=fail, **self.settings()
            )

    def header(self):
        with jit_gemm.Context("none", arch="sm_90a") as empty:
            empty.write_manifest(self.path / "empty.txt")
        return (self.path / "empty.txt").read_bytes()

    def test_a_kernel_that_is_missing_is_told(self):
        text = self.header() + b"problem 64x64x32 f16\n"
        with self.assertRaises(jit_gemm.NotCachedError):
            jit_gemm.prewarm(text, "sm_90a", require_cached=True, **self.settings())
        with self.assertRaises(FileNotFoundError):
            jit_gemm.prewarm(self.path / "nothing.txt", "sm_90a")
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "settings: cache_dir"):
            jit_gemm.prewarm(text, context=context(), **self.settings())


class Contexts(unittest.TestCase):
    def test_a_context_without_a_device_plans(self):
        with jit_gemm.Context("none", arch="sm_100a", cache=False) as plans:
            self.assertEqual(plans.arch, "sm_100a")
            self.assertIn("chosen:", plans.plan("512x512x512 bf16"))
            plans.check("512x512x512 bf16")
            with self.assertRaises(jit_gemm.UnsupportedError):
                plans.check("m=64 n=64 k=64 a=e2m1")
            with self.assertRaises(jit_gemm.Error):
                plans.device
        with jit_gemm.Context("none", plan_for="h100", cache=False) as plans:
            self.assertEqual(plans.arch, "sm_90a")
            self.assertIn("cc=9.0", plans.planned_device)

    def test_log_lines_go_where_they_are_wanted(self):
        lines = []
        missing = "/nowhere/at/all"
        settings = {"arch": "sm_90a", "cache": False, "cache_roots": [missing]}
        jit_gemm.Context("none", log=lambda level, text: lines.append((level, text)), **settings)
        self.assertTrue(any(missing in text for _, text in lines), lines)
        with self.assertLogs("jit_gemm", logging.WARNING) as caught:
            jit_gemm.Context("none", **settings)
        self.assertIn(missing, caught.output[0])

    def test_a_default_context_is_made_once_and_again_when_closed(self):
        first = jit_gemm.default_context("none", "sm_90a")
        self.assertIs(jit_gemm.default_context("none", "sm_90a"), first)
        first.close()
        self.assertIsNot(jit_gemm.default_context("none", "sm_90a"), first)

    def test_what_belongs_to_a_process_is_not_copied_by_its_value(self):
        own = jit_gemm.default_context("none", "sm_90a")
        for copied in (pickle.dumps, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "belong to one process"):
                copied(own)

    def test_memory_of_a_device_is_not_freed_by_a_copy_of_its_array(self):
        array = jit_gemm.DeviceArray(context(), (16, 16), "bf16")
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "belong to one process"):
                copied(array)

    def test_wrong_settings_are_named(self):
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "32 bytes"):
            jit_gemm.Context("none", arch="sm_90a", cache_keys=[b"short"])
        with self.assertRaisesRegex(jit_gemm.UnsupportedError, "options.arch"):
            jit_gemm.Context("none", arch="sm_1")
        with self.assertRaisesRegex(TypeError, "problem: a text"):
            jit_gemm.Context("none", arch="sm_90a").check(7)


class Libraries(unittest.TestCase):
    def python(self, program, **variables):
        env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **variables}
        return subprocess.run(
            [sys.executable, "-c", program],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    @unittest.skipUnless("JIT_GEMM_TEST_NVTX" in os.environ, "there is no tool for NVTX")
    def test_a_context_that_asks_has_ranges_for_profilers(self):
        program = (
            "import jit_gemm\n"
            "context = jit_gemm.Context('emulator', arch='sm_90a', cache=False, nvtx=%s)\n"
            "try:\n"
            "    jit_gemm.Gemm(context, '64x64x32 f16')\n"
            "except jit_gemm.NoCompilerError:\n"
            "    pass\n"
        )
        for asked, variable, count in (("True", "0", 1), ("False", "1", 0), ("None", "1", 1)):
            with tempfile.TemporaryDirectory() as folder:
                ranges = pathlib.Path(folder) / "ranges"
                done = self.python(
                    program % asked,
                    JIT_GEMM_NVTX=variable,
                    NVTX_INJECTION64_PATH=os.environ["JIT_GEMM_TEST_NVTX"],
                    COUNTING_NVTX=str(ranges),
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                text = ranges.read_text("ascii") if ranges.exists() else ""
                self.assertEqual(text.count("push jit_gemm: create m=64"), count, asked)

    def test_a_library_that_is_not_there_is_told_at_the_first_use(self):
        done = self.python(
            "import jit_gemm; print('imported'); jit_gemm.version()",
            JIT_GEMM_LIBRARY="/nowhere/libjit_gemm.so",
        )
        self.assertIn("imported", done.stdout)
        self.assertIn("ImportError: the library of jit_gemm cannot be opened", done.stderr)
        self.assertIn("JIT_GEMM_LIBRARY", done.stderr)
        other = self.python("import jit_gemm; jit_gemm.version()", JIT_GEMM_LIBRARY="libc.so.6")
        self.assertIn("not a library of jit_gemm", other.stderr)

    @unittest.skipUnless(DEVICE == "emulator", "the emulator is looked for")
    def test_a_relative_path_of_the_library_has_the_emulator_beside_it_too(self):
        path = os.path.relpath(os.environ["JIT_GEMM_LIBRARY"])
        done = self.python(
            "import jit_gemm; jit_gemm.Context('emulator', arch='sm_90a').device",
            JIT_GEMM_LIBRARY=path,
        )
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_version_is_the_librarys(self):
        self.assertRegex(jit_gemm.version(), r"^\d+\.\d+\.\d+$")
        self.assertGreaterEqual(library().jit_gemm_version(), _library.LEAST_VERSION)


if __name__ == "__main__":
    main()
