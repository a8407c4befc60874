/* SPDX-License-Identifier: MIT */
#include "bench_util.h"

#include "gemm_bench.h"
#include <stdbool.h>

static void print_string_field(FILE *out, const char *name, const char *value)
{
    fprintf(out, "\"%s\":", name);
    bench_print_json_string(out, value);
    fputc(',', out);
}

static void print_json_entry(FILE *out, const struct gemm_bench_entry *entry)
{
    fputc('{', out);
    print_string_field(out, "name", entry->name);
    print_string_field(out, "note", entry->note);
    if (entry->absent) {
        fprintf(out, "\"absent\":true}");
        return;
    }
    fprintf(out,
            "\"absent\":false,\"median_us\":%.4f,\"min_us\":%.4f,\"max_us\":%.4f,"
            "\"spread\":%.5f,\"tflops\":%.2f,\"ratio\":%.4f,\"difference\":%.3e,"
            "\"sm_mhz\":%.0f,\"watts\":%.1f,\"launch_bound\":%s}",
            entry->median_us, entry->min_us, entry->max_us, entry->spread, entry->tflops,
            entry->ratio, entry->difference, entry->sm_mhz, entry->watts,
            entry->host_bound ? "true" : "false");
}

void gemm_bench_print_json(FILE *out, const struct gemm_bench_machine *machine,
                           const struct gemm_bench_result *result, const char *command_line)
{
    fputc('{', out);
    print_string_field(out, "date", machine->date);
    print_string_field(out, "jit_gemm", jit_gemm_version_string());
    print_string_field(out, "device", machine->device);
    fprintf(out, "\"cc\":\"%d.%d\",\"sm_count\":%d,\"driver_cuda\":\"%d.%d\",",
            machine->cc_major, machine->cc_minor, machine->sm_count,
            machine->driver_cuda_version / 1000, machine->driver_cuda_version % 1000 / 10);
    print_string_field(out, "cublaslt", machine->cublaslt);
    if (command_line != NULL) {
        print_string_field(out, "command", command_line);
    }
    print_string_field(out, "problem", result->problem);
    print_string_field(out, "epilogue", result->epilogue);
    if (result->groups[0] != '\0') {
        print_string_field(out, "groups", result->groups);
    }
    print_string_field(out, "config", result->config);
    print_string_field(out, "kernel", result->entry_point);
    print_string_field(out, "origin", jit_gemm_origin_name(result->origin));
    fprintf(out,
            "\"registers\":%u,\"spill_bytes\":%u,\"grid_ctas\":%u,\"compile_ms\":%.1f,"
            "\"flops\":%.0f,\"sets\":%zu,\"sets_mib\":%.1f,\"rounds\":%d,\"launches\":%d,"
            "\"replays\":%s,\"entries\":[",
            result->registers, result->spill_bytes, result->grid_ctas, result->compile_ms,
            result->flops, result->sets, result->sets_mib, result->rounds, result->launches,
            result->replays ? "true" : "false");
    for (size_t i = 0; i < result->entry_count; i++) {
        if (i > 0) {
            fputc(',', out);
        }
        print_json_entry(out, &result->entries[i]);
    }
    fprintf(out, "]}\n");
    fflush(out);
}
