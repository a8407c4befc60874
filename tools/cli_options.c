/* SPDX-License-Identifier: MIT */
/* One parser for the options of all commands; the tables it reads also print the help. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* Of every command, behind its own. */
static const char *color_text = "auto";
static const struct cli_option common_options[] = {
    {"--color", "auto|always|never",
     "colour; by default auto: on a terminal, unless\nNO_COLOR is set", CLI_CHOICE,
     &color_text},
    {0},
};

static void print_options(const struct cli_option *options)
{
    for (const struct cli_option *option = options; option->name; option++) {
        char left[64];
        const char *line = option->help;

        snprintf(left, sizeof(left), "%s%s%s", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        printf("  %-24s", left);
        if (strlen(left) > 23) {
            printf("\n  %-24s", "");
        }
        while (*line) { /* wrapped by hand in the tables */
            size_t length = strcspn(line, "\n");

            printf(" %.*s\n", (int)length, line);
            line += length;
            if (*line == '\n') {
                line++;
                printf("  %-24s", "");
            }
        }
    }
}

static void print_help(const struct cli_help *help, const char *words_help,
                       const struct cli_option *const *groups)
{
    printf("usage: jit-gemm %s\n\n%s\n%soptions:\n", help->usage, help->about, words_help);
    for (size_t g = 0; groups[g]; g++) {
        print_options(groups[g]);
    }
    printf("  %-24s print this text\n", "-h, --help");
    if (help->examples != NULL) {
        printf("\nexamples:\n%s", help->examples);
    }
}

void cli_print_family(const struct cli_family *family)
{
    const bool is_all = family->name[0] == '\0';
    int width = 0;
    for (size_t i = 0; i < family->count; i++) {
        const int length = (int)strlen(family->commands[i].name);
        width = length > width ? length : width;
    }
    printf("usage: jit-gemm %s%s [OPTION...]\n\n%s\n%s:\n", family->name,
           is_all ? "COMMAND" : " SUBCOMMAND", family->about,
           is_all ? "commands" : "subcommands");
    for (size_t i = 0; i < family->count; i++) {
        printf("  %-*s %s\n", width, family->commands[i].name, family->commands[i].summary);
    }
    printf("\n%s", family->closing);
}

static const struct cli_help_form text_form = {print_help, cli_print_family};
static const struct cli_help_form *help_form = &text_form;

void cli_set_help_form(const struct cli_help_form *form)
{
    help_form = form;
}

int cli_run_family(const struct cli_family *family, int argc, char **argv)
{
    char program[64];

    if (argc < 2) {
        return cli_usage_error("a subcommand is missing; `jit-gemm %s --help` lists them",
                               family->name);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_form->family(family);
        return CLI_OK;
    }
    snprintf(program, sizeof(program), "jit-gemm %s", family->name);
    return cli_dispatch(program, family->commands, family->count, argc - 1, argv + 1);
}

static const struct cli_option *find_in(const struct cli_option *options, const char *word,
                                        size_t length)
{
    for (const struct cli_option *option = options; option->name; option++) {
        if (strlen(option->name) == length && strncmp(option->name, word, length) == 0) {
            return option;
        }
    }
    return NULL;
}

static const struct cli_option *find_option(const struct cli_option *const *groups,
                                            const char *word, size_t length)
{
    const struct cli_option *option = find_in(common_options, word, length);

    for (size_t g = 0; groups[g] != NULL && option == NULL; g++) {
        option = find_in(groups[g], word, length);
    }
    return option;
}

int cli_count_command_bytes(const char *usage)
{
    const size_t first = strcspn(usage, " ");
    const bool has_second = usage[first] == ' ' && islower((unsigned char)usage[first + 1]);

    return (int)(first + (has_second ? 1 + strcspn(usage + first + 1, " ") : 0));
}

static int refuse_option(const struct cli_option *const *groups, const char *usage,
                         const char *word, size_t length)
{
    const int size = cli_count_command_bytes(usage);
    struct jg_nearest nearest = jg_nearest_begin(word, length);

    for (size_t g = 0; groups[g]; g++) {
        for (const struct cli_option *option = groups[g]; option->name; option++) {
            jg_nearest_try(&nearest, option->name, strlen(option->name));
        }
    }
    jg_nearest_try(&nearest, common_options[0].name, strlen(common_options[0].name));
    char list[64];
    snprintf(list, sizeof(list), "`jit-gemm %.*s --help` lists them", size, usage);
    return cli_usage_error("%.*s: there is no option `%.*s`; %s", size, usage, (int)length,
                           word, jg_near_hint(&nearest, list).text);
}

static bool read_bytes(const char *text, uint64_t *ret_bytes)
{
    static const char units[] = "KMGT";
    char *end;
    const char *unit;
    unsigned long long value;
    unsigned shift = 0;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || !isdigit((unsigned char)text[0])) {
        return false;
    }
    if (*end) {
        unit = strchr(units, toupper((unsigned char)*end));
        if (unit == NULL || end[1]) {
            return false;
        }
        shift = 10u * ((unsigned)(unit - units) + 1u);
    }
    if (shift && value >> (64u - shift)) {
        return false;
    }
    *ret_bytes = (uint64_t)value << shift;
    return true;
}

/* What others call a choice. */
static const struct {
    const char *said, *name;
} other_choices[] = {{"cpu", CLI_EMULATOR},  {"emu", CLI_EMULATOR}, {"cuda", "gpu"},
                     {"cublas", "cublaslt"}, {"sass", "cubin"},     {"cu", "source"}};

/* "auto, gpu or emulator" of "auto|gpu|emulator". */
static void list_choices(const char *choices, char *ret_list, size_t size)
{
    size_t used = 0;

    for (const char *word = choices; *word != '\0';) {
        const size_t length = strcspn(word, "|");
        const bool has_more = word[length] == '|';
        const bool is_last_but_one = has_more && strchr(word + length + 1, '|') == NULL;
        const char *separator = is_last_but_one ? " or " : has_more ? ", " : "";
        const int written =
            snprintf(ret_list + used, size - used, "%.*s%s", (int)length, word, separator);

        used += (size_t)written < size - used ? (size_t)written : size - used - 1;
        word += length + has_more;
    }
}

static int store_choice(const struct cli_option *option, const char *value)
{
    struct jg_nearest nearest = jg_nearest_begin(value, strlen(value));
    char list[256] = "use ";

    for (const char *word = option->value; *word != '\0';) {
        const size_t length = strcspn(word, "|");

        if (length == strlen(value) && memcmp(word, value, length) == 0) {
            *(const char **)option->target = value;
            return CLI_OK;
        }
        jg_nearest_try(&nearest, word, length);
        for (size_t i = 0; i < sizeof(other_choices) / sizeof(other_choices[0]); i++) {
            const char *name = other_choices[i].name;

            if (strlen(name) == length && memcmp(word, name, length) == 0) {
                jg_nearest_other(&nearest, other_choices[i].said, name);
            }
        }
        word += length + (word[length] == '|');
    }
    list_choices(option->value, list + 4, sizeof(list) - 4);
    return cli_usage_error("%s: there is no `%s`; %s", option->name, value,
                           jg_near_hint(&nearest, list).text);
}

static int store_value(const struct cli_option *option, const char *value)
{
    char *end;

    errno = 0;
    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)option->target = true;
        return CLI_OK;
    case CLI_TEXT:
        *(const char **)option->target = value;
        return CLI_OK;
    case CLI_CHOICE:
        return store_choice(option, value);
    case CLI_INT: {
        /* Decimal, whatever it begins with: in C's own reading 0100 is 64. */
        long long number = strtoll(value, &end, 10);

        if (errno || !isdigit((unsigned char)value[0]) || *end) {
            return cli_usage_error("%s: `%s` is no whole number from 0 up", option->name,
                                   value);
        }
        *(int64_t *)option->target = number;
        return CLI_OK;
    }
    case CLI_NUMBER: {
        double number = strtod(value, &end);

        if (errno || end == value || *end) {
            return cli_usage_error("%s: `%s` is no number", option->name, value);
        }
        *(double *)option->target = number;
        return CLI_OK;
    }
    case CLI_BYTES:
        if (!read_bytes(value, option->target)) {
            return cli_usage_error("%s: `%s` is no size; write bytes, or 512K, 64M, 2G",
                                   option->name, value);
        }
        return CLI_OK;
    case CLI_LIST: {
        struct cli_list *list = option->target;

        if (list->count == sizeof(list->items) / sizeof(list->items[0])) {
            return cli_usage_error("%s is given more than %zu times", option->name,
                                   list->count);
        }
        list->items[list->count++] = value;
        return CLI_OK;
    }
    }
    return CLI_OK;
}

/* Of a command's options and those of all commands. */
static void show_help(const struct cli_help *help, const char *words_help,
                      const struct cli_option *const *groups)
{
    enum { MOST_GROUPS = 8 };
    const struct cli_option *all[MOST_GROUPS + 2] = {NULL};
    size_t count = 0;

    while (count < MOST_GROUPS && groups[count] != NULL) {
        all[count] = groups[count];
        count++;
    }
    all[count] = common_options;
    help_form->command(help, words_help, all);
}

int cli_parse(const struct cli_help *help, const struct cli_option *const *groups, int argc,
              char **argv, int *ret_words)
{
    return cli_parse_words(help, "", groups, argc, argv, ret_words);
}

int cli_parse_options(const struct cli_help *help, const struct cli_option *const *groups,
                      int argc, char **argv)
{
    int words = 0;
    const int code = cli_parse(help, groups, argc, argv, &words);

    if (code >= 0 || words == 0) {
        return code;
    }
    const char *options = strstr(help->usage, " [");
    const size_t name_size =
        options != NULL ? (size_t)(options - help->usage) : strlen(help->usage);
    return cli_usage_error("%.*s takes no words", (int)name_size, help->usage);
}

int cli_parse_words(const struct cli_help *help, const char *words_help,
                    const struct cli_option *const *groups, int argc, char **argv,
                    int *ret_words)
{
    int words = 0, only_words = 0;

    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        const char *value = NULL;

        if (only_words || word[0] != '-' || word[1] == '\0') {
            argv[1 + words++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_words = 1;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            show_help(help, words_help, groups);
            return CLI_OK;
        }
        size_t length = strcspn(word, "=");
        const struct cli_option *option = find_option(groups, word, length);
        if (option == NULL) {
            return refuse_option(groups, help->usage, word, length);
        }
        if (word[length] == '=') {
            if (option->kind == CLI_FLAG) {
                return cli_usage_error("%s takes no value", option->name);
            }
            value = word + length + 1;
        } else if (option->kind != CLI_FLAG) {
            if (i + 1 == argc) {
                return cli_usage_error("%s needs a value: %s %s", option->name,
                                       option->name, option->value);
            }
            value = argv[++i];
        }
        if (store_value(option, value) != CLI_OK) {
            return CLI_USAGE;
        }
    }
    *ret_words = words;
    cli_set_color(color_text);
    return -1;
}
