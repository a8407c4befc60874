/* SPDX-License-Identifier: MIT */
/* Kernel time of a list of problems, beside cuBLASLt. See README.md in this folder. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_util.h"
#include "gemm_bench.h"
#include "named_epilogues.h"

#define MAX_PROBLEMS 512
#define MAX_LINE     512

/* What is timed when nothing is named. */
static const char *const k_default_problems[] = {
    "4096x4096x4096 bf16",
    "8192x8192x8192 bf16",
    "4096x4096x4096 f16",
    "2048x2048x2048 bf16",
    "1024x1024x1024 bf16",
    "4096x4096x4096 bf16 layout=nn",
    "4096x4096x4096 bf16 layout=tt",
    "4096x14336x4096 bf16",
    "128x4096x4096 bf16",
    "4096x4096x4096 bf16 epilogue=gelu_bias_residual",
    "8192x8192x8192 bf16 epilogue=gelu_bias_residual",
};

struct bench_arguments {
    struct gemm_bench_options options;
    int device;
    const char *out_path;
    const char *problems[MAX_PROBLEMS]; /* owned if read from a file: never freed early */
    size_t problem_count;
};

static const char k_usage[] =
    "usage: bench_gemm [OPTION]... [PROBLEM]...\n"
    "Times problems (text form, quoted) on the GPU; a built-in list if none is named.\n"
    "  --shapes FILE      adds the problems of a file, one per line; # begins a comment\n"
    "  --against WHAT     cublaslt (default) or none\n"
    "  --cublaslt PATH    file or folder of cuBLASLt (or set JIT_GEMM_CUBLASLT)\n"
    "  --nvrtc PATH       file or folder of NVRTC for the rival's elementwise kernel\n"
    "  --heuristics N     algorithms of cuBLASLt to try, default 8\n"
    "  --rounds N         timed rounds, default 15\n"
    "  --round-ms N       device time of one contender in one round, default 40\n"
    "  --warmup-ms N      warm-up before the first problem, default 1000\n"
    "  --device N         device ordinal, default 0\n"
    "  --seed N           seed of the inputs, default 1\n"
    "  --out FILE         appends one line of JSON per problem\n"
    "Epilogues that a problem may name: " NAMED_EPILOGUES ".\n";

static int add_problem(struct bench_arguments *arguments, const char *text)
{
    if (arguments->problem_count == MAX_PROBLEMS) {
        fprintf(stderr, "bench_gemm: more than %d problems\n", MAX_PROBLEMS);
        return -1;
    }
    arguments->problems[arguments->problem_count++] = text;
    return 0;
}

static int read_shapes(struct bench_arguments *arguments, const char *path)
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fprintf(stderr, "bench_gemm: --shapes '%s': %s\n", path, strerror(errno));
        return -1;
    }
    char line[MAX_LINE];
    int status = 0;
    while (status == 0 && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "#\r\n")] = '\0';
        const size_t blank = strspn(line, " \t");
        if (line[blank] == '\0') {
            continue;
        }
        char *copy = strdup(line + blank);
        status = copy != NULL ? add_problem(arguments, copy) : -1;
        if (status != 0) {
            free(copy);
        }
    }
    fclose(file);
    return status;
}

static int read_number(const char *option, const char *text, long max, int *ret_number)
{
    long value = 0;
    if (bench_parse_count(option, text, max, &value) != 0) {
        return -1;
    }
    *ret_number = (int)value;
    return 0;
}

/* One option with its value. */
static int read_option(struct bench_arguments *arguments, const char *option,
                       const char *value)
{
    struct gemm_bench_options *options = &arguments->options;
    int number = 0;
    if (strcmp(option, "--shapes") == 0) {
        return read_shapes(arguments, value);
    }
    if (strcmp(option, "--out") == 0) {
        arguments->out_path = value;
        return 0;
    }
    if (strcmp(option, "--cublaslt") == 0) {
        options->cublaslt_path = value;
        return 0;
    }
    if (strcmp(option, "--nvrtc") == 0) {
        options->nvrtc_path = value;
        return 0;
    }
    if (strcmp(option, "--against") == 0) {
        options->against_cublaslt = strcmp(value, "cublaslt") == 0;
        if (!options->against_cublaslt && strcmp(value, "none") != 0) {
            fprintf(stderr, "bench_gemm: --against '%s': cublaslt or none\n", value);
            return -1;
        }
        return 0;
    }
    if (strcmp(option, "--heuristics") == 0) {
        return read_number(option, value, 32, &options->heuristics);
    }
    if (strcmp(option, "--rounds") == 0) {
        return read_number(option, value, GEMM_BENCH_MAX_ROUNDS, &options->rounds);
    }
    if (strcmp(option, "--device") == 0) {
        if (strcmp(value, "0") == 0) {
            return 0;
        }
        return read_number(option, value, 255, &arguments->device);
    }
    if (strcmp(option, "--round-ms") == 0 || strcmp(option, "--warmup-ms") == 0 ||
        strcmp(option, "--seed") == 0) {
        if (read_number(option, value, 60000, &number) != 0) {
            return -1;
        }
        if (option[2] == 'r') {
            options->round_ms = number;
        } else if (option[2] == 'w') {
            options->warmup_ms = number;
        } else {
            options->seed = (uint64_t)number;
        }
        return 0;
    }
    fprintf(stderr, "bench_gemm: unknown option '%s'; see --help\n", option);
    return -1;
}

static int read_arguments(int argc, char **argv, struct bench_arguments *arguments)
{
    arguments->options.against_cublaslt = 1;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (add_problem(arguments, argv[i]) != 0) {
                return -1;
            }
            continue;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "bench_gemm: '%s' is unknown or lacks its value; see --help\n",
                    argv[i]);
            return -1;
        }
        if (read_option(arguments, argv[i], argv[i + 1]) != 0) {
            return -1;
        }
        i++;
    }
    if (arguments->problem_count == 0) {
        for (size_t i = 0; i < sizeof(k_default_problems) / sizeof(k_default_problems[0]);
             i++) {
            add_problem(arguments, k_default_problems[i]);
        }
    }
    return 0;
}

static int measure_text(struct gemm_bench *bench, const char *text, FILE *json,
                        const char *command_line)
{
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    jit_gemm_problem problem;
    const jit_gemm_epilogue *epilogue = NULL;
    if (named_epilogues_parse(text, &problem, &epilogue, error) != 0) {
        fprintf(stderr, "bench_gemm: %s\n", error);
        return -1;
    }
    struct gemm_bench_result *result = calloc(1, sizeof(*result));
    int status = -1;
    if (result == NULL) {
        fprintf(stderr, "bench_gemm: out of memory\n");
    } else if (gemm_bench_measure(bench, &problem, epilogue, result, error) != 0) {
        fprintf(stderr, "bench_gemm: '%s': %s\n", text, error);
    } else {
        gemm_bench_print_result(stdout, result);
        if (json != NULL) {
            gemm_bench_print_json(json, gemm_bench_machine(bench), result, command_line);
        }
        status = 0;
    }
    free(result);
    return status;
}

static int measure_all(const struct bench_arguments *arguments, jit_gemm_context *context,
                       FILE *json, const char *command_line)
{
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    struct gemm_bench *bench = NULL;
    if (named_epilogues_register(context, error) != 0) {
        fprintf(stderr, "bench_gemm: %s\n", error);
        return -1;
    }
    if (gemm_bench_open(context, &arguments->options, &bench, error) != 0) {
        fprintf(stderr, "bench_gemm: %s%s\n", error,
                arguments->options.against_cublaslt
                    ? "\n(--against none times only jit_gemm)"
                    : "");
        return -1;
    }
    gemm_bench_print_head(stdout, gemm_bench_machine(bench));
    size_t failures = 0;
    for (size_t i = 0; i < arguments->problem_count; i++) {
        failures +=
            measure_text(bench, arguments->problems[i], json, command_line) != 0 ? 1 : 0;
    }
    gemm_bench_close(&bench);
    printf("\n%zu measured, %zu failed\n", arguments->problem_count - failures, failures);
    return failures == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    static struct bench_arguments arguments;
    static char command_line[4096];
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(k_usage, stdout);
        return 0;
    }
    if (read_arguments(argc, argv, &arguments) != 0) {
        return 2;
    }
    bench_join_arguments(argc, argv, command_line, sizeof(command_line));
    jit_gemm_context *context = NULL;
    const jit_gemm_context_options context_options = {.struct_size =
                                                          sizeof(context_options),
                                                      .device = arguments.device,
                                                      .exact_device = 1};
    if (jit_gemm_context_create(&context_options, &context) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_gemm: %s\n", jit_gemm_last_error());
        return 1;
    }
    FILE *json = NULL;
    int status = bench_open_output("bench_gemm", arguments.out_path, &json);
    if (status == 0) {
        status = measure_all(&arguments, context, json, command_line);
    }
    if (bench_close_output("bench_gemm", arguments.out_path, json) != 0) {
        status = -1;
    }
    jit_gemm_context_destroy(&context);
    return status == 0 ? 0 : 1;
}
