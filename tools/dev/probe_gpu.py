#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what the CUDA driver says of this machine, on one line, for the scripts.

`driver=13000 gpu=9.0 name=NVIDIA H200`, `driver=13000 gpu=none`, or `driver=none`.
"""
import ctypes
import os


def main():
    try:
        cuda = ctypes.CDLL(os.environ.get("JIT_GEMM_DRIVER") or "libcuda.so.1")
    except OSError:
        print("driver=none")
        return
    version = ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(version)) != 0:
        print("driver=none")
        return
    count = ctypes.c_int(0)
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        print(f"driver={version.value} gpu=none")
        return
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    name = ctypes.create_string_buffer(128)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)  # COMPUTE_CAPABILITY_MAJOR
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)  # COMPUTE_CAPABILITY_MINOR
    cuda.cuDeviceGetName(name, 128, 0)
    text = name.value.decode(errors="replace")
    print(f"driver={version.value} gpu={major.value}.{minor.value} name={text}")


main()
