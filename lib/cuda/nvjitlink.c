/* SPDX-License-Identifier: MIT */
#include "cuda/nvjitlink.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/busy.h"
#include "base/error.h"
#include "cuda/library_identity.h"
#include "cuda/library_paths.h"

/* The names without a version in them: they are in every release since 12.0, while the
 * header's functions are those of its own release only. */
typedef void *jg_link_handle;
struct jg_nvjitlink_functions {
    int (*version)(unsigned int *, unsigned int *);
    int (*create)(jg_link_handle *, uint32_t, const char **);
    int (*destroy)(jg_link_handle *);
    int (*add_data)(jg_link_handle, int, const void *, size_t, const char *);
    int (*complete)(jg_link_handle);
    int (*cubin_size)(jg_link_handle, size_t *);
    int (*cubin)(jg_link_handle, void *);
    int (*ptx_size)(jg_link_handle, size_t *);
    int (*ptx)(jg_link_handle, char *);
    int (*error_size)(jg_link_handle, size_t *);
    int (*error)(jg_link_handle, char *);
    int (*info_size)(jg_link_handle, size_t *);
    int (*info)(jg_link_handle, char *);
};

/* Of nvJitLink.h: results and kinds of input. */
enum {
    LINK_SUCCESS = 0,
    LINK_UNRECOGNIZED_INPUT = 8,
    LINK_INCORRECT_INPUT_TYPE = 12,
    LINK_ARCH_MISMATCH = 13,
    LINK_INPUT_LTOIR = 3
};

static const char *const library_names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
static const struct jg_library_names names = {
    .names = library_names, .count = sizeof(library_names) / sizeof(library_names[0])};

static void add_reason(struct jg_str *reasons, const char *path, const char *reason)
{
    jg_str_printf(reasons, "%s%s: %s", reasons->size > 0 ? "; " : "", path, reason);
}

static const char *find_functions(void *library, struct jg_nvjitlink_functions *functions)
{
    const struct {
        const char *name;
        void *slot;
    } rows[] = {
        {"nvJitLinkVersion", &functions->version},
        {"nvJitLinkCreate", &functions->create},
        {"nvJitLinkDestroy", &functions->destroy},
        {"nvJitLinkAddData", &functions->add_data},
        {"nvJitLinkComplete", &functions->complete},
        {"nvJitLinkGetLinkedCubinSize", &functions->cubin_size},
        {"nvJitLinkGetLinkedCubin", &functions->cubin},
        {"nvJitLinkGetLinkedPtxSize", &functions->ptx_size},
        {"nvJitLinkGetLinkedPtx", &functions->ptx},
        {"nvJitLinkGetErrorLogSize", &functions->error_size},
        {"nvJitLinkGetErrorLog", &functions->error},
        {"nvJitLinkGetInfoLogSize", &functions->info_size},
        {"nvJitLinkGetInfoLog", &functions->info},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *symbol = dlsym(library, rows[i].name);
        memcpy(rows[i].slot, &symbol, sizeof(symbol));
        if (symbol == NULL) {
            return rows[i].name;
        }
    }
    return NULL;
}

/* Path, identity and functions of a library of a good version; NULL, or why not. */
static const char *fill_handle(void *library, struct jg_nvjitlink *nvjitlink)
{
    struct jg_nvjitlink_functions *functions = jg_alloc(sizeof(*functions));
    struct jg_str build = {0};
    if (functions == NULL) {
        nvjitlink->path.failed = true; /* reported with the path */
        return NULL;
    }
    nvjitlink->functions = functions;
    const char *missing = find_functions(library, functions);
    if (missing != NULL) {
        return missing;
    }
    jg_library_identify(library, &nvjitlink->path, &build);
    snprintf(nvjitlink->identity, sizeof(nvjitlink->identity), "%d.%d build %s",
             nvjitlink->version / 1000, nvjitlink->version % 1000 / 10,
             jg_str_text(&build));
    nvjitlink->path.failed |= build.failed;
    jg_str_free(&build);
    return NULL;
}

/* True if the library is usable; otherwise a reason is added. */
static bool try_to_open(const char *path, struct jg_nvjitlink *nvjitlink,
                        struct jg_str *reasons)
{
    void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    if (library == NULL) {
        const char *text = dlerror();
        add_reason(reasons, path, text != NULL ? text : "cannot be loaded");
        return false;
    }
    int (*get_version)(unsigned int *, unsigned int *) = NULL;
    void *symbol = dlsym(library, "nvJitLinkVersion");
    memcpy(&get_version, &symbol, sizeof(get_version));
    unsigned int major = 0;
    unsigned int minor = 0;
    if (get_version == NULL || get_version(&major, &minor) != LINK_SUCCESS) {
        add_reason(reasons, path, "does not tell its version: not nvJitLink 12.3 or newer");
        return false;
    }
    nvjitlink->version = (int)(1000 * major + 10 * minor);
    if (nvjitlink->version < JG_NVJITLINK_MIN_VERSION) {
        jg_str_printf(reasons, "%s%s: version %u.%u is too old, %d.%d is needed",
                      reasons->size > 0 ? "; " : "", path, major, minor,
                      JG_NVJITLINK_MIN_VERSION / 1000,
                      JG_NVJITLINK_MIN_VERSION % 1000 / 10);
        return false;
    }
    const char *missing = fill_handle(library, nvjitlink);
    if (missing != NULL) {
        jg_str_printf(reasons, "%s%s: has no function %s", reasons->size > 0 ? "; " : "",
                      path, missing);
        jg_nvjitlink_close(nvjitlink);
        return false;
    }
    return true;
}

static bool try_all(const struct jg_library_paths *paths, struct jg_nvjitlink *nvjitlink,
                    struct jg_str *reasons)
{
    for (size_t i = 0; i < paths->count; i++) {
        if (try_to_open(paths->paths[i], nvjitlink, reasons)) {
            return true;
        }
    }
    return false;
}

/* Looks in one folder, or in the usual places. */
static jit_gemm_status search(const char *named, struct jg_nvjitlink *nvjitlink,
                              struct jg_str *reasons, bool *ret_is_found)
{
    struct jg_library_paths paths;
    JG_TRY(jg_library_paths_find(&names, named, &paths));
    *ret_is_found = try_all(&paths, nvjitlink, reasons);
    jg_library_paths_free(&paths);
    return JIT_GEMM_OK;
}

static jit_gemm_status search_beside(const char *beside, struct jg_nvjitlink *nvjitlink,
                                     struct jg_str *reasons, bool *ret_is_found)
{
    const char *slash = beside != NULL ? strrchr(beside, '/') : NULL;
    if (slash == NULL) {
        return JIT_GEMM_OK;
    }
    struct jg_str folder = {0};
    jg_str_add(&folder, beside, (size_t)(slash - beside));
    jit_gemm_status status = jg_str_status(&folder);
    if (status == JIT_GEMM_OK) {
        status = search(jg_str_text(&folder), nvjitlink, reasons, ret_is_found);
    }
    jg_str_free(&folder);
    return status;
}

jit_gemm_status jg_nvjitlink_open(const char *beside, struct jg_nvjitlink *ret_nvjitlink,
                                  struct jg_str *reasons)
{
    struct jg_nvjitlink nvjitlink = {0};
    bool is_found = false;
    jit_gemm_status status = search_beside(beside, &nvjitlink, reasons, &is_found);
    if (status == JIT_GEMM_OK && !is_found) {
        status = search(NULL, &nvjitlink, reasons, &is_found);
    }
    if (status == JIT_GEMM_OK) {
        status = is_found ? jg_str_status(&nvjitlink.path) : JIT_GEMM_ERR_NO_COMPILER;
    }
    if (status != JIT_GEMM_OK) {
        jg_nvjitlink_close(&nvjitlink);
        return status;
    }
    *ret_nvjitlink = nvjitlink;
    return JIT_GEMM_OK;
}

void jg_nvjitlink_close(struct jg_nvjitlink *nvjitlink)
{
    jg_free((void *)nvjitlink->functions);
    jg_str_free(&nvjitlink->path);
    *nvjitlink = (struct jg_nvjitlink){0};
}

/* ---------------------------------------------------------------------------- linking */

static const char lto_option[] = "-lto";
/* Of a cubin: as that of NVRTC. */
static const char cubin_option[] = "-Xptxas=-v";

void jg_nvjitlink_options(struct jg_str *out)
{
    jg_str_printf(out, "%s %s", lto_option, cubin_option);
}

static jit_gemm_status fail_call(const struct jg_nvjitlink *nvjitlink, const char *call,
                                 int result)
{
    return jg_fail_system(JIT_GEMM_ERR_INTERNAL, "nvJitLink", "", "%s failed: %d (%s)",
                          call, result, jg_str_text(&nvjitlink->path));
}

/* Appends one of the link's texts, if it has any. Trouble leaves it out. */
static void add_log(jg_link_handle link, int (*get_size)(jg_link_handle, size_t *),
                    int (*get)(jg_link_handle, char *), struct jg_str *log)
{
    size_t size = 0;
    if (get_size(link, &size) != LINK_SUCCESS || size == 0) {
        return;
    }
    char *text = jg_alloc(size + 1);
    if (text == NULL) {
        log->failed = true;
        return;
    }
    if (get(link, text) == LINK_SUCCESS) {
        jg_str_puts(log, text);
    }
    jg_free(text);
}

static jit_gemm_status read_code(const struct jg_nvjitlink *nvjitlink, jg_link_handle link,
                                 bool wants_ptx, struct jg_str *ret_code)
{
    const struct jg_nvjitlink_functions *functions = nvjitlink->functions;
    size_t size = 0;
    int result =
        wants_ptx ? functions->ptx_size(link, &size) : functions->cubin_size(link, &size);
    if (result != LINK_SUCCESS) {
        return fail_call(nvjitlink, "the size of the linked code", result);
    }
    char *bytes = jg_alloc(size + 1);
    if (bytes == NULL) {
        return jg_fail_memory();
    }
    result = wants_ptx ? functions->ptx(link, bytes) : functions->cubin(link, bytes);
    if (result != LINK_SUCCESS) {
        jg_free(bytes);
        return fail_call(nvjitlink, "reading the linked code", result);
    }
    *ret_code = (struct jg_str){bytes, wants_ptx ? strlen(bytes) : size, size + 1, false};
    return JIT_GEMM_OK;
}

static enum jg_nvjitlink_refusal refusal_of(int result)
{
    switch (result) {
    case LINK_SUCCESS:
        return JG_NVJITLINK_ACCEPTED;
    case LINK_UNRECOGNIZED_INPUT:
    case LINK_INCORRECT_INPUT_TYPE:
        return JG_NVJITLINK_NO_LTOIR;
    case LINK_ARCH_MISMATCH:
        return JG_NVJITLINK_OTHER_ARCH;
    default:
        return JG_NVJITLINK_REFUSED;
    }
}

static jit_gemm_status link_inputs(const struct jg_nvjitlink *nvjitlink,
                                   jg_link_handle link, enum jg_nvjitlink_code code,
                                   const struct jg_nvjitlink_input *inputs, int input_count,
                                   struct jg_nvjitlink_output *output)
{
    const struct jg_nvjitlink_functions *functions = nvjitlink->functions;
    int result = LINK_SUCCESS;
    output->input = -1;
    for (int i = 0; i < input_count && result == LINK_SUCCESS; i++) {
        result = functions->add_data(link, LINK_INPUT_LTOIR, inputs[i].data, inputs[i].size,
                                     inputs[i].name);
        output->input = result != LINK_SUCCESS ? i : -1;
    }
    if (result == LINK_SUCCESS) {
        result = functions->complete(link);
    }
    output->refusal = refusal_of(result);
    add_log(link, functions->error_size, functions->error, &output->log);
    add_log(link, functions->info_size, functions->info, &output->log);
    JG_TRY(jg_str_status(&output->log));
    return result == LINK_SUCCESS
               ? read_code(nvjitlink, link, code == JG_LINK_PTX, &output->code)
               : JIT_GEMM_OK;
}

static jit_gemm_status link_all(const struct jg_nvjitlink *nvjitlink, const char *arch,
                                enum jg_nvjitlink_code code,
                                const struct jg_nvjitlink_input *inputs, int input_count,
                                struct jg_nvjitlink_output *ret_output)
{
    char arch_option[64];
    snprintf(arch_option, sizeof(arch_option), "-arch=%s", arch);
    const char *options[] = {arch_option, lto_option,
                             code == JG_LINK_PTX ? "-ptx" : cubin_option, "-lineinfo"};
    const uint32_t option_count = code == JG_LINK_CUBIN_WITH_LINEINFO ? 4 : 3;
    jg_link_handle link = NULL;
    const int result = nvjitlink->functions->create(&link, option_count, options);
    if (result != LINK_SUCCESS) {
        return fail_call(nvjitlink, "nvJitLinkCreate", result);
    }
    struct jg_nvjitlink_output output = {0};
    const jit_gemm_status status =
        link_inputs(nvjitlink, link, code, inputs, input_count, &output);
    (void)nvjitlink->functions->destroy(&link);
    if (status != JIT_GEMM_OK) {
        jg_nvjitlink_output_free(&output);
        return status;
    }
    *ret_output = output;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_nvjitlink_link(const struct jg_nvjitlink *nvjitlink, const char *arch,
                                  enum jg_nvjitlink_code code,
                                  const struct jg_nvjitlink_input *inputs, int input_count,
                                  struct jg_nvjitlink_output *ret_output)
{
    static struct jg_busy busy;
    if (!jg_busy_begin(&busy)) {
        return jg_fail_system(JIT_GEMM_ERR_NO_COMPILER, "nvJitLink",
                              "fork before the parent links, or exec in the child",
                              "this process was forked while its parent linked, and has "
                              "nvJitLink in the middle of that");
    }
    const jit_gemm_status status =
        link_all(nvjitlink, arch, code, inputs, input_count, ret_output);
    jg_busy_end(&busy);
    return status;
}

void jg_nvjitlink_output_free(struct jg_nvjitlink_output *output)
{
    jg_str_free(&output->code);
    jg_str_free(&output->log);
    *output = (struct jg_nvjitlink_output){0};
}
