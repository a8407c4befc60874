/* SPDX-License-Identifier: MIT */
#include "elementwise.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_THREADS   256U
#define VECTOR_ELEMENTS 8U
#define ROWS_A_THREAD   4U
#define MAX_GRID_YZ     65535U

/* The same bytes as `Operand` and `Params` below. */
struct operand_params {
    uint64_t pointer;
    int64_t ld, batch_stride;
    float value;
    uint32_t reserved;
};

struct kernel_params {
    uint64_t d;
    int64_t ldd, d_batch_stride;
    uint32_t m, n, k, reserved;
    struct operand_params operands[JIT_GEMM_MAX_OPERANDS];
};

struct elementwise {
    const struct cuda_driver *driver;
    struct small_kernel kernel;
    uint32_t operand_count;
};

static const char k_types[] =
    "typedef unsigned short u16;\n"
    "typedef unsigned int u32;\n"
    "typedef unsigned long long u64;\n"
    "typedef float f32;\n"
    "struct bf16 { u16 bits; };\n"
    "struct f16 { u16 bits; };\n"
    "struct Operand { u64 pointer; long long ld, batch_stride; float value; u32 reserved; };\n"
    "struct Params { u64 d; long long ldd, d_batch_stride; u32 m, n, k, reserved;\n"
    "                Operand operands[16]; };\n"
    "static __device__ float to_f32(bf16 x) { return __uint_as_float((u32)x.bits << 16); }\n"
    "static __device__ float to_f32(f16 x)\n"
    "{ float y; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(y) : \"h\"(x.bits)); return y; }\n"
    "static __device__ float to_f32(f32 x) { return x; }\n"
    "static __device__ u32 pack(bf16, float low, float high)\n"
    "{ u32 y; asm(\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(y) : \"f\"(high), \"f\"(low));\n"
    "  return y; }\n"
    "static __device__ u32 pack(f16, float low, float high)\n"
    "{ u32 y; asm(\"cvt.rn.f16x2.f32 %0, %1, %2;\" : \"=r\"(y) : \"f\"(high), \"f\"(low));\n"
    "  return y; }\n"
    /* Eight elements of a 16-bit type. */
    "template <class T> struct Vec {\n"
    "  u32 w[4];\n"
    "  __device__ void load(const T *p) { const uint4 q = *(const uint4 *)p;\n"
    "    w[0] = q.x; w[1] = q.y; w[2] = q.z; w[3] = q.w; }\n"
    "  __device__ float get(int i) const\n"
    "  { return to_f32(T{(u16)(i & 1 ? w[i >> 1] >> 16 : w[i >> 1])}); }\n"
    "  static __device__ void store(T *p, const float (&x)[8])\n"
    "  { *(uint4 *)p = make_uint4(pack(T{}, x[0], x[1]), pack(T{}, x[2], x[3]),\n"
    "                             pack(T{}, x[4], x[5]), pack(T{}, x[6], x[7])); }\n"
    "};\n"
    "template <> struct Vec<f32> {\n"
    "  float4 q[2];\n"
    "  __device__ void load(const f32 *p)\n"
    "  { q[0] = ((const float4 *)p)[0]; q[1] = ((const float4 *)p)[1]; }\n"
    "  __device__ float get(int i) const { const float4 v = q[i >> 2];\n"
    "    return i & 2 ? (i & 1 ? v.w : v.z) : (i & 1 ? v.y : v.x); }\n"
    "  static __device__ void store(f32 *p, const float (&x)[8])\n"
    "  { ((float4 *)p)[0] = make_float4(x[0], x[1], x[2], x[3]);\n"
    "    ((float4 *)p)[1] = make_float4(x[4], x[5], x[6], x[7]); }\n"
    "};\n";

/* The functions that a snippet may call, with the library's meaning. */
static const char k_prelude[] =
    "namespace prelude {\n"
    "static __device__ float exp(float x) { return ::expf(x); }\n"
    "static __device__ float log(float x) { return ::logf(x); }\n"
    "static __device__ float sqrt(float x) { return ::sqrtf(x); }\n"
    "static __device__ float rsqrt(float x) { return ::rsqrtf(x); }\n"
    "static __device__ float tanh(float x) { return ::tanhf(x); }\n"
    "static __device__ float abs(float x) { return ::fabsf(x); }\n"
    "static __device__ float fma(float x, float y, float z) { return ::fmaf(x, y, z); }\n"
    "static __device__ float min(float x, float y)\n"
    "{ float z; asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y)); return z; }\n"
    "static __device__ float max(float x, float y)\n"
    "{ float z; asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(z) : \"f\"(x), \"f\"(y)); return z; }\n"
    "static __device__ float clamp(float x, float low, float high)\n"
    "{ return min(max(x, low), high); }\n"
    "static __device__ float relu(float x) { return max(x, 0.0f); }\n"
    "static __device__ float sigmoid(float x)\n"
    "{ return __fdividef(1.0f, 1.0f + __expf(-x)); }\n"
    "static __device__ float silu(float x) { return x * sigmoid(x); }\n"
    "static __device__ float gelu(float x)\n"
    "{ return 0.5f * x * (1.0f + ::erff(x * 0.70710678118654752f)); }\n"
    "static __device__ float gelu_tanh(float x)\n"
    "{ const float y = 0.79788456080286536f * (x + 0.044715f * x * x * x);\n"
    "  return x * sigmoid(2.0f * y); }\n";

/* NULL: not a type of these kernels. */
static const char *name_type(jit_gemm_dtype type)
{
    switch (type) {
    case JIT_GEMM_DTYPE_F16:
        return "f16";
    case JIT_GEMM_DTYPE_F32:
        return "f32";
    case JIT_GEMM_DTYPE_BF16:
        return "bf16";
    default:
        return NULL;
    }
}

static bool is_output(const jit_gemm_operand *operand)
{
    return operand->role == JIT_GEMM_OPERAND_OUTPUT;
}

static void write_snippet(FILE *out, const jit_gemm_epilogue *epilogue)
{
    const size_t size =
        epilogue->source_size != 0 ? epilogue->source_size : strlen(epilogue->source);
    fprintf(out,
            "static __device__ __forceinline__ float apply(float acc, u32 row, u32 col, "
            "u32 batch, u32 M, u32 N, u32 K");
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const jit_gemm_operand *operand = &epilogue->operands[i];
        fprintf(out, ", %s%s", is_output(operand) ? "float &" : "float ", operand->name);
    }
    fprintf(out, ")\n{\nfloat d = acc;\n{\n#line 1 \"snippet\"\n%.*s\n}\nreturn d;\n}\n}\n",
            (int)size, epilogue->source);
}

/* Declares and loads one operand; `op` in the text is its entry of the parameters. */
static void write_loads(FILE *out, uint32_t i, const jit_gemm_operand *operand)
{
    const char *type = name_type(operand->dtype);
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        fprintf(out,
                "  const float s%u = p.operands[%u].pointer\n"
                "      ? to_f32(*(const %s *)p.operands[%u].pointer)\n"
                "      : p.operands[%u].value;\n",
                i, i, type, i, i);
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        fprintf(out, "  Vec<%s> v%u; v%u.load((const %s *)p.operands[%u].pointer + col);\n",
                type, i, i, type, i);
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        fprintf(out,
                "  float c%u[kRows];\n#pragma unroll\n"
                "  for (u32 r = 0; r < kRows; r++) if (row + r * blockDim.y < p.m)\n"
                "    c%u[r] = to_f32(((const %s *)p.operands[%u].pointer)"
                "[row + r * blockDim.y]);\n",
                i, i, type, i);
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR: /* refused before */
    case JIT_GEMM_OPERAND_BLOCK_1X128:
    case JIT_GEMM_OPERAND_BLOCK_1X32:
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        fprintf(out,
                "  %s *const m%u = (%s *)p.operands[%u].pointer"
                " + batch * p.operands[%u].batch_stride;\n",
                type, i, type, i, i);
        if (!is_output(operand)) {
            fprintf(out,
                    "  Vec<%s> v%u[kRows];\n#pragma unroll\n"
                    "  for (u32 r = 0; r < kRows; r++) if (row + r * blockDim.y < p.m)\n"
                    "    v%u[r].load(m%u + (row + r * blockDim.y) * p.operands[%u].ld "
                    "+ col);\n",
                    type, i, i, i, i);
        }
        break;
    }
}

static void write_argument(FILE *out, uint32_t i, const jit_gemm_operand *operand)
{
    switch (operand->kind) {
    case JIT_GEMM_OPERAND_SCALAR:
        fprintf(out, ", s%u", i);
        break;
    case JIT_GEMM_OPERAND_ROW_VECTOR:
        fprintf(out, ", v%u.get(j)", i);
        break;
    case JIT_GEMM_OPERAND_COLUMN_VECTOR:
        fprintf(out, ", c%u[r]", i);
        break;
    case JIT_GEMM_OPERAND_PAIR_VECTOR:
    case JIT_GEMM_OPERAND_BLOCK_1X128:
    case JIT_GEMM_OPERAND_BLOCK_1X32:
    case JIT_GEMM_OPERAND_BLOCK_1X16:
        break;
    case JIT_GEMM_OPERAND_MATRIX:
        fprintf(out, is_output(operand) ? ", o%u[j]" : ", v%u[r].get(j)", i);
        break;
    }
}

static void write_kernel(FILE *out, const jit_gemm_epilogue *epilogue,
                         jit_gemm_dtype d_type)
{
    const char *d = name_type(d_type);
    fprintf(out,
            "#line 1 \"elementwise\"\n"
            "constexpr u32 kRows = %u;\n"
            "extern \"C\" __global__ void __launch_bounds__(%u)\n"
            "elementwise(const __grid_constant__ Params p)\n{\n"
            "  const u32 col = (blockIdx.x * blockDim.x + threadIdx.x) * %u;\n"
            "  const u32 row = blockIdx.y * blockDim.y * kRows + threadIdx.y;\n"
            "  const u32 batch = blockIdx.z;\n"
            "  if (col >= p.n) return;\n"
            "  %s *const d = (%s *)p.d + batch * p.d_batch_stride + col;\n"
            "  Vec<%s> acc[kRows];\n#pragma unroll\n"
            "  for (u32 r = 0; r < kRows; r++) if (row + r * blockDim.y < p.m)\n"
            "    acc[r].load(d + (row + r * blockDim.y) * p.ldd);\n",
            ROWS_A_THREAD, BLOCK_THREADS, VECTOR_ELEMENTS, d, d, d);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        write_loads(out, i, &epilogue->operands[i]);
    }
    fprintf(out, "#pragma unroll\n"
                 "  for (u32 r = 0; r < kRows; r++) {\n"
                 "    const u32 y = row + r * blockDim.y;\n"
                 "    if (y >= p.m) return;\n"
                 "    float x[8];\n");
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (is_output(&epilogue->operands[i])) {
            fprintf(out, "    float o%u[8];\n", i);
        }
    }
    fprintf(out,
            "#pragma unroll\n    for (u32 j = 0; j < 8; j++)\n"
            "      x[j] = prelude::apply(acc[r].get(j), y, col + j, batch, p.m, p.n, p.k");
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        write_argument(out, i, &epilogue->operands[i]);
    }
    fprintf(out, ");\n    Vec<%s>::store(d + y * p.ldd, x);\n", d);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (is_output(&epilogue->operands[i])) {
            fprintf(out, "    Vec<%s>::store(m%u + y * p.operands[%u].ld + col, o%u);\n",
                    name_type(epilogue->operands[i].dtype), i, i, i);
        }
    }
    fprintf(out, "  }\n}\n");
}

/* The CUDA text of the kernel; the caller frees it. NULL when out of memory. */
static char *write_source(const jit_gemm_epilogue *epilogue, jit_gemm_dtype d_type)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    fputs(k_types, out);
    fputs(k_prelude, out);
    write_snippet(out, epilogue);
    write_kernel(out, epilogue, d_type);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool reduces(const jit_gemm_epilogue *epilogue)
{
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const jit_gemm_operand_role role = epilogue->operands[i].role;
        if (role != JIT_GEMM_OPERAND_INPUT && role != JIT_GEMM_OPERAND_OUTPUT) {
            return true;
        }
    }
    return false;
}

static bool takes_types(const jit_gemm_epilogue *epilogue, jit_gemm_dtype d_type)
{
    bool takes = name_type(d_type) != NULL;
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        takes = takes && name_type(epilogue->operands[i].dtype) != NULL;
    }
    return takes;
}

int elementwise_create(const struct cuda_driver *driver, const char *nvrtc_path,
                       const jit_gemm_epilogue *epilogue, jit_gemm_dtype d_type,
                       struct elementwise **ret_kernel, char error[BENCH_ERROR_SIZE])
{
    if (epilogue->source == NULL) {
        return bench_fail(error, "the second kernel is for snippets only");
    }
    if (!takes_types(epilogue, d_type)) {
        return bench_fail(error, "the second kernel is for D and operands of bf16, f16 and "
                                 "f32 only");
    }
    if (reduces(epilogue)) {
        return bench_fail(error, "the second kernel has no reductions");
    }
    struct elementwise *kernel = calloc(1, sizeof(*kernel));
    char *source = write_source(epilogue, d_type);
    int status = -1;
    if (kernel == NULL || source == NULL) {
        bench_fail(error, "out of memory");
    } else {
        kernel->driver = driver;
        kernel->operand_count = epilogue->operand_count;
        status = small_kernel_load(driver, nvrtc_path, source, "elementwise",
                                   &kernel->kernel, error);
    }
    free(source);
    if (status != 0) {
        free(kernel);
        return -1;
    }
    *ret_kernel = kernel;
    return 0;
}

static void fill_params(const struct elementwise *kernel, const struct gemm_sets *sets,
                        size_t set, const uint32_t *operands,
                        struct kernel_params *ret_params)
{
    const struct gemm_shape *shape = &sets->shape;
    *ret_params = (struct kernel_params){.d = sets->args[set].d.pointer,
                                         .ldd = shape->ldd,
                                         .d_batch_stride = shape->d_batch_stride,
                                         .m = (uint32_t)shape->m,
                                         .n = (uint32_t)shape->n,
                                         .k = (uint32_t)shape->k};
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const jit_gemm_arg *arg = &sets->args[set].operands[operands[i]];
        ret_params->operands[i] = (struct operand_params){.pointer = arg->pointer,
                                                          .ld = arg->ld,
                                                          .batch_stride = arg->batch_stride,
                                                          .value = arg->value};
    }
}

/* Narrow matrices get blocks that are narrow too, so that no thread idles. */
static CUlaunchConfig choose_grid(const struct gemm_shape *shape)
{
    const uint32_t vectors = ((uint32_t)shape->n + VECTOR_ELEMENTS - 1) / VECTOR_ELEMENTS;
    uint32_t width = 1;
    while (width < vectors && width < BLOCK_THREADS) {
        width *= 2;
    }
    const uint32_t height = BLOCK_THREADS / width;
    const uint32_t rows = height * ROWS_A_THREAD;
    CUlaunchConfig config = {0};
    config.gridDimX = (vectors + width - 1) / width;
    config.gridDimY = ((uint32_t)shape->m + rows - 1) / rows;
    config.gridDimZ = (uint32_t)shape->batch;
    config.blockDimX = width;
    config.blockDimY = height;
    config.blockDimZ = 1;
    return config;
}

int elementwise_run(const struct elementwise *kernel, const struct gemm_sets *sets,
                    size_t set, const uint32_t *operands, void *stream,
                    char error[BENCH_ERROR_SIZE])
{
    struct kernel_params params;
    void *arguments[] = {&params};
    CUlaunchConfig config = choose_grid(&sets->shape);
    config.hStream = (CUstream)stream;
    if (config.gridDimY > MAX_GRID_YZ || config.gridDimZ > MAX_GRID_YZ) {
        return bench_fail(error,
                          "the separate elementwise kernel takes at most %u row "
                          "blocks and %u batches",
                          MAX_GRID_YZ, MAX_GRID_YZ);
    }
    fill_params(kernel, sets, set, operands, &params);
    return cuda_driver_check(
        kernel->driver,
        kernel->driver->launch(&config, kernel->kernel.function, arguments, NULL),
        "launch of the elementwise kernel", error);
}

void elementwise_destroy(struct elementwise **kernel)
{
    if (kernel == NULL || *kernel == NULL) {
        return;
    }
    small_kernel_unload((*kernel)->driver, &(*kernel)->kernel);
    free(*kernel);
    *kernel = NULL;
}
