/* SPDX-License-Identifier: MIT */
/* Scales from one layout to another on the device. */
#include "api/side_kernel.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/struct.h"
#include "jit_gemm/scales.h"
#include "plan/dtype.h"
#include "plan/scale.h"
#include "runtime/launch.h"

struct jit_gemm_packer {
    struct jg_side_loaded loaded;
    jit_gemm_scale scale; /* as the source has it, complete */
    uint32_t to_layout;
};

jit_gemm_status jit_gemm_packer_create(jit_gemm_context *context,
                                       const jit_gemm_scale *scale, uint32_t to_layout,
                                       jit_gemm_packer **ret_packer)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_packer, "ret_packer"));
    jit_gemm_scale complete;
    struct jg_side_kernel side = {.kind = JG_SIDE_PACK};
    JG_TRY(jg_pack_read_scale(scale, &complete));
    JG_TRY(jg_pack_make(&complete, to_layout, &side.pack));
    struct jit_gemm_packer *packer = jg_alloc(sizeof(*packer));
    if (packer == NULL) {
        return jg_fail_memory();
    }
    packer->scale = complete;
    packer->to_layout = to_layout;
    const jit_gemm_status status = jg_side_create(context, &side, &packer->loaded);
    if (status != JIT_GEMM_OK) {
        jg_free(packer);
        return status;
    }
    *ret_packer = packer;
    return JIT_GEMM_OK;
}

/* ---------------------------------------------------------------------------- launches */

/* One side of a conversion. */
struct side {
    const char *address_field, *stride_field;
    uint64_t address;
    int64_t stride; /* elements; 0: packed */
    jit_gemm_scale scale;
    uint64_t bytes; /* from the address to the end of the last batch */
};

static jit_gemm_status check_alignment(const struct side *side)
{
    const int64_t unit = jg_pack_unit(side->scale.layout);
    const uint64_t bytes = (uint64_t)jg_bytes_of(side->scale.dtype, unit);
    if (side->address == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->address_field, "give device memory",
                       "is NULL");
    }
    if (side->address % bytes != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->address_field,
                       "give an address of a whole scale, or of a word of 4 bytes in the "
                       "layouts 128x4, 8x4 and mn_k4",
                       "0x%llx is no multiple of %llu", (unsigned long long)side->address,
                       (unsigned long long)bytes);
    }
    if (side->stride % unit != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->stride_field,
                       "give a multiple of 4, or 0 for packed batches",
                       "%lld bytes would cut the words of layout %s",
                       (long long)side->stride, jg_scale_layout_name(side->scale.layout));
    }
    return JIT_GEMM_OK;
}

/* Fills in the stride and the bytes. */
static jit_gemm_status resolve_side(const jit_gemm_packer_args *args, int64_t batch,
                                    struct side *side)
{
    const struct jg_scale_extent extent = jg_scale_extent(&side->scale, args->mn, args->k);
    const int64_t elements = extent.rows * extent.columns; /* below 2^61 */
    side->stride = side->stride == 0 ? elements : side->stride;
    JG_TRY(check_alignment(side));
    if (side->stride < elements) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, side->stride_field,
                       "give at least the elements of a batch, or 0 for packed batches",
                       "must be at least %lld, is %lld", (long long)elements,
                       (long long)side->stride);
    }
    int64_t others = 0, bytes = 0;
    if (!jg_mul_checked(batch - 1, side->stride, &others) ||
        others > INT64_MAX - elements ||
        !jg_mul_checked(others + elements, jg_bytes_of(side->scale.dtype, 1), &bytes) ||
        (uint64_t)bytes > UINT64_MAX - side->address) {
        return batch > 1 ? jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.batch",
                                   "give fewer batches, or less between them",
                                   "%lld batches reach beyond the end of all addresses",
                                   (long long)batch)
                         : jg_fail(JIT_GEMM_ERR_ARGUMENT, side->address_field,
                                   "give device memory",
                                   "%lld scales at 0x%llx reach beyond the end of all "
                                   "addresses",
                                   (long long)elements, (unsigned long long)side->address);
    }
    side->bytes = (uint64_t)bytes;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_overlap(const struct side *from, const struct side *to)
{
    if (from->address + from->bytes <= to->address ||
        to->address + to->bytes <= from->address) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, to->address_field,
                   "give the result memory of its own",
                   "%llu bytes at 0x%llx overlap with the %llu bytes of scales at 0x%llx",
                   (unsigned long long)to->bytes, (unsigned long long)to->address,
                   (unsigned long long)from->bytes, (unsigned long long)from->address);
}

static jit_gemm_status resolve_batch(int64_t given, int64_t *ret_batch)
{
    if (given < 0 || given > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.batch",
                       "give 1 to 2^31 - 1, or 0 for 1", "must be 0 to %d, is %lld",
                       INT32_MAX, (long long)given);
    }
    *ret_batch = given == 0 ? 1 : given;
    return JIT_GEMM_OK;
}

/* `ret_units`: elements or words that are made. */
static jit_gemm_status fill_params(const jit_gemm_packer *packer,
                                   const jit_gemm_packer_args *args,
                                   struct jg_pack_params *ret_params, int64_t *ret_units)
{
    int64_t batch = 0;
    struct side from = {.address_field = "args.from",
                        .stride_field = "args.from_stride",
                        .address = args->from,
                        .stride = args->from_stride,
                        .scale = packer->scale};
    struct side to = {.address_field = "args.to",
                      .stride_field = "args.to_stride",
                      .address = args->to,
                      .stride = args->to_stride,
                      .scale = packer->scale};
    to.scale.layout = packer->to_layout;
    JG_TRY(jg_pack_check_size("args.mn", args->mn));
    JG_TRY(jg_pack_check_size("args.k", args->k));
    JG_TRY(resolve_batch(args->batch, &batch));
    JG_TRY(resolve_side(args, batch, &from));
    JG_TRY(resolve_side(args, batch, &to));
    JG_TRY(check_overlap(&from, &to));
    *ret_params = (struct jg_pack_params){
        .from = from.address,
        .to = to.address,
        .from_stride = from.stride,
        .to_stride = to.stride,
        .rows = (uint32_t)jg_ceil_div(args->mn, packer->scale.block_mn),
        .blocks = (uint32_t)jg_ceil_div(args->k, packer->scale.block_k),
        .batch = (uint32_t)batch};
    const struct jg_scale_extent extent = jg_scale_extent(&to.scale, args->mn, args->k);
    *ret_units = extent.rows * extent.columns / jg_pack_unit(packer->to_layout) * batch;
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_packer_run(const jit_gemm_packer *packer,
                                    const jit_gemm_packer_args *args, void *stream)
{
    JG_TRY(jg_check_pointer(packer, "packer"));
    JG_TRY(jg_check_pointer(args, "args"));
    jit_gemm_packer_args own;
    struct jg_pack_params params;
    int64_t units = 0;
    JG_TRY(jg_struct_import(args, &own, sizeof(own), "args"));
    JG_TRY(fill_params(packer, &own, &params, &units));
    const struct jg_kernel *kernel = packer->loaded.kernel;
    const int64_t ctas =
        jg_min(jg_ceil_div(units, JG_PACK_THREADS), kernel->resident_clusters);
    return jg_launch_params(kernel, (unsigned int)ctas, &params, stream);
}

jit_gemm_status jit_gemm_packer_get_info(const jit_gemm_packer *packer,
                                         jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(packer, "packer"));
    return jg_side_export(&packer->loaded, ret_info);
}

void jit_gemm_packer_destroy(jit_gemm_packer **packer)
{
    if (packer != NULL && *packer != NULL) {
        jg_kernel_release((*packer)->loaded.kernel);
        jg_free(*packer);
        *packer = NULL;
    }
}
