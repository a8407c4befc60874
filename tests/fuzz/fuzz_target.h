/* SPDX-License-Identifier: MIT */
/* What the targets of libFuzzer share. A target's first finding ends the process. */
#ifndef FUZZ_TARGET_H
#define FUZZ_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "jit_gemm/epilogue.h"

/* What libFuzzer calls, and calls of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/* Ends the process with the words and the thread's last error unless the condition holds.
 */
void fuzz_expect(bool condition, const char *what);
/* Counts an input that was read or refused. A process that has refused each of a thousand
 * ends with an error: the inputs that are kept are of another format than the reader. */
void fuzz_note(bool is_read);
/* The thread's error is what a call that failed has to leave: the status, and words. */
void fuzz_expect_error(jit_gemm_status status);
/* Both texts are the same; frees them. */
void fuzz_expect_same(struct jg_str *first, struct jg_str *second, const char *what);

/* Operands of an epilogue. */
struct fuzz_operands {
    char names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    uint32_t count;
};
/* Reads words such as `bias:row_vector:bf16`, from `skip` bytes behind the begin of the
 * data to the end of its first line. Where the next line begins; 0 if there is none, or a
 * word is no operand. */
size_t fuzz_read_operands(const uint8_t *data, size_t size, size_t skip,
                          struct fuzz_operands *operands);

/* A descriptor of a file in memory that holds these bytes; the same one at each call. */
int fuzz_file(const uint8_t *data, size_t size);
/* A copy without a byte behind `size`, so that a read beyond is noticed. Never NULL; free
 * it. */
uint8_t *fuzz_copy(const uint8_t *data, size_t size);
/* A copy that ends with a zero byte. Free it. */
char *fuzz_text(const uint8_t *data, size_t size);

#endif
