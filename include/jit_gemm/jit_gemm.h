/* SPDX-License-Identifier: MIT */
/**
 * @file jit_gemm.h
 * @brief Fused matrix multiplication, compiled for the exact problem at the first call.
 *
 * Three verbs have three costs:
 * - ::jit_gemm_check says whether a problem is legal. Pure, no I/O, microseconds.
 * - ::jit_gemm_create makes it runnable. It may compile, read files and block.
 * - ::jit_gemm_run launches it. One driver call, two where unaligned inputs are copied,
 *   scales packed or maps of groups written first; no allocation, no lock, no file.
 *
 * This header has the functions, but for those that say what went wrong (error.h) and that
 * read and write a problem's text (problem_text.h). Their structs are in problem.h (what to
 * multiply), epilogue.h (what happens to the result), launch.h (what a launch gives),
 * context.h (settings and counters) and status.h (what the library says); it includes them
 * all.
 *
 * Conventions of every struct:
 * - A struct that begins with `struct_size` must carry `sizeof` of that struct as the
 *   caller compiled it. A shorter struct (an older caller) is accepted and the missing tail
 * reads as zero. A longer one (a newer caller) is accepted only if its unknown tail is all
 * zero, and is otherwise refused with ::JIT_GEMM_ERR_VERSION. So it is with a struct that
 * a function fills: nothing is written beyond `struct_size`. The others are frozen.
 * - Zero means default in every field.
 * - Everything that a struct points to on the host is copied during the call, unless the
 * field says that it is borrowed.
 * - Sizes and strides count elements unless the name says bytes.
 * - Truth values are `int32_t`, 0 or not 0: bindings of other languages need a type of one
 * size whose every bit pattern is legal, which `bool` is not.
 *
 * Errors: a function that returns a status fills the thread's last error on failure, and
 * leaves its results untouched. The text names the field, the fact and the remedy.
 *
 * Processes: a child of fork has none of its parent's threads and cannot use its driver: no
 * device without exec. It may make contexts without one (no_device); if the parent compiled
 * at the time of the fork, they find what is in the cache and no compiler (NO_COMPILER). A
 * context of its parent is refused with ARGUMENT, destroying it there does nothing, and
 * kernels of the parent must not be run.
 *
 * Threads: any thread may use a context at any time. A kernel handle never changes after
 * its creation, and any thread may run it. The error functions are per thread. Destroying a
 * context or a handle must not overlap with a call that uses it. A thread must not be
 * cancelled (pthread_cancel) inside a call: what it holds would stay held.
 *
 * Unloading: a program that loaded the library itself may unload it (dlclose) when no
 * handle and no context is left. The last error of a thread that lives on is lost then: its
 * few hundred bytes leak. After a compile that was stopped and went on, it stays loaded.
 *
 * Device addresses cross as `uint64_t` (a CUdeviceptr), streams as `void *` (a CUstream or
 * cudaStream_t; NULL is the default stream), so that no CUDA header is needed.
 *
 * The library never aborts, prints or exits.
 */
#ifndef JIT_GEMM_JIT_GEMM_H
#define JIT_GEMM_JIT_GEMM_H

#include "jit_gemm/context.h"
#include "jit_gemm/epilogue.h"
#include "jit_gemm/error.h"
#include "jit_gemm/export.h"
#include "jit_gemm/launch.h"
#include "jit_gemm/problem.h"
#include "jit_gemm/problem_text.h"
#include "jit_gemm/status.h"
#include "jit_gemm/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------- contexts */

/**
 * Creates a context: settings, the disk cache, and the kernels loaded so far.
 *
 * The call opens the driver and the device unless `options->no_device` is set. A machine
 * without driver or GPU gets a context that can check, plan and build, if `options->arch`
 * names an architecture. The compiler is opened when the first kernel must be compiled.
 * Where the driver has several devices and none is asked for, the context takes the first
 * one that this version has kernels for; if there is none, the error names each.
 *
 * @param options settings, copied; NULL for all defaults
 * @param[out] ret_context receives the context, which the caller destroys; untouched on
 * failure
 * @return OK, ARGUMENT, NO_MEMORY, NO_DRIVER, DEVICE, UNSUPPORTED, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_create(
    const jit_gemm_context_options *options, jit_gemm_context **ret_context);

/**
 * Destroys a context and sets the pointer to NULL. Accepts NULL.
 * Handles created from it stay valid: what they need lives until the last of them is
 * destroyed.
 */
JIT_GEMM_API void jit_gemm_context_destroy(jit_gemm_context **context);

/**
 * Cancels compiles: each create, build, prewarm and epilogue check that began before, on
 * any thread, and compiles or waits for another thread's compile, fails with CANCELLED.
 *
 * Does not wait for them. The compiler looks between its steps, of which one may take
 * seconds; nvJitLink never looks. What needs no compile, or is done by then, succeeds, and
 * only what was finished is in the cache. A call that begins later works as ever: if it
 * waits for a compile that is cancelled, it makes it itself. Takes no lock and allocates
 * nothing, so that a signal handler may call it.
 *
 * Before a process exits, threads that create must be cancelled and joined: an exit takes
 * the compiler apart while they are in it, and can crash.
 * @return OK, ARGUMENT
 */
JIT_GEMM_API jit_gemm_status jit_gemm_cancel(jit_gemm_context *context);

/**
 * Adds a read-only cache root behind those that the context has: a cache folder that others
 * have filled, or a bundle. Unlike one of `options.cache_roots` it must be usable. Creates
 * that begin later look there, too; a package adds what it ships in this way.
 *
 * A root must belong to the caller or to root, and nobody else may write it or exchange one
 * of the folders above it. With `options.cache_keys` it must be a bundle that one of them
 * has signed. The index of a bundle is checked now, its kernels when they are taken.
 * @param path absolute path; copied
 * @return OK, ARGUMENT, NO_MEMORY, IO: the root cannot be used, with the reason
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_add_cache_root(jit_gemm_context *context,
                                                             const char *path);

/** Architecture that the context plans and builds for, for instance "sm_90a". Never NULL;
 * static. */
JIT_GEMM_API const char *jit_gemm_context_arch(const jit_gemm_context *context);

/**
 * Reads the counters of a context.
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_stats(const jit_gemm_context *context,
                                                    jit_gemm_stats *ret_stats);

/**
 * Writes every problem that was asked of this context, with the epilogues they use, every
 * conversion of scales (scales.h) and every sum of rows (combine.h), as a manifest for
 * ::jit_gemm_prewarm.
 * @param path file to write; a regular file there is replaced at once by rename
 * @return OK, ARGUMENT, NO_MEMORY, IO
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_write_manifest(jit_gemm_context *context,
                                                             const char *path);

/**
 * Reads a manifest: registers its epilogues, and with `creates_all` makes all its kernels,
 * those of families, of conversions of scales and of sums of rows too, for the context's
 * device, so that creates of the same find them loaded. They stay so as long as the
 * context.
 *
 * Nothing is registered if a line is wrong, or if another epilogue has one of the names.
 * The first create that fails ends the call, and its error names the line; what was made
 * before stays.
 * @param path file to read, of at most 64 MiB
 * @param creates_all truth value; needs a device
 * @return OK, ARGUMENT, COMPILE and UNSUPPORTED (the error names the line), VERSION, IO,
 * NO_MEMORY; with `creates_all` also as ::jit_gemm_create
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_load_manifest(jit_gemm_context *context,
                                                            const char *path,
                                                            int32_t creates_all);

/**
 * Describes driver, device, compiler, cache roots, cache folder and their trust, one line
 * each.
 *
 * @param buffer receives the text, cut to `size` bytes and always zero-terminated
 * @param size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return OK if everything that a create needs is there, otherwise the status that a create
 * would give; the text is written either way
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_describe(jit_gemm_context *context,
                                                       char *buffer, size_t size,
                                                       size_t *ret_length);

/**
 * Writes the device that configs are chosen for as words, `cc=9.0 sm_count=132 ...`: what
 * jit_gemm_context_options.plan_for takes on a machine that has to choose alike.
 * @param buffer receives the text, cut to `size` bytes and always zero-terminated
 * @param size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return OK, ARGUMENT, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_planned_device(jit_gemm_context *context,
                                                             char *buffer, size_t size,
                                                             size_t *ret_length);

/* --------------------------------------------------------------------------- epilogues */

/**
 * Registers an epilogue under its name. Its text is compiled when a problem first uses it.
 *
 * The snippet is code and runs with the caller's rights on the GPU; what could change code
 * outside its function (directives, `asm`, unbalanced braces, line splices) is refused. The
 * same registration twice is fine, wherever the text stands; another one under a known
 * name is ARGUMENT, and so is a name of the library's own (::jit_gemm_epilogue_named).
 *
 * @return OK, ARGUMENT (name, operands), COMPILE (the text; see the diagnostics),
 * NO_MEMORY, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_epilogue_register(jit_gemm_context *context,
                                                        const jit_gemm_epilogue *epilogue);

/**
 * Reads the text form of an operand: `NAME:KIND:TYPE`, such as `bias:row_vector:bf16`, and
 * `:out`, `:sum`, `:max` or `:min` behind it where it is no input.
 *
 * KIND is a ::jit_gemm_operand_kind in small letters, TYPE as in a problem's text. Whether
 * an epilogue may have such an operand is said by ::jit_gemm_epilogue_register.
 *
 * @param text zero-terminated, read during the call only
 * @param[out] ret_name ::JIT_GEMM_NAME_SIZE bytes that receive the name; untouched on
 * failure
 * @param[out] ret_operand receives the operand, which borrows `ret_name`; untouched on
 * failure
 * @return OK, ARGUMENT
 */
JIT_GEMM_API jit_gemm_status jit_gemm_operand_parse(const char *text, char *ret_name,
                                                    jit_gemm_operand *ret_operand);

/**
 * Checks an epilogue without registering it, for a problem or a device: milliseconds.
 *
 * The library's own scan is always done. Where NVRTC is there and the context's policy does
 * not forbid compiling, the snippet is compiled by itself as well, which finds unknown
 * names and wrong types; a create gives the same messages. A compiled function is scanned.
 *
 * @param context for its compiler, architecture and log; NULL: only the scan
 * @param[out] ret_depth receives how far the check went; may be NULL; untouched on failure
 * @return OK, ARGUMENT (operands), COMPILE (the text; see the diagnostics), NO_COMPILER
 * (NVRTC is there and does not work), NO_MEMORY, CANCELLED, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_epilogue_check(jit_gemm_context *context,
                                                     const jit_gemm_epilogue *epilogue,
                                                     jit_gemm_epilogue_depth *ret_depth);

/* ----------------------------------------------------------------------------- problems */

/**
 * Says whether a problem is legal for the context's architecture. Pure: no I/O.
 *
 * @return OK, ARGUMENT, UNSUPPORTED, VERSION; the last error names the field and the remedy
 */
JIT_GEMM_API jit_gemm_status jit_gemm_check(jit_gemm_context *context,
                                            const jit_gemm_problem *problem);

/**
 * Writes the chosen config, why it was chosen, and each rejected candidate with its reason.
 *
 * @param buffer receives the text, cut to `size` bytes and always zero-terminated
 * @param size bytes of `buffer`; 0 only asks for the length
 * @param[out] ret_length bytes of the whole text without its end; may be NULL
 * @return as ::jit_gemm_check, and NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_plan(jit_gemm_context *context,
                                           const jit_gemm_problem *problem, char *buffer,
                                           size_t size, size_t *ret_length);

/* ------------------------------------------------------------------ build, create, run */

/**
 * Compiles a problem without a device or driver.
 *
 * Machine code and PTX go through the disk cache like a create; the source does not.
 *
 * @param emit what to make
 * @param[out] ret_artifact receives the bytes, which the caller destroys; untouched on
 * failure
 * @return as ::jit_gemm_check, and NO_MEMORY, NO_COMPILER, COMPILE, NOT_CACHED, BUDGET,
 * CANCELLED
 */
JIT_GEMM_API jit_gemm_status jit_gemm_build(jit_gemm_context *context,
                                            const jit_gemm_problem *problem,
                                            jit_gemm_emit emit,
                                            jit_gemm_artifact **ret_artifact);

/** Bytes of an artifact, which live as long as it does. Texts end with a zero byte that
 * `ret_size` does not count. */
JIT_GEMM_API const void *jit_gemm_artifact_data(const jit_gemm_artifact *artifact,
                                                size_t *ret_size);

/**
 * Reads what is known of the kernel that was built: what the compiler said, and the plan.
 *
 * `load_ms` is 0; of a source unit and of PTX `registers` and `spill_bytes` are 0 too, and
 * a source unit has no key.
 *
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_artifact_get_info(const jit_gemm_artifact *artifact,
                                                        jit_gemm_info *ret_info);

/** Destroys an artifact and sets the pointer to NULL. Accepts NULL. */
JIT_GEMM_API void jit_gemm_artifact_destroy(jit_gemm_artifact **artifact);

/**
 * Makes a problem runnable: finds the kernel in memory or in the disk cache or compiles it,
 * and loads it. The call may block. Threads that ask for the same problem share one
 * compile.
 *
 * If the driver says then that the device holds no cluster of the chosen size, the context
 * logs a warning and chooses smaller ones from then on, unless the config names `cluster`.
 *
 * @param context a context with a device
 * @param problem the problem, copied
 * @param[out] ret_gemm receives the handle, which the caller destroys; untouched on failure
 * @return as ::jit_gemm_build, and NO_DRIVER, DEVICE, LOAD, CAPTURE
 */
JIT_GEMM_API jit_gemm_status jit_gemm_create(jit_gemm_context *context,
                                             const jit_gemm_problem *problem,
                                             jit_gemm **ret_gemm);

/**
 * Launches the kernel on a stream. Checks every argument first; legal under stream capture.
 * Where the config copies unaligned inputs (`repack`), the kernel that does goes first.
 *
 * Addresses, leading dimensions and batch strides of matrices must be multiples of 16
 * bytes, or of what the problem's alignments promise. Those of vectors (operands or scales)
 * that lie along D's rows in memory must be multiples of two elements, or of one if no more
 * is promised. An empty problem (a dynamic M, N or batch of EMPTY) launches nothing, and of
 * its arguments only sizes and `reserved` are checked. A launch that the driver refuses
 * leaves a capsule, where the context had a folder for them: then alone a file is written.
 *
 * @param gemm the handle
 * @param args addresses, strides, scalars; the device memory must live until the kernel has
 * ended, the struct only during the call
 * @param stream CUstream or cudaStream_t of the context's device; NULL is the default
 * stream. A thread without a current CUDA context gets the device's primary one.
 * @return OK, ARGUMENT, UNSUPPORTED (alignment, too many tiles), LAUNCH, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_run(const jit_gemm *gemm, const jit_gemm_args *args,
                                          void *stream);

/**
 * Reads what is known of a kernel.
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_get_info(const jit_gemm *gemm,
                                               jit_gemm_info *ret_info);

/**
 * Destroys a handle and sets the pointer to NULL. Accepts NULL.
 * Work already launched goes on; the kernel is unloaded with the last handle and context.
 */
JIT_GEMM_API void jit_gemm_destroy(jit_gemm **gemm);

/**
 * Builds every kernel of a manifest into the disk cache, or says which ones are not there
 * (`require_cached`); and writes them to a bundle, if `bundle` names one. Needs no device.
 * The first failure is the call's error; the others are logged as errors.
 *
 * @param context its cache is filled; its policy does not apply
 * @param manifest text as ::jit_gemm_context_write_manifest writes it; a dynamic size may
 * be a range (family.h)
 * @param size bytes of `manifest`
 * @param options NULL for all defaults
 * @param[in,out] ret_result struct_size set by the caller; filled also on failure; may be
 * NULL
 * @return OK if all is in the cache now, otherwise the first failure; ARGUMENT, IO,
 * CANCELLED, ...
 */
JIT_GEMM_API jit_gemm_status jit_gemm_prewarm(jit_gemm_context *context,
                                              const char *manifest, size_t size,
                                              const jit_gemm_prewarm_options *options,
                                              jit_gemm_prewarm_result *ret_result);

#ifdef __cplusplus
}
#endif

#endif
