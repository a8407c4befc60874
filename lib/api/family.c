/* SPDX-License-Identifier: MIT */
/* Bands of a range of sizes, and the handles of their kernels. */
#include "jit_gemm/family.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/gemm.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/struct.h"

struct jit_gemm_family {
    struct jg_range range;
    jit_gemm **gemms; /* one for each kernel */
    size_t gemm_count;
    size_t band_count;
    jit_gemm_band bands[]; /* rising, without gaps */
};

/* ---------------------------------------------------------------------------- bands */

static jit_gemm_band public_band(const struct jg_bands *bands, size_t index)
{
    const struct jg_band *band = &bands->bands[index];
    const struct jg_band_kernel *kernel = &bands->kernels[band->kernel];
    jit_gemm_band own = {.first = band->first,
                         .last = band->last,
                         .kernel = (uint32_t)band->kernel,
                         .planned = kernel->planned,
                         .first_us = band->first_us,
                         .last_us = band->last_us,
                         .loss = band->loss,
                         .loss_size = band->loss_size};
    memcpy(own.config, kernel->text, sizeof(own.config));
    return own;
}

static jit_gemm_status check_array(const jit_gemm_band *bands, size_t capacity)
{
    return capacity > 0 ? jg_check_pointer(bands, "bands") : JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_range_parse_sized(const char *text, size_t struct_size,
                                           jit_gemm_range *ret_range)
{
    jit_gemm_range range;
    JG_TRY(jg_check_pointer(text, "text"));
    JG_TRY(jg_check_pointer(ret_range, "ret_range"));
    JG_TRY(jg_range_parse(text, &range));
    return jg_struct_fill(&range, sizeof(range), struct_size, ret_range, "ret_range");
}

/* For those who load it by its name; it keeps to this size when the struct grows. */
jit_gemm_status(jit_gemm_range_parse)(const char *text, jit_gemm_range *ret_range)
{
    enum { SIZE_OF_0_1 = offsetof(jit_gemm_range, loss) + sizeof(ret_range->loss) };
    return jit_gemm_range_parse_sized(text, SIZE_OF_0_1, ret_range);
}

jit_gemm_status jit_gemm_plan_bands(jit_gemm_context *context,
                                    const jit_gemm_problem *problem,
                                    const jit_gemm_range *range, jit_gemm_band *bands,
                                    size_t capacity, size_t *ret_count)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(check_array(bands, capacity));
    struct jg_problem own;
    struct jg_range checked;
    struct jg_bands found;
    JG_TRY(jg_step_normalize(context, problem, &own));
    JG_TRY(jg_range_check(range, &own, &checked));
    const struct jg_planned planned = jg_step_planned(context, context->arch);
    JG_TRY(jg_step_bands(&planned, &own, &checked, &found));
    for (size_t i = 0; i < found.band_count && i < capacity; i++) {
        bands[i] = public_band(&found, i);
    }
    if (ret_count != NULL) {
        *ret_count = found.band_count;
    }
    jg_bands_free(&found);
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------------- create */

/* What a family is made of. */
struct making {
    jit_gemm_context *context;
    const struct jg_problem *problem;
    const struct jg_range *range;
    struct jg_stop stop;
};

static jit_gemm_status create_kernels(const struct making *making,
                                      const struct jg_bands *bands,
                                      struct jit_gemm_family *family, bool *ret_is_unfit)
{
    for (size_t i = 0; i < bands->kernel_count; i++) {
        struct jg_problem problem;
        JG_TRY(
            jg_bands_problem(making->problem, making->range, &bands->kernels[i], &problem));
        JG_TRY(jg_step_create(making->context, &problem, &making->stop, ret_is_unfit,
                              &family->gemms[i]));
        family->gemm_count = i + 1;
    }
    return JIT_GEMM_OK;
}

/* The kernels of these bands; `family` is the caller's to destroy, also on failure. */
static jit_gemm_status fill_family(const struct making *making,
                                   const struct jg_bands *bands,
                                   struct jit_gemm_family *family, bool *ret_is_unfit)
{
    family->range = *making->range;
    family->gemms = jg_alloc_array(bands->kernel_count, sizeof(jit_gemm *));
    if (family->gemms == NULL) {
        return jg_fail_memory();
    }
    family->band_count = bands->band_count;
    for (size_t i = 0; i < bands->band_count; i++) {
        family->bands[i] = public_band(bands, i);
    }
    return create_kernels(making, bands, family, ret_is_unfit);
}

/* *ret_is_unfit: the device holds no clusters of a config; others are chosen next time. */
static jit_gemm_status make_family(const struct making *making, bool *ret_is_unfit,
                                   struct jit_gemm_family **ret_family)
{
    struct jg_bands bands;
    const struct jg_planned planned =
        jg_step_planned(making->context, making->context->arch);
    JG_TRY(jg_step_bands(&planned, making->problem, making->range, &bands));
    struct jit_gemm_family *family =
        jg_alloc(sizeof(*family) + bands.band_count * sizeof(family->bands[0]));
    const jit_gemm_status status = family != NULL
                                       ? fill_family(making, &bands, family, ret_is_unfit)
                                       : jg_fail_memory();
    jg_bands_free(&bands);
    if (status != JIT_GEMM_OK) {
        jit_gemm_family_destroy(&family);
        return status;
    }
    *ret_family = family;
    return JIT_GEMM_OK;
}

/* The range as a line of the manifest. */
static jit_gemm_status record_range(const struct making *making, jit_gemm_status status)
{
    struct jg_str line = {0};
    struct jg_problem planned = *making->problem;
    jg_range_dim(making->range, &planned)->size = 0;
    jg_str_puts(&line, "problem ");
    jg_range_print(making->range, &line);
    jg_str_puts(&line, " ");
    jg_problem_text(&planned, &line);
    const jit_gemm_status recorded = jg_context_record_line(making->context, &line, status);
    jg_str_free(&line);
    return recorded;
}

jit_gemm_status jit_gemm_family_create(jit_gemm_context *context,
                                       const jit_gemm_problem *problem,
                                       const jit_gemm_range *range,
                                       jit_gemm_family **ret_family)
{
    JG_TRY(jg_check_context(context));
    JG_TRY(jg_check_pointer(ret_family, "ret_family"));
    struct jg_problem own;
    struct jg_range checked;
    const struct jg_stop stop = jg_context_stop(context);
    JG_TRY(jg_step_normalize(context, problem, &own));
    JG_TRY(jg_range_check(range, &own, &checked));
    JG_TRY(jg_context_need_device(context));
    const struct making making = {context, &own, &checked, stop};
    struct jit_gemm_family *family = NULL;
    jit_gemm_status status;
    bool is_unfit;
    do {
        is_unfit = false;
        status = make_family(&making, &is_unfit, &family);
    } while (status != JIT_GEMM_OK && is_unfit);
    status = record_range(&making, status);
    if (status != JIT_GEMM_OK) {
        jit_gemm_family_destroy(&family);
        return status;
    }
    *ret_family = family;
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------------ run */

static int64_t size_of(const struct jg_range *range, const jit_gemm_args *args)
{
    const int64_t sizes[JG_DIM_COUNT] = {[JG_DIM_M] = args->m,
                                         [JG_DIM_N] = args->n,
                                         [JG_DIM_K] = args->k,
                                         [JG_DIM_BATCH] = args->batch};
    return sizes[range->index];
}

/* The first band that ends at the size or behind it. */
static const jit_gemm_band *find_band(const struct jit_gemm_family *family, int64_t size)
{
    size_t low = 0;
    size_t high = family->band_count - 1;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (family->bands[middle].last < size) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return &family->bands[low];
}

jit_gemm_status jit_gemm_family_run(const jit_gemm_family *family,
                                    const jit_gemm_args *args, void *stream)
{
    JG_TRY(jg_check_pointer(family, "family"));
    JG_TRY(jg_check_pointer(args, "args"));
    jit_gemm_args own;
    if (args->struct_size != sizeof(*args)) {
        JG_TRY(jg_struct_import(args, &own, sizeof(own), "args"));
        own.struct_size = sizeof(own);
        args = &own;
    }
    const struct jg_range *range = &family->range;
    const int64_t size = size_of(range, args);
    if ((size < range->first || size > range->last) && size != JIT_GEMM_SIZE_EMPTY) {
        char field[16];
        (void)snprintf(field, sizeof(field), "args.%s", jg_range_name(range));
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "create the family with a range that has it",
                       "%lld is outside of the family's range, %lld to %lld",
                       (long long)size, (long long)range->first, (long long)range->last);
    }
    return jit_gemm_run(family->gemms[find_band(family, size)->kernel], args, stream);
}

/* ----------------------------------------------------------------------------- info */

jit_gemm_status jit_gemm_family_get_bands(const jit_gemm_family *family,
                                          jit_gemm_band *bands, size_t capacity,
                                          size_t *ret_count)
{
    JG_TRY(jg_check_pointer(family, "family"));
    JG_TRY(check_array(bands, capacity));
    for (size_t i = 0; i < family->band_count && i < capacity; i++) {
        bands[i] = family->bands[i];
    }
    if (ret_count != NULL) {
        *ret_count = family->band_count;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jit_gemm_family_get_info(const jit_gemm_family *family, size_t band,
                                         jit_gemm_info *ret_info)
{
    JG_TRY(jg_check_pointer(family, "family"));
    if (band >= family->band_count) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "band",
                       "ask jit_gemm_family_get_bands for the number of bands",
                       "must be less than %zu, is %zu", family->band_count, band);
    }
    return jit_gemm_get_info(family->gemms[family->bands[band].kernel], ret_info);
}

void jit_gemm_family_destroy(jit_gemm_family **family)
{
    if (family == NULL || *family == NULL) {
        return;
    }
    for (size_t i = 0; i < (*family)->gemm_count; i++) {
        jit_gemm_destroy(&(*family)->gemms[i]);
    }
    jg_free((*family)->gemms);
    jg_free(*family);
    *family = NULL;
}
