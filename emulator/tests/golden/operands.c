/* SPDX-License-Identifier: MIT */
/*
 * Domains of operands. Most have a list of boundary values, which come first (two operands:
 * all pairs of them), and a kind of random value. Some are sequences that visit every value
 * of interest once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elementwise.h"

static const uint64_t ints16[] = {0,      1,      2,      3,      7,      10,    15,
                                  16,     17,     0x7F,   0x80,   0xFF,   0x100, 0x5555,
                                  0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF};
static const uint64_t ints32[] = {
    0,          1,          2,          3,          7,          10,         31,
    32,         33,         0x7F,       0x80,       0xFF,       0x7FFF,     0x8000,
    0xFFFF,     0x10000,    0x12345678, 0x55555555, 0x7FFFFFFE, 0x7FFFFFFF, 0x80000000,
    0x80000001, 0xFFFF8000, 0xFFFFFF80, 0xFFFFFFFE, 0xFFFFFFFF};
static const uint64_t ints64[] = {0,
                                  1,
                                  2,
                                  3,
                                  10,
                                  63,
                                  64,
                                  0x7F,
                                  0x80,
                                  0xFFFF,
                                  0x7FFFFFFF,
                                  0x80000000,
                                  0xFFFFFFFF,
                                  0x100000000,
                                  0x123456789ABCDEF0,
                                  0x5555555555555555,
                                  0x7FFFFFFFFFFFFFFE,
                                  0x7FFFFFFFFFFFFFFF,
                                  0x8000000000000000,
                                  0x8000000000000001,
                                  0xFFFFFFFF00000000,
                                  0xFFFFFFFF80000000,
                                  0xFFFFFFFFFFFFFF80,
                                  0xFFFFFFFFFFFFFFFE,
                                  0xFFFFFFFFFFFFFFFF};
static const uint64_t shifts[] = {
    0,   1,   7,   8,   15,  16, 17, 24, 31,  32,  33, 47, 63,         64,        65,
    127, 128, 255, 256, 257, 95, 96, 97, 511, 512, 40, 48, 0x80000000, 0xFFFFFFFF};
/* Positions and lengths, which are at most 255. */
static const uint64_t fields[] = {0,  1,  5,  16, 31,  32,  33,  47,
                                  63, 64, 65, 80, 127, 128, 254, 255};
static const uint64_t floats32[] = {
    0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x00000001, 0x80000001, 0x007FFFFF,
    0x807FFFFF, 0x00800000, 0x80800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000,
    0x7FC00000, 0x7F800001, 0xFFC12345, 0x3F000000, 0x3FC00000, 0xC0000000, 0x3F800001,
    0x3F7FFFFF, 0x40490FDB, 0x00400000, 0x7E800000, 0x2F800000};
static const uint64_t floats64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
    0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x7FEFFFFFFFFFFFFF,
    0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000,
    0x7FF0000000000001, 0xFFF8123456789ABC, 0x3FE0000000000000, 0xC000000000000000,
    0x3FF0000000000001, 0x3FEFFFFFFFFFFFFF, 0x400921FB54442D18};
/* What narrowing an f64 to f32 may get wrong: ties, overflow, subnormal results. */
static const uint64_t narrow64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FF0000010000000, 0x3FF0000010000001,
    0x3FF000000FFFFFFF, 0x3FF0000030000000, 0x47EFFFFFE0000000, 0x47EFFFFFEFFFFFFF,
    0x47EFFFFFF0000000, 0xC7EFFFFFF0000000, 0x47F0000000000000, 0x3690000000000000,
    0x3690000000000001, 0x36A0000000000000, 0x36A8000000000000, 0x3680000000000000,
    0x380FFFFFE0000000, 0x380FFFFFFFFFFFFF, 0xB80FFFFFF0000000, 0x3810000000000000,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0x7FF0000000000001,
    0xFFFFFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x0000000000000001, 0xBFE0000000000000,
    0x40EFFDFFFFFFFFFF, 0x40EFFE0000000000, 0x3E60000000000000, 0x3E70000000000001};
static const uint64_t halves[] = {
    0x0000, 0x8000, 0x3C00, 0xBC00, 0x0001, 0x83FF, 0x0400, 0x8400, 0x7BFF, 0xFBFF, 0x7C00,
    0xFC00, 0x7E00, 0x7C01, 0xFE55, 0x3800, 0x3E00, 0xC000, 0x3C01, 0x3BFF, 0x6800, 0x0200};
static const uint64_t bfloats[] = {
    0x0000, 0x8000, 0x3F80, 0xBF80, 0x0001, 0x807F, 0x0080, 0x8080, 0x7F7F, 0xFF7F, 0x7F80,
    0xFF80, 0x7FC0, 0x7F81, 0xFFC5, 0x3F00, 0x3FC0, 0xC000, 0x3F81, 0x3F7F, 0x5F80, 0x0040};
/* What narrowing an f32 to bf16, f16 or tf32 may get wrong. */
static const uint64_t narrow32[] = {
    0x00000000, 0x80000000, 0x3F808000, 0x3F808001, 0x3F807FFF, 0x3F818000, 0xBF818001,
    0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0xFF7F8000, 0x00008000, 0x00008001, 0x00018000,
    0x80007FFF, 0x007F8000, 0x007FFFFF, 0x3F801000, 0x3F801001, 0x3F800FFF, 0x3F803000,
    0xBF803001, 0x477FE000, 0x477FEFFF, 0x477FF000, 0xC77FF000, 0x47800000, 0x33000000,
    0x33000001, 0x33800000, 0x33C00000, 0xB3BFFFFF, 0x387FC000, 0x387FE000, 0x387FFFFF,
    0x38800000, 0x7F7FF000, 0x7F7FEFFF, 0x7F7FE000, 0xFF7FF000, 0x00001000, 0x00000FFF,
    0x00003000, 0x007FF000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFC12345,
    0x7FFFFFFF, 0xFFFFFFFF, 0xBF800000};
/* sin and cos are only defined well for small arguments. */
static const uint64_t angles[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001,
                                  0x007FFFFF, 0x00800000, 0x7F800000, 0xFF800000,
                                  0x7FC00000, 0x3F800000, 0xBF800000, 0x40490FDB,
                                  0x3FC90FDB, 0x40C90FDB, 0xBFC90FDB, 0x34000000};
/* Around the ends of the integer types, and halves. */
static const uint64_t near_ints32[] = {
    0x00000000, 0x80000000, 0x3EFFFFFF, 0x3F000000, 0x3F000001, 0xBF000000, 0x3FC00000,
    0xBFC00000, 0x40200000, 0xC0200000, 0x3F7FFFFF, 0xBF7FFFFF, 0x42FE0000, 0x42FF0000,
    0x42FEFFFF, 0x43000000, 0xC3000000, 0xC3008000, 0xC3010000, 0x437F0000, 0x437F8000,
    0x43800000, 0x46FFFE00, 0x46FFFF00, 0x47000000, 0xC7000000, 0xC7000100, 0x477FFF00,
    0x477FFF80, 0x47800000, 0x4EFFFFFF, 0x4F000000, 0xCF000000, 0xCF000001, 0x4F7FFFFF,
    0x4F800000, 0x5EFFFFFF, 0x5F000000, 0xDF000000, 0xDF000001, 0x5F7FFFFF, 0x5F800000,
    0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001,
    0x00000001, 0x80000001, 0x4B000001, 0x4AFFFFFF, 0xCAFFFFFF};
static const uint64_t near_ints64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3FE0000000000000, 0xBFE0000000000000,
    0x3FDFFFFFFFFFFFFF, 0x3FF8000000000000, 0xBFF8000000000000, 0x4004000000000000,
    0x405FC00000000000, 0x405FE00000000000, 0x4060000000000000, 0xC060000000000000,
    0xC060100000000000, 0x406FE00000000000, 0x406FF00000000000, 0x40DFFFC000000000,
    0x40DFFFE000000000, 0xC0E0000000000000, 0xC0E0001000000000, 0x40EFFFE000000000,
    0x40EFFFF000000000, 0x41DFFFFFFFC00000, 0x41DFFFFFFFE00000, 0x41E0000000000000,
    0xC1E0000000000000, 0xC1E0000000100000, 0xC1E0000000200000, 0x41EFFFFFFFE00000,
    0x41EFFFFFFFF00000, 0x41F0000000000000, 0x43DFFFFFFFFFFFFF, 0x43E0000000000000,
    0xC3E0000000000000, 0xC3E0000000000001, 0x43EFFFFFFFFFFFFF, 0x43F0000000000000,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000,
    0x0000000000000001, 0x7FEFFFFFFFFFFFFF, 0x4330000000000001, 0x432FFFFFFFFFFFFF};

#define LIST(list) list, sizeof(list) / sizeof(list)[0]

/* How a random value is drawn. */
enum kind {
    ANY,        /* uniform bits */
    NOT_ZERO,   /* uniform bits, not 0 */
    BELOW_80,   /* shift amounts */
    REAL_32,    /* half uniform bits, half near 1 */
    REAL_64,    /* the same */
    TIES_32,    /* low bits that are a tie, or next to it */
    SIZES_32,   /* an integer type's range of magnitudes */
    SIZES_64,   /* the same */
    EX2,        /* -150 to 130 */
    POSITIVE,   /* every exponent, mostly positive */
    TANH,       /* -10 to 10 and tiny */
    ANGLE,      /* -7 to 7 */
    MEMBERS,    /* of a warp: the same for its 32 lanes, not empty */
    SHFL_WIDTH, /* shfl's segment operand for a width, the same for a warp */
    SHFL_ANY,   /* any segment operand, the same for a warp */
    PERMUTED,   /* 0 to 31, each once in a warp */
    FEW,        /* 0 to 3: equal values in a warp are likely */
    UNIFORM,    /* any value, the same for a warp */
};

struct domain {
    char letter, register_letter;
    enum kind kind;
    const uint64_t *list;
    size_t count;
};

static const struct domain domains[] = {
    {'i', 'r', ANY, LIST(ints32)},
    {'l', 'd', ANY, LIST(ints64)},
    {'w', 'h', ANY, LIST(ints16)},
    {'n', 'r', NOT_ZERO, ints32 + 1, sizeof(ints32) / sizeof(ints32[0]) - 1},
    {'m', 'd', NOT_ZERO, ints64 + 1, sizeof(ints64) / sizeof(ints64[0]) - 1},
    {'o', 'h', NOT_ZERO, ints16 + 1, sizeof(ints16) / sizeof(ints16[0]) - 1},
    {'s', 'r', BELOW_80, LIST(shifts)},
    {'t', 'r', BELOW_80, LIST(fields)},
    {'f', 'r', REAL_32, LIST(floats32)},
    {'D', 'd', REAL_64, LIST(floats64)},
    {'N', 'd', REAL_64, LIST(narrow64)},
    {'h', 'h', ANY, LIST(halves)},
    {'b', 'h', ANY, LIST(bfloats)},
    {'H', 'r', ANY, LIST(halves)},
    {'B', 'r', ANY, LIST(bfloats)},
    {'r', 'r', TIES_32, LIST(narrow32)},
    {'I', 'r', SIZES_32, LIST(near_ints32)},
    {'J', 'd', SIZES_64, LIST(near_ints64)},
    {'1', 'r', EX2, LIST(floats32)},
    {'2', 'r', POSITIVE, LIST(floats32)},
    {'3', 'r', TANH, LIST(floats32)},
    {'4', 'r', ANGLE, LIST(angles)},
    {'M', 'r', MEMBERS, NULL, 0},
    {'C', 'r', SHFL_WIDTH, NULL, 0},
    {'c', 'r', SHFL_ANY, NULL, 0},
    {'p', 'r', PERMUTED, NULL, 0},
    {'v', 'r', FEW, NULL, 0},
    {'V', 'd', FEW, NULL, 0},
    {'u', 'r', UNIFORM, NULL, 0},
    {'R', 'r', ANY, NULL, 0},
    {'P', 'r', BELOW_80, NULL, 0},
    /* Sequences: item i has value i of it. */
    {'a', 'h', ANY, NULL, 65536}, /* every 16-bit value */
    {'A', 'r', ANY, NULL, 65536}, /* the same, beside another */
    {'y', 'r', ANY, NULL, 65536}, /* every bf16, as f32 */
    {'e', 'h', ANY, NULL, 256},   /* every byte, beside another */
    {'q', 'r', ANY, NULL, 1152},  /* f32 at and about the ties of e4m3 */
    {'Q', 'r', ANY, NULL, 1152},  /* f32 at and about the ties of e5m2 */
};

static const struct domain *find_domain(char letter)
{
    for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
        if (domains[i].letter == letter) {
            return &domains[i];
        }
    }
    fprintf(stderr, "emu_golden: no domain %c\n", letter);
    exit(2);
}

char gold_domain_register(char letter)
{
    return find_domain(letter)->register_letter;
}

static bool is_sequence(const struct domain *domain)
{
    return domain->list == NULL && domain->count > 0;
}

unsigned gold_domain_items(const char *letters)
{
    const struct domain *first = find_domain(letters[0]);

    if (is_sequence(first)) {
        return (unsigned)first->count;
    }
    if (letters[1] == '\0') {
        return (unsigned)first->count + 200;
    }
    if (letters[2] == '\0') {
        return (unsigned)(first->count * find_domain(letters[1])->count) + 128;
    }
    return 640;
}

static uint32_t near_one(struct gold_random *random, unsigned low_exponent, unsigned span)
{
    uint32_t bits = (uint32_t)gold_random_next(random);

    return (bits & 0x807FFFFF) | (low_exponent + gold_random_below(random, span)) << 23;
}

/* Bits of the f32 nearest to a double: the values here are exact or need no care. */
static uint32_t float_bits(double value)
{
    float narrow = (float)value;
    uint32_t bits;

    memcpy(&bits, &narrow, sizeof(bits));
    return bits;
}

/* A number in [-1, 1) with 31 random bits. */
static double draw_signed(struct gold_random *random)
{
    return (double)(int32_t)(uint32_t)gold_random_next(random) * 0x1p-31;
}

static uint32_t draw_tie(struct gold_random *random)
{
    static const uint32_t low13[] = {0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF};
    static const uint32_t low16[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};
    uint32_t pick = gold_random_below(random, 6);
    /* Exponents that f16 has, or its subnormals, or all. */
    uint32_t base = gold_random_below(random, 4) == 0 ? (uint32_t)gold_random_next(random)
                                                      : near_one(random, 100, 44);

    if (gold_random_below(random, 2) == 0) {
        return (base & 0xFFFFE000) | low13[pick];
    }
    return (base & 0xFFFF0000) | low16[pick];
}

/* Warp-uniform values are drawn anew from the number of the warp. */
static uint64_t draw_for_warp(enum kind kind, unsigned item)
{
    struct gold_random random = {0x51AB1E5 + item / 32 * 1000003ull + (uint64_t)kind};
    uint32_t bits = (uint32_t)gold_random_next(&random);

    switch (kind) {
    case MEMBERS:
        if (item / 32 == 0) {
            return 0xFFFFFFFF;
        }
        return bits != 0 ? bits : 1;
    case SHFL_WIDTH: /* width 1 to 32: segment mask 32 - width, clamp 31 */
        return (uint64_t)(32 - (1u << item / 32 % 6)) << 8 | 31;
    case SHFL_ANY:
        return bits & 0x1F1F;
    case PERMUTED: { /* a random permutation, by insertion from the front */
        unsigned order[32];

        for (unsigned i = 0; i < 32; i++) {
            unsigned place = gold_random_below(&random, i + 1);

            order[i] = order[place];
            order[place] = i;
        }
        return order[item % 32];
    }
    default:
        return bits;
    }
}

static uint64_t draw(enum kind kind, unsigned item, struct gold_random *random)
{
    uint64_t bits = gold_random_next(random);

    switch (kind) {
    case ANY:
        return bits;
    case NOT_ZERO:
        return (bits >> gold_random_below(random, 16)) | 1ull << bits % 16;
    case BELOW_80:
        return bits % 80;
    case FEW:
        return bits >> 62;
    case REAL_32:
        return bits & 1ull << 40 ? bits >> 8 & 0xFFFFFFFF : near_one(random, 100, 50);
    case REAL_64:
        return bits & 4 ? gold_random_next(random)
                        : (bits & 0x800FFFFFFFFFFFFF) |
                              (uint64_t)(1023 - 40 + gold_random_below(random, 80)) << 52;
    case TIES_32:
        return draw_tie(random);
    case SIZES_32:
        return near_one(random, 124, 70);
    case SIZES_64:
        return (bits & 0x800FFFFFFFFFFFFF) |
               (uint64_t)(1020 + gold_random_below(random, 70)) << 52;
    case EX2:
        return float_bits(bits & 1 ? -10 + 140 * draw_signed(random) : draw_signed(random));
    case POSITIVE:
        return bits >> (bits & 15 ? 33 : 32);
    case TANH:
        return bits & 7 ? float_bits((bits & 8 ? 10 : 1) * draw_signed(random))
                        : near_one(random, 90, 40);
    case ANGLE:
        return float_bits(7 * draw_signed(random));
    default:
        return draw_for_warp(kind, item);
    }
}

/* f32 values of an 8-bit format: item / 4 is a code (by its magnitude), item % 4 says
 * whether the code itself, the middle to the next, or a neighbour of that middle. Then
 * values far outside, and specials. */
static uint32_t near_code(unsigned item, unsigned mantissa_bits, int least_exponent)
{
    static const uint32_t others[] = {0x00000000, 0x80000000, 0x00000001, 0x80000001,
                                      0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000,
                                      0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001,
                                      0x7FFFFFFF, 0x3F800000, 0xBF800000, 0x47800000};
    unsigned code = item / 4 % 128, mantissa = code & ((1u << mantissa_bits) - 1);
    unsigned field = code >> mantissa_bits;
    unsigned significand = field == 0 ? mantissa : mantissa | 1u << mantissa_bits;
    double unit = 1;
    uint32_t sign = item >= 512 ? 0x80000000 : 0, bits;
    int exponent = least_exponent + (field == 0 ? 0 : (int)field - 1), i;

    if (item >= 1024) {
        return others[item % 16] ^ (item % 128 < 64 ? 0 : item * 0x9E3779B9u & 0x007FF000);
    }
    for (i = exponent; i < 0; i++) {
        unit /= 2;
    }
    for (i = exponent; i > 0; i--) {
        unit *= 2;
    }
    if (item % 4 == 0) {
        return float_bits(significand * unit) | sign;
    }
    bits = float_bits((significand + 0.5) * unit);
    return (item % 4 == 1 ? bits : item % 4 == 2 ? bits + 1 : bits - 1) | sign;
}

static uint64_t visit(char letter, unsigned item)
{
    uint32_t other = (item * 40503u + 12345u) & 0xFFFF;

    switch (letter) {
    case 'a':
        return item & 0xFFFF;
    case 'A':
        return (item & 0xFFFF) | (uint64_t)other << 16;
    case 'y':
        return (uint64_t)(item & 0xFFFF) << 16;
    case 'e':
        return (item & 0xFF) | (uint64_t)(other & 0xFF) << 8;
    case 'q': /* 3 bits of mantissa, least exponent -6 */
        return near_code(item % 1152, 3, -9);
    default: /* 2 bits, -14 */
        return near_code(item % 1152, 2, -16);
    }
}

static uint64_t narrow_to_register(const struct domain *domain, uint64_t value)
{
    if (domain->register_letter == 'h') {
        return value & 0xFFFF;
    }
    return domain->register_letter == 'r' ? value & 0xFFFFFFFF : value;
}

/* Packed pairs take a second element from the list. */
static uint64_t pick(const struct domain *domain, size_t index, struct gold_random *random)
{
    uint64_t value = domain->list[index % domain->count];

    if (domain->letter == 'H' || domain->letter == 'B') {
        value |= domain->list[gold_random_below(random, (uint32_t)domain->count)] << 16;
    }
    return value;
}

uint64_t gold_domain_value(const char *letters, unsigned operand, unsigned item,
                           struct gold_random *random)
{
    const struct domain *domain = find_domain(letters[operand]);
    const struct domain *first = find_domain(letters[0]);
    size_t operands = strlen(letters);

    if (is_sequence(domain)) { /* a second operand walks in steps of its own */
        return visit(domain->letter, operand == 0 ? item : item * 7 + 3 * operand);
    }
    if (domain->list == NULL) {
        return narrow_to_register(domain, draw(domain->kind, item, random));
    }
    if (operands == 1 && item < domain->count) {
        return pick(domain, item, random);
    }
    if (operands == 2 && item < first->count * find_domain(letters[1])->count) {
        return pick(domain, operand == 0 ? item % first->count : item / first->count,
                    random);
    }
    if (operands > 2 && gold_random_below(random, 3) < 2) {
        return pick(domain, gold_random_below(random, (uint32_t)domain->count), random);
    }
    return narrow_to_register(domain, draw(domain->kind, item, random));
}
