/* SPDX-License-Identifier: MIT */
#include "plan/typical_sizes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "plan/groups.h"
#include "plan/problem_text.h"
#include "plan/text.h"

static const char field[] = "problem.typical_sizes";

/* ---------------------------------------------------------------------------- text */

static bool parse_run(const char *text, size_t size, jit_gemm_size_run *ret_run)
{
    const char *times = memchr(text, 'x', size);
    if (times == NULL) {
        return false;
    }
    const char *least = times + 1;
    const size_t rest = size - (size_t)(least - text);
    const char *dots = memmem(least, rest, "..", 2);
    const size_t least_size = dots != NULL ? (size_t)(dots - least) : rest;
    const char *most = dots != NULL ? dots + 2 : least;
    const size_t most_size = size - (size_t)(most - text);
    int64_t groups, low, high;
    if (!jg_number_parse(text, (size_t)(times - text), 1, JG_MOST_GROUPS, &groups) ||
        !jg_number_parse(least, least_size, 0, JG_MAX_SIZE, &low) ||
        !jg_number_parse(most, most_size, 0, JG_MAX_SIZE, &high)) {
        return false;
    }
    *ret_run = (jit_gemm_size_run){groups, (uint32_t)low, (uint32_t)high};
    return true;
}

bool jg_typical_sizes_parse(const char *text, size_t size, jit_gemm_size_run *ret_runs)
{
    jit_gemm_size_run runs[JIT_GEMM_SIZE_RUNS] = {0};
    const char *end = text + size;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        const char *last = comma != NULL ? comma : end;
        if (!parse_run(text, (size_t)(last - text), &runs[i])) {
            return false;
        }
        if (comma == NULL) {
            memcpy(ret_runs, runs, sizeof(runs));
            return true;
        }
        text = comma + 1;
    }
    return false;
}

void jg_typical_sizes_print(const jit_gemm_size_run *runs, struct jg_str *out)
{
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS && runs[i].groups > 0; i++) {
        jg_str_printf(out, "%s%lldx%u", i > 0 ? "," : "", (long long)runs[i].groups,
                      runs[i].least);
        if (runs[i].most != runs[i].least) {
            jg_str_printf(out, "..%u", runs[i].most);
        }
    }
}

/* ---------------------------------------------------------------------- from a list */

static int compare_sizes(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* A stretch of sorted sizes that is one run. */
struct stretch {
    uint32_t first, last; /* indices */
};

/* Size `index` of `groups` that go evenly from the least to the most. */
static int64_t size_of(const jit_gemm_size_run *run, int64_t index)
{
    const int64_t range = (int64_t)run->most - run->least;
    const int64_t steps = run->groups - 1;
    return steps > 0 ? run->least + (range * index + steps / 2) / steps : run->least;
}

static jit_gemm_size_run run_of(const int32_t *sorted, const struct stretch *stretch)
{
    return (jit_gemm_size_run){.groups = (int64_t)stretch->last - stretch->first + 1,
                               .least = (uint32_t)sorted[stretch->first],
                               .most = (uint32_t)sorted[stretch->last]};
}

/* Rows by which a run's sizes are wrong in all, and where it is wrong most. */
static int64_t measure_error(const int32_t *sorted, const struct stretch *stretch,
                             uint32_t *ret_worst)
{
    const jit_gemm_size_run run = run_of(sorted, stretch);
    int64_t sum = 0, most = -1;
    for (uint32_t i = 0; (int64_t)i < run.groups; i++) {
        const int64_t error = llabs(sorted[stretch->first + i] - size_of(&run, i));
        sum += error;
        if (error > most) {
            most = error;
            *ret_worst = stretch->first + i;
        }
    }
    return sum;
}

/* Divides the stretch that is wrong by most where that is furthest from a line; false if
 * all are right. */
static bool divide_worst(const int32_t *sorted, struct stretch *stretches, int *count)
{
    int64_t most = 0;
    uint32_t at = 0;
    int worst = -1;
    for (int i = 0; i < *count; i++) {
        uint32_t index = 0;
        const int64_t error = measure_error(sorted, &stretches[i], &index);
        if (error > most) {
            most = error;
            at = index;
            worst = i;
        }
    }
    if (worst < 0) {
        return false;
    }
    /* Both ends of a stretch are right, so that it is divided behind neither. */
    stretches[(*count)++] = (struct stretch){at, stretches[worst].last};
    stretches[worst].last = at - 1;
    return true;
}

/* Equal sizes, each in a stretch of its own; false if there is no room for them. */
static bool find_equal(const int32_t *sorted, uint32_t size_count,
                       struct stretch *stretches, int *ret_count)
{
    int count = 0;
    for (uint32_t i = 0; i < size_count; i++) {
        if (i > 0 && sorted[i] == sorted[i - 1]) {
            stretches[count - 1].last = i;
        } else if (count == JIT_GEMM_SIZE_RUNS) {
            return false;
        } else {
            stretches[count++] = (struct stretch){i, i};
        }
    }
    *ret_count = count;
    return true;
}

/* Groups without rows stay apart: they have no tile, and their weights are not read. */
static int divide_sizes(const int32_t *sorted, uint32_t size_count,
                        struct stretch *stretches)
{
    uint32_t empty = 0;
    while (sorted[empty] == 0) { /* not all are: there are several different ones */
        empty++;
    }
    int count = 0;
    if (empty > 0) {
        stretches[count++] = (struct stretch){0, empty - 1};
    }
    stretches[count++] = (struct stretch){empty, size_count - 1};
    while (count < JIT_GEMM_SIZE_RUNS && divide_worst(sorted, stretches, &count)) {
    }
    return count;
}

static jit_gemm_status fill_runs(const int32_t *sizes, uint32_t count,
                                 jit_gemm_size_run *ret_runs)
{
    struct stretch stretches[JIT_GEMM_SIZE_RUNS];
    int used;
    int32_t *sorted = jg_alloc_array(count, sizeof(*sorted));
    if (sorted == NULL) {
        return jg_fail_memory();
    }
    memcpy(sorted, sizes, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_sizes);
    if (!find_equal(sorted, count, stretches, &used)) {
        used = divide_sizes(sorted, count, stretches);
    }
    memset(ret_runs, 0, JIT_GEMM_SIZE_RUNS * sizeof(*ret_runs));
    for (int i = 0; i < used; i++) {
        ret_runs[i] = run_of(sorted, &stretches[i]);
    }
    jg_free(sorted);
    jg_typical_sizes_sort(ret_runs);
    return JIT_GEMM_OK;
}

jit_gemm_status jg_typical_sizes_set(jit_gemm_problem *problem, const int32_t *sizes,
                                     uint32_t count)
{
    const size_t least =
        offsetof(jit_gemm_problem, typical_sizes) + sizeof(problem->typical_sizes);
    if (problem->struct_size < least) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "problem.struct_size",
                       "set it to sizeof(jit_gemm_problem) of headers that have "
                       "typical_sizes",
                       "is %zu, and typical_sizes end at byte %zu", problem->struct_size,
                       least);
    }
    if (count > JG_MOST_GROUPS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "count",
                       "give the rows of each group of the problem",
                       "there are at most %d groups, %u are given", JG_MOST_GROUPS, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 0) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "sizes",
                           "give the rows of each group, 0 of one without any",
                           "entry %u is %d", i, sizes[i]);
        }
    }
    if (count == 0) {
        memset(problem->typical_sizes, 0, sizeof(problem->typical_sizes));
        return JIT_GEMM_OK;
    }
    return fill_runs(sizes, count, problem->typical_sizes);
}

void jg_typical_sizes_sort(jit_gemm_size_run *runs)
{
    int count = 0;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS && runs[i].groups > 0; i++) {
        const jit_gemm_size_run run = runs[i];
        int at = count;
        while (at > 0 &&
               (runs[at - 1].least > run.least ||
                (runs[at - 1].least == run.least && runs[at - 1].most > run.most))) {
            runs[at] = runs[at - 1];
            at--;
        }
        runs[at] = run;
        count++;
    }
    int kept = 0;
    for (int i = 1; i < count; i++) {
        if (runs[i].least == runs[kept].least && runs[i].most == runs[kept].most &&
            runs[i].most == runs[i].least) {
            runs[kept].groups += runs[i].groups;
        } else {
            runs[++kept] = runs[i];
        }
    }
    for (int i = kept + 1; i < count; i++) {
        runs[i] = (jit_gemm_size_run){0};
    }
}

/* -------------------------------------------------------------------------- checks */

static jit_gemm_status check_runs(const jit_gemm_problem *problem)
{
    const jit_gemm_size_run *runs = problem->typical_sizes;
    int64_t groups = 0;
    bool has_rows = false, has_ended = false;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        has_ended |= runs[i].groups == 0;
        if (runs[i].groups < 0 || runs[i].groups > JG_MOST_GROUPS) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "say how many groups have so many rows, of all groups",
                           "entry %d is %lld groups, of which there are at most %d", i,
                           (long long)runs[i].groups, JG_MOST_GROUPS);
        }
        if (has_ended && (runs[i].groups > 0 || runs[i].least > 0 || runs[i].most > 0)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "leave entries zero from the first one without groups on",
                           "entry %d is not zero, and an entry without groups ends the "
                           "list",
                           i);
        }
        if (runs[i].least > runs[i].most || runs[i].most > JG_MAX_SIZE ||
            (runs[i].groups == 1 && runs[i].least != runs[i].most)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "give the least and the most rows, the same twice of one group "
                           "and where all have as many",
                           "entry %d is %lld groups of %u to %u rows", i,
                           (long long)runs[i].groups, runs[i].least, runs[i].most);
        }
        groups += runs[i].groups;
        has_rows |= runs[i].most > 0;
    }
    if (groups != problem->batch.size) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "say of each group how many rows it typically has, also of those "
                       "without any",
                       "sizes of %lld groups are given, the problem has %lld",
                       (long long)groups, (long long)problem->batch.size);
    }
    if (!has_rows) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "leave it out, or give rows to one group at least",
                       "no group has rows, which leaves nothing to plan for");
    }
    return JIT_GEMM_OK;
}

static int64_t count_rows(const jit_gemm_size_run *runs)
{
    int64_t rows = 0;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        rows += runs[i].groups * ((int64_t)runs[i].least + runs[i].most) / 2;
    }
    return rows;
}

/* Of all groups where they are stacked, at least: those between the ends of a run are only
 * near a line. Else of the largest. */
static int64_t count_needed(const jit_gemm_problem *problem)
{
    const jit_gemm_size_run *runs = problem->typical_sizes;
    int64_t sum = 0, most = 0;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        sum += runs[i].groups * runs[i].least;
        most = jg_max(most, runs[i].most);
    }
    return jg_is_stacked(problem->group_by) ? jg_max(sum, most) : most;
}

/* They say what M leaves open, so they have to go with it. */
static jit_gemm_status check_extent(const jit_gemm_problem *problem)
{
    const int64_t needed = count_needed(problem);
    const bool is_exact = problem->m.mode == JIT_GEMM_DIM_EXACT;
    const int64_t room = is_exact ? problem->m.size : JG_MAX_SIZE;
    if (needed <= room) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                   is_exact ? "give sizes that the rows of M have room for, or a larger M"
                            : "split the groups over several launches",
                   "%s at least %lld rows, of which there are at most %lld",
                   jg_is_stacked(problem->group_by) ? "the groups have" : "a group has",
                   (long long)needed, (long long)room);
}

jit_gemm_status jg_typical_sizes_check(const jit_gemm_problem *problem)
{
    static const jit_gemm_size_run none[JIT_GEMM_SIZE_RUNS];
    if (memcmp(problem->typical_sizes, none, sizeof(none)) == 0) {
        return JIT_GEMM_OK;
    }
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "leave it out, or give group_by and in batch the number of groups",
                       "only groups have sizes of their own, and this problem has none");
    }
    if (!jg_has_row_groups(problem->group_by)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "leave it out",
                       "groups along K are planned by their average, which their time "
                       "follows");
    }
    JG_TRY(check_runs(problem));
    return check_extent(problem);
}

/* -------------------------------------------------------------------------- pricing */

/* Groups of a run that have no more than so many rows. */
static int64_t count_up_to(const jit_gemm_size_run *run, int64_t rows)
{
    const int64_t range = (int64_t)run->most - run->least;
    const int64_t steps = run->groups - 1;
    if (rows < run->least) {
        return 0;
    }
    if (rows >= run->most || range == 0) {
        return run->groups;
    }
    return jg_min(jg_ceil_div((rows - run->least + 1) * steps - steps / 2, range),
                  run->groups);
}

/* Whichever is less work: a group after the other, or all of a run a tile after the other.
 */
static int64_t count_run_tiles(const jit_gemm_size_run *run, int64_t step)
{
    if (run->least == run->most) {
        return run->groups * jg_ceil_div(run->least, step);
    }
    int64_t tiles = 0;
    if (run->most / step > run->groups) {
        for (int64_t i = 0; i < run->groups; i++) {
            tiles += jg_ceil_div(size_of(run, i), step);
        }
        return tiles;
    }
    for (int64_t rows = 0; rows < run->most; rows += step) {
        tiles += run->groups - count_up_to(run, rows);
    }
    return tiles;
}

int64_t jg_typical_sizes_tiles(const jit_gemm_size_run *runs, int64_t step)
{
    int64_t tiles = 0;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS && runs[i].groups > 0; i++) {
        tiles += count_run_tiles(&runs[i], step);
    }
    return tiles;
}

static bool is_short(int64_t rows, int64_t step, int64_t most)
{
    return rows % step > 0 && rows % step <= most;
}

static int64_t count_run_short(const jit_gemm_size_run *run, int64_t step, int64_t most)
{
    if (run->least == run->most) {
        return is_short(run->least, step, most) ? run->groups : 0;
    }
    int64_t tiles = 0;
    if (run->most / step > run->groups) {
        for (int64_t i = 0; i < run->groups; i++) {
            tiles += is_short(size_of(run, i), step, most) ? 1 : 0;
        }
        return tiles;
    }
    for (int64_t rows = 0; rows < run->most; rows += step) {
        tiles += count_up_to(run, rows + most) - count_up_to(run, rows);
    }
    return tiles;
}

int64_t jg_typical_sizes_short(const jit_gemm_size_run *runs, int64_t step, int64_t most)
{
    int64_t tiles = 0;
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS && runs[i].groups > 0; i++) {
        tiles += count_run_short(&runs[i], step, most);
    }
    return tiles;
}

static int64_t count_filled(const jit_gemm_size_run *run)
{
    return run->groups - count_up_to(run, 0);
}

struct jg_typical_fill jg_typical_fill_of(const jit_gemm_size_run *runs, int64_t step)
{
    struct jg_typical_fill fill = {.least = INT64_MAX};
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        const int64_t filled = count_filled(&runs[i]);
        if (filled > 0) {
            fill.groups += filled;
            fill.least = jg_min(fill.least, size_of(&runs[i], runs[i].groups - filled));
            fill.most = jg_max(fill.most, runs[i].most);
        }
    }
    fill.part =
        (double)count_rows(runs) / (double)(jg_typical_sizes_tiles(runs, step) * step);
    return fill;
}

/* Of so many rows a group on average, how far its sizes reach to either side. Tokens drawn
 * at random give them a standard deviation of the average's root. Taken for that, 15 fresh
 * problems of 112 to 176 rows whose choice it changes took 0.948 of the time of a quarter
 * of the average, over four spreads; with more rows it was 1.05, and with fewer than these
 * no gain (2026-11-28-h200-groups-spread.jsonl). A quarter took 0.962 of the time of equal
 * sizes, 37 problems of 72 to 340 rows (2026-11-28-h100-group-sizes-holdout.jsonl). */
enum { LEAST_SPREAD_ROWS = 64, MOST_DRAWN_ROWS = 176, MOST_SPREAD_ROWS = 400 };

static int64_t half_spread(int64_t rows)
{
    return rows > MOST_DRAWN_ROWS ? rows / 4 : (int64_t)sqrt((double)rows);
}

void jg_typical_sizes_assume(struct jg_trial *trial)
{
    const struct jg_problem *problem = trial->problem;
    const int64_t groups = problem->batch.size;
    const int64_t rows = problem->m.size / jg_max(groups, 1);
    if (jg_plans_sizes(trial) || problem->group_by != JIT_GEMM_GROUP_BY_OFFSETS ||
        groups < 2 || rows < LEAST_SPREAD_ROWS || rows > MOST_SPREAD_ROWS) {
        return;
    }
    const int64_t half = half_spread(rows);
    trial->sizes[0] = (jit_gemm_size_run){.groups = (uint32_t)groups,
                                          .least = (uint32_t)(rows - half),
                                          .most = (uint32_t)(rows + half)};
}

struct jg_product jg_typical_product(const struct jg_trial *trial)
{
    struct jg_product product = trial->product;
    const jit_gemm_size_run *runs = trial->sizes;
    int64_t groups = 0;
    if (!jg_plans_sizes(trial)) {
        return product;
    }
    for (int i = 0; i < JIT_GEMM_SIZE_RUNS; i++) {
        groups += count_filled(&runs[i]);
    }
    jit_gemm_dim *rows = product.a.letter == 'a' ? &product.m : &product.n;
    rows->size = jg_ceil_div(count_rows(runs), groups);
    product.batch.size = groups;
    return product;
}
