/* SPDX-License-Identifier: MIT */
/* What the subcommands of `jit-gemm cache` share. */
#ifndef CACHE_TOOL_H
#define CACHE_TOOL_H

#include "cli.h"
#include "jg_cache.h"

/* 32 digits and the ending zero. */
#define CACHE_KEY_SIZE 33

int cache_ls(int argc, char **argv);
int cache_stat(int argc, char **argv);
int cache_explain(int argc, char **argv);
int cache_export(int argc, char **argv);
int cache_import(int argc, char **argv);
int cache_keygen(int argc, char **argv);
int cache_sign(int argc, char **argv);

/* Opens the folder of --cache, JIT_GEMM_CACHE_DIR, or the user. CLI_OK, or the error was
 * printed. */
int cache_tool_open(const char *folder, bool read_only, jg_cache **ret_cache);

/* Whose signature of a bundle is asked for, and its least serial number. */
struct cache_signers {
    cli_keys keys;
    size_t count;
    uint64_t least_serial;
};

/* What commands call the two options, and where else they are read from. */
struct cache_signer_words {
    const struct cli_list *keys;
    int64_t least_serial;
    const char *key_option, *serial_option;
    bool has_environment; /* JIT_GEMM_CACHE_KEYS and ..._LEAST_SERIAL are the defaults */
};

/* CLI_OK, or the error was printed. */
int cache_read_signers(const struct cache_signer_words *words,
                       struct cache_signers *ret_signers);

/* Opens a bundle by its path; `signers` NULL: whether it is signed or not. CLI_OK, or the
 * error was printed. */
int cache_tool_open_bundle(const char *path, const struct cache_signers *signers,
                           jg_cache **ret_bundle);

/* NULL if the entry is whole, and its code such that a create would take it; otherwise
 * what is wrong, in the buffer. A visit must verify. */
enum { CACHE_FAULT_SIZE = 256 };
const char *cache_find_fault(const jg_cache_entry *entry, char buffer[CACHE_FAULT_SIZE]);
/* Is it? Otherwise a line with its key and what is wrong goes to the file. */
bool cache_check_entry(const jg_cache_entry *entry, FILE *file);

/* An entry as one object: key, state, bytes, time, and its record. */
void cache_add_entry(struct cli_json *json, const jg_cache_entry *entry);

void cache_key_print(const jg_cache_name *name, char ret_text[CACHE_KEY_SIZE]);

/* Value of a key in the entry's record of `key=value` lines, cut to `size`; "" without. */
void cache_entry_value(const jg_cache_entry *entry, const char *key, char *buffer,
                       size_t size);

/* The entry holds a kernel, not one of the library's own small records. */
bool cache_entry_is_kernel(const jg_cache_entry *entry);

#endif
