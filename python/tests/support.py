# SPDX-License-Identifier: MIT
"""What the tests share: contexts on the emulator, random inputs, a reference in f64."""

import functools
import importlib
import math
import os
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]

import jit_gemm  # noqa: E402
from strides import in_turn  # noqa: E402, F401 (of tests/support)

# Set on a machine with a GPU, the same tests run there.
DEVICE = os.environ.get("JIT_GEMM_TEST_DEVICE", "emulator")
ARCH = os.environ.get("JIT_GEMM_TEST_ARCH") or ("sm_90a" if DEVICE == "emulator" else None)


def optional(name):
    """A module, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch_python():
    """An interpreter that has torch: this one, or what JIT_GEMM_TEST_TORCH names; or None."""
    if optional("torch") is not None:
        return sys.executable
    other = os.environ.get("JIT_GEMM_TEST_TORCH", "")
    return other if os.path.exists(other) else None


def prefer_torch():
    """Goes on in an interpreter that has torch, if there is one."""
    other = torch_python()
    if other not in (None, sys.executable):
        os.execv(other, [other, *sys.argv])


numpy = optional("numpy")
ml_dtypes = optional("ml_dtypes")
needs_numpy = unittest.skipIf(numpy is None, "there is no numpy")


@functools.lru_cache(maxsize=None)
def context():
    """One context for all tests, so that kernels are compiled once."""
    return jit_gemm.Context(DEVICE, arch=ARCH)


@functools.lru_cache(maxsize=None)
def why_no_compiler():
    """Why nothing can be compiled here; empty if something can."""
    try:
        jit_gemm.Gemm(context(), "64x64x32 f16")
    except jit_gemm.NoCompilerError as error:
        return str(error)
    return ""


class CompilerTest(unittest.TestCase):
    """Skipped where there is no NVRTC."""

    @classmethod
    def setUpClass(cls):
        if why_no_compiler():
            raise unittest.SkipTest(why_no_compiler())


def generator():
    """Fresh data in each run; JIT_GEMM_TEST_SEED repeats one, which a failure prints."""
    seed = int(os.environ.get("JIT_GEMM_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
    print(f"JIT_GEMM_TEST_SEED={seed}", file=sys.stderr)
    return numpy.random.default_rng(seed)


@functools.lru_cache(maxsize=None)
def rng():
    return generator()


def random(shape, dtype="float16", order="C"):
    """Uniform in [-1, 1]."""
    values = rng().uniform(-1, 1, shape)
    return numpy.asarray(values.astype(dtype), order=order)


def guarded(shape, dtype="float16", order="C", guard=64):
    """An array of NaN inside of a larger one whose other bytes are 0xa5: (array, check).

    `check` raises if a byte outside of the array has changed.
    """
    size = math.prod(shape) * numpy.dtype(dtype).itemsize
    raw = numpy.full(size + 2 * guard, 0xA5, numpy.uint8)
    array = raw[guard : guard + size].view(dtype).reshape(shape, order=order)
    array[...] = numpy.nan if numpy.dtype(dtype).kind == "f" else -1

    def check():
        outside = numpy.concatenate([raw[:guard], raw[guard + size :]])
        if not (outside == 0xA5).all():
            raise AssertionError("bytes around the result have changed")

    return array, check


def gelu(x):
    erf = numpy.vectorize(math.erf)
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def silu(x):
    return x / (1 + numpy.exp(-x))


def wide(array):
    return numpy.asarray(array).astype(numpy.float64)


def product(a, b):
    """In f64."""
    return wide(a) @ wide(b)


def expect_close(test, result, reference, k, dtype="float16"):
    """Within one rounding of the result's type and what f32 sums of k products lose."""
    result, reference = wide(result), numpy.asarray(reference)
    test.assertEqual(result.shape, reference.shape)
    step = {"float16": 2**-11, "float32": 2**-24, "bfloat16": 2**-8}[dtype]
    bound = 1.01 * step * numpy.abs(reference) + 2**-20 * k + 1e-6
    worst = numpy.max(numpy.abs(result - reference) - bound, initial=-1)
    test.assertFalse(numpy.isnan(result).any(), "there is a NaN in the result")
    test.assertLessEqual(worst, 0, "beyond rounding")


class _Tap(unittest.TestResult):
    """Reports as TAP, a line for each test."""

    count = 0

    def _say(self, word, test, more=""):
        self.count += 1
        name = str(test).split(" ")[0].removeprefix("test_").replace("_", " ")
        print(f"{word} {self.count} - {name}{more}", flush=True)

    def addSuccess(self, test):
        self._say("ok", test)

    def addSkip(self, test, reason):
        self._say("ok", test, f" # SKIP {reason}")

    def _fail(self, test, error):
        self._say("not ok", test)
        for line in self._exc_info_to_string(error, test).splitlines():
            print("# " + line)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._fail(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._fail(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._fail(subtest, error)


def tests_of(suite):
    for test in suite:
        yield from tests_of(test) if isinstance(test, unittest.TestSuite) else [test]


def main(choose=list):
    """Runs the tests of the program's file: as unittest does, or as meson wants it.

    `choose`, which may be `in_turn`, says which of them meson's run has.
    """
    if not os.environ.get("JIT_GEMM_TEST_TAP"):
        unittest.main(module="__main__")
        return
    result = _Tap()
    found = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    unittest.TestSuite(choose(list(tests_of(found)))).run(result)
    print(f"1..{result.count}")
    sys.exit(not result.wasSuccessful() or result.count == 0)
