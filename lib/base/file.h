/* SPDX-License-Identifier: MIT */
/* Whole files, as texts. */
#ifndef JG_BASE_FILE_H
#define JG_BASE_FILE_H

#include <signal.h>
#include <stdbool.h>

#include "base/str.h"

/* Reads a file of at most `most_bytes` bytes; appends it. IO naming "path", NO_MEMORY. */
jit_gemm_status jg_file_read(const char *path, size_t most_bytes, struct jg_str *out);
/*
 * A write beyond the limit on sizes sends SIGXFSZ to its thread, one to a pipe that nobody
 * reads SIGPIPE, and either would end the program. They wait there between hold and
 * release, which takes back what the write has sent: `code` is its errno value, or 0.
 */
struct jg_write_signals {
    sigset_t held, before;
    bool is_held;
};
void jg_file_hold_signals(struct jg_write_signals *signals);
void jg_file_release_signals(const struct jg_write_signals *signals, int code);
/* Writes all of it to an open file; false with errno. A file that grows beyond the limit of
 * the process is EFBIG, and no SIGXFSZ, which would end the program. */
bool jg_file_write(int file, const struct jg_str *text);
/* Could jg_file_replace write this file? Makes a temporary one and removes it. */
jit_gemm_status jg_file_check(const char *path);
/* Writes a file by a temporary one and a rename: a reader sees the old file or the whole
 * new one, which has the old one's permissions. IO naming "path", NO_MEMORY. */
jit_gemm_status jg_file_replace(const char *path, const struct jg_str *text);
/* For who reads a file and replaces it: threads and processes that ask for a file of the
 * same folder wait for each other, five seconds at most. Where folders cannot be locked
 * (NFS) nobody waits. IO naming "path". */
jit_gemm_status jg_file_lock(const char *path, int *ret_lock);
void jg_file_unlock(int lock);

#endif
