/* SPDX-License-Identifier: MIT */
/* Read-only places where kernels are looked for before the cache folder: folders that
 * others filled, and bundles. They are numbered from 1, in the order of their adding. A
 * NULL list is legal and empty. Thread-safe. */
#ifndef JG_COMPILE_ROOTS_H
#define JG_COMPILE_ROOTS_H

#include <stdbool.h>

#include "base/log.h"
#include "base/str.h"
#include "jg_cache.h"

struct jg_roots;

/* Who must have signed a root, and its least serial number. No keys: anyone, or nobody. */
struct jg_root_signers {
    const jg_cache_public_key *keys; /* borrowed */
    size_t key_count;
    uint64_t least_serial; /* 0 without keys */
};

/* NULL without memory; recorded. What `signers` has is copied, and asked of every root. */
struct jg_roots *jg_roots_create(const struct jg_root_signers *signers);
/* Accepts NULL. */
void jg_roots_destroy(struct jg_roots *roots);

/*
 * Opens one more. If it cannot be used: a root that is required fails and is not added; of
 * another one the log says why, and it stays in the list as a number that has nothing.
 * IO, NO_MEMORY.
 */
jit_gemm_status jg_roots_add(struct jg_roots *roots, const char *path, bool is_required,
                             struct jg_log *log);

/* Numbers in use: 1 to this. */
uint32_t jg_roots_count(struct jg_roots *roots);
/* NULL if the root cannot be used. Lives as long as the list. */
struct jg_cache *jg_roots_cache(struct jg_roots *roots, uint32_t number);

/* An entry of a root that is whole and still of no use cannot be moved away: from now on
 * its name is in no root. False without memory. */
bool jg_roots_reject(struct jg_roots *roots, const jg_cache_name *name);
bool jg_roots_is_rejected(struct jg_roots *roots, const jg_cache_name *name);

/* One line on the keys, if there are any, and one for each root: its path, and what it is
 * or why it is not used. */
void jg_roots_describe(struct jg_roots *roots, struct jg_str *out);

#endif
