/* SPDX-License-Identifier: MIT */
/* Builds without a device: bytes instead of a kernel. */
#include <stdio.h>
#include <string.h>

#include "api/gemm.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct.h"
#include "plan/first_kernel.h"

struct jit_gemm_artifact {
    struct jg_str bytes;
    jit_gemm_info info;
};

/* One build. */
struct making {
    jit_gemm_context *context;
    struct jg_stop stop;
    const struct jg_problem *problem;
    const struct jg_settled *settled; /* of the problem */
    const struct jg_choice *choice;
};

static jit_gemm_status emit_code(const struct making *making, enum jg_code_kind code_kind,
                                 struct jit_gemm_artifact *artifact)
{
    jit_gemm_context *context = making->context;
    const struct jg_problem *problem = making->problem;
    struct jg_builder builder = jg_context_builder(context, context->policy, &making->stop);
    builder.code_kind = code_kind;
    struct jg_step_result result = {0};
    struct jg_build_counts counts = {0};
    jit_gemm_status status =
        jg_step_binary(context, &builder, context->arch, &making->settled->problem,
                       making->choice, &result, &counts);
    jg_context_count_build(context, &counts);
    status = jg_context_record(context, problem, status);
    if (status == JIT_GEMM_OK) {
        status = jg_settled_blame(making->settled,
                                  jg_budget_check(&problem->budget, result.entry,
                                                  result.binary.registers,
                                                  result.binary.spill_bytes));
    }
    if (status == JIT_GEMM_OK) {
        jit_gemm_info *info = &artifact->info;
        info->origin = result.binary.origin;
        info->cache_root = result.binary.root;
        info->registers = result.binary.registers;
        info->spill_bytes = result.binary.spill_bytes;
        info->compile_ms = result.binary.compile_ms;
        memcpy(info->key, result.binary.key, sizeof(info->key));
        memcpy(info->entry, result.entry, sizeof(info->entry));
        artifact->bytes = result.binary.code; /* moved */
        result.binary.code = (struct jg_str){0};
    }
    jg_binary_free(&result.binary);
    return status;
}

static jit_gemm_status emit_source(const struct making *making,
                                   struct jit_gemm_artifact *artifact)
{
    struct jg_source source = {0};
    JG_TRY(jg_source_assemble(making->context->arch, making->problem, making->choice,
                              &source));
    memcpy(artifact->info.entry, source.entry, sizeof(source.entry));
    artifact->bytes = source.text; /* moved */
    source.text = (struct jg_str){0};
    jg_source_free(&source);
    return JIT_GEMM_OK;
}

static jit_gemm_status emit_artifact(const struct making *making, jit_gemm_emit emit,
                                     struct jit_gemm_artifact *artifact)
{
    switch (emit) {
    case JIT_GEMM_EMIT_CUBIN:
        return emit_code(making, JG_CODE_CUBIN, artifact);
    case JIT_GEMM_EMIT_PTX:
        return emit_code(making, JG_CODE_PTX, artifact);
    case JIT_GEMM_EMIT_SOURCE:
        break;
    }
    return emit_source(making, artifact);
}

/* What the plan knows, which holds for every form. */
static jit_gemm_status describe_plan(const struct making *making, jit_gemm_info *info)
{
    const jit_gemm_context *context = making->context;
    const struct jg_choice *choice = making->choice;
    struct jg_str config = {0};
    jg_config_print(&choice->config, context->arch->config_keys, &config);
    const jit_gemm_status status = jg_str_status(&config);
    snprintf(info->config, sizeof(info->config), "%s", jg_str_text(&config));
    jg_str_free(&config);
    snprintf(info->arch, sizeof(info->arch), "%s", context->arch->name);
    info->struct_size = sizeof(*info);
    info->smem_bytes = (uint32_t)choice->derived.smem_bytes;
    info->threads = (uint32_t)choice->derived.threads;
    info->grid_ctas = (uint32_t)choice->derived.grid_ctas;
    info->workspace_bytes = (uint64_t)choice->derived.workspace_bytes;
    info->tmem_columns = (uint32_t)choice->derived.tmem_columns;
    info->is_gated = choice->product.is_gated;
    info->sum_fraction_bits = (uint32_t)choice->derived.sum_fraction_bits;
    info->launches = jg_count_launches(&choice->config, &choice->product);
    info->invariant = making->problem->invariant;
    memcpy(info->recipe, making->settled->recipe, sizeof(info->recipe));
    info->accumulate = choice->derived.accumulate;
    return status;
}

jit_gemm_status jit_gemm_build(jit_gemm_context *context, const jit_gemm_problem *problem,
                               jit_gemm_emit emit, jit_gemm_artifact **ret_artifact)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_artifact, "ret_artifact"));
    if ((unsigned)emit > JIT_GEMM_EMIT_SOURCE) {
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, "emit",
            "give JIT_GEMM_EMIT_CUBIN, JIT_GEMM_EMIT_PTX or JIT_GEMM_EMIT_SOURCE",
            "%d is nothing that can be made", (int)emit);
    }
    const struct jg_stop stop = jg_context_stop(context);
    struct jg_problem own;
    struct jg_settled settled;
    struct jg_choice choice;
    JG_TRY(jg_step_normalize(context, problem, &own));
    if (emit != JIT_GEMM_EMIT_CUBIN) {
        JG_TRY(jg_budget_refuse_ptx(&own.budget));
    }
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    JG_TRY(jg_step_settle(context, &planned, &own, &settled, NULL));
    JG_TRY(jg_step_choose(&planned, &settled, &choice, NULL));
    struct jit_gemm_artifact *artifact = jg_alloc(sizeof(*artifact));
    if (artifact == NULL) {
        return jg_fail_memory();
    }
    const struct making making = {context, stop, &own, &settled, &choice};
    jit_gemm_status status = describe_plan(&making, &artifact->info);
    if (status == JIT_GEMM_OK) {
        status = emit_artifact(&making, emit, artifact);
    }
    if (status != JIT_GEMM_OK) {
        jg_free(artifact);
        return status;
    }
    *ret_artifact = artifact;
    return JIT_GEMM_OK;
}

const void *jit_gemm_artifact_data(const jit_gemm_artifact *artifact, size_t *ret_size)
{
    if (ret_size != NULL) {
        *ret_size = artifact != NULL ? artifact->bytes.size : 0;
    }
    return artifact != NULL ? jg_str_text(&artifact->bytes) : "";
}

jit_gemm_status jit_gemm_artifact_get_info(const jit_gemm_artifact *artifact,
                                           jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(artifact, "artifact"));
    return jg_struct_export(&artifact->info, sizeof(artifact->info), ret_info, "ret_info");
}

void jit_gemm_artifact_destroy(jit_gemm_artifact **artifact)
{
    if (artifact != NULL && *artifact != NULL) {
        jg_str_free(&(*artifact)->bytes);
        jg_free(*artifact);
        *artifact = NULL;
    }
}
