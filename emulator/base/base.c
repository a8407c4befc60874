/* SPDX-License-Identifier: MIT */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("emulator: out of memory\n", stderr);
        abort();
    }
    return memory;
}

void *emu_try_alloc(size_t bytes)
{
    return calloc(1, bytes == 0 ? 1 : bytes);
}

void *emu_alloc(size_t bytes)
{
    return must(emu_try_alloc(bytes));
}

void *emu_realloc(void *memory, size_t bytes)
{
    return must(realloc(memory, bytes == 0 ? 1 : bytes));
}

char *emu_strdup(const char *text)
{
    return emu_strndup(text, strlen(text));
}

char *emu_strndup(const char *text, size_t length)
{
    char *copy = emu_alloc(length + 1);
    memcpy(copy, text, length);
    return copy;
}

void emu_free(void *memory)
{
    free(memory);
}

/* ----------------------------------------------------------------------------- arena */

struct emu_arena_block {
    struct emu_arena_block *next;
    size_t used, room;
    _Alignas(16) unsigned char bytes[];
};

void *emu_arena_alloc(struct emu_arena *arena, size_t bytes)
{
    struct emu_arena_block *block = arena->blocks;
    bytes = (size_t)emu_align_up(bytes, 16);
    if (block == NULL || block->room - block->used < bytes) {
        size_t room = bytes > 65536 ? bytes : 65536;
        block = emu_alloc(sizeof(*block) + room);
        block->room = room;
        block->next = arena->blocks;
        arena->blocks = block;
    }
    void *piece = block->bytes + block->used;
    block->used += bytes;
    return piece;
}

char *emu_arena_strndup(struct emu_arena *arena, const char *text, size_t length)
{
    char *copy = emu_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

void emu_arena_free(struct emu_arena *arena)
{
    while (arena->blocks != NULL) {
        struct emu_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

/* ------------------------------------------------------------------------------ text */

void emu_text_addv(struct emu_text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) {
        return;
    }
    size_t need = text->length + (size_t)length + 1;
    if (need > text->room) {
        text->room = need * 2;
        text->text = emu_realloc(text->text, text->room);
    }
    vsnprintf(text->text + text->length, (size_t)length + 1, format, args);
    text->length += (size_t)length;
}

void emu_text_add(struct emu_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    emu_text_addv(text, format, args);
    va_end(args);
}

const char *emu_text_get(const struct emu_text *text)
{
    return text->text == NULL ? "" : text->text;
}

void emu_text_free(struct emu_text *text)
{
    free(text->text);
    *text = (struct emu_text){0};
}

bool emu_fail(struct emu_error *error, const char *format, ...)
{
    if (!error->set) {
        va_list args;
        va_start(args, format);
        vsnprintf(error->text, sizeof(error->text), format, args);
        va_end(args);
        error->set = true;
    }
    return false;
}

/* ---------------------------------------------------------------------------- random */

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void emu_random_seed(struct emu_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        random->state[i] = splitmix(&seed);
    }
}

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

uint64_t emu_random_next(struct emu_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint32_t emu_random_below(struct emu_random *random, uint32_t bound)
{
    return (uint32_t)(((emu_random_next(random) >> 32) * bound) >> 32);
}

uint64_t emu_mix(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xD6E8FEB86659FD93u);
    return splitmix(&state);
}

uint64_t emu_hash(const void *bytes, size_t count)
{
    return XXH3_64bits(bytes, count);
}
