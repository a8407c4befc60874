/* SPDX-License-Identifier: MIT */
/*
 * A cuBLASLt that multiplies on the host, beside the computing driver, whose device memory
 * is the host's. It reads scales where NVIDIA's documentation of cuBLASLt says that they
 * lie, and refuses what that says there is not. Column-major matrices, alpha 1, beta 0.
 */
#include <cublasLt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "verify/elements.h"

#define API __attribute__((visibility("default")))

enum { BLOCK = 128 };

struct layout {
    jit_gemm_dtype type;
    int64_t rows, columns, ld;
};

/* The two factors, A first. */
struct product {
    bool is_transposed[2];
    int32_t mode[2];
    const void *scales[2];
};

static jit_gemm_dtype convert_type(cudaDataType type)
{
    switch ((int)type) {
    case CUDA_R_16BF:
        return JIT_GEMM_DTYPE_BF16;
    case CUDA_R_16F:
        return JIT_GEMM_DTYPE_F16;
    case CUDA_R_8F_E4M3:
        return JIT_GEMM_DTYPE_E4M3;
    case CUDA_R_8F_E5M2:
        return JIT_GEMM_DTYPE_E5M2;
    case CUDA_R_4F_E2M1:
        return JIT_GEMM_DTYPE_E2M1;
    default:
        return JIT_GEMM_DTYPE_F32;
    }
}

/* ---------------------------------------------------------------------------- handles */

API cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    static int some_handle;
    *handle = (cublasLtHandle_t)(void *)&some_handle;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    (void)handle;
    return CUBLAS_STATUS_SUCCESS;
}

API size_t cublasLtGetVersion(void)
{
    return 130100;
}

API const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "failed";
}

API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                                            cublasComputeType_t compute,
                                            cudaDataType_t scale)
{
    (void)compute;
    (void)scale;
    *desc = (cublasLtMatmulDesc_t)calloc(1, sizeof(struct product));
    return *desc != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

API cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    free(desc);
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                  cublasLtMatmulDescAttributes_t attribute,
                                                  const void *value, size_t size)
{
    struct product *product = (struct product *)(void *)desc;
    int32_t number = 0;
    const void *address = NULL;
    if (size == sizeof(number)) {
        memcpy(&number, value, size);
    } else {
        memcpy(&address, value, sizeof(address));
    }
    switch ((int)attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
    case CUBLASLT_MATMUL_DESC_TRANSB:
        product->is_transposed[attribute == CUBLASLT_MATMUL_DESC_TRANSB] =
            number == (int32_t)CUBLAS_OP_T;
        return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_A_SCALE_MODE:
    case CUBLASLT_MATMUL_DESC_B_SCALE_MODE:
        product->mode[attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE] = number;
        return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
        product->scales[attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER] = address;
        return CUBLAS_STATUS_SUCCESS;
    default:
        return CUBLAS_STATUS_INVALID_VALUE;
    }
}

API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                              cudaDataType type, uint64_t rows,
                                              uint64_t columns, int64_t ld)
{
    struct layout *own = calloc(1, sizeof(*own));
    if (own == NULL) {
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *own = (struct layout){convert_type(type), (int64_t)rows, (int64_t)columns, ld};
    *layout = (cublasLtMatrixLayout_t)(void *)own;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    free(layout);
    return CUBLAS_STATUS_SUCCESS;
}

/* Of batches: there are none. */
API cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
    const void *value, size_t size)
{
    (void)layout;
    (void)attribute;
    (void)value;
    (void)size;
    return CUBLAS_STATUS_NOT_SUPPORTED;
}

API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    static int some_preference;
    *preference = (cublasLtMatmulPreference_t)(void *)&some_preference;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    (void)preference;
    return CUBLAS_STATUS_SUCCESS;
}

API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
    const void *value, size_t size)
{
    (void)preference;
    (void)attribute;
    (void)value;
    (void)size;
    return CUBLAS_STATUS_SUCCESS;
}

/* ----------------------------------------------------------------------------- product */

static bool is_block_mode(int32_t mode)
{
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F ||
           mode == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
}

static bool is_byte_mode(int32_t mode)
{
    return mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 ||
           mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;
}

/* Those of a byte with their own kind; vectors with vectors; blocks with blocks, but not
 * square ones twice; all with a D of 16 or 32 bits and every scale given. */
static bool has_kernel(const struct product *product, const struct layout *d)
{
    const int32_t *mode = product->mode;
    if (mode[0] == CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F && mode[1] == mode[0]) {
        return true;
    }
    const bool has_vectors =
        mode[0] == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F && mode[1] == mode[0];
    const bool has_squares =
        mode[0] == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F && mode[1] == mode[0];
    const bool has_blocks = is_block_mode(mode[0]) && is_block_mode(mode[1]);
    const bool has_bytes = is_byte_mode(mode[0]) && mode[1] == mode[0];
    return (has_vectors || has_bytes || (has_blocks && !has_squares)) &&
           element_size(d->type) > 1 && product->scales[0] != NULL &&
           product->scales[1] != NULL;
}

API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t preference, int wanted,
    cublasLtMatmulHeuristicResult_t results[], int *offered)
{
    (void)handle;
    (void)a;
    (void)b;
    (void)c;
    (void)preference;
    *offered = 0;
    if (wanted < 1 || !has_kernel((const struct product *)(const void *)desc,
                                  (const struct layout *)(const void *)d)) {
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    memset(&results[0], 0, sizeof(results[0]));
    results[0].state = CUBLAS_STATUS_SUCCESS;
    *offered = 1;
    return CUBLAS_STATUS_SUCCESS;
}

/* Tiles of 128 rows by 4 blocks along K, of 512 bytes: those along K are neighbours. In one
 * lie four groups of 32 rows beside each other. */
static double load_byte_scale(const void *scales, jit_gemm_dtype type, int64_t block_k,
                              int64_t mn, int64_t k, int64_t k_count)
{
    const int64_t blocks = (k_count + block_k - 1) / block_k, block = k / block_k;
    const int64_t tile = mn / 128 * ((blocks + 3) / 4) + block / 4;
    const int64_t row = mn % 128;
    return element_load(type, scales,
                        (size_t)(tile * 512 + row % 32 * 16 + row / 32 * 4 + block % 4));
}

/* Of element k along K of row `mn` of A or column `mn` of B, `count` of them. */
static double load_scale(const struct product *product, int which, int64_t mn,
                         int64_t count, int64_t k, int64_t k_count)
{
    const float *scales = product->scales[which];
    const int64_t blocks = (k_count + BLOCK - 1) / BLOCK;
    const int64_t pitch = (blocks + 3) / 4 * 4;
    if (scales == NULL) {
        return 1;
    }
    switch (product->mode[which]) {
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3:
        return load_byte_scale(scales, JIT_GEMM_DTYPE_UE4M3, 16, mn, k, k_count);
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0:
        return load_byte_scale(scales, JIT_GEMM_DTYPE_UE8M0, 32, mn, k, k_count);
    case CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F:
        return (double)scales[mn];
    case CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F:
        return (double)scales[k / BLOCK * count + mn];
    case CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F:
        return (double)scales[mn / BLOCK * pitch + k / BLOCK];
    default:
        return (double)scales[0];
    }
}

/* `count` rows of A or columns of B, each with its K neighbours, as scales make them; the
 * caller frees them. */
static double *load_factor(const struct product *product, int which,
                           const struct layout *layout, const void *data, int64_t count,
                           int64_t k_count)
{
    const bool has_k_first = product->is_transposed[which] == (which == 0);
    double *factor = calloc((size_t)(count * k_count) + 1, sizeof(*factor));

    for (int64_t mn = 0; factor != NULL && mn < count; mn++) {
        for (int64_t k = 0; k < k_count; k++) {
            const int64_t at = has_k_first ? mn * layout->ld + k : k * layout->ld + mn;

            factor[mn * k_count + k] = element_load(layout->type, data, (size_t)at) *
                                       load_scale(product, which, mn, count, k, k_count);
        }
    }
    return factor;
}

API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                  const void *alpha, const void *a_data,
                                  cublasLtMatrixLayout_t a_layout, const void *b_data,
                                  cublasLtMatrixLayout_t b_layout, const void *beta,
                                  const void *c_data, cublasLtMatrixLayout_t c_layout,
                                  void *d_data, cublasLtMatrixLayout_t d_layout,
                                  const cublasLtMatmulAlgo_t *algorithm, void *workspace,
                                  size_t workspace_bytes, cudaStream_t stream)
{
    const struct product *p = (const struct product *)(const void *)desc;
    const struct layout *a = (const struct layout *)(const void *)a_layout;
    const struct layout *b = (const struct layout *)(const void *)b_layout;
    const struct layout *d = (const struct layout *)(const void *)d_layout;
    const int64_t k_count = p->is_transposed[0] ? a->rows : a->columns;
    (void)handle, (void)alpha, (void)beta, (void)c_data, (void)c_layout;
    (void)algorithm, (void)workspace, (void)workspace_bytes, (void)stream;
    double *rows = load_factor(p, 0, a, a_data, d->rows, k_count);
    double *columns = load_factor(p, 1, b, b_data, d->columns, k_count);
    const bool is_loaded = rows != NULL && columns != NULL;

    for (int64_t i = 0; is_loaded && i < d->rows; i++) {
        for (int64_t j = 0; j < d->columns; j++) {
            double sum = 0;

            for (int64_t k = 0; k < k_count; k++) {
                sum += rows[i * k_count + k] * columns[j * k_count + k];
            }
            element_store(d->type, d_data, (size_t)(j * d->ld + i), sum);
        }
    }
    free(rows);
    free(columns);
    return is_loaded ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}
