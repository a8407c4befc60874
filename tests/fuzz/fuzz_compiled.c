/* SPDX-License-Identifier: MIT */
/* PTX of a caller's compiled function: the first line is its symbol and then its operands
 * (`f bias:row_vector:bf16`), the rest the module. What is taken out of it for an asm
 * statement has balanced braces and whole lines. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "plan/epilogue.h"
#include "plan/ptx_function.h"

static void expect_whole(const char *body)
{
    const size_t size = strlen(body);
    int depth = 0;
    for (size_t i = 0; i < size; i++) {
        depth += body[i] == '{';
        depth -= body[i] == '}';
        fuzz_expect(depth >= 0, "no brace closes what is around");
    }
    fuzz_expect(depth == 0, "braces are balanced");
    fuzz_expect(size == 0 || body[size - 1] == '\n', "lines are whole");
    fuzz_expect(size <= JG_PTX_BODY_MAX_BYTES, "the body is bounded");
}

/* Bytes up to a blank or the end of the line; 0 if there is neither. */
static size_t measure_symbol(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size && data[at] != ' ' && data[at] != '\n') {
        at++;
    }
    return at < size ? at : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t symbol_size = measure_symbol(data, size);
    if (symbol_size == 0) {
        return 0;
    }
    struct fuzz_operands declared = {.count = 0};
    const size_t skip = symbol_size + (data[symbol_size] == ' ' ? 1 : 0);
    const size_t line = fuzz_read_operands(data, size, skip, &declared);
    if (line == 0 || line == size) { /* no text would mean one that ends with a zero byte */
        return 0;
    }
    char *symbol = fuzz_text(data, symbol_size);
    uint8_t *code = fuzz_copy(data + line, size - line);
    const jit_gemm_epilogue epilogue = {.struct_size = sizeof(epilogue),
                                        .name = "fuzzed",
                                        .operand_count = declared.count,
                                        .operands = declared.operands,
                                        .code = code,
                                        .code_size = size - line,
                                        .symbol = symbol};
    struct jg_epilogue *made = NULL;
    const jit_gemm_status status = jg_epilogue_create(&epilogue, &made);
    fuzz_note(status == JIT_GEMM_OK);
    if (status != JIT_GEMM_OK) {
        fuzz_expect_error(status);
    } else {
        if (made->compiled.kind == JIT_GEMM_CODE_PTX) {
            expect_whole(made->compiled.body);
        }
        jg_epilogue_destroy(made);
    }
    free(symbol);
    free(code);
    return 0;
}
