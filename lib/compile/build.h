/* SPDX-License-Identifier: MIT */
/* Source unit to machine code or PTX: key, disk cache, compiler, disk cache. Steps 6 to 9
 * of a create. */
#ifndef JG_COMPILE_BUILD_H
#define JG_COMPILE_BUILD_H

#include "base/log.h"
#include "compile/binary.h"
#include "compile/compiler.h"
#include "compile/key.h"
#include "compile/roots.h"
#include "compile/toolchain.h"
#include "jg_cache.h"
#include "jit_gemm/context.h"

/* What a build works with. Plain data; everything is borrowed for the call. */
struct jg_builder {
    struct jg_cache *cache; /* may be NULL */
    struct jg_roots *roots; /* looked through before the cache; may be NULL */
    struct jg_log *log;     /* may be NULL */
    const char *dump_dir;   /* NULL, or where unit, log, PTX and cubin are written */
    struct jg_toolchain *toolchain;
    jit_gemm_policy policy;
    uint32_t compile_limit_ms; /* of one compile; 0: none */
    bool has_ranges;           /* of NVTX, around each compile */
    struct jg_stop stop;       /* ends a compile, and lets none begin */
    enum jg_code_kind
        code_kind; /* of what is made; entries of both kinds live side by side */
};

/* What is built. Everything is borrowed for the call. */
struct jg_build_unit {
    const struct jg_source *source;
    const struct jg_arch *arch;
    const struct jg_epilogue *epilogue; /* NULL without one */
    const char *problem_text; /* for messages and the entry: what it is built for */
};

struct jg_build_counts {
    uint64_t compiles, compile_failures, disk_hits, cache_rejects, cache_store_errors;
    uint64_t root_hits; /* of the disk_hits, those in a read-only root */
    uint64_t forbidden_misses;
    double compile_ms;
};

/*
 * Finds or makes the code of a unit. counts (may be NULL) is added to, also on failure; not
 * thread-safe. Trouble with the cache is logged and counted, never a failure. Threads that
 * need one key at a time compile it once: the others wait, as long as a compile may take.
 * So do processes that share the cache's folder, where it takes locks; they wait half as
 * long, and then compile it too.
 *
 * COMPILE, NO_COMPILER, NOT_CACHED (policy FORBID), NO_MEMORY, CANCELLED, INTERNAL.
 */
jit_gemm_status jg_build(const struct jg_builder *builder, const struct jg_build_unit *unit,
                         struct jg_binary *ret_binary, struct jg_build_counts *counts);
/* What a build would find. */
struct jg_build_found {
    bool is_found;
    bool has_name; /* else nobody here can say what would be made */
    jg_cache_name name;
    size_t code_bytes; /* if it is found */
    double made_ms;    /* that it took to compile; 0: unknown */
};
/* The first half of jg_build: looks, and compiles nothing. NO_MEMORY. */
jit_gemm_status jg_build_find(const struct jg_builder *builder,
                              const struct jg_build_unit *unit,
                              struct jg_build_found *ret_found);
/*
 * Takes the entry out that a binary came from, because the driver refuses its code: the
 * next build compiles. One in a read-only root stays, and builds with these roots pass it
 * over. False if it came from no entry, or the entry could not be moved.
 */
bool jg_build_reject(const struct jg_builder *builder, const struct jg_binary *binary,
                     const char *reason);

#endif
