// jit_gemm 0.1.0, source format 8, sm_100a
// pack bytes=1 from=mn_k4 to=128x4
#include <jg/pack/pack_kernel.cuh>

struct Config {
    enum : jg::u32 { kElementBytes = 1 };
    enum : jg::u32 { kScaleRows = 1 };
    enum : jg::u32 { kParamsBytes = 48 };
    static constexpr jg::ScaleLayout kFrom = jg::ScaleLayout::kMnK4;
    static constexpr jg::ScaleLayout kTo = jg::ScaleLayout::k128x4;
};

extern "C" __global__ void __launch_bounds__(256)
jit_gemm_pack_1_mn_k4_128x4(const __grid_constant__ jg::pack::PackParams params)
{
    jg::pack::pack_kernel<Config>(params);
}
