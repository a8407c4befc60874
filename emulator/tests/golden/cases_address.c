/* SPDX-License-Identifier: MIT */
/*
 * Addresses of shared memory as a kernel sees them: where it begins, what is in the upper
 * bits of a CTA of a cluster, what mapa, cvta and isspacep make of them. Generic addresses
 * are given relative to the window of shared memory, whose own place differs from run to
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* $s: bytes of static shared memory, $a: alignment of the dynamic one. */
static const char head[] =
    ".version 8.6\n.target sm_90a\n.address_size 64\n"
    ".extern .shared .align $a .b8 dynamic[];\n"
    ".visible .entry run(.param .u64 p_in, .param .u64 p_out, .param .u32 p_count)\n{\n"
    "    .shared .align 16 .b8 fixed[$s];\n"
    "    .reg .pred %p;\n    .reg .b32 %rank, %size, %own, %next, %far, %r;\n"
    "    .reg .b64 %out, %base, %generic, %beyond, %d;\n"
    "    ld.param.u64 %out, [p_out];\n"
    "    mov.u32 %rank, %cluster_ctarank;\n    mov.u32 %size, %cluster_nctarank;\n"
    "    mov.b64 %d, 0;\n    cvta.shared.u64 %base, %d;\n"
    "    mov.u32 %own, $v;\n    mov.u64 %d, $v;\n    cvta.shared.u64 %generic, %d;\n"
    "    add.u32 %r, %rank, 100;\n    st.shared.u32 [%own], %r;\n"
    "    add.u32 %next, %rank, 1;\n    setp.eq.u32 %p, %next, %size;\n"
    "    selp.u32 %next, 0, %next, %p;\n"
    "    mapa.shared::cluster.u32 %far, %own, %next;\n"
    "    mapa.u64 %beyond, %generic, %next;\n"
    "    barrier.cluster.arrive.release;\n    barrier.cluster.wait.acquire;\n";

/* What is written, in order: each leaves a word in %r. */
static const struct fact {
    const char *what, *ptx;
} facts[] = {
    {"rank", "mov.u32 %r, %rank;"},
    {"address", "mov.u32 %r, %own;"},
    {"address of dynamic memory", "mov.u32 %r, dynamic;"},
    {"generic - window", "sub.u64 %d, %generic, %base; cvt.u32.u64 %r, %d;"},
    {"generic - window, upper half",
     "sub.u64 %d, %generic, %base; shr.u64 %d, %d, 32; cvt.u32.u64 %r, %d;"},
    {"generic to shared", "cvta.to.shared.u64 %d, %generic; cvt.u32.u64 %r, %d;"},
    {"getctarank", "getctarank.shared::cluster.u32 %r, %own;"},
    {"getctarank of a generic address", "getctarank.u64 %r, %generic;"},
    {"mapa to the next", "mov.u32 %r, %far;"},
    {"mapa to the next, generic - window",
     "sub.u64 %d, %beyond, %base; cvt.u32.u64 %r, %d;"},
    {"the same, upper half",
     "sub.u64 %d, %beyond, %base; shr.u64 %d, %d, 32; cvt.u32.u64 %r, %d;"},
    {"getctarank of the next", "getctarank.shared::cluster.u32 %r, %far;"},
    {"getctarank of the next, generic", "getctarank.u64 %r, %beyond;"},
    {"mapa to rank 0", "mapa.shared::cluster.u32 %r, %own, 0;"},
    {"mapa of a mapped address", "mapa.shared::cluster.u32 %r, %far, %rank;"},
    {"the even rank's address", "and.b32 %r, %own, 0xFEFFFFFF;"},
    {"load of the next", "ld.shared::cluster.u32 %r, [%far];"},
    {"generic load of the next", "ld.u32 %r, [%beyond];"},
    {"load of the even rank",
     "and.b32 %r, %own, 0xFEFFFFFF; ld.shared::cluster.u32 %r, [%r];"},
    {"generic load of its own", "ld.u32 %r, [%generic];"},
#define IS(space, address) "isspacep." space " %p, " address "; selp.u32 %r, 1, 0, %p;"
    {"own is shared::cta", IS("shared::cta", "%generic")},
    {"own is shared::cluster", IS("shared::cluster", "%generic")},
    {"own is global", IS("global", "%generic")},
    {"own is local", IS("local", "%generic")},
    {"next is shared::cta", IS("shared::cta", "%beyond")},
    {"next is shared::cluster", IS("shared::cluster", "%beyond")},
    {"next is global", IS("global", "%beyond")},
    {"output is global", IS("global", "%out")},
    {"output is shared::cta", IS("shared::cta", "%out")},
    {"output is shared::cluster", IS("shared::cluster", "%out")},
    {"output is local", IS("local", "%out")},
#undef IS
    {"dynamic bytes", "mov.u32 %r, %dynamic_smem_size;"},
    {"cluster_nctarank", "mov.u32 %r, %cluster_nctarank;"},
    {"cluster_ctaid.x", "mov.u32 %r, %cluster_ctaid.x;"},
    {"cluster_nctaid.x", "mov.u32 %r, %cluster_nctaid.x;"},
    {"clusterid.x", "mov.u32 %r, %clusterid.x;"},
    {"nclusterid.x", "mov.u32 %r, %nclusterid.x;"},
    {"is_explicit_cluster", "mov.pred %p, %is_explicit_cluster; selp.u32 %r, 1, 0, %p;"},
};

/* Where the window lies, and what the driver adds: to be read. */
static const struct fact aperture[] = {
    {"window, lower half", "cvt.u32.u64 %r, %base;"},
    {"window, upper half", "shr.u64 %d, %base, 32; cvt.u32.u64 %r, %d;"},
    {"total bytes", "mov.u32 %r, %total_smem_size;"},
};

/* `variable` is what "own" is: the static or the dynamic array. */
static void run_addresses(struct gold_run *run, const char *name, unsigned ranks,
                          unsigned static_bytes, unsigned alignment, const char *variable,
                          bool record_only)
{
    const struct gold_value values[] = {
        {'s', static_bytes}, {'a', alignment}, {'v', 0}, {'\0', 0}};
    struct gold_text ptx = {0}, form = {0}, body = {0};
    struct gold_case one;
    const struct fact *list = record_only ? aperture : facts;
    unsigned words = record_only ? COUNT(aperture) : COUNT(facts);
    const char *names[COUNT(facts)];

    for (const char *at = head; *at != '\0'; at++) { /* $v is a name, not a number */
        if (strncmp(at, "$v", 2) == 0) {
            gold_text_add(&form, "%s", variable);
            at++;
        } else {
            gold_text_add(&form, "%c", *at);
        }
    }
    gold_text_fill(&ptx, form.text, values);
    for (size_t i = 0; i < words; i++) {
        names[i] = list[i].what;
        gold_text_add(&body, "    %s\n    st.global.u32 [%%out+%zu], %%r;\n", list[i].ptx,
                      4 * i);
    }
    gold_text_add(&ptx, "    mad.wide.u32 %%out, %%rank, %u, %%out;\n%s", 4 * words,
                  body.text);
    gold_text_add(&ptx, "    barrier.cluster.arrive.release;\n"
                        "    barrier.cluster.wait.acquire;\n    ret;\n}\n");
    memset(&one, 0, sizeof(one));
    one.name = name;
    one.ptx = ptx.text;
    one.grid = one.cluster = ranks;
    one.block = 1;
    one.shared_bytes = 2048;
    one.items = one.full_items = ranks * words;
    one.row_items = words;
    one.column_names = names;
    one.block_items = 1;
    one.item_bytes = one.part_bytes = 4;
    one.record_only = record_only;
    gold_case_run(run, &one);
    free(ptx.text);
    free(form.text);
    free(body.text);
}

void gold_address_cases(struct gold_run *run)
{
    run_addresses(run, "cluster_1", 1, 64, 16, "fixed", false);
    run_addresses(run, "cluster_2", 2, 64, 16, "fixed", false);
    run_addresses(run, "cluster_4", 4, 64, 16, "fixed", false);
    run_addresses(run, "cluster_2_dynamic", 2, 64, 16, "dynamic", false);
    run_addresses(run, "cluster_2_aligned", 2, 64, 1024, "dynamic", false);
    run_addresses(run, "static_odd", 2, 52, 128, "fixed", false);
    run_addresses(run, "window", 2, 64, 16, "fixed", true);
}
