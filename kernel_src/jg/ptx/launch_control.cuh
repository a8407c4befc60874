// SPDX-License-Identifier: MIT
// Cluster launch control: a running cluster takes the place of one that was not launched
// yet. sm_100a and newer.
#pragma once
#include <jg/ptx/address.cuh>

namespace jg::ptx {

// Bytes of a response; it lies on a multiple of them.
enum : u32 { kClcResponseBytes = 16 };

// Requests a cluster that was not launched yet. The response lands in this CTA's shared
// memory and counts there towards `barrier`. Do not call it again after a refusal.
JG_DEVICE void clc_request(void *response, u64 *barrier)
{
    // clang-format off
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
                 ".b128 [%0], [%1];"
                 :: "r"(shared_address(response)), "r"(shared_address(barrier)) : "memory");
    // clang-format on
}

// The same response to every CTA of the cluster: at the same offset, and at the barrier
// there.
JG_DEVICE void clc_request_multicast(void *response, u64 *barrier)
{
    // clang-format off
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes"
                 ".multicast::cluster::all.b128 [%0], [%1];"
                 :: "r"(shared_address(response)), "r"(shared_address(barrier)) : "memory");
    // clang-format on
}

// What a response says. A refusal says no more than that: clusters may still be waiting,
// which are launched as usual then.
struct ClcResponse {
    bool granted;
    u32 first_cta; // blockIdx.x of the cluster's first CTA; 0 without a grant
};

// One load of all 16 bytes: a part of them means nothing.
JG_DEVICE ClcResponse load_clc_response(const void *response)
{
    u32 granted, first_cta;
    // clang-format off
    asm volatile("{\n"
                 ".reg .pred granted;\n"
                 ".reg .b128 response;\n"
                 "ld.shared.b128 response, [%2];\n"
                 "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 granted, response;\n"
                 "selp.u32 %0, 1, 0, granted;\n"
                 "mov.u32 %1, 0;\n"
                 "@granted clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %1, response;\n"
                 "}\n" : "=r"(granted), "=r"(first_cta) : "r"(shared_address(response)) : "memory");
    // clang-format on
    return ClcResponse{granted != 0, first_cta};
}

// Between loads of a response and the next response at the same address, which another
// proxy writes. The first fence is for the thread that arrives for the readers, the second
// for the one that requests, after its wait for those arrivals.
JG_DEVICE void fence_proxy_release_shared()
{
    // clang-format off
    asm volatile("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"
                 ::: "memory");
    // clang-format on
}
JG_DEVICE void fence_proxy_acquire_shared()
{
    // clang-format off
    asm volatile("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
                 ::: "memory");
    // clang-format on
}

} // namespace jg::ptx
