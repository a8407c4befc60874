/* SPDX-License-Identifier: MIT */
/* Epilogues of tests: operands as a text, or those that a snippet names. */
#ifndef JG_TESTS_EPILOGUE_MAKER_H
#define JG_TESTS_EPILOGUE_MAKER_H

#include "plan/epilogue.h"

struct epilogue_request {
    const char *snippet;
    size_t snippet_size;  /* 0: up to its zero byte */
    const char *operands; /* "bias:row_vector:bf16 aux:matrix:f32:out"; NULL: none */
    const char *name;     /* NULL: "test" */
    const char *source_name;
    uint32_t first_line;
    const struct jg_str *code; /* a compiled function in the snippet's place; NULL: none */
    const char *symbol;        /* of it */
};

/* What jg_epilogue_create says. Fails the running test if `operands` cannot be read. */
jit_gemm_status epilogue_make(const struct epilogue_request *request,
                              struct jg_epilogue **ret_epilogue);

/* Of bias (row vector), c (column vector), r (matrix), s (scalar), aux and aux2 (output
 * matrices) those that stand in the snippet, in the form of `operands`. */
void epilogue_list_operands(const char *snippet, char *buffer, size_t size);

#endif
