/* SPDX-License-Identifier: MIT */
/* jit-gemm prewarm and verify-manifest: a manifest into the disk cache, or into a bundle.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"
#include "jit_gemm/prewarm_device.h"

enum { MAX_ARCHS = 8, BAR_WIDTH = 30, MOST_DEADLINE_S = 1000000 };

static const struct cli_help prewarm_help = {
    "prewarm MANIFEST [--arch ARCH[,ARCH...]] [--device gpu|emulator] [OPTION...]",
    "Compiles every problem of a manifest into the disk cache; what is there already is\n"
    "kept. Needs no GPU. Ctrl-C ends it, with the compiles under way; run it again to go on.\n"
    "The manifest is what jit_gemm_context_write_manifest writes, or written by hand\n"
    "(docs/manifest.md); - is standard input. Its `arch` lines stand for --arch. A dynamic\n"
    "size may be a range, as in `problem m=1..8192 n=4096 k=4096 a=bf16 dynamic=m`: the\n"
    "kernels that `jit-gemm plan --sweep` names for it are built. With --bundle all its\n"
    "kernels are also written to one file, which any number of machines read as a\n"
    "--cache-root.\n",
    "  jit-gemm prewarm model.manifest --arch sm_90a\n"
    "  jit-gemm prewarm model.manifest --arch sm_90a --jobs 4 --cache /srv/model/kernels\n"
    "  jit-gemm prewarm model.manifest --arch sm_90a,sm_100a --bundle model.jgb\n"
    "  jit-gemm prewarm model.manifest --arch sm_90a --estimate\n"
    "  jit-gemm prewarm model.manifest --arch sm_90a --device emulator\n",
};

static const struct cli_help verify_help = {
    "verify-manifest MANIFEST [--arch ARCH[,ARCH...]] [--device gpu|emulator] [OPTION...]",
    "Says whether every kernel of a manifest is in the disk cache or a root: then a program that asks\n"
    "for nothing else compiles nothing. Names each one that is missing; exit code 1 if there\n"
    "is one. Compiles nothing, and needs neither GPU nor compiler. Where the compiler is\n"
    "there, only what this very compiler has made counts, as in a create.\n",
    "  jit-gemm verify-manifest model.manifest --arch sm_90a\n"
    "  jit-gemm verify-manifest model.manifest --arch sm_90a --cache /srv/model/kernels\n"
    "  jit-gemm verify-manifest model.manifest --arch sm_90a --cache-root model.jgb --no-cache\n",
};

/* For the signal handler: set as long as it is installed. */
static _Atomic(jit_gemm_context *) interruptible;

static void cancel_compiles(int number)
{
    (void)number;
    (void)jit_gemm_cancel(interruptible);
}

struct progress {
    bool is_terminal;
    size_t done, total;
    double start_s;
};

static double read_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int show_progress(void *user, size_t done, size_t total, const char *problem)
{
    struct progress *progress = user;
    char bar[BAR_WIDTH + 1];
    size_t filled = total ? done * BAR_WIDTH / total : BAR_WIDTH;

    progress->done = done;
    progress->total = total;
    if (progress->is_terminal) {
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', filled);
        bar[BAR_WIDTH] = '\0';
        const double left_s = done ? (read_seconds() - progress->start_s) *
                                         (double)(total - done) / (double)done
                                   : 0;

        fprintf(stderr, "\r\033[K[%s] %zu/%zu %.0f s left %.50s", bar, done, total, left_s,
                problem);
        fflush(stderr);
    }
    return 0;
}

/* What stands behind the first word of the first such line of the manifest, copied; NULL if
 * there is none. Only so that no device need be opened: the library reads the line itself.
 */
static char *find_manifest_line(const char *manifest, const char *word)
{
    const size_t size = strlen(word);

    for (const char *line = manifest; *line != '\0';) {
        const char *at = line + strspn(line, " \t");

        if (strncmp(at, word, size) == 0 && strchr(" \t", at[size]) != NULL) {
            const size_t length = strcspn(at + size, "#\r\n");
            char *copy = cli_alloc(length + 1);

            memcpy(copy, at + size, length);
            copy[length] = '\0';
            return copy;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return NULL;
}

/* The architecture of what is planned for, without a device being opened: of a device in
 * words, or `here`. Copied; NULL if there is none. */
static char *find_planned_arch(const struct cli_context_options *options,
                               const char *device)
{
    const jit_gemm_context_options settings = {.struct_size = sizeof(settings),
                                               .plan_for = device,
                                               .driver = options->driver,
                                               .no_device = true,
                                               .no_cache = true};
    jit_gemm_context *context = NULL;
    char *copy = NULL;

    if (jit_gemm_context_create(&settings, &context) == JIT_GEMM_OK) {
        const char *name = jit_gemm_context_arch(context);
        copy = cli_alloc(strlen(name) + 1);
        memcpy(copy, name, strlen(name) + 1);
    }
    jit_gemm_context_destroy(&context);
    return copy;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

/* Does an option or a variable say what to build for, or where to look? */
static bool is_target_named(const struct cli_context_options *options, bool is_emulator)
{
    const bool is_driver_named = options->driver != NULL || is_set("JIT_GEMM_DRIVER");

    return options->plan_for != NULL || is_set("JIT_GEMM_PLAN_FOR") ||
           is_set("JIT_GEMM_ARCH") || (is_driver_named && !is_emulator);
}

/* The architecture of the manifest's lines, or of the GPU that is here unless the emulator
 * is meant, or of the device that the manifest plans for. NULL if none of them names one.
 */
static char *find_arch(const struct cli_context_options *options, const char *manifest,
                       bool is_emulator)
{
    char *line = find_manifest_line(manifest, "arch");
    char *arch = NULL;

    if (line != NULL) {
        const char *name = line + strspn(line, " \t");
        const size_t length = strcspn(name, " \t");

        memmove(line, name, length);
        line[length] = '\0';
        return line;
    }
    if (is_target_named(options, is_emulator)) {
        return NULL;
    }
    arch = is_emulator ? NULL : find_planned_arch(options, "here");
    line = arch == NULL ? find_manifest_line(manifest, "plan_for") : NULL;
    if (line != NULL) {
        arch = find_planned_arch(options, line);
    }
    free(line);
    return arch;
}

/* Splits in place. */
static int split_archs(char *text, const char *archs[MAX_ARCHS], size_t *ret_count)
{
    size_t count = 0;

    for (char *part = strtok(text, ","); part != NULL; part = strtok(NULL, ",")) {
        if (count == MAX_ARCHS) {
            return cli_usage_error("--arch: at most %d architectures", MAX_ARCHS);
        }
        archs[count++] = part;
    }
    if (count == 0) {
        return cli_usage_error("--arch names no architecture; write --arch sm_90a");
    }
    *ret_count = count;
    return CLI_OK;
}

/* The outcome of a call that has ended. */
static void print_json(const struct cli_manifest_job *job, jit_gemm_status status,
                       const jit_gemm_prewarm_result *result, double seconds)
{
    struct cli_json json = {.file = stdout};

    cli_json_open_command(&json, job->name);
    cli_json_add_text(&json, "status", jit_gemm_status_name(status));
    if (status != JIT_GEMM_OK) {
        cli_json_add_text(&json, "error", jit_gemm_last_error());
    }
    cli_json_add_uint(&json, "total", result->total);
    cli_json_add_uint(&json, "cached", result->cached);
    cli_json_add_uint(&json, "failed", result->failed);
    cli_json_add_uint(&json, "jobs", result->jobs);
    if (job->only_estimate) {
        cli_json_add_uint(&json, "missing", result->missing);
        cli_json_add_double(&json, "estimated_seconds", result->estimated_seconds);
        cli_json_add_uint(&json, "estimated_bytes", result->estimated_bytes);
    } else if (!job->require_cached) {
        cli_json_add_uint(&json, "compiled", result->compiled);
        cli_json_add_double(&json, "seconds", seconds);
    }
    if (job->bundle != NULL && status == JIT_GEMM_OK) {
        cli_json_open_object(&json, "bundle");
        cli_json_add_uint(&json, "kernels", result->bundle_kernels);
        cli_json_add_uint(&json, "bytes", result->bundle_bytes);
        cli_json_add_text(&json, "path", job->bundle);
        cli_json_close_object(&json);
    }
    cli_json_close_object(&json);
}

static void print_summary(const struct cli_manifest_job *job, jit_gemm_status status,
                          const jit_gemm_prewarm_result *result, double seconds)
{
    if (job->only_estimate) {
        printf("estimate: total=%zu cached=%zu failed=%zu missing=%zu jobs=%u seconds=%.1f "
               "megabytes=%.1f\n",
               result->total, result->cached, result->failed, result->missing, result->jobs,
               result->estimated_seconds, (double)result->estimated_bytes / 1e6);
    } else if (job->require_cached && status != JIT_GEMM_ERR_CANCELLED) {
        printf("%s: total=%zu cached=%zu failed=%zu\n", job->name, result->total,
               result->cached, result->failed);
    } else {
        printf("%s%s: total=%zu cached=%zu compiled=%zu failed=%zu seconds=%.2f\n",
               job->name, status == JIT_GEMM_ERR_CANCELLED ? " cancelled" : "",
               result->total, result->cached, result->compiled, result->failed, seconds);
    }
    if (job->bundle != NULL && status == JIT_GEMM_OK) {
        printf("bundle: kernels=%zu bytes=%" PRIu64 " %s\n", result->bundle_kernels,
               result->bundle_bytes, job->bundle);
    } else if (job->bundle != NULL) {
        cli_note("no bundle was written");
    }
}

static int prewarm_manifest(jit_gemm_context *context, const char *manifest, size_t size,
                            const jit_gemm_prewarm_options *settings,
                            const struct cli_manifest_job *job, bool verbose)
{
    struct progress *progress = settings->progress_user;
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    struct sigaction action = {.sa_handler = cancel_compiles,
                               .sa_flags = (int)SA_RESETHAND};
    progress->start_s = read_seconds();

    /* The second Ctrl-C ends the program at once; the cache stands that too. */
    interruptible = context;
    sigaction(SIGINT, &action, NULL);
    jit_gemm_status status = jit_gemm_prewarm(context, manifest, size, settings, &result);
    signal(SIGINT, SIG_DFL);
    if (progress->is_terminal && progress->total) {
        fputc('\n', stderr);
    }
    if (status != JIT_GEMM_OK && status != JIT_GEMM_ERR_CANCELLED) {
        const struct cli_snippet snippets = {.text = manifest, .is_manifest = true};
        cli_report(status, &snippets, verbose);
    }
    const double seconds = read_seconds() - progress->start_s;
    if (job->json) {
        print_json(job, status, &result, seconds);
    } else {
        print_summary(job, status, &result, seconds);
    }
    if (status == JIT_GEMM_ERR_CANCELLED) {
        cli_leave_compiles();
        return cli_error("%s; the same command goes on where it stopped",
                         job->deadline_s > 0 && seconds >= (double)job->deadline_s
                             ? "the time of --deadline was over"
                             : "cancelled");
    }
    /* Where nothing was tried, what was asked for is to blame. */
    return result.compiled + result.cached + result.failed + result.missing == 0
               ? cli_exit_code(status)
           : status == JIT_GEMM_OK ? CLI_OK
                                   : CLI_FAILED;
}

/* A choice depends on the device: what is built here, or verified, is of one. Whoever has
 * named it on this command line knows. */
static void tell_planned_device(const struct cli_context_options *options,
                                jit_gemm_context *context, const char *manifest,
                                size_t size, const jit_gemm_prewarm_options *settings)
{
    size_t length = 0;

    if (options->plan_for != NULL ||
        jit_gemm_prewarm_device(context, manifest, size, settings, NULL, 0, &length) !=
            JIT_GEMM_OK) {
        return; /* what is wrong with the manifest is the prewarm's to say */
    }
    char *text = cli_alloc(length + 1);
    if (jit_gemm_prewarm_device(context, manifest, size, settings, text, length + 1,
                                NULL) == JIT_GEMM_OK) {
        for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            cli_note("%s; --plan-for names another", line);
        }
    }
    free(text);
}

int cli_run_manifest(const struct cli_manifest_job *job,
                     struct cli_context_options *options)
{
    struct progress progress = {.is_terminal = isatty(STDERR_FILENO)};
    const char *archs[MAX_ARCHS] = {0};
    jit_gemm_prewarm_options settings = {.struct_size = sizeof(settings),
                                         .progress = show_progress,
                                         .progress_user = &progress,
                                         .require_cached = job->require_cached,
                                         .bundle = job->bundle,
                                         .only_estimate = job->only_estimate};
    jit_gemm_context *context = NULL;
    char *manifest = NULL, *arch_list = NULL;
    size_t size = 0;

    if (options->no_cache && !job->require_cached) {
        return cli_usage_error("%s works on the cache; --no-cache leaves nothing to do",
                               job->name);
    }
    if (options->no_cache && options->cache_roots.count == 0) {
        return cli_usage_error(
            "%s: beside --no-cache only what --cache-root names is read, "
            "not JIT_GEMM_CACHE_ROOTS: give one, or leave out --no-cache",
            job->name);
    }
    if (job->deadline_s > MOST_DEADLINE_S) {
        return cli_usage_error("--deadline: at most %d seconds", MOST_DEADLINE_S);
    }
    if (job->only_estimate && job->bundle != NULL) {
        return cli_usage_error("--estimate writes no bundle: leave out --bundle");
    }
    settings.deadline_ms = (uint32_t)job->deadline_s * 1000u;
    if (job->jobs > 1024) {
        return cli_usage_error("--jobs: at most 1024");
    }
    const bool is_emulator = strcmp(job->device, CLI_EMULATOR) == 0;
    int code = CLI_OK;
    settings.jobs = (uint32_t)job->jobs;
    settings.ptx = is_emulator;
    options->log_errors = true;
    options->driver = is_emulator ? CLI_EMULATOR : NULL; /* opened if no arch is named */
    if (options->arch) {
        const size_t bytes = strlen(options->arch) + 1;
        arch_list = cli_alloc(bytes);
        memcpy(arch_list, options->arch, bytes);
        code = split_archs(arch_list, archs, &settings.arch_count);
        if (code != CLI_OK) {
            free(arch_list);
            return code;
        }
        settings.archs = archs;
        options->arch = archs[0];
    }
    manifest = cli_read_file(job->path, &size);
    if (manifest != NULL && options->arch == NULL) {
        arch_list = find_arch(options, manifest, is_emulator);
        options->arch = arch_list;
        if (arch_list == NULL && !is_emulator && !is_target_named(options, false)) {
            options->device = "gpu"; /* and no emulator in its place */
        }
    }
    code = manifest != NULL
               ? cli_context_open(options, false, JIT_GEMM_POLICY_ALLOW, &context)
               : CLI_FAILED;
    if (code == CLI_OK) {
        tell_planned_device(options, context, manifest, size, &settings);
        code = prewarm_manifest(context, manifest, size, &settings, job, options->verbose);
    }
    jit_gemm_context_destroy(&context);
    free(manifest);
    free(arch_list);
    return code;
}

/* The commands whose word is a manifest. */
static int run_command(const struct cli_help *help, struct cli_manifest_job *job, int argc,
                       char **argv)
{
    struct cli_context_options options = {0};
    const struct cli_option own[] = {
        {"--jobs", "N", "builds at a time; 0, the default: by processors and memory",
         CLI_INT, &job->jobs},
        {"--device", "gpu|emulator",
         "build machine code, or the PTX that the emulator takes", CLI_CHOICE,
         &job->device},
        {"--recipe", "FILE", "take configs from what `jit-gemm tune` wrote", CLI_TEXT,
         &options.recipe},
        {"--json", NULL, "print one JSON object", CLI_FLAG, &job->json},
        {0},
    };
    const struct cli_option bundle[] = {
        {"--bundle", "FILE", "also write all kernels to this file", CLI_TEXT, &job->bundle},
        {"--estimate", NULL,
         "compile nothing; say how many kernels are missing, and\nabout how many seconds "
         "and megabytes they take",
         CLI_FLAG, &job->only_estimate},
        {"--deadline", "SECONDS",
         "end it then; run it again to go on; 0, the default: never", CLI_INT,
         &job->deadline_s},
        {0},
    };
    struct cli_option context_table[CLI_CONTEXT_OPTION_COUNT];
    const struct cli_option *groups[] = {own, context_table,
                                         job->require_cached ? NULL : bundle, NULL};
    int words = 0;

    cli_context_table(&options, false, context_table);
    const int code = cli_parse(help, groups, argc, argv, &words);
    if (code >= 0) {
        return code;
    }
    if (words != 1) {
        return cli_usage_error("%s: name one manifest file, or - for standard input",
                               job->name);
    }
    job->path = argv[1];
    return cli_run_manifest(job, &options);
}

int cmd_prewarm(int argc, char **argv)
{
    struct cli_manifest_job job = {.name = "prewarm", .device = "gpu"};

    return run_command(&prewarm_help, &job, argc, argv);
}

int cmd_verify_manifest(int argc, char **argv)
{
    struct cli_manifest_job job = {
        .name = "verify-manifest", .device = "gpu", .require_cached = true};

    return run_command(&verify_help, &job, argc, argv);
}
