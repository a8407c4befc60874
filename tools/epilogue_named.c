/* SPDX-License-Identifier: MIT */
/* jit-gemm epilogue list and show: the library's own epilogues. */
#include <string.h>

#include "cli.h"
#include "verify/elements.h"

static const struct cli_help list_help = {
    "epilogue list [--json]",
    "Lists the library's own epilogues: the name for epilogue=NAME in a problem, and what\n"
    "it computes. None has to be registered.\n",
    "  jit-gemm epilogue list\n",
};
static const struct cli_help show_help = {
    "epilogue show NAME [--d TYPE] [--json]",
    "Shows one of the library's own epilogues: what it computes, the equivalent in\n"
    "cuBLASLt, its operands in the order of a launch, and its snippet.\n",
    "  jit-gemm epilogue show bias_gelu\n"
    "  jit-gemm epilogue show quantise --d e4m3\n",
};

static const char *kind_name(jit_gemm_operand_kind kind)
{
    static const char *const names[] = {"scalar", "row_vector", "column_vector", "matrix"};

    return names[kind];
}

/* What depends on the type of D has no type while that is not known. */
static const char *type_name(jit_gemm_dtype dtype)
{
    return dtype == JIT_GEMM_DTYPE_NONE ? "as_d" : element_dtype_name(dtype);
}

static const char *role_suffix(jit_gemm_operand_role role)
{
    return role == JIT_GEMM_OPERAND_OUTPUT ? ":out" : "";
}

bool cli_find_named_epilogue(const char *name, jit_gemm_dtype d,
                             jit_gemm_named_epilogue *ret_named)
{
    for (uint32_t i = 0; i < jit_gemm_epilogue_named_count(); i++) {
        jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};

        if (jit_gemm_epilogue_named(i, d, &named) == JIT_GEMM_OK &&
            strcmp(named.name, name) == 0) {
            *ret_named = named;
            return true;
        }
    }
    return false;
}

struct jg_near_hint cli_near_epilogue(const char *name, const char *hint)
{
    struct jg_nearest nearest = jg_nearest_begin(name, strlen(name));

    for (uint32_t i = 0; i < jit_gemm_epilogue_named_count(); i++) {
        jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};

        if (jit_gemm_epilogue_named(i, JIT_GEMM_DTYPE_BF16, &named) == JIT_GEMM_OK) {
            jg_nearest_try(&nearest, named.name, strlen(named.name));
        }
    }
    return jg_near_hint(&nearest, hint);
}

/* "bias:row_vector:bf16, ..." */
static void list_operands(const jit_gemm_named_epilogue *named, char *ret_list, size_t size)
{
    size_t used = 0;

    snprintf(ret_list, size, "no operands");
    for (uint32_t i = 0; i < named->operand_count && used < size; i++) {
        const jit_gemm_operand *operand = &named->operands[i];

        used += (size_t)snprintf(ret_list + used, size - used, "%s%s:%s:%s%s",
                                 i > 0 ? ", " : "", operand->name, kind_name(operand->kind),
                                 type_name(operand->dtype), role_suffix(operand->role));
    }
}

int cli_refuse_epilogue_name(const struct cli_problem *problem)
{
    const char *name = problem->epilogue_text;
    jit_gemm_named_epilogue named;
    char operands[JIT_GEMM_MAX_OPERANDS * 96];

    if (!cli_find_named_epilogue(name, element_d_type(&problem->problem), &named)) {
        return cli_usage_error(
            "--epilogue: `%s` is neither a text, which ends in `;`, nor a name; %s", name,
            cli_near_epilogue(name, "`jit-gemm epilogue list` has the names").text);
    }
    list_operands(&named, operands, sizeof(operands));
    cli_usage_error("--epilogue: `%s` is the name of one of the library's own, which takes "
                    "%s",
                    name, operands);
    if (problem->command_line[0] == '\0') {
        cli_note("`jit-gemm epilogue show %s` shows it", name);
    } else {
        cli_note("name it in the problem, and its operands come by themselves:\n    %s "
                 "epilogue=%s",
                 problem->command_line, name);
    }
    return CLI_USAGE;
}

/* Reads a type of D as a problem has it, for the same hint. */
static int read_d(const char *text, jit_gemm_dtype *ret_d)
{
    char words[64], hint[512] = "";
    jit_gemm_problem problem;
    jit_gemm_diagnostics *diagnostics = NULL;
    jit_gemm_diagnostic item = {.struct_size = sizeof(item)};

    if (text == NULL) {
        *ret_d = JIT_GEMM_DTYPE_NONE;
        return CLI_OK;
    }
    const bool is_word = strcspn(text, " \t\n") == strlen(text) && strlen(text) < 32;
    snprintf(words, sizeof(words), "16x16x16 bf16 d=%s", is_word ? text : "?");
    if (jit_gemm_problem_parse(words, &problem) == JIT_GEMM_OK) {
        *ret_d = problem.d.dtype;
        return CLI_OK;
    }
    if (jit_gemm_diagnostics_take(&diagnostics) == JIT_GEMM_OK &&
        jit_gemm_diagnostics_get(diagnostics, 0, &item) == JIT_GEMM_OK) {
        snprintf(hint, sizeof(hint), "%s", item.hint);
    }
    jit_gemm_diagnostics_destroy(&diagnostics);
    return cli_usage_error("--d: there is no type `%s`; %s", text, hint);
}

static void add_named(struct cli_json *json, const jit_gemm_named_epilogue *named)
{
    cli_json_open_object(json, NULL);
    cli_json_add_text(json, "name", named->name);
    cli_json_add_text(json, "math", named->math);
    cli_json_add_text(json, "cublaslt", named->cublaslt);
    cli_json_add_text(json, "source", named->source);
    cli_json_open_list(json, "operands");
    for (uint32_t i = 0; i < named->operand_count; i++) {
        const jit_gemm_operand *operand = &named->operands[i];

        cli_json_open_object(json, NULL);
        cli_json_add_text(json, "name", operand->name);
        cli_json_add_text(json, "kind", kind_name(operand->kind));
        cli_json_add_text(json, "type", type_name(operand->dtype));
        cli_json_add_text(json, "role",
                          operand->role == JIT_GEMM_OPERAND_OUTPUT ? "out" : "in");
        cli_json_close_object(json);
    }
    cli_json_close_list(json);
    cli_json_close_object(json);
}

static void print_text(const jit_gemm_named_epilogue *named)
{
    printf("%s%s%s\n  ", cli_tone(stdout, CLI_TONE_HEAD), named->name,
           cli_tone(stdout, CLI_TONE_END));
    cli_print_line(stdout, named->math, strlen(named->math), 2, 4);
    printf("  cuBLASLt: ");
    cli_print_line(stdout, named->cublaslt, strlen(named->cublaslt), 12, 4);
    for (uint32_t i = 0; i < named->operand_count; i++) {
        const jit_gemm_operand *operand = &named->operands[i];

        printf("  operand %s:%s:%s%s\n", operand->name, kind_name(operand->kind),
               type_name(operand->dtype), role_suffix(operand->role));
    }
    printf("\n%s", named->source);
}

int epilogue_list(int argc, char **argv)
{
    struct cli_json writer = {.file = stdout, .has_lines = true};
    bool json = false;
    int words = 0;
    const struct cli_option table[] = {
        {"--json", NULL, "print a JSON array instead", CLI_FLAG, &json}, {0}};
    const struct cli_option *groups[] = {table, NULL};
    const int code = cli_parse(&list_help, groups, argc, argv, &words);

    if (code >= 0) {
        return code;
    }
    if (words > 0) {
        return cli_usage_error("epilogue list takes no words; `epilogue show %s` shows one",
                               argv[1]);
    }
    if (json) {
        cli_json_open_list(&writer, NULL);
    }
    for (uint32_t i = 0; i < jit_gemm_epilogue_named_count(); i++) {
        jit_gemm_named_epilogue named = {.struct_size = sizeof(named)};
        const jit_gemm_status status =
            jit_gemm_epilogue_named(i, JIT_GEMM_DTYPE_NONE, &named);

        if (status != JIT_GEMM_OK) {
            return cli_report(status, NULL, false);
        }
        if (json) {
            add_named(&writer, &named);
        } else {
            printf("%s%-24s%s ", cli_tone(stdout, CLI_TONE_HEAD), named.name,
                   cli_tone(stdout, CLI_TONE_END));
            cli_print_line(stdout, named.math, strlen(named.math), 25, 25);
        }
    }
    if (json) {
        cli_json_close_list(&writer);
    }
    return CLI_OK;
}

int epilogue_show(int argc, char **argv)
{
    bool json = false;
    const char *d_text = NULL;
    int words = 0;
    const struct cli_option table[] = {
        {"--d", "TYPE", "the type of D, which some operands have too", CLI_TEXT, &d_text},
        {"--json", NULL, "print a JSON object instead", CLI_FLAG, &json},
        {0}};
    const struct cli_option *groups[] = {table, NULL};
    const int code = cli_parse(&show_help, groups, argc, argv, &words);
    jit_gemm_dtype d = JIT_GEMM_DTYPE_NONE;
    jit_gemm_named_epilogue named;

    if (code >= 0) {
        return code;
    }
    if (words != 1) {
        return cli_usage_error("give one name; `jit-gemm epilogue list` has them");
    }
    if (read_d(d_text, &d) != CLI_OK) {
        return CLI_USAGE;
    }
    if (!cli_find_named_epilogue(argv[1], d, &named)) {
        return cli_usage_error(
            "the library has no epilogue `%s`; %s", argv[1],
            cli_near_epilogue(argv[1], "`jit-gemm epilogue list` has them").text);
    }
    if (json) {
        struct cli_json writer = {.file = stdout};

        add_named(&writer, &named);
    } else {
        print_text(&named);
    }
    return CLI_OK;
}
