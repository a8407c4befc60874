/* SPDX-License-Identifier: MIT */
/* jit-gemm describe: what --help knows of each command, as JSON. Each command writes its
 * own part: it is asked for its help, which is written in another form. */
#include <string.h>

#include "cli.h"

static void print_field(const char *name, const char *text)
{
    printf(", ");
    cli_json_field(stdout, name, text, false);
}

static const char *kind_name(enum cli_option_kind kind)
{
    switch (kind) {
    case CLI_FLAG:
        return "flag";
    case CLI_TEXT:
        return "text";
    case CLI_CHOICE:
        return "choice";
    case CLI_INT:
        return "int";
    case CLI_NUMBER:
        return "number";
    case CLI_BYTES:
        return "bytes";
    case CLI_LIST:
        return "list";
    }
    return "unknown";
}

static void describe_option(const struct cli_option *option)
{
    printf("\n    {");
    cli_json_field(stdout, "name", option->name, false);
    print_field("kind", kind_name(option->kind));
    if (option->value != NULL) {
        print_field("value", option->value);
    }
    print_field("help", option->help);
    printf("}");
}

static void describe_command(const struct cli_help *help, const char *words_help,
                             const struct cli_option *const *groups)
{
    bool is_first = true;

    print_field("usage", help->usage);
    print_field("about", help->about);
    print_field("words", words_help);
    print_field("examples", help->examples != NULL ? help->examples : "");
    printf(", \"options\": [");
    for (size_t g = 0; groups[g] != NULL; g++) {
        for (const struct cli_option *option = groups[g]; option->name != NULL; option++) {
            printf("%s", is_first ? "" : ",");
            is_first = false;
            describe_option(option);
        }
    }
    printf("]");
}

static int describe_commands(const struct cli_family *family)
{
    print_field("about", family->about);
    print_field("closing", family->closing);
    printf(", \"commands\": [");
    for (size_t i = 0; i < family->count; i++) {
        const struct cli_command *command = &family->commands[i];
        char name[32], option[] = "--help";
        char *words[] = {name, option, NULL};

        snprintf(name, sizeof(name), "%s", command->name);
        printf("%s\n  {", i > 0 ? "," : "");
        cli_json_field(stdout, "name", command->name, false);
        print_field("summary", command->summary);
        const int code = command->run(2, words);
        if (code != CLI_OK) {
            return code;
        }
        printf("}");
    }
    printf("]");
    return CLI_OK;
}

/* Of the first subcommand that failed, which a family's own exit code does not tell. */
static int subcommand_code = CLI_OK;

static void describe_family(const struct cli_family *family)
{
    const int code = describe_commands(family);
    subcommand_code = subcommand_code == CLI_OK ? code : subcommand_code;
}

int cmd_describe(const struct cli_family *all, int argc, char **argv)
{
    static const struct cli_help_form form = {describe_command, describe_family};
    size_t count = 0;
    const struct cli_variable *variables = cli_variables(&count);

    (void)argv;
    if (argc != 1) {
        return cli_usage_error("describe takes no words");
    }
    cli_set_help_form(&form);
    printf("{");
    cli_json_field(stdout, "name", "jit-gemm", false);
    print_field("version", jit_gemm_version_string());
    const int code = describe_commands(all);
    if (code != CLI_OK || subcommand_code != CLI_OK) {
        return code != CLI_OK ? code : subcommand_code;
    }
    printf(", \"variables\": [");
    for (size_t i = 0; i < count; i++) {
        printf("%s\n  {", i > 0 ? "," : "");
        cli_json_field(stdout, "name", variables[i].name, false);
        print_field("help", variables[i].help);
        printf("}");
    }
    printf("]}\n");
    return CLI_OK;
}
