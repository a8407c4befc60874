// SPDX-License-Identifier: MIT
// Host meaning of the wrappers of this name: a request is written down; the test says what
// is answered.
#pragma once
#include "tests/device/host/instructions.h"

#define clc_request                clc_request_by_ptx
#define clc_request_multicast      clc_request_multicast_by_ptx
#define load_clc_response          load_clc_response_by_ptx
#define fence_proxy_release_shared fence_proxy_release_shared_by_ptx
#define fence_proxy_acquire_shared fence_proxy_acquire_shared_by_ptx
#include "kernel_src/jg/ptx/launch_control.cuh"
#undef clc_request
#undef clc_request_multicast
#undef load_clc_response
#undef fence_proxy_release_shared
#undef fence_proxy_acquire_shared

namespace jg::ptx {

inline void clc_request(void *response, u64 *barrier)
{
    host::clc_requests.push_back({response, barrier, false});
}
inline void clc_request_multicast(void *response, u64 *barrier)
{
    host::clc_requests.push_back({response, barrier, true});
}
// Those who read get the answers one after the other.
inline ClcResponse load_clc_response(const void *response)
{
    const size_t number = host::clc_reads.size();
    host::clc_reads.push_back(response);
    if (number >= host::clc_grants.size()) {
        return ClcResponse{false, 0};
    }
    return ClcResponse{true, host::clc_grants[number]};
}
inline void fence_proxy_release_shared() {}
inline void fence_proxy_acquire_shared() {}

} // namespace jg::ptx
