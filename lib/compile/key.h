/* SPDX-License-Identifier: MIT */
/* The identity of a kernel: canonical material, and its 128-bit hash that names the cache
 * entry; and the library's version, which stands in both. */
#ifndef JG_COMPILE_KEY_H
#define JG_COMPILE_KEY_H

#include "base/hash.h"
#include "base/str.h"
#include "compile/code.h"
#include "jit_gemm/version.h"
#include "source/assemble.h"

/* As text. */
#define JG_VERSION_TEXT_OF(number) #number
#define JG_VERSION_TEXT(major, minor, patch) \
    JG_VERSION_TEXT_OF(major) "." JG_VERSION_TEXT_OF(minor) "." JG_VERSION_TEXT_OF(patch)
#define JG_LIBRARY_VERSION \
    JG_VERSION_TEXT(JIT_GEMM_VERSION_MAJOR, JIT_GEMM_VERSION_MINOR, JIT_GEMM_VERSION_PATCH)

struct jg_key {
    struct jg_str
        material; /* typed, length-prefixed fields; compared byte for byte on a read */
    struct jg_hash hash;
};

/* What the material is made of. Nothing of paths, user, host, time or driver. */
struct jg_key_parts {
    uint32_t source_format;
    const char *version;
    struct jg_hash headers;
    const char *compiler_signature;
    const char *arch;
    const char *code_kind; /* "cubin", "ptx" */
    const char *entry;
    const char *text;
    size_t text_size;
    const char *linked; /* code that is linked to the unit; NULL without any */
    size_t linked_size;
};

/* The material, field by field in that order, after the magic "jit_gemm kernel key". */
jit_gemm_status jg_key_from_parts(const struct jg_key_parts *parts, struct jg_key *ret_key);

/* The same with this library's format and version. */
jit_gemm_status jg_key_make(const struct jg_source *source, const char *compiler_signature,
                            const char *arch, enum jg_code_kind code_kind,
                            struct jg_key *ret_key);
void jg_key_free(struct jg_key *key);

#endif
