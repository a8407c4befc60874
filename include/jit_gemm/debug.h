/* SPDX-License-Identifier: MIT */
/**
 * @file debug.h
 * @brief Looking into a running kernel: waits that end with a report, and a trace of its
 * roles.
 *
 * Both are kernels of their own, asked for by the config of a problem: `debug=1` and
 * `trace=1`. Without them a kernel's machine code has nothing of either.
 */
#ifndef JIT_GEMM_DEBUG_H
#define JIT_GEMM_DEBUG_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Writes what a kernel with `debug=1` said before it gave up: a line for each warp that
 * waited for a barrier or for other parts of K longer than two seconds, or released a stage
 * twice or never, and what the other warps were at. The kernel then ends with a trap, so
 * the next call that waits for it fails, and the CUDA context stays unusable; the report
 * can still be read.
 *
 * @param buffer receives the text, cut to `size` bytes and always zero-terminated; empty if
 * no kernel gave up
 * @param size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return OK, ARGUMENT (also if the kernel has no `debug=1`), NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_debug_report(const jit_gemm *gemm, char *buffer,
                                                   size_t size, size_t *ret_length);

/** Tracks of a CTA in a trace. */
#define JIT_GEMM_TRACE_TRACKS 16

/** What one role of one CTA did for one tile. */
typedef struct jit_gemm_trace_event {
    uint64_t
        begin_ns;    /**< When it began, having what it had waited for; the GPU's timer. */
    uint64_t end_ns; /**< When it ended; 0: there is no event here. */
    uint32_t row;    /**< First row of the tile, in elements. */
    uint32_t col;    /**< First column of the tile, in elements. */
    uint32_t batch;  /**< Index of the batch. */
    uint32_t sm;     /**< Number of the multiprocessor. */
} jit_gemm_trace_event;

/** Name of a track, for instance "load"; NULL if no role has that number. Static. */
JIT_GEMM_API const char *jit_gemm_trace_track_name(uint32_t track);

/**
 * Gives a kernel with `trace=1` the buffer for the launches that follow.
 *
 * The buffer holds `ctas` * ::JIT_GEMM_TRACE_TRACKS * `events` entries of
 * ::jit_gemm_trace_event: those of track 0 of CTA 0, of track 1, and so on. The caller
 * fills it with zeros before each launch. What does not fit is left out. Waits for work of
 * the default stream; not for use beside a launch of the same handle.
 *
 * @param address device address, a multiple of 32; 0 records nothing any more
 * @param ctas CTAs that the buffer is for, from the first one on
 * @param events entries of one track
 * @return OK, ARGUMENT (also if the kernel has no `trace=1`), DEVICE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_trace_attach(const jit_gemm *gemm, uint64_t address,
                                                   uint32_t ctas, uint32_t events);

#ifdef __cplusplus
}
#endif

#endif
