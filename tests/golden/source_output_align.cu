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
    enum : jg::u32 { kM = 333 };
    enum : jg::u32 { kN = 345 };
    enum : jg::u32 { kK = 64 };
    enum : jg::u32 { kBatch = 1 };
    enum : jg::u32 { kGroups = 0 };
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    enum : jg::u32 { kBlockM = 128 };
    enum : jg::u32 { kBlockN = 64 };
    enum : jg::u32 { kBlockK = 128 };
    enum : jg::u32 { kCtaGroup = 1 };
    enum : bool { kPingpong = false };
    enum : jg::u32 { kClusterM = 1 };
    enum : jg::u32 { kClusterN = 1 };
    enum : jg::u32 { kStages = 2 };
    enum : jg::u32 { kKGroup = 1 };
    enum : jg::u32 { kAccStages = 1 };
    enum : jg::u32 { kEpilogueWarpgroups = 1 };
    enum : jg::u32 { kSharedColumns = 0 };
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kVectors;
    enum : jg::u32 { kEpilogueLoadsPerStep = 0 };
    enum : jg::u32 { kEpilogueLoadStages = 0 };
    enum : bool { kWholeRows = false };
    enum : bool { kWholeCols = false };
    enum : bool { kWholeVectors = false };
    enum : bool { kDividesOutput = false };
    enum : jg::u32 { kStoreTileRows = 32 };
    enum : jg::u32 { kStoreTileSwizzleBytes = 128 };
    enum : jg::u32 { kOutStages = 2 };
    enum : bool { kPromotesSums = false };
    enum : jg::u32 { kASwizzleBytes = 128 };
    enum : jg::u32 { kASwizzleAtom = 16 };
    enum : jg::u32 { kBSwizzleBytes = 128 };
    enum : jg::u32 { kBSwizzleAtom = 16 };
    enum : jg::u32 { kALoadedRows = 128 };
    enum : jg::u32 { kBLoadedRows = 64 };
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kSingle;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    enum : jg::u32 { kRasterGroup = 2 };
    enum : jg::u32 { kSplitK = 1 };
    enum : jg::u32 { kScaleSlots = 0 };
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    enum : bool { kOneMultiplies = false };
    enum : jg::u32 { kLeadStages = 0 };
    enum : jg::u32 { kThreads = 192 };
    enum : jg::u32 { kSmemBytes = 118784 };
    enum : jg::u32 { kParamsBytes = 1408 };
    enum : jg::u32 { kOperandCount = 1 };
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
    enum : bool { kRasterAlongM = false };
    enum : bool { kPdl = true };
    enum : bool { kNextAtEnd = false };
    enum : bool { kDrawsAhead = false };
    enum : bool { kReadsFirst = false };
    enum : bool { kStoresByWarps = false };
    static constexpr jg::FirstLoads kFirstLoads = jg::FirstLoads::kNone;
    enum : jg::u32 { kResident = 1 };
    enum : bool { kThreadLoads = false };
    enum : jg::u32 { kOutputAlignment = 2 };
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
