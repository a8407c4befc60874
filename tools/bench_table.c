/* SPDX-License-Identifier: MIT */
#include "bench_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { LABEL_COLUMNS = 12, NAME_COLUMNS = 30 };

/* A label and what is said, folded below itself. */
__attribute__((format(printf, 3, 4))) static void
print_said(const char *label, size_t width, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    printf("%-*s", (int)width, label);
    cli_print_folded(stdout, text, strlen(text), width, width);
}

void bench_table_print_head(const struct gemm_bench_machine *machine)
{
    print_said("#", 2, "%s, jit_gemm %s", machine->date, jit_gemm_version_string());
    print_said("#", 2, "%s: compute capability %d.%d, %d multiprocessors, L2 %.0f MiB",
               machine->device, machine->cc_major, machine->cc_minor, machine->sm_count,
               machine->l2_mib);
    print_said("#", 2, "driver for CUDA %d.%d; cuBLASLt %s",
               machine->driver_cuda_version / 1000,
               machine->driver_cuda_version % 1000 / 10, machine->cublaslt);
    print_said(
        "#", 2,
        "us: median of the rounds; spread: quartile distance over median; ratio: time over "
        "jit_gemm's time;");
    print_said("#", 2, "MHz, W: clock and power while they ran, 0 if not known");
}

static void print_entry(const struct gemm_bench_entry *entry, bool is_first)
{
    const size_t name = strlen(entry->name);
    const char *broken = name > NAME_COLUMNS ? "\n" : "";
    const size_t width = name > NAME_COLUMNS ? NAME_COLUMNS + 2 : NAME_COLUMNS - name;

    if (entry->absent) {
        printf("  %s%s%*s absent: ", entry->name, broken, (int)width, "");
        cli_print_folded(stdout, entry->note, strlen(entry->note), NAME_COLUMNS + 11,
                         NAME_COLUMNS + 3);
        return;
    }
    printf("  %s%s%*s %10.2f %9.1f %7.3f %6.1f%% %5.0f %4.0f", entry->name, broken,
           (int)width, "", entry->median_us, entry->tflops, entry->ratio,
           entry->spread * 100.0, entry->sm_mhz, entry->watts);
    if (!is_first) {
        printf(" %9.1e", entry->difference);
    }
    fputc('\n', stdout);
    if (entry->note[0] != '\0') {
        print_said("", 4, "%s", entry->note);
    }
    if (entry->host_bound) {
        print_said("", 4, "launch-bound");
    }
}

/* The fastest first, what was not measured last. */
static int compare_entries(const void *a, const void *b)
{
    const struct gemm_bench_entry *x = *(const struct gemm_bench_entry *const *)a;
    const struct gemm_bench_entry *y = *(const struct gemm_bench_entry *const *)b;

    if (x->absent != y->absent) {
        return x->absent ? 1 : -1;
    }
    if (x->absent || x->median_us == y->median_us) {
        return x < y ? -1 : x > y; /* as they were measured */
    }
    return x->median_us < y->median_us ? -1 : 1;
}

void bench_table_print_result(const struct gemm_bench_result *result)
{
    const size_t count = result->entry_count;
    const struct gemm_bench_entry *entries[GEMM_BENCH_MAX_ENTRIES] = {NULL};

    fputc('\n', stdout);
    fputs(cli_tone(stdout, CLI_TONE_HEAD), stdout);
    cli_print_folded(stdout, result->problem, strlen(result->problem), 0, 4);
    fputs(cli_tone(stdout, CLI_TONE_END), stdout);
    if (result->epilogue[0] != '\0') {
        print_said("  epilogue", LABEL_COLUMNS, "%s", result->epilogue);
    }
    if (result->groups[0] != '\0') {
        print_said("  groups", LABEL_COLUMNS, "%s", result->groups);
    }
    print_said("  config", LABEL_COLUMNS, "%s; %u registers, %u bytes spilled, %u CTAs",
               result->config, result->registers, result->spill_bytes, result->grid_ctas);
    print_said("  method", LABEL_COLUMNS,
               "%d rounds there and back, %d launches each%s, %zu input sets of together "
               "%.0f MiB",
               result->rounds, result->launches,
               result->replays ? " by a replay of a CUDA graph" : "", result->sets,
               result->sets_mib);
    printf("  %-*s %10s %9s %7s %7s %5s %4s %9s\n", NAME_COLUMNS, "", "us", "TFLOP/s",
           "ratio", "spread", "MHz", "W", "max diff");
    for (size_t i = 0; i < count; i++) {
        entries[i] = &result->entries[i];
    }
    if (count > 1) {
        qsort(entries + 1, count - 1, sizeof(const struct gemm_bench_entry *),
              compare_entries);
    }
    for (size_t i = 0; i < count; i++) {
        print_entry(entries[i], i == 0);
    }
    fflush(stdout);
}
