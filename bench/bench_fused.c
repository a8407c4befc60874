/* SPDX-License-Identifier: MIT */
/*
 * What epilogues cost: each problem and its variants, all in one process, take turns in
 * short bursts after a rest, so that neither a warming device nor its limit of power makes
 * one of them slower. See README.md in this folder.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_util.h"
#include "gemm_set.h"
#include "named_epilogues.h"

#define MAX_VARIANTS 64
#define MAX_ROUNDS   200
#define MAX_THREADS  16
#define TEXT_SIZE    512

struct fused_arguments {
    const char *variants[MAX_VARIANTS];
    size_t variant_count;
    long rounds, rest_ms, burst_us, warm_ms, device;
    long rotate_mib;               /* 0: twice the L2 cache */
    const char *driver, *out_path; /* NULL: the machine's own driver, no file */
    struct bench_problems problems;
};

/* A problem, alone or with the words of a variant. */
struct contender {
    const char *variant; /* "": the problem as it is given */
    char text[TEXT_SIZE];
    char error[BENCH_ERROR_SIZE]; /* why it takes no part, or empty */
    jit_gemm_problem problem;
    struct named_epilogue named;
    jit_gemm *gemm;
    struct gemm_sets *sets;
    size_t next_set;
    double us[MAX_ROUNDS];
};

/* All of one problem; the first contender is the problem as it is given. */
struct match {
    jit_gemm_context *context;
    const struct fused_arguments *arguments;
    jit_gemm_timer *timer;
    struct contender contenders[MAX_VARIANTS + 1];
    size_t count;
    size_t next_create; /* of the threads that compile; under `lock` */
    pthread_mutex_t lock;
    long launches; /* that are timed in a burst */
};

static const char *const k_variants[] = {"epilogue=bias",
                                         "epilogue=gelu",
                                         "epilogue=residual",
                                         "epilogue=gelu_bias_residual",
                                         "epilogue=gelu_aux",
                                         "epilogue=row_sum",
                                         "epilogue=bias_gradient",
                                         "epilogue=absmax",
                                         "epilogue=dropout",
                                         "d=e4m3",
                                         "d=e4m3 epilogue=quantise",
                                         "d=e4m3 d_scale=1x128",
                                         "d=mxfp8",
                                         "epilogue=swiglu",
                                         "pair=halves epilogue=swiglu"};

static const char k_usage[] =
    "usage: bench_fused [OPTION]... [PROBLEM]...\n"
    "Times each problem with the words of each variant beside the problem as it is, in\n"
    "turns of short bursts.\n"
    "  --with WORDS    a variant: words added to each problem, such as 'epilogue=bias'; may\n"
    "                  be given several times, else the list of README.md\n"
    "  --rounds N      default 9\n"
    "  --burst-us N    launches of a burst take about so long, and are three at least;\n"
    "                  default 300\n"
    "  --rest-ms N     pause before each burst, default 10\n"
    "  --warm-ms N     before the first burst of a problem, default 100\n"
    "  --rotate-mib N  inputs that take turns exceed so many MiB, default twice L2\n"
    "  --device N      device ordinal, default 0\n"
    "  --driver FILE   a CUDA driver, such as the emulator's library, to try the program\n"
    "  --out FILE      appends one line of JSON a problem and variant\n"
    "Epilogues that a problem may name: " NAMED_EPILOGUES ",\n"
    "and the library's own.\n";

/* ------------------------------------------------------------------------- contenders */

static void create_one(struct match *match, struct contender *contender)
{
    if (named_epilogues_parse(contender->text, &contender->problem, &contender->named,
                              contender->error) == 0 &&
        jit_gemm_create(match->context, &contender->problem, &contender->gemm) !=
            JIT_GEMM_OK) {
        bench_fail(contender->error, "%s", jit_gemm_last_error());
    }
}

static void *create_some(void *user)
{
    struct match *match = user;
    for (;;) {
        pthread_mutex_lock(&match->lock);
        const size_t mine = match->next_create++;
        pthread_mutex_unlock(&match->lock);
        if (mine >= match->count) {
            return NULL;
        }
        create_one(match, &match->contenders[mine]);
    }
}

/* By as many threads as there are processors. */
static void create_all(struct match *match)
{
    pthread_t threads[MAX_THREADS];
    size_t started = 0;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    while (started + 1 < MAX_THREADS && (long)started + 1 < processors &&
           pthread_create(&threads[started], NULL, create_some, match) == 0) {
        started++;
    }
    create_some(match);
    for (size_t i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int fill_contender(struct match *match, struct contender *contender)
{
    const long rotate_mib = match->arguments->rotate_mib;
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    if (jit_gemm_device_get_info(match->context, &info) != JIT_GEMM_OK) {
        return bench_fail(contender->error, "device: %s", jit_gemm_last_error());
    }
    const struct gemm_sets_request request = {
        .problem = &contender->problem,
        .epilogue = contender->named.is_none ? NULL : &contender->named.epilogue,
        .gemm = contender->gemm,
        .rotate_bytes =
            rotate_mib > 0 ? (size_t)rotate_mib << 20 : 2 * (size_t)info.l2_bytes,
        .memory_bytes = (size_t)info.memory_bytes,
        .seed = 1};
    if (gemm_sets_create(match->context, &request, &contender->sets, contender->error) !=
        0) {
        return -1;
    }
    return gemm_sets_give_workspace(contender->sets, contender->gemm, contender->error);
}

/* ----------------------------------------------------------------------------- timing */

static int launch(struct contender *contender)
{
    struct gemm_sets *sets = contender->sets;
    const jit_gemm_args *args = &sets->args[contender->next_set];
    contender->next_set =
        contender->next_set + 1 < sets->count ? contender->next_set + 1 : 0;
    return jit_gemm_run(contender->gemm, args, NULL) == JIT_GEMM_OK
               ? 0
               : bench_fail(contender->error, "%s", jit_gemm_last_error());
}

/* One launch that is not timed, so that the first event finds the device busy, and those
 * that are. */
static int time_burst(struct match *match, struct contender *contender, long launches,
                      double *ret_us)
{
    double us = 0;
    int status = launch(contender);
    jit_gemm_status timed = jit_gemm_timer_start(match->timer, NULL);
    for (long i = 0; i < launches && status == 0; i++) {
        status = launch(contender);
    }
    if (timed == JIT_GEMM_OK) {
        timed = jit_gemm_timer_stop(match->timer, NULL);
    }
    if (timed == JIT_GEMM_OK) {
        timed = jit_gemm_timer_elapsed_us(match->timer, &us);
    }
    if (status == 0 && timed != JIT_GEMM_OK) {
        status = bench_fail(contender->error, "%s", jit_gemm_last_error());
    }
    if (status == 0) {
        *ret_us = us / (double)launches;
    }
    return status;
}

/* Until the device is warm; says how many launches a burst has. */
static int warm(struct match *match)
{
    struct contender *plain = &match->contenders[0];
    const double end_us = bench_now_us() + 1000.0 * (double)match->arguments->warm_ms;
    double us = 0;
    do {
        if (time_burst(match, plain, 3, &us) != 0) {
            return -1;
        }
    } while (bench_now_us() < end_us);
    match->launches = (long)((double)match->arguments->burst_us / us);
    match->launches = match->launches < 3 ? 3 : match->launches;
    return 0;
}

static bool takes_part(const struct contender *contender)
{
    return contender->error[0] == '\0';
}

/* Rounds go there and back by turns: what comes first in one comes last in the next. */
static void time_rounds(struct match *match)
{
    for (long round = 0; round < match->arguments->rounds; round++) {
        for (size_t i = 0; i < match->count; i++) {
            struct contender *contender =
                &match->contenders[round % 2 == 0 ? i : match->count - 1 - i];
            if (takes_part(contender)) {
                usleep((useconds_t)(match->arguments->rest_ms * 1000));
                time_burst(match, contender, match->launches, &contender->us[round]);
            }
        }
    }
}

/* ---------------------------------------------------------------------------- reports */

static void report_json(const struct match *match, const struct contender *contender,
                        const char *problem, const struct bench_stats *us,
                        const struct bench_stats *ratio, const char *device, FILE *json)
{
    char date[32];
    jit_gemm_info info = {.struct_size = sizeof(info)};
    bench_date(date);
    jit_gemm_get_info(contender->gemm, &info);
    fprintf(json,
            "{\"date\":\"%s\",\"bench\":\"fused\",\"jit_gemm\":\"%s\",\"device\":", date,
            jit_gemm_version_string());
    bench_print_json_string(json, device);
    fprintf(json, ",\"problem\":");
    bench_print_json_string(json, problem);
    fprintf(json, ",\"with\":");
    bench_print_json_string(json, contender->variant);
    fprintf(json, ",\"config\":");
    bench_print_json_string(json, info.config);
    fprintf(json,
            ",\"registers\":%u,\"spill_bytes\":%u,\"rounds\":%ld,\"launches\":%ld,"
            "\"rest_ms\":%ld,\"sets\":%zu,\"median_us\":%.3f,\"min_us\":%.3f,"
            "\"over_plain\":%.4f,\"over_plain_q1\":%.4f,\"over_plain_q3\":%.4f}\n",
            info.registers, info.spill_bytes, match->arguments->rounds, match->launches,
            match->arguments->rest_ms, contender->sets->count, us->median, us->min,
            ratio->median, ratio->q1, ratio->q3);
}

static void report(const struct match *match, const char *problem, const char *device,
                   FILE *json)
{
    const size_t rounds = (size_t)match->arguments->rounds;
    const struct contender *plain = &match->contenders[0];
    for (size_t i = 0; i < match->count; i++) {
        const struct contender *contender = &match->contenders[i];
        const char *name = i == 0 ? "(as it is)" : contender->variant;
        if (!takes_part(contender)) {
            printf("  %-28s %s\n", name, contender->error);
            continue;
        }
        double us[MAX_ROUNDS];
        double ratios[MAX_ROUNDS];
        for (size_t round = 0; round < rounds; round++) {
            us[round] = contender->us[round];
            ratios[round] = contender->us[round] / plain->us[round];
        }
        const struct bench_stats us_stats = bench_stats_of(us, rounds);
        const struct bench_stats ratio_stats = bench_stats_of(ratios, rounds);
        printf("  %-28s %9.2f us, least %9.2f  %6.3f (%.3f to %.3f)\n", name,
               us_stats.median, us_stats.min, ratio_stats.median, ratio_stats.q1,
               ratio_stats.q3);
        if (json != NULL) {
            report_json(match, contender, problem, &us_stats, &ratio_stats, device, json);
        }
    }
    fflush(stdout);
}

/* ------------------------------------------------------------------------------- runs */

static void add_contender(struct match *match, const char *problem, const char *variant)
{
    struct contender *contender = &match->contenders[match->count++];
    contender->variant = variant;
    const int wrote = snprintf(contender->text, sizeof(contender->text), "%s%s%s", problem,
                               variant[0] != '\0' ? " " : "", variant);
    if (wrote < 0 || (size_t)wrote >= sizeof(contender->text)) {
        bench_fail(contender->error, "more than %d bytes of a problem's text", TEXT_SIZE);
    }
}

/* A variant that fails is reported, and the others are measured; the result is -1 then. */
static int measure_contenders(struct match *match, const char *problem, const char *device,
                              FILE *json)
{
    struct contender *plain = &match->contenders[0];
    create_all(match);
    for (size_t i = 0; i < match->count; i++) {
        if (takes_part(&match->contenders[i])) {
            fill_contender(match, &match->contenders[i]);
        }
    }
    if (!takes_part(plain) || warm(match) != 0) {
        fprintf(stderr, "bench_fused: '%s': %s\n", problem, plain->error);
        return -1;
    }
    time_rounds(match);
    if (!takes_part(plain)) { /* all ratios are to it */
        fprintf(stderr, "bench_fused: '%s': %s\n", problem, plain->error);
        return -1;
    }
    printf("%s: bursts of %ld\n", problem, match->launches);
    report(match, problem, device, json);
    int status = 0;
    for (size_t i = 0; i < match->count; i++) {
        status = takes_part(&match->contenders[i]) ? status : -1;
    }
    return status;
}

static int measure_problem(jit_gemm_context *context,
                           const struct fused_arguments *arguments, const char *problem,
                           const char *device, FILE *json)
{
    struct match *match = calloc(1, sizeof(*match));
    if (match == NULL) {
        fprintf(stderr, "bench_fused: out of memory\n");
        return -1;
    }
    match->context = context;
    match->arguments = arguments;
    pthread_mutex_init(&match->lock, NULL);
    add_contender(match, problem, "");
    for (size_t i = 0; i < arguments->variant_count; i++) {
        add_contender(match, problem, arguments->variants[i]);
    }
    int status = -1;
    if (jit_gemm_timer_create(context, &match->timer) == JIT_GEMM_OK) {
        status = measure_contenders(match, problem, device, json);
    } else {
        fprintf(stderr, "bench_fused: %s\n", jit_gemm_last_error());
    }
    jit_gemm_device_synchronize(context);
    for (size_t i = 0; i < match->count; i++) {
        gemm_sets_destroy(&match->contenders[i].sets);
        jit_gemm_destroy(&match->contenders[i].gemm);
    }
    jit_gemm_timer_destroy(&match->timer);
    pthread_mutex_destroy(&match->lock);
    free(match);
    return status;
}

static int measure_all(const struct fused_arguments *arguments, FILE *json)
{
    char error[BENCH_ERROR_SIZE] = "";
    jit_gemm_context *context = NULL;
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .driver = arguments->driver,
                                              .device = (int32_t)arguments->device,
                                              .exact_device = 1};
    int status = 0;
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK ||
        jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_fused: %s\n", jit_gemm_last_error());
        status = -1;
    } else if (named_epilogues_register(context, error) != 0) {
        fprintf(stderr, "bench_fused: %s\n", error);
        status = -1;
    } else {
        printf("# jit_gemm %s, %s; medians of %ld rounds\n", jit_gemm_version_string(),
               info.name, arguments->rounds);
    }
    const size_t count = status == 0 ? arguments->problems.count : 0;
    for (size_t i = 0; i < count; i++) {
        if (measure_problem(context, arguments, arguments->problems.texts[i], info.name,
                            json) != 0) {
            status = -1;
        }
    }
    jit_gemm_context_destroy(&context);
    return status;
}

/* -------------------------------------------------------------------------- arguments */

static int read_option(void *user, const char *option, const char *value)
{
    struct fused_arguments *arguments = user;
    const struct {
        const char *name;
        long max, *target;
    } counts[] = {{"--rounds", MAX_ROUNDS, &arguments->rounds},
                  {"--burst-us", 10000000, &arguments->burst_us},
                  {"--rest-ms", 999, &arguments->rest_ms},
                  {"--warm-ms", 60000, &arguments->warm_ms},
                  {"--rotate-mib", 65536, &arguments->rotate_mib}};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (strcmp(option, counts[i].name) == 0) {
            return bench_parse_count(option, value, counts[i].max, counts[i].target);
        }
    }
    if (strcmp(option, "--device") == 0) {
        arguments->device = 0;
        return strcmp(value, "0") == 0
                   ? 0
                   : bench_parse_count(option, value, 255, &arguments->device);
    }
    if (strcmp(option, "--driver") == 0) {
        arguments->driver = value;
        return 0;
    }
    if (strcmp(option, "--out") == 0) {
        arguments->out_path = value;
        return 0;
    }
    if (strcmp(option, "--with") == 0 && arguments->variant_count < MAX_VARIANTS) {
        arguments->variants[arguments->variant_count++] = value;
        return 0;
    }
    fprintf(stderr, "bench_fused: '%s %s' is not an option, or one too many\n", option,
            value);
    return -1;
}

int main(int argc, char **argv)
{
    static const char *const defaults[2] = {"4096x4096x4096 bf16", "1024x1024x1024 bf16"};
    struct fused_arguments arguments = {
        .rounds = 9, .rest_ms = 10, .burst_us = 300, .warm_ms = 100};
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(k_usage, stdout);
        return 0;
    }
    if (bench_read_arguments("bench_fused", argc, argv, read_option, &arguments, defaults,
                             &arguments.problems) != 0) {
        return 2;
    }
    if (arguments.variant_count == 0) {
        arguments.variant_count = sizeof(k_variants) / sizeof(k_variants[0]);
        memcpy(arguments.variants, k_variants, sizeof(k_variants));
    }
    FILE *json = NULL;
    if (bench_open_output("bench_fused", arguments.out_path, &json) != 0) {
        return 2;
    }
    int status = measure_all(&arguments, json);
    if (bench_close_output("bench_fused", arguments.out_path, json) != 0) {
        status = -1;
    }
    return status == 0 ? 0 : 1;
}
