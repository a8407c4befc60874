/* SPDX-License-Identifier: MIT */
#include "cuda/library_paths.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
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

/* Nobody but the user and root may put something else in its place. */
static bool is_trusted(const struct stat *facts)
{
    return (facts->st_uid == geteuid() || facts->st_uid == 0) &&
           (facts->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Adds the libraries that lie in a folder, if both are to be trusted. */
static jit_gemm_status add_folder(struct jg_library_paths *paths, const char *folder,
                                  const struct jg_library_names *names)
{
    struct stat folder_facts;
    note_searched(paths, folder);
    if (stat(folder, &folder_facts) != 0) {
        return JIT_GEMM_OK;
    }
    if (!is_trusted(&folder_facts)) {
        jg_str_puts(&paths->searched, " (not trusted: others may write there)");
        return JIT_GEMM_OK;
    }
    for (size_t i = 0; i < names->count; i++) {
        struct jg_str path = {0};
        jg_str_printf(&path, "%s/%s", folder, names->names[i]);
        struct stat facts;
        jit_gemm_status status = jg_str_status(&path);
        if (status == JIT_GEMM_OK && stat(path.data, &facts) == 0 &&
            S_ISREG(facts.st_mode)) {
            if (is_trusted(&facts)) {
                status = add_path(paths, path.data);
            } else {
                jg_str_printf(&paths->searched, " (%s is not trusted: others may write it)",
                              names->names[i]);
            }
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

/* ------------------------------------------------------------------ this code's folder */

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

/* Folder of the file that this code was loaded from: a library's, or the program's if that
 * was linked with it, which the loader knows by the name that it was called with. */
static bool find_own_folder(char folder[PATH_MAX])
{
    static const char marker = 0;
    Dl_info own, program;
    char path[PATH_MAX] = "";
    if (dladdr(&marker, &own) == 0 || own.dli_fname == NULL) {
        return false;
    }
    const void *headers =
        (const void *)getauxval(AT_PHDR); // NOLINT: an address as a number
    if (dladdr(headers, &program) != 0 && program.dli_fbase == own.dli_fbase) {
        const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[size > 0 ? size : 0] = '\0';
        return find_folder(path, folder);
    }
    return find_folder(own.dli_fname, folder);
}

/* ------------------------------------------------------------------ wheels of Python */

/* The folders of libraries in the wheels nvidia-cuda-nvrtc, -cu12 and
 * nvidia-nvjitlink-cu12, below one of packages. */
static const char *const wheel_folders[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib",
                                            "nvidia/nvjitlink/lib"};
static const char *const package_folders[] = {"site-packages", "dist-packages"};
enum {
    WHEEL_FOLDER_COUNT = sizeof(wheel_folders) / sizeof(wheel_folders[0]),
    PACKAGE_FOLDER_COUNT = sizeof(package_folders) / sizeof(package_folders[0])
};

/* The wheels in a folder of packages. */
static jit_gemm_status add_wheels(struct jg_library_paths *paths, const char *packages,
                                  const struct jg_library_names *names)
{
    jit_gemm_status status = JIT_GEMM_OK;
    for (int i = 0; i < WHEEL_FOLDER_COUNT && status == JIT_GEMM_OK; i++) {
        struct jg_str folder = {0};
        struct stat facts;
        jg_str_printf(&folder, "%s/%s", packages, wheel_folders[i]);
        status = jg_str_status(&folder);
        if (status == JIT_GEMM_OK && stat(folder.data, &facts) == 0) {
            status = add_folder(paths, folder.data, names);
        }
        jg_str_free(&folder);
    }
    return status;
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Names of the folders of Pythons below `lib`, in the order of their bytes; by glob they
 * would not be: without memory that of glibc frees twice. */
static jit_gemm_status list_pythons(const char *lib, struct jg_library_paths *ret_pythons)
{
    DIR *list = opendir(lib);
    if (list == NULL) {
        return errno == ENOMEM ? jg_fail_memory() : JIT_GEMM_OK;
    }
    jit_gemm_status status = JIT_GEMM_OK;
    const struct dirent *entry;
    while (status == JIT_GEMM_OK && (entry = readdir(list)) != NULL) {
        if (strncmp(entry->d_name, "python3", strlen("python3")) == 0) {
            status = add_path(ret_pythons, entry->d_name);
        }
    }
    closedir(list);
    if (ret_pythons->count > 1) {
        qsort(ret_pythons->paths, ret_pythons->count, sizeof(ret_pythons->paths[0]),
              compare_names);
    }
    return status;
}

/* The wheels in the packages of each Python below `lib`. */
static jit_gemm_status add_wheels_of_pythons(struct jg_library_paths *paths,
                                             const char *lib,
                                             const struct jg_library_names *names)
{
    struct jg_library_paths pythons = {0};
    jit_gemm_status status = list_pythons(lib, &pythons);
    const size_t count = pythons.count * PACKAGE_FOLDER_COUNT;
    for (size_t i = 0; i < count && status == JIT_GEMM_OK; i++) {
        struct jg_str packages = {0};
        jg_str_printf(&packages, "%s/%s/%s", lib, pythons.paths[i / PACKAGE_FOLDER_COUNT],
                      package_folders[i % PACKAGE_FOLDER_COUNT]);
        status = jg_str_status(&packages);
        if (status == JIT_GEMM_OK) {
            status = add_wheels(paths, packages.data, names);
        }
        jg_str_free(&packages);
    }
    jg_library_paths_free(&pythons);
    return status;
}

static jit_gemm_status add_wheels_below(struct jg_library_paths *paths, const char *root,
                                        const char *below,
                                        const struct jg_library_names *names)
{
    if (root == NULL || root[0] != '/') {
        return JIT_GEMM_OK;
    }
    struct jg_str lib = {0};
    jg_str_printf(&lib, "%s%s/lib", root, below);
    jit_gemm_status status = jg_str_status(&lib);
    if (status == JIT_GEMM_OK) {
        status = add_wheels_of_pythons(paths, lib.data, names);
    }
    jg_str_free(&lib);
    return status;
}

/* The packages that this library itself is one of, if it is. */
static jit_gemm_status add_own_wheels(struct jg_library_paths *paths,
                                      const struct jg_library_names *names)
{
    static const char *const words[] = {"/site-packages/", "/dist-packages/"};
    char folder[PATH_MAX + 1];
    if (!find_own_folder(folder)) {
        return JIT_GEMM_OK;
    }
    snprintf(folder + strlen(folder), sizeof(folder) - strlen(folder), "/");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char *at = strstr(folder, words[i]);
        if (at != NULL) {
            at[strlen(words[i]) - 1] = '\0';
            return add_wheels(paths, folder, names);
        }
    }
    return JIT_GEMM_OK;
}

/* Behind the usual folders: those of this library's own packages, of the environment that
 * is active, of the user and of the machine. */
static jit_gemm_status add_python_paths(struct jg_library_paths *paths,
                                        const struct jg_library_names *names)
{
    JG_TRY(add_own_wheels(paths, names));
    JG_TRY(add_wheels_below(paths, secure_getenv("VIRTUAL_ENV"), "", names));
    JG_TRY(add_wheels_below(paths, secure_getenv("CONDA_PREFIX"), "", names));
    JG_TRY(add_wheels_below(paths, secure_getenv("HOME"), "/.local", names));
    JG_TRY(add_wheels_below(paths, "/usr/local", "", names));
    JG_TRY(add_wheels_below(paths, "/usr", "", names));
    note_searched(paths, "nvidia/cu13/lib and nvidia/cuda_nvrtc/lib of Python's packages");
    return JIT_GEMM_OK;
}

/* -------------------------------------------------------------------- the usual places */

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
    JG_TRY(add_python_paths(paths, names));
    return add_bare_names(paths, names);
}

/* --------------------------------------------------------------- beside this library */

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
    char folder[PATH_MAX];
    if (find_own_folder(folder)) {
        JG_TRY(add_folder(paths, folder, names));
        cut_to_folder(folder);
        JG_TRY(add_sibling(paths, folder, sibling, names));
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
