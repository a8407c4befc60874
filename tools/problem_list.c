/* SPDX-License-Identifier: MIT */
#include "problem_list.h"

#include <stdlib.h>
#include <string.h>

#include "../bench/gemm_bench.h"

static int add_problem(const struct cli_problem *model, char **words, int count,
                       struct problem_list *list)
{
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    struct cli_problem **grown =
        realloc(list->items, (list->count + 1) * sizeof(struct cli_problem *));

    if (grown == NULL) {
        return cli_error("no memory");
    }
    list->items = grown;
    struct cli_problem *own = cli_alloc(sizeof(*own));
    *own = *model;
    list->items[list->count++] = own;
    const int code = cli_problem_read(own, words, count);
    if (code == CLI_OK && gemm_bench_check(&own->problem, error) != 0) {
        return cli_usage_error("%s", error);
    }
    return code;
}

static int read_words(const struct cli_problem *model, char **words, int count,
                      struct problem_list *list)
{
    for (int at = 0; at < count;) {
        const int length = cli_count_problem_words(words + at, count - at);
        const int code = add_problem(model, words + at, length, list);

        if (code != CLI_OK) {
            return code;
        }
        at += length;
    }
    return CLI_OK;
}

static int read_shapes(const struct cli_problem *model, const char *path,
                       struct problem_list *list)
{
    size_t size = 0, number = 0;
    char *text = cli_read_file(path, &size);
    int code = text != NULL ? CLI_OK : CLI_FAILED;

    for (char *line = text, *next; code == CLI_OK && line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        number++;
        line += strspn(line, " \t\r");
        if (line[0] == '\0' || line[0] == '#') {
            continue;
        }
        code = add_problem(model, &line, 1, list);
        if (code != CLI_OK) {
            cli_note("%s: line %zu", path, number);
        }
    }
    free(text);
    return code;
}

int problem_list_read(const struct cli_problem *model, char **words, int count,
                      const char *shapes, struct problem_list *list)
{
    int code = read_words(model, words, count, list);

    if (code == CLI_OK && shapes != NULL) {
        code = read_shapes(model, shapes, list);
    }
    if (code == CLI_OK && list->count == 0) {
        code = cli_usage_error("a problem is missing, such as `4096x4096x4096 bf16`");
    }
    return code;
}

void problem_list_free(struct problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        cli_problem_free(list->items[i]);
        free(list->items[i]);
    }
    free(list->items);
    *list = (struct problem_list){0};
}
