/* SPDX-License-Identifier: MIT */
/* Why a call came out as it did: the result's name, and the one sentence of a reason. */
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *jg_cache_result_name(jg_cache_result result)
{
    switch (result) {
    case JG_CACHE_OK:
        return "ok";
    case JG_CACHE_MISS:
        return "miss";
    case JG_CACHE_EXISTS:
        return "exists";
    case JG_CACHE_DAMAGED:
        return "damaged";
    case JG_CACHE_MISMATCH:
        return "mismatch";
    case JG_CACHE_UNTRUSTED:
        return "untrusted";
    case JG_CACHE_NO_FOLDER:
        return "no folder";
    case JG_CACHE_IO:
        return "input/output";
    case JG_CACHE_NO_MEMORY:
        return "no memory";
    case JG_CACHE_TOO_LARGE:
        return "too large";
    }
    return "unknown";
}

struct jg_cache_why jg_cache_begin_reason(char *reason, size_t reason_size)
{
    if (reason != NULL && reason_size > 0) {
        reason[0] = '\0';
    }
    return (struct jg_cache_why){.text = reason, .size = reason_size};
}

void jg_cache_say(const struct jg_cache_why *why, const char *format, ...)
{
    if (why->text == NULL || why->size == 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    if (vsnprintf(why->text, why->size, format, args) < 0) {
        why->text[0] = '\0';
    }
    va_end(args);
    for (char *at = why->text; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = '?';
        }
    }
}

jg_cache_result jg_cache_say_errno(const struct jg_cache_why *why, int error,
                                   const char *action)
{
    jg_cache_say(why, "cannot %s: %s (errno %d)", action, strerror(error), error);
    return error == ENOMEM ? JG_CACHE_NO_MEMORY : JG_CACHE_IO;
}

void jg_cache_say_more(const struct jg_cache_why *why, const char *more)
{
    if (why->text == NULL || why->size == 0) {
        return;
    }
    const size_t length = strlen(why->text);
    snprintf(why->text + length, why->size - length, "%s", more);
}
