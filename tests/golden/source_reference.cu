// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=reference
#define JG_OPERANDS(JG_ROW)
#define JG_RESULT_BITS 24
#include <jg/epilogue/prelude.cuh>
#include <jg/reference/reference_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    enum : jg::u32 { kM = 17 };
    enum : jg::u32 { kN = 333 };
    enum : jg::u32 { kK = 1 };
    enum : jg::u32 { kBatch = 1 };
    enum : jg::u32 { kGroups = 0 };
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    enum : jg::u32 { kBlockM = 0 };
    enum : jg::u32 { kBlockN = 0 };
    enum : jg::u32 { kBlockK = 0 };
    enum : jg::u32 { kCtaGroup = 1 };
    enum : bool { kPingpong = false };
    enum : jg::u32 { kClusterM = 0 };
    enum : jg::u32 { kClusterN = 0 };
    enum : jg::u32 { kStages = 0 };
    enum : jg::u32 { kKGroup = 1 };
    enum : jg::u32 { kAccStages = 1 };
    enum : jg::u32 { kSharedColumns = 0 };
    enum : jg::u32 { kOutStages = 0 };
    enum : bool { kPromotesSums = false };
    enum : jg::u32 { kASwizzleBytes = 0 };
    enum : jg::u32 { kASwizzleAtom = 0 };
    enum : jg::u32 { kBSwizzleBytes = 0 };
    enum : jg::u32 { kBSwizzleAtom = 0 };
    enum : jg::u32 { kALoadedRows = 0 };
    enum : jg::u32 { kBLoadedRows = 0 };
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    enum : jg::u32 { kRasterGroup = 0 };
    enum : jg::u32 { kSplitK = 1 };
    enum : jg::u32 { kScaleSlots = 0 };
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    enum : bool { kOneMultiplies = false };
    enum : jg::u32 { kLeadStages = 0 };
    enum : jg::u32 { kThreads = 256 };
    enum : jg::u32 { kSmemBytes = 0 };
    enum : jg::u32 { kParamsBytes = 1152 };
    enum : jg::u32 { kOperandCount = 0 };
    enum : jg::u32 { kTailMaps = 0 };
    enum : bool { kAKMajor = true };
    enum : bool { kBKMajor = false };
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
    enum : bool { kPdl = false };
    enum : bool { kNextAtEnd = false };
    enum : bool { kDrawsAhead = false };
    enum : bool { kReadsFirst = false };
    enum : bool { kStoresByWarps = false };
    static constexpr jg::FirstLoads kFirstLoads = jg::FirstLoads::kNone;
    enum : jg::u32 { kResident = 1 };
    enum : bool { kThreadLoads = false };
    enum : jg::u32 { kOutputAlignment = 16 };
    using A = jg::bf16;
    using B = jg::bf16;
    using C = jg::bf16;
    using D = jg::f32;
    using AScale = jg::NoScale;
    using BScale = jg::NoScale;
    using BGateScale = jg::NoScale;
    using ABlockScale = jg::NoBlockScale;
    using BBlockScale = jg::NoBlockScale;
};

#line 1 "jit_gemm_epilogue"
JG_EPILOGUE_BEGIN
#line 1 "test"
d = relu(acc);
#line 4 "jit_gemm_epilogue"
JG_EPILOGUE_END

#line 1 "jit_gemm_entry"
extern "C" __global__ void __launch_bounds__(256, 1)
jit_gemm_sm90a_bf16_f32_reference_test_68846ac6(const __grid_constant__ jg::KernelParams<Config::kOperandCount, Config::kTailMaps> params)
{
    jg::reference::gemm_kernel<Config, Epilogue>(params);
}
