/* SPDX-License-Identifier: MIT */
/* Epilogues by name: the caller's, and the library's own. Append-only: a found epilogue
 * stays valid and unchanged as long as the registry, so nobody holds a lock while it is
 * used. */
#ifndef JG_API_REGISTRY_H
#define JG_API_REGISTRY_H

#include <stdbool.h>

#include "base/log.h"
#include "plan/epilogue.h"

struct jg_registry;

/* NULL on lack of memory. */
struct jg_registry *jg_registry_create(void);
/* Accepts NULL. */
void jg_registry_destroy(struct jg_registry *registry);

/*
 * Checks and adds. The same registration twice is fine. Warns of double literals.
 * ARGUMENT (another epilogue, or one of the library's own, has the name; operands),
 * COMPILE, NO_MEMORY, VERSION.
 */
jit_gemm_status jg_registry_add(struct jg_registry *registry, struct jg_log *log,
                                const jit_gemm_epilogue *user);

/* Moves the caller's epilogues of another registry, which nobody else uses: those that are
 * here already are destroyed; then `other` is of no use but to be destroyed. ARGUMENT,
 * before any is moved: another one is here under one of the names; NO_MEMORY. */
jit_gemm_status jg_registry_take_all(struct jg_registry *registry,
                                     struct jg_registry *other);

/* Logs what is legal and slow: the first double literal. */
void jg_epilogue_warn(const struct jg_epilogue *epilogue, struct jg_log *log);

/* A jg_epilogue_find_fn; `registry` is the registry. */
jit_gemm_status jg_registry_find(void *registry, const char *name, jit_gemm_dtype d,
                                 const struct jg_epilogue **ret_epilogue);
/* Has the caller one of this name? */
bool jg_registry_has(struct jg_registry *registry, const char *name);
/* The caller's, in order of registration; NULL past the end. */
const struct jg_epilogue *jg_registry_at(struct jg_registry *registry, size_t index);

#endif
