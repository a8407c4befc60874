/* SPDX-License-Identifier: MIT */
/*
 * The compiler as the build step sees it: a signature that is known without opening the
 * library, and the compiler itself, opened when something must be compiled. Thread-safe.
 *
 * Opening NVRTC costs 5 ms warm and a quarter of a second cold, and a machine that only
 * runs cached kernels may not have it. So two small records live in the disk cache beside
 * the kernels:
 * - by fingerprint: real path, size and time of the library file give its signature;
 * - by number: every signature that ever made an entry, so that a machine without NVRTC can
 *   ask for the kernel under each of them.
 */
#ifndef JG_COMPILE_TOOLCHAIN_H
#define JG_COMPILE_TOOLCHAIN_H

#include "base/log.h"
#include "compile/compiler.h"
#include "compile/makers.h"
#include "jg_cache.h"

/* Most signatures that are remembered by number in one cache folder. */
#define JG_TOOLCHAIN_KNOWN_MAX JG_MAKERS_MAX

struct jg_toolchain;

/*
 * NVRTC: `path`, else JIT_GEMM_NVRTC, else the usual places; the environment is read here
 * and no library is opened. Absence of the library is no failure yet. NO_MEMORY.
 */
jit_gemm_status jg_toolchain_create(const char *path, struct jg_toolchain **ret_toolchain);
/* Around a compiler that is there already, or NULL for none at all. Takes it over. For
 * tests. */
jit_gemm_status jg_toolchain_create_with(struct jg_compiler *compiler,
                                         struct jg_toolchain **ret_toolchain);
/* Accepts NULL. */
void jg_toolchain_destroy(struct jg_toolchain *toolchain);

/*
 * Signature of the compiler that this process would use. Opens the library only if the
 * cache (may be NULL) does not know the file. NULL if there is no usable compiler: that is
 * no failure, and no error record is written; or the search failed, as for want of memory.
 * The text lives as long as the toolchain.
 */
const char *jg_toolchain_signature(struct jg_toolchain *toolchain, struct jg_cache *cache,
                                   struct jg_log *log);
/* Has a search for the signature come to its end, and found nothing usable? */
bool jg_toolchain_is_absent(struct jg_toolchain *toolchain);
/* The compiler, opened at the first call. NO_COMPILER with every place that was tried,
 * NO_MEMORY. It belongs to the toolchain and may be used by many threads. */
jit_gemm_status jg_toolchain_compiler(struct jg_toolchain *toolchain,
                                      struct jg_cache *cache, struct jg_log *log,
                                      struct jg_compiler **ret_compiler);

/* The signature remembered under `number` (from 0), appended to `out`; false if there
 * is none. */
bool jg_toolchain_known(struct jg_cache *cache, int number, struct jg_str *out);
/* Remembers a signature by number, unless it is there. */
void jg_toolchain_remember(struct jg_cache *cache, struct jg_log *log,
                           const char *signature);

/* One line for a person: version and path of the library, or why there is none. Opens the
 * library. NO_COMPILER or OK; the line is appended either way. *ret_version: as that of
 * struct jg_compiler. */
jit_gemm_status jg_toolchain_describe(struct jg_toolchain *toolchain,
                                      struct jg_cache *cache, struct jg_str *out,
                                      int *ret_version);

struct jg_nvjitlink;
/* nvJitLink, opened at the first call. It belongs to the toolchain and may be used by many
 * threads. NO_COMPILER with every place that was tried, NO_MEMORY. */
jit_gemm_status jg_toolchain_linker(struct jg_toolchain *toolchain,
                                    const struct jg_nvjitlink **ret_linker);
/* Appends the signature of kernels that compiler and linker made together. Fails as
 * jg_toolchain_linker. */
jit_gemm_status jg_toolchain_linked_signature(struct jg_toolchain *toolchain,
                                              const char *compiler_signature,
                                              struct jg_str *out);

/* One line on nvJitLink: version and path, or why there is none. Only epilogues in LTO-IR
 * need it, so that is no failure. */
void jg_toolchain_describe_linker(struct jg_toolchain *toolchain, struct jg_str *out);

#endif
