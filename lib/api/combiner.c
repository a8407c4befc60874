/* SPDX-License-Identifier: MIT */
/* Rows that are added up on the device. */
#include "api/side_kernel.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/struct.h"
#include "jit_gemm/combine.h"
#include "plan/dtype.h"
#include "runtime/launch.h"

struct jit_gemm_combiner {
    struct jg_side_loaded loaded;
    struct jg_combine combine;
};

jit_gemm_status jit_gemm_combiner_create(jit_gemm_context *context, jit_gemm_dtype rows,
                                         jit_gemm_dtype d, uint32_t chosen,
                                         jit_gemm_combiner **ret_combiner)
{
    const struct jg_side_kernel side = {
        .kind = JG_SIDE_COMBINE, .combine = {.rows = rows, .d = d, .chosen = chosen}};
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_combiner, "ret_combiner"));
    JG_TRY(jg_combine_check(&side.combine));
    struct jit_gemm_combiner *combiner = jg_alloc(sizeof(*combiner));
    if (combiner == NULL) {
        return jg_fail_memory();
    }
    combiner->combine = side.combine;
    const jit_gemm_status status = jg_side_create(context, &side, &combiner->loaded);
    if (status != JIT_GEMM_OK) {
        jg_free(combiner);
        return status;
    }
    *ret_combiner = combiner;
    return JIT_GEMM_OK;
}

/* What lies at an address: rows of so many elements. */
struct side {
    const char *field, *ld_field;
    uint64_t address;
    int64_t rows, columns;
    int64_t ld; /* 0: packed; filled in */
    jit_gemm_dtype dtype;
    uint64_t end; /* filled in: the first byte behind it */
};

static jit_gemm_status check_size(const char *field, int64_t size)
{
    if (size < 1 || size > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "give 1 to 2^31 - 1",
                       "must be 1 to %d, is %lld", INT32_MAX, (long long)size);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status resolve_side(struct side *side)
{
    const uint64_t bytes = (uint64_t)jg_bytes_of(side->dtype, 1);
    int64_t before = 0, all = 0;
    if (side->address == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->field, "give device memory", "is NULL");
    }
    if (side->address % bytes != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->field,
                       "give an address of a whole element",
                       "0x%llx is no multiple of %llu bytes",
                       (unsigned long long)side->address, (unsigned long long)bytes);
    }
    side->ld = side->ld == 0 ? side->columns : side->ld;
    if (side->ld < side->columns) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->ld_field,
                       "give the elements from one row to the next, or 0 for packed rows",
                       "must be at least %lld, is %lld", (long long)side->columns,
                       (long long)side->ld);
    }
    if (!jg_mul_checked(side->rows - 1, side->ld, &before) ||
        before > INT64_MAX - side->columns ||
        !jg_mul_checked(before + side->columns, (int64_t)bytes, &all) ||
        (uint64_t)all > UINT64_MAX - side->address) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->ld_field, "give fewer or nearer rows",
                       "%lld rows reach beyond the end of all addresses",
                       (long long)side->rows);
    }
    side->end = side->address + (uint64_t)all;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_apart(const struct side *read, const struct side *d)
{
    if (read->address == 0 || read->end <= d->address || d->end <= read->address) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.d", "give the result memory of its own",
                   "its bytes from 0x%llx on overlap with those of %s at 0x%llx",
                   (unsigned long long)d->address, read->field,
                   (unsigned long long)read->address);
}

/* Does it go by whole vectors? */
static bool is_aligned(const struct side *side)
{
    const uint64_t row_bytes =
        (uint64_t)side->ld * (uint64_t)jg_bytes_of(side->dtype, 1); /* one row fits */
    return side->address % JG_COMBINE_ALIGNMENT == 0 &&
           row_bytes % JG_COMBINE_ALIGNMENT == 0;
}

static jit_gemm_status fill_params(const struct jg_combine *combine,
                                   const jit_gemm_combiner_args *args,
                                   struct jg_combine_params *ret_params)
{
    JG_TRY(check_size("args.tokens", args->tokens));
    JG_TRY(check_size("args.columns", args->columns));
    JG_TRY(check_size("args.row_count", args->row_count));
    const int64_t chosen = combine->chosen;
    struct side rows = {.field = "args.rows",
                        .ld_field = "args.rows_ld",
                        .address = args->rows,
                        .rows = args->row_count,
                        .columns = args->columns,
                        .ld = args->rows_ld,
                        .dtype = combine->rows};
    struct side index = {.field = "args.index",
                         .ld_field = "args.index",
                         .address = args->index,
                         .rows = args->tokens,
                         .columns = chosen,
                         .dtype = JIT_GEMM_DTYPE_S32};
    struct side weights = {.field = "args.weights",
                           .ld_field = "args.weights",
                           .address = args->weights,
                           .rows = args->tokens,
                           .columns = chosen,
                           .dtype = JIT_GEMM_DTYPE_F32};
    struct side c = {.field = "args.c",
                     .ld_field = "args.c_ld",
                     .address = args->c,
                     .rows = args->tokens,
                     .columns = args->columns,
                     .ld = args->c_ld,
                     .dtype = combine->d};
    struct side d = {.field = "args.d",
                     .ld_field = "args.d_ld",
                     .address = args->d,
                     .rows = args->tokens,
                     .columns = args->columns,
                     .ld = args->d_ld,
                     .dtype = combine->d};
    struct side *const optional[] = {&index, &weights, &c};
    JG_TRY(resolve_side(&rows));
    JG_TRY(resolve_side(&d));
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++) {
        if (optional[i]->address != 0) {
            JG_TRY(resolve_side(optional[i]));
        }
    }
    JG_TRY(check_apart(&rows, &d));
    JG_TRY(check_apart(&index, &d));
    JG_TRY(check_apart(&weights, &d));
    if (c.address != d.address || c.ld != d.ld) {
        JG_TRY(check_apart(&c, &d));
    }
    *ret_params =
        (struct jg_combine_params){.rows = rows.address,
                                   .index = index.address,
                                   .weights = weights.address,
                                   .c = c.address,
                                   .d = d.address,
                                   .rows_ld = rows.ld,
                                   .c_ld = c.ld,
                                   .d_ld = d.ld,
                                   .row_count = (uint32_t)rows.rows,
                                   .tokens = (uint32_t)d.rows,
                                   .columns = (uint32_t)d.columns,
                                   .is_aligned = is_aligned(&rows) && is_aligned(&d) &&
                                                 (c.address == 0 || is_aligned(&c))};
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_combiner_run(const jit_gemm_combiner *combiner,
                                      const jit_gemm_combiner_args *args, void *stream)
{
    JG_TRY(jg_check_pointer(combiner, "combiner"));
    JG_TRY(jg_check_pointer(args, "args"));
    jit_gemm_combiner_args own;
    struct jg_combine_params params;
    JG_TRY(jg_struct_import(args, &own, sizeof(own), "args"));
    JG_TRY(fill_params(&combiner->combine, &own, &params));
    const struct jg_kernel *kernel = combiner->loaded.kernel;
    const int64_t units = jg_ceil_div(params.columns, JG_COMBINE_COLUMNS) * params.tokens;
    const int64_t ctas =
        jg_min(jg_ceil_div(units, JG_COMBINE_THREADS), kernel->resident_clusters);
    return jg_launch_params(kernel, (unsigned int)ctas, &params, stream);
}

jit_gemm_status jit_gemm_combiner_get_info(const jit_gemm_combiner *combiner,
                                           jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(combiner, "combiner"));
    return jg_side_export(&combiner->loaded, ret_info);
}

void jit_gemm_combiner_destroy(jit_gemm_combiner **combiner)
{
    if (combiner != NULL && *combiner != NULL) {
        jg_kernel_release((*combiner)->loaded.kernel);
        jg_free(*combiner);
        *combiner = NULL;
    }
}
