/* SPDX-License-Identifier: MIT */
/**
 * @file family.h
 * @brief Kernels that share the sizes of a dynamic dimension.
 *
 * A kernel of a dynamic M runs for every M, and is good for some: tiles for 8192 rows leave
 * most of a GPU idle with 16. The cost model says which few kernels are enough for a range
 * of sizes, and where one takes over from another: the bands. A family is the kernels of
 * all bands, loaded; each launch takes the one of its size.
 *
 * A manifest may have such a range in a size's place, as in
 * `problem m=1..8192 n=4096 k=4096 a=bf16 dynamic=m loss=5%`: a prewarm of it builds the
 * kernels of the bands, so that creating the family compiles nothing.
 */
#ifndef JIT_GEMM_FAMILY_H
#define JIT_GEMM_FAMILY_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Sizes that follow each other and share a kernel. Frozen: used in arrays. Times are those
 * of the cost model, which compares kernels; they are no promise. */
typedef struct jit_gemm_band {
    int64_t first;     /**< The least size. */
    int64_t last;      /**< The greatest size. The next band begins behind it. */
    uint32_t kernel;   /**< Number of the kernel, from 0 in the order of the bands. Bands
                          that do not follow each other may have the same. */
    uint32_t reserved; /**< Zero. */
    int64_t planned;   /**< The greatest size that the kernel serves in any band. */
    double first_us;   /**< Predicted microseconds at `first`. */
    double last_us;    /**< Predicted microseconds at about `last`. */
    double loss; /**< The most that a size of the band loses against the best config of
                    that size, as a part of the best one's time: 0.02 is 2 %. */
    int64_t loss_size;                 /**< The size that loses so much. */
    char config[JIT_GEMM_CONFIG_SIZE]; /**< The kernel's whole config, as `config` of a
                                          problem takes it. */
} jit_gemm_band;

/**
 * Reads the text form of a range into a struct of `struct_size` bytes, and no further: what
 * ::jit_gemm_range_parse is in C and C++, and for bindings of other languages.
 * @param struct_size bytes of the caller's struct, which becomes its `struct_size`
 * @return as ::jit_gemm_range_parse, and ARGUMENT (no size of it), VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_range_parse_sized(const char *text,
                                                        size_t struct_size,
                                                        jit_gemm_range *ret_range);

/**
 * Reads the text form of a range: `m=1..8192`, and `loss=5%` before or behind it.
 * @param text zero-terminated, read during the call only
 * @param[out] ret_range receives the range, its `struct_size` filled in; untouched on
 * failure
 * @return OK, ARGUMENT
 */
JIT_GEMM_API jit_gemm_status jit_gemm_range_parse(const char *text,
                                                  jit_gemm_range *ret_range);
/** @cond */
/* Who finds it by name has the struct of version 0.1; C and C++ have their own. */
#define jit_gemm_range_parse(text, ret_range) \
    jit_gemm_range_parse_sized(text, sizeof(jit_gemm_range), ret_range)
/** @endcond */

/**
 * Finds the least set of kernels that serves a range of sizes, by the cost model: for each
 * size one of them is predicted to take at most `range->loss` more than the best config of
 * that size. Among such sets that give as few bands as can be. Pure: no I/O; takes some
 * milliseconds to a second.
 *
 * The kernels are configs that are the best at one of the sizes. Not each size is looked
 * at: both ends of steps of 16 sizes up to 1024, then of 64 steps up to each power of two.
 *
 * @param problem with a dynamic dimension, whose `size` is not read
 * @param bands receives up to `capacity` bands, in the order of sizes; untouched on failure
 * @param capacity entries of `bands`; 0 only asks for the number
 * @param[out] ret_count how many bands there are; may be NULL
 * @return as ::jit_gemm_check, and NO_MEMORY; ARGUMENT also of the range
 */
JIT_GEMM_API jit_gemm_status jit_gemm_plan_bands(jit_gemm_context *context,
                                                 const jit_gemm_problem *problem,
                                                 const jit_gemm_range *range,
                                                 jit_gemm_band *bands, size_t capacity,
                                                 size_t *ret_count);

/** Opaque: the loaded kernels of all bands. Immutable; any thread may run it. */
typedef struct jit_gemm_family jit_gemm_family;

/**
 * Makes a problem runnable for every size of a range: finds the kernels of its bands in
 * memory or in the disk cache or compiles them, and loads them, each like
 * ::jit_gemm_create. The context's manifest names the range.
 *
 * @param context a context with a device
 * @param[out] ret_family receives the handle, which the caller destroys; untouched on
 * failure
 * @return as ::jit_gemm_create and ::jit_gemm_plan_bands; the first kernel that cannot be
 * made ends it
 */
JIT_GEMM_API jit_gemm_status jit_gemm_family_create(jit_gemm_context *context,
                                                    const jit_gemm_problem *problem,
                                                    const jit_gemm_range *range,
                                                    jit_gemm_family **ret_family);

/**
 * Launches the kernel of the size's band on a stream: ::jit_gemm_run, after a search of a
 * few steps. No allocation, no lock. A size outside of the range is ARGUMENT, but for
 * ::JIT_GEMM_SIZE_EMPTY, which launches nothing.
 *
 * @param args as for ::jit_gemm_run; a workspace as large as the greatest `workspace_bytes`
 * of the bands' infos is enough for every size
 * @return as ::jit_gemm_run
 */
JIT_GEMM_API jit_gemm_status jit_gemm_family_run(const jit_gemm_family *family,
                                                 const jit_gemm_args *args, void *stream);

/**
 * Reads the bands of a family.
 * @param bands receives up to `capacity` bands, in the order of sizes; untouched on failure
 * @param capacity entries of `bands`; 0 only asks for the number
 * @param[out] ret_count how many bands there are; may be NULL
 * @return OK, ARGUMENT
 */
JIT_GEMM_API jit_gemm_status jit_gemm_family_get_bands(const jit_gemm_family *family,
                                                       jit_gemm_band *bands,
                                                       size_t capacity, size_t *ret_count);

/**
 * Reads what is known of the kernel of a band, at the greatest size that it serves.
 * @param band number of the band, from 0
 * @return OK, ARGUMENT, VERSION
 */
JIT_GEMM_API jit_gemm_status jit_gemm_family_get_info(const jit_gemm_family *family,
                                                      size_t band, jit_gemm_info *ret_info);

/** Destroys a handle and sets the pointer to NULL. Accepts NULL. Work already launched goes
 * on. */
JIT_GEMM_API void jit_gemm_family_destroy(jit_gemm_family **family);

#ifdef __cplusplus
}
#endif

#endif
