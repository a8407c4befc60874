/* SPDX-License-Identifier: MIT */
/* Problems and epilogues from words and options. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verify/elements.h"

#define DEFAULT_EPILOGUE_NAME "epilogue"

static const char problem_help[] =
    "a PROBLEM is `4096x4096x4096 bf16` or `m=4096 n=4096 k=4096 a=bf16`, and then:\n"
    "  batch=N                   products; 1\n"
    "  b=TYPE                    as A; e4m3 and e5m2 mix. A and B: bf16 f16 tf32 e4m3\n"
    "                            e5m2 s8\n"
    "  c=TYPE d=TYPE             no C, and D as A (f32 for tf32, s32 for s8); each one of\n"
    "                            bf16 f16 f32 e4m3 e5m2 s32\n"
    "  layout=nt|nn|tn|tt        A's letter, then B's; nt: both K-major\n"
    "  d_layout=row|column       of D, C and matrix operands; row\n"
    "  a_scale=, b_scale=        none, tensor or vector; none\n"
    "  dynamic=m,n,k,batch       sizes that a launch sets; those above are planned for\n"
    "  workspace=64m             memory in which K may be split; none\n"
    "  input_align=2             bytes that A and B are aligned to; 16\n"
    "  output_align=2            the same of D, C, operands and scales; 16\n"
    "  epilogue=NAME             names the one of --epilogue; epilogue\n"
    "  config=...                as --config; the last key\n\n";

int cli_parse_problem(const struct cli_help *help, const struct cli_option *own,
                      struct cli_problem *problem, struct cli_context_options *options,
                      bool with_device, int argc, char **argv, int *ret_words)
{
    const struct cli_option table[] = {
        {"--epilogue", "TEXT", "the epilogue, such as 'd = relu(acc + bias);'", CLI_TEXT,
         &problem->epilogue_text},
        {"--epilogue-file", "FILE", "the same, from a file; - is standard input", CLI_TEXT,
         &problem->epilogue_file},
        {"--operand", "NAME:KIND:TYPE[:out]",
         "an operand of the epilogue, in order. KIND: scalar,\nrow_vector (by col), "
         "column_vector (by row), matrix;\nTYPE: bf16, f16, f32, e4m3, e5m2; "
         "out: the epilogue writes it",
         CLI_LIST, &problem->operand_texts},
        {"--config", "TEXT",
         "override the choice, in the form that `plan` prints:\n"
         "'tile=128x256 cluster=2x1' for sm_90a,\n'mma=256x128 cluster=2x1' for sm_100a, or "
         "'kernel=reference'",
         CLI_TEXT, &problem->config},
        {0},
    };
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, table, context_table, NULL};

    cli_context_table(options, with_device, context_table);
    return cli_parse_words(help, problem_help, groups, argc, argv, ret_words);
}

static bool read_operand_kind(const char *text, jit_gemm_operand_kind *ret_kind)
{
    static const char *const names[] = {"scalar", "row_vector", "column_vector", "matrix"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_kind = (jit_gemm_operand_kind)i;
            return true;
        }
    }
    return false;
}

/* name:kind:type[:role] */
static int read_operand(struct cli_problem *problem, const char *text)
{
    size_t index = problem->operand_count;
    jit_gemm_operand *operand = &problem->operands[index];
    char copy[160];
    char *parts[5] = {0};
    size_t count = 0;

    if (index == JIT_GEMM_MAX_OPERANDS) {
        return cli_usage_error("--operand: an epilogue has at most %d operands",
                               JIT_GEMM_MAX_OPERANDS);
    }
    if (strlen(text) >= sizeof(copy)) {
        return cli_usage_error("--operand %s: too long", text);
    }
    memcpy(copy, text, strlen(text) + 1);
    for (char *part = copy; part != NULL && count < 5; count++) {
        char *colon = strchr(part, ':');

        parts[count] = part;
        if (colon != NULL) {
            *colon = '\0';
        }
        part = colon != NULL ? colon + 1 : NULL;
    }
    if (count < 3 || count > 4) {
        return cli_usage_error("--operand %s: write NAME:KIND:TYPE or NAME:KIND:TYPE:out",
                               text);
    }
    if (parts[0][0] == '\0' || strlen(parts[0]) >= JIT_GEMM_NAME_SIZE) {
        return cli_usage_error("--operand %s: the name has 1 to %d letters", text,
                               JIT_GEMM_NAME_SIZE - 1);
    }
    memset(operand, 0, sizeof(*operand));
    if (!read_operand_kind(parts[1], &operand->kind)) {
        return cli_usage_error("--operand %s: there is no kind `%s`; kinds are scalar, "
                               "row_vector, column_vector, matrix",
                               text, parts[1]);
    }
    if (!element_dtype_parse(parts[2], &operand->dtype)) {
        return cli_usage_error(
            "--operand %s: there is no type `%s`; types are bf16, f16, f32, e4m3, e5m2",
            text, parts[2]);
    }
    const char *role = count == 4 ? parts[3] : "";
    if (strcmp(role, "sum") == 0 || strcmp(role, "max") == 0 || strcmp(role, "min") == 0) {
        return cli_usage_error("--operand %s: reductions (`%s`) are not in this version",
                               text, role);
    }
    if (strcmp(role, "out") == 0) {
        operand->role = JIT_GEMM_OPERAND_OUTPUT;
    } else if (count == 4) {
        return cli_usage_error("--operand %s: `%s` is not `out`", text, role);
    }
    memcpy(problem->names[index], parts[0], strlen(parts[0]) + 1);
    operand->name = problem->names[index];
    problem->operand_count++;
    return CLI_OK;
}

static int read_epilogue(struct cli_problem *problem)
{
    jit_gemm_problem *target = &problem->problem;
    size_t size;

    if (problem->epilogue_text != NULL && problem->epilogue_file != NULL) {
        return cli_usage_error("--epilogue and --epilogue-file exclude each other");
    }
    if (problem->epilogue_text == NULL && problem->epilogue_file == NULL) {
        if (target->epilogue[0]) {
            return cli_usage_error("epilogue=%s: give its text with --epilogue or "
                                   "--epilogue-file",
                                   target->epilogue);
        }
        if (problem->operand_texts.count) {
            return cli_usage_error("--operand needs an --epilogue that uses it");
        }
        return CLI_OK;
    }
    if (problem->epilogue_file != NULL) {
        problem->snippet = cli_read_file(problem->epilogue_file, &size);
        if (problem->snippet == NULL) {
            return CLI_FAILED;
        }
        if (strlen(problem->snippet) != size) {
            return cli_error("%s: a zero byte is in the text", problem->epilogue_file);
        }
    } else {
        const size_t bytes = strlen(problem->epilogue_text) + 1;
        problem->snippet = cli_alloc(bytes);
        memcpy(problem->snippet, problem->epilogue_text, bytes);
    }
    if (!target->epilogue[0]) {
        strcpy(target->epilogue, DEFAULT_EPILOGUE_NAME);
    }
    for (size_t i = 0; i < problem->operand_texts.count; i++) {
        if (read_operand(problem, problem->operand_texts.items[i]) != CLI_OK) {
            return CLI_USAGE;
        }
    }
    return CLI_OK;
}

static char *join_words(char **words, int count)
{
    size_t size = 1, used = 0;

    for (int i = 0; i < count; i++) {
        size += strlen(words[i]) + 1;
    }
    char *text = cli_alloc(size);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(words[i]);

        if (i) {
            text[used++] = ' ';
        }
        memcpy(text + used, words[i], length);
        used += length;
    }
    text[used] = '\0';
    return text;
}

int cli_problem_read(struct cli_problem *problem, char **words, int count)
{
    if (count == 0) {
        return cli_usage_error("a problem is missing, such as `4096x4096x4096 bf16`");
    }
    char *text = join_words(words, count);
    problem->problem = (jit_gemm_problem){.struct_size = sizeof(problem->problem)};
    jit_gemm_status status = jit_gemm_problem_parse(text, &problem->problem);
    free(text);
    if (status != JIT_GEMM_OK) {
        cli_report(status, NULL, false);
        return CLI_USAGE;
    }
    if (problem->config) {
        if (problem->problem.config[0]) {
            return cli_usage_error(
                "--config and the problem's own config= exclude each other");
        }
        if (strlen(problem->config) >= JIT_GEMM_CONFIG_SIZE) {
            return cli_usage_error("--config: at most %d letters",
                                   JIT_GEMM_CONFIG_SIZE - 1);
        }
        memcpy(problem->problem.config, problem->config, strlen(problem->config) + 1);
    }
    return read_epilogue(problem);
}

void cli_problem_free(struct cli_problem *problem)
{
    free(problem->snippet);
    problem->snippet = NULL;
}

jit_gemm_epilogue cli_problem_epilogue(const struct cli_problem *problem)
{
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue),
        .name = problem->problem.epilogue,
        .source = problem->snippet,
        .operand_count = (uint32_t)problem->operand_count,
        .operands = problem->operands,
    };
    return epilogue;
}

int cli_problem_register(const struct cli_problem *problem, jit_gemm_context *context,
                         bool verbose)
{
    struct cli_snippet snippet = {problem->snippet};
    const jit_gemm_epilogue epilogue = cli_problem_epilogue(problem);

    if (problem->snippet == NULL) {
        return CLI_OK;
    }
    jit_gemm_status status = jit_gemm_epilogue_register(context, &epilogue);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, verbose);
}

char *cli_problem_text(const jit_gemm_problem *problem)
{
    size_t length = 0;

    if (jit_gemm_problem_print(problem, NULL, 0, &length) != JIT_GEMM_OK) {
        length = 0;
    }
    char *text = cli_alloc(length + 1);
    text[0] = '\0';
    (void)jit_gemm_problem_print(problem, text, length + 1, NULL);
    return text;
}
