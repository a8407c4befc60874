/* SPDX-License-Identifier: MIT */
/* The table of wrong snippets, tests/snippets/wrong.txt, whose head says how it reads. */
#ifndef JG_TESTS_WRONG_SNIPPETS_H
#define JG_TESTS_WRONG_SNIPPETS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/epilogue.h"

enum wrong_kind { WRONG_BY_CHECKER, WRONG_BY_COMPILER, WRONG_ARGUMENT };

struct wrong_snippet {
    enum wrong_kind kind;
    uint32_t row; /* line of the table */
    uint32_t line, column;
    char operands[512]; /* for epilogue_make */
    char *text;
    size_t size;
    char words[192], hint[160];
};

/* The file and the first line that every snippet of the table is given. */
#define WRONG_SOURCE_NAME "user.cu"
enum { WRONG_FIRST_LINE = 10 };

/* Calls `visit` for each row of a kind; returns their number. Fails the running test if the
 * table cannot be read. */
typedef void (*wrong_snippet_fn)(void *user, const struct wrong_snippet *row);
int wrong_snippets_walk(enum wrong_kind kind, wrong_snippet_fn visit, void *user);

/* Registers the row's epilogue. */
jit_gemm_status wrong_snippet_make(const struct wrong_snippet *row,
                                   struct jg_epilogue **ret_epilogue);
/* Is the thread's last error what the row says? Takes the diagnostics. */
void wrong_snippet_expect(const struct wrong_snippet *row);

#endif
