/* SPDX-License-Identifier: MIT */
/* `bench --modelled`: what the emulator's time model says of problems. Nothing is measured.
 */
#ifndef BENCH_MODELLED_H
#define BENCH_MODELLED_H

#include "cli.h"
#include "problem_list.h"

struct bench_modelled {
    const char *chip;          /* NULL: the emulated device's own */
    int64_t mhz;               /* 0: what the chip's power leaves */
    struct group_lists groups; /* of problems that have them, as problem_list_read has it */
    bool needs_all;            /* no part of a large launch may stand for all of it */
    bool json;
};

/* Do --modelled, the device and the settings go together? Modelled times must not be taken
 * for measured ones. CLI_OK, or an exit code after the error. */
int bench_modelled_check(bool is_modelled, const char *device,
                         const struct bench_modelled *settings);
/* Has the emulator, which is opened later, time its launches. What the user's environment
 * says of it holds beside. */
void bench_modelled_set_up(const struct bench_modelled *settings, bool verbose);
/* Sets up the emulator and prints a line for each problem; every line says that its time is
 * modelled. One that fails is told of, the others go on. */
int bench_modelled_print(const struct bench_modelled *settings,
                         const struct cli_context_options *context,
                         const struct problem_list *problems);

#endif
