/* SPDX-License-Identifier: MIT */
#include "run_matrix.h"

#include <stdbool.h>
#include <stdlib.h>

#include "cli.h"
#include "jit_gemm/device.h"

/* Filled with poison too: what is read past a matrix shows as NaN in the result. */
enum { GUARD_BYTES = 4096 };

uint64_t run_matrix_alignment(jit_gemm_dtype dtype, uint64_t promised)
{
    uint64_t bytes = element_size(dtype);

    return promised > 0 && promised < bytes ? bytes : promised;
}

int run_matrix_create(jit_gemm_context *context, const struct element_view *view,
                      const void *data, uint64_t promised, struct run_matrix *ret_matrix)
{
    struct run_matrix matrix = {.view = *view};
    size_t bytes = element_view_bytes(view);
    uint64_t offset = run_matrix_alignment(view->dtype, promised);
    size_t all_bytes = bytes + offset + 2 * (size_t)GUARD_BYTES;
    jit_gemm_status status = jit_gemm_device_alloc(context, all_bytes, &matrix.base);
    if (status != JIT_GEMM_OK) {
        return cli_report(status, NULL, false);
    }
    matrix.address = matrix.base + GUARD_BYTES + offset;
    *ret_matrix = matrix;
    status = jit_gemm_device_fill(context, matrix.base, element_poison_byte(view->dtype),
                                  all_bytes);
    if (status == JIT_GEMM_OK && data != NULL) {
        status = jit_gemm_device_upload(context, matrix.address, data, bytes);
    }
    return status == JIT_GEMM_OK ? CLI_OK : cli_report(status, NULL, false);
}

void run_matrix_free(jit_gemm_context *context, struct run_matrix *matrix)
{
    (void)jit_gemm_device_free(context, matrix->base);
    *matrix = (struct run_matrix){0};
}

int64_t run_matrix_batch(const struct run_matrix *matrix, int64_t batch)
{
    return matrix->view.batch > 1 ? batch : 0;
}

jit_gemm_status run_matrix_poison(jit_gemm_context *context,
                                  const struct run_matrix *matrix)
{
    return matrix->base ? jit_gemm_device_fill(context, matrix->address,
                                               element_poison_byte(matrix->view.dtype),
                                               element_view_bytes(&matrix->view))
                        : JIT_GEMM_OK;
}

void *run_matrix_download(jit_gemm_context *context, const struct run_matrix *matrix)
{
    size_t bytes = element_view_bytes(&matrix->view);
    void *data = cli_alloc(bytes);
    jit_gemm_status status =
        jit_gemm_device_download(context, data, matrix->address, bytes);
    if (status != JIT_GEMM_OK) {
        cli_report(status, NULL, false);
        free(data);
        return NULL;
    }
    return data;
}

static int check_guard(jit_gemm_context *context, const char *name, jit_gemm_dtype dtype,
                       uint64_t address, const char *place)
{
    unsigned char bytes[GUARD_BYTES];
    jit_gemm_status status =
        jit_gemm_device_download(context, bytes, address, sizeof(bytes));
    if (status != JIT_GEMM_OK) {
        return cli_report(status, NULL, false);
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (bytes[i] != element_poison_byte(dtype)) {
            return cli_error(
                "%s: a byte was written %s the matrix, %zu bytes into the guard", name,
                place, i);
        }
    }
    return CLI_OK;
}

int run_matrix_check_guards(jit_gemm_context *context, const char *name,
                            const struct run_matrix *matrix)
{
    if (!matrix->base) {
        return CLI_OK;
    }
    int before = check_guard(context, name, matrix->view.dtype,
                             matrix->address - GUARD_BYTES, "before");
    int after = check_guard(context, name, matrix->view.dtype,
                            matrix->address + element_view_bytes(&matrix->view), "after");
    return before == CLI_OK ? after : before;
}
