/* SPDX-License-Identifier: MIT */
#include "run_groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "jit_gemm/groups.h"
#include "verify/quantise.h"

/* The library's rules: docs/grouped.md. */
enum {
    BLOCK_ROWS = 128,     /* of one group, where rows name theirs */
    END_STEP = 32,        /* elements of K at whose multiples groups end, */
    SPREAD_END_STEP = 128 /* and where elements of 4 bits lie beside those of 8 */
};

bool run_groups_are_stacked(const struct run_groups *groups)
{
    return groups->by == JIT_GEMM_GROUP_BY_OFFSETS || groups->by == JIT_GEMM_GROUP_BY_ROWS;
}

bool run_groups_divide_k(jit_gemm_group_by by)
{
    return by == JIT_GEMM_GROUP_BY_K_OFFSETS;
}

bool run_groups_divide_rows(const struct run_groups *groups)
{
    return groups->by != JIT_GEMM_GROUP_NONE && !run_groups_divide_k(groups->by);
}

/* Is the number of a group where it ends? */
static bool have_ends(const struct run_groups *groups)
{
    return groups->by == JIT_GEMM_GROUP_BY_OFFSETS || run_groups_divide_k(groups->by);
}

bool run_groups_is_list(const char *text)
{
    return text != NULL && strcmp(text, "uniform") != 0 && strcmp(text, "zipf") != 0;
}

static const char sizes_option[] = "--group-sizes";

/* Next number of the list, or a usage error. */
static int read_size(const char *option, const char *list, const char **at,
                     int64_t *ret_size)
{
    char *end = NULL;
    const long long size = strtoll(*at, &end, 10);

    if (end == *at || size < 0 || size > INT32_MAX || (*end != ',' && *end != '\0')) {
        static const char fact[] = "is no list of sizes";
        if (strcmp(option, sizes_option) != 0) {
            return cli_usage_error("%s: `%s` %s; give sizes such as 0,7,1200", option, list,
                                   fact);
        }
        struct jg_nearest nearest = jg_nearest_begin(list, strlen(list));
        jg_nearest_try(&nearest, "uniform", strlen("uniform"));
        jg_nearest_try(&nearest, "zipf", strlen("zipf"));
        return cli_usage_error(
            "%s: `%s` %s; %s", option, list, fact,
            jg_near_hint(&nearest, "give sizes such as 0,7,1200, or uniform or zipf").text);
    }
    *ret_size = size;
    *at = end + (*end == ',');
    return CLI_OK;
}

static int read_list(const char *option, const char *list, int64_t count, int32_t *sizes)
{
    const char *at = list;
    int64_t given = 0;

    for (; *at != '\0'; given++) {
        int64_t size = 0;
        if (read_size(option, list, &at, &size) != CLI_OK) {
            return CLI_USAGE;
        }
        if (given < count) {
            sizes[given] = (int32_t)size;
        }
    }
    return given == count
               ? CLI_OK
               : cli_usage_error("%s: %" PRId64 " sizes are given, the problem has %" PRId64
                                 " groups",
                                 option, given, count);
}

/* Rows, or K, that a launch needs for these groups. */
static int64_t needed_extent(const struct run_groups *groups)
{
    int64_t sum = 0, most = 0;

    for (int64_t i = 0; i < groups->count; i++) {
        sum += groups->numbers[i];
        most = groups->numbers[i] > most ? groups->numbers[i] : most;
    }
    return have_ends(groups) ? sum : most;
}

/* Elements of K at whose multiples groups end: where K-major matrices come by copies that
 * the tensor core multiplies by scales. */
static int64_t end_step(const jit_gemm_problem *problem)
{
    const bool is_k_major = problem->a.layout == JIT_GEMM_LAYOUT_K_MAJOR ||
                            problem->b.layout == JIT_GEMM_LAYOUT_K_MAJOR;
    if (!run_groups_divide_k(problem->group_by) || !is_k_major ||
        !quantise_has_byte_scales(&problem->a.scale)) {
        return 1;
    }
    const bool has_one_size = (problem->a.dtype == JIT_GEMM_DTYPE_E2M1) ==
                              (problem->b.dtype == JIT_GEMM_DTYPE_E2M1);
    return has_one_size ? END_STEP : SPREAD_END_STEP;
}

/* Ends that the kernel would count as less: a list of them is an error, others move. */
static int settle_ends(const struct run_groups *groups, int64_t step, int64_t extent,
                       bool is_list)
{
    for (int64_t i = 0; i < groups->count; i++) {
        const int64_t rest = groups->numbers[i] % step;
        if (rest != 0 && groups->numbers[i] != extent && is_list) {
            return cli_usage_error(
                "--group-sizes: a group ends at %" PRId32
                " of K; with K-major inputs and scales of this kind each "
                "but the last ends at a multiple of %" PRId64,
                groups->numbers[i], step);
        }
        if (rest != 0 && groups->numbers[i] != extent) {
            groups->numbers[i] -= (int32_t)rest;
        }
    }
    return CLI_OK;
}

/* All the same, and of what lies one after the other each in some group. */
static void share_extent(const struct run_groups *groups, int64_t extent)
{
    const int64_t part = extent / groups->count, rest = extent % groups->count;

    for (int64_t i = 0; i < groups->count; i++) {
        groups->numbers[i] = (int32_t)(have_ends(groups) ? part + (i < rest) : extent);
    }
}

static bool have_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a > 1;
}

/* What one group after the other goes on by in the order of sizes, so that each place has
 * one and neighbours lie apart. */
static int64_t rank_step(int64_t count)
{
    int64_t step = (count * 5 + 7) / 8;

    while (have_common_divisor(step, count)) {
        step++;
    }
    return step;
}

/* By 1, 1/2, 1/3 and so on: the largest has the extent or, where all share it, what
 * rounding leaves besides. Gives the largest. */
static int64_t share_by_zipf(const struct run_groups *groups, int64_t extent,
                             bool is_shared)
{
    const int64_t step = rank_step(groups->count);
    double sum = is_shared ? 0.0 : 1.0;
    int64_t left = extent, largest = 0;

    for (int64_t i = 0; is_shared && i < groups->count; i++) {
        sum += 1.0 / (double)(i + 1);
    }
    for (int64_t i = 0; i < groups->count; i++) {
        const int64_t rank = (i + 1) * step % groups->count;
        groups->numbers[i] = (int32_t)((double)extent / (sum * (double)(rank + 1)));
        left -= groups->numbers[i];
        largest = rank == 0 ? i : largest;
    }
    if (is_shared) {
        groups->numbers[largest] += (int32_t)left;
    }
    return largest;
}

static int check_extent(const struct run_groups *groups, int64_t *extent)
{
    const bool is_k = run_groups_divide_k(groups->by);
    const int64_t needed = needed_extent(groups);

    if (*extent == 0) { /* of nothing at all, one that nobody has */
        *extent = needed > 0 ? needed : 1;
    }
    if (needed > INT32_MAX || needed > *extent) {
        return cli_usage_error(
            "--group-sizes: the groups have %" PRId64 " %s%s, but %c is %" PRId64, needed,
            is_k ? "elements of K" : "rows", have_ends(groups) ? " in all" : " at most",
            is_k ? 'K' : 'M', *extent);
    }
    return CLI_OK;
}

/* -------------------------------------------------------------- blocks of rows */

static int64_t count_blocks(int64_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

static int64_t block_begin(int64_t block)
{
    return block * BLOCK_ROWS;
}

static int64_t block_end(int64_t block, int64_t m)
{
    return block_begin(block) + BLOCK_ROWS < m ? block_begin(block) + BLOCK_ROWS : m;
}

/* A group's block: which one of them, and how many rows of it are wanted. */
struct turn {
    int64_t group, rows;
};

/* The blocks of all groups in turn: the first one of each, then the second ones. Owned by
 * the caller. */
static struct turn *take_turns(const struct run_groups *groups, int64_t *ret_count)
{
    int64_t count = 0, most = 0, used = 0;
    for (int64_t i = 0; i < groups->count; i++) {
        const int64_t blocks = count_blocks(groups->numbers[i]);
        count += blocks;
        most = blocks > most ? blocks : most;
    }
    struct turn *turns = cli_alloc((size_t)(count > 0 ? count : 1) * sizeof(*turns));
    for (int64_t round = 0; round < most; round++) {
        for (int64_t i = 0; i < groups->count; i++) {
            const int64_t left = groups->numbers[i] - block_begin(round);
            if (left > 0) {
                turns[used++] = (struct turn){i, left < BLOCK_ROWS ? left : BLOCK_ROWS};
            }
        }
    }
    *ret_count = count;
    return turns;
}

static int compare_turns(const void *one, const void *other)
{
    const struct turn *a = one, *b = other;
    return a->group != b->group ? (a->group > b->group ? 1 : -1)
                                : (a->rows < b->rows) - (a->rows > b->rows);
}

/* Always the same order of as many. */
static void draw_turns(struct turn *turns, int64_t count)
{
    uint64_t state = 1;
    for (int64_t left = count; left > 1; left--) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const uint64_t place = (state >> 33) % (uint64_t)left;
        const struct turn turn = turns[place];
        turns[place] = turns[left - 1];
        turns[left - 1] = turn;
    }
}

/* A last block that is short stays with whom it is made for. */
static int order_turns(const char *order, int64_t m, struct turn *turns, int64_t count)
{
    const int64_t moved = m % BLOCK_ROWS == 0 || count == 0 ? count : count - 1;
    if (order == NULL || strcmp(order, "turns") == 0) {
        return CLI_OK;
    }
    if (strcmp(order, "sorted") == 0) {
        qsort(turns, (size_t)moved, sizeof(*turns), compare_turns);
        return CLI_OK;
    }
    if (strcmp(order, "drawn") == 0) {
        draw_turns(turns, moved);
        return CLI_OK;
    }
    return cli_usage_error("--block-order: `%s` is no order; give turns, sorted or drawn",
                           order);
}

/* Rows of a block: the first `wanted` name the group, the others another, which nobody
 * reads. */
static void name_rows(int32_t *indices, const struct run_rows *block, int64_t wanted,
                      int64_t group, int64_t other)
{
    for (int64_t row = block->begin; row < block->end; row++) {
        indices[row] = (int32_t)(row - block->begin < wanted ? group : other);
    }
}

/* Blocks of no group lie evenly between the others, the first one in front. The last block
 * of a launch may be shorter than those of whom it is the turn: it is left to nobody then.
 */
static int place_blocks(const struct run_groups *groups, const struct turn *turns,
                        int64_t count, int64_t m, int32_t *indices)
{
    const int64_t all = count_blocks(m);
    int64_t holes = all - count, places = all, taken = 0;
    if (count > 0 && turns[count - 1].rows > m - block_begin(all - 1)) {
        places--;
        holes--;
    }
    if (holes < 0) {
        return cli_usage_error("--group-sizes: in whole blocks of %d the groups have "
                               "%" PRId64 " rows, but M is %" PRId64,
                               BLOCK_ROWS, block_begin(count), m);
    }
    for (int64_t i = 0; i < all; i++) {
        const struct run_rows block = {block_begin(i), block_end(i, m)};
        if (i < places && i * holes % places >= holes) {
            name_rows(indices, &block, turns[taken].rows, turns[taken].group, -1);
            taken++;
        } else { /* below all groups, or above */
            name_rows(indices, &block, 1, i % 2 == 0 ? -1 : groups->count, 0);
        }
    }
    return CLI_OK;
}

/* All blocks to groups in turn, in whole ones but the last. */
static void share_blocks(const struct run_groups *groups, int64_t m)
{
    const int64_t blocks = count_blocks(m);
    const int64_t last = (blocks - 1) % groups->count;
    for (int64_t i = 0; i < groups->count; i++) {
        const int64_t own = blocks / groups->count + (i < blocks % groups->count);
        groups->numbers[i] =
            (int32_t)(block_begin(own) - (i == last ? block_begin(blocks) - m : 0));
    }
}

/* The same, but the largest has the last block, which may be shorter: it has most turns. */
static void share_blocks_by_zipf(const struct run_groups *groups, int64_t m)
{
    const int64_t blocks = count_blocks(m);
    const int64_t largest = share_by_zipf(groups, blocks, true);
    for (int64_t i = 0; i < groups->count; i++) {
        groups->numbers[i] = (int32_t)(block_begin(groups->numbers[i]) -
                                       (i == largest ? block_begin(blocks) - m : 0));
    }
}

/* Rows of each group become the group of each row. */
static int name_groups(struct run_groups *groups, const char *order, int64_t *m)
{
    int64_t count = 0;
    struct turn *turns = take_turns(groups, &count);
    if (*m == 0) {
        *m = count > 0 ? block_begin(count) : 1;
    }
    int32_t *indices = cli_alloc((size_t)*m * sizeof(*indices));
    int code = order_turns(order, *m, turns, count);
    if (code == CLI_OK) {
        code = place_blocks(groups, turns, count, *m, indices);
    }
    free(turns);
    free(groups->numbers);
    groups->numbers = indices;
    groups->number_count = *m;
    return code;
}

/* ----------------------------------------------------------------------- any form */

int run_groups_read(const jit_gemm_problem *problem, const struct run_group_sizes *sizes,
                    int64_t *extent, struct run_groups *ret_groups)
{
    const char *list = sizes->list;
    if (sizes->block_order != NULL && problem->group_by != JIT_GEMM_GROUP_BY_ROWS) {
        return cli_usage_error("--block-order needs group_by=rows in the problem");
    }
    if (problem->group_by == JIT_GEMM_GROUP_NONE) {
        return list == NULL ? CLI_OK
                            : cli_usage_error("--group-sizes needs groups in the problem, "
                                              "such as groups=8");
    }
    const bool is_list = run_groups_is_list(list);
    const bool is_zipf = list != NULL && strcmp(list, "zipf") == 0;
    const bool has_blocks = problem->group_by == JIT_GEMM_GROUP_BY_ROWS;
    *ret_groups = (struct run_groups){
        /* What is found by pointers counts as what lies together. */
        .by = problem->group_by == JIT_GEMM_GROUP_BY_POINTERS ? JIT_GEMM_GROUP_BY_COUNTS
                                                              : problem->group_by,
        .rest = problem->group_rest,
        .scale_rows = problem->scale_rows,
        .has_all = problem->group_by == JIT_GEMM_GROUP_BY_POINTERS && !is_list && !is_zipf,
        .count = problem->batch.size,
        .number_count = problem->batch.size,
        .numbers = cli_alloc((size_t)problem->batch.size * sizeof(*ret_groups->numbers))};
    if (is_list) {
        const int code =
            read_list(sizes_option, list, ret_groups->count, ret_groups->numbers);
        if (code != CLI_OK) {
            return code;
        }
    } else if (has_blocks && is_zipf) {
        share_blocks_by_zipf(ret_groups, *extent);
    } else if (has_blocks) {
        share_blocks(ret_groups, *extent);
    } else if (is_zipf) {
        share_by_zipf(ret_groups, *extent, have_ends(ret_groups));
    } else {
        share_extent(ret_groups, *extent);
    }
    if (has_blocks) {
        return name_groups(ret_groups, sizes->block_order, extent);
    }
    const int code = check_extent(ret_groups, extent);
    if (code == CLI_OK && have_ends(ret_groups)) {
        for (int64_t i = 1; i < ret_groups->count; i++) { /* sizes become ends */
            ret_groups->numbers[i] += ret_groups->numbers[i - 1];
        }
        return settle_ends(ret_groups, end_step(problem), *extent, is_list);
    }
    return code;
}

int run_groups_plan(const char *list, jit_gemm_problem *problem)
{
    struct run_groups groups = {0};
    int64_t m = problem->m.size;

    if (problem->group_by == JIT_GEMM_GROUP_NONE ||
        run_groups_divide_k(problem->group_by)) {
        return cli_usage_error("%s needs groups of rows in the problem, such as groups=8",
                               list != NULL ? sizes_option : "--plan-sizes");
    }
    if (problem->typical_sizes[0].groups > 0) {
        return cli_usage_error("%s and the problem's own typical_sizes= exclude each other",
                               list != NULL ? sizes_option : "--plan-sizes");
    }
    const struct run_group_sizes given = {.list = list};
    int code = run_groups_read(problem, &given, &m, &groups);
    if (code == CLI_OK) {
        int32_t *sizes = cli_alloc((size_t)groups.count * sizeof(*sizes));
        for (int64_t i = 0; i < groups.count; i++) {
            struct run_rows rows = run_groups_next(&groups, i, 0, m);
            for (sizes[i] = 0; rows.begin < rows.end;
                 rows = run_groups_next(&groups, i, rows.end, m)) {
                sizes[i] += (int32_t)(rows.end - rows.begin);
            }
        }
        const jit_gemm_status status =
            jit_gemm_problem_set_typical_sizes(problem, sizes, (uint32_t)groups.count);
        code = status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
        free(sizes);
    }
    run_groups_free(&groups);
    return code;
}

/* One size of each group's own; NULL without a list. */
static int read_own(const char *option, const char *key, const char *list,
                    const jit_gemm_problem *problem, const jit_gemm_dim *dim, int64_t most,
                    int32_t **ret_sizes)
{
    if (list == NULL) {
        return CLI_OK;
    }
    if (problem->group_by != JIT_GEMM_GROUP_BY_POINTERS ||
        dim->mode != JIT_GEMM_DIM_DYNAMIC) {
        return cli_usage_error("%s needs group_by=pointers and dynamic=%s in the problem",
                               option, key);
    }
    *ret_sizes = cli_alloc((size_t)problem->batch.size * sizeof(**ret_sizes));
    const int code = read_list(option, list, problem->batch.size, *ret_sizes);
    for (int64_t i = 0; i < problem->batch.size && code == CLI_OK; i++) {
        if ((*ret_sizes)[i] > most) {
            return cli_usage_error("%s: group %" PRId64 " has %" PRId32
                                   ", more than `%s`, which is %" PRId64,
                                   option, i, (*ret_sizes)[i], key, most);
        }
    }
    return code;
}

int run_groups_read_own(const jit_gemm_problem *problem, const char *ns, const char *ks,
                        int64_t n, int64_t k, struct run_groups *groups)
{
    const int code = read_own("--group-ns", "n", ns, problem, &problem->n, n, &groups->ns);
    return code == CLI_OK
               ? read_own("--group-ks", "k", ks, problem, &problem->k, k, &groups->ks)
               : code;
}

void run_groups_free(struct run_groups *groups)
{
    free(groups->numbers);
    free(groups->ns);
    free(groups->ks);
    *groups = (struct run_groups){0};
}

/* All but rows that name their groups: what a group has lies together. */
static struct run_rows range_of(const struct run_groups *groups, int64_t group)
{
    const bool has_begin = have_ends(groups) && group > 0;
    return (struct run_rows){has_begin ? groups->numbers[group - 1] : 0,
                             groups->numbers[group]};
}

int64_t run_groups_columns(const struct run_groups *groups, int64_t batch, int64_t n)
{
    return groups->ns != NULL ? groups->ns[batch] : n;
}

struct run_rows run_groups_depth(const struct run_groups *groups, int64_t batch, int64_t k)
{
    if (groups->ks != NULL) {
        return (struct run_rows){0, groups->ks[batch]};
    }
    return run_groups_divide_k(groups->by) ? range_of(groups, batch)
                                           : (struct run_rows){0, k};
}

static struct run_rows next_block(const struct run_groups *groups, int64_t group,
                                  int64_t from, int64_t m)
{
    for (int64_t block = count_blocks(from); block < count_blocks(m); block++) {
        if (groups->numbers[block_begin(block)] == group) {
            return (struct run_rows){block_begin(block), block_end(block, m)};
        }
    }
    return (struct run_rows){m, m};
}

struct run_rows run_groups_next(const struct run_groups *groups, int64_t batch,
                                int64_t from, int64_t m)
{
    if (groups->by == JIT_GEMM_GROUP_BY_ROWS) {
        return next_block(groups, batch, from, m);
    }
    const struct run_rows all =
        run_groups_divide_rows(groups) ? range_of(groups, batch) : (struct run_rows){0, m};
    return (struct run_rows){from > all.begin ? from : all.begin, all.end};
}

int64_t run_groups_of_row(const struct run_groups *groups, int64_t batch, int64_t row)
{
    const int64_t first = run_groups_are_stacked(groups) ? 0 : batch;
    const int64_t last = run_groups_are_stacked(groups) ? groups->count - 1 : batch;

    if (groups->by == JIT_GEMM_GROUP_BY_ROWS) {
        const int32_t group = groups->numbers[row / BLOCK_ROWS * BLOCK_ROWS];
        return group < groups->count ? group : -1;
    }
    if (!run_groups_divide_rows(groups)) {
        return batch;
    }
    for (int64_t group = first; group <= last; group++) {
        const struct run_rows rows = range_of(groups, group);
        if (row >= rows.begin && row < rows.end) {
            return group;
        }
    }
    return -1;
}

bool *run_groups_list_rows(const struct run_groups *groups, int64_t batch, int64_t rows)
{
    bool *list = cli_alloc((size_t)(batch * rows) * sizeof(*list));

    for (int64_t at = 0; at < batch * rows; at++) {
        list[at] = run_groups_of_row(groups, at / rows, at % rows) >= 0;
    }
    return list;
}

/* Of row `at` of D, or element of K. */
static bool belongs(const struct run_groups *groups, bool is_k, int64_t batch, int64_t at,
                    int64_t size)
{
    return is_k ? at < run_groups_depth(groups, groups->count - 1, size).end
                : run_groups_of_row(groups, batch, at) >= 0;
}

void run_groups_fill_rest(const struct run_groups *groups, const struct element_view *view,
                          bool is_k, bool by_columns, int byte, void *data)
{
    const int64_t rows = by_columns ? view->columns : view->rows;
    const int64_t count = by_columns ? view->rows : view->columns;
    const int64_t step = by_columns ? 1 : view->ld, inner = by_columns ? view->ld : 1;

    for (int64_t at = 0; groups->count > 0 && at < view->batch * rows; at++) {
        const int64_t batch = at / rows, row = at % rows;
        if (belongs(groups, is_k, batch, row, rows)) {
            continue;
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t place = batch * view->batch_stride + row * step + i * inner;
            memset((char *)data + element_bytes(view->dtype, (size_t)place), byte,
                   element_size(view->dtype));
        }
    }
}

/* All bits. */
static bool is_zero(jit_gemm_dtype dtype, const void *data, int64_t place)
{
    if (dtype == JIT_GEMM_DTYPE_E2M1) { /* half of a byte */
        const double value = element_load(dtype, data, (size_t)place);
        return value >= 0 && value <= 0 && !signbit(value);
    }
    const char *bytes = (const char *)data + element_bytes(dtype, (size_t)place);

    for (size_t i = 0; i < element_size(dtype); i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Of what a launch wrote: an element of no group. It is made 0; false if it was written. */
static bool clear_element(const char *name, const struct element_view *view, int64_t batch,
                          int64_t row, int64_t column, bool is_cleared, bool may_be_written,
                          void *data)
{
    const int64_t place = batch * view->batch_stride + row * view->ld + column;

    if (!may_be_written &&
        (is_cleared ? !is_zero(view->dtype, data, place)
                    : !element_is_poison(view->dtype, data, (size_t)place))) {
        cli_error("%s: row %" PRId64 " of batch %" PRId64
                  " belongs to no group and %s, at column %" PRId64,
                  name, row, batch, is_cleared ? "is not 0" : "was written", column);
        return false;
    }
    element_store(view->dtype, data, (size_t)place, 0);
    return true;
}

bool run_groups_clear_rest(const struct run_groups *groups, bool is_d, bool is_reference,
                           const char *name, const struct element_view *view, void *data)
{
    const bool is_cleared = is_d && groups->rest == JIT_GEMM_GROUP_REST_ZERO;

    for (int64_t at = 0; at < view->batch * view->rows; at++) {
        const int64_t batch = at / view->rows, row = at % view->rows;
        const bool is_own = run_groups_of_row(groups, batch, row) >= 0;
        int64_t column = is_own ? run_groups_columns(groups, batch, view->columns) : 0;
        for (; column < view->columns; column++) {
            if (!clear_element(name, view, batch, row, column, is_cleared,
                               is_own && is_reference, data)) {
                return false;
            }
        }
    }
    return true;
}

int64_t run_groups_scale_rows(const struct run_groups *groups, int64_t m)
{
    return groups->by == JIT_GEMM_GROUP_BY_OFFSETS ? quantise_group_rows(m, groups->count)
                                                   : m;
}

int64_t run_groups_scale_row(const struct run_groups *groups, int64_t group, int64_t row)
{
    if (groups->by != JIT_GEMM_GROUP_BY_OFFSETS) {
        return row;
    }
    const int64_t begin = range_of(groups, group).begin;
    int64_t band = begin / QUANTISE_BAND_ROWS + group;
    if (groups->scale_rows == JIT_GEMM_SCALE_ROWS_PER_GROUP_PADDED) {
        band = 0;
        for (int64_t before = 0; before < group; before++) {
            const struct run_rows rows = range_of(groups, before);
            band += (rows.end - rows.begin + QUANTISE_BAND_ROWS - 1) / QUANTISE_BAND_ROWS;
        }
    }
    return band * QUANTISE_BAND_ROWS + row - begin;
}

int64_t *run_groups_map_scales(const struct run_groups *groups,
                               const struct element_view *view)
{
    const int64_t count = view->batch * view->rows;
    int64_t *rows = cli_alloc((size_t)(count > 0 ? count : 1) * sizeof(*rows));

    for (int64_t at = 0; at < count; at++) {
        const int64_t row = at % view->rows;
        const int64_t group = run_groups_of_row(groups, at / view->rows, row);
        rows[at] = group < 0 ? -1 : run_groups_scale_row(groups, group, row);
    }
    return rows;
}

int64_t run_groups_scale_depth(const struct run_groups *groups, int64_t k, int64_t step)
{
    return run_groups_divide_k(groups->by) ? (k / step + groups->count) * step : k;
}

int64_t run_groups_scale_place(const struct run_groups *groups, int64_t group, int64_t at,
                               int64_t step)
{
    if (!run_groups_divide_k(groups->by)) {
        return at;
    }
    const int64_t begin = range_of(groups, group).begin;
    return (begin / step + group) * step + (at > begin ? at - begin : 0);
}
