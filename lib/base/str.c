/* SPDX-License-Identifier: MIT */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MIN_CAPACITY = 64 };

/* Makes room for `size` more bytes and the zero byte; false once growth has failed. */
static bool reserve_bytes(struct jg_str *str, size_t size)
{
    if (str->failed) {
        return false;
    }
    if (size > SIZE_MAX / 2 || str->size > SIZE_MAX / 2 - size - 1) {
        str->failed = true;
        return false;
    }
    const size_t needed = str->size + size + 1;
    if (needed <= str->capacity) {
        return true;
    }
    size_t capacity = str->capacity > 0 ? str->capacity : MIN_CAPACITY;
    while (capacity < needed) {
        capacity *= 2;
    }
    char *data = jg_realloc(str->data, capacity);
    if (data == NULL) {
        str->failed = true;
        return false;
    }
    str->data = data;
    str->capacity = capacity;
    return true;
}

void jg_str_add(struct jg_str *str, const char *bytes, size_t size)
{
    if (!reserve_bytes(str, size)) {
        return;
    }
    if (size > 0) {
        memcpy(str->data + str->size, bytes, size);
    }
    str->size += size;
    str->data[str->size] = '\0';
}

void jg_str_puts(struct jg_str *str, const char *text)
{
    jg_str_add(str, text, strlen(text));
}

void jg_str_printf(struct jg_str *str, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        str->failed = true;
        return;
    }
    if (!reserve_bytes(str, (size_t)length)) {
        return;
    }
    va_start(args, format);
    vsnprintf(str->data + str->size, (size_t)length + 1, format, args);
    va_end(args);
    str->size += (size_t)length;
}

void jg_bytes_u32(struct jg_str *out, uint32_t value)
{
    char bytes[4];
    for (int i = 0; i < 4; i++) {
        bytes[i] = (char)(unsigned char)(value >> (8 * i));
    }
    jg_str_add(out, bytes, sizeof(bytes));
}

void jg_bytes_u64(struct jg_str *out, uint64_t value)
{
    jg_bytes_u32(out, (uint32_t)value);
    jg_bytes_u32(out, (uint32_t)(value >> 32));
}

void jg_bytes_field(struct jg_str *out, uint32_t tag, const void *data, size_t size)
{
    jg_bytes_u32(out, tag);
    jg_bytes_u64(out, size);
    jg_str_add(out, data, size);
}

void jg_str_fixed(struct jg_str *str, double value, int digits)
{
    int64_t scale = 1;
    for (int i = 0; i < digits; i++) {
        scale *= 10;
    }
    const int64_t rounded = (int64_t)(value * (double)scale + 0.5);
    jg_str_printf(str, "%lld.%0*lld", (long long)(rounded / scale), digits,
                  (long long)(rounded % scale));
}

const char *jg_str_text(const struct jg_str *str)
{
    return str->data != NULL ? str->data : "";
}

jit_gemm_status jg_str_status(const struct jg_str *str)
{
    return str->failed ? jg_fail_memory() : JIT_GEMM_OK;
}

void jg_str_free(struct jg_str *str)
{
    jg_free(str->data);
    *str = (struct jg_str){0};
}

void jg_str_export(const char *text, size_t length, char *buffer, size_t size,
                   size_t *ret_length)
{
    if (buffer != NULL && size > 0) {
        const size_t copied = length < size - 1 ? length : size - 1;
        if (copied > 0) {
            memcpy(buffer, text, copied);
        }
        buffer[copied] = '\0';
    }
    if (ret_length != NULL) {
        *ret_length = length;
    }
}

jit_gemm_status jg_str_deliver(struct jg_str *str, jit_gemm_status status, char *buffer,
                               size_t size, size_t *ret_length)
{
    const jit_gemm_status result = status != JIT_GEMM_OK ? status : jg_str_status(str);
    if (result == JIT_GEMM_OK) {
        jg_str_export(jg_str_text(str), str->size, buffer, size, ret_length);
    }
    jg_str_free(str);
    return result;
}
