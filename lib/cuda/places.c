/* SPDX-License-Identifier: MIT */
#include "cuda/places.h"

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

static jit_gemm_status add_place(struct jg_places *places, const char *path)
{
    char **paths = jg_realloc(places->paths, (places->count + 1) * sizeof(*paths));
    if (paths == NULL) {
        return jg_fail_memory();
    }
    places->paths = paths;
    paths[places->count] = jg_copy_text(path, strlen(path));
    if (paths[places->count] == NULL) {
        return jg_fail_memory();
    }
    places->count++;
    return JIT_GEMM_OK;
}

static void note_searched(struct jg_places *places, const char *place)
{
    jg_str_printf(&places->searched, "%s%s", places->searched.size > 0 ? ", " : "", place);
}

/* Adds the libraries that lie in a folder. */
static jit_gemm_status add_folder(struct jg_places *places, const char *folder,
                                  const struct jg_library_names *names)
{
    note_searched(places, folder);
    for (size_t i = 0; i < names->count; i++) {
        struct jg_str path = {0};
        jg_str_printf(&path, "%s/%s", folder, names->names[i]);
        struct stat facts;
        jit_gemm_status status = jg_str_status(&path);
        if (status == JIT_GEMM_OK && stat(path.data, &facts) == 0 &&
            S_ISREG(facts.st_mode)) {
            status = add_place(places, path.data);
        }
        jg_str_free(&path);
        JG_TRY(status);
    }
    return JIT_GEMM_OK;
}

/* The one place that somebody named: a library, or a folder that has one. */
static jit_gemm_status add_named_place(struct jg_places *places, const char *path,
                                       const struct jg_library_names *names)
{
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode)) {
        return add_folder(places, path, names);
    }
    note_searched(places, path);
    return add_place(places, path);
}

/* Names without a folder: the loader looks for them itself. */
static jit_gemm_status add_bare_names(struct jg_places *places,
                                      const struct jg_library_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        note_searched(places, names->names[i]);
        JG_TRY(add_place(places, names->names[i]));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status add_usual_places(struct jg_places *places,
                                        const struct jg_library_names *names)
{
    const char *home = secure_getenv("CUDA_HOME");
    if (home != NULL && home[0] != '\0') {
        struct jg_str folder = {0};
        jg_str_printf(&folder, "%s/lib64", home);
        jit_gemm_status status = jg_str_status(&folder);
        if (status == JIT_GEMM_OK) {
            status = add_folder(places, folder.data, names);
        }
        jg_str_free(&folder);
        JG_TRY(status);
    }
    for (int i = 0; i < USUAL_FOLDER_COUNT; i++) {
        JG_TRY(add_folder(places, usual_folders[i], names));
    }
    return add_bare_names(places, names);
}

/* --------------------------------------------------------------- beside this library */

/* Leaves the folder of a path; 0 if it names none. */
static int cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash == NULL) {
        return 0;
    }
    slash[slash == path ? 1 : 0] = '\0';
    return 1;
}

/* The folder of an absolute path, without links and dots; 0 if there is none. A relative
 * path is as good as none: the current folder may have changed since. */
static int find_folder(const char *path, char folder[PATH_MAX])
{
    char copy[PATH_MAX];
    const int size = snprintf(copy, sizeof(copy), "%s", path);
    return size > 0 && (size_t)size < sizeof(copy) && copy[0] == '/' &&
           cut_to_folder(copy) && realpath(copy, folder) != NULL;
}

/* Folder of the file that this code was loaded from. */
static int find_own_folder(char folder[PATH_MAX])
{
    static const char marker = 0;
    Dl_info info;
    return dladdr(&marker, &info) != 0 && info.dli_fname != NULL &&
           find_folder(info.dli_fname, folder);
}

static int find_program_folder(char folder[PATH_MAX])
{
    char path[PATH_MAX];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (size <= 0) {
        return 0;
    }
    path[size] = '\0';
    return find_folder(path, folder);
}

/* The folder that lies beside a folder under that name. */
static jit_gemm_status add_sibling(struct jg_places *places, const char *parent,
                                   const char *sibling,
                                   const struct jg_library_names *names)
{
    struct jg_str folder = {0};
    jg_str_printf(&folder, "%s%s%s", parent, parent[1] != '\0' ? "/" : "", sibling);
    jit_gemm_status status = jg_str_status(&folder);
    if (status == JIT_GEMM_OK) {
        status = add_folder(places, folder.data, names);
    }
    jg_str_free(&folder);
    return status;
}

static jit_gemm_status add_companion_places(struct jg_places *places, const char *sibling,
                                            const struct jg_library_names *names)
{
    char folders[2][PATH_MAX];
    int count = find_own_folder(folders[0]);
    if (find_program_folder(folders[count]) &&
        (count == 0 || strcmp(folders[0], folders[1]) != 0)) {
        count++;
    }
    for (int i = 0; i < count; i++) {
        JG_TRY(add_folder(places, folders[i], names));
        cut_to_folder(folders[i]);
    }
    for (int i = 0; i < count; i++) {
        if (i == 0 || strcmp(folders[0], folders[1]) != 0) {
            JG_TRY(add_sibling(places, folders[i], sibling, names));
        }
    }
    return add_bare_names(places, names);
}

/* ----------------------------------------------------------------------------- whole */

/* Gives the places to the caller, or frees them. */
static jit_gemm_status finish_places(struct jg_places *places, jit_gemm_status status,
                                     struct jg_places *ret_places)
{
    if (status == JIT_GEMM_OK) {
        status = jg_str_status(&places->searched);
    }
    if (status != JIT_GEMM_OK) {
        jg_places_free(places);
        return status;
    }
    *ret_places = *places;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_places_find(const struct jg_library_names *names, const char *named,
                               struct jg_places *ret_places)
{
    struct jg_places places = {0};
    const jit_gemm_status status = named != NULL ? add_named_place(&places, named, names)
                                                 : add_usual_places(&places, names);
    return finish_places(&places, status, ret_places);
}

jit_gemm_status jg_places_companion(const struct jg_library_names *names,
                                    const char *sibling, struct jg_places *ret_places)
{
    struct jg_places places = {0};
    const jit_gemm_status status = add_companion_places(&places, sibling, names);
    return finish_places(&places, status, ret_places);
}

void jg_places_free(struct jg_places *places)
{
    for (size_t i = 0; i < places->count; i++) {
        jg_free(places->paths[i]);
    }
    jg_free(places->paths);
    jg_str_free(&places->searched);
    *places = (struct jg_places){0};
}

int jg_places_fingerprint(const char *path, struct jg_str *out)
{
    if (strchr(path, '/') == NULL) {
        return 0;
    }
    char *real = realpath(path, NULL);
    struct stat facts;
    if (real == NULL || stat(real, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        free(real); /* realpath's own memory */
        return 0;
    }
    jg_str_printf(out, "path=%s size=%lld inode=%llu modified=%lld.%09ld", real,
                  (long long)facts.st_size, (unsigned long long)facts.st_ino,
                  (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
    free(real);
    return 1;
}
