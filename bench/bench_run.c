/* SPDX-License-Identifier: MIT */
/*
 * Host time of jit_gemm_run: on a driver that does nothing, which leaves the library's own
 * time; and on a GPU, beside a bare cuLaunchKernelEx of an empty kernel with the same grid,
 * cluster, shared memory, attributes and bytes of parameters. See README.md in this folder.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench_util.h"
#include "cuda_driver.h"
#include "gemm_set.h"
#include "named_epilogues.h"
#include "small_kernel.h"

#define MAX_BATCHES  5001
#define WARM_BATCHES 30
#define MAX_LAUNCHES 400 /* of one batch: the queue of a stream holds about 1000 */
#define SETS         512 /* of addresses, when all of them change at every call */
#define GOAL_US      2.0
#define GOAL_RATIO   1.3
#define MAX_PARAMS   4096

struct run_arguments {
    bool with_null, with_device;
    int device_is_wanted; /* not 0: its absence is a failure */
    const char *null_driver, *nvrtc_path, *out_path;
    long batches, launches, device;
    struct bench_problems problems;
};

/* What a bare launch of the same form is made of. */
struct bare_launch {
    struct small_kernel kernel;
    CUlaunchConfig config;
    CUlaunchAttribute attributes[2];
    unsigned char params[MAX_PARAMS];
};

enum series { UNCHANGED = 0, CHANGING = 1, BARE = 2, SERIES_COUNT = 3 };

/* One problem in one context. */
struct run_case {
    jit_gemm_context *context;
    jit_gemm *gemm;
    struct gemm_sets *sets;
    struct cuda_driver *driver; /* NULL: no bare launch */
    struct bare_launch bare;
    size_t next_set;
    double samples[SERIES_COUNT][MAX_BATCHES];
};

static const char k_usage[] =
    "usage: bench_run [OPTION]... [PROBLEM]...\n"
    "Times jit_gemm_run on the host.\n"
    "  --via WHAT          null (driver that does nothing), device, or auto (default): null,\n"
    "                      and device if there is one\n"
    "  --batches N         timed batches, default 501\n"
    "  --launches N        calls of one batch, default 200\n"
    "  --device N          device ordinal, default 0\n"
    "  --null-driver FILE  default null_driver.so beside this program\n"
    "  --nvrtc PATH        file or folder of NVRTC, for the empty kernel\n"
    "  --out FILE          appends one line of JSON a problem and driver\n"
    "Epilogues that a problem may name: " NAMED_EPILOGUES ".\n";

/* -------------------------------------------------------------------- the bare launch */

/* Reads `name = <number>` from the generated source, which names every constant. */
static int find_constant(const char *source, const char *name, unsigned *ret_value)
{
    const char *at = source;
    const size_t length = strlen(name);
    while ((at = strstr(at, name)) != NULL) {
        unsigned value = 0;
        at += length;
        /* NOLINTNEXTLINE(cert-err34-c): text that the library wrote, in range */
        if (sscanf(at, " = %u", &value) == 1) {
            *ret_value = value;
            return 0;
        }
    }
    return -1;
}

static int read_params_bytes(struct run_case *run, const jit_gemm_problem *problem,
                             unsigned *ret_bytes, char error[BENCH_ERROR_SIZE])
{
    jit_gemm_artifact *artifact = NULL;
    if (jit_gemm_build(run->context, problem, JIT_GEMM_EMIT_SOURCE, &artifact) !=
        JIT_GEMM_OK) {
        return bench_fail(error, "build: %s", jit_gemm_last_error());
    }
    const char *source = jit_gemm_artifact_data(artifact, NULL);
    const int status = find_constant(source, "kParamsBytes", ret_bytes);
    jit_gemm_artifact_destroy(&artifact);
    if (status != 0 || *ret_bytes == 0 || *ret_bytes > MAX_PARAMS) {
        return bench_fail(error, "the generated source names no usable kParamsBytes");
    }
    return 0;
}

static void fill_launch(struct bare_launch *bare, const jit_gemm_info *info)
{
    unsigned cluster_m = 1;
    unsigned cluster_n = 1;
    unsigned count = 0;
    const char *cluster = strstr(info->config, "cluster=");
    if (cluster != NULL) {
        /* NOLINTNEXTLINE(cert-err34-c): text that the library wrote, in range */
        sscanf(cluster, "cluster=%ux%u", &cluster_m, &cluster_n);
    }
    if (cluster_m * cluster_n > 1) {
        bare->attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        bare->attributes[count].value.clusterDim.x = cluster_m * cluster_n;
        bare->attributes[count].value.clusterDim.y = 1;
        bare->attributes[count].value.clusterDim.z = 1;
        count++;
    }
    if (strstr(info->config, "pdl=1") != NULL) {
        bare->attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        bare->attributes[count].value.programmaticStreamSerializationAllowed = 1;
        count++;
    }
    bare->config = (CUlaunchConfig){.gridDimX = info->grid_ctas,
                                    .gridDimY = 1,
                                    .gridDimZ = 1,
                                    .blockDimX = info->threads,
                                    .blockDimY = 1,
                                    .blockDimZ = 1,
                                    .sharedMemBytes = info->smem_bytes,
                                    .attrs = bare->attributes,
                                    .numAttrs = count};
}

static int prepare_bare(struct run_case *run, const jit_gemm_problem *problem,
                        const char *nvrtc_path, char error[BENCH_ERROR_SIZE])
{
    char source[512];
    unsigned params_bytes = 0;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    if (read_params_bytes(run, problem, &params_bytes, error) != 0) {
        return -1;
    }
    if (jit_gemm_get_info(run->gemm, &info) != JIT_GEMM_OK) {
        return bench_fail(error, "info: %s", jit_gemm_last_error());
    }
    snprintf(source, sizeof(source),
             "struct alignas(8) Params { unsigned char bytes[%u]; };\n"
             "extern \"C\" __global__ void __launch_bounds__(%u, 1)\n"
             "empty(const __grid_constant__ Params params) {}\n",
             params_bytes, info.threads);
    if (small_kernel_load(run->driver, nvrtc_path, source, "empty", &run->bare.kernel,
                          error) != 0) {
        return -1;
    }
    fill_launch(&run->bare, &info);
    return cuda_driver_check(
        run->driver,
        run->driver->function_set_attribute(run->bare.kernel.function,
                                            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            (int)info.smem_bytes),
        "cuFuncSetAttribute", error);
}

/* ----------------------------------------------------------------------------- timing */

static int time_bare(struct run_case *run, long launches, double *ret_us,
                     char error[BENCH_ERROR_SIZE])
{
    struct bare_launch *bare = &run->bare;
    CUresult result = CUDA_SUCCESS;
    const double begin_us = bench_now_us();
    for (long i = 0; i < launches && result == CUDA_SUCCESS; i++) {
        void *arguments[] = {bare->params};
        result = run->driver->launch(&bare->config, bare->kernel.function, arguments, NULL);
    }
    *ret_us = (bench_now_us() - begin_us) / (double)launches;
    return cuda_driver_check(run->driver, result, "cuLaunchKernelEx", error);
}

static int time_run(struct run_case *run, int changing, long launches, double *ret_us,
                    char error[BENCH_ERROR_SIZE])
{
    const struct gemm_sets *sets = run->sets;
    jit_gemm_status status = JIT_GEMM_OK;
    size_t set = changing ? run->next_set : 0;
    const double begin_us = bench_now_us();
    for (long i = 0; i < launches && status == JIT_GEMM_OK; i++) {
        status = jit_gemm_run(run->gemm, &sets->args[set], NULL);
        if (changing) {
            set = set + 1 < sets->count ? set + 1 : 0;
        }
    }
    *ret_us = (bench_now_us() - begin_us) / (double)launches;
    if (changing) {
        run->next_set = set;
    }
    return status == JIT_GEMM_OK
               ? 0
               : bench_fail(error, "jit_gemm_run: %s", jit_gemm_last_error());
}

/* One batch of each, in turn; the device is idle at the start of each. */
static int time_batch(struct run_case *run, long launches, double us[SERIES_COUNT],
                      char error[BENCH_ERROR_SIZE])
{
    for (int series = 0; series < SERIES_COUNT; series++) {
        if (series == BARE && run->driver == NULL) {
            us[series] = 0.0;
            continue;
        }
        const int status = series == BARE ? time_bare(run, launches, &us[series], error)
                                          : time_run(run, series == CHANGING, launches,
                                                     &us[series], error);
        if (status != 0) {
            return -1;
        }
        if (jit_gemm_device_synchronize(run->context) != JIT_GEMM_OK) {
            return bench_fail(error, "synchronize: %s", jit_gemm_last_error());
        }
    }
    return 0;
}

static int time_batches(struct run_case *run, const struct run_arguments *arguments,
                        char error[BENCH_ERROR_SIZE])
{
    for (long batch = -WARM_BATCHES; batch < arguments->batches; batch++) {
        double us[SERIES_COUNT];
        if (time_batch(run, arguments->launches, us, error) != 0) {
            return -1;
        }
        for (int series = 0; series < SERIES_COUNT && batch >= 0; series++) {
            run->samples[series][batch] = us[series];
        }
    }
    return 0;
}

/* -------------------------------------------------------------------------- reporting */

static const char *const k_series_names[] = {"same addresses", "all addresses change",
                                             "bare cuLaunchKernelEx"};

static void print_series(const char *name, const struct bench_stats *stats)
{
    printf("  %-24s %9.3f %9.3f %9.3f %9.3f %9.3f", name, stats->median, stats->min,
           stats->q1, stats->q3, stats->max);
}

static void report(struct run_case *run, const struct run_arguments *arguments,
                   const char *problem, const char *device, FILE *json)
{
    struct bench_stats stats[SERIES_COUNT];
    const bool has_bare = run->driver != NULL;
    for (int series = 0; series < SERIES_COUNT; series++) {
        stats[series] = bench_stats_of(run->samples[series], (size_t)arguments->batches);
    }
    printf("\n%s on %s\n  %-24s %9s %9s %9s %9s %9s  us per call\n", problem, device, "",
           "median", "min", "quart. 1", "quart. 3", "max");
    for (int series = 0; series < BARE; series++) {
        print_series(k_series_names[series], &stats[series]);
        printf("  %s (goal: under %g us)",
               stats[series].median < GOAL_US ? "PASS" : "MISSED", GOAL_US);
        if (has_bare) {
            const double ratio = stats[series].median / stats[BARE].median;
            printf("; %.3f of bare: %s (goal: within %g)", ratio,
                   ratio <= GOAL_RATIO ? "PASS" : "MISSED", GOAL_RATIO);
        }
        printf("\n");
    }
    if (has_bare) {
        print_series(k_series_names[BARE], &stats[BARE]);
        printf("\n");
    }
    fflush(stdout);
    if (json == NULL) {
        return;
    }
    char date[32];
    bench_date(date);
    fprintf(json,
            "{\"date\":\"%s\",\"bench\":\"run\",\"jit_gemm\":\"%s\",\"problem\":", date,
            jit_gemm_version_string());
    bench_print_json_string(json, problem);
    fprintf(json, ",\"device\":");
    bench_print_json_string(json, device);
    char cpu[128];
    bench_cpu_name(cpu, sizeof(cpu));
    fprintf(json, ",\"cpu\":");
    bench_print_json_string(json, cpu);
    for (int series = 0; series < (has_bare ? SERIES_COUNT : BARE); series++) {
        static const char *const names[] = {"unchanged_us", "changing_us", "bare_us"};
        fprintf(json,
                ",\"%s\":{\"median\":%.4f,\"min\":%.4f,\"q1\":%.4f,\"q3\":%.4f,"
                "\"max\":%.4f}",
                names[series], stats[series].median, stats[series].min, stats[series].q1,
                stats[series].q3, stats[series].max);
    }
    fprintf(json, ",\"batches\":%ld,\"launches\":%ld}\n", arguments->batches,
            arguments->launches);
}

/* ------------------------------------------------------------------------------ cases */

static int prepare_case(struct run_case *run, const struct run_arguments *arguments,
                        const char *text, char error[BENCH_ERROR_SIZE])
{
    jit_gemm_problem problem;
    struct named_epilogue named;
    struct gemm_shape shape;
    if (named_epilogues_parse(text, &problem, &named, error) != 0) {
        return -1;
    }
    if (jit_gemm_create(run->context, &problem, &run->gemm) != JIT_GEMM_OK) {
        return bench_fail(error, "create: %s", jit_gemm_last_error());
    }
    jit_gemm_info kernel = {.struct_size = sizeof(kernel)};
    if (jit_gemm_get_info(run->gemm, &kernel) != JIT_GEMM_OK) {
        return bench_fail(error, "%s", jit_gemm_last_error());
    }
    gemm_shape_read(&problem, &kernel, &shape);
    const size_t input_bytes =
        (size_t)(shape.a_batch_stride + shape.b_batch_stride) * (size_t)shape.batch * 2;
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    if (jit_gemm_device_get_info(run->context, &info) != JIT_GEMM_OK) {
        return bench_fail(error, "device: %s", jit_gemm_last_error());
    }
    const struct gemm_sets_request request = {.problem = &problem,
                                              .epilogue =
                                                  named.is_none ? NULL : &named.epilogue,
                                              .gemm = run->gemm,
                                              .rotate_bytes = input_bytes * SETS,
                                              .memory_bytes = (size_t)info.memory_bytes,
                                              .seed = 1};
    if (gemm_sets_create(run->context, &request, &run->sets, error) != 0 ||
        gemm_sets_give_workspace(run->sets, run->gemm, error) != 0) {
        return -1;
    }
    return run->driver != NULL ? prepare_bare(run, &problem, arguments->nvrtc_path, error)
                               : 0;
}

static int measure_problem(jit_gemm_context *context, struct cuda_driver *driver,
                           const struct run_arguments *arguments, const char *text,
                           const char *device, FILE *json)
{
    char error[BENCH_ERROR_SIZE] = "";
    struct run_case *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        fprintf(stderr, "bench_run: out of memory\n");
        return -1;
    }
    run->context = context;
    run->driver = driver;
    int status = prepare_case(run, arguments, text, error);
    if (status == 0) {
        status = time_batches(run, arguments, error);
    }
    if (status == 0) {
        report(run, arguments, text, device, json);
    } else {
        fprintf(stderr, "bench_run: '%s' on %s: %s\n", text, device, error);
    }
    if (driver != NULL) {
        small_kernel_unload(driver, &run->bare.kernel);
    }
    gemm_sets_destroy(&run->sets);
    jit_gemm_destroy(&run->gemm);
    free(run);
    return status;
}

/* All problems in one context. `driver_path` NULL is the machine's own driver. */
static int measure_all(const struct run_arguments *arguments, const char *driver_path,
                       struct cuda_driver *driver, FILE *json)
{
    char error[BENCH_ERROR_SIZE] = "";
    jit_gemm_context *context = NULL;
    jit_gemm_device_info info = {.struct_size = sizeof(info)};
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options),
        .driver = driver_path,
        .device = driver_path == NULL ? (int32_t)arguments->device : 0,
        .exact_device = 1};
    int status = 0;
    if (jit_gemm_context_create(&options, &context) != JIT_GEMM_OK ||
        jit_gemm_device_get_info(context, &info) != JIT_GEMM_OK) {
        fprintf(stderr, "bench_run: %s\n", jit_gemm_last_error());
        status = -1;
    } else if (named_epilogues_register(context, error) != 0) {
        fprintf(stderr, "bench_run: %s\n", error);
        status = -1;
    }
    for (size_t i = 0; i < arguments->problems.count && status == 0; i++) {
        status = measure_problem(context, driver, arguments, arguments->problems.texts[i],
                                 info.name, json);
    }
    jit_gemm_context_destroy(&context);
    return status;
}

static int measure_on_device(const struct run_arguments *arguments, FILE *json)
{
    char error[BENCH_ERROR_SIZE] = "";
    struct cuda_driver *driver = NULL;
    if (cuda_driver_open((int)arguments->device, &driver, error) != 0) {
        printf("\nno GPU part: %s\n", error);
        return arguments->device_is_wanted ? -1 : 0;
    }
    const int status = measure_all(arguments, NULL, driver, json);
    cuda_driver_close(&driver);
    return status;
}

static int read_option(void *user, const char *option, const char *value)
{
    struct run_arguments *arguments = user;
    if (strcmp(option, "--batches") == 0) {
        return bench_parse_count(option, value, MAX_BATCHES, &arguments->batches);
    }
    if (strcmp(option, "--launches") == 0) {
        return bench_parse_count(option, value, MAX_LAUNCHES, &arguments->launches);
    }
    if (strcmp(option, "--device") == 0) {
        arguments->device = 0;
        return strcmp(value, "0") == 0
                   ? 0
                   : bench_parse_count(option, value, 255, &arguments->device);
    }
    if (strcmp(option, "--null-driver") == 0) {
        arguments->null_driver = value;
        return 0;
    }
    if (strcmp(option, "--nvrtc") == 0) {
        arguments->nvrtc_path = value;
        return 0;
    }
    if (strcmp(option, "--out") == 0) {
        arguments->out_path = value;
        return 0;
    }
    if (strcmp(option, "--via") == 0) {
        arguments->with_null = strcmp(value, "device") != 0;
        arguments->with_device = strcmp(value, "null") != 0;
        arguments->device_is_wanted = strcmp(value, "device") == 0;
        if (strcmp(value, "auto") == 0 || arguments->with_null != arguments->with_device) {
            return 0;
        }
    }
    fprintf(stderr, "bench_run: '%s %s' is not an option; see --help\n", option, value);
    return -1;
}

static int read_arguments(int argc, char **argv, struct run_arguments *arguments)
{
    static const char *const defaults[2] = {"128x256x64 bf16",
                                            "128x256x64 bf16 epilogue=gelu_bias_residual"};
    return bench_read_arguments("bench_run", argc, argv, read_option, arguments, defaults,
                                &arguments->problems);
}

int main(int argc, char **argv)
{
    static char null_driver[2304];
    struct run_arguments arguments = {.with_null = true,
                                      .with_device = true,
                                      .null_driver = null_driver,
                                      .batches = 501,
                                      .launches = 200};
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
    if (bench_open_output("bench_run", arguments.out_path, &json) != 0) {
        return 2;
    }
    printf(
        "# jit_gemm %s; %ld batches of %ld calls, the device idle at the start of each\n",
        jit_gemm_version_string(), arguments.batches, arguments.launches);
    int status = 0;
    if (arguments.with_null) {
        status = measure_all(&arguments, arguments.null_driver, NULL, json);
    }
    if (arguments.with_device && status == 0) {
        status = measure_on_device(&arguments, json);
    }
    if (bench_close_output("bench_run", arguments.out_path, json) != 0) {
        status = -1;
    }
    return status == 0 ? 0 : 1;
}
