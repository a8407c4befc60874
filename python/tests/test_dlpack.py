# SPDX-License-Identifier: MIT
"""Arrays of others over DLPack, and streams: what is read, what is asked for, what is given."""

import ctypes
import gc
import os
import pathlib
import sys
import types
import unittest
import weakref
from unittest import mock

from support import CompilerTest, context, expect_close, needs_numpy, numpy, random, wide, main

import jit_gemm
from jit_gemm import _dlpack, _view

NULL_DRIVER = pathlib.Path(os.environ.get("JIT_GEMM_TEST_BUILD", ".")) / "bench/null_driver.so"


class Producer:
    """An array of somebody, as DLPack has it: over numpy's memory, on any device."""

    def __init__(self, array, device=(_dlpack.CPU, 0), dtype=None, address=None):
        self.array = array
        self.device = device
        self.dtype = dtype
        self.address = address
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **words):
        self.asked.append(words)
        view = _view.look_at("array", self.array)
        dtype = self.dtype or _view.TO_DLPACK[view.dtype]
        return _dlpack.give(
            self.array, self.address or view.pointer, view.shape, view.strides, dtype, self.device
        )


class OldProducer(Producer):
    """One from before DLPack 1.0."""

    def __dlpack__(self, stream=None):
        return super().__dlpack__(stream=stream)


class WithoutStrides(Producer):
    """Packed arrays may leave strides out."""

    def __dlpack__(self, **words):
        capsule = super().__dlpack__(**words)
        held = _dlpack.Held(capsule)
        held.tensor.strides = ctypes.POINTER(ctypes.c_int64)()
        held.tensor.byte_offset = 16
        held.tensor.data -= 16
        return capsule


@needs_numpy
class Reading(CompilerTest):
    def test_arrays_of_producers_old_and_new_are_multiplied(self):
        a, b = random((40, 32)), random((48, 32))
        for made in (Producer, OldProducer, WithoutStrides):
            with self.subTest(made.__name__):
                first, second = made(a), Producer(b.T)
                out = numpy.full((40, 48), numpy.nan, numpy.float16)
                jit_gemm.gemm(first, second, out=out, context=context())
                expect_close(self, out, wide(a) @ wide(b.T), 32)
                self.assertNotIn("stream", {k for k, v in first.asked[-1].items() if v})

    def test_versions_and_read_only_flags_are_seen(self):
        array = random((4, 4))
        view = _view.look_at("x", array)
        first = _dlpack.Held(Producer(array).__dlpack__())
        for major, flags in ((1, 1), (1, 0), (2, 0)):
            managed = _dlpack.ManagedVersioned(major, 0, None, None, flags, first.tensor)
            capsule = _dlpack._new_capsule(ctypes.addressof(managed), b"dltensor_versioned", None)
            with self.subTest(major=major, flags=flags):
                if major == 2:
                    with self.assertRaisesRegex(BufferError, "DLPack 2.0"):
                        _dlpack.Held(capsule)
                    continue
                held = _dlpack.Held(capsule)
                self.assertEqual(held.read_only, bool(flags))
                self.assertEqual(held.tensor.data, view.pointer)

    def test_types_are_those_of_the_standard(self):
        for bits, code, dtype in (
            ("u1", (10, 8), "e4m3"),
            ("u1", (12, 8), "e5m2"),
            ("u2", (4, 16), "bf16"),
            ("f2", (2, 16), "f16"),
            ("f4", (2, 32), "f32"),
            ("i1", (0, 8), "s8"),
            ("i4", (0, 32), "s32"),
        ):
            array = Producer(
                numpy.zeros((2, 2), bits).view({"u1": "i1", "u2": "f2"}.get(bits, bits)), dtype=code
            )
            self.assertEqual(_view.look_at("x", array).dtype, dtype)
        for code in ((8, 8), (1, 8), (2, 64)):  # e4m3 with infinities, uint8, f64
            array = Producer(numpy.zeros((2, 2), "i1"), dtype=code)
            with self.assertRaisesRegex(jit_gemm.ArgumentError, f"type {code[0]} of DLPack"):
                jit_gemm.gemm(array, array, context=context())

    def test_devices_that_no_kernel_runs_on_are_refused(self):
        array = Producer(random((4, 4)), device=(10, 0))
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "DLPack's type 10"):
            jit_gemm.gemm(array, array, context=context())

    def test_arrays_of_jax_are_read_and_never_written(self):
        jax = types.ModuleType("jax")
        jax.Array = Producer
        a, b = random((40, 32)), random((32, 48))
        with mock.patch.dict(sys.modules, jax=jax):
            result = numpy.empty((40, 48), numpy.float16)
            jit_gemm.gemm(Producer(a), Producer(b), out=result, context=context())
            expect_close(self, result, wide(a) @ wide(b), 32)
            with self.assertRaisesRegex(jit_gemm.ArgumentError, "out: it is read-only"):
                jit_gemm.gemm(a, b, out=Producer(result), context=context())

    def test_memory_is_given_back(self):
        array = random((16, 16))
        before = len(_dlpack._given)
        jit_gemm.gemm(Producer(array), Producer(array), out=array.copy(), context=context())
        gc.collect()
        self.assertEqual(len(_dlpack._given), before)

    @unittest.skipUnless(hasattr(numpy, "from_dlpack"), "numpy is older than 1.22")
    def test_what_is_given_lives_until_it_is_through(self):
        class Memory:
            def __init__(self):
                self.array = random((3, 5), "float32")

        memory = Memory()
        expected = memory.array.copy()
        view = _view.look_at("x", memory.array)
        capsule = _dlpack.give(
            memory, view.pointer, (3, 5), (5, 1), _view.TO_DLPACK["f32"], (_dlpack.CPU, 0)
        )
        gone = weakref.ref(memory)

        class Given:
            def __dlpack_device__(self):
                return (_dlpack.CPU, 0)

            def __dlpack__(self, **_):
                return capsule

        taken = numpy.from_dlpack(Given())
        del memory, capsule
        gc.collect()
        self.assertTrue((taken == expected).all())
        self.assertIsNotNone(gone())
        Given.__dlpack__ = None
        del taken
        gc.collect()
        self.assertIsNone(gone())

    def test_emulated_memory_is_not_given_away(self):
        array = jit_gemm.DeviceArray.zeros(context(), (2, 3), "f32")
        if not array.is_emulated:
            self.skipTest("a GPU's memory is given")
        self.assertEqual(array.__dlpack_device__()[0], _dlpack.EXTENSION)
        with self.assertRaisesRegex(BufferError, "to_host"):
            array.__dlpack__()
        host = array.to_host(numpy.ones((2, 3), numpy.float32))
        self.assertTrue((host == 0).all())


@needs_numpy
@unittest.skipUnless(NULL_DRIVER.exists(), "the driver that does nothing is not built")
class Streams(CompilerTest):
    """On a driver that does nothing: arrays of CUDA, of which only addresses matter."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.null = jit_gemm.Context(arch="sm_90a", driver=NULL_DRIVER, cache=True)

    def arrays(self):
        shapes = ((64, 32), (32, 64), (64, 64))
        return [
            Producer(random(shape), (_dlpack.CUDA, 0), address=(number + 1) << 24)
            for number, shape in enumerate(shapes)
        ]

    def streams_asked(self, **words):
        a, b, out = self.arrays()
        jit_gemm.gemm(a, b, context=self.null, out=out, **words)
        asked = {producer.asked[0]["stream"] for producer in (a, b, out)}
        self.assertEqual(len(asked), 1)
        return asked.pop()

    def test_producers_are_told_the_stream_that_will_read(self):
        self.assertEqual(self.streams_asked(), 1)  # the legacy default stream
        self.assertEqual(self.streams_asked(stream=0), 1)
        self.assertEqual(self.streams_asked(stream=0x7100), 0x7100)
        torch_like = types.SimpleNamespace(cuda_stream=0x7200)
        self.assertEqual(self.streams_asked(stream=torch_like), 0x7200)
        cupy_like = types.SimpleNamespace(ptr=0x7300)
        self.assertEqual(self.streams_asked(stream=cupy_like), 0x7300)
        protocol = types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x7400))
        self.assertEqual(self.streams_asked(stream=protocol), 0x7400)
        with self.assertRaisesRegex(TypeError, "stream: str is no stream"):
            self.streams_asked(stream="main")

    def test_the_current_stream_of_cupy_is_found_without_an_import(self):
        cupy = types.ModuleType("cupy")
        cupy.ndarray = Producer
        cupy.cuda = types.SimpleNamespace(
            get_current_stream=lambda: types.SimpleNamespace(ptr=0x8100)
        )
        sys.modules["cupy"] = cupy
        try:
            self.assertEqual(self.streams_asked(), 0x8100)
        finally:
            del sys.modules["cupy"]

    def test_after_a_warm_up_nothing_is_created(self):
        a, b, out = self.arrays()
        jit_gemm.gemm(a, b, "relu", context=self.null, out=out)
        before = self.null.stats()
        for _ in range(3):
            jit_gemm.gemm(*self.arrays()[:2], "relu", context=self.null, out=out)
        self.assertEqual(self.null.stats(), before)

    def test_arrays_in_two_places_are_refused(self):
        a, b, out = self.arrays()
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "b: it lies in host memory, and a in"):
            jit_gemm.gemm(a, random((32, 64)), context=self.null, out=out)
        a.device = b.device = out.device = (_dlpack.CUDA, 1)
        with self.assertRaisesRegex(jit_gemm.ArgumentError, "the context has another device"):
            jit_gemm.gemm(a, b, context=self.null, out=out)

    def test_a_gpus_array_is_given_on_its_device(self):
        array = jit_gemm.DeviceArray(self.null, (2, 3), "bf16")
        self.assertEqual(array.__dlpack_device__(), (_dlpack.CUDA, 0))
        held = _dlpack.Held(array.__dlpack__())
        tensor = held.tensor
        self.assertEqual(
            (tensor.data, tensor.dtype.code, tensor.dtype.bits), (array.pointer, 4, 16)
        )
        self.assertEqual([tensor.strides[i] for i in range(2)], [3, 1])


if __name__ == "__main__":
    main()
