/* SPDX-License-Identifier: MIT */
/* The reader of PTX under libFuzzer: a module whose parts are where they say, or an error
 * with its place in the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_sound.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A finding of UndefinedBehaviorSanitizer ends the process, too. */
const char *__ubsan_default_options(void);
// NOLINTNEXTLINE(bugprone-reserved-identifier): it is the sanitizer's
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

static void expect(bool condition, const char *what, const char *detail)
{
    if (!condition) {
        fprintf(stderr, "not as it must be: %s: %s\n", what, detail);
        abort();
    }
}

static void expect_place(const char *message, const char *text, size_t size)
{
    unsigned line = 0;
    unsigned column = 0;
    unsigned lines = 1;
    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    expect(sscanf(message, "%u:%u: ", &line, &column) == 2, "an error has its place",
           message);
    expect(line >= 1 && line <= lines && column >= 1 && column <= size + 1,
           "the place is one of the text", message);
}

static void describe_all(const struct ptx_module *module)
{
    struct emu_text text = {0};
    for (uint32_t i = 0; i < module->function_count; i++) {
        const struct ptx_function *function = &module->functions[i];
        for (uint32_t k = 0; k < function->insn_count; k++) {
            emu_text_free(&text);
            ptx_describe_full_location(module, &function->insns[k].location, &text);
            expect(strlen(emu_text_get(&text)) > 0, "a place has a description",
                   function->name);
        }
    }
    emu_text_free(&text);
}

/* Does it ask for more registers or elements at once than a thousand? Up to the limits that
 * is legal, tested elsewhere, and takes a second or so. */
static bool is_slow(const uint8_t *data, size_t size)
{
    size_t digits = 0;
    bool is_count = false;
    for (size_t i = 0; i < size; i++) {
        const bool is_digit = data[i] >= '0' && data[i] <= '9';
        if (data[i] == '<' || data[i] == '[') {
            is_count = true;
            digits = 0;
        } else if (is_count && (is_digit || data[i] == ' ')) {
            digits += is_digit ? 1 : 0;
        } else {
            is_count = false;
        }
        if (is_count && digits > 3) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (is_slow(data, size)) {
        return 0;
    }
    /* No byte more than `size`, so that a read beyond is noticed. */
    char *text = malloc(size);
    struct emu_error error = {0};
    expect(text != NULL, "memory", "");
    if (size > 0) {
        memcpy(text, data, size);
    }
    struct ptx_module *module = ptx_parse(text, size, &error);
    expect((module == NULL) == error.set, "a module or an error", error.text);
    if (module == NULL) {
        expect_place(error.text, text, size);
    } else {
        const char *fault = ptx_find_unsound(module);
        expect(fault == NULL, "a module is sound", fault != NULL ? fault : "");
        describe_all(module);
        ptx_module_free(module);
    }
    free(text);
    return 0;
}
