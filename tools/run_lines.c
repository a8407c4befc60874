/* SPDX-License-Identifier: MIT */
#include "run_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/device.h"

enum { MOST_WORDS = 512 };

struct line_words {
    char *items[MOST_WORDS]; /* of the line, which they lie in */
    int count;
};

/* Takes quotes and backslashes out of a word, in its place. Gives where it ends, or NULL
 * where a quote does not. */
static char *read_word(char *from, char **ret_next)
{
    char *to = from;
    char quote = '\0';

    for (; *from != '\0' && (quote != '\0' || strchr(" \t", *from) == NULL); from++) {
        const bool begins = quote == '\0' && (*from == '\'' || *from == '"');

        if (begins) {
            quote = *from;
        } else if (quote != '\0' && *from == quote) {
            quote = '\0';
        } else if (*from == '\\' && quote != '\'' && from[1] != '\0') {
            *to++ = *++from;
        } else {
            *to++ = *from;
        }
    }
    *ret_next = from + (*from != '\0');
    *to = '\0';
    return quote == '\0' ? to : NULL;
}

/* CLI_OK, or the error was printed. */
static int split_line(char *line, struct line_words *words)
{
    while (*(line += strspn(line, " \t")) != '\0') {
        if (words->count == MOST_WORDS) {
            return cli_usage_error("--lines: at most %d words in a line", MOST_WORDS);
        }
        char *next;
        words->items[words->count++] = line;
        if (read_word(line, &next) == NULL) {
            return cli_usage_error("--lines: a quote has no end");
        }
        line = next;
    }
    return CLI_OK;
}

static int run_words(run_line_function *run, char **common, int count, char *line)
{
    struct line_words words = {.count = 0};
    const int code = split_line(line, &words);

    if (code != CLI_OK) {
        return code;
    }
    const size_t total = (size_t)count + (size_t)words.count;
    char **argv = cli_alloc((total + 1) * sizeof(*argv)); /* the run sorts it */
    memcpy(argv, common, (size_t)count * sizeof(*argv));
    memcpy(argv + count, words.items, (size_t)words.count * sizeof(*argv));
    argv[total] = NULL;
    const int result = run((int)total, argv);
    free(argv);
    return result;
}

struct line_counts {
    size_t of_code[3]; /* by exit code */
    size_t number;     /* of the line */
};

static void run_line(run_line_function *run, char **common, int count, char *line,
                     struct line_counts *counts)
{
    static const char *const words[] = {"passed", "failed", "refused"};

    printf("line %zu: ", counts->number);
    cli_write_shown(stdout, line, strlen(line));
    fputc('\n', stdout);
    fflush(stdout);
    const int code = run_words(run, common, count, line);
    counts->of_code[code]++;
    printf("line %zu: %s\n", counts->number, words[code]);
    fflush(stdout);
}

/* False: an earlier kernel broke the driver's context, for all. */
static bool is_device_there(jit_gemm_context *context, const struct line_counts *counts)
{
    const jit_gemm_status status = jit_gemm_device_synchronize(context);

    if (status != JIT_GEMM_OK) {
        (void)cli_report(status, NULL, false);
        cli_error("--lines: the device is lost behind line %zu; the lines left are not run",
                  counts->number);
    }
    return status == JIT_GEMM_OK;
}

static int conclude(const struct line_counts *counts)
{
    const size_t *of_code = counts->of_code;
    const size_t all = of_code[CLI_OK] + of_code[CLI_FAILED] + of_code[CLI_USAGE];

    printf("%zu lines: %zu passed, %zu failed, %zu refused\n", all, of_code[CLI_OK],
           of_code[CLI_FAILED], of_code[CLI_USAGE]);
    return of_code[CLI_FAILED] > 0              ? CLI_FAILED
           : of_code[CLI_USAGE] > 0 || all == 0 ? CLI_USAGE
                                                : CLI_OK;
}

int run_lines(const char *path, const struct cli_context_options *options,
              run_line_function *run, char **common, int count)
{
    struct line_counts counts = {.number = 0};
    jit_gemm_context *context = NULL;
    const bool is_input = strcmp(path, "-") == 0;
    FILE *file = is_input ? stdin : fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    if (file == NULL) {
        return cli_error("--lines %s: %s", path, strerror(errno));
    }
    int code = cli_context_open(options, true, JIT_GEMM_POLICY_ALLOW, &context);
    while (code == CLI_OK && (length = getline(&line, &size, file)) >= 0) {
        counts.number++;
        line[strcspn(line, "\r\n")] = '\0';
        const size_t blanks = strspn(line, " \t");
        if (line[blanks] == '\0' || line[blanks] == '#') {
            continue;
        }
        run_line(run, common, count, line + blanks, &counts);
        if (counts.of_code[CLI_FAILED] > 0 && !is_device_there(context, &counts)) {
            break;
        }
    }
    if (code == CLI_OK && ferror(file)) {
        code = cli_error("--lines %s: %s", path, strerror(errno));
    }
    free(line);
    if (!is_input) {
        (void)fclose(file);
    }
    jit_gemm_context_destroy(&context);
    return code == CLI_OK ? conclude(&counts) : code;
}
