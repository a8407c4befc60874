/* SPDX-License-Identifier: MIT */
/* nvdisasm, a program of the CUDA toolkit: where it is, and what it prints. */
#ifndef DISASSEMBLER_H
#define DISASSEMBLER_H

#include <stddef.h>

#define DISASSEMBLER_VARIABLE "JIT_GEMM_NVDISASM"

/* Looks at the variable, which must name one if it is set, then in PATH, CUDA_HOME,
 * CUDA_PATH and the usual folder. 1 if found, 0 if there is none; -1 after an error. */
int disassembler_find(char *ret_path, size_t size);
/* The listing of a cubin, zero-terminated and owned by the caller; NULL after an error. */
char *disassembler_run(const char *path, const void *cubin, size_t size);

#endif
