/* SPDX-License-Identifier: MIT */
/*
 * What every folder of the emulator stands on: memory, text, a seeded random source.
 * Nothing here knows PTX or CUDA.
 */
#ifndef EMU_BASE_BASE_H
#define EMU_BASE_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One level of check for printf-like functions. */
#define EMU_PRINTF(string, first) __attribute__((format(printf, string, first)))

/*
 * Memory. The emulator stands in for a device: when the host has no memory left it says so
 * and ends the process, as a kernel that loses its machine would. Sizes that come from
 * outside (PTX text, API calls) are checked against limits before they get here.
 */
void *emu_alloc(size_t bytes); /* zeroed, never NULL */
/* The same for a size that a program asked for: NULL when there is none left. */
void *emu_try_alloc(size_t bytes);
void *emu_realloc(void *memory, size_t bytes);
char *emu_strdup(const char *text);
char *emu_strndup(const char *text, size_t length);
void emu_free(void *memory); /* accepts NULL */

/* Makes room for one more element in `array` of `count` elements: doubles at powers of 2.
 */
#define EMU_GROW(array, count)                                                         \
    do {                                                                               \
        if (((count) & ((count)-1)) == 0) {                                            \
            size_t emu_grow_room = (count) == 0 ? 1 : (size_t)(count)*2;               \
            /* NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers */ \
            (array) = emu_realloc((array), emu_grow_room * sizeof(*(array)));          \
        }                                                                              \
    } while (0)

/* Memory that is freed as a whole. Zero-initialise; pieces are zeroed, 16-byte aligned. */
struct emu_arena {
    struct emu_arena_block *blocks;
};
void *emu_arena_alloc(struct emu_arena *arena, size_t bytes);
char *emu_arena_strndup(struct emu_arena *arena, const char *text, size_t length);
void emu_arena_free(struct emu_arena *arena);

/* Growable text. Zero-initialise. `text` is NULL until something was added. */
struct emu_text {
    char *text;
    size_t length, room;
};
void emu_text_add(struct emu_text *text, const char *format, ...) EMU_PRINTF(2, 3);
void emu_text_addv(struct emu_text *text, const char *format, va_list args);
const char *emu_text_get(const struct emu_text *text); /* "" when empty */
void emu_text_free(struct emu_text *text);

/* A message of bounded length, for errors that travel up. The first one stays. */
struct emu_error {
    bool set;
    char text[4096]; /* room for a name that C++ mangled */
};
/* Always false, so that a caller can `return emu_fail(...)`. */
bool emu_fail(struct emu_error *error, const char *format, ...) EMU_PRINTF(2, 3);

/* xoshiro256** by Blackman and Vigna (public domain algorithm), seeded by splitmix64. */
struct emu_random {
    uint64_t state[4];
};
void emu_random_seed(struct emu_random *random, uint64_t seed);
uint64_t emu_random_next(struct emu_random *random);
/* Uniform in [0, bound); bound > 0. */
uint32_t emu_random_below(struct emu_random *random, uint32_t bound);
/* One well-mixed value of two: child seeds. */
uint64_t emu_mix(uint64_t a, uint64_t b);

/* The memory at an address of the device, which is one of the host. */
static inline void *emu_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): no other way */
}

/* 64-bit hash of bytes (XXH3). */
uint64_t emu_hash(const void *bytes, size_t count);

static inline uint64_t emu_ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}
static inline uint64_t emu_align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}
static inline bool emu_is_power_of_2(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}
static inline unsigned emu_lowest_bit(uint32_t mask)
{
    return (unsigned)__builtin_ctz(mask);
}
static inline unsigned emu_count_bits(uint32_t mask)
{
    return (unsigned)__builtin_popcount(mask);
}

#endif
