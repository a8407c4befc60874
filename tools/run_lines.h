/* SPDX-License-Identifier: MIT */
/* Many runs in one process: lines of words and options, one run each. */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include "cli.h"

/* One run: argv[0] is the command's name. Gives an exit code. */
typedef int run_line_function(int argc, char **argv);

/*
 * Runs each line of the file `path`, "-" being standard input, which is read as it comes.
 * A line's words are quoted as in a shell ('', "", backslash) and stand behind the `count`
 * words of `common`; lines that are empty or begin with # are none. A context is held open
 * between the runs, so that they share the driver's.
 *
 * Prints `line N: TEXT` before each run and `line N: passed`, `failed` or `refused` behind
 * it (exit codes 0, 1, 2), and how many there were of each at the end. Where the device is
 * lost, which no later run can change, the lines that are left are not run. Gives
 * CLI_FAILED if one failed, or CLI_USAGE if one was refused, or there was none.
 */
int run_lines(const char *path, const struct cli_context_options *options,
              run_line_function *run, char **common, int count);

#endif
