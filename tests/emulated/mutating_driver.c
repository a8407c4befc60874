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

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    static char text[1 << 22];
    size_t length = fread(text, 1, sizeof(text) - 1, file);
    text[length] = 0;
    fclose(file);
    return text;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code,
                                   CUjit_option *jit_options, void **jit_values,
                                   unsigned int jit_count, CUlibraryOption *library_options,
                                   void **library_values, unsigned int library_count)
{
    const char *of = getenv("MUTANT_OF");
    const char *dump = getenv("MUTANT_DUMP");
    const char *mutant = getenv("MUTANT");
    load_function next = NULL;
    void *symbol = dlsym(RTLD_NEXT, "cuLibraryLoadData");
    memcpy(&next, &symbol, sizeof(next));
    if (next == NULL) {
        return CUDA_ERROR_NOT_FOUND;
    }
    if (of != NULL && strstr(code, of) != NULL) {
        FILE *file = dump == NULL ? NULL : fopen(dump, "wb");
        if (file != NULL) {
            fputs(code, file);
            fclose(file);
        }
        if (mutant != NULL) {
            code = read_file(mutant);
            if (code == NULL) {
                fprintf(stderr, "mutating driver: cannot read %s\n", mutant);
                return CUDA_ERROR_FILE_NOT_FOUND;
            }
        }
    }
    return next(library, code, jit_options, jit_values, jit_count, library_options,
                library_values, library_count);
}
