/* SPDX-License-Identifier: MIT */
#include "plan/bands.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"

enum {
    LEAST_STEP = 16,      /* rows that every tile has a multiple of */
    STEPS_OF_OCTAVE = 64, /* from there on where a step is greater */
    /* From here on there are few: with hundreds of tiles one more or less is nothing, and
     * no other config is preferred. */
    LARGE = 1 << 17,
    STEPS_OF_LARGE = 8,
};

/* Nodes of the search for the least set; beyond them it takes the least that was found. A
 * problem's sizes leave a few kernels to choose from, and take some hundreds. */
#define MOST_NODES 100000

/* What rounding of a cost may add to a loss. */
#define LOSS_ERROR 1e-9

/* A change of kernels costs more than any loss. */
#define CHANGE_COST 1e9

/* A config that the model prefers at some size, but for the order of tiles. */
struct option {
    char text[JIT_GEMM_CONFIG_SIZE];
    struct jg_config_override config;
};

/* One search. Arrays of `size_count`, and of option_count rows of as many, are owned. */
struct sweep {
    const struct jg_arch *arch;
    const struct jg_problem *problem;
    const struct jg_device_facts *facts;
    const struct jg_range *range;
    struct jg_config_override named; /* by the problem's config */
    int64_t *sizes;                  /* that are looked at, rising */
    size_t size_count;
    struct option *options;
    size_t option_count, option_capacity;
    double *us;      /* [option][size] */
    double *best_us; /* [size] */
    int *covers;     /* [size]: options of the set that fit */
    int *fit_counts; /* [size]: options that fit */
    size_t *set;     /* options of the set under examination, */
    size_t *least;   /* of the least so far, */
    size_t least_count;
    int nodes;
};

/* ---------------------------------------------------------------------------- sizes */

static int64_t step_at(int64_t size)
{
    int64_t octave = 1;
    while (octave * 2 <= size) {
        octave *= 2;
    }
    return jg_max(LEAST_STEP, octave / (octave < LARGE ? STEPS_OF_OCTAVE : STEPS_OF_LARGE));
}

/* Both ends of each step that the range has a part of. Counts them only without `sizes`. */
static size_t list_sizes(const struct jg_range *range, int64_t *sizes)
{
    size_t count = 0;
    int64_t first = range->first;
    while (first <= range->last) {
        const int64_t step = step_at(first);
        const int64_t last = jg_min(jg_ceil_div(first, step) * step, range->last);
        for (int64_t size = first; size <= last; size += jg_max(last - first, 1)) {
            if (sizes != NULL) {
                sizes[count] = size;
            }
            count++;
        }
        first = last + 1;
    }
    return count;
}

/* The problem as it is at one size, which is not rounded. */
static struct jg_problem problem_at(const struct sweep *sweep, int64_t size)
{
    struct jg_problem problem = *sweep->problem;
    const bool is_odd_pair =
        problem.is_gated && sweep->range->index == JG_DIM_N && size % 2 != 0;
    jg_range_dim(sweep->range, &problem)->size = size + is_odd_pair;
    return problem;
}

/* --------------------------------------------------------------------------- options */

static jit_gemm_status add_option(struct sweep *sweep, const struct option *option)
{
    for (size_t i = 0; i < sweep->option_count; i++) {
        if (strcmp(sweep->options[i].text, option->text) == 0) {
            return JIT_GEMM_OK;
        }
    }
    if (sweep->option_count == sweep->option_capacity) {
        const size_t capacity =
            sweep->option_capacity > 0 ? sweep->option_capacity * 2 : 16;
        struct option *options =
            jg_realloc(sweep->options, capacity * sizeof(struct option));
        if (options == NULL) {
            return jg_fail_memory();
        }
        sweep->options = options;
        sweep->option_capacity = capacity;
    }
    sweep->options[sweep->option_count++] = *option;
    return JIT_GEMM_OK;
}

/* The text of the whole config that is chosen for the problem. */
static jit_gemm_status choose_text(const struct sweep *sweep,
                                   const struct jg_problem *problem, char *ret_text)
{
    struct jg_choice choice;
    JG_TRY(jg_config_choose(sweep->arch, problem, sweep->facts, &choice, NULL));
    struct jg_str text = {0};
    jg_config_print(&choice.config, sweep->arch->config_keys, &text);
    memset(ret_text, 0, JIT_GEMM_CONFIG_SIZE); /* equal texts are equal bytes */
    return jg_str_deliver(&text, JIT_GEMM_OK, ret_text, JIT_GEMM_CONFIG_SIZE, NULL);
}

static jit_gemm_status find_option(struct sweep *sweep, int64_t size)
{
    const struct jg_problem problem = problem_at(sweep, size);
    struct option option;
    JG_TRY(choose_text(sweep, &problem, option.text));
    JG_TRY(jg_config_parse(option.text, &option.config));
    option.config.has_raster &= sweep->named.has_raster;
    option.config.has_raster_group &= sweep->named.has_raster_group;
    struct jg_str text = {0};
    jg_config_print_override(&option.config, &text);
    memset(option.text, 0, sizeof(option.text));
    JG_TRY(jg_str_deliver(&text, JIT_GEMM_OK, option.text, sizeof(option.text), NULL));
    return add_option(sweep, &option);
}

static double *us_of(const struct sweep *sweep, size_t option)
{
    return sweep->us + option * sweep->size_count;
}

static double loss_at(const struct sweep *sweep, size_t option, size_t size)
{
    const double best = sweep->best_us[size];
    const double us = us_of(sweep, option)[size];
    return us > best ? us / best - 1.0 : 0.0;
}

static bool fits(const struct sweep *sweep, size_t option, size_t size)
{
    return loss_at(sweep, option, size) <= sweep->range->loss + LOSS_ERROR;
}

/* What each option takes at each size, and how many of them fit it. */
static jit_gemm_status predict_all(struct sweep *sweep)
{
    sweep->us = jg_alloc_array(sweep->option_count, sweep->size_count * sizeof(double));
    sweep->best_us = jg_alloc_array(sweep->size_count, sizeof(double));
    sweep->covers = jg_alloc_array(sweep->size_count, sizeof(int));
    sweep->fit_counts = jg_alloc_array(sweep->size_count, sizeof(int));
    sweep->set = jg_alloc_array(sweep->option_count, sizeof(size_t));
    sweep->least = jg_alloc_array(sweep->option_count, sizeof(size_t));
    if (sweep->us == NULL || sweep->best_us == NULL || sweep->covers == NULL ||
        sweep->fit_counts == NULL || sweep->set == NULL || sweep->least == NULL) {
        return jg_fail_memory();
    }
    for (size_t size = 0; size < sweep->size_count; size++) {
        const struct jg_problem problem = problem_at(sweep, sweep->sizes[size]);
        double best = (double)INFINITY;
        for (size_t i = 0; i < sweep->option_count; i++) {
            const double us = jg_config_predict(sweep->arch, &problem, sweep->facts,
                                                &sweep->options[i].config);
            us_of(sweep, i)[size] = us;
            best = us < best ? us : best;
        }
        sweep->best_us[size] = best;
        for (size_t i = 0; i < sweep->option_count; i++) {
            sweep->fit_counts[size] += fits(sweep, i, size);
        }
    }
    return JIT_GEMM_OK;
}

/* -------------------------------------------------------------------- the least set */

static size_t count_new(const struct sweep *sweep, size_t option)
{
    size_t count = 0;
    for (size_t size = 0; size < sweep->size_count; size++) {
        count += sweep->covers[size] == 0 && fits(sweep, option, size);
    }
    return count;
}

static void put(struct sweep *sweep, size_t option, int times)
{
    for (size_t size = 0; size < sweep->size_count; size++) {
        sweep->covers[size] += fits(sweep, option, size) ? times : 0;
    }
}

/* The size that no option of the set fits and the fewest do; size_count if there is none.
 */
static size_t find_open(const struct sweep *sweep)
{
    size_t found = sweep->size_count;
    for (size_t size = 0; size < sweep->size_count; size++) {
        if (sweep->covers[size] == 0 &&
            (found == sweep->size_count ||
             sweep->fit_counts[size] < sweep->fit_counts[found])) {
            found = size;
        }
    }
    return found;
}

static void keep_set(struct sweep *sweep, size_t count)
{
    memcpy(sweep->least, sweep->set, count * sizeof(size_t));
    sweep->least_count = count;
}

/* A first set: always the option that fits the most of what is open. */
static void find_greedily(struct sweep *sweep)
{
    size_t count = 0;
    while (find_open(sweep) < sweep->size_count) {
        size_t best = 0;
        size_t most = 0;
        for (size_t i = 0; i < sweep->option_count; i++) {
            const size_t new_sizes = count_new(sweep, i);
            best = new_sizes > most ? i : best;
            most = new_sizes > most ? new_sizes : most;
        }
        put(sweep, best, 1);
        sweep->set[count++] = best;
    }
    keep_set(sweep, count);
    memset(sweep->covers, 0, sweep->size_count * sizeof(int));
}

/* Looks for sets of fewer options than the least so far that begin with those in `set`. */
static void search_sets(struct sweep *sweep, size_t count)
{
    const size_t open = find_open(sweep);
    if (open == sweep->size_count) {
        keep_set(sweep, count);
        return;
    }
    for (size_t i = 0; i < sweep->option_count; i++) {
        if (count + 1 >= sweep->least_count || sweep->nodes >= MOST_NODES) {
            return;
        }
        if (fits(sweep, i, open)) {
            sweep->nodes++;
            put(sweep, i, 1);
            sweep->set[count] = i;
            search_sets(sweep, count + 1);
            put(sweep, i, -1);
        }
    }
}

/* --------------------------------------------------------------------------- bands */

/* The least cost of the sizes so far, if an option of the set serves the last of them, and
 * the option that serves the one before. */
struct cell {
    double cost;
    size_t before;
};

static void fill_row(const struct sweep *sweep, size_t size, const struct cell *before,
                     struct cell *row)
{
    size_t cheapest = 0;
    for (size_t i = 0; before != NULL && i < sweep->least_count; i++) {
        cheapest = before[i].cost < before[cheapest].cost ? i : cheapest;
    }
    for (size_t i = 0; i < sweep->least_count; i++) {
        const size_t option = sweep->least[i];
        row[i] = (struct cell){.cost = (double)INFINITY, .before = i};
        if (!fits(sweep, option, size)) {
            continue;
        }
        row[i].cost = loss_at(sweep, option, size);
        if (before != NULL) {
            const bool goes_on = before[i].cost <= before[cheapest].cost + CHANGE_COST;
            row[i].before = goes_on ? i : cheapest;
            row[i].cost += goes_on ? before[i].cost : before[cheapest].cost + CHANGE_COST;
        }
    }
}

/* Which of the set serves each size: as few changes as can be, then the least loss. */
static jit_gemm_status assign(const struct sweep *sweep, size_t *ret_served)
{
    const size_t width = sweep->least_count;
    struct cell *cells = jg_alloc_array(sweep->size_count, width * sizeof(struct cell));
    if (cells == NULL) {
        return jg_fail_memory();
    }
    for (size_t size = 0; size < sweep->size_count; size++) {
        fill_row(sweep, size, size > 0 ? cells + (size - 1) * width : NULL,
                 cells + size * width);
    }
    const struct cell *last = cells + (sweep->size_count - 1) * width;
    size_t at = 0;
    for (size_t i = 0; i < width; i++) {
        at = last[i].cost < last[at].cost ? i : at;
    }
    for (size_t size = sweep->size_count; size-- > 0;) {
        ret_served[size] = sweep->least[at];
        at = cells[size * width + at].before;
    }
    jg_free(cells);
    return JIT_GEMM_OK;
}

/* The number that the bands give an option; it is added where they have none yet. */
static size_t number_kernel(struct jg_bands *bands, const struct option *option)
{
    for (size_t i = 0; i < bands->kernel_count; i++) {
        if (strcmp(bands->kernels[i].text, option->text) == 0) {
            return i;
        }
    }
    memcpy(bands->kernels[bands->kernel_count].text, option->text, sizeof(option->text));
    return bands->kernel_count++;
}

static void add_size(const struct sweep *sweep, size_t size, size_t option,
                     struct jg_bands *bands)
{
    const int64_t first = sweep->sizes[size];
    const int64_t last =
        size + 1 < sweep->size_count ? sweep->sizes[size + 1] - 1 : sweep->range->last;
    const size_t kernel = number_kernel(bands, &sweep->options[option]);
    const double us = us_of(sweep, option)[size];
    const double loss = loss_at(sweep, option, size);
    if (bands->band_count == 0 || bands->bands[bands->band_count - 1].kernel != kernel) {
        bands->bands[bands->band_count++] = (struct jg_band){.first = first,
                                                             .kernel = kernel,
                                                             .first_us = us,
                                                             .loss = loss,
                                                             .loss_size = first};
    }
    struct jg_band *band = &bands->bands[bands->band_count - 1];
    band->last = last;
    band->last_us = us;
    if (loss > band->loss) {
        band->loss = loss;
        band->loss_size = first;
    }
    bands->kernels[kernel].planned = last;
}

/* Chooses what the kernels leave open, for the greatest size of each. */
static jit_gemm_status complete_kernels(const struct sweep *sweep, struct jg_bands *bands)
{
    for (size_t i = 0; i < bands->kernel_count; i++) {
        struct jg_problem problem;
        JG_TRY(
            jg_bands_problem(sweep->problem, sweep->range, &bands->kernels[i], &problem));
        JG_TRY(choose_text(sweep, &problem, bands->kernels[i].text));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status make_bands(const struct sweep *sweep, struct jg_bands *bands)
{
    size_t *served = jg_alloc_array(sweep->size_count, sizeof(size_t));
    bands->size_count = sweep->size_count;
    bands->kernels = jg_alloc_array(sweep->least_count, sizeof(*bands->kernels));
    bands->bands = jg_alloc_array(sweep->size_count, sizeof(*bands->bands));
    if (served == NULL || bands->kernels == NULL || bands->bands == NULL) {
        jg_free(served);
        return jg_fail_memory();
    }
    const jit_gemm_status status = assign(sweep, served);
    for (size_t size = 0; status == JIT_GEMM_OK && size < sweep->size_count; size++) {
        add_size(sweep, size, served[size], bands);
    }
    jg_free(served);
    return status == JIT_GEMM_OK ? complete_kernels(sweep, bands) : status;
}

/* ---------------------------------------------------------------------------- whole */

static jit_gemm_status run_sweep(struct sweep *sweep, struct jg_bands *bands)
{
    JG_TRY(jg_config_parse(sweep->problem->config, &sweep->named));
    sweep->size_count = list_sizes(sweep->range, NULL);
    sweep->sizes = jg_alloc_array(sweep->size_count, sizeof(int64_t));
    if (sweep->sizes == NULL) {
        return jg_fail_memory();
    }
    (void)list_sizes(sweep->range, sweep->sizes);
    for (size_t i = 0; i < sweep->size_count; i++) {
        JG_TRY(find_option(sweep, sweep->sizes[i]));
    }
    JG_TRY(predict_all(sweep));
    find_greedily(sweep);
    search_sets(sweep, 0);
    return make_bands(sweep, bands);
}

jit_gemm_status jg_bands_make(const struct jg_arch *arch, const struct jg_problem *problem,
                              const struct jg_device_facts *facts,
                              const struct jg_range *range, struct jg_bands *ret_bands)
{
    struct sweep sweep = {.arch = arch, .problem = problem, .facts = facts, .range = range};
    struct jg_bands bands = {0};
    const jit_gemm_status status = run_sweep(&sweep, &bands);
    jg_free(sweep.sizes);
    jg_free(sweep.options);
    jg_free(sweep.us);
    jg_free(sweep.best_us);
    jg_free(sweep.covers);
    jg_free(sweep.fit_counts);
    jg_free(sweep.set);
    jg_free(sweep.least);
    if (status != JIT_GEMM_OK) {
        jg_bands_free(&bands);
        return status;
    }
    *ret_bands = bands;
    return JIT_GEMM_OK;
}

void jg_bands_free(struct jg_bands *bands)
{
    jg_free(bands->kernels);
    jg_free(bands->bands);
    *bands = (struct jg_bands){0};
}

jit_gemm_status jg_bands_problem(const struct jg_problem *problem,
                                 const struct jg_range *range,
                                 const struct jg_band_kernel *kernel,
                                 struct jg_problem *ret_problem)
{
    struct jg_config_override override;
    JG_TRY(jg_config_parse(kernel->text, &override));
    struct jg_problem own = *problem;
    struct jg_str text = {0};
    jg_config_print_override(&override, &text);
    JG_TRY(jg_str_deliver(&text, JIT_GEMM_OK, own.config, sizeof(own.config), NULL));
    jg_range_dim(range, &own)->size = kernel->planned;
    *ret_problem = own;
    return JIT_GEMM_OK;
}
