/* SPDX-License-Identifier: MIT */
/**
 * @file export.h
 * @brief JIT_GEMM_API: what a function of the library is declared with.
 */
#ifndef JIT_GEMM_EXPORT_H
#define JIT_GEMM_EXPORT_H

/** Visible outside of the shared library. */
#if defined(__GNUC__)
#    define JIT_GEMM_API __attribute__((visibility("default")))
#else
#    define JIT_GEMM_API
#endif

#endif
