/* SPDX-License-Identifier: MIT */
#include "cuda/nvjitlink.h"

#include <dlfcn.h>
#include <string.h>

#include "cuda/library_paths.h"

static const char *const library_names[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};
static const struct jg_library_names names = {
    .names = library_names, .count = sizeof(library_names) / sizeof(library_names[0])};

static void add_reason(struct jg_str *reasons, const char *path, const char *reason)
{
    jg_str_printf(reasons, "%s%s: %s", reasons->size > 0 ? "; " : "", path, reason);
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
    if (get_version == NULL || get_version(&major, &minor) != 0) {
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
    jg_str_puts(&nvjitlink->path, path);
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
    jg_str_free(&nvjitlink->path);
    *nvjitlink = (struct jg_nvjitlink){0};
}
