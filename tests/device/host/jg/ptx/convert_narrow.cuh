// SPDX-License-Identifier: MIT
// Host meaning of conversions: of convert.cuh, whatever the type.
#pragma once
#include <jg/ptx/convert.cuh>

#define Convert ConvertByPtx
#define to_f32  to_f32_by_ptx
#include "kernel_src/jg/ptx/convert_narrow.cuh"
#undef Convert
#undef to_f32
