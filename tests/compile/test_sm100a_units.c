/* SPDX-License-Identifier: MIT */
/* Whole units for sm_100a: they compile without spills, and their PTX has the instructions
 * that the config means and none that it excludes. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/error.h"
#include "compile/toolchain.h"
#include "strides.h"
#include "unit_maker.h"

/* Registers a thread: what a warp of an epilogue may need, with 32 loads of a reduction
 * under way, and far from spilling. */
#define MAX_UNIT_REGISTERS 160

static const char one_cta[] = "cta_group::1";
static const char pair[] = "cta_group::2";
static const char multicast_load[] = "complete_tx::bytes.multicast::cluster";
static const char multicast_commit[] =
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster";
static const char pair_load[] = "complete_tx::bytes.cta_group::2 [";
static const char pair_multicast_load[] =
    "complete_tx::bytes.multicast::cluster.cta_group::2 [";
static const char pair_commit[] =
    "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster";
static const char cluster_barrier[] = "barrier.cluster.arrive";
static const char tensor_store[] = "cp.async.bulk.tensor.3d.global.shared::cta";
static const char stmatrix[] = "stmatrix.sync.aligned.m8n8.x4.shared";
static const char transposed[] = "stmatrix.sync.aligned.m8n8.x4.trans.shared";

enum { MAX_WORDS = 6 };

struct unit_row {
    struct unit_request request;
    const char *has[MAX_WORDS];
    const char *lacks[MAX_WORDS];
};

static const struct unit_row unit_rows[] = {
    {{.problem = "512x512x512 bf16 config=mma=128x64 cluster=1x1"},
     {one_cta, "tcgen05.commit.cta_group::1", tensor_store, stmatrix},
     {pair, multicast_load, multicast_commit, cluster_barrier}},
    {{.problem = "512x512x512 f16 layout=tn config=mma=128x128 cluster=2x1"},
     {one_cta, multicast_load, multicast_commit, cluster_barrier},
     {pair}},
    {{.problem = "512x512x512 bf16 layout=nn config=mma=128x192 cluster=1x2"},
     {one_cta, multicast_load, multicast_commit},
     {pair}},
    {{.problem = "512x512x512 bf16 d=f32 config=mma=128x256 cluster=1x1"},
     {one_cta, "tcgen05.ld.sync.aligned.16x256b.x4.b32", tensor_store},
     {pair, stmatrix, "tcgen05.ld.sync.aligned.16x256b.x8.b32"}},
    {{.problem = "512x512x512 bf16 config=mma=256x128 cluster=2x1 pdl=0"},
     {pair, pair_load, pair_commit, cluster_barrier},
     {one_cta, multicast_load, "griddepcontrol"}},
    {{.problem = "512x512x512 f16 layout=tt config=mma=256x256 cluster=4x1"},
     {pair, pair_load, pair_multicast_load, pair_commit},
     {one_cta}},
    {{.problem = "512x512x512 bf16 config=mma=256x192 cluster=2x2"},
     {pair, pair_load, pair_multicast_load, pair_commit},
     {one_cta}},
    {{.problem = "m=333 n=336 k=80 batch=3 a=bf16 c=bf16 dynamic=m config=mma=128x128"},
     {one_cta, "tcgen05.ld.sync.aligned.16x256b.x8.b32"},
     {pair, tensor_store, stmatrix}},
    {{.problem = "512x512x512 bf16 config=mma=64x32"},
     {one_cta, tensor_store, stmatrix, "tcgen05.ld.sync.aligned.16x256b.x4.b32"},
     {pair, transposed}},
    {{.problem = "512x512x512 bf16 d=f32 config=mma=64x96 cluster=2x1"},
     {one_cta, multicast_load, tensor_store},
     {pair, stmatrix}},
    {{.problem = "m=333 n=512 k=80 a=f16 dynamic=m layout=nn config=mma=64x48"},
     {one_cta, tensor_store, stmatrix, "tcgen05.ld.sync.aligned.16x256b.x2.b32"},
     {pair, transposed}},
    {{.problem = "512x512x512 bf16 c=bf16 config=mma=64x24"},
     {one_cta, "tcgen05.ld.sync.aligned.16x256b.x1.b32"},
     {pair, tensor_store}},
    {{.problem = "512x512x512 bf16 config=mma=128x256 cta_group=2 cluster=2x1"},
     {pair, pair_load, pair_commit, tensor_store, stmatrix},
     {one_cta, transposed}},
    {{.problem =
          "512x512x512 bf16 c=f32 layout=nn config=mma=128x96 cta_group=2 cluster=2x2",
      .snippet = "aux = acc; d = tanh(acc * u + x);",
      .operands = "u:column_vector:f32 x:matrix:bf16 aux:matrix:f32:out"},
     {pair, pair_load, pair_commit},
     {one_cta, tensor_store}},
    {{.problem = "512x512x512 bf16 config=mma=128x240 cluster=1x1"},
     {one_cta, tensor_store, stmatrix},
     {pair}},
    {{.problem = "24x512x512 bf16 config=mma=128x32 cta_group=2 cluster=2x1 swap_ab=1"},
     {pair, pair_load, tensor_store, transposed},
     {one_cta, stmatrix}},
    {{.problem = "24x512x512 bf16 d=f32 config=mma=128x32 swap_ab=1"},
     {one_cta, tensor_store, "st.shared.f32"},
     {pair, transposed, stmatrix}},
    {{.problem = "512x512x512 f16 layout=tt config=mma=256x256 cluster=2x1 swap_ab=1"},
     {pair, tensor_store, transposed},
     {one_cta, stmatrix}},
    {{.problem = "512x512x512 f16 config=mma=64x64 swap_ab=1", .snippet = "d = gelu(acc);"},
     {one_cta, tensor_store, transposed},
     {pair, stmatrix}},
    {{.problem = "24x512x512 bf16 c=f32 dynamic=m,n,k config=mma=128x48 swap_ab=1",
      .snippet = "d = silu(acc * cv + bias) * s + r;",
      .operands = "bias:row_vector:f32 r:matrix:f32 cv:column_vector:f32 s:scalar:f32"},
     {one_cta, "st.shared.f32"},
     {pair, tensor_store}},
    {{.problem = "24x512x512 bf16 config=mma=64x40 swap_ab=1",
      .snippet = "d = gelu(acc + bias) + r;",
      .operands = "bias:row_vector:bf16 r:matrix:bf16"},
     {one_cta},
     {pair, tensor_store}},
    {{.problem = "24x512x512 bf16 config=mma=128x96 cta_group=2 swap_ab=1 split_k=2",
      .snippet = "d = acc + bias;",
      .operands = "bias:row_vector:bf16"},
     {pair, tensor_store},
     {one_cta, stmatrix}},
    {{.problem = "512x512x512 bf16 config=mma=256x256", .snippet = "d = gelu(acc);"},
     {pair, tensor_store, stmatrix},
     {one_cta}},
    {{.problem = "512x512x512 bf16 config=mma=256x256",
      .snippet = "d = gelu(acc + bias) + r;",
      .operands = "bias:row_vector:bf16 r:matrix:bf16"},
     {pair, pair_load},
     {one_cta, tensor_store, stmatrix}},
    {{.problem = "512x512x512 bf16 d=f32 dynamic=m,n,k,batch config=mma=128x256",
      .snippet = "d = silu(acc * cv + bias) * s + r;",
      .operands = "bias:row_vector:f32 r:matrix:f32 cv:column_vector:f32 s:scalar:f32"},
     {one_cta},
     {pair, tensor_store}},
    {{.problem = "512x333x512 bf16 c=f32 config=mma=256x128 cluster=4x2",
      .snippet = "aux = acc; d = tanh(acc + x * y);",
      .operands = "x:matrix:f32 y:matrix:bf16 aux:matrix:f32:out"},
     {pair, pair_multicast_load, pair_commit},
     {one_cta, tensor_store}},
    {{.problem = "512x512x512 bf16 config=mma=256x192",
      .snippet = "d = gelu(acc + r); s = d * d; b = d; m = abs(acc); lo = d;",
      .operands = "r:matrix:bf16 s:column_vector:f32:sum b:row_vector:bf16:sum "
                  "m:scalar:f32:max lo:row_vector:f32:min"},
     {pair, "shfl.sync.bfly.b32", "atom.acq_rel.gpu.global.add.u32"},
     {one_cta, tensor_store}},
    {{.problem = "512x512x512 bf16 dynamic=m,n config=mma=128x96 swap_ab=1",
      .snippet = "d = acc; m = acc;",
      .operands = "m:scalar:f32:sum"},
     {one_cta, "atom.acq_rel.gpu.global.add.u32"},
     {pair, tensor_store}},
};

/* What every kernel has: tensor memory is given back, loads are waited for, and each side
 * of a hand-over has its fence. */
static const char *const everywhere[] = {
    ".target sm_100a",
    "tcgen05.alloc.cta_group::",
    "tcgen05.relinquish_alloc_permit.cta_group::",
    "tcgen05.dealloc.cta_group::",
    ".kind::f16 [",
    "tcgen05.wait::ld.sync.aligned;",
    "tcgen05.fence::before_thread_sync;",
    "tcgen05.fence::after_thread_sync;",
    "fence.mbarrier_init.release.cluster;",
};

static void expect_words(const struct unit_row *row, const char *ptx)
{
    for (size_t i = 0; i < sizeof(everywhere) / sizeof(everywhere[0]); i++) {
        cr_expect_not_null(strstr(ptx, everywhere[i]), "%s lacks %s", row->request.problem,
                           everywhere[i]);
    }
    for (int i = 0; i < MAX_WORDS && row->has[i] != NULL; i++) {
        cr_expect_not_null(strstr(ptx, row->has[i]), "%s lacks %s", row->request.problem,
                           row->has[i]);
    }
    for (int i = 0; i < MAX_WORDS && row->lacks[i] != NULL; i++) {
        cr_expect_null(strstr(ptx, row->lacks[i]), "%s has %s", row->request.problem,
                       row->lacks[i]);
    }
    cr_expect_eq(strstr(ptx, tensor_store) != NULL,
                 strstr(ptx, "fence.proxy.async.shared::cta;") != NULL);
}

Test(sm100a_units, compile_without_spills_and_mean_what_the_config_says, .timeout = 100)
{
    struct jg_toolchain *toolchain = NULL;
    struct jg_compiler *compiler = NULL;
    cr_assert_eq(jg_toolchain_create(NULL, &toolchain), JIT_GEMM_OK);
    if (jg_toolchain_compiler(toolchain, NULL, NULL, &compiler) != JIT_GEMM_OK) {
        cr_skip_test("NVRTC is needed: %s", jg_error_text());
    }
    for (size_t i = 0; i < sizeof(unit_rows) / sizeof(unit_rows[0]);
         i += (size_t)test_stride(2)) {
        struct unit_request wanted = unit_rows[i].request;
        wanted.arch = "sm_100a";
        struct unit unit = unit_make(&wanted);
        const struct jg_compile_request request = {.arch = "sm_100a",
                                                   .text = unit.source.text.data,
                                                   .entry = unit.source.entry,
                                                   .epilogue = unit.epilogue};
        struct jg_compile_result result = {0};

        cr_assert_eq(compiler->compile(compiler, &request, &result), JIT_GEMM_OK, "%s: %s",
                     wanted.problem, jg_error_text());

        cr_expect_eq(result.spill_bytes, 0, "%s: %u bytes of local memory", wanted.problem,
                     result.spill_bytes);
        cr_expect_gt(result.registers, 0);
        cr_expect_leq(result.registers, MAX_UNIT_REGISTERS, "%s: %u registers",
                      wanted.problem, result.registers);
        expect_words(&unit_rows[i], jg_str_text(&result.ptx));
        jg_compile_result_free(&result);
        unit_free(&unit);
    }
    jg_toolchain_destroy(toolchain);
}
