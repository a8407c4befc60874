/* SPDX-License-Identifier: MIT */
#include "base/struct.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* A struct_size beyond this is no size but garbage. */
enum { MAX_UNKNOWN_TAIL = 4096 };

/* Whole words: a size between them would cut a pointer, of which half is garbage. */
static bool is_size(size_t size, size_t own_size)
{
    return size >= sizeof(size) && size % sizeof(size) == 0 &&
           size <= own_size + MAX_UNKNOWN_TAIL;
}

/* The size that a caller's struct says, whose tail beyond the library's is zero. */
static jit_gemm_status check_user(const void *user, size_t own_size, const char *name,
                                  size_t *ret_size)
{
    if (user == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name, "pass the address of a struct",
                       "is NULL");
    }
    char where[96];
    char hint[128];
    snprintf(where, sizeof(where), "%s.struct_size", name);
    snprintf(hint, sizeof(hint), "set it to sizeof(%s) of your struct", name);
    size_t size;
    memcpy(&size, user, sizeof(size));
    if (!is_size(size, own_size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, hint,
                       "is %zu, where this library has %zu", size, own_size);
    }
    const unsigned char *bytes = user;
    for (size_t i = own_size; i < size; i++) {
        if (bytes[i] != 0) {
            return jg_fail(JIT_GEMM_ERR_VERSION, where,
                           "use a newer library, or leave the newer fields zero",
                           "is %zu, where this library has %zu, and a field past its end "
                           "is not zero",
                           size, own_size);
        }
    }
    *ret_size = size;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_struct_import(const void *user, void *own, size_t own_size,
                                 const char *name)
{
    size_t size = 0;
    JG_TRY(check_user(user, own_size, name, &size));
    memset(own, 0, own_size);
    memcpy(own, user, size < own_size ? size : own_size);
    memcpy(own, &own_size, sizeof(own_size));
    return JIT_GEMM_OK;
}

jit_gemm_status jg_struct_export(const void *own, size_t own_size, void *user,
                                 const char *name)
{
    size_t size = 0;
    JG_TRY(check_user(user, own_size, name, &size));
    const size_t copied = size < own_size ? size : own_size;
    memcpy((unsigned char *)user + sizeof(size), (const unsigned char *)own + sizeof(size),
           copied - sizeof(size));
    return JIT_GEMM_OK;
}

jit_gemm_status jg_struct_fill(const void *own, size_t own_size, size_t size, void *user,
                               const char *name)
{
    if (user == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name, "pass the address of a struct",
                       "is NULL");
    }
    if (!is_size(size, own_size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "struct_size",
                       "give sizeof of the struct that is to be filled",
                       "is %zu, where this library has %zu", size, own_size);
    }
    const unsigned char *bytes = own;
    for (size_t i = size; i < own_size; i++) {
        if (bytes[i] != 0) {
            return jg_fail(JIT_GEMM_ERR_VERSION, "struct_size",
                           "build with this library's headers, or leave out what is newer",
                           "is %zu, where this library has %zu, and the text says "
                           "something for a field past its end",
                           size, own_size);
        }
    }
    memset(user, 0, size);
    memcpy(user, own, size < own_size ? size : own_size);
    memcpy(user, &size, sizeof(size));
    return JIT_GEMM_OK;
}
