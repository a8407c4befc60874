/* SPDX-License-Identifier: MIT */
/**
 * @file context.h
 * @brief How a context is set up, what it counts, and how it is prewarmed. No functions.
 */
#ifndef JIT_GEMM_CONTEXT_H
#define JIT_GEMM_CONTEXT_H

#include "jit_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jit_gemm_context jit_gemm_context; /**< Opaque: settings, cache, kernels. */

/** May a create compile? */
typedef enum jit_gemm_policy {
    JIT_GEMM_POLICY_ALLOW = 0, /**< Compile what is missing. */
    JIT_GEMM_POLICY_WARN = 1,  /**< Compile, and log a warning with the prewarm command. */
    JIT_GEMM_POLICY_FORBID = 2 /**< A missing kernel is ::JIT_GEMM_ERR_NOT_CACHED. */
} jit_gemm_policy;

/** For jit_gemm_context_options.compile_limit_ms: a compile may take as long as it likes.
 */
#define JIT_GEMM_NO_LIMIT UINT32_MAX

/** Are creates, compiles, loads and runs NVTX ranges, which profilers show? */
typedef enum jit_gemm_nvtx {
    JIT_GEMM_NVTX_ENVIRONMENT = 0, /**< As JIT_GEMM_NVTX says, 1 or 0; unset: no. */
    JIT_GEMM_NVTX_OFF = 1,         /**< No, whatever the variable says. */
    JIT_GEMM_NVTX_ON = 2           /**< Yes; ::JIT_GEMM_ERR_UNSUPPORTED where the library
                                      was built without NVTX. */
} jit_gemm_nvtx;

/** How a context is set up. Strings are copied. */
typedef struct jit_gemm_context_options {
    size_t struct_size; /**< sizeof(jit_gemm_context_options), set by the caller. */
    const char *arch;   /**< `sm_90a`; NULL means the device's, or JIT_GEMM_ARCH. */
    int32_t device;     /**< Device ordinal for create and run; 0 means the first device
                           that this version has kernels for, of `arch` if that is named.
                           With `exact_device` 0 means device 0. */
    int32_t no_device;  /**< Not 0: never open a device; only build and plan. */
    const char *driver; /**< Path of the driver library, or `emulator`: the one that belongs
                           to this library and executes PTX on the CPU. NULL means
                           JIT_GEMM_DRIVER, then libcuda.so.1. */
    const char
        *nvrtc; /**< Path of NVRTC; NULL means JIT_GEMM_NVRTC, then the usual places. */
    const char *cache_dir;  /**< Absolute cache folder; NULL means JIT_GEMM_CACHE_DIR, then
                               the default. */
    int32_t no_cache;       /**< Not 0: neither read nor write a cache folder, and leave
                               JIT_GEMM_CACHE_ROOTS out; `cache_roots` are still read. */
    jit_gemm_policy policy; /**< May a create compile? */
    jit_gemm_log_fn log;    /**< Receives log lines; NULL means silence. JIT_GEMM_LOG adds
                               standard error or a file, by a level of its own. */
    void *log_user;         /**< Passed to `log`; borrowed by the context. */
    jit_gemm_severity
        log_level; /**< Lines less serious than this are dropped; 0: only errors. */
    int32_t
        exact_device; /**< Not 0: no other device than `device`, also where that is 0. */
    uint32_t compile_limit_ms; /**< Most time of one compile; 0 means 120000 (two minutes),
                                  ::JIT_GEMM_NO_LIMIT none. The compiler looks at it
                                  between its steps, of which one may take seconds; what
                                  takes longer is ::JIT_GEMM_ERR_COMPILE. A step that runs
                                  on is waited for when the process exits, for two seconds
                                  at most. */
    int32_t reserved;          /**< Must be zero. */
    uint64_t cache_limit; /**< Most bytes of the disk cache; 0 means JIT_GEMM_CACHE_LIMIT,
                             then 4 GiB; UINT64_MAX means no limit. Beyond it the least
                             recently used kernels are removed, now and then when one is
                             kept; for a short time it holds a little more. */
    const char *const *cache_roots; /**< Absolute paths of cache folders and bundles that
                                       are only read, in this order, before the cache
                                       folder: nothing in them is written, moved or removed.
                                       NULL means JIT_GEMM_CACHE_ROOTS, a list with colons,
                                       then none. One that is missing or not to be trusted
                                       is left out with a warning in the log;
                                       ::jit_gemm_context_add_cache_root refuses it. */
    size_t cache_root_count;        /**< Entries of `cache_roots`. */
    const char *capsule_dir; /**< Absolute path of a folder where a compile that fails in
                                the compiler, and a load or a launch that the driver
                                refuses, leaves a capsule (capsule.h); made when the
                                first one is left. NULL means JIT_GEMM_CAPSULES, then none.
                                Trouble with it is a line of the log. */
    const uint8_t
        *cache_keys;        /**< Ed25519 public keys, 32 bytes each, without gaps; copied.
                               If there are any, a root must be a bundle that one of them
                               has signed, else it counts as not to be trusted. NULL
                               means JIT_GEMM_CACHE_KEYS, keys of 64 digits with colons
                               between them, then none. The cache folder needs none. */
    size_t cache_key_count; /**< Keys at `cache_keys`. */
    uint64_t cache_least_serial; /**< A bundle with a lower serial number is not to be
                                    trusted either; needs keys. 0 means
                                    JIT_GEMM_CACHE_LEAST_SERIAL, then 0. */
    const char *plan_for; /**< The device that configs are chosen for: `h100`, `h200`,
                             `b200`, `b300`, or the words that jit_gemm_context_describe has
                             behind `plan for` on that device. A choice depends on the
                             device, and so does which kernel is looked for: who builds
                             without the GPU names it, and who wants the same kernels on
                             several kinds of GPU names one of them on all. It has to run
                             `arch`; without `arch` that is the one it runs. With
                             `no_device` `here` is the driver's first device that runs
                             `arch`, if there is one: the driver is asked, and nothing is
                             opened. NULL means JIT_GEMM_PLAN_FOR, then the device, or
                             without one the architecture's: H200, B200, B300. */
    jit_gemm_nvtx nvtx;   /**< Ranges for profilers. */
    int32_t reserved_end; /**< Must be zero. */
} jit_gemm_context_options;

/** Counters of a context since its creation. */
typedef struct jit_gemm_stats {
    size_t struct_size;        /**< sizeof(jit_gemm_stats), set by the caller. */
    uint64_t creates;          /**< Successful creates, of packers and combiners too. */
    uint64_t memory_hits;      /**< Kernels found loaded in this context, or just made by
                                  another thread of the process. */
    uint64_t disk_hits;        /**< Kernels read from the disk cache. */
    uint64_t compiles;         /**< Kernels compiled. */
    uint64_t compile_failures; /**< Compiles that ended in an error; a cancelled one does
                                  not count. */
    uint64_t cache_rejects; /**< Disk entries found and refused (damaged or untrusted). */
    uint64_t cache_store_errors; /**< Kernels that could not be kept on disk. */
    uint64_t forbidden_misses;   /**< Creates refused because compiling is forbidden. */
    double compile_ms;           /**< Sum of the time in the compiler. */
    double load_ms;              /**< Sum of the time in the driver's load. */
    uint64_t cache_trimmed;      /**< Disk entries that this context removed, because the
                                    cache was over its limit. */
    uint64_t root_hits;          /**< Of `disk_hits`, those in a read-only root. */
} jit_gemm_stats;

/**
 * Says how far a prewarm is. The library calls it after each build, one call at a time,
 * from any of the prewarm's threads. The callback must return: no exception and no longjmp
 * may pass through the library.
 * @param user the pointer given with the callback
 * @param done builds that have ended
 * @param total builds in all
 * @param problem the text of the problem just built, or the manifest's line of another
 * kernel; valid only during the call
 * @return 0 goes on; anything else stops after the builds under way
 */
typedef int32_t (*jit_gemm_progress_fn)(void *user, size_t done, size_t total,
                                        const char *problem);

/** How a prewarm works. Everything is borrowed for the call. */
typedef struct jit_gemm_prewarm_options {
    size_t struct_size; /**< sizeof(jit_gemm_prewarm_options), set by the caller. */
    const char *const
        *archs;        /**< Architectures to build for; NULL means those of the manifest's
                              `arch` lines, or without any the context's own. */
    size_t arch_count; /**< Entries of `archs`. */
    uint32_t jobs;     /**< Builds at a time; 0 means by processors and memory. */
    jit_gemm_progress_fn progress; /**< Called after each build; may be NULL. */
    void *progress_user;           /**< Passed to `progress`. */
    int32_t ptx; /**< Not 0: build PTX, which the emulator takes; 0: what the context's
                    device takes, machine code if there is no device. */
    int32_t require_cached; /**< Not 0: compile nothing. A kernel that is neither in the
                               cache nor in a root fails: ::JIT_GEMM_ERR_NOT_CACHED. */
    const char *bundle; /**< Path of a bundle that is written in the end, with every kernel
                           of the manifest, unless one has failed; NULL: none. It takes the
                           place of a regular file at once, by rename; a place where it
                           cannot be written is an IO before anything is built. */
    uint32_t deadline_ms;  /**< Most time of the call; 0: none. Then no build begins, and
                              compiles under way are ended: ::JIT_GEMM_ERR_CANCELLED. */
    int32_t only_estimate; /**< Not 0: build nothing, and say what there would be to do.
                              `progress` and `bundle` do not count. */
} jit_gemm_prewarm_options;

/** What a prewarm did. */
typedef struct jit_gemm_prewarm_result {
    size_t struct_size; /**< sizeof(jit_gemm_prewarm_result), set by the caller. */
    size_t total;       /**< Kernels of the manifest times architectures; those of the bands
                           where a size is a range. */
    size_t cached;   /**< Found in the cache or a root, or just made by another thread. */
    size_t compiled; /**< Compiled and kept. */
    size_t failed;   /**< Failed, compiled but not kept, or over the budget. */
    size_t bundle_kernels; /**< Kernels in the bundle; 0 if none was written. Problems may
                              share one. */
    uint64_t bundle_bytes; /**< Size of the bundle. */
    uint32_t jobs;         /**< Builds at a time. */
    uint32_t reserved;     /**< Zero. */
    size_t missing; /**< Of an estimate: kernels that would be compiled. Problems may share
                       one. */
    double estimated_seconds; /**< Of an estimate: how long they take with `jobs`, by what
                                 the manifest's other kernels took that are in the cache, or
                                 else 0.7 s each. */
    uint64_t estimated_bytes; /**< Of an estimate: how much they add to the cache; 64 KiB
                                 each where no other kernel is there. */
} jit_gemm_prewarm_result;

#ifdef __cplusplus
}
#endif

#endif
