// jit_gemm 0.1.0, source format 8, sm_90a
// config: kernel=reference
#define JG_OPERANDS(JG_ROW)
#define JG_RESULT_BITS 24
#include <jg/epilogue/prelude.cuh>
#include <jg/reference/reference_kernel.cuh>

#line 1 "jit_gemm_config"
struct Config {
    static constexpr jg::u32 kM = 17;
    static constexpr jg::u32 kN = 333;
    static constexpr jg::u32 kK = 1;
    static constexpr jg::u32 kBatch = 1;
    static constexpr jg::u32 kGroups = 0;
    static constexpr jg::GroupBy kGroupBy = jg::GroupBy::kNone;
    static constexpr jg::u32 kBlockM = 0;
    static constexpr jg::u32 kBlockN = 0;
    static constexpr jg::u32 kBlockK = 0;
    static constexpr jg::u32 kCtaGroup = 1;
    static constexpr bool kPingpong = false;
    static constexpr jg::u32 kClusterM = 0;
    static constexpr jg::u32 kClusterN = 0;
    static constexpr jg::u32 kStages = 0;
    static constexpr jg::u32 kKGroup = 1;
    static constexpr jg::u32 kAccStages = 1;
    static constexpr jg::u32 kOutStages = 0;
    static constexpr bool kPromotesSums = false;
    static constexpr jg::u32 kASwizzleBytes = 0;
    static constexpr jg::u32 kASwizzleAtom = 0;
    static constexpr jg::u32 kBSwizzleBytes = 0;
    static constexpr jg::u32 kBSwizzleAtom = 0;
    static constexpr jg::u32 kBLoadedRows = 0;
    static constexpr jg::SchedulerKind kScheduler = jg::SchedulerKind::kStatic;
    static constexpr jg::Prefetch kPrefetch = jg::Prefetch::kNone;
    static constexpr jg::u32 kRasterGroup = 0;
    static constexpr jg::u32 kSplitK = 1;
    static constexpr jg::u32 kScaleSlots = 0;
    static constexpr jg::EvictFirst kEvictFirst = jg::EvictFirst::kNone;
    static constexpr jg::u32 kLeadStages = 0;
    static constexpr jg::u32 kThreads = 256;
    static constexpr jg::u32 kSmemBytes = 0;
    static constexpr jg::u32 kParamsBytes = 1152;
    static constexpr jg::u32 kOperandCount = 0;
    static constexpr jg::u32 kTailMaps = 0;
    static constexpr bool kAKMajor = true;
    static constexpr bool kBKMajor = false;
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
    static constexpr bool kRasterAlongM = true;
    static constexpr bool kPdl = false;
    static constexpr bool kThreadLoads = false;
    static constexpr jg::u32 kOutputAlignment = 16;
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
