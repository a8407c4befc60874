/* SPDX-License-Identifier: MIT */
/* jit-gemm describe: what --help knows of each command, as JSON. Each command writes its
 * own part: it is asked for its help, which is written in another form. */
#include <string.h>

#include "cli.h"

/* One for all commands, which are told nothing of it. */
static struct cli_json json;

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
    cli_json_open_object(&json, NULL);
    cli_json_add_text(&json, "name", option->name);
    cli_json_add_text(&json, "kind", kind_name(option->kind));
    if (option->value != NULL) {
        cli_json_add_text(&json, "value", option->value);
    }
    cli_json_add_text(&json, "help", option->help);
    cli_json_close_object(&json);
}

static void describe_command(const struct cli_help *help, const char *words_help,
                             const struct cli_option *const *groups)
{
    cli_json_add_text(&json, "usage", help->usage);
    cli_json_add_text(&json, "about", help->about);
    cli_json_add_text(&json, "words", words_help);
    cli_json_add_text(&json, "examples", help->examples != NULL ? help->examples : "");
    cli_json_open_list(&json, "options");
    for (size_t g = 0; groups[g] != NULL; g++) {
        for (const struct cli_option *option = groups[g]; option->name != NULL; option++) {
            describe_option(option);
        }
    }
    cli_json_close_list(&json);
}

static int describe_commands(const struct cli_family *family)
{
    cli_json_add_text(&json, "about", family->about);
    cli_json_add_text(&json, "closing", family->closing);
    cli_json_open_list(&json, "commands");
    for (size_t i = 0; i < family->count; i++) {
        const struct cli_command *command = &family->commands[i];
        char name[32], option[] = "--help";
        char *words[] = {name, option, NULL};

        snprintf(name, sizeof(name), "%s", command->name);
        cli_json_open_object(&json, NULL);
        cli_json_add_text(&json, "name", command->name);
        cli_json_add_text(&json, "summary", command->summary);
        const int code = command->run(2, words);
        if (code != CLI_OK) {
            return code;
        }
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
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
    json = (struct cli_json){.file = stdout, .has_lines = true};
    cli_json_open_object(&json, NULL);
    cli_json_add_text(&json, "name", "jit-gemm");
    cli_json_add_text(&json, "version", jit_gemm_version_string());
    const int code = describe_commands(all);
    if (code != CLI_OK || subcommand_code != CLI_OK) {
        return code != CLI_OK ? code : subcommand_code;
    }
    cli_json_open_list(&json, "variables");
    for (size_t i = 0; i < count; i++) {
        cli_json_open_object(&json, NULL);
        cli_json_add_text(&json, "name", variables[i].name);
        cli_json_add_text(&json, "help", variables[i].help);
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
    return CLI_OK;
}
