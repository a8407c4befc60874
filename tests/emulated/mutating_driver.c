/* SPDX-License-Identifier: MIT */
/*
 * The emulator with a changed kernel: a driver object that hands everything through, except
 * that modules whose text contains MUTANT_OF are loaded from the file MUTANT instead. With
 * MUTANT_DUMP the text as it came is written to that file first.
 *
 * Everything else is found in the emulator, which this object depends on by the name of one
 * of its functions: a lookup in an object reaches what the object depends on.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/emulator.h"

extern const char *(*const mutating_driver_of)(void);
const char *(*const mutating_driver_of)(void) = emuModuleFormat;

__attribute__((visibility("default"))) CUresult CUDAAPI cuLibraryLoadData(
    CUlibrary *library, const void *code, CUjit_option *jit_options, void **jit_values,
    unsigned int jit_count, CUlibraryOption *library_options, void **library_values,
    unsigned int library_count);

typedef CUresult (*load_function)(CUlibrary *, const void *, CUjit_option *, void **,
                                  unsigned int, CUlibraryOption *, void **, unsigned int);

/* The text of a mutant, kept until the next one; NULL if it cannot be read, or not whole.
 */
static const char *read_mutant(const char *path)
{
    static char text[1 << 22];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    const size_t length = fread(text, 1, sizeof(text), file);
    const bool is_whole = ferror(file) == 0 && length < sizeof(text);
    fclose(file);
    if (!is_whole) {
        return NULL;
    }
    text[length] = '\0';
    return text;
}

/* Writes the text as it came. */
static bool dump_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    const bool is_written = fputs(text, file) >= 0;
    return fclose(file) == 0 && is_written;
}

/* What is loaded in the place of `code`; NULL if a file fails. */
static const char *replace_text(const char *code)
{
    const char *of = getenv("MUTANT_OF");
    const char *dump = getenv("MUTANT_DUMP");
    const char *mutant = getenv("MUTANT");
    if (of == NULL || strstr(code, of) == NULL) {
        return code;
    }
    if (dump != NULL && !dump_text(dump, code)) {
        fprintf(stderr, "mutating driver: cannot write %s\n", dump);
        return NULL;
    }
    if (mutant == NULL) {
        return code;
    }
    const char *text = read_mutant(mutant);
    if (text == NULL) {
        fprintf(stderr, "mutating driver: cannot read %s\n", mutant);
    }
    return text;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code,
                                   CUjit_option *jit_options, void **jit_values,
                                   unsigned int jit_count, CUlibraryOption *library_options,
                                   void **library_values, unsigned int library_count)
{
    load_function next = NULL;
    void *const symbol = dlsym(RTLD_NEXT, "cuLibraryLoadData");
    memcpy(&next, &symbol, sizeof(next));
    if (next == NULL) {
        return CUDA_ERROR_NOT_FOUND;
    }
    const char *text = replace_text(code);
    if (text == NULL) {
        return CUDA_ERROR_FILE_NOT_FOUND;
    }
    return next(library, text, jit_options, jit_values, jit_count, library_options,
                library_values, library_count);
}
