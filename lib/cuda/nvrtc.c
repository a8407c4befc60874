/* SPDX-License-Identifier: MIT */
#include "cuda/nvrtc.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/busy.h"
#include "base/env.h"
#include "base/error.h"
#include "base/task.h"
#include "cuda/library_identity.h"

struct jg_nvrtc_functions {
    nvrtcResult (*version)(int *, int *);
    const char *(*error_string)(nvrtcResult);
    nvrtcResult (*create)(nvrtcProgram *, const char *, const char *, int,
                          const char *const *, const char *const *);
    nvrtcResult (*destroy)(nvrtcProgram *);
    nvrtcResult (*compile)(nvrtcProgram, int, const char *const *);
    nvrtcResult (*log_size)(nvrtcProgram, size_t *);
    nvrtcResult (*log)(nvrtcProgram, char *);
    nvrtcResult (*cubin_size)(nvrtcProgram, size_t *);
    nvrtcResult (*cubin)(nvrtcProgram, char *);
    nvrtcResult (*ptx_size)(nvrtcProgram, size_t *);
    nvrtcResult (*ptx)(nvrtcProgram, char *);
    /* NULL before 12.9's later builds: then a compile cannot be ended. */
    nvrtcResult (*set_flow_callback)(nvrtcProgram, int (*)(void *, void *), void *);
    nvrtcResult (*ltoir_size)(nvrtcProgram, size_t *);
    nvrtcResult (*ltoir)(nvrtcProgram, char *);
};

/* In headers of 13.0 and newer under the name NVRTC_ERROR_CANCELLED. */
enum { RESULT_CANCELLED = 16 };

/* --------------------------------------------------------------------------------- paths
 */

static const char *const library_names[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

jit_gemm_status jg_nvrtc_find(const char *path, struct jg_library_paths *ret_paths)
{
    static const struct jg_library_names names = {
        .names = library_names, .count = sizeof(library_names) / sizeof(library_names[0])};
    return jg_library_paths_find(&names, path != NULL ? path : jg_env_get(JG_ENV_NVRTC),
                                 ret_paths);
}

/* --------------------------------------------------------------------------- opening */

/* Copies the bits: a data pointer does not convert to a function pointer in ISO C. */
static bool find_function(void *library, const char *name, void *ret_function)
{
    void *symbol = dlsym(library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
    return symbol != NULL;
}

static const char *find_functions(void *library, struct jg_nvrtc_functions *functions)
{
    const struct {
        const char *name;
        void *slot;
    } rows[] = {
        {"nvrtcVersion", &functions->version},
        {"nvrtcGetErrorString", &functions->error_string},
        {"nvrtcCreateProgram", &functions->create},
        {"nvrtcDestroyProgram", &functions->destroy},
        {"nvrtcCompileProgram", &functions->compile},
        {"nvrtcGetProgramLogSize", &functions->log_size},
        {"nvrtcGetProgramLog", &functions->log},
        {"nvrtcGetCUBINSize", &functions->cubin_size},
        {"nvrtcGetCUBIN", &functions->cubin},
        {"nvrtcGetPTXSize", &functions->ptx_size},
        {"nvrtcGetPTX", &functions->ptx},
        {"nvrtcGetLTOIRSize", &functions->ltoir_size},
        {"nvrtcGetLTOIR", &functions->ltoir},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!find_function(library, rows[i].name, rows[i].slot)) {
            return rows[i].name;
        }
    }
    return NULL;
}

/*
 * NVRTC opens its builtins library by bare name at the first compile, and has no run path
 * of its own: beside the wheels' library the loader would not look. A library of that name
 * which is already loaded is taken.
 */
static void preload_builtins(const struct jg_nvrtc *nvrtc)
{
    const char *path = jg_str_text(&nvrtc->path);
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return;
    }
    struct jg_str builtins = {0};
    jg_str_add(&builtins, path, (size_t)(slash - path));
    jg_str_printf(&builtins, "/libnvrtc-builtins.so.%d.%d", nvrtc->version / 1000,
                  nvrtc->version % 1000 / 10);
    if (!builtins.failed) {
        (void)dlopen(builtins.data, RTLD_NOW | RTLD_LOCAL);
    }
    jg_str_free(&builtins);
}

static enum jg_nvrtc_open_result fill_handle(const char *path, void *library,
                                             struct jg_nvrtc *nvrtc,
                                             struct jg_nvrtc_functions *functions,
                                             struct jg_str *reason)
{
    (void)find_function(library, "nvrtcSetFlowCallback", &functions->set_flow_callback);
    const char *missing = find_functions(library, functions);
    if (missing != NULL) {
        jg_str_printf(reason, "%s has no function %s", path, missing);
        return JG_NVRTC_NOT_LOADABLE;
    }
    int major = 0;
    int minor = 0;
    if (functions->version(&major, &minor) != NVRTC_SUCCESS) {
        jg_str_printf(reason, "%s does not tell its version", path);
        return JG_NVRTC_NOT_LOADABLE;
    }
    nvrtc->version = major * 1000 + minor * 10;
    if (nvrtc->version < JG_NVRTC_MIN_VERSION) {
        jg_str_printf(reason, "%s is version %d.%d, and %d.%d or newer is needed", path,
                      major, minor, JG_NVRTC_MIN_VERSION / 1000,
                      JG_NVRTC_MIN_VERSION % 1000 / 10);
        return JG_NVRTC_TOO_OLD;
    }
    struct jg_str build = {0};
    jg_library_identify(library, &nvrtc->path, &build);
    snprintf(nvrtc->identity, sizeof(nvrtc->identity), "%d.%d build %s", major, minor,
             jg_str_text(&build));
    const bool has_failed = build.failed || nvrtc->path.failed;
    jg_str_free(&build);
    if (has_failed) {
        return JG_NVRTC_NO_MEMORY;
    }
    preload_builtins(nvrtc);
    nvrtc->functions = functions;
    return JG_NVRTC_OPENED;
}

enum jg_nvrtc_open_result jg_nvrtc_open(const char *path, struct jg_nvrtc **ret_nvrtc,
                                        struct jg_str *reason)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        jg_str_puts(reason, why != NULL ? why : path);
        return JG_NVRTC_NOT_LOADABLE;
    }
    struct jg_nvrtc *nvrtc = jg_alloc(sizeof(*nvrtc));
    struct jg_nvrtc_functions *functions = jg_alloc(sizeof(*functions));
    enum jg_nvrtc_open_result result = JG_NVRTC_NO_MEMORY;
    if (nvrtc != NULL && functions != NULL) {
        result = fill_handle(path, library, nvrtc, functions, reason);
    }
    if (result == JG_NVRTC_OPENED) {
        *ret_nvrtc = nvrtc;
        return result;
    }
    if (nvrtc != NULL) {
        jg_str_free(&nvrtc->path);
    }
    jg_free(functions);
    jg_free(nvrtc);
    return result;
}

void jg_nvrtc_close(struct jg_nvrtc *nvrtc)
{
    if (nvrtc == NULL) {
        return;
    }
    jg_free((void *)nvrtc->functions);
    jg_str_free(&nvrtc->path);
    jg_free(nvrtc);
}

/* -------------------------------------------------------------------------- programs */

static jit_gemm_status fail_call(const struct jg_nvrtc *nvrtc, const char *call,
                                 nvrtcResult result)
{
    if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
        return jg_fail_memory();
    }
    return jg_fail_system(JIT_GEMM_ERR_INTERNAL, "NVRTC", "", "%s failed: %s (%s)", call,
                          nvrtc->functions->error_string(result),
                          jg_str_text(&nvrtc->path));
}

/* Reads one of the program's outputs. Their sizes count an ending zero if `is_text`. */
static jit_gemm_status read_output(const struct jg_nvrtc *nvrtc, const char *call,
                                   nvrtcProgram program,
                                   nvrtcResult (*get_size)(nvrtcProgram, size_t *),
                                   nvrtcResult (*get)(nvrtcProgram, char *), bool is_text,
                                   struct jg_str *out)
{
    size_t size = 0;
    nvrtcResult result = get_size(program, &size);
    if (result != NVRTC_SUCCESS) {
        return fail_call(nvrtc, call, result);
    }
    if (size == 0) { /* the cubin of a virtual architecture */
        return JIT_GEMM_OK;
    }
    char *bytes = jg_alloc(size + 1);
    if (bytes == NULL) {
        return jg_fail_memory();
    }
    result = get(program, bytes);
    if (result != NVRTC_SUCCESS) {
        jg_free(bytes);
        return fail_call(nvrtc, call, result);
    }
    *out = (struct jg_str){bytes, is_text ? strlen(bytes) : size, size + 1, false};
    return JIT_GEMM_OK;
}

/*
 * A compile with all that it reads, since it may go on when nobody waits for it any more:
 * NVRTC looks at its callback between steps only, and one step can take minutes.
 */
struct job {
    struct jg_nvrtc nvrtc; /* with `functions`; no identity and no path but its own */
    struct jg_nvrtc_functions functions;
    nvrtcProgram program;
    char *text;
    char **options;
    int option_count;
    bool wants_ltoir;
    atomic_bool is_over; /* once true it stays so, as NVRTC wants it */
    struct jg_nvrtc_output output;
};

/* All libraries of the process: the builtins and the allocator are theirs together. */
static struct jg_busy busy;

/* Once it was told to end, a compile that does not is left alone. */
enum { GRACE_MS = 1000 };

static int ask_if_over(void *user, void *reserved)
{
    struct job *job = user;
    (void)reserved;
    return atomic_load(&job->is_over) ? 1 : 0;
}

static void stop_job(void *user)
{
    struct job *job = user;
    atomic_store(&job->is_over, true);
}

static void free_job(void *user)
{
    struct job *job = user;
    if (job->program != NULL) {
        job->functions.destroy(&job->program);
    }
    jg_nvrtc_output_free(&job->output);
    for (int i = 0; job->options != NULL && i < job->option_count; i++) {
        jg_free(job->options[i]);
    }
    jg_free((void *)job->options);
    jg_free(job->text);
    jg_str_free(&job->nvrtc.path);
    jg_free(job);
}

static void release_left_job(void *user)
{
    free_job(user);
    jg_busy_end(&busy);
}

/* NVRTC puts the current folder before names of files in tables of lines, and code must not
 * depend on where a process stands. The thread gets a current folder of its own, where a
 * sandbox does not forbid that, and ends with the compile. */
static bool go_to_root(void)
{
    return unshare(CLONE_FS) == 0 && chdir("/") == 0;
}

/* The log is fetched whatever the outcome is. */
static jit_gemm_status compile_program(void *user)
{
    struct job *job = user;
    const struct jg_nvrtc *nvrtc = &job->nvrtc;
    nvrtcProgram program = job->program;
    struct jg_nvrtc_output *output = &job->output;
    const struct jg_nvrtc_functions *functions = nvrtc->functions;
    output->is_at_root = go_to_root();
    if (functions->set_flow_callback != NULL) {
        (void)functions->set_flow_callback(program, ask_if_over, job);
    }
    const nvrtcResult result =
        functions->compile(program, job->option_count, (const char *const *)job->options);
    if ((int)result == RESULT_CANCELLED && atomic_load(&job->is_over)) {
        output->is_cancelled = true;
        return JIT_GEMM_OK;
    }
    JG_TRY(read_output(nvrtc, "nvrtcGetProgramLog", program, functions->log_size,
                       functions->log, true, &output->log));
    if (result == NVRTC_ERROR_COMPILATION) {
        return JIT_GEMM_OK;
    }
    if (result == NVRTC_ERROR_BUILTIN_OPERATION_FAILURE) {
        const jit_gemm_status status = jg_fail_system(
            JIT_GEMM_ERR_NO_COMPILER, "NVRTC",
            "install the whole NVRTC package: the two libraries belong in one folder",
            "%s cannot use libnvrtc-builtins.so.%d.%d: %s", jg_str_text(&nvrtc->path),
            nvrtc->version / 1000, nvrtc->version % 1000 / 10, jg_str_text(&output->log));
        return status;
    }
    if (result != NVRTC_SUCCESS) {
        const jit_gemm_status status = fail_call(nvrtc, "nvrtcCompileProgram", result);
        jg_error_log(jg_str_text(&output->log), output->log.size);
        return status;
    }
    if (job->wants_ltoir) {
        JG_TRY(read_output(nvrtc, "nvrtcGetLTOIR", program, functions->ltoir_size,
                           functions->ltoir, false, &output->ltoir));
        output->is_accepted = true;
        return JIT_GEMM_OK;
    }
    JG_TRY(read_output(nvrtc, "nvrtcGetCUBIN", program, functions->cubin_size,
                       functions->cubin, false, &output->cubin));
    JG_TRY(read_output(nvrtc, "nvrtcGetPTX", program, functions->ptx_size, functions->ptx,
                       true, &output->ptx));
    output->is_accepted = true;
    return JIT_GEMM_OK;
}

/* Copies all but the headers, which nobody frees. */
static bool fill_job(const struct jg_nvrtc *nvrtc, const struct jg_nvrtc_input *input,
                     struct job *job)
{
    job->functions = *nvrtc->functions;
    job->nvrtc.functions = &job->functions;
    job->nvrtc.version = nvrtc->version;
    jg_str_puts(&job->nvrtc.path, jg_str_text(&nvrtc->path));
    job->wants_ltoir = input->wants_ltoir;
    job->option_count = input->option_count;
    job->text = jg_copy_text(input->text, strlen(input->text));
    job->options = jg_alloc_array((size_t)input->option_count + 1, sizeof(char *));
    bool is_whole = job->options != NULL && job->text != NULL && !job->nvrtc.path.failed;
    for (int i = 0; is_whole && i < input->option_count; i++) {
        job->options[i] = jg_copy_text(input->options[i], strlen(input->options[i]));
        is_whole = job->options[i] != NULL;
    }
    return is_whole;
}

static jit_gemm_status create_job(const struct jg_nvrtc *nvrtc,
                                  const struct jg_nvrtc_input *input, struct job **ret_job)
{
    struct job *job = jg_alloc(sizeof(*job));
    if (job == NULL) {
        return jg_fail_memory();
    }
    atomic_init(&job->is_over, false);
    if (!fill_job(nvrtc, input, job)) {
        free_job(job);
        return jg_fail_memory();
    }
    const nvrtcResult result =
        nvrtc->functions->create(&job->program, job->text, input->name, input->header_count,
                                 input->header_texts, input->header_names);
    if (result != NVRTC_SUCCESS) {
        job->program = NULL;
        free_job(job);
        return fail_call(nvrtc, "nvrtcCreateProgram", result);
    }
    *ret_job = job;
    return JIT_GEMM_OK;
}

/* *ret_is_left: the compile goes on, and ends the call by itself. */
static jit_gemm_status compile(const struct jg_nvrtc *nvrtc,
                               const struct jg_nvrtc_input *input,
                               struct jg_nvrtc_output *ret_output, bool *ret_is_left)
{
    struct job *job = NULL;
    const jit_gemm_status created = create_job(nvrtc, input, &job);
    if (created != JIT_GEMM_OK || job == NULL) {
        return created;
    }
    const struct jg_task task = {.work = compile_program,
                                 .user = job,
                                 .is_over = input->is_over,
                                 .over_user = input->user,
                                 .stop = stop_job,
                                 .release = release_left_job,
                                 .grace_ms = GRACE_MS};
    const jit_gemm_status status = jg_task_run(&task, ret_is_left);
    if (*ret_is_left) {
        *ret_output = (struct jg_nvrtc_output){.is_cancelled = true};
        return JIT_GEMM_OK;
    }
    if (status == JIT_GEMM_OK) {
        *ret_output = job->output; /* moved */
        job->output = (struct jg_nvrtc_output){0};
    }
    free_job(job);
    return status;
}

jit_gemm_status jg_nvrtc_compile(const struct jg_nvrtc *nvrtc,
                                 const struct jg_nvrtc_input *input,
                                 struct jg_nvrtc_output *ret_output)
{
    bool is_left = false;
    if (!jg_busy_begin(&busy)) {
        return jg_fail_system(
            JIT_GEMM_ERR_NO_COMPILER, "NVRTC",
            "fork before the parent compiles, or exec in the child; what is in the cache "
            "needs no compiler",
            "this process was forked while its parent compiled, and has NVRTC in the "
            "middle of that");
    }
    const jit_gemm_status status = compile(nvrtc, input, ret_output, &is_left);
    if (!is_left) {
        jg_busy_end(&busy);
    }
    return status;
}

void jg_nvrtc_output_free(struct jg_nvrtc_output *output)
{
    jg_str_free(&output->cubin);
    jg_str_free(&output->ptx);
    jg_str_free(&output->ltoir);
    jg_str_free(&output->log);
    *output = (struct jg_nvrtc_output){0};
}
