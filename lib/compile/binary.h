/* SPDX-License-Identifier: MIT */
/* The finished code of a unit, and what is known of it. */
#ifndef JG_COMPILE_BINARY_H
#define JG_COMPILE_BINARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "jg_cache.h"
#include "jit_gemm/launch.h"

struct jg_binary {
    struct jg_str code; /* of the builder's kind; zero-terminated */
    char key[33];
    jit_gemm_origin origin; /* COMPILED, DISK, BUNDLE, or MEMORY: another thread made it */
    bool is_on_disk;        /* the disk cache has it now */
    uint32_t root;          /* the number of the read-only root that has it; 0: none */
    uint32_t registers;     /* from the compiler; kept in the entry; 0 for PTX: unknown */
    uint32_t spill_bytes;
    double compile_ms; /* of this call; 0 unless it compiled */
    double made_ms;    /* that it took whoever compiled it, as the entry says; 0: unknown */
};

/* The copy's code has failed where memory ran out. */
void jg_binary_copy(const struct jg_binary *binary, struct jg_binary *ret_copy);
void jg_binary_free(struct jg_binary *binary);
/* The name of its entry: the key as bytes. */
jg_cache_name jg_binary_name(const struct jg_binary *binary);

#endif
