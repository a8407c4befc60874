/* SPDX-License-Identifier: MIT */
/**
 * @file capsule.h
 * @brief Capsules: what a failing compile, load or launch leaves, made once more.
 *
 * A context with jit_gemm_context_options.capsule_dir leaves a folder of text files when
 * the compiler fails, or the driver does not load or launch a kernel. docs/debugging.md
 * says when, and what is in it.
 */
#ifndef JIT_GEMM_CAPSULE_H
#define JIT_GEMM_CAPSULE_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a capsule's unit. */
typedef enum jit_gemm_replay_outcome {
    JIT_GEMM_REPLAY_SAME_ERROR = 0,  /**< It fails as it did. */
    JIT_GEMM_REPLAY_OTHER_ERROR = 1, /**< It fails with another error. */
    JIT_GEMM_REPLAY_COMPILES = 2,    /**< It compiles; nothing was loaded. */
    JIT_GEMM_REPLAY_LOADS = 3,       /**< It compiles and loads: of a load that failed, in a
                                        context with a device. */
    JIT_GEMM_REPLAY_RUNS = 4 /**< It compiles, loads and runs to its end: of a launch
                                that failed, in a context with a device. */
} jit_gemm_replay_outcome;

/**
 * Compiles the source unit of a capsule with the context's compiler, for the capsule's
 * architecture, and compares what comes of it. Nothing is cached or written.
 * The unit is compiled with the device sources of this library. What compiles and is of a
 * load or a launch that failed is also loaded, and unloaded again, if the context has a
 * device of that architecture and plans the same unit for it; where that takes PTX, as the
 * emulator, it is PTX. A launch that failed is made once more, with the sizes, strides and
 * alignments of the capsule, over memory of its own that is filled with zeros. A kernel
 * that fails there fails the device for the whole process, as any does.
 *
 * The report's first line is `replay: same error`, `replay: other error`,
 * `replay: compiles here`, `replay: loads here` or `replay: runs here`, and says which
 * versions are the same; then come a line for each version, the error of the capsule and
 * the one here.
 *
 * @param context its compiler and its compile limit are used; needs no device. Any thread.
 * @param path the capsule's folder
 * @param[out] ret_outcome untouched on failure
 * @param buffer receives the report, cut to `size`; may be NULL if `size` is 0
 * @param size bytes of `buffer`
 * @param[out] ret_length length of the whole report; may be NULL
 * @return OK if the unit was compiled or refused; ARGUMENT (no capsule, or a damaged one;
 * the error names file and line), UNSUPPORTED (an architecture that is not here), VERSION
 * (of the format), IO, NO_COMPILER, CANCELLED, DEVICE (too little memory for a
 * launch), NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_capsule_replay(jit_gemm_context *context,
                                                     const char *path,
                                                     jit_gemm_replay_outcome *ret_outcome,
                                                     char *buffer, size_t size,
                                                     size_t *ret_length);

#ifdef __cplusplus
}
#endif

#endif
