// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=gemm tile=128x192x64 cluster=1x1 stages=2 raster=m raster_group=4 out_stages=2 pdl=1 split_k=1
#define JG_OPERANDS(JG_ROW) \
    JG_ROW(0, s, ScalarInput, f32) \
    JG_ROW(1, bias, RowVectorInput, f16) \
    JG_ROW(2, rows, ColumnVectorInput, f32) \
    JG_ROW(3, m, MatrixInput, f16) \
    JG_ROW(4, aux, MatrixOutput, f32)
#define JG_RESULT_BITS 24
#define JG_TILE_COLUMNS 192
#include <jg/epilogue/prelude.cuh>
#include <jg/epilogue/vector_epilogue.cuh>
#include <jg/sm90a/gemm_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    enum : jg::u32 { kM = 256 };
    enum : jg::u32 { kN = 256 };
    enum : jg::u32 { kK = 64 };
    enum : jg::u32 { kBatch = 1 };
    enum : jg::u32 { kGroups = 0 };
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    enum : jg::u32 { kBlockM = 128 };
    enum : jg::u32 { kBlockN = 192 };
    enum : jg::u32 { kBlockK = 64 };
    enum : jg::u32 { kCtaGroup = 1 };
    enum : bool { kPingpong = false };
    enum : jg::u32 { kClusterM = 1 };
    enum : jg::u32 { kClusterN = 1 };
    enum : jg::u32 { kStages = 2 };
    enum : jg::u32 { kKGroup = 1 };
    enum : jg::u32 { kAccStages = 1 };
    enum : jg::u32 { kSharedColumns = 0 };
    static constexpr jg::EpilogueKind kEpilogue = jg::EpilogueKind::kVectors;
    enum : jg::u32 { kEpilogueLoadsPerStep = 1 };
    enum : jg::u32 { kEpilogueLoadStages = 0 };
    enum : bool { kWholeRows = true };
    enum : bool { kWholeCols = false };
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
    enum : jg::u32 { kBLoadedRows = 192 };
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    enum : jg::u32 { kRasterGroup = 4 };
    enum : jg::u32 { kSplitK = 1 };
    enum : jg::u32 { kScaleSlots = 0 };
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    enum : bool { kOneMultiplies = false };
    enum : jg::u32 { kLeadStages = 0 };
    enum : jg::u32 { kThreads = 384 };
    enum : jg::u32 { kSmemBytes = 115712 };
    enum : jg::u32 { kParamsBytes = 2048 };
    enum : jg::u32 { kOperandCount = 5 };
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
    using A = jg::f16;
    using B = jg::f16;
    using C = jg::bf16;
    using D = jg::f16;
    using AScale = jg::NoScale;
    using BScale = jg::NoScale;
    using BGateScale = jg::NoScale;
    using ABlockScale = jg::NoBlockScale;
    using BBlockScale = jg::NoBlockScale;
    using DScale = jg::NoOutputScale;
};

#line 1 "jit_gemm_epilogue"
JG_EPILOGUE_BEGIN
#line 1 "everything"
// scales, then keeps the value before the clamp
float x = acc * s + bias;
aux = x + rows;
d = clamp(x + m, 0.0f, 6.0f);
#line 4 "jit_gemm_epilogue"
JG_EPILOGUE_END

#line 1 "jit_gemm_entry"
extern "C" __global__ void __launch_bounds__(384, 1)
jit_gemm_sm90a_f16_f16_128x192_everything_7ec106af(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps> params)
{
    jg::sm90a::gemm_kernel<Config, Epilogue>(params);
}
