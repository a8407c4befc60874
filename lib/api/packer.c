/* SPDX-License-Identifier: MIT */
/* Scales from one layout to another on the device: a kernel's create as in gemm.c, of a
 * kernel that has no problem and no choice, and its launch. */
#include "api/packer.h"

#include <stdio.h>
#include <string.h>

#include "api/capsule.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/math.h"
#include "base/struct.h"
#include "jit_gemm/scales.h"
#include "plan/dtype.h"
#include "plan/scale.h"
#include "runtime/launch.h"
#include "source/pack_unit.h"

struct jit_gemm_packer {
    struct jg_kernel *kernel; /* counted */
    jit_gemm_scale scale;     /* as the source has it, complete */
    uint32_t to_layout;
    jit_gemm_origin origin;
    uint32_t cache_root; /* that had the kernel; 0: none */
    double compile_ms, load_ms;
};

/* -------------------------------------------------------------------- up to a binary */

jit_gemm_status jg_step_pack_binary(const jit_gemm_context *context,
                                    const struct jg_builder *builder,
                                    const struct jg_arch *arch, const struct jg_pack *pack,
                                    struct jg_step_result *ret_result,
                                    struct jg_build_counts *counts)
{
    struct jg_source source = {0};
    struct jg_str text = {0};
    jg_pack_text(pack, &text);
    jit_gemm_status status = jg_str_status(&text);
    if (status == JIT_GEMM_OK) {
        status = jg_source_assemble_pack(arch, pack, &source);
    }
    if (status == JIT_GEMM_OK) {
        const struct jg_build_unit unit = {&source, arch, NULL, jg_str_text(&text)};
        status = jg_build(builder, &unit, &ret_result->binary, counts);
        const struct jg_capsule_failure failure = {
            .builder = builder, .arch = arch, .source = &source, .text = unit.problem_text};
        jg_capsule_leave(context, &failure, status);
        memcpy(ret_result->entry, source.entry, sizeof(ret_result->entry));
    }
    jg_source_free(&source);
    jg_str_free(&text);
    return status;
}

jit_gemm_status jg_step_pack_find(const struct jg_builder *builder,
                                  const struct jg_arch *arch, const struct jg_pack *pack,
                                  struct jg_build_found *ret_found)
{
    struct jg_source source = {0};
    struct jg_str text = {0};
    jg_pack_text(pack, &text);
    jit_gemm_status status = jg_str_status(&text);
    if (status == JIT_GEMM_OK) {
        status = jg_source_assemble_pack(arch, pack, &source);
    }
    if (status == JIT_GEMM_OK) {
        const struct jg_build_unit unit = {&source, arch, NULL, jg_str_text(&text)};
        status = jg_build_find(builder, &unit, ret_found);
    }
    jg_source_free(&source);
    jg_str_free(&text);
    return status;
}

/* ------------------------------------------------------------------------ to a kernel */

/* One create. */
struct create {
    jit_gemm_context *context;
    struct jg_pack pack;
    struct jg_str text; /* of the pack: names it in the table, the manifest and errors */
    struct jg_stop stop;
    struct jit_gemm_packer *packer; /* is being filled */
};

static jit_gemm_status build_binary(const struct create *create,
                                    struct jg_step_result *ret_result)
{
    jit_gemm_context *context = create->context;
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    struct jg_build_counts counts = {0};
    const jit_gemm_status status = jg_step_pack_binary(context, &builder, context->arch,
                                                       &create->pack, ret_result, &counts);
    jg_context_count_build(context, &counts);
    return jg_context_record_line(context, &create->text, status);
}

/* A capsule of a kernel that is there, but does not load. */
static void leave_capsule_of_load(const struct create *create, const char *key,
                                  jit_gemm_status status)
{
    const jit_gemm_context *context = create->context;
    struct jg_source source = {0};
    jit_gemm_diagnostics *diagnostics = NULL;
    if (context->capsule_dir == NULL || status != JIT_GEMM_ERR_LOAD ||
        jg_diagnostics_take(&diagnostics) != JIT_GEMM_OK) {
        return;
    }
    const struct jg_builder builder =
        jg_context_builder(context, context->policy, &create->stop);
    const jit_gemm_status assembles =
        jg_source_assemble_pack(context->arch, &create->pack, &source);
    jg_error_restore(status, diagnostics);
    jg_diagnostics_destroy(&diagnostics);
    if (assembles == JIT_GEMM_OK) {
        const struct jg_capsule_failure failure = {.builder = &builder,
                                                   .arch = context->arch,
                                                   .source = &source,
                                                   .text = jg_str_text(&create->text),
                                                   .key = key};
        jg_capsule_leave(context, &failure, status);
    }
    jg_source_free(&source);
}

/* `result` is the caller's to free, also after a failure. */
static jit_gemm_status load_result(const struct create *create,
                                   struct jg_step_result *result, bool *ret_is_rejected)
{
    jit_gemm_context *context = create->context;
    struct jit_gemm_packer *packer = create->packer;
    const struct jg_choice choice = {.derived = {.threads = JG_PACK_THREADS}};
    bool none_fits = false;
    bool is_refused = false;
    JG_TRY(build_binary(create, result));
    const struct jg_module_request request = {.choice = &choice,
                                              .ret_none_fits = &none_fits,
                                              .ret_is_refused = &is_refused,
                                              .binary = &result->binary,
                                              .arch = context->arch,
                                              .entry = result->entry,
                                              .log = context->log};
    const jit_gemm_status status =
        jg_module_load(context->device, &request, &packer->kernel);
    *ret_is_rejected =
        is_refused && jg_step_reject(context, &create->stop, &result->binary);
    if (!*ret_is_rejected) { /* nothing else is tried */
        leave_capsule_of_load(create, result->binary.key, status);
    }
    JG_TRY(status);
    packer->origin = result->binary.origin;
    packer->cache_root = result->binary.root;
    packer->compile_ms = result->binary.compile_ms;
    packer->load_ms = packer->kernel->load_ms;
    return JIT_GEMM_OK;
}

static jit_gemm_status build_and_load(const struct create *create)
{
    JG_TRY(jg_module_refuse_capture(create->context->device));
    for (;;) {
        struct jg_step_result result = {0};
        bool is_rejected = false;
        const jit_gemm_status status = load_result(create, &result, &is_rejected);
        jg_binary_free(&result.binary);
        if (!is_rejected) {
            return status;
        } /* the next one compiles */
    }
}

static jit_gemm_status acquire_kernel(const struct create *create)
{
    struct jit_gemm_packer *packer = create->packer;
    struct jg_table *table = create->context->table;
    struct jg_table_entry *entry = NULL;
    JG_TRY(jg_str_status(&create->text));
    JG_TRY(jg_table_acquire(table, create->text.data, create->text.size, &create->stop,
                            &packer->kernel, &entry));
    if (entry == NULL) {
        packer->origin = JIT_GEMM_ORIGIN_MEMORY;
        return JIT_GEMM_OK;
    }
    const jit_gemm_status status = build_and_load(create);
    if (status != JIT_GEMM_OK) {
        jg_table_abandon(table, entry, status);
        return status;
    }
    jg_table_publish(table, entry, packer->kernel);
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_packer_create(jit_gemm_context *context,
                                       const jit_gemm_scale *scale, uint32_t to_layout,
                                       jit_gemm_packer **ret_packer)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_packer, "ret_packer"));
    jit_gemm_scale complete;
    struct create create = {.context = context, .stop = jg_context_stop(context)};
    JG_TRY(jg_pack_read_scale(scale, &complete));
    JG_TRY(jg_pack_make(&complete, to_layout, &create.pack));
    JG_TRY(jg_context_need_device(context));
    struct jit_gemm_packer *packer = jg_alloc(sizeof(*packer));
    if (packer == NULL) {
        return jg_fail_memory();
    }
    packer->scale = complete;
    packer->to_layout = to_layout;
    create.packer = packer;
    jg_pack_text(&create.pack, &create.text);
    const jit_gemm_status status = acquire_kernel(&create);
    jg_str_free(&create.text);
    if (status != JIT_GEMM_OK) {
        jg_kernel_release(packer->kernel);
        jg_free(packer);
        return status;
    }
    jg_context_count_create(context, packer->origin, packer->load_ms);
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
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.batch", "give fewer batches",
                       "%lld batches reach beyond the end of all addresses",
                       (long long)batch);
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
    const struct jg_kernel *kernel = packer->kernel;
    const int64_t ctas =
        jg_min(jg_ceil_div(units, JG_PACK_THREADS), kernel->resident_clusters);
    return jg_launch_params(kernel, (unsigned int)ctas, &params, stream);
}

jit_gemm_status jit_gemm_packer_get_info(const jit_gemm_packer *packer,
                                         jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(packer, "packer"));
    const struct jg_kernel *kernel = packer->kernel;
    jit_gemm_info info = {.struct_size = sizeof(info),
                          .origin = packer->origin,
                          .registers = kernel->registers,
                          .spill_bytes = kernel->local_bytes,
                          .threads = JG_PACK_THREADS,
                          .grid_ctas = (uint32_t)kernel->resident_clusters,
                          .launches = 1,
                          .compile_ms = packer->compile_ms,
                          .load_ms = packer->load_ms,
                          .cache_root = packer->cache_root};
    snprintf(info.arch, sizeof(info.arch), "%s", kernel->arch);
    snprintf(info.key, sizeof(info.key), "%s", kernel->key);
    snprintf(info.entry, sizeof(info.entry), "%s", kernel->entry);
    return jg_struct_export(&info, sizeof(info), ret_info, "ret_info");
}

void jit_gemm_packer_destroy(jit_gemm_packer **packer)
{
    if (packer != NULL && *packer != NULL) {
        jg_kernel_release((*packer)->kernel);
        jg_free(*packer);
        *packer = NULL;
    }
}
