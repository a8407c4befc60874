/* SPDX-License-Identifier: MIT */
#include "runtime/launch_sizes.h"

#include "base/error.h"
#include "runtime/grid.h"

static jit_gemm_status resolve_size(const jit_gemm_dim *dim, int64_t given,
                                    const char *field, uint32_t *ret_size)
{
    if (dim->mode == JIT_GEMM_DIM_EXACT) {
        if (given != 0 && given != dim->size) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "give 0 or the compiled size, or make the dimension dynamic",
                           "%lld differs from %lld, the size that this kernel was compiled "
                           "for",
                           (long long)given, (long long)dim->size);
        }
        *ret_size = (uint32_t)dim->size;
        return JIT_GEMM_OK;
    }
    if (given == JIT_GEMM_SIZE_EMPTY) {
        *ret_size = 0;
        return JIT_GEMM_OK;
    }
    if (given == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give the size of this launch, or JIT_GEMM_SIZE_EMPTY for none",
                       "the size is dynamic, and none is given");
    }
    if (given < 0 || given > INT32_MAX) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give 1 to 2147483647, or JIT_GEMM_SIZE_EMPTY for none",
                       "the size %lld is out of range", (long long)given);
    }
    *ret_size = (uint32_t)given;
    return JIT_GEMM_OK;
}

static jit_gemm_status check_tile_count(const struct jg_kernel *kernel,
                                        const struct jg_kernel_params *params)
{
    const struct jg_product_size size =
        jg_product_size(&kernel->choice.product, params->m, params->n);
    if (jg_params_are_empty(params) ||
        jg_grid_has_countable_tiles(kernel, size.m, size.n, params->batch)) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "args.batch",
                   "split the batch or the matrix over several launches",
                   "%u x %u with batch %u makes 2^31 tiles or more", params->m, params->n,
                   params->batch);
}

/* What create has looked at where sizes are compiled in. */
static jit_gemm_status check_sizes(const struct jg_kernel *kernel,
                                   const struct jg_kernel_params *params)
{
    const struct jg_problem *problem = &kernel->problem;
    if (problem->is_gated && params->n % 2 != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "args.n",
                       "give the number of columns of B, which has two for each of D",
                       "a gated epilogue needs an even N, %u is odd", params->n);
    }
    const struct jg_d_row row = {params->m, params->n, "args.m", "args.n"};
    JG_TRY(jg_problem_check_bytes(problem, &row));
    if (kernel->choice.config.kernel == JG_KERNEL_GEMM) {
        JG_TRY(jg_problem_check_halves(problem, "args.n", params->n));
    }
    JG_TRY(jg_problem_check_k(problem, "args.k", params->k));
    return check_tile_count(kernel, params);
}

jit_gemm_status jg_launch_sizes_resolve(const struct jg_kernel *kernel,
                                        const jit_gemm_args *args,
                                        struct jg_kernel_params *params)
{
    const struct jg_problem *problem = &kernel->problem;
    JG_TRY(resolve_size(&problem->m, args->m, "args.m", &params->m));
    JG_TRY(resolve_size(&problem->n, args->n, "args.n", &params->n));
    JG_TRY(resolve_size(&problem->k, args->k, "args.k", &params->k));
    JG_TRY(resolve_size(&problem->batch, args->batch, "args.batch", &params->batch));
    return kernel->exact_grid > 0 ? JIT_GEMM_OK : check_sizes(kernel, params);
}
