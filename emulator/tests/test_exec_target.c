/* SPDX-License-Identifier: MIT */
/*
 * Targets and versions of PTX. The table says what ptxas of CUDA 13.0 takes; where a ptxas
 * of that version or a later one is there, it is asked again.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static const struct {
    const char *version, *target;
    bool good;
    const char *body;
} cases[] = {
    {"9.0", "sm_90a", true, "wgmma.fence.sync.aligned;"},
    {"9.0", "sm_90", false, "wgmma.fence.sync.aligned;"},
    {"9.0", "sm_100a", false, "wgmma.fence.sync.aligned;"},
    {"8.0", "sm_90a", true, "wgmma.commit_group.sync.aligned;"},
    {"9.0", "sm_100", false, "wgmma.commit_group.sync.aligned;"},
    {"7.8", "sm_90", false, "wgmma.commit_group.sync.aligned;"},
    {"9.0", "sm_90a", true, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_90", false, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_100a", true, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_100f", true, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_100", false, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_120f", true, "setmaxnreg.inc.sync.aligned.u32 64;"},
    {"9.0", "sm_90a", false,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"9.0", "sm_100a", true,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"9.0", "sm_100", false,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"9.0", "sm_103f", true,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"9.0", "sm_120a", false,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"8.5", "sm_100a", false,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"8.6", "sm_100a", true,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"8.6", "sm_100f", false,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"8.8", "sm_100f", true,
     "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"},
    {"9.0", "sm_90", false, "tcgen05.fence::before_thread_sync;"},
    {"9.0", "sm_100a", true, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];"},
    {"9.0", "sm_100", false, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r2}, [%r1];"},
    {"9.0", "sm_100a", true,
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_100f", true,
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_100a", true,
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1, 3;"},
    {"9.0", "sm_100f", true,
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1, 3;"},
    {"9.0", "sm_110a", false,
     "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd1, %r1, %p1, 3;"},
    {"9.0", "sm_100a", true,
     "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_100f", false,
     "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_103a", false,
     "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_110a", true,
     "tcgen05.mma.cta_group::1.kind::i8 [%r1], %rd1, %rd1, %r1, %p1;"},
    {"9.0", "sm_100a", true,
     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"9.0", "sm_100f", false,
     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"9.0", "sm_100f", true,
     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"9.0", "sm_100f", true,
     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"8.7", "sm_100a", false,
     "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.block32 [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"9.0", "sm_100f", true,
     "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [%r1], %rd1, %rd1, %r1, [%r1], [%r1], %p1;"},
    {"9.0", "sm_100f", true, "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;"},
    {"9.0", "sm_100", false, "tcgen05.cp.cta_group::1.128x256b [%r1], %rd1;"},
    {"9.0", "sm_100", true, "griddepcontrol.wait;"},
    {"9.0", "sm_80", false, "griddepcontrol.wait;"},
    {"9.0", "sm_90", true, "elect.sync %r2|%p1, -1;"},
    {"9.0", "sm_80", false, "elect.sync %r2|%p1, -1;"},
    {"7.8", "sm_90", false, "elect.sync %r2|%p1, -1;"},
    {"9.0", "sm_90", true, "redux.sync.add.u32 %r2, %r1, -1;"},
    {"9.0", "sm_75", false, "redux.sync.add.u32 %r2, %r1, -1;"},
    {"6.5", "sm_80", false, "redux.sync.add.u32 %r2, %r1, -1;"},
    {"9.0", "sm_100a", true, "redux.sync.min.f32 %f1, %f2, -1;"},
    {"9.0", "sm_100f", true, "redux.sync.min.f32 %f1, %f2, -1;"},
    {"9.0", "sm_90a", false, "redux.sync.min.f32 %f1, %f2, -1;"},
    {"9.0", "sm_100", false, "redux.sync.min.f32 %f1, %f2, -1;"},
    {"9.0", "sm_100", true,
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [smem], [smem+16];"},
    {"9.0", "sm_90a", false,
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [smem], [smem+16];"},
    {"9.0", "sm_100f", true,
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [smem], [smem+16];"},
    {"9.0", "sm_100", false,
     "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [smem], [smem+16];"},
    {"9.0", "sm_100", true,
     "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;"},
    {"9.0", "sm_90a", false,
     "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1;"},
    {"8.5", "sm_90", true, "mov.b128 %q1, {%rd1, %rd2};"},
    {"8.2", "sm_90", false, "mov.b128 %q1, {%rd1, %rd2};"},
    {"8.0", "sm_90", true, "fence.proxy.async;"},
    {"7.8", "sm_90", false, "fence.proxy.async;"},
    {"8.0", "sm_80", false, "fence.proxy.async;"},
    {"8.3", "sm_90", true, "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"},
    {"8.2", "sm_90", false, "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"},
    {"8.3", "sm_80", false, "fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;"},
    {"8.0", "sm_90", true, "fence.mbarrier_init.release.cluster;"},
    {"7.8", "sm_90", false, "fence.mbarrier_init.release.cluster;"},
    {"8.0", "sm_80", false, "fence.mbarrier_init.release.cluster;"},
    {"7.8", "sm_90", true, "fence.acq_rel.cluster;"},
    {"7.8", "sm_80", false, "fence.acq_rel.cluster;"},
    {"8.0", "sm_90", true,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16, [smem+16];"},
    {"7.8", "sm_90", false,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16, [smem+16];"},
    {"8.0", "sm_80", false,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16, [smem+16];"},
    {"8.6", "sm_90", true,
     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16, [smem+16];"},
    {"8.5", "sm_90", false,
     "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [smem], [%rd1], 16, [smem+16];"},
    {"9.0", "sm_90", true,
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [smem], [%rd1], 16, [smem+16], %h1;"},
    {"8.0", "sm_90", true, "cp.async.bulk.commit_group;"},
    {"8.0", "sm_80", false, "cp.async.bulk.commit_group;"},
    {"8.0", "sm_90", true, "cp.async.bulk.wait_group 0;"},
    {"7.8", "sm_90", false, "cp.async.bulk.wait_group 0;"},
    {"8.0", "sm_90", true, "cp.async.bulk.prefetch.L2.global [%rd1], 16;"},
    {"8.0", "sm_80", false, "cp.async.bulk.prefetch.L2.global [%rd1], 16;"},
    {"8.0", "sm_90", true,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"8.0", "sm_80", false,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"7.8", "sm_90", false,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100a", true,
     "cp.async.bulk.tensor.2d.cta_group::1.shared::cluster.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100a", true,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100", false,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_90a", false,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::1 [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100f", true,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100", false,
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100", true,
     "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem+16];"},
    {"9.0", "sm_90a", false,
     "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem+16];"},
    {"8.6", "sm_90a", true,
     "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"8.5", "sm_90a", false,
     "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [smem], [%rd1, {%r1,%r1}], [smem+16];"},
    {"9.0", "sm_100f", true,
     "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem];"},
    {"9.0", "sm_100", false,
     "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd1, {%r1,%r1,%r1,%r1,%r1}], [smem];"},
    {"8.0", "sm_90", true,
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [smem], 16;"},
    {"8.0", "sm_80", false,
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd1], [smem], 16;"},
    {"8.0", "sm_90", true, "prefetch.tensormap [%rd1];"},
    {"7.8", "sm_90", false, "prefetch.tensormap [%rd1];"},
    {"8.0", "sm_80", false, "prefetch.tensormap [%rd1];"},
    {"8.3", "sm_90a", true,
     "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"9.0", "sm_100f", true,
     "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"8.3", "sm_90", false,
     "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"9.0", "sm_100", false,
     "tensormap.replace.tile.global_address.global.b1024.b64 [%rd1], %rd1;"},
    {"9.0", "sm_100a", true,
     "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 0;"},
    {"9.0", "sm_90a", false,
     "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd1], 0;"},
    {"8.3", "sm_90", true,
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [smem], 128;"},
    {"8.2", "sm_90", false,
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [smem], 128;"},
    {"8.3", "sm_80", false,
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [smem], 128;"},
    {"8.1", "sm_90", true,
     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [smem], %r1, [smem+16];"},
    {"8.0", "sm_90", false,
     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [smem], %r1, [smem+16];"},
    {"8.1", "sm_80", false,
     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [smem], %r1, [smem+16];"},
    {"7.0", "sm_80", true, "mbarrier.init.shared.b64 [smem], 1;"},
    {"7.0", "sm_75", false, "mbarrier.init.shared.b64 [smem], 1;"},
    {"6.5", "sm_75", false, "mbarrier.init.shared.b64 [smem], 1;"},
    {"7.8", "sm_80", true, "mbarrier.init.shared::cta.b64 [smem], 1;"},
    {"7.7", "sm_80", false, "mbarrier.init.shared::cta.b64 [smem], 1;"},
    {"7.8", "sm_90", true, "mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0;"},
    {"7.8", "sm_80", false, "mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0;"},
    {"7.7", "sm_80", false, "mbarrier.try_wait.parity.shared.b64 %p1, [smem], 0;"},
    {"7.1", "sm_80", true, "mbarrier.test_wait.parity.shared.b64 %p1, [smem], 0;"},
    {"7.0", "sm_80", false, "mbarrier.test_wait.parity.shared.b64 %p1, [smem], 0;"},
    {"8.0", "sm_90", true, "mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], 16;"},
    {"7.8", "sm_90", false, "mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], 16;"},
    {"8.0", "sm_80", false, "mbarrier.expect_tx.relaxed.cta.shared.b64 [smem], 16;"},
    {"8.0", "sm_90", true, "mbarrier.arrive.expect_tx.shared.b64 %rd2, [smem], 16;"},
    {"8.0", "sm_80", false, "mbarrier.arrive.expect_tx.shared.b64 %rd2, [smem], 16;"},
    {"7.8", "sm_90", false, "mbarrier.arrive.expect_tx.shared.b64 %rd2, [smem], 16;"},
    {"7.8", "sm_90", true, "mbarrier.arrive.shared.b64 %rd2, [smem], 2;"},
    {"7.8", "sm_80", false, "mbarrier.arrive.shared.b64 %rd2, [smem], 2;"},
    {"7.7", "sm_80", false, "mbarrier.arrive.shared.b64 %rd2, [smem], 2;"},
    {"8.0", "sm_90", true,
     "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [smem];"},
    {"8.0", "sm_80", true, "mbarrier.arrive.release.cta.shared::cta.b64 %rd2, [smem];"},
    {"7.8", "sm_80", false, "mbarrier.arrive.release.cta.shared::cta.b64 %rd2, [smem];"},
    {"8.6", "sm_90", true,
     "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [smem], 0;"},
    {"8.5", "sm_90", false,
     "mbarrier.try_wait.parity.relaxed.cta.shared.b64 %p1, [smem], 0;"},
    {"8.0", "sm_90", true,
     "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [smem], 0;"},
    {"7.8", "sm_90", false,
     "mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p1, [smem], 0;"},
    {"8.0", "sm_80", false,
     "mbarrier.test_wait.parity.acquire.cluster.shared.b64 %p1, [smem], 0;"},
    {"7.0", "sm_80", true, "cp.async.ca.shared.global [smem], [%rd1], 16;"},
    {"7.0", "sm_75", false, "cp.async.ca.shared.global [smem], [%rd1], 16;"},
    {"7.8", "sm_90", true, "barrier.cluster.arrive;"},
    {"7.8", "sm_80", false, "barrier.cluster.arrive;"},
    {"7.7", "sm_80", false, "barrier.cluster.arrive;"},
    {"8.0", "sm_90", true, "barrier.cluster.arrive.release;"},
    {"7.8", "sm_90", false, "barrier.cluster.arrive.release;"},
    {"7.8", "sm_90", true, "mapa.shared::cluster.u32 %r2, smem, 0;"},
    {"7.8", "sm_90", true, "getctarank.u64 %r2, %rd1;"},
    {"7.8", "sm_80", false, "getctarank.u64 %r2, %rd1;"},
    {"7.8", "sm_90", true, "mov.u32 %r2, %cluster_ctarank;"},
    {"7.8", "sm_80", false, "mov.u32 %r2, %cluster_ctarank;"},
    {"7.7", "sm_80", false, "mov.u32 %r2, %cluster_ctarank;"},
    {"8.1", "sm_90", true, "mov.u32 %r2, %aggr_smem_size;"},
    {"8.1", "sm_80", false, "mov.u32 %r2, %aggr_smem_size;"},
    {"7.8", "sm_90", false, "mov.u32 %r2, %aggr_smem_size;"},
    {"7.8", "sm_90", true, "ld.shared::cluster.u32 %r2, [smem];"},
    {"7.8", "sm_80", false, "ld.shared::cluster.u32 %r2, [smem];"},
    {"7.8", "sm_75", true, "ld.shared::cta.u32 %r2, [smem];"},
    {"7.7", "sm_80", false, "ld.shared::cta.u32 %r2, [smem];"},
    {"8.8", "sm_100", true, "ld.global.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd1];"},
    {"8.7", "sm_100", false, "ld.global.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd1];"},
    {"8.8", "sm_90", false, "ld.global.v8.b32 {%r2,%r3,%r4,%r5,%r6,%r7,%r8,%r9}, [%rd1];"},
    {"8.8", "sm_100", true, "ld.global.v4.b64 {%rd2,%rd3,%rd4,%rd5}, [%rd1];"},
    {"8.8", "sm_90", false, "ld.global.v4.b64 {%rd2,%rd3,%rd4,%rd5}, [%rd1];"},
    {"7.4", "sm_80", true, "ld.global.L2::256B.u32 %r2, [%rd1];"},
    {"7.4", "sm_75", false, "ld.global.L2::256B.u32 %r2, [%rd1];"},
    {"7.4", "sm_80", true, "ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd2;"},
    {"7.4", "sm_75", false, "ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd2;"},
    {"7.3", "sm_80", false, "ld.global.L2::cache_hint.u32 %r2, [%rd1], %rd2;"},
    {"7.4", "sm_80", true, "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;"},
    {"7.4", "sm_75", false, "createpolicy.fractional.L2::evict_first.b64 %rd2, 1.0;"},
    {"7.8", "sm_90", true, "ld.relaxed.cluster.global.u32 %r2, [%rd1];"},
    {"7.8", "sm_80", false, "ld.relaxed.cluster.global.u32 %r2, [%rd1];"},
    {"7.8", "sm_80", false, "atom.cluster.global.add.u32 %r2, [%rd1], %r1;"},
    {"8.1", "sm_90", true, "red.global.add.v2.f32 [%rd1], {%f1,%f2};"},
    {"8.1", "sm_80", false, "red.global.add.v2.f32 [%rd1], {%f1,%f2};"},
    {"8.0", "sm_90", false, "red.global.add.v2.f32 [%rd1], {%f1,%f2};"},
    {"8.1", "sm_90", true,
     "atom.global.v4.f32.add {%f1,%f2,%f3,%f4}, [%rd1], {%f1,%f2,%f3,%f4};"},
    {"7.8", "sm_90", true, "atom.global.add.noftz.bf16x2 %r2, [%rd1], %r1;"},
    {"7.8", "sm_80", false, "atom.global.add.noftz.bf16x2 %r2, [%rd1], %r1;"},
    {"7.7", "sm_80", false, "atom.global.add.noftz.bf16x2 %r2, [%rd1], %r1;"},
    {"7.0", "sm_80", true, "cvt.rn.bf16x2.f32 %r2, %f1, %f2;"},
    {"7.0", "sm_75", false, "cvt.rn.bf16x2.f32 %r2, %f1, %f2;"},
    {"6.5", "sm_75", false, "cvt.rn.f16x2.f32 %r2, %f1, %f2;"},
    {"7.0", "sm_80", true, "cvt.rn.bf16.f32 %h1, %f1;"},
    {"7.0", "sm_75", false, "cvt.rn.bf16.f32 %h1, %f1;"},
    {"7.1", "sm_80", true, "cvt.f32.bf16 %f1, %h1;"},
    {"7.0", "sm_80", false, "cvt.f32.bf16 %f1, %h1;"},
    {"7.1", "sm_75", false, "cvt.f32.bf16 %f1, %h1;"},
    {"7.8", "sm_90", true, "cvt.rn.bf16.s32 %h1, %r1;"},
    {"7.8", "sm_80", false, "cvt.rn.bf16.s32 %h1, %r1;"},
    {"7.7", "sm_80", false, "cvt.rn.bf16.s32 %h1, %r1;"},
    {"7.8", "sm_80", false, "cvt.rn.bf16.f16 %h1, %h2;"},
    {"7.8", "sm_90", true, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"},
    {"7.7", "sm_90", false, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"},
    {"8.1", "sm_89", true, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"},
    {"7.8", "sm_89", false, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"},
    {"8.1", "sm_80", false, "cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;"},
    {"8.1", "sm_89", true, "cvt.rn.f16x2.e4m3x2 %r1, %h1;"},
    {"8.1", "sm_80", false, "cvt.rn.f16x2.e4m3x2 %r1, %h1;"},
    {"9.0", "sm_100a", true, "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %f1, %f2;}"},
    {"9.0", "sm_100f", true, "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %f1, %f2;}"},
    {"9.0", "sm_90a", false, "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %f1, %f2;}"},
    {"9.0", "sm_100", false, "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f32 b, %f1, %f2;}"},
    {"8.6", "sm_100a", true, "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;"},
    {"8.6", "sm_100", false, "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;"},
    {"8.5", "sm_90", false, "cvt.rn.satfinite.e2m3x2.f32 %h1, %f1, %f2;"},
    {"9.0", "sm_100a", true, "cvt.rp.ue8m0x2.f32 %h1, %f1, %f2;"},
    {"9.0", "sm_100", false, "cvt.rp.ue8m0x2.f32 %h1, %f1, %f2;"},
    {"9.0", "sm_100a", true, "cvt.rn.bf16x2.ue8m0x2 %r1, %h1;"},
    {"9.0", "sm_100", false, "cvt.rn.bf16x2.ue8m0x2 %r1, %h1;"},
    {"9.0", "sm_100a", true, "{.reg .b8 b; cvt.rn.satfinite.e2m1x2.f16x2 b, %r1;}"},
    {"8.7", "sm_100a", true, "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;"},
    {"8.7", "sm_100", false, "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;"},
    {"9.0", "sm_100f", false, "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;"},
    {"9.0", "sm_103a", true, "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;"},
    {"8.6", "sm_100a", false, "cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;"},
    {"8.7", "sm_100a", true, "cvt.rs.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;"},
    {"8.7", "sm_100a", true, "cvt.rs.satfinite.e2m1x4.f32 %h1, {%f1, %f2, %f3, %f4}, %r2;"},
    {"8.7", "sm_100a", true,
     "cvt.rs.relu.satfinite.e4m3x4.f32 %r1, {%f1, %f2, %f3, %f4}, %r2;"},
    {"8.7", "sm_100a", true, "cvt.rs.bf16x2.relu.f32 %r1, %f1, %f2, %r2;"},
    {"8.7", "sm_100a", true, "cvt.rs.relu.satfinite.bf16x2.f32 %r1, %f1, %f2, %r2;"},
    {"8.6", "sm_100", true, "add.f32.f16 %f1, %h1, %f2;"},
    {"8.6", "sm_90", false, "add.f32.f16 %f1, %h1, %f2;"},
    {"8.5", "sm_90", false, "add.f32.f16 %f1, %h1, %f2;"},
    {"8.6", "sm_100", true, "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;"},
    {"8.6", "sm_90", false, "fma.rn.f32.bf16 %f1, %h1, %h2, %f2;"},
    {"8.3", "sm_90", true, "atom.global.cas.b128 %q1, [%rd1], %q2, %q3;"},
    {"8.3", "sm_80", false, "atom.global.cas.b128 %q1, [%rd1], %q2, %q3;"},
    {"8.6", "sm_100a", true,
     "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [smem];"},
    {"8.6", "sm_100", false,
     "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [smem];"},
    {"9.0", "sm_100f", true,
     "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1,%r2}, [smem];"},
    {"9.0", "sm_100a", true,
     "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r1}, [smem];"},
    {"9.0", "sm_100a", true,
     "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [smem], {%r1};"},
    {"9.0", "sm_100", false,
     "stmatrix.sync.aligned.m16n8.x1.trans.shared.b8 [smem], {%r1};"},
    {"7.0", "sm_80", true, "mbarrier.arrive.noComplete.shared.b64 %rd2, [smem], 1;"},
    {"7.0", "sm_80", true, "cvt.rna.tf32.f32 %r1, %f1;"},
    {"7.0", "sm_75", false, "cvt.rna.tf32.f32 %r1, %f1;"},
    {"7.8", "sm_90", true, "cvt.rn.tf32.f32 %r1, %f1;"},
    {"7.8", "sm_80", false, "cvt.rn.tf32.f32 %r1, %f1;"},
    {"8.1", "sm_80", true, "cvt.rna.satfinite.tf32.f32 %r1, %f1;"},
    {"8.6", "sm_100", true, "cvt.rn.satfinite.tf32.f32 %r1, %f1;"},
    {"8.6", "sm_90", false, "cvt.rn.satfinite.tf32.f32 %r1, %f1;"},
    {"7.0", "sm_80", true, "cvt.rn.relu.f16.f32 %h1, %f1;"},
    {"7.0", "sm_75", false, "cvt.rn.relu.f16.f32 %h1, %f1;"},
    {"8.1", "sm_80", true, "cvt.rn.satfinite.f16.f32 %h1, %f1;"},
    {"7.8", "sm_80", false, "cvt.rn.satfinite.f16.f32 %h1, %f1;"},
    {"8.6", "sm_100", true, "add.rn.f32x2 %rd1, %rd2, %rd3;"},
    {"8.5", "sm_90", false, "add.rn.f32x2 %rd1, %rd2, %rd3;"},
    {"8.6", "sm_100", true, "fma.rn.f32x2 %rd1, %rd2, %rd3, %rd1;"},
    {"8.6", "sm_90", false, "fma.rn.f32x2 %rd1, %rd2, %rd3, %rd1;"},
    {"8.8", "sm_100", true, "min.f32 %f1, %f2, %f3, %f4;"},
    {"8.7", "sm_100", false, "min.f32 %f1, %f2, %f3, %f4;"},
    {"8.8", "sm_90", false, "min.f32 %f1, %f2, %f3, %f4;"},
    {"7.8", "sm_90", true, "add.bf16x2 %r1, %r2, %r3;"},
    {"7.8", "sm_80", false, "add.bf16x2 %r1, %r2, %r3;"},
    {"7.7", "sm_80", false, "add.bf16x2 %r1, %r2, %r3;"},
    {"7.0", "sm_80", true, "max.bf16x2 %r1, %r2, %r3;"},
    {"7.0", "sm_75", false, "max.bf16x2 %r1, %r2, %r3;"},
    {"7.0", "sm_80", true, "max.NaN.f32 %f1, %f2, %f3;"},
    {"7.0", "sm_75", false, "max.NaN.f32 %f1, %f2, %f3;"},
    {"7.2", "sm_86", true, "max.xorsign.abs.f32 %f1, %f2, %f3;"},
    {"7.2", "sm_80", false, "max.xorsign.abs.f32 %f1, %f2, %f3;"},
    {"7.8", "sm_90", true, "ex2.approx.ftz.bf16x2 %r1, %r2;"},
    {"7.8", "sm_80", false, "ex2.approx.ftz.bf16x2 %r1, %r2;"},
    {"7.0", "sm_75", true, "tanh.approx.f32 %f1, %f2;"},
    {"6.5", "sm_75", false, "tanh.approx.f32 %f1, %f2;"},
    {"8.0", "sm_90", true, "add.u16x2 %r1, %r2, %r3;"},
    {"8.0", "sm_80", false, "add.u16x2 %r1, %r2, %r3;"},
    {"7.8", "sm_90", false, "add.u16x2 %r1, %r2, %r3;"},
    {"8.0", "sm_90", true, "max.relu.s32 %r1, %r2, %r3;"},
    {"8.0", "sm_80", false, "max.relu.s32 %r1, %r2, %r3;"},
    {"6.5", "sm_75", true, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [smem];"},
    {"6.4", "sm_75", false, "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [smem];"},
    {"7.8", "sm_90", true, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [smem], {%r1};"},
    {"7.8", "sm_80", false, "stmatrix.sync.aligned.m8n8.x1.shared.b16 [smem], {%r1};"},
    {"7.0", "sm_80", true,
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"},
    {"7.0", "sm_75", false,
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"},
    {"8.4", "sm_89", true,
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"},
    {"8.4", "sm_80", false,
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"},
    {"8.3", "sm_89", false,
     "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};"},
    {"7.0", "sm_80", true,
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4};"},
    {"7.0", "sm_75", false,
     "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%r1,%r2,%r3,%r4};"},
    {"6.5", "sm_75", true,
     "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r1}, {%f1,%f2,%f3,%f4};"},
    {"9.0", "sm_1", false, "ret;"},
    {"9.0", "sm_50", true, "ret;"},
    {"9.0", "sm_52", true, "ret;"},
    {"9.0", "sm_70", true, "ret;"},
    {"9.0", "sm_76", false, "ret;"},
    {"6.2", "sm_75", false, "ret;"},
    {"6.3", "sm_75", true, "ret;"},
    {"6.5", "sm_80", false, "ret;"},
    {"7.0", "sm_80", true, "ret;"},
    {"7.0", "sm_86", false, "ret;"},
    {"7.8", "sm_90", true, "ret;"},
    {"7.7", "sm_90", false, "ret;"},
    {"7.8", "sm_90a", false, "ret;"},
    {"8.0", "sm_90a", true, "ret;"},
    {"8.5", "sm_100", false, "ret;"},
    {"8.6", "sm_100", true, "ret;"},
    {"8.7", "sm_100f", false, "ret;"},
    {"8.7", "sm_103a", false, "ret;"},
    {"8.7", "sm_120", true, "ret;"},
    {"8.6", "sm_120", false, "ret;"},
    {"9.0", "sm_110", true, "ret;"},
    {"8.8", "sm_110", false, "ret;"},
    {"9.0", "sm_99", false, "ret;"},
    {"8.9", "sm_90", false, "ret;"},
    {"9.0", "sm_95a", false, "ret;"},
    {"9.0", "sm_80a", false, "ret;"},
    {"9.0", "sm_90f", false, "ret;"},
};

/* A kernel with the case's head and body, and whatever the bodies use. */
static void write_kernel(struct emu_text *text, const char *version, const char *target,
                         const char *body)
{
    emu_text_add(text,
                 ".version %s\n.target %s\n.address_size 64\n"
                 ".visible .entry k(.param .u64 k_param_0)\n{\n"
                 ".reg .pred %%p<8>;\n.reg .b16 %%h<8>;\n.reg .b32 %%r<40>;\n"
                 ".reg .b64 %%rd<16>;\n.reg .f32 %%f<8>;\n%s"
                 ".shared .align 16 .b8 smem[1024];\n"
                 "ld.param.u64 %%rd1, [k_param_0];\nmov.u32 %%r1, 1;\n%s\nret;\n}\n",
                 version, target, strstr(body, "%q") == NULL ? "" : ".reg .b128 %q<4>;\n",
                 body);
}

/* Whether it is refused for its target or version, and not for something else. */
static bool is_refused_for_target(const char *error)
{
    static const char *const reasons[] = {"; the module is for ", "there is no PTX",
                                          "has no target", "expected a target"};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (strstr(error, reasons[i]) != NULL) {
            return true;
        }
    }
    return false;
}

Test(exec_target, what_ptxas_refuses_for_its_target_is_refused)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        write_kernel(&text, cases[i].version, cases[i].target, cases[i].body);
        harness_open(&h);

        const bool good = harness_try_load(&h, emu_text_get(&text));

        cr_expect_eq(good, cases[i].good, "PTX %s, %s, %s: %s", cases[i].version,
                     cases[i].target, cases[i].body,
                     good ? "it is accepted" : h.error.text);
        cr_expect(good || is_refused_for_target(h.error.text), "PTX %s, %s, %s: %s",
                  cases[i].version, cases[i].target, cases[i].body, h.error.text);
        harness_close(&h);
        emu_text_free(&text);
    }
}

Test(exec_target, text_of_a_newer_ptx_is_read_and_what_came_with_it_is_refused_by_name)
{
    static const struct {
        const char *version, *target, *body, *words; /* NULL: it is read */
    } rows[] = {
        {"9.3", "sm_100a", "elect.sync %r1|%p1, -1;", NULL},
        {"9.5", "sm_90a", "setmaxnreg.inc.sync.aligned.u32 240;", NULL},
        {"10.1", "sm_90", "ret;", NULL},
        {"99.9", "sm_100a", "ret;", NULL},
        {"9.5", "sm_90", "novelty.sync.b32 %r1, %r2;",
         "novelty.sync.b32: this opcode is not supported"},
        {"9.5", "sm_90", "add.novel.u32 %r1, %r1, %r1;",
         "add.novel.u32: qualifier .novel is not supported here"},
        {"9.5", "sm_90", "mov.b24 %r1, %r1;", "mov.b24: "},
        {"9.5", "sm_90", ".novelty 1;", "directive '.novelty' is not supported"},
        {"9.5", "sm_101a", "ret;", "PTX 9.5 has no target sm_101a"},
        {"9.5", "sm_90", "setmaxnreg.inc.sync.aligned.u32 240;",
         "; the module is for sm_90 with PTX 9.5"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct harness h;
        struct emu_text text = {0};
        write_kernel(&text, rows[i].version, rows[i].target, rows[i].body);
        harness_open(&h);

        const bool good = harness_try_load(&h, emu_text_get(&text));

        cr_expect_eq(good, rows[i].words == NULL, "PTX %s, %s: %s", rows[i].version,
                     rows[i].body, good ? "it is accepted" : h.error.text);
        cr_expect(good || strstr(h.error.text, rows[i].words) != NULL, "PTX %s, %s: %s",
                  rows[i].version, rows[i].body, h.error.text);
        harness_close(&h);
        emu_text_free(&text);
    }
}

#ifdef EMU_PTXAS_PATH
/* The machine code to make from a text for that target: of a suffixed one its own, of
 * another that of the device that runs it. */
static const char *get_device(const char *target)
{
    const bool is_fixed = strchr("af", target[strlen(target) - 1]) != NULL;
    return is_fixed                            ? target
           : strncmp(target, "sm_1", 4) != 0   ? "sm_90a"
           : strncmp(target, "sm_100", 6) == 0 ? "sm_100a"
                                               : target;
}

static bool ask_ptxas(const char *file, const char *version, const char *target,
                      const char *body)
{
    struct emu_text text = {0};
    write_kernel(&text, version, target, body);
    FILE *stream = fopen(file, "w");
    cr_assert_not_null(stream);
    fputs(emu_text_get(&text), stream);
    fclose(stream);
    emu_text_free(&text);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (freopen("/dev/null", "w", stderr) != NULL) {
            execl(EMU_PTXAS_PATH, "ptxas", "-arch", get_device(target), file, "-o",
                  "/dev/null", (char *)NULL);
        }
        _exit(127);
    }
    int status = -1;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return status == 0;
}

Test(exec_target, ptxas_takes_and_refuses_the_same)
{
    char file[] = "/tmp/emu_target_XXXXXX";
    const int made = mkstemp(file);
    cr_assert_geq(made, 0);
    close(made);
    const bool is_recent = ask_ptxas(file, "9.0", "sm_100a", "");

    for (size_t i = 0; is_recent && i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool good = ask_ptxas(file, cases[i].version, cases[i].target, cases[i].body);
        cr_expect_eq(good, cases[i].good, "PTX %s, %s, %s: ptxas says %d", cases[i].version,
                     cases[i].target, cases[i].body, good);
    }

    unlink(file);
    if (!is_recent) {
        cr_skip_test("ptxas is older than CUDA 13.0");
    }
}
#endif
