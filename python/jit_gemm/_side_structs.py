# SPDX-License-Identifier: MIT
"""Structs of the C interface for kernels beside products, and for scales on the host."""

import ctypes
from ctypes import c_int64, c_size_t, c_uint64


class ScalesReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("scales", c_uint64),
        ("nans", c_uint64),
        ("infinities", c_uint64),
        ("negatives", c_uint64),
        ("zeros", c_uint64),
        ("padding", c_uint64),
        ("dirty_padding", c_uint64),
        ("first_row", c_int64),
        ("first_block", c_int64),
    ]


class PackerArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("mn", c_int64),
        ("k", c_int64),
        ("batch", c_int64),
        ("from", c_uint64),
        ("to", c_uint64),
        ("from_stride", c_int64),
        ("to_stride", c_int64),
    ]


class CombinerArgs(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("tokens", c_int64),
        ("columns", c_int64),
        ("rows", c_uint64),
        ("rows_ld", c_int64),
        ("row_count", c_int64),
        ("index", c_uint64),
        ("weights", c_uint64),
        ("c", c_uint64),
        ("c_ld", c_int64),
        ("d", c_uint64),
        ("d_ld", c_int64),
    ]
