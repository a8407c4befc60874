/* SPDX-License-Identifier: MIT */
#include "cuda/library_paths.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

static const char *const usual_folders[] = {
    "/usr/local/cuda/lib64",
    "/opt/cuda/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
#ifdef JG_NVRTC_DIR
    JG_NVRTC_DIR,
#endif
};
enum { USUAL_FOLDER_COUNT = sizeof(usual_folders) / sizeof(usual_folders[0]) };

static jit_gemm_status add_path(struct jg_library_paths *paths, const char *path)
{
    char **grown = jg_realloc(paths->paths, (paths->count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return jg_fail_memory();
    }
    paths->paths = grown;
    grown[paths->count] = jg_copy_text(path, strlen(path));
    if (grown[paths->count] == NULL) {
        return jg_fail_memory();
    }
    paths->count++;
    return JIT_GEMM_OK;
}

static void note_searched(struct jg_library_paths *paths, const char *path)
{
    jg_str_printf(&paths->searched, "%s%s", paths->searched.size > 0 ? ", " : "", path);
}

/* Adds the libraries that lie in a folder. */
static jit_gemm_status add_folder(struct jg_library_paths *paths, const char *folder,
                                  const struct jg_library_names *names)
{
    note_searched(paths, folder);
    for (size_t i = 0; i < names->count; i++) {
        struct jg_str path = {0};
        jg_str_printf(&path, "%s/%s", folder, names->names[i]);
        struct stat facts;
        jit_gemm_status status = jg_str_status(&path);
        if (status == JIT_GEMM_OK && stat(path.data, &facts) == 0 &&
            S_ISREG(facts.st_mode)) {
            status = add_path(paths, path.data);
        }
        jg_str_free(&path);
        JG_TRY(status);
    }
    return JIT_GEMM_OK;
}

/* The one path that somebody named: a library, or a folder that has one. */
static jit_gemm_status add_named_path(struct jg_library_paths *paths, const char *path,
                                      const struct jg_library_names *names)
{
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return add_folder(paths, path, names);
    }
    note_searched(paths, path);
    return add_path(paths, path);
}

/* Names without a folder: the loader looks for them itself. */
static jit_gemm_status add_bare_names(struct jg_library_paths *paths,
                                      const struct jg_library_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        note_searched(paths, names->names[i]);
        JG_TRY(add_path(paths, names->names[i]));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status add_usual_paths(struct jg_library_paths *paths,
                                       const struct jg_library_names *names)
{
    const char *home = secure_getenv("CUDA_HOME");
    if (home != NULL && home[0] != '\0') {
        struct jg_str folder = {0};
        jg_str_printf(&folder, "%s/lib64", home);
        jit_gemm_status status = jg_str_status(&folder);
        if (status == JIT_GEMM_OK) {
            status = add_folder(paths, folder.data, names);
        }
        jg_str_free(&folder);
        JG_TRY(status);
    }
    for (int i = 0; i < USUAL_FOLDER_COUNT; i++) {
        JG_TRY(add_folder(paths, usual_folders[i], names));
    }
    return add_bare_names(paths, names);
}

/* --------------------------------------------------------------- beside this library */

/* Leaves the folder of a path; false if it names none. */
static bool cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return false;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return true;
}

/* The folder of an absolute path, without links and dots; false if there is none. A
 * relative path is as good as none: the current folder may have changed since. */
static bool find_folder(const char *path, char folder[PATH_MAX])
{
    char copy[PATH_MAX];
    const int size = snprintf(copy, sizeof(copy), "%s", path);
    return size > 0 && (size_t)size < sizeof(copy) && copy[0] == '/' &&
           cut_to_folder(copy) && realpath(copy, folder) != NULL;
}

/* Folder of the file that this code was loaded from. */
static bool find_own_folder(char folder[PATH_MAX])
{
    static const char marker = 0;
    Dl_info info;
    return dladdr(&marker, &info) != 0 && info.dli_fname != NULL &&
           find_folder(info.dli_fname, folder);
}

static bool find_program_folder(char folder[PATH_MAX])
{
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (size <= 0) {
        return false;
    }
    path[size] = '\0';
    return find_folder(path, folder);
}

/* The folder that lies beside a folder under that name. */
static jit_gemm_status add_sibling(struct jg_library_paths *paths, const char *parent,
                                   const char *sibling,
                                   const struct jg_library_names *names)
{
    struct jg_str folder = {0};
    jg_str_printf(&folder, "%s%s%s", parent, parent[1] != '\0' ? "/" : "", sibling);
    jit_gemm_status status = jg_str_status(&folder);
    if (status == JIT_GEMM_OK) {
        status = add_folder(paths, folder.data, names);
    }
    jg_str_free(&folder);
    return status;
}

static jit_gemm_status add_companion_paths(struct jg_library_paths *paths,
                                           const char *sibling,
                                           const struct jg_library_names *names)
{
    char folders[2][PATH_MAX];
    int count = find_own_folder(folders[0]) ? 1 : 0;
    if (find_program_folder(folders[count]) &&
        (count == 0 || strcmp(folders[0], folders[1]) != 0)) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        JG_TRY(add_folder(paths, folders[i], names));
        cut_to_folder(folders[i]);
    }
    for (int i = 0; i < count; i++) {
        if (i == 0 || strcmp(folders[0], folders[1]) != 0) {
            JG_TRY(add_sibling(paths, folders[i], sibling, names));
        }
    }
    return add_bare_names(paths, names);
}

/* ----------------------------------------------------------------------------- whole */

/* Gives the paths to the caller, or frees them. */
static jit_gemm_status finish_paths(struct jg_library_paths *paths, jit_gemm_status status,
                                    struct jg_library_paths *ret_paths)
{
    if (status == JIT_GEMM_OK) {
        status = jg_str_status(&paths->searched);
    }
    if (status != JIT_GEMM_OK) {
        jg_library_paths_free(paths);
        return status;
    }
    *ret_paths = *paths;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_library_paths_find(const struct jg_library_names *names,
                                      const char *named, struct jg_library_paths *ret_paths)
{
    struct jg_library_paths paths = {0};
    const jit_gemm_status status = named != NULL ? add_named_path(&paths, named, names)
                                                 : add_usual_paths(&paths, names);
    return finish_paths(&paths, status, ret_paths);
}

jit_gemm_status jg_library_paths_companion(const struct jg_library_names *names,
                                           const char *sibling,
                                           struct jg_library_paths *ret_paths)
{
    struct jg_library_paths paths = {0};
    const jit_gemm_status status = add_companion_paths(&paths, sibling, names);
    return finish_paths(&paths, status, ret_paths);
}

void jg_library_paths_free(struct jg_library_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        jg_free(paths->paths[i]);
    }
    jg_free(paths->paths);
    jg_str_free(&paths->searched);
    *paths = (struct jg_library_paths){0};
}

bool jg_library_paths_fingerprint(const char *path, struct jg_str *out)
{
    if (strchr(path, '/') == NULL) {
        return false;
    }
    char *real = realpath(path, NULL);
    struct stat facts;
    if (real == NULL || stat(real, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        free(real); /* realpath's own memory */
        return false;
    }
    jg_str_printf(out, "path=%s size=%lld inode=%llu modified=%lld.%09ld", real,
                  (long long)facts.st_size, (unsigned long long)facts.st_ino,
                  (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    free(real);
    return true;
}
