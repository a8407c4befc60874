// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=gemm tile=128x128x128 cluster=1x1 stages=4 raster=m raster_group=1 out_stages=2 pdl=1 split_k=1
#define JG_OPERANDS(JG_ROW)
#define JG_TILE_COLUMNS 128
#include <jg/epilogue/fragment_epilogue.cuh>
#include <jg/sm90a/gemm_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    enum : jg::u32 { kM = 512 };
    enum : jg::u32 { kN = 512 };
    enum : jg::u32 { kK = 4096 };
    enum : jg::u32 { kBatch = 1 };
    enum : jg::u32 { kGroups = 0 };
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    enum : jg::u32 { kBlockM = 128 };
    enum : jg::u32 { kBlockN = 128 };
    enum : jg::u32 { kBlockK = 128 };
    enum : jg::u32 { kCtaGroup = 1 };
    enum : bool { kPingpong = false };
    enum : jg::u32 { kClusterM = 1 };
    enum : jg::u32 { kClusterN = 1 };
    enum : jg::u32 { kStages = 4 };
    enum : jg::u32 { kKGroup = 1 };
    enum : jg::u32 { kAccStages = 1 };
    enum : jg::u32 { kSharedColumns = 0 };
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kFragments;
    enum : jg::u32 { kEpilogueLoadsPerStep = 0 };
    enum : jg::u32 { kEpilogueLoadStages = 0 };
    enum : bool { kWholeRows = true };
    enum : bool { kWholeCols = true };
    enum : bool { kWholeVectors = true };
    enum : bool { kDividesOutput = false };
    enum : jg::u32 { kStoreTileRows = 64 };
    enum : jg::u32 { kStoreTileSwizzleBytes = 128 };
    enum : jg::u32 { kOutStages = 2 };
    enum : bool { kPromotesSums = true };
    enum : jg::u32 { kOutBytes = 8192 };
    enum : jg::u32 { kASwizzleBytes = 128 };
    enum : jg::u32 { kASwizzleAtom = 16 };
    enum : jg::u32 { kBSwizzleBytes = 128 };
    enum : jg::u32 { kBSwizzleAtom = 16 };
    enum : jg::u32 { kALoadedRows = 128 };
    enum : jg::u32 { kBLoadedRows = 128 };
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    enum : jg::u32 { kRasterGroup = 1 };
    enum : jg::u32 { kSplitK = 1 };
    enum : jg::u32 { kScaleSlots = 0 };
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    enum : bool { kOneMultiplies = false };
    enum : jg::u32 { kLeadStages = 0 };
    enum : jg::u32 { kThreads = 384 };
    enum : jg::u32 { kSmemBytes = 164864 };
    enum : jg::u32 { kParamsBytes = 1152 };
    enum : jg::u32 { kOperandCount = 0 };
    enum : jg::u32 { kTailMaps = 0 };
    enum : bool { kAKMajor = true };
    enum : bool { kBKMajor = true };
    enum : bool { kTransposed = false };
    enum : bool { kGated = false };
    enum : bool { kGateInA = false };
    enum : bool { kGateHalves = false };
    enum : jg::u32 { kGateColumns = 0 };
    enum : bool { kHasC = false };
    enum : bool { kColumnMajor = false };
    enum : bool { kIndexedA = false };
    enum : bool { kIndexedB = false };
    enum : jg::u32 { kCopiedRows = 0 };
    enum : bool { kIndexedD = false };
    enum : bool { kPlain = false };
    enum : bool { kLongSnippet = false };
    enum : bool { kRasterAlongM = true };
    enum : bool { kPdl = true };
    enum : bool { kNextAtEnd = false };
    enum : bool { kDrawsAhead = false };
    enum : bool { kReadsFirst = false };
    enum : bool { kStoresByWarps = false };
    static constexpr jg::FirstLoads kFirstLoads = jg::FirstLoads::kNone;
    enum : jg::u32 { kResident = 1 };
    enum : bool { kThreadLoads = false };
    enum : jg::u32 { kOutputAlignment = 16 };
    using A = jg::e4m3;
    using B = jg::e5m2;
    using C = jg::bf16;
    using D = jg::bf16;
    using AScale = jg::ColumnVectorInput<jg::f32>;
    using BScale = jg::ScalarInput<jg::f32>;
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
jit_gemm_sm90a_e4m3_bf16_128x128_plain(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps> params)
{
    jg::sm90a::gemm_kernel<Config, Epilogue>(params);
}
