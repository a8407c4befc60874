/* SPDX-License-Identifier: MIT */
/*
 * What a create costs: cold (nothing cached), from disk, in memory. Every cold and every
 * disk sample is a process of its own: this program runs itself. See README.md in this
 * folder.
 */
#include <errno.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_util.h"
#include "jit_gemm/device.h"
#include "named_epilogues.h"

#define MAX_SAMPLES     999
#define MEMORY_BATCHES  101
#define MEMORY_CREATES  500 /* of one batch */
#define GOAL_COLD_MS    300.0
#define GOAL_DISK_MS    2.0
#define GOAL_MEMORY_US  2.0
#define PATH_TEXT_BYTES 2304

/* How kernels are made runnable. */
enum via {
    VIA_AUTO = 0,
    VIA_DEVICE = 1, /* jit_gemm_create on a GPU */
    VIA_NULL = 2,   /* jit_gemm_create on the driver that does nothing */
    VIA_BUILD = 3   /* jit_gemm_build: no driver at all */
};

static const char *const k_via_names[] = {"auto", "device", "null", "build"};

struct create_arguments {
    enum via via;
    const char *arch; /* of VIA_BUILD */
    const char *null_driver;
    const char *out_path;
    long cold_samples, disk_samples;
    struct bench_problems problems;
    char device[128], cpu[128]; /* names, for the report */
};

/* One create as a child measured it; all in milliseconds. */
struct create_sample {
    double create, context, compile, load;
    double processor; /* time that the create kept processors busy, of all threads */
};

static const char k_usage[] =
    "usage: bench_create [OPTION]... [PROBLEM]...\n"
    "Times jit_gemm_create cold, from disk and in memory.\n"
    "  --via WHAT          device, null (driver that does nothing), build (no driver), or\n"
    "                      auto (default): device if there is one, else build, and null\n"
    "                      for the creates in memory\n"
    "  --cold N            processes that compile, default 9\n"
    "  --disk N            processes that read the disk cache, default 25\n"
    "  --arch NAME         architecture of --via build, default sm_90a\n"
    "  --null-driver FILE  default null_driver.so beside this program\n"
    "  --out FILE          appends one line of JSON a problem\n"
    "Epilogues that a problem may name: " NAMED_EPILOGUES ".\n";

/* ------------------------------------------------------------------------- the child */

static int open_context(enum via via, const char *arch, const char *null_driver,
                        const char *cache_dir, jit_gemm_context **ret_context)
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options),
        .arch = via == VIA_BUILD ? arch : NULL,
        .no_device = via == VIA_BUILD,
        .driver = via == VIA_NULL ? null_driver : NULL,
        .cache_dir = cache_dir,
    };
    char error[BENCH_ERROR_SIZE];
    if (jit_gemm_context_create(&options, ret_context) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_create: context: %s\n", jit_gemm_last_error());
        return -1;
    }
    if (named_epilogues_register(*ret_context, error) != 0) {
        fprintf(stderr, "bench_create: %s\n", error);
        return -1;
    }
    /* A program that runs kernels has a CUDA context by then. */
    if (via != VIA_BUILD && jit_gemm_device_synchronize(*ret_context) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_create: device: %s\n", jit_gemm_last_error());
        return -1;
    }
    return 0;
}

static double read_processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int create_once(jit_gemm_context *context, enum via via,
                       const jit_gemm_problem *problem, struct create_sample *sample)
{
    jit_gemm *gemm = NULL;
    jit_gemm_artifact *artifact = NULL;
    const double begin_us = bench_now_us();
    const double begin_processor_ms = read_processor_ms();
    const jit_gemm_status status =
        via == VIA_BUILD ? jit_gemm_build(context, problem, JIT_GEMM_EMIT_CUBIN, &artifact)
                         : jit_gemm_create(context, problem, &gemm);
    sample->create = (bench_now_us() - begin_us) * 1e-3;
    sample->processor = read_processor_ms() - begin_processor_ms;
    if (status != JIT_GEMM_OK) {
        fprintf(stderr, "bench_create: create: %s\n", jit_gemm_last_error());
        return -1;
    }
    jit_gemm_artifact_destroy(&artifact);
    jit_gemm_destroy(&gemm);
    return 0;
}

/* One create in this process, which must come from where it is meant to. */
static int measure_first(jit_gemm_context *context, enum via via, int cold,
                         const jit_gemm_problem *problem, struct create_sample *sample)
{
    jit_gemm_stats stats = {.struct_size = sizeof(stats)};
    if (create_once(context, via, problem, sample) != 0) {
        return -1;
    }
    if (jit_gemm_context_stats(context, &stats) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_create: stats: %s\n", jit_gemm_last_error());
        return -1;
    }
    const uint64_t meant = cold ? stats.compiles : stats.disk_hits;
    if (meant != 1 || stats.cache_store_errors != 0) {
        fprintf(stderr,
                "bench_create: the kernel did not come from %s: %llu compiles, %llu disk "
                "hits, %llu entries refused, %llu not kept\n",
                cold ? "the compiler" : "the disk cache",
                (unsigned long long)stats.compiles, (unsigned long long)stats.disk_hits,
                (unsigned long long)stats.cache_rejects,
                (unsigned long long)stats.cache_store_errors);
        return -1;
    }
    sample->compile = stats.compile_ms;
    sample->load = stats.load_ms;
    return 0;
}

/* Creates of a kernel that this process has loaded already. */
static int measure_memory(jit_gemm_context *context, const jit_gemm_problem *problem)
{
    static jit_gemm *handles[MEMORY_CREATES];
    static double samples[MEMORY_BATCHES];
    jit_gemm *first = NULL;
    if (jit_gemm_create(context, problem, &first) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_create: create: %s\n", jit_gemm_last_error());
        return -1;
    }
    int status = 0;
    for (size_t batch = 0; batch < MEMORY_BATCHES && status == 0; batch++) {
        size_t made = 0;
        const double begin_us = bench_now_us();
        while (made < MEMORY_CREATES &&
               jit_gemm_create(context, problem, &handles[made]) == JIT_GEMM_OK) {
            made++;
        }
        samples[batch] = (bench_now_us() - begin_us) / MEMORY_CREATES;
        if (made != MEMORY_CREATES) {
            fprintf(stderr, "bench_create: create: %s\n", jit_gemm_last_error());
            status = -1;
        }
        for (size_t i = 0; i < made; i++) {
            jit_gemm_destroy(&handles[i]);
        }
    }
    jit_gemm_destroy(&first);
    if (status == 0) {
        const struct bench_stats stats = bench_stats_of(samples, MEMORY_BATCHES);
        printf("%.6f %.6f %.6f %.6f %.6f\n", stats.min, stats.q1, stats.median, stats.q3,
               stats.max);
    }
    return status;
}

/* argv: program --child MODE VIA ARCH NULL_DRIVER CACHE_DIR PROBLEM */
static int run_child(char **argv)
{
    const char *mode = argv[2];
    const enum via via = (enum via)strtol(argv[3], NULL, 10);
    jit_gemm_context *context = NULL;
    jit_gemm_problem problem;
    struct named_epilogue named;
    char error[BENCH_ERROR_SIZE];
    struct create_sample sample = {0};
    const double begin_us = bench_now_us();
    int status = open_context(via, argv[4], argv[5], argv[6], &context);
    sample.context = (bench_now_us() - begin_us) * 1e-3;
    if (status == 0 && strcmp(mode, "probe") == 0) {
        jit_gemm_device_info info = {.struct_size = sizeof(info)};
        status = jit_gemm_device_get_info(context, &info) == JIT_GEMM_OK ? 0 : -1;
        printf("%s\n", info.name);
    } else if (status == 0) {
        status = named_epilogues_parse(argv[7], &problem, &named, error);
        if (status != 0) {
            fprintf(stderr, "bench_create: %s\n", error);
        } else if (strcmp(mode, "memory") == 0) {
            status = measure_memory(context, &problem);
        } else {
            status =
                measure_first(context, via, strcmp(mode, "cold") == 0, &problem, &sample);
            if (status == 0) {
                printf("%.6f %.6f %.6f %.6f %.6f\n", sample.create, sample.context,
                       sample.compile, sample.load, sample.processor);
            }
        }
    }
    jit_gemm_context_destroy(&context);
    return status == 0 ? 0 : 1;
}

/* ------------------------------------------------------------------------ the parent */

/* Runs a child and reads its line of numbers. `is_quiet`: its messages are dropped. */
static int run_self(const struct create_arguments *arguments, enum via via,
                    const char *mode, const char *cache_dir, const char *problem,
                    bool is_quiet, char *line, size_t line_size)
{
    char via_text[16];
    int ends[2];
    snprintf(via_text, sizeof(via_text), "%d", (int)via);
    const char *const words[] = {"bench_create", "--child",       mode,
                                 via_text,       arguments->arch, arguments->null_driver,
                                 cache_dir,      problem};
    char *child_argv[sizeof(words) / sizeof(words[0]) + 1] = {NULL};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        memcpy(&child_argv[i], &words[i], sizeof(words[i])); /* execv takes char *const * */
    }
    if (pipe(ends) != 0) {
        fprintf(stderr, "bench_create: pipe: %s\n", strerror(errno));
        return -1;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        if (is_quiet && freopen("/dev/null", "w", stderr) == NULL) {
            _exit(126);
        }
        execv("/proc/self/exe", child_argv);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0;
    ssize_t got = 0;
    while (child > 0 && used + 1 < line_size &&
           (got = read(ends[0], line + used, line_size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    line[used] = '\0';
    close(ends[0]);
    int exit_status = -1;
    if (child < 0 || waitpid(child, &exit_status, 0) != child) {
        fprintf(stderr, "bench_create: fork: %s\n", strerror(errno));
        return -1;
    }
    return exit_status == 0 ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int kind,
                        struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_folder(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* An empty folder of our own; the caller removes it. */
static int make_folder(char path[PATH_TEXT_BYTES])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, PATH_TEXT_BYTES, "%s/jit_gemm_bench.XXXXXX",
             base != NULL && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(path) == NULL) {
        fprintf(stderr, "bench_create: '%s': %s\n", path, strerror(errno));
        return -1;
    }
    return 0;
}

static int parse_sample(const char *line, struct create_sample *ret_sample)
{
    /* NOLINTNEXTLINE(cert-err34-c): our own child wrote it; the count is checked */
    return sscanf(line, "%lf %lf %lf %lf %lf", &ret_sample->create, &ret_sample->context,
                  &ret_sample->compile, &ret_sample->load, &ret_sample->processor) == 5
               ? 0
               : -1;
}

struct create_series {
    struct bench_stats total, context, compile, load, without_load, processor;
};

static void summarize_series(const struct create_sample *samples, size_t count,
                             struct create_series *ret_series)
{
    static double values[6][MAX_SAMPLES];
    for (size_t i = 0; i < count; i++) {
        values[0][i] = samples[i].create;
        values[1][i] = samples[i].context;
        values[2][i] = samples[i].compile;
        values[3][i] = samples[i].load;
        values[4][i] = samples[i].create - samples[i].load;
        values[5][i] = samples[i].processor;
    }
    ret_series->total = bench_stats_of(values[0], count);
    ret_series->context = bench_stats_of(values[1], count);
    ret_series->compile = bench_stats_of(values[2], count);
    ret_series->load = bench_stats_of(values[3], count);
    ret_series->without_load = bench_stats_of(values[4], count);
    ret_series->processor = bench_stats_of(values[5], count);
}

/* `cold`: a fresh folder for every process; otherwise one folder, filled beforehand. */
static int run_series(const struct create_arguments *arguments, enum via via,
                      const char *problem, int cold, struct create_series *ret_series)
{
    static struct create_sample samples[MAX_SAMPLES];
    const size_t count = (size_t)(cold ? arguments->cold_samples : arguments->disk_samples);
    char folder[PATH_TEXT_BYTES];
    char line[512];
    int status = make_folder(folder);
    if (status != 0) {
        return -1;
    }
    if (!cold) {
        status = run_self(arguments, via, "cold", folder, problem, 0, line, sizeof(line));
    }
    for (size_t i = 0; i < count && status == 0; i++) {
        if (cold && i > 0) {
            remove_folder(folder);
            if (make_folder(folder) != 0) {
                return -1;
            }
        }
        status = run_self(arguments, via, cold ? "cold" : "disk", folder, problem, 0, line,
                          sizeof(line));
        if (status == 0) {
            status = parse_sample(line, &samples[i]);
        }
    }
    remove_folder(folder);
    if (status == 0) {
        summarize_series(samples, count, ret_series);
    }
    return status;
}

static int run_memory(const struct create_arguments *arguments, enum via via,
                      const char *problem, struct bench_stats *ret_stats)
{
    char folder[PATH_TEXT_BYTES];
    char line[512] = "";
    struct bench_stats stats = {.count = MEMORY_BATCHES};
    if (make_folder(folder) != 0) {
        return -1;
    }
    const int status =
        run_self(arguments, via, "memory", folder, problem, 0, line, sizeof(line));
    remove_folder(folder);
    /* NOLINTNEXTLINE(cert-err34-c): our own child wrote it; the count is checked */
    if (status != 0 || sscanf(line, "%lf %lf %lf %lf %lf", &stats.min, &stats.q1,
                              &stats.median, &stats.q3, &stats.max) != 5) {
        return -1;
    }
    *ret_stats = stats;
    return 0;
}

static void print_row(const char *name, const struct bench_stats *stats, const char *unit,
                      double goal)
{
    printf("  %-26s %10.3f %10.3f %10.3f %10.3f %6zu %-2s", name, stats->median, stats->q1,
           stats->q3, stats->max, stats->count, unit);
    if (goal > 0.0) {
        printf("  %s (goal: under %g %s)", stats->median < goal ? "PASS" : "MISSED", goal,
               unit);
    }
    printf("\n");
}

static void print_json_stats(FILE *out, const char *name, const struct bench_stats *stats)
{
    fprintf(out,
            ",\"%s\":{\"median\":%.4f,\"min\":%.4f,\"q1\":%.4f,\"q3\":%.4f,"
            "\"max\":%.4f,\"count\":%zu}",
            name, stats->median, stats->min, stats->q1, stats->q3, stats->max,
            stats->count);
}

static void print_json(FILE *out, const struct create_arguments *arguments,
                       const char *problem, enum via memory_via,
                       const struct create_series *cold, const struct create_series *disk,
                       const struct bench_stats *memory)
{
    char date[32];
    bench_date(date);
    fprintf(out,
            "{\"date\":\"%s\",\"bench\":\"create\",\"jit_gemm\":\"%s\",\"problem\":", date,
            jit_gemm_version_string());
    bench_print_json_string(out, problem);
    fprintf(out, ",\"device\":");
    bench_print_json_string(out, arguments->device);
    fprintf(out, ",\"cpu\":");
    bench_print_json_string(out, arguments->cpu);
    fprintf(out, ",\"via\":\"%s\",\"memory_via\":\"%s\"", k_via_names[arguments->via],
            k_via_names[memory_via]);
    print_json_stats(out, "cold_ms", &cold->total);
    print_json_stats(out, "cold_compile_ms", &cold->compile);
    print_json_stats(out, "cold_load_ms", &cold->load);
    print_json_stats(out, "cold_processor_ms", &cold->processor);
    print_json_stats(out, "disk_ms", &disk->total);
    print_json_stats(out, "disk_load_ms", &disk->load);
    print_json_stats(out, "disk_without_load_ms", &disk->without_load);
    print_json_stats(out, "memory_us", memory);
    fprintf(out, "}\n");
}

static int measure_problem(const struct create_arguments *arguments, const char *problem,
                           FILE *json)
{
    const enum via via = arguments->via;
    const enum via memory_via = via == VIA_BUILD ? VIA_NULL : via;
    struct create_series cold;
    struct create_series disk;
    struct bench_stats memory;
    printf("\n%s\n  %-26s %10s %10s %10s %10s %6s\n", problem, "", "median", "quartile 1",
           "quartile 3", "max", "count");
    if (run_series(arguments, via, problem, 1, &cold) != 0 ||
        run_series(arguments, via, problem, 0, &disk) != 0 ||
        run_memory(arguments, memory_via, problem, &memory) != 0) {
        fprintf(stderr, "bench_create: '%s': a child failed\n", problem);
        return -1;
    }
    print_row("context create (cold)", &cold.context, "ms", 0.0);
    print_row("cold", &cold.total, "ms", GOAL_COLD_MS);
    print_row("  in the compiler", &cold.compile, "ms", 0.0);
    print_row("  in the driver's load", &cold.load, "ms", 0.0);
    print_row("  processor time", &cold.processor, "ms", 0.0);
    print_row("disk", &disk.total, "ms", 0.0);
    print_row("  in the driver's load", &disk.load, "ms", 0.0);
    print_row("disk without the load", &disk.without_load, "ms", GOAL_DISK_MS);
    print_row("memory", &memory, "us", GOAL_MEMORY_US);
    fflush(stdout);
    if (json != NULL) {
        print_json(json, arguments, problem, memory_via, &cold, &disk, &memory);
    }
    return 0;
}

/* Asks a child for the device, so that this process never opens a driver. */
static int probe_device(const struct create_arguments *arguments, enum via via,
                        bool is_quiet, char *name, size_t size)
{
    char folder[PATH_TEXT_BYTES];
    char line[256];
    if (make_folder(folder) != 0) {
        return -1;
    }
    const int status =
        run_self(arguments, via, "probe", folder, "", is_quiet, line, sizeof(line));
    remove_folder(folder);
    if (status == 0) {
        bench_copy_line(name, size, line);
    }
    return status;
}

static int resolve_via(struct create_arguments *arguments)
{
    const bool is_automatic = arguments->via == VIA_AUTO;
    snprintf(arguments->device, sizeof(arguments->device), "none");
    if (is_automatic) {
        arguments->via = VIA_DEVICE;
    }
    if (arguments->via == VIA_BUILD ||
        probe_device(arguments, arguments->via, is_automatic, arguments->device,
                     sizeof(arguments->device)) == 0) {
        return 0;
    }
    arguments->via = VIA_BUILD;
    return is_automatic ? 0 : -1;
}

static int read_option(void *user, const char *option, const char *value)
{
    struct create_arguments *arguments = user;
    if (strcmp(option, "--cold") == 0) {
        return bench_parse_count(option, value, MAX_SAMPLES, &arguments->cold_samples);
    }
    if (strcmp(option, "--disk") == 0) {
        return bench_parse_count(option, value, MAX_SAMPLES, &arguments->disk_samples);
    }
    if (strcmp(option, "--arch") == 0) {
        arguments->arch = value;
        return 0;
    }
    if (strcmp(option, "--null-driver") == 0) {
        arguments->null_driver = value;
        return 0;
    }
    if (strcmp(option, "--out") == 0) {
        arguments->out_path = value;
        return 0;
    }
    if (strcmp(option, "--via") == 0) {
        for (int via = VIA_AUTO; via <= VIA_BUILD; via++) {
            if (strcmp(value, k_via_names[via]) == 0) {
                arguments->via = (enum via)via;
                return 0;
            }
        }
    }
    fprintf(stderr, "bench_create: '%s %s' is not an option; see --help\n", option, value);
    return -1;
}

static int read_arguments(int argc, char **argv, struct create_arguments *arguments)
{
    static const char *const defaults[2] = {
        "4096x4096x4096 bf16", "4096x4096x4096 bf16 epilogue=gelu_bias_residual"};
    return bench_read_arguments("bench_create", argc, argv, read_option, arguments,
                                defaults, &arguments->problems);
}

int main(int argc, char **argv)
{
    static char null_driver[PATH_TEXT_BYTES];
    struct create_arguments arguments = {.arch = "sm_90a",
                                         .null_driver = null_driver,
                                         .cold_samples = 9,
                                         .disk_samples = 25};
    if (argc == 8 && strcmp(argv[1], "--child") == 0) {
        return run_child(argv);
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(k_usage, stdout);
        return 0;
    }
    if (bench_sibling_path("null_driver.so", null_driver, sizeof(null_driver)) != 0) {
        null_driver[0] = '\0';
    }
    if (read_arguments(argc, argv, &arguments) != 0) {
        return 2;
    }
    FILE *json = NULL;
    if (bench_open_output("bench_create", arguments.out_path, &json) != 0) {
        return 2;
    }
    if (resolve_via(&arguments) != 0) {
        return 1;
    }
    const enum via via = arguments.via;
    bench_cpu_name(arguments.cpu, sizeof(arguments.cpu));
    printf("# jit_gemm %s; device: %s; %s\n# %s\n", jit_gemm_version_string(),
           arguments.device, arguments.cpu,
           via == VIA_DEVICE ? "jit_gemm_create on the GPU"
           : via == VIA_NULL ? "jit_gemm_create on a driver that does nothing"
                             : "no GPU: cold and disk are jit_gemm_build, memory is "
                               "jit_gemm_create on a driver that does nothing");
    printf("# cold and disk: one process a sample, its first create\n");
    int status = 0;
    for (size_t i = 0; i < arguments.problems.count && status == 0; i++) {
        status = measure_problem(&arguments, arguments.problems.texts[i], json);
    }
    if (bench_close_output("bench_create", arguments.out_path, json) != 0) {
        status = -1;
    }
    return status == 0 ? 0 : 1;
}
