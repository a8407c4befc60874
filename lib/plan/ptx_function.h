/* SPDX-License-Identifier: MIT */
/*
 * One function in a text of PTX: found with its parameters, and turned into what an asm
 * statement of CUDA C++ can hold. ptxas does not inline a function across modules, and a
 * call makes it give up wgmma's overlap and setmaxnreg on sm_90a; pasted text is inlined by
 * construction, and a device that executes PTX needs no linker for it.
 */
#ifndef JG_PLAN_PTX_FUNCTION_H
#define JG_PLAN_PTX_FUNCTION_H

#include "base/str.h"
#include "jit_gemm/epilogue.h"

/* Most bytes of a body: as of a snippet. */
#define JG_PTX_BODY_MAX_BYTES 65536
enum { JG_PTX_MAX_PARAMETERS = JIT_GEMM_MAX_OPERANDS + 8 };

/* A piece of the text. */
struct jg_piece {
    const char *text;
    size_t size;
};

struct jg_ptx_parameter {
    struct jg_piece name;
    uint32_t bytes;    /* of a value; 0 for an aggregate */
    bool is_aggregate; /* passed as an array of bytes */
};

struct jg_ptx_function {
    int arch;    /* of `.target`: 90 for "sm_90a" */
    char suffix; /* 'a', 'f' or '\0' */
    uint32_t result_count;
    struct jg_ptx_parameter result;
    uint32_t parameter_count; /* may exceed the array, which then holds the first ones */
    struct jg_ptx_parameter parameters[JG_PTX_MAX_PARAMETERS];
    struct jg_piece body; /* between its braces */
};

/* Finds the function that is defined as `symbol`. The result points into the text. ARGUMENT
 * (no PTX, 32-bit addresses, unbalanced, no such function: then with the names that there
 * are). */
jit_gemm_status jg_ptx_function_find(const char *text, size_t size, const char *symbol,
                                     struct jg_ptx_function *ret_function);

/* Does a module, of LTO-IR, act on its own thread only? What is refused of a body below,
 * and shared memory, but no calls; `exit` may follow a trap. ARGUMENT. */
jit_gemm_status jg_ptx_check_thread(const char *text, size_t size, const char *symbol);

/*
 * Appends the body as statements of PTX that read parameter i as the register jg_p<i> and
 * write the result to jg_d; every line ends with a line feed. It ends at the label jg_end,
 * which the caller adds. Line directives are left out. `text` is the whole module, whose
 * variables the body must not name. Refused, with the line in the text: calls, exit,
 * barriers and what else acts on more than one thread; parameters used other than by
 * loading them whole; names that begin with jg_; more than JG_PTX_BODY_MAX_BYTES. ARGUMENT,
 * NO_MEMORY.
 */
jit_gemm_status jg_ptx_function_convert(const char *text, size_t size,
                                        const struct jg_ptx_function *function,
                                        struct jg_str *out);

#endif
