/* SPDX-License-Identifier: MIT */
/* Error texts, host time and order statistics of the benchmarks. */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <stddef.h>
#include <stdio.h>

#define BENCH_ERROR_SIZE 1024

/* Order statistics of a sample. */
struct bench_stats {
    double min, q1, median, q3, max;
    size_t count;
};

/* Writes a text into `error` and returns -1. */
__attribute__((format(printf, 2, 3))) int bench_fail(char error[BENCH_ERROR_SIZE],
                                                     const char *format, ...);

/* Copies the first line of a text, cut to `size` bytes with its end. */
void bench_copy_line(char *target, size_t size, const char *text);

/* Microseconds of the monotonic clock. */
double bench_now_us(void);

/* Sorts `values` and reads its statistics; all zero for no value. */
struct bench_stats bench_stats_of(double *values, size_t count);

/* Quartile distance over median, 0 if the median is 0. */
double bench_stats_spread(const struct bench_stats *stats);

/* Path of a file that lies beside the running program. Returns 0 or -1. */
int bench_sibling_path(const char *name, char *path, size_t size);

/* The processor's model name, for reports of host times. */
void bench_cpu_name(char *text, size_t size);

/* UTC now as ISO 8601. */
void bench_date(char text[32]);

/* Writes a JSON string with its quotes. */
void bench_print_json_string(FILE *out, const char *text);

/*
 * Opens the file of `--out` to append to it; a NULL path gives NULL. Returns 0, or -1 after
 * a message.
 */
int bench_open_output(const char *program, const char *path, FILE **ret_file);

/* Closes what bench_open_output gave. Returns 0, or -1 after a message: then something
 * was not written. */
int bench_close_output(const char *program, const char *path, FILE *file);

/* Joins argv with spaces; cut to `size`. */
void bench_join_arguments(int argc, char **argv, char *text, size_t size);

/*
 * Reads a positive whole number of an option, at most `max`. Returns 0, or -1 after a
 * message on standard error that names the option.
 */
int bench_parse_count(const char *option, const char *text, long max, long *ret_value);

/* Most problems on one command line. */
#define BENCH_MAX_PROBLEMS 64

/* The problems of a command line, in its order; the texts are the caller's. */
struct bench_problems {
    const char *texts[BENCH_MAX_PROBLEMS];
    size_t count;
};

/* Takes `option value`; returns 0, or -1 after a message. */
typedef int (*bench_option_fn)(void *user, const char *option, const char *value);

/*
 * Splits a command line into options, each with a value, and problems; without problems the
 * two defaults are meant. Returns 0, or -1 after a message.
 */
int bench_read_arguments(const char *program, int argc, char **argv,
                         bench_option_fn read_option, void *user,
                         const char *const defaults[2],
                         struct bench_problems *ret_problems);

#endif
