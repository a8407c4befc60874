// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=gemm tile=128x128x64 cluster=2x1 stages=2 raster=m raster_group=4 out_stages=2 pdl=1 split_k=1 swap_ab=1
#define JG_OPERANDS(JG_ROW) \
    JG_ROW(0, bias, ColumnVectorInput, f32) \
    JG_ROW(1, u, RowVectorInput, f32)
#define JG_RESULT_BITS 8
#define JG_TILE_COLUMNS 128
#include <jg/epilogue/prelude.cuh>
#include <jg/epilogue/fragment_epilogue.cuh>
#include <jg/sm90a/gemm_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    enum : jg::u32 { kM = 384 };
    enum : jg::u32 { kN = 512 };
    enum : jg::u32 { kK = 256 };
    enum : jg::u32 { kBatch = 1 };
    enum : jg::u32 { kGroups = 0 };
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    enum : jg::u32 { kBlockM = 128 };
    enum : jg::u32 { kBlockN = 128 };
    enum : jg::u32 { kBlockK = 64 };
    enum : jg::u32 { kCtaGroup = 1 };
    enum : bool { kPingpong = false };
    enum : jg::u32 { kClusterM = 2 };
    enum : jg::u32 { kClusterN = 1 };
    enum : jg::u32 { kStages = 2 };
    enum : jg::u32 { kKGroup = 1 };
    enum : jg::u32 { kAccStages = 1 };
    enum : jg::u32 { kSharedColumns = 0 };
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kFragments;
    enum : jg::u32 { kEpilogueLoadsPerStep = 0 };
    enum : jg::u32 { kEpilogueLoadStages = 0 };
    enum : bool { kWholeRows = false };
    enum : bool { kWholeCols = true };
    enum : bool { kWholeVectors = true };
    enum : bool { kDividesOutput = false };
    enum : jg::u32 { kStoreTileRows = 64 };
    enum : jg::u32 { kStoreTileSwizzleBytes = 128 };
    enum : jg::u32 { kOutStages = 2 };
    enum : bool { kPromotesSums = false };
    enum : jg::u32 { kOutBytes = 8192 };
    enum : jg::u32 { kASwizzleBytes = 128 };
    enum : jg::u32 { kASwizzleAtom = 16 };
    enum : jg::u32 { kBSwizzleBytes = 128 };
    enum : jg::u32 { kBSwizzleAtom = 16 };
    enum : jg::u32 { kALoadedRows = 128 };
    enum : jg::u32 { kBLoadedRows = 128 };
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    enum : jg::u32 { kRasterGroup = 4 };
    enum : jg::u32 { kSplitK = 1 };
    enum : jg::u32 { kScaleSlots = 0 };
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    enum : bool { kOneMultiplies = false };
    enum : jg::u32 { kLeadStages = 0 };
    enum : jg::u32 { kThreads = 384 };
    enum : jg::u32 { kSmemBytes = 99328 };
    enum : jg::u32 { kParamsBytes = 1536 };
    enum : jg::u32 { kOperandCount = 2 };
    enum : jg::u32 { kTailMaps = 0 };
    enum : bool { kAKMajor = true };
    enum : bool { kBKMajor = false };
    enum : bool { kTransposed = false };
    enum : bool { kGated = false };
    enum : bool { kGateInA = false };
    enum : bool { kGateHalves = false };
    enum : jg::u32 { kGateColumns = 0 };
    enum : bool { kHasC = false };
    enum : bool { kColumnMajor = true };
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
    enum : bool { kStoresByWarps = true };
    static constexpr jg::FirstLoads kFirstLoads = jg::FirstLoads::kNone;
    enum : jg::u32 { kResident = 1 };
    enum : bool { kThreadLoads = false };
    enum : jg::u32 { kOutputAlignment = 16 };
    using A = jg::bf16;
    using B = jg::bf16;
    using C = jg::bf16;
    using D = jg::bf16;
    using AScale = jg::RowVectorInput<jg::f32>;
    using BScale = jg::NoScale;
    using BGateScale = jg::NoScale;
    using ABlockScale = jg::NoBlockScale;
    using BBlockScale = jg::NoBlockScale;
    using DScale = jg::NoOutputScale;
};

#line 1 "jit_gemm_epilogue"
JG_EPILOGUE_BEGIN
#line 1 "test"
d = acc + bias * u + row;
#line 4 "jit_gemm_epilogue"
JG_EPILOGUE_END

#line 1 "jit_gemm_entry"
extern "C" __global__ void __launch_bounds__(384, 1)
jit_gemm_sm90a_bf16_bf16_128x128_test_3839e08b(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps> params)
{
    jg::sm90a::gemm_kernel<Config, Epilogue>(params);
}
