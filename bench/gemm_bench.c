/* SPDX-License-Identifier: MIT */
#include "gemm_bench.h"

#include <stdlib.h>
#include <string.h>

#include "gemm_groups.h"
#include "gemm_match.h"
#include "gemm_reference.h"

_Static_assert(GEMM_BENCH_ERROR_SIZE == BENCH_ERROR_SIZE, "one size of error texts");

static int read_machine(struct gemm_bench *bench, char error[BENCH_ERROR_SIZE])
{
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    if (jit_gemm_device_get_info(bench->context, &info) != JIT_GEMM_OK) {
        return bench_fail(error, "%s", jit_gemm_last_error());
    }
    if (info.is_emulated) {
        return bench_fail(error, "%s is emulated: its times say nothing of a GPU",
                          info.name);
    }
    bench->ordinal = info.ordinal;
    bench->l2_bytes = (size_t)info.l2_bytes;
    bench->memory_bytes = (size_t)info.memory_bytes;
    struct gemm_bench_machine *machine = &bench->machine;
    snprintf(machine->device, sizeof(machine->device), "%s", info.name);
    machine->sm_count = info.sm_count;
    machine->cc_major = info.cc_major;
    machine->cc_minor = info.cc_minor;
    machine->driver_cuda_version = info.driver_version;
    machine->l2_mib = (double)info.l2_bytes / 1048576.0;
    snprintf(machine->cublaslt, sizeof(machine->cublaslt), "not asked for");
    bench_date(machine->date);
    return 0;
}

static int open_rival(struct gemm_bench *bench, char error[BENCH_ERROR_SIZE])
{
    /* The driver has made the primary context current, which cuBLASLt uses. */
    if (cublaslt_open(bench->options.cublaslt_path, &bench->cublaslt, error) != 0) {
        return -1;
    }
    snprintf(bench->machine.cublaslt, sizeof(bench->machine.cublaslt), "%s",
             cublaslt_describe(bench->cublaslt));
    if (jit_gemm_device_alloc(bench->context, CUBLASLT_WORKSPACE_BYTES,
                              &bench->workspace) != JIT_GEMM_OK) {
        return bench_fail(error, "cuBLASLt's workspace: %s", jit_gemm_last_error());
    }
    return 0;
}

static int open_driver(struct gemm_bench *bench, char error[BENCH_ERROR_SIZE])
{
    char pci_bus_id[32];
    if (cuda_driver_open(bench->ordinal, &bench->driver, error) != 0) {
        return -1;
    }
    const struct cuda_driver *driver = bench->driver;
    if (driver->device_pci_bus_id != NULL &&
        driver->device_pci_bus_id(pci_bus_id, sizeof(pci_bus_id), driver->device) ==
            CUDA_SUCCESS) {
        bench->gpu_state = gpu_state_open(pci_bus_id);
    }
    if (!bench->options.replays) {
        return 0;
    }
    if (driver->stream_create == NULL || driver->begin_capture == NULL ||
        driver->end_capture == NULL || driver->graph_instantiate == NULL ||
        driver->graph_launch == NULL || driver->graph_exec_destroy == NULL ||
        driver->graph_destroy == NULL || driver->stream_destroy == NULL) {
        return bench_fail(error, "replays: this driver has no CUDA graphs");
    }
    return cuda_driver_check(driver, driver->stream_create(&bench->stream, 0),
                             "cuStreamCreate", error);
}

static void set_defaults(struct gemm_bench_options *options)
{
    options->heuristics = options->heuristics > 0 ? options->heuristics : 8;
    options->rounds = options->rounds > 0 ? options->rounds : 15;
    options->rounds =
        options->rounds < GEMM_BENCH_MAX_ROUNDS ? options->rounds : GEMM_BENCH_MAX_ROUNDS;
    options->round_ms = options->round_ms > 0.0 ? options->round_ms : 40.0;
    options->warmup_ms = options->warmup_ms > 0.0 ? options->warmup_ms : 1000.0;
    options->seed = options->seed != 0 ? options->seed : 1;
}

int gemm_bench_check_sizes(const jit_gemm_problem *problem,
                           char error[GEMM_BENCH_ERROR_SIZE])
{
    return gemm_shape_check_sizes(problem, error);
}

int gemm_bench_check(const jit_gemm_problem *problem, char error[GEMM_BENCH_ERROR_SIZE])
{
    return gemm_shape_check(problem, error);
}

int gemm_bench_open(jit_gemm_context *context, const struct gemm_bench_options *options,
                    struct gemm_bench **ret_bench, char error[GEMM_BENCH_ERROR_SIZE])
{
    struct gemm_bench *bench = calloc(1, sizeof(*bench));
    if (bench == NULL) {
        return bench_fail(error, "out of memory");
    }
    bench->context = context;
    if (options != NULL) {
        bench->options = *options;
    }
    set_defaults(&bench->options);
    int status = read_machine(bench, error);
    if (status == 0 && jit_gemm_timer_create(context, &bench->timer) != JIT_GEMM_OK) {
        status = bench_fail(error, "timer: %s", jit_gemm_last_error());
    }
    if (status == 0) {
        status = open_driver(bench, error);
    }
    if (status == 0 && bench->options.against_cublaslt) {
        status = open_rival(bench, error);
    }
    if (status != 0) {
        gemm_bench_close(&bench);
        return -1;
    }
    *ret_bench = bench;
    return 0;
}

const struct gemm_bench_machine *gemm_bench_machine(const struct gemm_bench *bench)
{
    return &bench->machine;
}

void gemm_bench_close(struct gemm_bench **bench)
{
    if (bench == NULL || *bench == NULL) {
        return;
    }
    jit_gemm_timer_destroy(&(*bench)->timer);
    if ((*bench)->workspace != 0) {
        jit_gemm_device_free((*bench)->context, (*bench)->workspace);
    }
    cublaslt_close(&(*bench)->cublaslt);
    if ((*bench)->stream != NULL) {
        (*bench)->driver->stream_destroy((*bench)->stream);
    }
    gpu_state_close(&(*bench)->gpu_state);
    cuda_driver_close(&(*bench)->driver);
    free(*bench);
    *bench = NULL;
}

static bool is_stopped(const struct match *match)
{
    return match->bench->options.is_stopped != NULL && match->bench->options.is_stopped();
}

static int warm_up(struct match *match)
{
    struct gemm_bench *bench = match->bench;
    const double first_us = bench->options.warmup_ms * 1000.0;
    const double span_us = bench->warmed ? 0.3 * first_us : first_us;
    const double begin_us = bench_now_us();
    int launches = 0;
    if (gemm_match_fit(match, &match->contenders[0], 10.0, &launches) != 0) {
        return -1;
    }
    while (bench_now_us() - begin_us < span_us) {
        if (is_stopped(match)) {
            return bench_fail(match->error, "stopped");
        }
        if (gemm_match_launch_many(match, &match->contenders[0], launches) != 0 ||
            gemm_match_synchronize(match) != 0) {
            return -1;
        }
    }
    bench->warmed = 1;
    return 0;
}

/* A contender's launches of half a round; its sample is the mean of both halves. */
static int time_half(struct match *match, struct contender *contender, size_t round)
{
    struct launch_times times = {0};
    if (is_stopped(match)) {
        return bench_fail(match->error, "stopped");
    }
    if (gemm_match_time_turn(match, contender, &times) != 0) {
        return -1;
    }
    contender->samples_us[round] += times.us / 2.0;
    contender->issue_us[round] += times.issue_us / 2.0;
    contender->sm_mhz[round] += times.sm_mhz / 2.0;
    contender->watts[round] += times.watts / 2.0;
    contender->sample_count = round + 1;
    return 0;
}

/*
 * There and back: a device that gets warmer, or whose clock falls, gives all the same part
 * of it, because each contender's two turns lie around the middle of the round.
 */
static int time_rounds(struct match *match)
{
    const size_t count = match->contender_count;
    const size_t rounds = (size_t)match->bench->options.rounds;
    for (size_t i = 0; i < count; i++) {
        if (gemm_match_fit(match, &match->contenders[i],
                           match->bench->options.round_ms / 2.0,
                           &match->contenders[i].launches) != 0 ||
            (match->bench->options.replays &&
             gemm_match_capture(match, &match->contenders[i]) != 0)) {
            return -1;
        }
    }
    for (size_t round = 0; round < rounds; round++) {
        for (size_t turn = 0; turn < 2 * count; turn++) {
            const size_t place = turn < count ? turn : 2 * count - 1 - turn;
            if (time_half(match, &match->contenders[(round + place) % count], round) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

static void write_numbers(struct gemm_bench_entry *entry, const struct bench_stats *stats,
                          double flops)
{
    entry->median_us = stats->median;
    entry->min_us = stats->min;
    entry->max_us = stats->max;
    entry->spread = bench_stats_spread(stats);
    entry->tflops = flops / stats->median * 1e-6;
}

/*
 * The best is never slower than the default: the choice was quick, the rounds were not.
 * Where the choice fell on the default itself, both were the same and the lower median
 * counts.
 */
static void prefer_default_if_faster(struct match *match)
{
    for (size_t i = 1; i < match->contender_count; i++) {
        const struct contender *contender = &match->contenders[i];
        if (!contender->is_best_of_plain) {
            continue;
        }
        const struct gemm_bench_entry *first = match->contenders[i - 1].entry;
        struct gemm_bench_entry *best = contender->entry;
        if (first->median_us < best->median_us) {
            struct gemm_bench_entry copy = *first;
            memcpy(copy.name, best->name, sizeof(copy.name));
            if (contender->algorithm == 0) {
                memcpy(copy.note, best->note, sizeof(copy.note));
            } else {
                snprintf(copy.note, sizeof(copy.note),
                         "heuristic 1; number %d, chosen quickly, took %.2f us",
                         contender->algorithm + 1, best->median_us);
            }
            *best = copy;
        }
    }
}

static void summarize(struct match *match)
{
    struct gemm_bench_result *result = match->result;
    for (size_t i = 0; i < match->contender_count; i++) {
        struct contender *contender = &match->contenders[i];
        const struct bench_stats device =
            bench_stats_of(contender->samples_us, contender->sample_count);
        const struct bench_stats host =
            bench_stats_of(contender->issue_us, contender->sample_count);
        write_numbers(contender->entry, &device, result->flops);
        contender->entry->sm_mhz =
            bench_stats_of(contender->sm_mhz, contender->sample_count).median;
        contender->entry->watts =
            bench_stats_of(contender->watts, contender->sample_count).median;
        contender->entry->host_bound = host.median > 0.85 * device.median;
    }
    prefer_default_if_faster(match);
    for (size_t i = 0; i < result->entry_count; i++) {
        struct gemm_bench_entry *entry = &result->entries[i];
        entry->ratio =
            entry->absent ? 0.0 : entry->median_us / result->entries[0].median_us;
    }
    result->rounds = match->bench->options.rounds;
    result->launches = match->contenders[0].launches;
    result->replays = match->bench->options.replays;
}

static void describe_kernel(struct match *match, const jit_gemm_problem *problem,
                            const jit_gemm *gemm)
{
    struct gemm_bench_result *result = match->result;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    if (jit_gemm_problem_print(problem, result->problem, sizeof(result->problem), NULL) !=
        JIT_GEMM_OK) {
        snprintf(result->problem, sizeof(result->problem), "?");
    }
    if (match->epilogue != NULL && match->epilogue->source == NULL) {
        snprintf(result->epilogue, sizeof(result->epilogue), "the compiled function %s",
                 match->epilogue->symbol);
    } else if (match->epilogue != NULL) {
        const size_t size = match->epilogue->source_size != 0
                                ? match->epilogue->source_size
                                : strlen(match->epilogue->source);
        snprintf(result->epilogue, sizeof(result->epilogue), "%.*s", (int)size,
                 match->epilogue->source);
    }
    if (jit_gemm_get_info(gemm, &info) == JIT_GEMM_OK) {
        memcpy(result->config, info.config, sizeof(result->config));
        memcpy(result->entry_point, info.entry, sizeof(result->entry_point));
        result->origin = info.origin;
        result->registers = info.registers;
        result->spill_bytes = info.spill_bytes;
        result->grid_ctas = info.grid_ctas;
        result->compile_ms = info.compile_ms;
    }
}

/* The contenders of jit_gemm, and what they work on. */
static int prepare_kernels(struct match *match, const struct gemm_bench_problem *problem,
                           jit_gemm *const *gemms, size_t count)
{
    struct gemm_bench *bench = match->bench;
    describe_kernel(match, problem->problem, gemms[0]);
    const struct gemm_sets_request request = {.problem = problem->problem,
                                              .epilogue = problem->epilogue,
                                              .groups = problem->groups,
                                              .gemm = gemms[0],
                                              .rotate_bytes = 2 * bench->l2_bytes,
                                              .memory_bytes = bench->memory_bytes,
                                              .seed = bench->options.seed};
    if (gemm_sets_create(bench->context, &request, &match->sets, match->error) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (gemm_sets_give_workspace(match->sets, gemms[i], match->error) != 0) {
            return -1;
        }
    }
    match->result->flops = gemm_groups_flops(&match->sets->shape, problem->groups);
    if (problem->groups != NULL) {
        gemm_groups_describe(&match->sets->shape, problem->groups, match->result->groups,
                             sizeof(match->result->groups));
    }
    match->result->sets = match->sets->count;
    match->result->sets_mib =
        (double)match->sets->count * (double)match->sets->input_bytes / 1048576.0;
    for (size_t i = 0; i < count; i++) {
        const char *name = i == 0 ? "jit_gemm" : "candidate";
        gemm_match_add(match, name, NULL, NULL, NULL)->gemm = gemms[i];
    }
    return 0;
}

/* Before anything is compiled. */
static int check_problem(const struct gemm_bench_problem *problem,
                         char error[BENCH_ERROR_SIZE])
{
    const bool has_groups = problem->problem->group_by != JIT_GEMM_GROUP_NONE;
    if (gemm_shape_check(problem->problem, error) != 0 ||
        gemm_groups_check(problem->problem, problem->epilogue, error) != 0) {
        return -1;
    }
    if (has_groups != (problem->groups != NULL)) {
        return bench_fail(error, "what the groups have is given for problems with groups");
    }
    return has_groups && problem->groups->part_count == 0
               ? bench_fail(error, "all groups are empty: there is nothing to time")
               : 0;
}

static int prepare_match(struct match *match, const struct gemm_bench_problem *problem)
{
    struct gemm_bench *bench = match->bench;
    if (check_problem(problem, match->error) != 0) {
        return -1;
    }
    if (jit_gemm_create(bench->context, problem->problem, &match->gemm) != JIT_GEMM_OK) {
        return bench_fail(match->error, "create: %s", jit_gemm_last_error());
    }
    if (prepare_kernels(match, problem, &match->gemm, 1) != 0) {
        return -1;
    }
    if (bench->cublaslt != NULL) {
        gemm_match_add_rivals(match);
    }
    return bench->options.against_dense ? gemm_match_add_dense(match, problem->problem) : 0;
}

static int play_match(struct match *match, const struct gemm_bench_problem *problem)
{
    if (prepare_match(match, problem) != 0 ||
        gemm_reference_compare(match, problem->problem) != 0 ||
        gemm_match_compare(match) != 0 || warm_up(match) != 0) {
        return -1;
    }
    bool is_chosen = false;
    for (size_t i = 1; i < match->contender_count; i++) {
        struct contender *contender = &match->contenders[i];
        const bool keeps_default =
            contender->plan == match->plain && !contender->is_best_of_plain;
        if (keeps_default) {
            continue;
        }
        if (gemm_match_choose_algorithm(match, contender) != 0) {
            return -1;
        }
        is_chosen = true;
    }
    if (is_chosen && gemm_match_compare(match) != 0) {
        return -1; /* the algorithms that were chosen, too */
    }
    if (time_rounds(match) != 0) {
        return -1;
    }
    summarize(match);
    return 0;
}

static int play_kernels(struct match *match, const struct gemm_bench_problem *problem,
                        jit_gemm *const *gemms, size_t count)
{
    if (check_problem(problem, match->error) != 0 ||
        prepare_kernels(match, problem, gemms, count) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) { /* they differ in nothing else */
        jit_gemm_info info = {.struct_size = sizeof(info)};
        if (jit_gemm_get_info(gemms[i], &info) == JIT_GEMM_OK) {
            bench_copy_line(match->contenders[i].entry->note,
                            sizeof(match->contenders[i].entry->note), info.config);
        }
    }
    if (gemm_reference_compare(match, problem->problem) != 0 ||
        gemm_match_compare(match) != 0 || warm_up(match) != 0 || time_rounds(match) != 0) {
        return -1;
    }
    summarize(match);
    return 0;
}

/* Without kernels of the caller's: the one that is chosen, and the rivals. */
static int measure(struct gemm_bench *bench, const struct gemm_bench_problem *problem,
                   jit_gemm *const *gemms, size_t count,
                   struct gemm_bench_result *ret_result, char error[GEMM_BENCH_ERROR_SIZE])
{
    struct match *match = calloc(1, sizeof(*match));
    struct gemm_bench_result *result = calloc(1, sizeof(*result));
    if (match == NULL || result == NULL) {
        free(match);
        free(result);
        return bench_fail(error, "out of memory");
    }
    match->bench = bench;
    match->epilogue = problem->epilogue;
    match->result = result;
    match->error = error;
    const int status = gemms != NULL ? play_kernels(match, problem, gemms, count)
                                     : play_match(match, problem);
    if (bench->options.progress != NULL) {
        fprintf(bench->options.progress, "%s: %s\n", result->problem,
                status == 0 ? "measured" : error);
    }
    if (status == 0) {
        *ret_result = *result;
    }
    for (size_t i = 0; i < match->contender_count; i++) {
        if (match->contenders[i].graph != NULL) {
            bench->driver->graph_exec_destroy(match->contenders[i].graph);
        }
    }
    cublaslt_plan_destroy(&match->plain);
    cublaslt_plan_destroy(&match->gelu_bias);
    elementwise_destroy(&match->whole);
    elementwise_destroy(&match->add);
    gemm_dense_destroy(&match->dense);
    jit_gemm_destroy(&match->gemm);
    rival_scales_destroy(&match->rival_scales);
    gemm_sets_destroy(&match->sets);
    free(match);
    free(result);
    return status;
}

int gemm_bench_measure(struct gemm_bench *bench, const struct gemm_bench_problem *problem,
                       struct gemm_bench_result *ret_result,
                       char error[GEMM_BENCH_ERROR_SIZE])
{
    return measure(bench, problem, NULL, 0, ret_result, error);
}

int gemm_bench_measure_kernels(struct gemm_bench *bench,
                               const struct gemm_bench_problem *problem,
                               jit_gemm *const *gemms, size_t count,
                               struct gemm_bench_result *ret_result,
                               char error[GEMM_BENCH_ERROR_SIZE])
{
    if (count == 0 || count > GEMM_BENCH_MAX_ENTRIES) {
        return bench_fail(error, "%zu kernels: give 1 to %d", count,
                          GEMM_BENCH_MAX_ENTRIES);
    }
    return measure(bench, problem, gemms, count, ret_result, error);
}
