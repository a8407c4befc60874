/* SPDX-License-Identifier: MIT */
/* Texts that are wrong: cut off anywhere, changed anywhere, or beyond a limit. A module or
 * an error with its place comes back, and nothing is read behind the text. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test_ptx_support.h"

#define MUTATIONS 6000 /* of a sample; fuzz_ptx tries more */

/* Parses a copy that has no byte more than `length`. */
static bool try_text(const char *text, size_t length)
{
    struct emu_error error = {0};
    char *copy = emu_strndup(text, length);
    copy = emu_realloc(copy, length);
    struct ptx_module *module = ptx_parse(copy, length, &error);
    emu_free(copy);
    cr_assert_eq(module == NULL, error.set);
    if (module == NULL) {
        unsigned line = 0, column = 0;
        cr_assert_eq(sscanf(error.text, "%u:%u: ", &line, &column), 2, "%s", error.text);
        cr_assert(line > 0 && column > 0);
        return false;
    }
    expect_sound(module);
    ptx_module_free(module);
    return true;
}

static void cut_everywhere(const char *text)
{
    size_t accepted = 0;
    for (size_t length = 0; length < strlen(text); length++) {
        accepted += try_text(text, length);
    }
    /* Most cuts are inside of something. */
    cr_expect_lt(accepted, strlen(text) / 2);
    cr_expect(try_text(text, strlen(text)));
}

Test(ptx_malformed, hopper_sample_cut_at_every_byte)
{
    cut_everywhere(ptx_samples[0]);
}

Test(ptx_malformed, blackwell_sample_cut_at_every_byte)
{
    cut_everywhere(ptx_samples[1]);
}

Test(ptx_malformed, shapes_sample_cut_at_every_byte)
{
    cut_everywhere(ptx_samples[2]);
}

/* Pieces of syntax, for changes that get further than single bytes do. */
static const char *const pieces[] = {
    "{",      "}",       "(",      ")",        "[",           "]",   ";",      ",",
    ".",      "@",       "!",      "|",        "-",           "%",   "<",      ">",
    "=",      ":",       "\"",     "/*",       "0x",          "0f",  "0d",     "1e",
    "?",      "<<",      "\n",     "_",        "$",           "%r1", "%tid.x", "generic",
    ".reg",   ".func",   ".entry", ".param",   "/",           "//",  "ret;",   ".loc",
    ".file",  ".align",  ".v4",    ".section", "99999999999", "bra", "call",   "k",
    ".local", ".extern", "1.5",    ".b8",      "inlined_at",  "[]",
};
#define PIECE_COUNT (sizeof(pieces) / sizeof(pieces[0]))

struct buffer {
    char text[16384];
    size_t length;
};

static void splice(struct buffer *buffer, size_t at, size_t removed, const char *added,
                   size_t added_length)
{
    if (removed > buffer->length - at) {
        removed = buffer->length - at;
    }
    if (buffer->length - removed + added_length > sizeof(buffer->text)) {
        return;
    }
    memmove(buffer->text + at + added_length, buffer->text + at + removed,
            buffer->length - at - removed);
    memcpy(buffer->text + at, added, added_length);
    buffer->length = buffer->length - removed + added_length;
}

static void mutate(struct emu_random *random, struct buffer *buffer)
{
    const size_t at = emu_random_below(random, (uint32_t)buffer->length);
    const size_t count = 1 + emu_random_below(random, 40);
    char copy[64];
    const char byte = (char)emu_random_next(random);
    switch (emu_random_below(random, 5)) {
    case 0: /* one bit */
        buffer->text[at] = (char)(buffer->text[at] ^ (1 << emu_random_below(random, 8)));
        break;
    case 1: /* one byte */
        buffer->text[at] = byte;
        break;
    case 2: /* something is gone */
        splice(buffer, at, count, "", 0);
        break;
    case 3: { /* a piece of syntax comes in */
        const char *piece = pieces[emu_random_below(random, PIECE_COUNT)];
        splice(buffer, at, emu_random_below(random, 3), piece, strlen(piece));
        break;
    }
    default: { /* a part of the text comes in elsewhere */
        const size_t from = emu_random_below(random, (uint32_t)buffer->length);
        const size_t most = buffer->length - from;
        const size_t length = count < most ? count : most;
        memcpy(copy, buffer->text + from, length);
        splice(buffer, at, 0, copy, length);
        break;
    }
    }
}

static void mutate_often(const char *text, uint64_t seed)
{
    struct emu_random random;
    emu_random_seed(&random, seed);
    size_t accepted = 0;
    for (size_t i = 0; i < MUTATIONS; i++) {
        static struct buffer buffer;
        buffer.length = strlen(text);
        memcpy(buffer.text, text, buffer.length);
        const uint32_t changes = 1 + emu_random_below(&random, 4);
        for (uint32_t j = 0; j < changes && buffer.length > 0; j++) {
            mutate(&random, &buffer);
        }
        accepted += try_text(buffer.text, buffer.length);
    }
    /* Some changes meet comments and numbers, most do not. */
    cr_expect_gt(accepted, 0);
    cr_expect_lt(accepted, MUTATIONS / 2);
}

Test(ptx_malformed, hopper_sample_changed_at_random)
{
    mutate_often(ptx_samples[0], 1);
}

Test(ptx_malformed, blackwell_sample_changed_at_random)
{
    mutate_often(ptx_samples[1], 2);
}

Test(ptx_malformed, shapes_sample_changed_at_random)
{
    mutate_often(ptx_samples[2], 3);
}

/* ---------------------------------------------------------------------------- limits */

static void repeat(struct emu_text *text, const char *part, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        emu_text_add(text, "%s", part);
    }
}

Test(ptx_malformed, sixty_four_scopes_and_no_more)
{
    struct emu_text text = {0};
    repeat(&text, "{", 63);
    repeat(&text, "}", 63);
    ptx_module_free(parse_body(emu_text_get(&text)));
    emu_text_free(&text);

    repeat(&text, "{", 100000);
    cr_expect_str_eq(refusal_of_body(emu_text_get(&text)),
                     "4:65: more than 64 nested scopes");
    emu_text_free(&text);
}

Test(ptx_malformed, a_million_registers_and_no_more)
{
    struct ptx_module *module =
        parse_module(".entry k() { .reg .b32 %r<1048000>; { .reg .b64 %r<576>; } ret; }");
    cr_expect_eq(module->functions[0].register_count, 1048576);
    cr_expect_str_eq(module->functions[0].registers[1047999].name, "%r1047999");
    ptx_module_free(module);

    cr_expect_str_eq(
        refusal_of_module(".entry k() { .reg .b32 %r<1048576>; { .reg .b32 x; } }"),
        "4:49: more than 1048576 registers in the module");
    cr_expect_str_eq(refusal_of_module(".entry k() { .reg .b32 %r<1048577>; }"),
                     "4:27: 1048577 is more than the 1048576 that are supported");
}

Test(ptx_malformed, areas_are_bounded)
{
    cr_expect_str_eq(
        refusal_of_module(".entry k() { .local .b8 a[1073741824]; .local .b8 b; }"),
        "4:52: variables of more than 1073741824 bytes in one area");
    struct emu_text text = {0};
    emu_text_add(&text, ".entry k() {");
    repeat(&text, "{.local .align 1048576 .b8 a;}", 2000);
    const char *refusal = refusal_of_module(emu_text_get(&text));
    cr_expect(strstr(refusal, "variables of more than 1073741824 bytes in one area") !=
              NULL);
    emu_text_free(&text);
}

Test(ptx_malformed, lists_and_opcodes_are_bounded)
{
    struct emu_text text = {0};
    emu_text_add(&text, "mov.b64 {%%r1");
    repeat(&text, ",%r1", 1024);
    cr_expect(strstr(refusal_of_body(emu_text_get(&text)), "more than 1024 elements"));
    emu_text_free(&text);

    emu_text_add(&text, "mov.b64 %%r1");
    repeat(&text, ",%r1", 1024);
    cr_expect(strstr(refusal_of_body(emu_text_get(&text)), "more than 1024 operands"));
    emu_text_free(&text);

    emu_text_add(&text, "mov");
    repeat(&text, ".x", 32);
    cr_expect(strstr(refusal_of_body(emu_text_get(&text)),
                     "4:1: an opcode of more than 32 words or 512 characters"));
    emu_text_free(&text);
}

Test(ptx_malformed, a_text_of_more_than_64_mib_is_refused)
{
    const size_t length = ((size_t)64 << 20) + 1;
    char *text = emu_alloc(length);
    memset(text, ' ', length);
    struct emu_error error = {0};

    cr_expect_null(ptx_parse(text, length, &error));
    cr_expect_str_eq(error.text,
                     "1:1: a text of more than 67108864 bytes is not supported");
    error = (struct emu_error){0};
    cr_expect_null(ptx_parse(text, length - 1, &error));
    cr_expect_str_eq(error.text, "1:67108865: expected '.version' but the text ends");
    emu_free(text);
}
