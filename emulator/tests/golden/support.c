/* SPDX-License-Identifier: MIT */
/* Memory, text and seeded numbers for the golden cases. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "golden.h"

void *gold_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes == 0 ? 1 : bytes);

    if (memory == NULL) {
        fprintf(stderr, "emu_golden: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

static void make_room(struct gold_text *text, size_t more)
{
    size_t need = text->length + more + 1;

    if (need <= text->room) {
        return;
    }
    text->room = need * 2;
    text->text = realloc(text->text, text->room);
    if (text->text == NULL) {
        fprintf(stderr, "emu_golden: no memory for %zu bytes\n", text->room);
        exit(2);
    }
}

void gold_text_add(struct gold_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        fprintf(stderr, "emu_golden: bad format %s\n", format);
        exit(2);
    }
    make_room(text, (size_t)length);
    va_start(args, format);
    vsnprintf(text->text + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void gold_text_fill(struct gold_text *text, const char *form,
                    const struct gold_value *values)
{
    const struct gold_value *value;

    for (; *form != '\0'; form++) {
        if (*form != '$') {
            gold_text_add(text, "%c", *form);
            continue;
        }
        form++;
        if (*form == '$') {
            gold_text_add(text, "$");
            continue;
        }
        for (value = values; value->letter != '\0' && value->letter != *form; value++) {
            ;
        }
        if (value->letter == '\0') {
            fprintf(stderr, "emu_golden: no value for $%c\n", *form);
            exit(2);
        }
        gold_text_add(text, "%lld", value->value);
    }
}

uint64_t gold_random_next(struct gold_random *random)
{
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint32_t gold_random_below(struct gold_random *random, uint32_t bound)
{
    return (uint32_t)(((gold_random_next(random) >> 32) * bound) >> 32);
}

uint64_t gold_seed(const char *text)
{
    return XXH3_64bits(text, strlen(text));
}
