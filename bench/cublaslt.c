/* SPDX-License-Identifier: MIT */
#include "cublaslt.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include)
#    if __has_include(<cublasLt.h>)
#        define HAVE_CUBLASLT_H 1
#    endif
#endif

#ifdef HAVE_CUBLASLT_H

#    include <cublasLt.h>

#    include "dynlib.h"
#    include "verify/elements.h"

#    define MAX_ALGORITHMS 32

/* Modes came with 12.8; the library that is opened may be newer than the header. */
#    define FIRST_SCALE_MODE  ((cublasLtMatmulDescAttributes_t)31)
#    define SECOND_SCALE_MODE ((cublasLtMatmulDescAttributes_t)32)
#    define TYPE_OF_E2M1      ((cudaDataType_t)33)
#    if CUBLAS_VERSION >= 120900
_Static_assert((int)FIRST_SCALE_MODE == (int)CUBLASLT_MATMUL_DESC_A_SCALE_MODE &&
                   (int)SECOND_SCALE_MODE == (int)CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
               "attributes are numbered as the header has them");
_Static_assert(
    (int)CUBLASLT_SCALE_SCALAR == (int)CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F &&
        (int)CUBLASLT_SCALE_VEC16 == (int)CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3 &&
        (int)CUBLASLT_SCALE_VEC32 == (int)CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0 &&
        (int)CUBLASLT_SCALE_OUTER_VEC == (int)CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F &&
        (int)CUBLASLT_SCALE_VEC128 == (int)CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F &&
        (int)CUBLASLT_SCALE_BLK128X128 == (int)CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
    "modes are numbered as the header has them");
_Static_assert((int)TYPE_OF_E2M1 == (int)CUDA_R_4F_E2M1,
               "types are numbered as the header has them");
#    endif

struct cublaslt {
    cublasLtHandle_t handle;
    char description[DYNLIB_PATH_SIZE + 64];

    cublasStatus_t (*create)(cublasLtHandle_t *);
    cublasStatus_t (*destroy)(cublasLtHandle_t);
    size_t (*get_version)(void);
    const char *(*get_status_string)(cublasStatus_t);
    cublasStatus_t (*desc_create)(cublasLtMatmulDesc_t *, cublasComputeType_t,
                                  cudaDataType_t);
    cublasStatus_t (*desc_destroy)(cublasLtMatmulDesc_t);
    cublasStatus_t (*desc_set)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t,
                               const void *, size_t);
    cublasStatus_t (*layout_create)(cublasLtMatrixLayout_t *, cudaDataType, uint64_t,
                                    uint64_t, int64_t);
    cublasStatus_t (*layout_destroy)(cublasLtMatrixLayout_t);
    cublasStatus_t (*layout_set)(cublasLtMatrixLayout_t, cublasLtMatrixLayoutAttribute_t,
                                 const void *, size_t);
    cublasStatus_t (*preference_create)(cublasLtMatmulPreference_t *);
    cublasStatus_t (*preference_destroy)(cublasLtMatmulPreference_t);
    cublasStatus_t (*preference_set)(cublasLtMatmulPreference_t,
                                     cublasLtMatmulPreferenceAttributes_t, const void *,
                                     size_t);
    cublasStatus_t (*get_heuristic)(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                    cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                    cublasLtMatmulPreference_t, int,
                                    cublasLtMatmulHeuristicResult_t *, int *);
    cublasStatus_t (*matmul)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void *,
                             const void *, cublasLtMatrixLayout_t, const void *,
                             cublasLtMatrixLayout_t, const void *, const void *,
                             cublasLtMatrixLayout_t, void *, cublasLtMatrixLayout_t,
                             const cublasLtMatmulAlgo_t *, void *, size_t, cudaStream_t);
};

struct cublaslt_plan {
    struct cublaslt *lib;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t first, second, c, d; /* column-major view: first is our B */
    cublasLtMatmulHeuristicResult_t algorithms[MAX_ALGORITHMS];
    int count;
    bool has_c, has_bias, has_a_scale, has_b_scale;
    bool has_integers; /* of s8: alpha and beta are s32 */
};

static int check_status(const struct cublaslt *lib, cublasStatus_t status, const char *what,
                        char error[BENCH_ERROR_SIZE])
{
    if (status == CUBLAS_STATUS_SUCCESS) {
        return 0;
    }
    return bench_fail(error, "%s: %s", what, lib->get_status_string(status));
}

static int load_symbols(struct cublaslt *lib, void *library, char error[BENCH_ERROR_SIZE])
{
    const struct {
        const char *name;
        void *target;
        size_t size;
    } wanted[] = {
        {"cublasLtCreate", (void *)&lib->create, sizeof(lib->create)},
        {"cublasLtDestroy", (void *)&lib->destroy, sizeof(lib->destroy)},
        {"cublasLtGetVersion", (void *)&lib->get_version, sizeof(lib->get_version)},
        {"cublasLtGetStatusString", (void *)&lib->get_status_string,
         sizeof(lib->get_status_string)},
        {"cublasLtMatmulDescCreate", (void *)&lib->desc_create, sizeof(lib->desc_create)},
        {"cublasLtMatmulDescDestroy", (void *)&lib->desc_destroy,
         sizeof(lib->desc_destroy)},
        {"cublasLtMatmulDescSetAttribute", (void *)&lib->desc_set, sizeof(lib->desc_set)},
        {"cublasLtMatrixLayoutCreate", (void *)&lib->layout_create,
         sizeof(lib->layout_create)},
        {"cublasLtMatrixLayoutDestroy", (void *)&lib->layout_destroy,
         sizeof(lib->layout_destroy)},
        {"cublasLtMatrixLayoutSetAttribute", (void *)&lib->layout_set,
         sizeof(lib->layout_set)},
        {"cublasLtMatmulPreferenceCreate", (void *)&lib->preference_create,
         sizeof(lib->preference_create)},
        {"cublasLtMatmulPreferenceDestroy", (void *)&lib->preference_destroy,
         sizeof(lib->preference_destroy)},
        {"cublasLtMatmulPreferenceSetAttribute", (void *)&lib->preference_set,
         sizeof(lib->preference_set)},
        {"cublasLtMatmulAlgoGetHeuristic", (void *)&lib->get_heuristic,
         sizeof(lib->get_heuristic)},
        {"cublasLtMatmul", (void *)&lib->matmul, sizeof(lib->matmul)},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (dynlib_symbol(library, wanted[i].name, wanted[i].target, wanted[i].size,
                          error) != 0) {
            return -1;
        }
    }
    return 0;
}

int cublaslt_open(const char *path, struct cublaslt **ret_lib, char error[BENCH_ERROR_SIZE])
{
    static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                        "libcublasLt.so", NULL};
    const struct dynlib_search search = {
        .what = "cuBLASLt", .path = path, .variable = "JIT_GEMM_CUBLASLT", .names = names};
    char found[DYNLIB_PATH_SIZE];
    void *library = NULL;
    if (dynlib_open(&search, &library, found, error) != 0) {
        return -1;
    }
    struct cublaslt *lib = calloc(1, sizeof(*lib));
    if (lib == NULL) {
        return bench_fail(error, "out of memory");
    }
    if (load_symbols(lib, library, error) != 0) {
        goto fail;
    }
    const size_t version = lib->get_version();
    if (version / 10000 != 12 && version / 10000 != 13) {
        bench_fail(error, "cuBLASLt: version %zu of %s is neither 12 nor 13", version,
                   found);
        goto fail;
    }
    snprintf(lib->description, sizeof(lib->description), "%zu.%zu.%zu (%s)",
             version / 10000, version / 100 % 100, version % 100, found);
    if (check_status(lib, lib->create(&lib->handle), "cublasLtCreate", error) != 0) {
        goto fail;
    }
    *ret_lib = lib;
    return 0;
fail:
    free(lib);
    return -1;
}

const char *cublaslt_describe(const struct cublaslt *lib)
{
    return lib->description;
}

void cublaslt_close(struct cublaslt **lib)
{
    if (lib == NULL || *lib == NULL) {
        return;
    }
    (*lib)->destroy((*lib)->handle);
    free(*lib);
    *lib = NULL;
}

/* A type in cuBLASLt's words; -1 with an error for what it does not have. */
static int convert_type(jit_gemm_dtype type, cudaDataType_t *ret_type,
                        char error[BENCH_ERROR_SIZE])
{
    switch (type) {
    case JIT_GEMM_DTYPE_BF16:
        *ret_type = CUDA_R_16BF;
        return 0;
    case JIT_GEMM_DTYPE_F16:
        *ret_type = CUDA_R_16F;
        return 0;
    case JIT_GEMM_DTYPE_F32:
    case JIT_GEMM_DTYPE_TF32: /* the compute type says that it is multiplied as tf32 */
        *ret_type = CUDA_R_32F;
        return 0;
    case JIT_GEMM_DTYPE_E4M3:
        *ret_type = CUDA_R_8F_E4M3;
        return 0;
    case JIT_GEMM_DTYPE_E5M2:
        *ret_type = CUDA_R_8F_E5M2;
        return 0;
    case JIT_GEMM_DTYPE_S8:
        *ret_type = CUDA_R_8I;
        return 0;
    case JIT_GEMM_DTYPE_S32:
        *ret_type = CUDA_R_32I;
        return 0;
    case JIT_GEMM_DTYPE_E2M1:
        *ret_type = TYPE_OF_E2M1;
        return 0;
    case JIT_GEMM_DTYPE_UE8M0:
    case JIT_GEMM_DTYPE_UE4M3:
    case JIT_GEMM_DTYPE_NONE:
        break;
    }
    return bench_fail(error, "cuBLASLt: element type %d (%s) has no counterpart there",
                      (int)type, element_dtype_name(type));
}

static int create_layout(struct cublaslt *lib, jit_gemm_dtype type, int64_t rows,
                         int64_t cols, int64_t ld, int64_t batch, int64_t batch_stride,
                         cublasLtMatrixLayout_t *ret_layout, char error[BENCH_ERROR_SIZE])
{
    const int32_t count = (int32_t)batch;
    cudaDataType_t own_type = CUDA_R_32F;
    if (convert_type(type, &own_type, error) != 0 ||
        check_status(
            lib,
            lib->layout_create(ret_layout, own_type, (uint64_t)rows, (uint64_t)cols, ld),
            "cublasLtMatrixLayoutCreate", error) != 0) {
        return -1;
    }
    if (batch == 1) {
        return 0;
    }
    if (check_status(lib,
                     lib->layout_set(*ret_layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                     &count, sizeof(count)),
                     "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT", error) != 0) {
        return -1;
    }
    return check_status(lib,
                        lib->layout_set(*ret_layout,
                                        CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                        &batch_stride, sizeof(batch_stride)),
                        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET", error);
}

static int set_attribute(struct cublaslt_plan *plan,
                         cublasLtMatmulDescAttributes_t attribute, const void *value,
                         size_t size, const char *name, char error[BENCH_ERROR_SIZE])
{
    return check_status(plan->lib, plan->lib->desc_set(plan->desc, attribute, value, size),
                        name, error);
}

static int set_gelu_bias(struct cublaslt_plan *plan, const struct cublaslt_product *product,
                         char error[BENCH_ERROR_SIZE])
{
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
    const uint64_t bias = product->bias_example;
    if (product->bias_type != product->d_type) {
        return bench_fail(error, "cuBLASLt's GELU_BIAS needs a bias of D's type");
    }
    cudaDataType_t own_type = CUDA_R_32F;
    if (convert_type(product->bias_type, &own_type, error) != 0) {
        return -1;
    }
    const int32_t type = (int32_t)own_type;
    if (set_attribute(plan, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue),
                      "CUBLASLT_MATMUL_DESC_EPILOGUE", error) != 0 ||
        set_attribute(plan, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof(type),
                      "CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE", error) != 0) {
        return -1;
    }
    return set_attribute(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof(bias),
                         "CUBLASLT_MATMUL_DESC_BIAS_POINTER", error);
}

static int set_scale_mode(struct cublaslt_plan *plan,
                          cublasLtMatmulDescAttributes_t attribute,
                          enum cublaslt_scale_mode mode, const char *name,
                          char error[BENCH_ERROR_SIZE])
{
    const int32_t value = (int32_t)mode;
    if (mode == CUBLASLT_SCALE_SCALAR) { /* the default, of older libraries too */
        return 0;
    }
    return set_attribute(plan, attribute, &value, sizeof(value), name, error);
}

/* Our B is the first matrix there, whose scales the library calls A's. */
static int set_scales(struct cublaslt_plan *plan, uint64_t a_scale, uint64_t b_scale,
                      char error[BENCH_ERROR_SIZE])
{
    if (plan->has_b_scale &&
        set_attribute(plan, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &b_scale, sizeof(b_scale),
                      "CUBLASLT_MATMUL_DESC_A_SCALE_POINTER", error) != 0) {
        return -1;
    }
    if (!plan->has_a_scale) {
        return 0;
    }
    return set_attribute(plan, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &a_scale,
                         sizeof(a_scale), "CUBLASLT_MATMUL_DESC_B_SCALE_POINTER", error);
}

static int describe_scales(struct cublaslt_plan *plan, const struct cublaslt_product *p,
                           char error[BENCH_ERROR_SIZE])
{
    if (set_scale_mode(plan, FIRST_SCALE_MODE, p->b_scale_mode,
                       "CUBLASLT_MATMUL_DESC_A_SCALE_MODE", error) != 0 ||
        set_scale_mode(plan, SECOND_SCALE_MODE, p->a_scale_mode,
                       "CUBLASLT_MATMUL_DESC_B_SCALE_MODE", error) != 0) {
        return -1;
    }
    return set_scales(plan, p->a_scale_example, p->b_scale_example, error);
}

/*
 * Row-major D (M x N) is column-major D' (N x M), and D' = B' * A': our B comes first. A
 * K-major B (stored N x K) is a column-major K x N matrix, to be transposed; an N-major B
 * is N x K as it stands. For A it is the other way round.
 */
static int describe_product(struct cublaslt_plan *plan, const struct cublaslt_product *p,
                            char error[BENCH_ERROR_SIZE])
{
    struct cublaslt *lib = plan->lib;
    const bool b_k_major = p->b_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    const bool a_k_major = p->a_layout == JIT_GEMM_LAYOUT_K_MAJOR;
    /* Products of s8 are summed, and scaled, in s32. */
    const bool integers = p->a_type == JIT_GEMM_DTYPE_S8;
    const cublasComputeType_t compute = integers ? CUBLAS_COMPUTE_32I
                                        : p->a_type == JIT_GEMM_DTYPE_TF32
                                            ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : CUBLAS_COMPUTE_32F;
    const cudaDataType_t scale = integers ? CUDA_R_32I : CUDA_R_32F;
    const cublasOperation_t first = b_k_major ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = a_k_major ? CUBLAS_OP_N : CUBLAS_OP_T;
    if (check_status(lib, lib->desc_create(&plan->desc, compute, scale),
                     "cublasLtMatmulDescCreate", error) != 0 ||
        set_attribute(plan, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof(first),
                      "CUBLASLT_MATMUL_DESC_TRANSA", error) != 0 ||
        set_attribute(plan, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof(second),
                      "CUBLASLT_MATMUL_DESC_TRANSB", error) != 0) {
        return -1;
    }
    const int8_t fast = p->sums_fast ? 1 : 0;
    if (p->sums_fast &&
        set_attribute(plan, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast),
                      "CUBLASLT_MATMUL_DESC_FAST_ACCUM", error) != 0) {
        return -1;
    }
    if (p->bias_type != JIT_GEMM_DTYPE_NONE && set_gelu_bias(plan, p, error) != 0) {
        return -1;
    }
    if (describe_scales(plan, p, error) != 0) {
        return -1;
    }
    if (create_layout(lib, p->b_type, b_k_major ? p->k : p->n, b_k_major ? p->n : p->k,
                      p->ldb, p->batch, p->b_batch_stride, &plan->first, error) != 0 ||
        create_layout(lib, p->a_type, a_k_major ? p->k : p->m, a_k_major ? p->m : p->k,
                      p->lda, p->batch, p->a_batch_stride, &plan->second, error) != 0 ||
        create_layout(lib, p->d_type, p->n, p->m, p->ldd, p->batch, p->d_batch_stride,
                      &plan->d, error) != 0) {
        return -1;
    }
    /* Without a C the library still wants a layout for it, of 16 bits where D has 8; beta =
     * 0 keeps it unread. */
    const bool has_fp8 =
        p->d_type == JIT_GEMM_DTYPE_E4M3 || p->d_type == JIT_GEMM_DTYPE_E5M2;
    const jit_gemm_dtype unread = has_fp8 ? JIT_GEMM_DTYPE_BF16 : p->d_type;
    return create_layout(
        lib, plan->has_c ? p->c_type : unread, p->n, p->m, plan->has_c ? p->ldc : p->ldd,
        p->batch, plan->has_c ? p->c_batch_stride : p->d_batch_stride, &plan->c, error);
}

static int ask_heuristic(struct cublaslt_plan *plan, int max_algorithms,
                         char error[BENCH_ERROR_SIZE])
{
    struct cublaslt *lib = plan->lib;
    cublasLtMatmulPreference_t preference = NULL;
    const size_t workspace = CUBLASLT_WORKSPACE_BYTES;
    const int wanted = max_algorithms < MAX_ALGORITHMS ? max_algorithms : MAX_ALGORITHMS;
    if (check_status(lib, lib->preference_create(&preference),
                     "cublasLtMatmulPreferenceCreate", error) != 0) {
        return -1;
    }
    int status = check_status(lib,
                              lib->preference_set(preference,
                                                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &workspace, sizeof(workspace)),
                              "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES", error);
    int offered = 0;
    if (status == 0) {
        status = check_status(lib,
                              lib->get_heuristic(lib->handle, plan->desc, plan->first,
                                                 plan->second, plan->c, plan->d, preference,
                                                 wanted, plan->algorithms, &offered),
                              "cublasLtMatmulAlgoGetHeuristic", error);
    }
    lib->preference_destroy(preference);
    if (status != 0) {
        return -1;
    }
    for (int i = 0; i < offered; i++) {
        if (plan->algorithms[i].state == CUBLAS_STATUS_SUCCESS) {
            plan->algorithms[plan->count++] = plan->algorithms[i];
        }
    }
    if (plan->count == 0) {
        return bench_fail(error, "cuBLASLt offers no algorithm for this product");
    }
    return 0;
}

int cublaslt_plan_create(struct cublaslt *lib, const struct cublaslt_product *product,
                         int max_algorithms, struct cublaslt_plan **ret_plan,
                         char error[BENCH_ERROR_SIZE])
{
    struct cublaslt_plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return bench_fail(error, "out of memory");
    }
    plan->lib = lib;
    plan->has_c = product->c_type != JIT_GEMM_DTYPE_NONE;
    plan->has_integers = product->a_type == JIT_GEMM_DTYPE_S8;
    plan->has_bias = product->bias_type != JIT_GEMM_DTYPE_NONE;
    plan->has_a_scale = product->a_scale_example != 0;
    plan->has_b_scale = product->b_scale_example != 0;
    if (describe_product(plan, product, error) != 0 ||
        ask_heuristic(plan, max_algorithms, error) != 0) {
        cublaslt_plan_destroy(&plan);
        return -1;
    }
    *ret_plan = plan;
    return 0;
}

int cublaslt_plan_count(const struct cublaslt_plan *plan)
{
    return plan->count;
}

/* Device addresses cross this interface as pointers. */
static void *as_pointer(uint64_t address)
{
    void *pointer = NULL;
    const uintptr_t bits = (uintptr_t)address;
    memcpy(&pointer, &bits, sizeof(pointer));
    return pointer;
}

int cublaslt_plan_run(struct cublaslt_plan *plan, int algorithm,
                      const struct cublaslt_launch *launch, char error[BENCH_ERROR_SIZE])
{
    const struct cublaslt *lib = plan->lib;
    const float one = 1.0F, zero = 0.0F;
    const int32_t integer_one = 1, integer_zero = 0;
    const void *const alpha =
        plan->has_integers ? (const void *)&integer_one : (const void *)&one;
    const void *const nothing =
        plan->has_integers ? (const void *)&integer_zero : (const void *)&zero;
    const void *const beta = plan->has_c ? alpha : nothing;
    const uint64_t c = plan->has_c ? launch->c : launch->d;
    if (plan->has_bias && set_attribute(plan, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                        &launch->bias, sizeof(launch->bias),
                                        "CUBLASLT_MATMUL_DESC_BIAS_POINTER", error) != 0) {
        return -1;
    }
    if (set_scales(plan, launch->a_scale, launch->b_scale, error) != 0) {
        return -1;
    }
    return check_status(lib,
                        lib->matmul(lib->handle, plan->desc, alpha, as_pointer(launch->b),
                                    plan->first, as_pointer(launch->a), plan->second, beta,
                                    as_pointer(c), plan->c, as_pointer(launch->d), plan->d,
                                    &plan->algorithms[algorithm].algo,
                                    as_pointer(launch->workspace), CUBLASLT_WORKSPACE_BYTES,
                                    launch->stream),
                        "cublasLtMatmul", error);
}

void cublaslt_plan_destroy(struct cublaslt_plan **plan)
{
    if (plan == NULL || *plan == NULL) {
        return;
    }
    struct cublaslt *lib = (*plan)->lib;
    cublasLtMatrixLayout_t layouts[] = {(*plan)->first, (*plan)->second, (*plan)->c,
                                        (*plan)->d};
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i] != NULL) {
            lib->layout_destroy(layouts[i]);
        }
    }
    if ((*plan)->desc != NULL) {
        lib->desc_destroy((*plan)->desc);
    }
    free(*plan);
    *plan = NULL;
}

#else /* no <cublasLt.h> at build time */

static const char k_missing[] =
    "cuBLASLt: this program was built without <cublasLt.h>; install the cuBLAS headers "
    "beside cuda.h and build again";

int cublaslt_open(const char *path, struct cublaslt **ret_lib, char error[BENCH_ERROR_SIZE])
{
    (void)path;
    (void)ret_lib;
    return bench_fail(error, "%s", k_missing);
}

const char *cublaslt_describe(const struct cublaslt *lib)
{
    (void)lib;
    return k_missing;
}

void cublaslt_close(struct cublaslt **lib)
{
    (void)lib;
}

int cublaslt_plan_create(struct cublaslt *lib, const struct cublaslt_product *product,
                         int max_algorithms, struct cublaslt_plan **ret_plan,
                         char error[BENCH_ERROR_SIZE])
{
    (void)lib;
    (void)product;
    (void)max_algorithms;
    (void)ret_plan;
    return bench_fail(error, "%s", k_missing);
}

int cublaslt_plan_count(const struct cublaslt_plan *plan)
{
    (void)plan;
    return 0;
}

int cublaslt_plan_run(struct cublaslt_plan *plan, int algorithm,
                      const struct cublaslt_launch *launch, char error[BENCH_ERROR_SIZE])
{
    (void)plan;
    (void)algorithm;
    (void)launch;
    return bench_fail(error, "%s", k_missing);
}

void cublaslt_plan_destroy(struct cublaslt_plan **plan)
{
    (void)plan;
}

#endif
