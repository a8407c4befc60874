/* SPDX-License-Identifier: MIT */
/*
 * NVRTC with changed headers: hands everything through, except that in each header the text
 * MUTATE_FROM is replaced by MUTATE_TO. A program in which it stands nowhere is refused, so
 * that no test passes for want of its fault.
 *
 * Everything else is found in NVRTC itself, which this object depends on: a lookup in an
 * object reaches what the object depends on.
 */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HEADERS = 512 };

typedef nvrtcResult (*create_function)(nvrtcProgram *, const char *, const char *, int,
                                       const char *const *, const char *const *);

/* Owned by nobody: the process compiles a few kernels. */
static const char *replace_all(const char *text, const char *from, const char *to,
                               int *count)
{
    const size_t from_size = strlen(from);
    const size_t to_size = strlen(to);
    size_t hits = 0;
    for (const char *at = strstr(text, from); at != NULL;
         at = strstr(at + from_size, from)) {
        hits++;
    }
    char *result = malloc(strlen(text) + hits * to_size + 1);
    if (result == NULL) {
        abort();
    }
    char *end = result;
    for (const char *at = strstr(text, from); at != NULL; at = strstr(text, from)) {
        end = (char *)mempcpy(end, text, (size_t)(at - text));
        end = (char *)mempcpy(end, to, to_size);
        text = at + from_size;
    }
    memcpy(end, text, strlen(text) + 1);
    *count += (int)hits;
    return result;
}

__attribute__((visibility("default"))) nvrtcResult
nvrtcCreateProgram(nvrtcProgram *program, const char *source, const char *name, int count,
                   const char *const *headers, const char *const *names)
{
    const char *from = getenv("MUTATE_FROM");
    const char *to = getenv("MUTATE_TO");
    void *symbol = dlsym(RTLD_NEXT, "nvrtcCreateProgram");
    create_function create = NULL;
    const char *changed[MOST_HEADERS];
    int hits = 0;
    memcpy(&create, &symbol, sizeof(create));
    if (create == NULL || from == NULL || to == NULL || count > MOST_HEADERS) {
        return NVRTC_ERROR_INVALID_INPUT;
    }
    for (int i = 0; i < count; i++) {
        changed[i] = replace_all(headers[i], from, to, &hits);
    }
    return hits > 0 ? create(program, source, name, count, changed, names)
                    : NVRTC_ERROR_INVALID_INPUT;
}

/* Keeps the dependency. */
extern nvrtcResult (*const mutating_nvrtc_of)(int *, int *);
nvrtcResult (*const mutating_nvrtc_of)(int *, int *) = nvrtcVersion;
