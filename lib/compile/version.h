/* SPDX-License-Identifier: MIT */
/* The library's version as text, for keys and entries. */
#ifndef JG_COMPILE_VERSION_H
#define JG_COMPILE_VERSION_H

#include "jit_gemm/version.h"

#define JG_VERSION_TEXT_OF(number) #number
#define JG_VERSION_TEXT(major, minor, patch) \
    JG_VERSION_TEXT_OF(major) "." JG_VERSION_TEXT_OF(minor) "." JG_VERSION_TEXT_OF(patch)
#define JG_LIBRARY_VERSION \
    JG_VERSION_TEXT(JIT_GEMM_VERSION_MAJOR, JIT_GEMM_VERSION_MINOR, JIT_GEMM_VERSION_PATCH)

#endif
