// jit_gemm 0.1.0, source format 8, sm_100a
// config: kernel=gemm mma=128x64 cta_group=1 cluster=1x1 scheduler=single k_group=1 stages=2 acc_stages=1 raster=n raster_group=2 out_stages=2 pdl=1 split_k=1
#define JG_OPERANDS(JG_ROW) \
    JG_ROW(0, r, MatrixInput, f32)
#define JG_RESULT_BITS 8
#define JG_TILE_COLUMNS 64
#include <jg/epilogue/prelude.cuh>
#include <jg/epilogue/vector_epilogue.cuh>
#include <jg/sm100a/gemm_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    static constexpr jg::u32 kM = 333;
    static constexpr jg::u32 kN = 345;
    static constexpr jg::u32 kK = 64;
    static constexpr jg::u32 kBatch = 1;
    static constexpr jg::u32 kGroups = 0;
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    static constexpr jg::u32 kBlockM = 128;
    static constexpr jg::u32 kBlockN = 64;
    static constexpr jg::u32 kBlockK = 128;
    static constexpr jg::u32 kCtaGroup = 1;
    static constexpr bool kPingpong = false;
    static constexpr jg::u32 kClusterM = 1;
    static constexpr jg::u32 kClusterN = 1;
    static constexpr jg::u32 kStages = 2;
    static constexpr jg::u32 kKGroup = 1;
    static constexpr jg::u32 kAccStages = 1;
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kVectors;
    static constexpr jg::u32 kEpilogueLoadsPerStep = 0;
    static constexpr jg::u32 kEpilogueLoadStages = 0;
    static constexpr bool kWholeRows = false;
    static constexpr bool kWholeCols = false;
    static constexpr bool kWholeVectors = false;
    static constexpr bool kDividesOutput = false;
    static constexpr jg::u32 kStoreTileRows = 32;
    static constexpr jg::u32 kStoreTileSwizzleBytes = 128;
    static constexpr jg::u32 kOutStages = 2;
    static constexpr bool kPromotesSums = false;
    static constexpr jg::u32 kASwizzleBytes = 128;
    static constexpr jg::u32 kASwizzleAtom = 16;
    static constexpr jg::u32 kBSwizzleBytes = 128;
    static constexpr jg::u32 kBSwizzleAtom = 16;
    static constexpr jg::u32 kBLoadedRows = 64;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kSingle;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    static constexpr jg::u32 kRasterGroup = 2;
    static constexpr jg::u32 kSplitK = 1;
    static constexpr jg::u32 kScaleSlots = 0;
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    static constexpr jg::u32 kLeadStages = 0;
    static constexpr jg::u32 kThreads = 192;
    static constexpr jg::u32 kSmemBytes = 118784;
    static constexpr jg::u32 kParamsBytes = 1408;
    static constexpr jg::u32 kOperandCount = 1;
    static constexpr jg::u32 kTailMaps = 0;
    static constexpr bool kAKMajor = true;
    static constexpr bool kBKMajor = true;
    static constexpr bool kTransposed = false;
    static constexpr bool kGated = false;
    static constexpr bool kGateInA = false;
    static constexpr bool kGateHalves = false;
    static constexpr jg::u32 kGateColumns = 0;
    static constexpr bool kHasC = false;
    static constexpr bool kColumnMajor = false;
    static constexpr bool kIndexedA = false;
    static constexpr bool kIndexedB = false;
    static constexpr jg::u32 kCopiedRows = 0;
    static constexpr bool kIndexedD = false;
    static constexpr bool kPlain = false;
    static constexpr bool kLongSnippet = false;
    static constexpr bool kRasterAlongM = false;
    static constexpr bool kPdl = true;
    static constexpr bool kThreadLoads = false;
    static constexpr jg::u32 kOutputAlignment = 2;
    using A = jg::e4m3;
    using B = jg::e4m3;
    using C = jg::bf16;
    using D = jg::bf16;
    using AScale = jg::NoScale;
    using BScale = jg::NoScale;
    using BGateScale = jg::NoScale;
    using ABlockScale = jg::NoBlockScale;
    using BBlockScale = jg::NoBlockScale;
    using DScale = jg::NoOutputScale;
};

#line 1 "jit_gemm_epilogue"
JG_EPILOGUE_BEGIN
#line 1 "test"
d = acc + r;
#line 4 "jit_gemm_epilogue"
JG_EPILOGUE_END

#line 1 "jit_gemm_entry"
extern "C" __global__ void __launch_bounds__(192, 1)
jit_gemm_sm100a_e4m3_bf16_128x64_test_4c48a6fe(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps> params)
{
    jg::sm100a::gemm_kernel<Config, Epilogue>(params);
}
