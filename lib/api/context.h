/* SPDX-License-Identifier: MIT */
/* What a context is, for the files of this floor. */
#ifndef JG_API_CONTEXT_H
#define JG_API_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "api/recipes.h"
#include "api/record.h"
#include "api/registry.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/thread.h"
#include "compile/build.h"
#include "cuda/device.h"
#include "jit_gemm/jit_gemm.h"
#include "plan/choose.h"
#include "runtime/table.h"

struct jit_gemm_context {
    struct jg_log *log;
    pid_t process; /* that made it */
    const struct jg_arch *arch;
    struct jg_device_facts facts; /* that is planned for */
    bool plans_for;               /* it was named, or looked for without being opened */
    struct jg_device_facts *here; /* owned; the devices that were looked for, else NULL */
    size_t here_count;
    atomic_int most_cluster_ctas; /* the same field of the facts: a load may lower it */
    jit_gemm_policy policy;
    uint32_t compile_limit_ms; /* 0: none */
    char *dump_dir;            /* NULL: none */
    bool has_ranges;           /* of NVTX */
    char *capsule_dir;         /* NULL: none */

    struct jg_device *device;            /* counted; NULL: none could be opened */
    jit_gemm_status device_status;       /* why there is none */
    jit_gemm_diagnostics *device_errors; /* the same in words */

    struct jg_roots *roots; /* read-only, looked through before the cache */
    struct jg_cache *cache; /* NULL: none is wanted, or it could not be opened */
    bool is_cache_wanted;   /* the options did not forbid it */
    char cache_reason[512]; /* why a wanted cache is not there */
    struct jg_toolchain *toolchain;

    struct jg_registry *epilogues;
    struct jg_record *asked; /* what was asked for, as lines of a manifest */
    struct jg_recipes *recipes;
    struct jg_table *table;

    atomic_uint cancels;  /* calls of jit_gemm_cancel */
    jg_mutex mutex;       /* guards the counters */
    jit_gemm_stats stats; /* struct_size is the library's */
};

/* OK, or ARGUMENT naming the argument. */
jit_gemm_status jg_check_pointer(const void *pointer, const char *name);

/* OK, or ARGUMENT: it is NULL, or was made before a fork, whose child has neither the
 * threads that build with it nor the driver's state. */
jit_gemm_status jg_check_context(const jit_gemm_context *context);

/* OK if kernels of the context's architecture can be loaded and run; otherwise the error
 * of the device that could not be opened. */
jit_gemm_status jg_context_need_device(const jit_gemm_context *context);

/* For a call that begins now: whether it is cancelled from now on. */
struct jg_stop jg_context_stop(const jit_gemm_context *context);
/* A builder over this context's parts, for the call of this stop. */
struct jg_builder jg_context_builder(const jit_gemm_context *context,
                                     jit_gemm_policy policy, const struct jg_stop *stop);
/* Adds what a build counted. */
void jg_context_count_build(jit_gemm_context *context,
                            const struct jg_build_counts *counts);

/* Counts a successful create. */
void jg_context_count_create(jit_gemm_context *context, jit_gemm_origin origin,
                             double load_ms);

/* Records a line of a manifest: if what it names was built, or could not be for lack of a
 * compiler or by policy. Returns `build_status`, or NO_MEMORY. */
jit_gemm_status jg_context_record_line(jit_gemm_context *context, const struct jg_str *line,
                                       jit_gemm_status build_status);
/* The same of a problem. */
jit_gemm_status jg_context_record(jit_gemm_context *context,
                                  const struct jg_problem *problem,
                                  jit_gemm_status build_status);

/* Puts another toolchain in place of NVRTC, before the first build. Takes it over. For
 * tests. */
void jg_context_use_toolchain(jit_gemm_context *context, struct jg_toolchain *toolchain);

#endif
