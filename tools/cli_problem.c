/* SPDX-License-Identifier: MIT */
/* Problems and epilogues from words and options. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "verify/elements.h"

#define DEFAULT_EPILOGUE_NAME "epilogue"

/* Pieces of the help. Types and kinds are the library's own lists, which it gives as hints
 * of its errors: "types: bf16 f16". */
struct help_texts {
    char inputs[96], outputs[96], operands[96], kinds[96];
    char problem[4000];
    char operand_option[640];
};

static const char problem_format[] =
    "a PROBLEM is `4096x4096x4096 bf16` or `m=4096 n=4096 k=4096 bf16`, a type without a key\n"
    "being A's, as a=bf16, and then:\n"
    "  batch=N                   products; 1\n"
    "  groups=N group_by=offsets|counts|rows|k_offsets|pointers\n"
    "                            rows in groups, each with a B of its own: stacked, the\n"
    "                            first rows of each of a batch, or stacked in blocks of 128\n"
    "                            whose rows name their group; or K in groups, each with a\n"
    "                            D of its own; or, by pointers, all of them; offsets\n"
    "  group_rest=untouched|zero rows of D of no group; untouched\n"
    "  scale_rows=stacked|per_group_padded\n"
    "                            where scales of a group's rows in layout 128x4 begin, by\n"
    "                            offsets: at a piece that follows from the group's begin,\n"
    "                            or behind those of the group before; stacked\n"
    "  typical_sizes=8x512,24x0..96\n"
    "                            groups and their rows, to plan for, up to 16 times: 8 of\n"
    "                            512, 24 that go evenly from 0 to 96; about the same each\n"
    "  b=TYPE                    as A; e4m3 and e5m2 mix, with mx e2m1 too. A and B have\n"
    "                            %.*s\n"
    "                            %s\n"
    "  c=TYPE d=TYPE             no C, and D as A (f32 for tf32, s32 for s8). Both have\n"
    "                            %s\n"
    "  d=mxfp8|mxfp8e5m2|mxfp4|nvfp4\n"
    "                            e4m3, e5m2 or e2m1 with d_scale=mx or nv in layout 128x4; as\n"
    "                            a= and b=\n"
    "  layout=nt|nn|tn|tt        A's letter, then B's; nt: both K-major\n"
    "  d_layout=row|column       of D, C and matrix operands; row\n"
    "  a_rows=, d_rows=          where rows of A and D lie: in_order, or indexed, where an\n"
    "                            index in device memory says; in_order\n"
    "  a_scale=, b_scale=        none, tensor or vector; of e4m3 and e5m2 also for blocks:\n"
    "                            1x128 or 128x128 (M or N by K; f32), both with ue8m0 behind\n"
    "                            (powers of two), or mx (1x32), of e2m1 mx or nv (1x16); none\n"
    "  d_scale=                  none, or computed for blocks: 1x128 or 128x128 (f32), both\n"
    "                            with ue8m0 behind, mx (1x32) or nv (1x16, d=e2m1); none\n"
    "  a_scale_layout=, b_scale_layout=, d_scale_layout=\n"
    "                            of scales of blocks: row, column, and of scales of one byte\n"
    "                            128x4, 8x4, mn_k4; row. Those of A and B that are not in\n"
    "                            128x4 are packed first\n"
    "  dynamic=m,n,k,batch       sizes that a launch sets; those above are planned for\n"
    "  workspace=64m             memory to split K in, and to copy unaligned A and B to; none\n"
    "  input_align=2             bytes that A and B are aligned to; 16\n"
    "  output_align=2            the same of D, C, operands and scales; 16\n"
    "  pair=interleaved|halves   columns of B that make one of D, where the epilogue names\n"
    "                            acc0 and acc1; interleaved\n"
    "  invariant=m               a row's bits depend on nothing of other rows, nor on M, its\n"
    "                            place, the batch and the config; none\n"
    "  accumulate=fast           sums of 8-bit floats stay in the tensor core; exact\n"
    "  weights=b                 nobody writes B (or a: A) meanwhile: it may be read while the\n"
    "                            kernel before still runs; none\n"
    "  max_registers=N           fail if a thread has more at launch; any\n"
    "  local_memory=none         fail if a thread has some, as spills need it; any\n"
    "  epilogue=NAME             one of `jit-gemm epilogue list`, or names the one of\n"
    "                            --epilogue; epilogue\n"
    "  config=...                as --config; the last key\n\n";

/* The hint of the error that the library has just given. */
static void read_hint(char *text, size_t size)
{
    jit_gemm_diagnostics *diagnostics = NULL;
    jit_gemm_diagnostic first = {.struct_size = sizeof(first)};
    text[0] = '\0';
    if (jit_gemm_diagnostics_take(&diagnostics) == JIT_GEMM_OK &&
        jit_gemm_diagnostics_get(diagnostics, 0, &first) == JIT_GEMM_OK) {
        snprintf(text, size, "%s", first.hint);
    }
    jit_gemm_diagnostics_destroy(&diagnostics);
}

/* Made of what the library says, once. */
static const struct help_texts *make_help(void)
{
    static struct help_texts texts;
    jit_gemm_problem problem;
    jit_gemm_operand operand;
    char name[JIT_GEMM_NAME_SIZE];
    (void)jit_gemm_problem_parse("a=?", &problem);
    read_hint(texts.inputs, sizeof(texts.inputs));
    (void)jit_gemm_problem_parse("c=?", &problem);
    read_hint(texts.outputs, sizeof(texts.outputs));
    (void)jit_gemm_operand_parse("x:?:f32", name, &operand);
    read_hint(texts.kinds, sizeof(texts.kinds));
    (void)jit_gemm_operand_parse("x:matrix:?", name, &operand);
    read_hint(texts.operands, sizeof(texts.operands));
    const size_t plain = strcspn(texts.inputs, ";"); /* those with scales stand behind it */
    snprintf(texts.problem, sizeof(texts.problem), problem_format, (int)plain, texts.inputs,
             texts.inputs + plain + strspn(texts.inputs + plain, "; "), texts.outputs);
    snprintf(texts.operand_option, sizeof(texts.operand_option),
             "an operand of the epilogue, in order.\n%s\n%s\n"
             "row_vector is by col, column_vector by row;\n"
             "ROLE: out (the epilogue writes a matrix); sum, max, min (of\n"
             "what it assigns, for each row: column_vector, column:\n"
             "row_vector, block of a row: 1x128, 1x32, 1x16, or all:\n"
             "scalar)",
             texts.kinds, texts.operands);
    return &texts;
}

void cli_epilogue_table(struct cli_problem *problem,
                        struct cli_option ret_table[CLI_EPILOGUE_OPTION_COUNT])
{
    const struct cli_option table[CLI_EPILOGUE_OPTION_COUNT] = {
        {"--epilogue", "TEXT", "the epilogue, such as 'd = relu(acc + bias);'", CLI_TEXT,
         &problem->epilogue_text},
        {"--epilogue-file", "FILE", "the same, from a file; - is standard input", CLI_TEXT,
         &problem->epilogue_file},
        {"--epilogue-code", "FILE",
         "the epilogue as a compiled function, from nvcc, clang or\nnumba: PTX or LTO-IR",
         CLI_TEXT, &problem->code_file},
        {"--epilogue-symbol", "NAME", "the function's name in that file", CLI_TEXT,
         &problem->symbol},
        {"--operand", "NAME:KIND:TYPE[:ROLE]", make_help()->operand_option, CLI_LIST,
         &problem->operand_texts},
        {0},
    };

    memcpy(ret_table, table, sizeof(table));
}

/* Does a word have the option and its value, as --epilogue=TEXT? */
static bool has_value(const char *word, const char *option)
{
    const size_t size = strlen(option);

    return strncmp(word, option, size) == 0 && word[size] == '=';
}

/* Before the words are put in another order. */
static void keep_command_line(const char *usage, int argc, char **argv, char *ret_line,
                              size_t size)
{
    size_t used = (size_t)snprintf(ret_line, size, "jit-gemm %.*s",
                                   cli_count_command_bytes(usage), usage);

    for (int i = 1; i < argc && used < size; i++) {
        if (strcmp(argv[i], "--epilogue") == 0 || strcmp(argv[i], "--operand") == 0) {
            i++;
            continue;
        }
        if (has_value(argv[i], "--epilogue") || has_value(argv[i], "--operand")) {
            continue;
        }
        if (strchr(argv[i], '\'') != NULL) { /* rare, and long to quote */
            used = size;
            break;
        }
        const char *quote =
            strcspn(argv[i], " '\"\\$`;&|<>()*?!#~\n\t") < strlen(argv[i]) ? "'" : "";
        used += (size_t)snprintf(ret_line + used, size - used, " %s%s%s", quote, argv[i],
                                 quote);
    }
    if (used >= size) {
        ret_line[0] = '\0';
    }
}

int cli_parse_problem(const struct cli_help *help, const struct cli_option *own,
                      struct cli_problem *problem, struct cli_context_options *options,
                      bool with_device, int argc, char **argv, int *ret_words)
{
    const struct cli_option table[] = {
        {"--config", "TEXT",
         "override the choice, in the form that `plan` prints:\n"
         "'tile=128x256 cluster=2x1' for sm_90a,\n'mma=256x128 cluster=2x1' for sm_100a, or "
         "'kernel=reference'",
         CLI_TEXT, &problem->config},
        {"--recipe", "FILE", "take configs from what `jit-gemm tune` wrote", CLI_TEXT,
         &options->recipe},
        {0},
    };
    struct cli_option epilogue_table[CLI_EPILOGUE_OPTION_COUNT];
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, epilogue_table, table, context_table, NULL};

    cli_epilogue_table(problem, epilogue_table);
    cli_context_table(options, with_device, context_table);
    keep_command_line(help->usage, argc, argv, problem->command_line,
                      sizeof(problem->command_line));
    return cli_parse_words(help, make_help()->problem, groups, argc, argv, ret_words);
}

static int read_operand(struct cli_problem *problem, const char *text)
{
    const size_t index = problem->operand_count;
    if (index == JIT_GEMM_MAX_OPERANDS) {
        return cli_usage_error("--operand: an epilogue has at most %d operands",
                               JIT_GEMM_MAX_OPERANDS);
    }
    const jit_gemm_status status =
        jit_gemm_operand_parse(text, problem->names[index], &problem->operands[index]);
    if (status != JIT_GEMM_OK) {
        cli_report(status, NULL, false);
        return CLI_USAGE;
    }
    problem->operand_count++;
    return CLI_OK;
}

static char *copy_text(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = cli_alloc(bytes);

    memcpy(copy, text, bytes);
    return copy;
}

/* One of the library's own, if the problem names one. */
static int read_named_epilogue(struct cli_problem *problem)
{
    const char *name = problem->problem.epilogue;
    jit_gemm_named_epilogue named;

    if (!cli_find_named_epilogue(name, element_d_type(&problem->problem), &named)) {
        return cli_usage_error(
            "epilogue=%s: %s", name,
            cli_near_epilogue(name, "give its text with --epilogue or --epilogue-file, or "
                                    "take one that `jit-gemm epilogue list` names")
                .text);
    }
    if (problem->operand_texts.count) {
        return cli_usage_error("--operand: those of epilogue=%s are known; `jit-gemm "
                               "epilogue show %s` has them",
                               name, name);
    }
    problem->is_named = true;
    problem->snippet = copy_text(named.source);
    problem->operand_count = named.operand_count;
    for (size_t i = 0; i < named.operand_count; i++) {
        problem->operands[i] = named.operands[i];
    }
    return CLI_OK;
}

static int read_snippet(struct cli_problem *problem)
{
    size_t size;

    if (problem->epilogue_file != NULL) {
        problem->snippet = cli_read_file(problem->epilogue_file, &size);
        if (problem->snippet == NULL) {
            return CLI_FAILED;
        }
        if (strlen(problem->snippet) != size) {
            return cli_error("%s: a zero byte is in the text", problem->epilogue_file);
        }
    } else {
        problem->snippet = copy_text(problem->epilogue_text);
    }
    return CLI_OK;
}

static int read_code(struct cli_problem *problem)
{
    if (problem->symbol == NULL) {
        return cli_usage_error("--epilogue-code needs --epilogue-symbol NAME, the "
                               "function's name in that file");
    }
    problem->code = cli_read_file(problem->code_file, &problem->code_size);
    if (problem->code == NULL) {
        return CLI_FAILED;
    }
    return problem->code_size > 0 ? CLI_OK
                                  : cli_error("%s: the file is empty", problem->code_file);
}

/* A letter, then letters and digits: no text of an epilogue is that. */
static bool is_bare_name(const char *text)
{
    const size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                     "0123456789_");

    return size > 0 && text[size] == '\0' && !isdigit((unsigned char)text[0]);
}

int cli_epilogue_read(struct cli_problem *problem)
{
    jit_gemm_problem *target = &problem->problem;
    const bool has_text = problem->epilogue_text != NULL || problem->epilogue_file != NULL;

    if (problem->epilogue_text != NULL && problem->epilogue_file != NULL) {
        return cli_usage_error("--epilogue and --epilogue-file exclude each other");
    }
    if (has_text && problem->code_file != NULL) {
        return cli_usage_error("%s and --epilogue-code exclude each other",
                               problem->epilogue_text != NULL ? "--epilogue"
                                                              : "--epilogue-file");
    }
    if (problem->symbol != NULL && problem->code_file == NULL) {
        return cli_usage_error("--epilogue-symbol needs --epilogue-code FILE");
    }
    if (!has_text && problem->code_file == NULL) {
        if (target->epilogue[0]) {
            return read_named_epilogue(problem);
        }
        if (problem->operand_texts.count) {
            return cli_usage_error("--operand needs an --epilogue that uses it");
        }
        return CLI_OK;
    }
    if (problem->epilogue_text != NULL && is_bare_name(problem->epilogue_text)) {
        return cli_refuse_epilogue_name(problem);
    }
    const int code = has_text ? read_snippet(problem) : read_code(problem);
    if (code != CLI_OK) {
        return code;
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

int cli_count_problem_words(char **words, int count)
{
    int length = 1;

    while (length < count && !isdigit((unsigned char)words[length][0]) &&
           strncmp(words[length], "m=", 2) != 0) {
        length++;
    }
    return length;
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
    return cli_epilogue_read(problem);
}

void cli_problem_free(struct cli_problem *problem)
{
    free(problem->snippet);
    free(problem->code);
    problem->snippet = problem->code = NULL;
}

bool cli_problem_has_epilogue(const struct cli_problem *problem)
{
    return problem->snippet != NULL || problem->code != NULL;
}

jit_gemm_epilogue cli_problem_epilogue(const struct cli_problem *problem)
{
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue),
        .name = problem->problem.epilogue,
        .source = problem->snippet,
        .operand_count = (uint32_t)problem->operand_count,
        .operands = problem->operands,
        .code = problem->code,
        .code_size = problem->code_size,
        .symbol = problem->symbol,
    };
    return epilogue;
}

int cli_problem_register(const struct cli_problem *problem, jit_gemm_context *context,
                         bool verbose)
{
    struct cli_snippet snippet = {.text = problem->snippet};
    const jit_gemm_epilogue epilogue = cli_problem_epilogue(problem);

    if (!cli_problem_has_epilogue(problem) || problem->is_named) {
        return CLI_OK;
    }
    jit_gemm_status status = jit_gemm_epilogue_register(context, &epilogue);
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, &snippet, verbose);
}

char *cli_problem_text(const jit_gemm_problem *problem)
{
    size_t length = 0;
    jit_gemm_status status = jit_gemm_problem_print(problem, NULL, 0, &length);
    char *text = cli_alloc(length + 1);

    if (status == JIT_GEMM_OK) {
        status = jit_gemm_problem_print(problem, text, length + 1, NULL);
    }
    if (status != JIT_GEMM_OK) { /* for want of memory: it was a problem before */
        exit(cli_report(status, NULL, false));
    }
    return text;
}
