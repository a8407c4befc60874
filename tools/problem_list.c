/* SPDX-License-Identifier: MIT */
#include "problem_list.h"

#include <stdlib.h>
#include <string.h>

#include "../bench/gemm_bench.h"

static int add_problem(const struct cli_problem *model, char **words, int count,
                       const struct group_lists *lists, struct problem_list *list)
{
    char error[GEMM_BENCH_ERROR_SIZE] = "";
    struct listed_problem **grown =
        realloc(list->items, (list->count + 1) * sizeof(struct listed_problem *));

    if (grown == NULL) {
        return cli_error("no memory");
    }
    list->items = grown;
    struct listed_problem *own = cli_alloc(sizeof(*own));
    *own = (struct listed_problem){.problem = *model};
    list->items[list->count++] = own;
    int code = cli_problem_read(&own->problem, words, count);
    if (code == CLI_OK && lists->are_planned) {
        code = run_groups_plan(lists->sizes.list, &own->problem.problem);
    }
    if (code != CLI_OK) {
        return code;
    }
    const jit_gemm_problem *problem = &own->problem.problem;
    if ((lists->are_modelled ? gemm_bench_check_sizes(problem, error)
                             : gemm_bench_check(problem, error)) != 0) {
        return cli_usage_error("%s", error);
    }
    return bench_groups_read(problem, lists, &own->groups);
}

static int read_words(const struct cli_problem *model, char **words, int count,
                      const struct group_lists *lists, struct problem_list *list)
{
    for (int at = 0; at < count;) {
        const int length = cli_count_problem_words(words + at, count - at);
        const int code = add_problem(model, words + at, length, lists, list);

        if (code != CLI_OK) {
            return code;
        }
        at += length;
    }
    return CLI_OK;
}

static int read_shapes(const struct cli_problem *model, const char *path,
                       const struct group_lists *lists, struct problem_list *list)
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
        code = add_problem(model, &line, 1, lists, list);
        if (code != CLI_OK) {
            cli_note("%s: line %zu", path, number);
        }
    }
    free(text);
    return code;
}

static bool has_groups(const struct problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i]->groups.own.count > 0) {
            return true;
        }
    }
    return false;
}

int problem_list_read(const struct cli_problem *model, char **words, int count,
                      const char *shapes, const struct group_lists *lists,
                      struct problem_list *list)
{
    int code = read_words(model, words, count, lists, list);

    if (code == CLI_OK && shapes != NULL) {
        code = read_shapes(model, shapes, lists, list);
    }
    if (code == CLI_OK && list->count == 0) {
        code = cli_usage_error("a problem is missing, such as `4096x4096x4096 bf16`");
    }
    const char *option = lists->sizes.list != NULL          ? "--group-sizes"
                         : lists->sizes.block_order != NULL ? "--block-order"
                         : lists->ns != NULL                ? "--group-ns"
                         : lists->ks != NULL                ? "--group-ks"
                                                            : NULL;
    if (code == CLI_OK && option != NULL && !has_groups(list)) {
        code = cli_usage_error("%s needs groups in a problem, such as groups=8", option);
    }
    return code;
}

void listed_problem_free(struct listed_problem **problem)
{
    if (*problem != NULL) {
        cli_problem_free(&(*problem)->problem);
        bench_groups_free(&(*problem)->groups);
        free(*problem);
        *problem = NULL;
    }
}

struct gemm_bench_problem listed_problem_of(const struct listed_problem *problem,
                                            jit_gemm_epilogue *ret_epilogue)
{
    const bool has_epilogue = cli_problem_has_epilogue(&problem->problem);

    *ret_epilogue = cli_problem_epilogue(&problem->problem);
    return (struct gemm_bench_problem){.problem = &problem->problem.problem,
                                       .epilogue = has_epilogue ? ret_epilogue : NULL,
                                       .groups = bench_groups_of(&problem->groups)};
}

void problem_list_free(struct problem_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        listed_problem_free(&list->items[i]);
    }
    free(list->items);
    *list = (struct problem_list){0};
}
