/* SPDX-License-Identifier: MIT */
/**
 * @file types.h
 * @brief Status codes, enumerations and plain structs of the public interface. No
 * functions.
 *
 * Conventions that hold for every struct here:
 * - A struct that begins with `struct_size` must carry `sizeof` of that struct as the
 * caller compiled it. A shorter struct (an older caller) is accepted and the missing tail
 * reads as zero; a longer one (a newer caller) is accepted only if its unknown tail is all
 * zero, and is otherwise refused with ::JIT_GEMM_ERR_VERSION.
 * - Zero means default in every field.
 * - Everything that a struct points to is copied during the call. Nothing is borrowed.
 * - Sizes and strides are in elements unless the name says bytes.
 */
#ifndef JIT_GEMM_TYPES_H
#define JIT_GEMM_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Size of the buffer that holds a name (epilogue, operand), the ending zero included. */
#define JIT_GEMM_NAME_SIZE 64
/** Size of the buffer that holds a config text, the ending zero included. */
#define JIT_GEMM_CONFIG_SIZE 256
/** Most operands that one epilogue may declare. */
#define JIT_GEMM_MAX_OPERANDS 16

/** Result of a call: zero is success, errors are negative. Values never change. */
typedef enum jit_gemm_status {
    JIT_GEMM_OK = 0,            /**< Success. */
    JIT_GEMM_ERR_ARGUMENT = -1, /**< An argument or field is wrong; the text names it. */
    JIT_GEMM_ERR_UNSUPPORTED =
        -2, /**< Legal, but this version has no kernel for it; the text says why. */
    JIT_GEMM_ERR_NO_MEMORY = -3, /**< Host or device memory could not be had. */
    JIT_GEMM_ERR_NO_DRIVER = -4, /**< The CUDA driver is absent or too old. */
    JIT_GEMM_ERR_NO_COMPILER =
        -5, /**< NVRTC is absent or too old, and the kernel is not cached. */
    JIT_GEMM_ERR_DEVICE =
        -6, /**< The device is absent, unsupported, or reported an error. */
    JIT_GEMM_ERR_COMPILE = -7, /**< The snippet or the generated code did not compile. */
    JIT_GEMM_ERR_LINK = -8,    /**< nvJitLink refused a compiled epilogue. */
    JIT_GEMM_ERR_LOAD = -9,    /**< The driver refused the compiled kernel. */
    JIT_GEMM_ERR_LAUNCH = -10, /**< The driver refused the launch. */
    JIT_GEMM_ERR_NOT_CACHED =
        -11, /**< The policy forbids compiling and the kernel is not cached. */
    JIT_GEMM_ERR_CAPTURE = -12, /**< The call may block and the stream is being captured. */
    JIT_GEMM_ERR_VERSION =
        -13, /**< A struct is newer than the library and uses fields it lacks. */
    JIT_GEMM_ERR_CANCELLED = -14, /**< The caller's progress callback asked to stop. */
    JIT_GEMM_ERR_IO =
        -15, /**< A file that the caller named could not be read or written. */
    JIT_GEMM_ERR_INTERNAL =
        -99 /**< A bug in the library; please report it with the text. */
} jit_gemm_status;

/** Element types. ::JIT_GEMM_DTYPE_NONE means "absent" (for C) or "default". */
typedef enum jit_gemm_dtype {
    JIT_GEMM_DTYPE_NONE = 0, /**< Absent. */
    JIT_GEMM_DTYPE_BF16 = 1, /**< bfloat16, 2 bytes. */
    JIT_GEMM_DTYPE_F16 = 2,  /**< IEEE binary16, 2 bytes. */
    JIT_GEMM_DTYPE_F32 = 3,  /**< IEEE binary32, 4 bytes. Not of A and B: see TF32. */
    JIT_GEMM_DTYPE_TF32 = 4, /**< IEEE binary32 in memory, 4 bytes; multiplied as tf32. */
    JIT_GEMM_DTYPE_E4M3 = 5, /**< 8-bit float without infinity, up to 448. */
    JIT_GEMM_DTYPE_E5M2 = 6, /**< 8-bit float, up to 57344. */
    JIT_GEMM_DTYPE_S8 = 7,   /**< Signed integer, 1 byte. Of A and B alone. */
    JIT_GEMM_DTYPE_S32 = 8   /**< Signed integer, 4 bytes. Of C and D with A of s8. */
} jit_gemm_dtype;

/** How an input matrix lies in memory. */
typedef enum jit_gemm_layout {
    /** K runs fastest. A is stored M x K, B is stored N x K. Letter: A `n`, B `t`. */
    JIT_GEMM_LAYOUT_K_MAJOR = 0,
    /** M or N runs fastest. A is stored K x M, B is stored K x N. Letter: A `t`, B `n`. */
    JIT_GEMM_LAYOUT_MN_MAJOR = 1
} jit_gemm_layout;

/** What the values of an input are multiplied by. Scales are f32, in device memory. */
typedef enum jit_gemm_scale {
    JIT_GEMM_SCALE_NONE = 0,   /**< Nothing. */
    JIT_GEMM_SCALE_TENSOR = 1, /**< One value. */
    JIT_GEMM_SCALE_VECTOR = 2  /**< A value for each row of A, or each column of B. */
} jit_gemm_scale;

/** How D lies in memory, and C and matrix operands with it. */
typedef enum jit_gemm_d_layout {
    JIT_GEMM_D_ROW_MAJOR = 0,   /**< Stored M x N. */
    JIT_GEMM_D_COLUMN_MAJOR = 1 /**< Stored N x M. */
} jit_gemm_d_layout;

/** Whether a size is compiled into the kernel. */
typedef enum jit_gemm_dim_mode {
    JIT_GEMM_DIM_EXACT = 0,  /**< Compiled in: one kernel a size. */
    JIT_GEMM_DIM_DYNAMIC = 1 /**< An argument; `size` is the typical one to plan for. */
} jit_gemm_dim_mode;

/** One dimension of a problem. Frozen: embedded by value. */
typedef struct jit_gemm_dim {
    int64_t size;     /**< Elements, 1 to 2^31 - 1. */
    int32_t mode;     /**< A ::jit_gemm_dim_mode. */
    int32_t reserved; /**< Must be zero. */
} jit_gemm_dim;

/**
 * A problem: D = epilogue(alpha * op(A) * op(B) + beta * C, operands).
 *
 * A is M x K, B is K x N, C and D are M x N, laid out as `d_layout` says; all of them
 * `batch` times. With scales, the product's element (m, n) is also multiplied by those of
 * A's row m and of B's column n: f32 factors are multiplied first, alpha * (a_scale *
 * b_scale), then the sum by the result.
 */
typedef struct jit_gemm_problem {
    size_t struct_size; /**< sizeof(jit_gemm_problem). */
    jit_gemm_dim m;     /**< Rows of A, C and D. */
    jit_gemm_dim n;     /**< Columns of B, C and D. */
    jit_gemm_dim k;     /**< Columns of A, rows of B. */
    jit_gemm_dim batch; /**< Number of products; all zero means one. */
    jit_gemm_dtype a;   /**< Element type of A: bf16, f16, tf32, e4m3, e5m2 or s8. */
    jit_gemm_dtype b;   /**< Element type of B, A's unless both are e4m3 or e5m2; zero means
                           A's. */
    jit_gemm_dtype c; /**< Element type of C: bf16, f16, f32, e4m3, e5m2 or s32; zero means
                         that there is no C. */
    jit_gemm_dtype d; /**< Element type of D, as C's; zero means A's, for A of tf32 f32, for
                         A of s8 s32. */
    jit_gemm_layout a_layout;          /**< Layout of A. */
    jit_gemm_layout b_layout;          /**< Layout of B. */
    char epilogue[JIT_GEMM_NAME_SIZE]; /**< A registered epilogue; empty means D = acc. */
    char config[JIT_GEMM_CONFIG_SIZE]; /**< Overrides the choice; empty means choose. */
    uint64_t workspace_limit;   /**< Most bytes of workspace that the choice may ask for, to
                                   split K; 0: K is split only where `config` says so. */
    jit_gemm_scale a_scale;     /**< Scales of A, addressed by ::jit_gemm_args. */
    jit_gemm_scale b_scale;     /**< Scales of B. */
    uint64_t input_alignment;   /**< Bytes that A's and B's addresses, rows and batches are
                                   multiples of: 1, 2, 4 or 8; 0 means 16. Less is slower. */
    jit_gemm_d_layout d_layout; /**< Of D, C and matrix operands. */
    uint64_t
        output_alignment; /**< The same of D, C, operands and scales, an element's bytes
                             where it has more; 0 means 16, of vectors two elements. */
} jit_gemm_problem;

/** How an operand is indexed. */
typedef enum jit_gemm_operand_kind {
    JIT_GEMM_OPERAND_SCALAR = 0,        /**< One value. */
    JIT_GEMM_OPERAND_ROW_VECTOR = 1,    /**< N values, indexed by `col`. */
    JIT_GEMM_OPERAND_COLUMN_VECTOR = 2, /**< M values, indexed by `row`. */
    JIT_GEMM_OPERAND_MATRIX = 3         /**< M x N values, laid out as D. */
} jit_gemm_operand_kind;

/** What the kernel does with an operand. */
typedef enum jit_gemm_operand_role {
    JIT_GEMM_OPERAND_INPUT = 0, /**< Read; its name is a float in the snippet. */
    JIT_GEMM_OPERAND_OUTPUT = 1 /**< Written; its name is assignable. Matrices only. */
} jit_gemm_operand_role;

/** Declares one operand of an epilogue. Frozen: used in arrays. */
typedef struct jit_gemm_operand {
    const char *name;           /**< A C identifier, at most 63 bytes. */
    jit_gemm_operand_kind kind; /**< How it is indexed. */
    jit_gemm_dtype dtype;       /**< bf16, f16, f32, e4m3 or e5m2. */
    jit_gemm_operand_role role; /**< Input or output. */
    int32_t reserved;           /**< Must be zero. */
} jit_gemm_operand;

/** An epilogue: a name, a text, and the operands that the text uses. */
typedef struct jit_gemm_epilogue {
    size_t struct_size; /**< sizeof(jit_gemm_epilogue). */
    const char *name;   /**< A C identifier, at most 63 bytes; unique in the context. */
    const char *source; /**< The snippet, for instance `d = relu(acc + bias);`. */
    size_t source_size; /**< Bytes of `source`; 0 means that it ends with a zero byte. */
    const char *source_name; /**< File name for messages; NULL means the epilogue's name. */
    uint32_t first_line;     /**< Line number of the first line in that file; 0 means 1. */
    uint32_t operand_count;  /**< Entries of `operands`, at most ::JIT_GEMM_MAX_OPERANDS. */
    const jit_gemm_operand
        *operands; /**< In the order in which ::jit_gemm_args gives them. */
} jit_gemm_epilogue;

/** Batch stride that says: every batch index uses the same matrix. Inputs only. */
#define JIT_GEMM_STRIDE_BROADCAST ((int64_t)-1)

/** The run-time side of one operand. Frozen: used in arrays. */
typedef struct jit_gemm_operand_arg {
    uint64_t pointer;     /**< Device address; 0 lets a scalar input take `value`. */
    int64_t ld;           /**< Matrix: elements between stored rows; 0 means packed. */
    int64_t batch_stride; /**< Elements between batches; 0 means packed; or BROADCAST. */
    float value;          /**< A scalar given by value. */
    uint32_t reserved;    /**< Must be zero. */
} jit_gemm_operand_arg;

/** The arguments of one launch. */
typedef struct jit_gemm_args {
    size_t struct_size;     /**< sizeof(jit_gemm_args). */
    uint64_t a;             /**< Device address of A. */
    uint64_t b;             /**< Device address of B. */
    uint64_t c;             /**< Device address of C; 0 if the problem has none. */
    uint64_t d;             /**< Device address of D. */
    int64_t lda;            /**< Elements between stored rows of A; 0 means packed. */
    int64_t ldb;            /**< Elements between stored rows of B; 0 means packed. */
    int64_t ldc;            /**< Elements between stored rows of C; 0 means packed. */
    int64_t ldd;            /**< Elements between stored rows of D; 0 means packed. */
    int64_t a_batch_stride; /**< Elements between A's batches; 0: packed; or BROADCAST. */
    int64_t b_batch_stride; /**< Elements between B's batches; 0: packed; or BROADCAST. */
    int64_t c_batch_stride; /**< Elements between C's batches; 0: packed; or BROADCAST. */
    int64_t d_batch_stride; /**< Elements between D's batches; 0: packed. */
    int64_t m; /**< Dynamic M: the size of this launch. Exact M: 0, or the compiled size. */
    int64_t n; /**< As `m`, for N. */
    int64_t k; /**< As `m`, for K. */
    int64_t batch;      /**< As `m`, for the batch count. */
    const float *alpha; /**< Host address of alpha, read during the call; NULL means 1. */
    const float
        *beta; /**< Host address of beta, read during the call; NULL means 1 (with a C). */
    uint64_t alpha_device; /**< Device address of a float alpha; used instead of `alpha` if
                              not 0. */
    uint64_t beta_device;  /**< As `alpha_device`, for `beta`. */
    const jit_gemm_operand_arg *operands; /**< One entry an operand, in declared order. */
    size_t operand_count; /**< Entries of `operands`; must match the epilogue. */
    uint64_t workspace; /**< Device address of memory that the kernel may write, a multiple
                           of 128; needed if the info's `workspace_bytes` is not 0, and
                           unused else. Its bytes must be zero before the first launch that
                           gets it; every launch leaves it fit for the next one of the same
                           stream, of any kernel. Launches that may run at the same time
                           need one each. */
    uint64_t workspace_bytes; /**< Bytes of `workspace`; 0 means the info's
                                 `workspace_bytes`. A launch of dynamic sizes beyond the
                                 planned ones may need more, and says how many. */
    uint64_t a_scale; /**< Device address of A's scales, f32: one, or M of them; 0 if
                         the problem has none. */
    uint64_t b_scale; /**< Device address of B's scales, f32: one, or N of them; 0 if
                         the problem has none. */
    int64_t a_scale_batch_stride; /**< Scales of A between batches; 0 means packed; or
                                     BROADCAST. */
    int64_t b_scale_batch_stride; /**< Scales of B between batches; 0 means packed; or
                                     BROADCAST. */
} jit_gemm_args;

/** Where a kernel came from. */
typedef enum jit_gemm_origin {
    JIT_GEMM_ORIGIN_COMPILED = 0, /**< Compiled by this call. */
    JIT_GEMM_ORIGIN_DISK = 1,     /**< Read from the disk cache. */
    JIT_GEMM_ORIGIN_MEMORY = 2    /**< Already loaded in this context. */
} jit_gemm_origin;

/** What is known of a created or built kernel. */
typedef struct jit_gemm_info {
    size_t struct_size;     /**< sizeof(jit_gemm_info), set by the caller. */
    jit_gemm_origin origin; /**< Where this handle's kernel came from. */
    uint32_t registers;     /**< Registers a thread at launch; 0 if the device takes PTX. */
    uint32_t spill_bytes;   /**< Bytes of local memory a thread; 0 means no spills, or that
                               the device takes PTX. */
    uint32_t smem_bytes;    /**< Shared memory a CTA, in bytes. */
    uint32_t threads;       /**< Threads a CTA. */
    uint32_t grid_ctas;     /**< CTAs of the launch at the planned size. */
    double compile_ms;      /**< Time in the compiler; 0 unless compiled by this call. */
    double load_ms;         /**< Time in the driver's load; 0 if taken from memory. */
    char arch[16];          /**< Architecture of the machine code, `sm_90a`. */
    char key[33];           /**< Cache key, 32 lower-case hexadecimal digits. */
    char entry[JIT_GEMM_NAME_SIZE];    /**< Name of the kernel in profilers. */
    char config[JIT_GEMM_CONFIG_SIZE]; /**< The config in the form that `config` takes. */
    uint64_t workspace_bytes; /**< Bytes of device memory that a launch of the planned size
                                 needs as its workspace; 0 means none. */
    uint32_t tmem_columns; /**< Columns of tensor memory a CTA; 0 where a chip has none. */
    uint32_t reserved;     /**< Zero. */
} jit_gemm_info;

/** Counters of a context since its creation. */
typedef struct jit_gemm_stats {
    size_t struct_size;        /**< sizeof(jit_gemm_stats), set by the caller. */
    uint64_t creates;          /**< Successful creates. */
    uint64_t memory_hits;      /**< Kernels found loaded in this context. */
    uint64_t disk_hits;        /**< Kernels read from the disk cache. */
    uint64_t compiles;         /**< Kernels compiled. */
    uint64_t compile_failures; /**< Compiles that ended in an error. */
    uint64_t cache_rejects; /**< Disk entries found and refused (damaged or untrusted). */
    uint64_t cache_store_errors; /**< Kernels that could not be kept on disk. */
    uint64_t forbidden_misses;   /**< Creates refused because compiling is forbidden. */
    double compile_ms;           /**< Sum of the time in the compiler. */
    double load_ms;              /**< Sum of the time in the driver's load. */
} jit_gemm_stats;

/** May a create compile? */
typedef enum jit_gemm_policy {
    JIT_GEMM_POLICY_ALLOW = 0, /**< Compile what is missing. */
    JIT_GEMM_POLICY_WARN = 1,  /**< Compile, and log a warning with the prewarm command. */
    JIT_GEMM_POLICY_FORBID = 2 /**< A missing kernel is ::JIT_GEMM_ERR_NOT_CACHED. */
} jit_gemm_policy;

/** Severity of a log line or diagnostic. */
typedef enum jit_gemm_severity {
    JIT_GEMM_SEVERITY_ERROR = 0,   /**< The call failed. */
    JIT_GEMM_SEVERITY_WARNING = 1, /**< Something the caller should look at. */
    JIT_GEMM_SEVERITY_INFO = 2,    /**< What happened, at most a few lines a create. */
    JIT_GEMM_SEVERITY_DEBUG = 3    /**< Everything else. */
} jit_gemm_severity;

/**
 * Receives log lines.
 * @param user the pointer given with the callback
 * @param severity how serious the line is
 * @param text one line, zero-terminated, without a line end; valid during the call only
 *
 * May be called from any thread that uses the context, never concurrently for one context,
 * and must not call back into the library.
 */
typedef void (*jit_gemm_log_fn)(void *user, jit_gemm_severity severity, const char *text);

/** What a diagnostic speaks of. */
typedef enum jit_gemm_diagnostic_origin {
    JIT_GEMM_DIAGNOSTIC_FIELD = 0,   /**< An argument or struct field; `where` names it. */
    JIT_GEMM_DIAGNOSTIC_SNIPPET = 1, /**< The user's snippet, line and column. */
    JIT_GEMM_DIAGNOSTIC_GENERATED = 2, /**< The generated source: a bug of the library. */
    JIT_GEMM_DIAGNOSTIC_SYSTEM = 3     /**< Driver, compiler, file system. */
} jit_gemm_diagnostic_origin;

/** One diagnostic. The strings live as long as the diagnostics object. */
typedef struct jit_gemm_diagnostic {
    size_t struct_size;         /**< sizeof(jit_gemm_diagnostic), set by the caller. */
    jit_gemm_severity severity; /**< Error or warning. */
    jit_gemm_diagnostic_origin origin; /**< What it speaks of. */
    uint32_t line;     /**< Line in the snippet's file, from 1; 0 if it has none. */
    uint32_t column;   /**< Column in bytes, from 1; 0 if unknown. */
    const char *where; /**< Field, operand or file name; never NULL. */
    const char *text;  /**< What is wrong; never NULL. */
    const char *hint;  /**< What to do about it; never NULL, may be empty. */
} jit_gemm_diagnostic;

/** What ::jit_gemm_build produces. */
typedef enum jit_gemm_emit {
    JIT_GEMM_EMIT_CUBIN = 0, /**< Machine code, an ELF file. */
    JIT_GEMM_EMIT_PTX = 1,   /**< PTX text. */
    JIT_GEMM_EMIT_SOURCE = 2 /**< The generated CUDA source unit. */
} jit_gemm_emit;

/** How a context is set up. */
typedef struct jit_gemm_context_options {
    size_t struct_size; /**< sizeof(jit_gemm_context_options). */
    const char *arch;   /**< `sm_90a`; NULL means the device's, or JIT_GEMM_ARCH. */
    int32_t device;     /**< Device ordinal for create and run; 0 means the first device
                           that this version has kernels for, of `arch` if that is named.
                           With `exact_device` 0 means device 0. */
    int32_t no_device;  /**< Not 0: never open the driver; build and plan only. */
    const char *driver; /**< Path of the driver library, or `emulator`: the one that belongs
                           to this library and executes PTX on the CPU. NULL means
                           JIT_GEMM_DRIVER, then libcuda.so.1. */
    const char
        *nvrtc; /**< Path of NVRTC; NULL means JIT_GEMM_NVRTC, then the usual places. */
    const char *cache_dir;  /**< Absolute cache folder; NULL means JIT_GEMM_CACHE_DIR, then
                               the default. */
    int32_t no_cache;       /**< Not 0: neither read nor write the disk cache. */
    jit_gemm_policy policy; /**< May a create compile? */
    jit_gemm_log_fn log;    /**< Receives log lines; NULL means silence. */
    void *log_user;         /**< Passed to `log`. */
    jit_gemm_severity
        log_level; /**< Lines less serious than this are dropped; 0 means errors only. */
    int32_t
        exact_device; /**< Not 0: no other device than `device`, also where that is 0. */
} jit_gemm_context_options;

/** Progress of a prewarm: 0 goes on, anything else stops after the builds under way. */
typedef int (*jit_gemm_progress_fn)(void *user, size_t done, size_t total,
                                    const char *problem);

/** How a prewarm works. */
typedef struct jit_gemm_prewarm_options {
    size_t struct_size; /**< sizeof(jit_gemm_prewarm_options). */
    const char *const
        *archs;        /**< Architectures to build for; NULL means the context's own. */
    size_t arch_count; /**< Entries of `archs`. */
    uint32_t jobs;     /**< Builds at a time; 0 means by processors and memory. */
    jit_gemm_progress_fn
        progress;        /**< Called after each build, one call at a time; may be NULL. */
    void *progress_user; /**< Passed to `progress`. */
    int32_t ptx; /**< Not 0: build PTX, which the emulator takes; 0: what the context's
                    device takes, machine code if there is no device. */
} jit_gemm_prewarm_options;

/** What a prewarm did. */
typedef struct jit_gemm_prewarm_result {
    size_t struct_size; /**< sizeof(jit_gemm_prewarm_result), set by the caller. */
    size_t total;       /**< Problems times architectures in the manifest. */
    size_t cached;      /**< Found in the cache. */
    size_t compiled;    /**< Compiled and kept. */
    size_t failed;      /**< Failed, or compiled but not kept. */
} jit_gemm_prewarm_result;

typedef struct jit_gemm_context jit_gemm_context; /**< Opaque: settings, cache, kernels. */
typedef struct jit_gemm jit_gemm;                 /**< Opaque: one loaded kernel. */
typedef struct jit_gemm_artifact jit_gemm_artifact; /**< Opaque: bytes made by a build. */
typedef struct jit_gemm_diagnostics
    jit_gemm_diagnostics;                     /**< Opaque: what went wrong, in items. */
typedef struct jit_gemm_timer jit_gemm_timer; /**< Opaque: a pair of device events. */

#ifdef __cplusplus
}
#endif

#endif
