/* SPDX-License-Identifier: MIT */
#include "dynlib.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* How a library can lie below a folder. */
static const char *const k_folder_patterns[] = {"%s/%s", "%s/lib64/%s", "%s/lib/%s",
                                                "%s/nvidia/*/lib/%s", NULL};

static const char *const k_toolkits[] = {"/usr/local/cuda", "/opt/cuda",
                                         "/usr/lib/x86_64-linux-gnu",
                                         "/usr/lib/aarch64-linux-gnu", NULL};

/* Folders that hold wheels; the first %s is replaced by the prefix. */
static const char *const k_wheel_patterns[] = {
    "%s/lib/python3*/site-packages/nvidia/*/lib/%s",
    "%s/lib/python3*/dist-packages/nvidia/*/lib/%s", NULL};

static void *open_file(const char *file, char ret_path[DYNLIB_PATH_SIZE])
{
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (handle != NULL) {
        snprintf(ret_path, DYNLIB_PATH_SIZE, "%s", file);
    }
    return handle;
}

/* Tries every file that a pattern of two strings matches. */
static void *open_pattern(const char *pattern, const char *folder, const char *name,
                          char ret_path[DYNLIB_PATH_SIZE])
{
    char text[DYNLIB_PATH_SIZE];
    const char *slot = strstr(pattern, "%s");
    const char *rest = slot + 2;
    const char *second = strstr(rest, "%s");
    const int length = snprintf(text, sizeof(text), "%.*s%s%.*s%s", (int)(slot - pattern),
                                pattern, folder, (int)(second - rest), rest, name);
    if (length < 0 || (size_t)length >= sizeof(text)) {
        return NULL;
    }
    glob_t found;
    void *handle = NULL;
    if (glob(text, 0, NULL, &found) != 0) {
        return NULL;
    }
    for (size_t i = 0; i < found.gl_pathc && handle == NULL; i++) {
        handle = open_file(found.gl_pathv[i], ret_path);
    }
    globfree(&found);
    return handle;
}

static void *open_below(const char *folder, const char *const *patterns,
                        const char *const *names, char ret_path[DYNLIB_PATH_SIZE])
{
    for (size_t n = 0; names[n] != NULL; n++) {
        for (size_t p = 0; patterns[p] != NULL; p++) {
            void *handle = open_pattern(patterns[p], folder, names[n], ret_path);
            if (handle != NULL) {
                return handle;
            }
        }
    }
    return NULL;
}

/* A place that the caller named: a folder or a file, and nothing else. */
static void *open_named(const char *place, const char *const *names,
                        char ret_path[DYNLIB_PATH_SIZE])
{
    struct stat status;
    if (stat(place, &status) == 0 && S_ISDIR(status.st_mode)) {
        return open_below(place, k_folder_patterns, names, ret_path);
    }
    return open_file(place, ret_path);
}

static void *open_with_loader(const char *const *names, char ret_path[DYNLIB_PATH_SIZE])
{
    void *handle = NULL;
    for (size_t n = 0; names[n] != NULL && handle == NULL; n++) {
        handle = open_file(names[n], ret_path);
    }
    return handle;
}

static void *open_usual_places(const char *const *names, char ret_path[DYNLIB_PATH_SIZE])
{
    static const char *const variables[] = {"CUDA_HOME", "CUDA_PATH", NULL};
    for (size_t i = 0; variables[i] != NULL; i++) {
        const char *folder = getenv(variables[i]);
        void *handle =
            folder != NULL ? open_below(folder, k_folder_patterns, names, ret_path) : NULL;
        if (handle != NULL) {
            return handle;
        }
    }
    for (size_t i = 0; k_toolkits[i] != NULL; i++) {
        void *handle = open_below(k_toolkits[i], k_folder_patterns, names, ret_path);
        if (handle != NULL) {
            return handle;
        }
    }
    char local[DYNLIB_PATH_SIZE];
    const char *home = getenv("HOME");
    const int local_length =
        home != NULL ? snprintf(local, sizeof(local), "%s/.local", home) : -1;
    const bool has_local = local_length > 0 && (size_t)local_length < sizeof(local);
    const char *prefixes[] = {getenv("VIRTUAL_ENV"),
                              getenv("CONDA_PREFIX"),
                              has_local ? local : NULL,
                              "/usr/local",
                              "/usr",
                              "/opt/conda"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        void *handle = prefixes[i] != NULL
                           ? open_below(prefixes[i], k_wheel_patterns, names, ret_path)
                           : NULL;
        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

int dynlib_open(const struct dynlib_search *search, void **ret_handle,
                char ret_path[DYNLIB_PATH_SIZE], char error[BENCH_ERROR_SIZE])
{
    const char *from_variable = search->variable != NULL ? getenv(search->variable) : NULL;
    const char *named = search->path;
    if (named == NULL && from_variable != NULL && from_variable[0] != '\0') {
        named = from_variable;
    }
    void *handle = NULL;
    if (named != NULL) {
        handle = open_named(named, search->names, ret_path);
        if (handle == NULL) {
            const char *why = dlerror();
            return bench_fail(error, "%s: not found at '%s'%s%s", search->what, named,
                              why != NULL ? ": " : "", why != NULL ? why : "");
        }
    } else {
        handle = open_with_loader(search->names, ret_path);
        if (handle == NULL) {
            handle = open_usual_places(search->names, ret_path);
        }
    }
    if (handle == NULL) {
        return bench_fail(error,
                          "%s: %s was not found by the loader, in CUDA_HOME, in the usual "
                          "toolkit folders or in Python wheels; name its file or folder "
                          "with %s",
                          search->what, search->names[0],
                          search->variable != NULL ? search->variable : "an option");
    }
    *ret_handle = handle;
    return 0;
}

int dynlib_symbol(void *handle, const char *name, void *target, size_t size,
                  char error[BENCH_ERROR_SIZE])
{
    void *symbol = dlsym(handle, name);
    if (symbol == NULL) {
        return bench_fail(error, "the library has no function '%s'", name);
    }
    memcpy(target, &symbol, size);
    return 0;
}
