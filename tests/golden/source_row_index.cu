// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=gemm tile=128x256x64 cluster=2x1 stages=3 raster=m raster_group=1 out_stages=2 pdl=1 split_k=1
#define JG_OPERANDS(JG_ROW)
#define JG_TILE_COLUMNS 256
#include <jg/epilogue/indexed_rows.cuh>
#include <jg/epilogue/vector_epilogue.cuh>
#include <jg/schedule/grouped_tile_order.cuh>
#include <jg/sm90a/gemm_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    static constexpr jg::u32 kM = 0;
    static constexpr jg::u32 kN = 4096;
    static constexpr jg::u32 kK = 512;
    static constexpr jg::u32 kBatch = 8;
    static constexpr jg::u32 kGroups = 8;
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kOffsets;
    static constexpr bool kClearRest = false;
    static constexpr bool kTurnsLast = true;
    static constexpr jg::u32 kTurnedSlices = 2;
    static constexpr bool kLeavesSlices = true;
    static constexpr bool kHalvesLast = true;
    static constexpr bool kPadsScales = false;
    static constexpr jg::u32 kBlockM = 128;
    static constexpr jg::u32 kBlockN = 256;
    static constexpr jg::u32 kBlockK = 64;
    static constexpr jg::u32 kCtaGroup = 1;
    static constexpr bool kPingpong = false;
    static constexpr jg::u32 kClusterM = 2;
    static constexpr jg::u32 kClusterN = 1;
    static constexpr jg::u32 kStages = 3;
    static constexpr jg::u32 kKGroup = 1;
    static constexpr jg::u32 kAccStages = 1;
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kVectors;
    static constexpr jg::u32 kEpilogueLoadsPerStep = 0;
    static constexpr jg::u32 kEpilogueLoadStages = 0;
    static constexpr bool kWholeRows = false;
    static constexpr bool kWholeCols = true;
    static constexpr bool kWholeVectors = true;
    static constexpr bool kDividesOutput = false;
    static constexpr jg::u32 kStoreTileRows = 64;
    static constexpr jg::u32 kStoreTileSwizzleBytes = 128;
    static constexpr jg::u32 kOutStages = 2;
    static constexpr bool kPromotesSums = false;
    static constexpr jg::u32 kOutBytes = 8192;
    static constexpr jg::u32 kASwizzleBytes = 128;
    static constexpr jg::u32 kASwizzleAtom = 16;
    static constexpr jg::u32 kBSwizzleBytes = 128;
    static constexpr jg::u32 kBSwizzleAtom = 16;
    static constexpr jg::u32 kBLoadedRows = 256;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    static constexpr jg::u32 kRasterGroup = 1;
    static constexpr jg::u32 kSplitK = 1;
    static constexpr jg::u32 kScaleSlots = 0;
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    static constexpr jg::u32 kLeadStages = 2;
    static constexpr jg::u32 kThreads = 384;
    static constexpr jg::u32 kSmemBytes = 181248;
    static constexpr jg::u32 kParamsBytes = 1280;
    static constexpr jg::u32 kOperandCount = 0;
    static constexpr jg::u32 kTailMaps = 0;
    static constexpr jg::u32 kHostGroups = 8;
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
    static constexpr bool kIndexedD = true;
    static constexpr bool kPlain = true;
    static constexpr bool kLongSnippet = false;
    static constexpr bool kRasterAlongM = true;
    static constexpr bool kPdl = true;
    static constexpr bool kThreadLoads = false;
    static constexpr jg::u32 kOutputAlignment = 16;
    using A = jg::bf16;
    using B = jg::bf16;
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
#line 1 "jit_gemm_default"
d = acc;
#line 4 "jit_gemm_epilogue"
JG_EPILOGUE_END

#line 1 "jit_gemm_entry"
extern "C" __global__ void __launch_bounds__(384, 1)
jit_gemm_sm90a_bf16_bf16_128x256_plain(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps, Config::kHostGroups> params)
{
    jg::sm90a::gemm_kernel<Config, Epilogue>(params);
}
