/* SPDX-License-Identifier: MIT */
/* Coverage: what was executed, merged by several processes at a time. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/coverage.h"
#include "harness.h"

/* Six instructions on six lines; the fifth was inlined into line 90 of the first file. */
static const char ptx[] =
    ".version 8.7\n.target sm_100a\n.address_size 64\n"
    ".visible .entry k()\n{\n.reg .b32 %r<9>;\n"
    ".loc 1 10 1\nmov.b32 %r1, 1;\n.loc 1 11 1\nadd.u32 %r2, %r1, 1;\n"
    ".loc 2 12 1\nadd.u32 %r3, %r1, 1;\n.loc 1 13 1\nmul.lo.u32 %r4, %r1, 3;\n"
    ".loc 1 90 1\n.loc 2 7 1, function_name $n, inlined_at 1 90 1\nxor.b32 %r5, %r1, 1;\n"
    ".loc 1 15 1\nret;\n}\n"
    ".file 1 \"jg/one.cuh\"\n.file 2 \"jg/two.cuh\"\n"
    ".section .debug_str\n{\n$n:\n.b8 102\n.b8 0\n}\n";

static char path[] = "/tmp/emu_coverage_XXXXXX";

static char *read_all(void)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static bool merge_one(struct harness *h, unsigned executed)
{
    uint8_t covered[6] = {0};
    struct emu_error error = {0};
    cr_assert_eq(h->program->insn_count, 6);
    covered[executed] = 1;
    return emu_coverage_merge(path, h->program, covered, &error);
}

Test(coverage, lines_and_opcodes_are_merged)
{
    struct harness h;
    harness_open(&h);
    harness_load(&h, ptx);
    close(mkstemp(path));
    cr_expect(merge_one(&h, 0));
    cr_expect(merge_one(&h, 4));
    cr_expect(merge_one(&h, 3));
    cr_expect_str_eq(read_all(), "0\tadd.u32\tjg/one.cuh:11\n"
                                 "0\tadd.u32\tjg/two.cuh:12\n"
                                 "1\tinlined\tjg/one.cuh:90\n"
                                 "1\tmov.b32\tjg/one.cuh:10\n"
                                 "1\tmul.lo.u32\tjg/one.cuh:13\n"
                                 "0\tret\tjg/one.cuh:15\n"
                                 "1\txor.b32\tjg/two.cuh:7\n");
    unlink(path);
    harness_close(&h);
}

Test(coverage, processes_lose_nothing_of_each_other)
{
    struct harness h;
    harness_open(&h);
    harness_load(&h, ptx);
    close(mkstemp(path));
    for (unsigned executed = 0; executed < 6; executed++) {
        if (fork() == 0) {
            bool good = true;
            for (unsigned i = 0; i < 20; i++) {
                good = merge_one(&h, executed) && good;
            }
            _exit(good ? 0 : 1);
        }
    }
    int status = 0;
    while (wait(&status) > 0) {
        cr_expect_eq(status, 0);
    }
    const char *text = read_all();
    cr_expect_null(strstr(text, "0\t"), "%s", text);
    cr_expect_not_null(strstr(text, "1\tret\tjg/one.cuh:15\n"));
    unlink(path);
    harness_close(&h);
}

Test(coverage, file_that_cannot_be_written_is_told)
{
    struct harness h;
    struct emu_error error = {0};
    uint8_t covered[6] = {0};
    harness_open(&h);
    harness_load(&h, ptx);
    cr_expect_not(emu_coverage_merge("/nowhere/at/all", h.program, covered, &error));
    cr_expect_not_null(strstr(error.text, "/nowhere/at/all cannot be opened"));
    harness_close(&h);
}
