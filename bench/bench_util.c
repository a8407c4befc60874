/* SPDX-License-Identifier: MIT */
#include "bench_util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int bench_fail(char error[BENCH_ERROR_SIZE], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, BENCH_ERROR_SIZE, format, list);
    va_end(list);
    return -1;
}

void bench_copy_line(char *target, size_t size, const char *text)
{
    size_t length = strcspn(text, "\r\n");
    if (length >= size) {
        length = size - 1;
    }
    memcpy(target, text, length);
    target[length] = '\0';
}

double bench_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Linear interpolation between the neighbours, as most statistics programs do. */
static double read_quantile(const double *sorted, size_t count, double fraction)
{
    const double position = fraction * (double)(count - 1);
    const size_t below = (size_t)position;
    if (below + 1 >= count) {
        return sorted[count - 1];
    }
    const double weight = position - (double)below;
    return sorted[below] * (1.0 - weight) + sorted[below + 1] * weight;
}

struct bench_stats bench_stats_of(double *values, size_t count)
{
    struct bench_stats stats = {0};
    if (count == 0) {
        return stats;
    }
    qsort(values, count, sizeof(*values), compare_doubles);
    stats.min = values[0];
    stats.q1 = read_quantile(values, count, 0.25);
    stats.median = read_quantile(values, count, 0.5);
    stats.q3 = read_quantile(values, count, 0.75);
    stats.max = values[count - 1];
    stats.count = count;
    return stats;
}

double bench_stats_spread(const struct bench_stats *stats)
{
    return stats->median > 0.0 ? (stats->q3 - stats->q1) / stats->median : 0.0;
}

void bench_date(char text[32])
{
    const time_t now = time(NULL);
    struct tm parts;
    text[0] = '\0';
    if (gmtime_r(&now, &parts) != NULL) {
        strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}

void bench_print_json_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at != 0; at++) {
        if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 0x20) {
            fprintf(out, "\\u%04x", (unsigned)*at);
        } else {
            fputc(*at, out);
        }
    }
    fputc('"', out);
}

void bench_join_arguments(int argc, char **argv, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < argc && used + 1 < size; i++) {
        const bool has_blanks = strpbrk(argv[i], " ;$&|()*") != NULL;
        const int wrote = snprintf(text + used, size - used, "%s%s%s%s", i > 0 ? " " : "",
                                   has_blanks ? "'" : "", argv[i], has_blanks ? "'" : "");
        if (wrote < 0) {
            return;
        }
        used += (size_t)wrote;
    }
}

int bench_parse_count(const char *option, const char *text, long max, long *ret_value)
{
    char *end = NULL;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > max) {
        fprintf(stderr, "%s: '%s' is not a whole number from 1 to %ld\n", option, text,
                max);
        return -1;
    }
    *ret_value = value;
    return 0;
}

int bench_sibling_path(const char *name, char *path, size_t size)
{
    char own[2048];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length <= 0) {
        return -1;
    }
    own[length] = '\0';
    char *slash = strrchr(own, '/');
    if (slash == NULL) {
        return -1;
    }
    *slash = '\0';
    const int wrote = snprintf(path, size, "%s/%s", own, name);
    return wrote > 0 && (size_t)wrote < size ? 0 : -1;
}

void bench_cpu_name(char *text, size_t size)
{
    char line[512];
    snprintf(text, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            bench_copy_line(text, size, colon + 1 + strspn(colon + 1, " "));
            break;
        }
    }
    fclose(file);
}

static int fail_output(const char *program, const char *path)
{
    fprintf(stderr, "%s: --out '%s': %s\n", program, path, strerror(errno));
    return -1;
}

int bench_open_output(const char *program, const char *path, FILE **ret_file)
{
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (path != NULL && file == NULL) {
        return fail_output(program, path);
    }
    *ret_file = file;
    return 0;
}

int bench_close_output(const char *program, const char *path, FILE *file)
{
    if (file == NULL) {
        return 0;
    }
    const bool has_failed = ferror(file) != 0; /* of a line before the last, too */
    return fclose(file) != 0 || has_failed ? fail_output(program, path) : 0;
}

int bench_read_arguments(const char *program, int argc, char **argv,
                         bench_option_fn read_option, void *user,
                         const char *const defaults[2], struct bench_problems *ret_problems)
{
    struct bench_problems problems = {.count = 0};
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0) {
            if (i + 1 == argc || read_option(user, argv[i], argv[i + 1]) != 0) {
                fprintf(stderr, "%s: '%s': see --help\n", program, argv[i]);
                return -1;
            }
            i++;
        } else if (problems.count < BENCH_MAX_PROBLEMS) {
            problems.texts[problems.count++] = argv[i];
        } else {
            fprintf(stderr, "%s: more than %d problems\n", program, BENCH_MAX_PROBLEMS);
            return -1;
        }
    }
    if (problems.count == 0) {
        problems.texts[problems.count++] = defaults[0];
        problems.texts[problems.count++] = defaults[1];
    }
    *ret_problems = problems;
    return 0;
}
