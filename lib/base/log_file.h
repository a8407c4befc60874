/* SPDX-License-Identifier: MIT */
/* Log lines that a variable of the environment asks for, without the program's help. */
#ifndef JG_BASE_LOG_FILE_H
#define JG_BASE_LOG_FILE_H

#include <sys/stat.h>

#include "base/status.h"

/* Where they go: nowhere if `file` is below 0. */
struct jg_log_file {
    int file;
    char *path;        /* absolute, owned; NULL: standard error */
    struct stat facts; /* of the file, when it was opened */
    jit_gemm_severity level;
};

/*
 * Reads "LEVEL" or "LEVEL:PATH", with LEVEL error, warning, info or debug: without a path
 * lines go to standard error. The file is made for its user only, and appended to; only a
 * file or a device such as /dev/null is taken. `text` may be NULL: nowhere.
 *
 * ARGUMENT naming `where` and what is wrong.
 */
jit_gemm_status jg_log_file_open(const char *text, const char *where,
                                 struct jg_log_file *ret_file);
void jg_log_file_close(struct jg_log_file *file);
/* One line, by one write: lines of several processes do not mix. Trouble is nobody's. A
 * program may have closed the file, as daemons close all that is open at their start, and
 * its number be another's: then it is opened by its path for each line. */
void jg_log_file_write(const struct jg_log_file *file, jit_gemm_severity severity,
                       const char *line);

#endif
