/* SPDX-License-Identifier: MIT */
/* Allocation of tensor memory, and accesses outside of it. */
#include <criterion/criterion.h>
#include <string.h>

#include "test_tensor_support.h"

#define ALLOC(group, slot, columns)                                                        \
    "tcgen05.alloc.cta_group::" group ".sync.aligned.shared::cta.b32 [" slot "], " columns \
    ";\n"
#define DEALLOC(group, address, columns) \
    "tcgen05.dealloc.cta_group::" group ".sync.aligned.b32 " address ", " columns ";\n"
#define RELINQUISH "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
#define LOAD_SLOT  "ld.shared.u32 %%r3, [slot];\n"

/* Runs the body in `ctas` CTAs of one cluster, `threads` threads each. `words`: part of the
 * findings' text, or NULL when the kernel is legal. */
static void expect(const char *body, unsigned ctas, unsigned threads,
                   enum emu_finding finding, const char *words)
{
    static const uint8_t image[4 * 1024];
    struct harness h;
    struct emu_text text = {0};
    uint64_t out = 0;
    harness_open(&h);
    h.settings.lowest_columns = true;
    begin_kernel(&text, 100, threads, 1024);
    emu_text_add(&text, body, 0);
    end_kernel(&text);
    bool good = run_kernel(&h, &text, image, 1024, ctas, threads, ctas, &out, 1024);
    if (words == NULL) {
        cr_expect(good, "%s\n%s", body, harness_text(&h));
    } else {
        cr_expect_not(good, "%s", body);
        cr_expect_geq(harness_found(&h, finding), 1, "%s\n%s", body, harness_text(&h));
        cr_expect_not_null(strstr(harness_text(&h), words), "%s: %s", words,
                           harness_text(&h));
    }
    harness_close(&h);
}

Test(emu_tensor_alloc, columns_are_given_out_and_taken_back)
{
    expect(ALLOC("1", "slot", "256")
               LOAD_SLOT ALLOC("1", "slot", "128") "ld.shared.u32 %%r4, [slot];\n" DEALLOC(
                   "1", "%%r3", "256") DEALLOC("1", "%%r4", "128"),
           1, 32, EMU_FINDING_COUNT, NULL);
}

Test(emu_tensor_alloc, an_allocation_waits_for_columns)
{
    /* warp 0 holds all; warp 1 asks, and gets them when warp 0 has freed */
    expect(
        "setp.eq.u32 %%p1, %%r1, 1;\n@%%p1 bra second;\n" ALLOC("1", "slot", "512")
            LOAD_SLOT
        "bar.sync 0;\nnanosleep.u32 100;\n" DEALLOC("1", "%%r3", "512") "bra end;\nsecond:\nbar.sync 0;\n" ALLOC(
            "1", "bar", "32") "ld.shared.u32 %%r3, [bar];\n" DEALLOC("1", "%%r3",
                                                                     "32") "end:\n",
        1, 64, EMU_FINDING_COUNT, NULL);
    expect("setp.eq.u32 %%p1, %%r1, 1;\n@%%p1 bra second;\n" ALLOC("1", "slot", "512")
               LOAD_SLOT
           "bar.sync 0;\nbar.sync 0;\n" DEALLOC(
               "1", "%%r3",
               "512") "bra end;\nsecond:\nbar.sync 0;\n" ALLOC("1", "bar",
                                                               "32") "bar.sync 0;\nend:\n",
           1, 64, EMU_FINDING_DEADLOCK, "512 of 512 are allocated");
}

Test(emu_tensor_alloc, sizes_are_checked)
{
    expect(ALLOC("1", "slot", "16"), 1, 32, EMU_FINDING_TENSOR_MEMORY, "16 columns");
    expect(ALLOC("1", "slot", "96"), 1, 32, EMU_FINDING_TENSOR_MEMORY, "power of 2");
    expect(ALLOC("1", "slot", "1024"), 1, 32, EMU_FINDING_TENSOR_MEMORY, "1024 columns");
    expect(ALLOC("1", "slot", "64") ALLOC("1", "slot", "128"), 1, 32,
           EMU_FINDING_TENSOR_MEMORY, "must not grow");
}

Test(emu_tensor_alloc, the_permit_can_be_given_back_once)
{
    expect(ALLOC("1", "slot", "64") RELINQUISH ALLOC("1", "slot", "64"), 1, 32,
           EMU_FINDING_TENSOR_MEMORY, "relinquish");
}

Test(emu_tensor_alloc, what_is_freed_must_be_what_was_allocated)
{
    expect(ALLOC("1", "slot", "64") LOAD_SLOT DEALLOC("1", "%%r3", "32"), 1, 32,
           EMU_FINDING_TENSOR_MEMORY, "no allocation of 32 columns");
    expect(ALLOC("1", "slot", "64") LOAD_SLOT
           "add.u32 %%r3, %%r3, 32;\n" DEALLOC("1", "%%r3", "64"),
           1, 32, EMU_FINDING_TENSOR_MEMORY, "begins at 0x00000020");
    expect(ALLOC("1", "slot", "64") LOAD_SLOT DEALLOC("1", "%%r3", "64")
               DEALLOC("1", "%%r3", "64"),
           1, 32, EMU_FINDING_TENSOR_MEMORY, "no allocation of 64 columns");
}

Test(emu_tensor_alloc, a_leak_is_found_when_the_cta_ends)
{
    expect(ALLOC("1", "slot", "128"), 1, 32, EMU_FINDING_TENSOR_MEMORY,
           "ended with 128 columns");
}

Test(emu_tensor_alloc, the_whole_warp_allocates)
{
    expect("setp.eq.u32 %%p1, %%r0, 0;\n@%%p1 " ALLOC("1", "slot", "64"), 1, 32,
           EMU_FINDING_DIVERGENCE, "all 32 lanes");
}

Test(emu_tensor_alloc, pairs_allocate_and_free_together)
{
    expect(ALLOC("2", "slot", "256") LOAD_SLOT DEALLOC("2", "%%r3", "256"), 2, 32,
           EMU_FINDING_COUNT, NULL);
    expect(ALLOC("2", "slot", "256") LOAD_SLOT DEALLOC("2", "%%r3", "256"), 4, 32,
           EMU_FINDING_COUNT, NULL);
}

Test(emu_tensor_alloc, a_pair_needs_both_its_ctas)
{
    expect(ALLOC("2", "slot", "256"), 1, 32, EMU_FINDING_ILLEGAL, "is not in the cluster");
    /* CTA 1 does not take part, but waits for CTA 0 */
    expect("mov.u32 %%r10, %%cluster_ctarank;\nsetp.eq.u32 %%p1, %%r10, 1;\n"
           "@%%p1 bra end;\n" ALLOC(
               "2", "slot",
               "256") "end:\n"
                      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n",
           2, 32, EMU_FINDING_DEADLOCK, "waits for a warp of CTA 1");
    expect("mov.u32 %%r10, %%cluster_ctarank;\nsetp.eq.u32 %%p1, %%r10, 1;\n"
           "@%%p1 ret;\nnanosleep.u32 1000;\n" ALLOC("2", "slot", "256"),
           2, 32, EMU_FINDING_ILLEGAL, "has exited");
    /* sizes that differ */
    expect("mov.u32 %%r10, %%cluster_ctarank;\nshl.b32 %%r10, 64, %%r10;\n" ALLOC(
               "2", "slot", "%%r10"),
           2, 32, EMU_FINDING_TENSOR_MEMORY, "do not agree");
}

Test(emu_tensor_alloc, one_kernel_has_one_group)
{
    expect(ALLOC("1", "slot", "256") LOAD_SLOT DEALLOC("2", "%%r3", "256"), 2, 32,
           EMU_FINDING_ILLEGAL, "must agree");
}

/* ---------------------------------------------------------------------------- accesses */

#define ALLOC_ALL                                          \
    "setp.ne.u32 %%p1, %%r1, 0;\n@%%p1 bra made;\n" ALLOC( \
        "1", "slot", "128") "made:\nbar.sync 0;\n" LOAD_SLOT
#define LOAD(address)                                                 \
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%%r20, %%r21}, [" address \
    "];\ntcgen05.wait::ld.sync.aligned;\n"

Test(emu_tensor_alloc, accesses_stay_inside_the_allocation)
{
    expect(ALLOC_ALL LOAD("%%r3+127"), 1, 128, EMU_FINDING_TENSOR_MEMORY,
           "column 128 of the tensor memory of CTA 0 is not allocated");
    expect(ALLOC_ALL LOAD("%%r3+511"), 1, 128, EMU_FINDING_OUT_OF_BOUNDS,
           "columns 511 to 512");
    expect("mov.u32 %%r3, 0;\n" LOAD("%%r3"), 1, 32, EMU_FINDING_TENSOR_MEMORY,
           "not allocated");
}

Test(emu_tensor_alloc, a_warp_reaches_its_own_quarter)
{
    expect(ALLOC_ALL "add.u32 %%r3, %%r3, 0x400000;\n" LOAD("%%r3"), 1, 128,
           EMU_FINDING_TENSOR_MEMORY, "reaches lanes");
    expect(ALLOC_ALL "add.u32 %%r3, %%r3, 0x100000;\n" LOAD("%%r3"), 1, 128,
           EMU_FINDING_MISALIGNED, "first lane of this shape");
    expect(ALLOC_ALL "add.u32 %%r3, %%r3, 0x80000;\n"
                     "tcgen05.ld.sync.aligned.16x64b.x1.b32 {%%r20}, [%%r3];\n",
           1, 128, EMU_FINDING_MISALIGNED, "first lane of this shape");
}

/* How many of eight seeds find a fault in a kernel of one warp. */
static unsigned count_seeds_that_find(const char *body, bool lowest_columns)
{
    static const uint8_t image[4 * 1024];
    unsigned count = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct harness h;
        struct emu_text text = {0};
        uint64_t out = 0;
        harness_open(&h);
        h.settings.seed = seed;
        h.settings.lowest_columns = lowest_columns;
        begin_kernel(&text, 100, 32, 1024);
        emu_text_add(&text, body, 0);
        end_kernel(&text);
        count += !run_kernel(&h, &text, image, 1024, 1, 32, 1, &out, 1024);
        harness_close(&h);
    }
    return count;
}

#define ADDRESS_AS_READ \
    ALLOC("1", "slot", "64") LOAD_SLOT LOAD("%%r3") DEALLOC("1", "%%r3", "64")
#define ADDRESS_AS_0         \
    ALLOC("1", "slot", "64") \
    LOAD_SLOT "mov.u32 %%r4, 0;\n" LOAD("%%r4") DEALLOC("1", "%%r3", "64")

/* On hardware the first allocation may begin at column 0 every time but the one that
 * counts. */
Test(emu_tensor_alloc, an_address_that_is_taken_as_0_is_found)
{
    cr_expect_eq(count_seeds_that_find(ADDRESS_AS_READ, false), 0);
    cr_expect_geq(count_seeds_that_find(ADDRESS_AS_0, false), 4);
}

/* For kernels that are known to work so. */
Test(emu_tensor_alloc, an_address_that_is_taken_as_0_passes_where_columns_are_the_lowest)
{
    cr_expect_eq(count_seeds_that_find(ADDRESS_AS_0, true), 0);
}

Test(emu_tensor_alloc, fresh_tensor_memory_is_undefined)
{
    expect(ALLOC_ALL LOAD("%%r3") "st.global.u32 [%%d1], %%r20;\n", 1, 128,
           EMU_FINDING_UNDEFINED, "stored");
}

Test(emu_tensor_alloc, nothing_is_left_of_a_former_owner)
{
    expect(ALLOC("1", "slot", "64") LOAD_SLOT
           "mov.u32 %%r20, 1;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%%r3], {%%r20};\n"
           "tcgen05.wait::st.sync.aligned;\n" DEALLOC("1", "%%r3", "64")
               ALLOC("1", "slot", "64") "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r20}, "
                                        "[%%r3];\ntcgen05.wait::ld.sync.aligned;\n"
                                        "st.global.u32 [%%d1], %%r20;\n",
           1, 32, EMU_FINDING_UNDEFINED, "stored");
}

Test(emu_tensor_alloc, nothing_is_freed_while_it_is_in_use)
{
    expect(
        ALLOC("1", "slot", "64") LOAD_SLOT
        "mov.u32 %%r20, 1;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%%r3], {%%r20};\n" DEALLOC(
            "1", "%%r3", "64"),
        1, 32, EMU_FINDING_IN_FLIGHT, "has not been waited for");
    expect(ALLOC("1", "slot", "64") LOAD_SLOT
           "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r20}, [%%r3];\n" DEALLOC("1", "%%r3",
                                                                              "64"),
           1, 32, EMU_FINDING_IN_FLIGHT, "has not been waited for");
    /* another warp uses it, and nothing orders its access and the end */
    expect(ALLOC_ALL "mov.u32 %%r20, 1;\n"
                     "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r3], {%%r20};\n"
                     "tcgen05.wait::st.sync.aligned;\n@%%p1 bra end;\nmov.u32 %%r21, 0;\n"
                     "again:\nadd.u32 %%r21, %%r21, 1;\n"
                     "setp.lt.u32 %%p2, %%r21, 100000;\n@%%p2 bra again;\n" DEALLOC(
                         "1", "%%r3", "128") "end:\n",
           1, 128, EMU_FINDING_RACE, "not ordered");
    expect(ALLOC_ALL
           "mov.u32 %%r20, 1;\n"
           "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r3], {%%r20};\n"
           "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n@%%p1 bra end;\n" DEALLOC(
               "1", "%%r3", "128") "end:\n",
           1, 128, EMU_FINDING_COUNT, NULL);
}

/* Longer than a cluster's turn. */
#define DELAY                                                                               \
    "mov.u32 %%r20, 0;\ndelay:\nadd.u32 %%r20, %%r20, 1;\nsetp.lt.u32 %%p2, %%r20, 3000;\n" \
    "@%%p2 bra delay;\n"

/* Runs the body in `ctas` clusters of one CTA, as one multiprocessor holds them. */
static bool run_on_one_sm(struct harness *h, const char *body, unsigned ctas, uint64_t seed)
{
    static const uint8_t image[4 * 1024];
    struct emu_text text = {0};
    uint64_t out = 0;
    harness_open(h);
    h->settings.seed = seed;
    h->settings.schedule = EMU_SCHEDULE_RANDOM;
    h->sm_count = 1;
    begin_kernel(&text, 100, 32, 1024);
    emu_text_add(&text, body, 0);
    end_kernel(&text);
    return run_kernel(h, &text, image, 1024, ctas, 32, 1, &out, 1024);
}

Test(emu_tensor_alloc, ctas_on_one_multiprocessor_wait_for_each_other)
{
    static const char body[] =
        ALLOC("1", "slot", "512") LOAD_SLOT DELAY DEALLOC("1", "%%r3", "512");
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct harness h;
        cr_expect(run_on_one_sm(&h, body, 5, seed), "%s", harness_text(&h));
        harness_close(&h);
    }
}

/* Each holds a half, and asks for the other. */
Test(emu_tensor_alloc, ctas_that_hold_what_others_wait_for_never_end)
{
    static const char body[] = ALLOC("1", "slot", "256") LOAD_SLOT DELAY ALLOC(
        "1", "bar", "256") "ld.shared.u32 %%r4, [bar];\n" DEALLOC("1", "%%r3", "256")
        DEALLOC("1", "%%r4", "256");
    unsigned stuck = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct harness h;
        if (!run_on_one_sm(&h, body, 2, seed)) {
            cr_expect_geq(harness_found(&h, EMU_FINDING_DEADLOCK), 1, "%s",
                          harness_text(&h));
            stuck++;
        }
        harness_close(&h);
    }
    cr_expect_gt(stuck, 0, "no order of eight met it");
}
