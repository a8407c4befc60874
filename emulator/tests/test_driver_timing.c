/* SPDX-License-Identifier: MIT */
/* Timed launches: the same clocks every time, and what must be slower is slower. */
#include <stdlib.h>
#include <string.h>

#include "test_driver_support.h"

TestSuite(driver_timing, .init = start_context);

/*
 * chain: a loop of dependent additions. independent: as many that do not depend on each
 * other. both: the ones, then the others. copy: bulk copies of 4096 bytes each, one after
 * the other, into shared memory. poll: one CTA waits for a word that the other one stores.
 */
#define TO_FIRST  "add.u32 %r1, %r1, %r0;\n"
#define DEPENDENT TO_FIRST TO_FIRST TO_FIRST TO_FIRST TO_FIRST TO_FIRST TO_FIRST TO_FIRST
#define TO_EACH                                                                \
    "add.u32 %r2, %r2, %r0;\nadd.u32 %r3, %r3, %r0;\nadd.u32 %r4, %r4, %r0;\n" \
    "add.u32 %r5, %r5, %r0;\n"
#define OTHERS TO_EACH TO_EACH
static const char ptx[] =
    ".version 8.6\n.target sm_100a\n.address_size 64\n"
    ".visible .entry chain(.param .u32 count)\n{\n"
    ".reg .b32 %r<4>;\n.reg .pred %p;\n"
    "ld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\n"
    "loop:\n" DEPENDENT "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n"
    "@%p bra loop;\nret;\n}\n"
    ".visible .entry independent(.param .u32 count)\n{\n"
    ".reg .b32 %r<6>;\n.reg .pred %p;\n"
    "ld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.x;\n"
    "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, %tid.x;\n"
    "loop:\n" OTHERS "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n"
    "@%p bra loop;\nret;\n}\n"
    ".visible .entry both(.param .u32 count)\n{\n"
    ".reg .b32 %r<6>;\n.reg .pred %p;\n"
    "ld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.x;\n"
    "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %tid.x;\nmov.u32 %r5, %tid.x;\n"
    "loop:\n" DEPENDENT OTHERS "sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n"
    "@%p bra loop;\nret;\n}\n"
    ".visible .entry copy(.param .u64 from, .param .u32 count)\n{\n"
    ".reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .pred %p, %q;\n"
    ".shared .align 128 .b8 memory[4096];\n.shared .align 8 .b64 barrier;\n"
    "ld.param.u64 %d0, [from];\nld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\n"
    "setp.ne.u32 %p, %r1, 0;\n@%p ret;\n"
    "mov.u32 %r2, memory;\nmov.u32 %r3, barrier;\nmov.u32 %r4, 0;\n"
    "mbarrier.init.shared.b64 [%r3], 1;\nfence.mbarrier_init.release.cluster;\n"
    "loop:\n"
    "mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 4096;\n"
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d0], 4096, "
    "[%r3];\n"
    "wait:\nmbarrier.try_wait.parity.shared.b64 %q, [%r3], %r4;\n@!%q bra wait;\n"
    "xor.b32 %r4, %r4, 1;\nadd.u64 %d0, %d0, 4096;\nsub.u32 %r0, %r0, 1;\n"
    "setp.ne.u32 %p, %r0, 0;\n@%p bra loop;\nret;\n}\n"
    ".visible .entry turns(.param .u64 one, .param .u64 other)\n{\n"
    ".reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.reg .pred %p;\n"
    "ld.param.u64 %d0, [one];\nld.param.u64 %d1, [other];\nmov.u32 %r0, %tid.x;\n"
    "mul.wide.u32 %d2, %r0, 128;\nadd.u64 %d0, %d0, %d2;\nadd.u64 %d1, %d1, %d2;\n"
    "mov.u32 %r0, 8;\n"
    "loop:\nld.global.u32 %r1, [%d0];\nld.global.u32 %r2, [%d1];\n"
    "add.u32 %r3, %r1, %r2;\nsub.u32 %r0, %r0, 1;\nsetp.ne.u32 %p, %r0, 0;\n"
    "@%p bra loop;\nret;\n}\n"
    ".visible .entry stores(.param .u64 to)\n{\n"
    ".reg .b32 %r<2>;\n.reg .b64 %d<2>;\n.reg .pred %p;\n"
    ".shared .align 128 .b8 memory[8192];\n"
    "ld.param.u64 %d0, [to];\nmov.u32 %r0, %ntid.x;\nmov.u32 %r1, memory;\n"
    "cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 8192;\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\nret;\n}\n"
    ".visible .entry looks(.param .u32 count)\n{\n"
    ".reg .b32 %r<4>;\n.reg .pred %p, %q;\n.shared .align 8 .b64 barrier;\n"
    "ld.param.u32 %r0, [count];\nmov.u32 %r1, barrier;\nmov.u32 %r2, 0;\n"
    "mbarrier.init.shared.b64 [%r1], 1;\n"
    "mbarrier.test_wait.parity.shared.b64 %q, [%r1], 0;\nselp.u32 %r3, 1, 0, %q;\n"
    "mbarrier.try_wait.parity.shared.b64 %q, [%r1], 0;\nselp.u32 %r3, 1, 0, %q;\n"
    "mbarrier.arrive.shared.b64 _, [%r1];\n"
    "wait:\nmbarrier.try_wait.parity.shared.b64 %q, [%r1], 0;\n@!%q bra wait;\nret;\n}\n"
    ".visible .entry ends()\n{\nret;\n}\n"
    ".visible .entry allows()\n{\ngriddepcontrol.launch_dependents;\nret;\n}\n"
    ".visible .entry poll(.param .u64 at)\n{\n"
    ".reg .b32 %r<4>;\n.reg .b64 %d<2>;\n.reg .pred %p;\n"
    "ld.param.u64 %d0, [at];\nmov.u32 %r0, %ctaid.x;\nsetp.ne.u32 %p, %r0, 0;\n"
    "@%p bra store;\n"
    "loop:\nld.acquire.gpu.global.u32 %r1, [%d0];\nsetp.eq.u32 %p, %r1, 0;\n"
    "@%p bra loop;\nret;\n"
    "store:\nmov.u32 %r1, 1;\nst.release.gpu.global.u32 [%d0], %r1;\nret;\n}\n";

static CUfunction find(const char *name)
{
    static CUmodule module;
    CUfunction function = NULL;
    if (module == NULL) {
        ASSERT_CU(cu.cuModuleLoadData(&module, ptx));
    }
    ASSERT_CU(cu.cuModuleGetFunction(&function, module, name));
    return function;
}

static unsigned long long time_of(const char *name, unsigned ctas, unsigned threads,
                                  void **params)
{
    struct emu_times times;
    ASSERT_CU(
        cu.cuLaunchKernel(find(name), ctas, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
    ASSERT_CU(cu.emuTimes(&times));
    ASSERT_CU(cu.cuCtxSynchronize());
    return times.clocks;
}

static unsigned long long time_loop(const char *name, unsigned count, unsigned ctas,
                                    unsigned threads)
{
    void *params[] = {&count};
    return time_of(name, ctas, threads, params);
}

static CUdeviceptr make_source(size_t bytes)
{
    void *zeros = calloc(1, bytes);
    cr_assert_not_null(zeros);
    CUdeviceptr source = upload(zeros, bytes);
    free(zeros);
    return source;
}

static unsigned long long time_copies(CUdeviceptr from, unsigned count, unsigned ctas)
{
    void *params[] = {&from, &count};
    return time_of("copy", ctas, 32, params);
}

/* Whatever the seed and the other settings: they choose what the hardware leaves open, and
 * the clock decides it. */
Test(driver_timing, is_the_same_every_time)
{
    static const char *const settings[] = {
        "timing=on", "timing=on", "timing=on,seed=7,async=latest,schedule=starve",
        "timing=on,seed=3,async=eager,races=off", "timing=on,async=reorder,threads=8"};
    unsigned long long first[3] = {0};
    CUdeviceptr source = make_source(32 * 4096);
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        ASSERT_CU(cu.emuConfigure(settings[i]));
        unsigned long long clocks[3] = {time_loop("chain", 100, 60, 128),
                                        time_copies(source, 32, 20),
                                        time_loop("independent", 64, 5, 96)};
        for (int j = 0; j < 3; j++) {
            first[j] = i == 0 ? clocks[j] : first[j];
            cr_expect_eq(clocks[j], first[j], "%s: kernel %d took %llu, before %llu",
                         settings[i], j, clocks[j], first[j]);
        }
    }
}

/* Two buffers that are read in turns, wherever the host had room for the second one. */
Test(driver_timing, is_the_same_wherever_memory_lies)
{
    unsigned long long first = 0;
    CUdeviceptr one = make_source(32 * 128);
    ASSERT_CU(cu.emuConfigure("timing=on"));
    for (unsigned i = 0; i < 8; i++) {
        CUdeviceptr other = make_source(32 * 128 + i * 5 * 1024);
        void *params[] = {&one, &other};
        const unsigned long long clocks = time_of("turns", 1, 32, params);
        first = i == 0 ? clocks : first;
        cr_expect_eq(clocks, first, "%llu, before %llu", clocks, first);
    }
}

/* The hardware issues it once, whatever PTX says. */
Test(driver_timing, a_store_of_a_whole_warp_is_one_store)
{
    CUdeviceptr to = make_source(8192);
    void *params[] = {&to};
    ASSERT_CU(cu.emuConfigure("timing=on,definedness=off,races=off"));
    const unsigned long long one = time_of("stores", 1, 1, params);
    const unsigned long long all = time_of("stores", 1, 32, params);
    cr_expect_lt(all, one + 32, "%llu and %llu", one, all);
}

/* Who asks for a phase that nobody completes before the answer is used goes on. */
Test(driver_timing, a_look_at_a_barrier_does_not_wait)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    cr_expect_gt(time_loop("looks", 1, 1, 1), 0);
}

Test(driver_timing, a_chain_waits_for_its_results)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    const unsigned long long start = time_loop("chain", 1, 1, 32);
    const unsigned long long once = time_loop("chain", 1001, 1, 32) - start;
    const unsigned long long twice = time_loop("chain", 2001, 1, 32) - start;
    const unsigned long long wide =
        time_loop("independent", 1001, 1, 32) - time_loop("independent", 1, 1, 32);
    cr_expect_eq(twice, 2 * once, "%llu and %llu", once, twice);
    cr_expect_geq(once, wide + 12000,
                  "8 dependent additions put the branch behind them off by 13 clocks at "
                  "least: %llu, %llu",
                  once, wide);
}

/* The assembler would put them between those of the chain. */
Test(driver_timing, others_are_issued_while_a_chain_waits)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    const unsigned long long chain = time_loop("chain", 1001, 1, 32);
    const unsigned long long both = time_loop("both", 1001, 1, 32);
    cr_expect_lt(both, chain + 2000, "%llu, the chain alone %llu", both, chain);
}

/* Four parts of a multiprocessor issue one instruction a clock each. */
Test(driver_timing, warps_share_issue_slots)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    const unsigned long long one = time_loop("independent", 1000, 1, 32);
    const unsigned long long four = time_loop("independent", 1000, 1, 128);
    const unsigned long long many = time_loop("independent", 1000, 1, 1024);
    cr_expect_eq(one, four);
    cr_expect_gt(many, 2 * four, "8 warps a part: %llu, 1 warp: %llu", many, four);
}

/* A warp that waits for its registers takes no clock of the slot before it issues. */
Test(driver_timing, chains_fit_between_each_other)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    const unsigned long long one = time_loop("chain", 1000, 1, 32);
    const unsigned long long two = time_loop("chain", 1000, 1, 256);
    cr_expect_lt(two, one + one / 8, "2 warps a part: %llu, 1 warp: %llu", two, one);
}

/* A launch whose CTAs all end without saying so lets the next one start later. */
Test(driver_timing, dependents_begin_early_where_they_may)
{
    ASSERT_CU(cu.emuConfigure("timing=on,mhz=1000"));
    const unsigned long long alone = time_of("ends", 2, 32, NULL);
    const unsigned long long early = time_of("allows", 2, 32, NULL);
    cr_expect_gt(alone, early + 1000, "%llu and %llu", alone, early);
}

Test(driver_timing, copies_take_latency_and_rate)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    CUdeviceptr source = make_source(64 * 4096);
    const unsigned long long none = time_copies(source, 1, 1);
    const unsigned long long some = time_copies(source, 33, 1);
    const unsigned long long more = time_copies(source, 64, 1);
    cr_expect_gt(some - none, 32ull * 1000, "%llu", some - none);
    cr_expect_gt(more, some);
    /* What others asked for is waited for as if it were alone; who shares a multiprocessor
     * shares its port. */
    ASSERT_CU(cu.emuConfigure("timing=on,races=off"));
    const unsigned long long apart = time_copies(source, 16, 148);
    const unsigned long long beside = time_copies(source, 16, 148 * 8);
    const unsigned long long alone = time_copies(source, 16, 1);
    cr_expect_lt(apart, alone + alone / 8, "%llu and %llu", apart, alone);
    cr_expect_gt(beside, apart, "%llu and %llu", beside, apart);
}

Test(driver_timing, who_polls_memory_is_let_go)
{
    ASSERT_CU(cu.emuConfigure("timing=on"));
    CUdeviceptr word = make_source(4);
    void *params[] = {&word};
    cr_expect_gt(time_of("poll", 2, 32, params), 0);
}

Test(driver_timing, a_sample_stands_for_the_grid)
{
    ASSERT_CU(cu.emuConfigure("timing=on,sms=16"));
    const unsigned long long all = time_loop("chain", 40, 16 * 16 * 3, 128);
    ASSERT_CU(cu.emuConfigure("timing=on,sms=16,sample=10"));
    const unsigned long long part = time_loop("chain", 40, 16 * 16 * 3, 128);
    cr_expect_lt(part, all + all / 4, "%llu of %llu", part, all);
    char *text = cu.emuTimeReport();
    cr_expect_not_null(strstr(text, "modelled from a part"), "%s", text);
    free(text);
}

/* Two CTAs that fill a multiprocessor each, on a device of one. */
Test(driver_timing, a_cluster_that_has_no_room_runs_nevertheless)
{
    unsigned count = 40;
    void *params[] = {&count};
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                 .value.clusterDim = {2, 1, 1}};
    const CUlaunchConfig config = {.gridDimX = 4,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = 200000,
                                   .attrs = &cluster,
                                   .numAttrs = 1};
    struct emu_times times[2];
    CUfunction function = find("chain");
    ASSERT_CU(cu.cuFuncSetAttribute(
        function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 200000));
    for (unsigned i = 0; i < 2; i++) {
        ASSERT_CU(cu.emuConfigure(i == 0 ? "timing=on,sms=1" : "timing=on,sms=2"));
        ASSERT_CU(cu.cuLaunchKernelEx(&config, function, params, NULL));
        ASSERT_CU(cu.emuTimes(&times[i]));
    }
    const unsigned long long ends = time_of("ends", 1, 32, NULL);
    cr_expect_gt(times[1].clocks, ends + 500, "it ran: %llu", times[1].clocks);
    cr_expect_geq(times[0].clocks, times[1].clocks);
}

Test(driver_timing, the_clock_is_a_setting)
{
    struct emu_times slow, fast;
    ASSERT_CU(cu.emuConfigure("timing=on,mhz=1000"));
    time_loop("chain", 500, 1, 32);
    ASSERT_CU(cu.emuTimes(&slow));
    ASSERT_CU(cu.emuConfigure("timing=b200,mhz=2000"));
    time_loop("chain", 500, 1, 32);
    ASSERT_CU(cu.emuTimes(&fast));
    cr_expect_str_eq(fast.chip, "b200");
    cr_expect_float_eq(slow.mhz, 1000, 0);
    cr_expect_gt(slow.microseconds, fast.microseconds);
}

Test(driver_timing, events_have_modelled_times)
{
    CUevent begin = NULL, end = NULL;
    float milliseconds = 0;
    struct emu_times times;
    ASSERT_CU(cu.emuConfigure("timing=on,mhz=1000"));
    ASSERT_CU(cu.cuEventCreate(&begin, 0));
    ASSERT_CU(cu.cuEventCreate(&end, 0));
    ASSERT_CU(cu.cuEventRecord(begin, NULL));
    time_loop("chain", 500, 1, 32);
    ASSERT_CU(cu.emuTimes(&times));
    ASSERT_CU(cu.cuEventRecord(end, NULL));
    ASSERT_CU(cu.cuEventElapsedTime_v2(&milliseconds, begin, end));
    cr_expect_float_eq((double)milliseconds * 1e3, times.microseconds, 0.01);
}

Test(driver_timing, what_is_wrong_is_refused)
{
    struct emu_times times;
    unsigned count = 1;
    void *params[] = {&count};
    EXPECT_CU(CUDA_ERROR_NOT_READY, cu.emuTimes(&times));
    expect_reason("timing=on");
    cr_expect_null(cu.emuTimeReport());
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.emuConfigure("timing=h300"));
    expect_reason("h100");
    ASSERT_CU(cu.emuConfigure("timing=h100"));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.cuLaunchKernel(find("chain"), 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    expect_reason("sm_90");
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.emuTimes(NULL));
}
