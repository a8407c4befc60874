/* SPDX-License-Identifier: MIT */
/**
 * @file recipe.h
 * @brief Configs that were measured instead of predicted, kept in a file.
 *
 * The cost model chooses a config by what it predicts. `jit-gemm tune` measures the best
 * few of its candidates on the GPU and writes a recipe: for each problem the fastest
 * config. A context takes configs from a recipe only once a program has given it one.
 *
 * A recipe is text, `problem ARCH TEXT config=CONFIG` in a line; docs/tuning.md has its
 * rules. It says how a kernel is laid out, never what it computes, and is no part of the
 * cache's keys: the same config without a recipe is the same entry.
 */
#ifndef JIT_GEMM_RECIPE_H
#define JIT_GEMM_RECIPE_H

#include "jit_gemm/jit_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads a recipe from a file. From then on each check, plan, build, create and prewarm with
 * this context takes its config for exactly that problem (all facts of its text equal) on
 * that architecture. Handles that are there stay as they are.
 *
 * A problem's own `config` wins: the recipe's is taken only if it has all that the problem
 * names. `debug`, `trace` and `lineinfo` are added to it. A recipe that is given later goes
 * before the ones before it. Kernels of a family are chosen by the family.
 *
 * Each line is checked: an architecture or problem that this version does not have, or a
 * config that the problem cannot have, is an error, and nothing of the recipe is taken.
 * What depends on an epilogue that is not registered yet is checked once its problem is
 * asked for, which is an error of that call then. Any thread may call this at any time.
 *
 * @param path file to read, of at most 16 MiB
 * @return OK, ARGUMENT and UNSUPPORTED (the error names the line), VERSION, IO, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_load_recipe(jit_gemm_context *context,
                                                          const char *path);

/**
 * The same from memory, with the same results but for IO. Any thread.
 * @param name what plans, infos and errors call it; copied
 * @param text copied
 * @param size bytes of `text`
 */
JIT_GEMM_API jit_gemm_status jit_gemm_context_add_recipe(jit_gemm_context *context,
                                                         const char *name, const char *text,
                                                         size_t size);

/** A config that a problem can have. Frozen: used in arrays. */
typedef struct jit_gemm_candidate {
    char config[JIT_GEMM_CONFIG_SIZE]; /**< Whole, as `config` of a problem takes it. */
    double predicted_us; /**< Of the cost model, which compares candidates; no promise. */
} jit_gemm_candidate;

/**
 * Lists the candidates of a problem that its architecture takes, the fastest by the cost
 * model first: that one is chosen without a recipe. Recipes are not looked at. Pure: no
 * I/O.
 *
 * @param problem its config leaves out candidates that do not have what it names
 * @param candidates receives up to `capacity` candidates; untouched on failure
 * @param capacity entries of `candidates`; 0 only asks for the number
 * @param[out] ret_count how many there are; may be NULL
 * @return as ::jit_gemm_check, and NO_MEMORY; ARGUMENT also of `kernel=reference`
 */
JIT_GEMM_API jit_gemm_status jit_gemm_plan_candidates(jit_gemm_context *context,
                                                      const jit_gemm_problem *problem,
                                                      jit_gemm_candidate *candidates,
                                                      size_t capacity, size_t *ret_count);

/** A line of a recipe. Frozen: used in arrays. */
typedef struct jit_gemm_recipe_line {
    const jit_gemm_problem *problem; /**< With its config; borrowed for the call. Its budget
                                        is no part of the line. */
    double measured_us;              /**< Noted as a remark; 0: not known. */
    double predicted_us;             /**< Likewise. */
} jit_gemm_recipe_line;

/** Flags of ::jit_gemm_recipe_write. */
typedef enum jit_gemm_recipe_flags {
    JIT_GEMM_RECIPE_REPLACE = 0, /**< The lines are the whole file. */
    JIT_GEMM_RECIPE_UPDATE = 1,  /**< Keep what the file has, remarks too, but for the lines
                                    of these problems, which are replaced. A file that is
                                    not there is made. */
    JIT_GEMM_RECIPE_CHECK = 2    /**< All but the writing: would it succeed? Makes a file
                                    beside `path`, and removes it. */
} jit_gemm_recipe_flags;

/**
 * Writes a recipe for the context's architecture; its device is noted as a remark.
 *
 * @param path file to write; a regular file there is replaced at once by rename
 * @param lines each of another problem
 * @param count entries of `lines`
 * @param flags ::jit_gemm_recipe_flags, added up
 * @return OK, ARGUMENT (also of the file's lines), VERSION, IO, NO_MEMORY
 */
JIT_GEMM_API jit_gemm_status jit_gemm_recipe_write(const jit_gemm_context *context,
                                                   const char *path,
                                                   const jit_gemm_recipe_line *lines,
                                                   size_t count, uint32_t flags);

#ifdef __cplusplus
}
#endif

#endif
