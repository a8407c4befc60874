/* SPDX-License-Identifier: MIT */
#include "fuzz_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "plan/operand_text.h"

/* A finding of UndefinedBehaviorSanitizer ends the process, too. */
const char *__ubsan_default_options(void);
// NOLINTNEXTLINE(bugprone-reserved-identifier): it is the sanitizer's
const char *__ubsan_default_options(void)
{
    return "halt_on_error=1:print_stacktrace=1";
}

void fuzz_expect(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "not as it must be: %s; last error: %s\n", what, jg_error_text());
        abort();
    }
}

static long noted, noted_read;

static void expect_some_read(void)
{
    enum { ENOUGH = 1000 };
    if (noted >= ENOUGH && noted_read == 0) {
        fprintf(stderr, "not one of %ld inputs could be read: keep some of this format\n",
                noted);
        _exit(1);
    }
}

void fuzz_note(bool is_read)
{
    if (noted++ == 0) {
        fuzz_expect(atexit(expect_some_read) == 0, "a function for the end");
    }
    noted_read += is_read;
}

void fuzz_expect_error(jit_gemm_status status)
{
    fuzz_expect(status != JIT_GEMM_ERR_INTERNAL, "no internal error");
    fuzz_expect(jg_error_status() == status, "the error has the status of the call");
    fuzz_expect(jg_error_text()[0] != '\0', "an error has words");
}

void fuzz_expect_same(struct jg_str *first, struct jg_str *second, const char *what)
{
    fuzz_expect(first->size == second->size &&
                    strcmp(jg_str_text(first), jg_str_text(second)) == 0,
                what);
    jg_str_free(first);
    jg_str_free(second);
}

size_t fuzz_read_operands(const uint8_t *data, size_t size, size_t skip,
                          struct fuzz_operands *operands)
{
    const char *line = (const char *)data;
    const char *end = size > skip ? memchr(line + skip, '\n', size - skip) : NULL;
    for (const char *at = line + skip; end != NULL && at < end;) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        const size_t length = (size_t)((blank != NULL ? blank : end) - at);
        const uint32_t i = operands->count;
        if (i == JIT_GEMM_MAX_OPERANDS) {
            return 0;
        }
        const jit_gemm_status status =
            jg_operand_parse(at, length, ':', operands->names[i], &operands->operands[i]);
        if (status != JIT_GEMM_OK) {
            fuzz_expect_error(status);
            return 0;
        }
        operands->operands[i].name = operands->names[i];
        operands->count++;
        at += length + (blank != NULL ? 1 : 0);
    }
    return end != NULL ? (size_t)(end - line) + 1 : 0;
}

int fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    }
    fuzz_expect(fd >= 0 && ftruncate(fd, (off_t)size) == 0 &&
                    pwrite(fd, data, size, 0) == (ssize_t)size,
                "a file in memory");
    return fd;
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size);
    fuzz_expect(copy != NULL, "memory");
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

char *fuzz_text(const uint8_t *data, size_t size)
{
    char *copy = malloc(size + 1);
    fuzz_expect(copy != NULL, "memory");
    if (size > 0) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    return copy;
}
