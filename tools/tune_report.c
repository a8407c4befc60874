/* SPDX-License-Identifier: MIT */
/* Tables, JSON and the summary of jit-gemm tune. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tune.h"

/* The fastest first, what was not made last. */
static int compare_candidates(const void *a, const void *b)
{
    const struct tune_candidate *x = *(const struct tune_candidate *const *)a;
    const struct tune_candidate *y = *(const struct tune_candidate *const *)b;
    const bool is_x_made = x->reason[0] == '\0', is_y_made = y->reason[0] == '\0';

    if (is_x_made != is_y_made) {
        return is_x_made ? -1 : 1;
    }
    if (!is_x_made || x->measured_us == y->measured_us) {
        return x < y ? -1 : x > y; /* as the model has them */
    }
    return x->measured_us < y->measured_us ? -1 : 1;
}

static void print_candidate(const struct tune_problem *problem,
                            const struct tune_candidate *candidate)
{
    enum { NUMBER_COLUMNS = 45 };
    const double chosen_us = problem->candidates[0].measured_us;
    const size_t number = (size_t)(candidate - problem->candidates);
    char text[sizeof(candidate->config) + sizeof(candidate->reason) + 64];

    if (candidate->reason[0] != '\0') {
        printf("%12.2f %12s %8s %8s  ", candidate->predicted_us, "-", "-", "-");
        snprintf(text, sizeof(text), "%s (not made: %s)", candidate->config,
                 candidate->reason);
    } else {
        printf("%12.2f %12.2f %8.3f %7.1f%%  ", candidate->predicted_us,
               candidate->measured_us, candidate->measured_us / chosen_us,
               candidate->spread * 100.0);
        snprintf(text, sizeof(text), "%s%s%s", candidate->config,
                 number == 0 ? " (the model's choice)" : "",
                 number == problem->best ? " (the fastest)" : "");
    }
    cli_print_folded(stdout, text, strlen(text), NUMBER_COLUMNS, NUMBER_COLUMNS);
}

static void print_table(const struct tune_problem *problem)
{
    const struct tune_candidate **rows =
        cli_alloc(problem->candidate_count * sizeof(const struct tune_candidate *));

    for (size_t i = 0; i < problem->candidate_count; i++) {
        rows[i] = &problem->candidates[i];
    }
    qsort(rows, problem->candidate_count, sizeof(const struct tune_candidate *),
          compare_candidates);
    printf("\n%s", cli_tone(stdout, CLI_TONE_HEAD));
    cli_print_folded(stdout, problem->text, strlen(problem->text), 0, 4);
    printf("%s%12s %12s %8s %8s  config\n", cli_tone(stdout, CLI_TONE_END), "predicted us",
           "measured us", "ratio", "spread");
    for (size_t i = 0; i < problem->candidate_count; i++) {
        print_candidate(problem, rows[i]);
    }
    free(rows);
}

static void print_json(const struct tune_problem *problem, const char *arch)
{
    const double chosen_us = problem->candidates[0].measured_us;

    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, "tune");
    cli_json_add_text(&json, "problem", problem->text);
    cli_json_add_text(&json, "arch", arch);
    cli_json_add_uint(&json, "best", problem->best);
    cli_json_open_list(&json, "candidates");
    for (size_t i = 0; i < problem->candidate_count; i++) {
        const struct tune_candidate *candidate = &problem->candidates[i];

        cli_json_open_object(&json, NULL);
        cli_json_add_text(&json, "config", candidate->config);
        cli_json_add_double(&json, "predicted_us", candidate->predicted_us);
        if (candidate->reason[0] != '\0') {
            cli_json_add_text(&json, "not_made", candidate->reason);
        } else {
            cli_json_add_double(&json, "measured_us", candidate->measured_us);
            cli_json_add_double(&json, "ratio", candidate->measured_us / chosen_us);
            cli_json_add_double(&json, "spread", candidate->spread);
        }
        cli_json_close_object(&json);
    }
    cli_json_close_list(&json);
    cli_json_close_object(&json);
}

void tune_print_problem(const struct tune_problem *problem, const char *arch, bool json)
{
    if (json) {
        print_json(problem, arch);
    } else {
        print_table(problem);
    }
    fflush(stdout);
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

struct tune_regret tune_sum_up(const struct tune_problems *problems)
{
    struct tune_regret regret = {0};
    double *ratios = cli_alloc(problems->count * sizeof(*ratios));

    for (size_t i = 0; i < problems->count; i++) {
        const struct tune_problem *problem = &problems->items[i];

        if (!problem->is_measured) {
            continue;
        }
        const double ratio = problem->candidates[0].measured_us /
                             problem->candidates[problem->best].measured_us;
        for (size_t c = 0; c < problem->candidate_count; c++) {
            regret.candidates += problem->candidates[c].reason[0] == '\0';
        }
        if (ratio > regret.worst) {
            regret.worst = ratio;
            regret.worst_problem = problem->text;
        }
        ratios[regret.measured++] = ratio;
    }
    if (regret.measured > 0) {
        const size_t count = regret.measured;
        const size_t least = (count * 95 + 99) / 100; /* so many are no worse */

        qsort(ratios, count, sizeof(*ratios), compare_numbers);
        regret.median = (ratios[(count - 1) / 2] + ratios[count / 2]) / 2.0;
        regret.p95 = ratios[least - 1];
    }
    free(ratios);
    return regret;
}

void tune_print_summary(const struct tune_problems *problems, const char *path, bool json)
{
    const struct tune_regret regret = tune_sum_up(problems);
    const size_t failed = problems->count - regret.measured;

    if (json) {
        struct cli_json writer = {.file = stdout};

        cli_json_open_command(&writer, "tune");
        cli_json_open_object(&writer, "summary");
        cli_json_add_uint(&writer, "problems", problems->count);
        cli_json_add_uint(&writer, "failed", failed);
        cli_json_add_uint(&writer, "candidates", regret.candidates);
        cli_json_add_double(&writer, "regret_median", regret.median);
        cli_json_add_double(&writer, "regret_p95", regret.p95);
        cli_json_add_double(&writer, "regret_worst", regret.worst);
        if (path != NULL) {
            cli_json_add_text(&writer, "recipe", path);
        }
        cli_json_close_object(&writer);
        cli_json_close_object(&writer);
        return;
    }
    if (regret.worst_problem != NULL) {
        printf(
            "\nthe model's choice takes %.3f times the fastest one's time (median), %.3f "
            "times (95th percentile),\n",
            regret.median, regret.p95);
        const int column = printf("at worst %.3f times: ", regret.worst);
        cli_print_folded(stdout, regret.worst_problem, strlen(regret.worst_problem),
                         (size_t)column, 4);
    }
    printf("tune: problems=%zu failed=%zu candidates=%zu regret_median=%.3f "
           "regret_p95=%.3f regret_worst=%.3f%s%s\n",
           problems->count, failed, regret.candidates, regret.median, regret.p95,
           regret.worst, path != NULL ? " recipe=" : "", path != NULL ? path : "");
}
