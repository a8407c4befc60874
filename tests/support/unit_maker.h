/* SPDX-License-Identifier: MIT */
/* From a problem's text and a snippet to a source unit, for tests. */
#ifndef JG_TESTS_UNIT_MAKER_H
#define JG_TESTS_UNIT_MAKER_H

#include "source/assemble.h"

struct unit_request {
    const char *problem;       /* without the epilogue: it is added */
    const char *snippet;       /* NULL: no epilogue */
    const char *operands;      /* "bias:row_vector:bf16 aux:matrix:f32:out"; NULL: none */
    const char *name;          /* of the epilogue; NULL: "test" */
    const char *source_name;   /* NULL: the epilogue's name */
    uint32_t first_line;       /* 0: 1 */
    const char *arch;          /* NULL: sm_90a */
    const struct jg_str *code; /* a compiled function in the snippet's place; NULL: none */
    const char *symbol;        /* of it */
};

struct unit {
    struct jg_epilogue *epilogue; /* NULL without a snippet */
    struct jg_problem problem;
    struct jg_choice choice;
    const struct jg_arch *arch;
    struct jg_source source;
    struct jg_str problem_text;
};

/* Fails the running test if any step fails. */
struct unit unit_make(const struct unit_request *request);
/* The same with an epilogue that is there, or NULL; unit_free destroys it. */
struct unit unit_make_registered(const char *problem, const char *arch,
                                 struct jg_epilogue *epilogue);
/* The same for one snippet with the operands of epilogue_list_operands, reference kernel:
 * fast to compile. */
struct unit unit_make_snippet(const char *snippet, const char *source_name,
                              uint32_t first_line);
void unit_free(struct unit *unit);

/* A fresh private folder; removed with all it holds by unit_remove_folder. */
void unit_make_folder(char path[64]);
void unit_remove_folder(const char *path);

#endif
