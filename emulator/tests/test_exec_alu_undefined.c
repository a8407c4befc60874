/* SPDX-License-Identifier: MIT */
/* Undefinedness passes through arithmetic, and what is not supported is refused by name. */
#include "test_exec_alu_support.h"

#include <string.h>

/* Asks for the result: a branch on it is an error when it is undefined. */
#define USE_d " setp.eq.u32 %p, %d, 77; @%p bra USED; USED: mov.pred %p, 0;"
#define USE_D " setp.eq.u64 %p, %D, 77; @%p bra USED; USED: mov.pred %p, 0;"
#define USE_h " setp.eq.u16 %p, %hd, 77; @%p bra USED; USED: mov.pred %p, 0;"
#define USE_q " @%q bra USED; USED: mov.pred %q, 0;"

enum { NONE = 0, A = 1, B = 2, C = 4 };

struct flow {
    const char *body;
    unsigned undefined;
    bool found;
};

static void check_flows(const struct flow *flows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct alu_case one = {flows[i].body, 1, 2, 3, 0};
        struct harness h;
        uint64_t results[32];
        const bool good = alu_run(&h, &one, 0xFFFFFFFF, flows[i].undefined, results);
        cr_expect_eq(good, !flows[i].found, "%s with %u: %s", flows[i].body,
                     flows[i].undefined, harness_text(&h));
        cr_expect_eq(harness_found(&h, EMU_FINDING_UNDEFINED), flows[i].found,
                     "%s with %u: %s", flows[i].body, flows[i].undefined, harness_text(&h));
        harness_close(&h);
    }
}
#define CHECK_FLOWS(flows) check_flows(flows, sizeof(flows) / sizeof(flows)[0])

Test(alu_undefined, a_result_is_undefined_where_a_source_is)
{
    static const struct flow flows[] = {
        {"add.s32 %d, %a, %b;" USE_d, NONE, false},
        {"add.s32 %d, %a, %b;" USE_d, A, true},
        {"add.s32 %d, %a, %b;" USE_d, B, true},
        {"add.s32 %d, %a, %b;" USE_d, C, false},
        {"mad.lo.s32 %d, %a, %b, %c;" USE_d, C, true},
        {"mov.b32 %d, %a;" USE_d, A, true},
        {"and.b32 %d, %a, 0;" USE_d, A, true},
        {"shl.b64 %D, %B, %a;" USE_D, A, true},
        {"bfi.b32 %d, 1, 2, %b, %c;" USE_d, C, true},
        {"fns.b32 %d, %a, %b, %c;" USE_d, C, true},
        {"fns.b32 %d, %a, 31, %c;" USE_d, NONE, false},
        {"fns.b32 %d, %a, 32, %c;" USE_d, NONE, true},
        {"fns.b32 %d, %a, -1, %c;" USE_d, NONE, true},
        {"mov.b64 %D, {%a, %b};" USE_D, B, true},
        {"mov.b64 {%d, %e}, %A;" USE_d, A, true},
        {"mov.b128 %Q, {%A, %B}; mov.b128 {%D, _}, %Q;" USE_D, B, false},
        {"mov.b128 %Q, {%A, %B}; mov.b128 {_, %D}, %Q;" USE_D, B, true},
        {"fma.rn.f32 %d, %a, %b, %c;" USE_d, C, true},
        {"add.rz.f32 %d, %a, %b;" USE_d, B, true},
        {"add.f16x2 %d, %a, %b;" USE_d, B, true},
        {"add.f32.f16 %d, %ha, %b;" USE_d, A, true},
        {"fma.rn.f32.bf16 %d, %ha, %hb, %c;" USE_d, B, true},
        {"cvt.u64.u32 %D, %a;" USE_D, A, true},
        {"cvt.rs.bf16x2.f32 %d, %a, %b, %c;" USE_d, B, true},
        {"cvt.rs.bf16x2.f32 %d, %a, %b, %c;" USE_d, C, true},
        {"cvt.rs.satfinite.e4m3x4.f32 %d, {%a, %a, %b, %a}, %c;" USE_d, B, true},
        {"cvt.rn.f16.f32 %hd, %a;" USE_h, A, true},
        {"cvt.rn.bf16x2.f32 %d, %a, %b;" USE_d, B, true},
        {"cvt.rn.satfinite.e4m3x2.f32 %hd, %a, %b;" USE_h, A, true},
        {"cvt.rni.s16.f64 %hd, %A;" USE_h, A, true},
        {"add.cc.u32 %d, %a, %b; addc.u32 %d, 1, 2;" USE_d, A, true},
        {"add.cc.u32 %d, %a, %b; addc.u32 %d, 1, 2;" USE_d, C, false},
        {"mad.lo.cc.u32 %d, %a, 5, %c;" USE_d, A, true},
    };
    CHECK_FLOWS(flows);
}

Test(alu_undefined, predicates_can_be_undefined_too)
{
    static const struct flow flows[] = {
        {"setp.eq.u32 %q, %a, %b;" USE_q, A, true},
        {"setp.eq.u32 %q, %a, %b;" USE_q, C, false},
        {"setp.eq.and.u32 %q, %a, %b, %r;" USE_q, C, true},
        {"setp.eq.f16x2 %q|%p, %a, %b; mov.pred %p, 0;" USE_q, B, true},
        {"not.pred %q, %r;" USE_q, C, true},
        {"or.pred %q, %r, %r;" USE_q, NONE, false},
        {"testp.normal.f32 %q, %a;" USE_q, A, true},
        {"set.eq.u32.u32 %d, %a, %b;" USE_d, B, true},
        {"vote.sync.any.pred %q, %r, -1;" USE_q, C, true},
    };
    CHECK_FLOWS(flows);
}

Test(alu_undefined, a_selection_needs_only_what_it_chooses)
{
    static const struct flow flows[] = {
        {"selp.b32 %d, %a, %b, %r;" USE_d, A, true}, /* c is odd: a */
        {"selp.b32 %d, %a, %b, %r;" USE_d, B, false},
        {"selp.b32 %d, %a, %b, %r;" USE_d, C, true},
        {"slct.b32.s32 %d, %a, %b, %c;" USE_d, B, false},
        {"slct.b32.s32 %d, %a, %b, %c;" USE_d, C, true},
    };
    CHECK_FLOWS(flows);
}

Test(alu_undefined, a_written_register_is_defined_again)
{
    static const struct flow flows[] = {
        {"mov.b32 %d, %a; mov.b32 %d, 5;" USE_d, A, false},
        {"mov.b32 %d, %a; mov.u32 %d, %laneid;" USE_d, A, false},
        {"and.b32 %e, %t, 1; setp.eq.u32 %p, %e, 0; mov.b32 %d, %a; @%p mov.b32 %d, 5;" USE_d,
         A, true},
    };
    CHECK_FLOWS(flows);
}

Test(alu_undefined, lanes_pass_it_on_to_each_other)
{
    static const struct flow flows[] = {
        /* Only lane 3 is undefined. */
        {"setp.eq.u32 %p, %t, 3; selp.b32 %e, %a, 7, %p;"
         "shfl.sync.idx.b32 %d, %e, 3, 31, -1;" USE_d,
         A, true},
        {"setp.eq.u32 %p, %t, 3; selp.b32 %e, %a, 7, %p;"
         "shfl.sync.idx.b32 %d, %e, 4, 31, -1;" USE_d,
         A, false},
        {"setp.eq.u32 %p, %t, 3; selp.b32 %e, %a, 7, %p; redux.sync.add.u32 %d, %e, -1;" USE_d,
         A, true},
        {"match.any.sync.b32 %d, %a, -1;" USE_d, A, true},
        {"vote.sync.any.pred %q, %r, %a;", A, true}, /* the membermask */
        {"nanosleep.u32 %a;", A, true},
    };
    CHECK_FLOWS(flows);
}

/* ----------------------------------------------------------------------------- refusals */

Test(alu_refusal, errors_name_what_is_not_supported)
{
    static const struct {
        const char *target, *body, *words;
    } cases[] = {
        {"sm_100a", "add.foo.s32 %d, %a, %b;", ".foo"},
        {"sm_100a", "add.sat.u32 %d, %a, %b;", ".sat"},
        {"sm_100a", "mul.lo.f32 %d, %a, %b;", ".lo"},
        {"sm_100a", "mul.s32 %d, %a, %b;", "mul.s32"},
        {"sm_100a", "fma.f32 %d, %a, %b, %c;", "fma.f32"},
        {"sm_100a", "add.rn.rz.f32 %d, %a, %b;", "do not go together"},
        {"sm_100a", "fma.rn.rz.f32 %d, %a, %b, %c;", "do not go together"},
        {"sm_100a", "fma.rn.oob.f16 %hd, %ha, %hb, %hc;", ".oob"},
        {"sm_100a", "vadd.s32.s32.s32 %d, %a, %b;", "vadd"},
        {"sm_100a", "fns.u32 %d, %a, %b, %c;", "fns.u32"},
        {"sm_100a", "fns.b32 %d, %A, %b, %c;", "64-bit register where 32"},
        {"sm_100a", "pmevent 1;", "pmevent"},
        {"sm_100a", "add.s32 %d, %A, %b;", "64-bit register where 32"},
        {"sm_100a", "add.s32 %d, %a, %tid.x;", "%tid.x"},
        {"sm_100a", "add.f32 %d, %a, 1;", "integer constant"},
        {"sm_100a", "add.s32 %d, %a, 1.5;", "floating-point constant"},
        {"sm_100a", "add.s32 _, %a, %b;", "cannot be _"},
        {"sm_100a", "add.s32 %p, %a, %b;", "%p"},
        {"sm_100a", "add.s32 %d, %a;", "operands"},
        {"sm_100a", "mov.u32 %d, %pm0;", "%pm0"},
        {"sm_100a", "mov.u32 %d, %clock64;", "%clock64"},
        {"sm_100a", "mov.b64 {%d, %e, %hd}, %A;", "3 elements"},
        {"sm_100a", "setp.lo.s32 %p, %a, %b;", ".lo"},
        {"sm_100a", "setp.num.s32 %p, %a, %b;", ".num"},
        {"sm_100a", "setp.lt.b32 %p, %a, %b;", ".lt"},
        {"sm_100a", "setp.eq.ftz.s32 %p, %a, %b;", ".ftz"},
        {"sm_100a", "setp.eq.f16x2 %p, %a, %b;", "p|q"},
        {"sm_100a", "set.eq.f16.bf16 %hd, %ha, %hb;", "result"},
        {"sm_100a", "isspacep.const %p, %A;", "space"},
        {"sm_100a", "cvt.f16.f32 %hd, %a;", "rounding"},
        {"sm_100a", "cvt.rn.f32.f16 %d, %ha;", "rounding"},
        {"sm_100a", "cvt.rn.s32.f32 %d, %a;", ".rni"},
        {"sm_100a", "cvt.f32.s32 %d, %a;", ".rn"},
        {"sm_100a", "cvt.sat.u64.u32 %D, %a;", ".sat"},
        {"sm_100a", "cvt.rn.e4m3x2.f32 %hd, %a, %b;", ".satfinite"},
        {"sm_100a", "cvt.rs.f16.f32 %hd, %a, %b;", ".rs"},
        {"sm_100a", "cvt.rs.e4m3x4.f32 %d, {%a, %b, %c, %d}, %e;", ".satfinite"},
        {"sm_100a", "cvt.rs.satfinite.e4m3x2.f32 %hd, %a, %b, %c;", ".rs"},
        {"sm_100a", "cvt.rn.satfinite.e4m3x4.f32 %d, {%a, %b, %c, %d};", "e4m3x4"},
        {"sm_100a", "cvt.rn.satfinite.e4m3x2.bf16x2 %hd, %a;", "bf16x2"},
        {"sm_100a", "cvt.rn.bf16.f32 %d, %a;", "32-bit register for .bf16"},
        {"sm_100a", "shfl.idx.b32 %d, %a, %b, 31;", ".sync"},
        {"sm_100a", "vote.all.pred %p, %r;", ".sync"},
        {"sm_100a", "redux.sync.add.f32 %d, %a, -1;", "type"},
        {"sm_100a", "redux.sync.min.abs.s32 %d, %a, -1;", ".abs"},
        {"sm_100a", "match.any.sync.b32 %d|%p, %a, -1;", ".all"},
        {"sm_100a", "elect.sync %d, -1;", "d|p"},
        {"sm_100a", "ldmatrix.sync.aligned.m16n16.x1.shared.b8 {%d, %e}, [%a];", "trans"},
        {"sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%d}, [%a];", "b8x16"},
        {"sm_100a", "stmatrix.sync.aligned.m16n16.x1.trans.shared.b8 [%a], {%d};", "m16n8"},
        {"sm_100a", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%d}, [%a];", "1 registers"},
        {"sm_90a", "add.f32x2 %D, %A, %B;", "sm_100"},
        {"sm_90a", "max.f32 %d, %a, %b, %c;", "sm_100"},
        {"sm_90a", "redux.sync.min.f32 %d, %a, -1;", "sm_100"},
        {"sm_90a", "cvt.rn.f16x2.e2m3x2 %d, %ha;", "sm_100"},
    };
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *error = alu_refusal(cases[i].target, cases[i].body);
        cr_expect_not_null(strstr(error, cases[i].words), "%s: \"%s\" does not name %s",
                           cases[i].body, error, cases[i].words);
        cr_expect_neq(error[0], '\0', "%s is accepted", cases[i].body);
    }
}

Test(alu_refusal, words_may_come_in_any_order)
{
    cr_expect_str_eq(alu_refusal("sm_100a", "cvt.bf16.f32.rn %hd, %a;"), "");
    cr_expect_str_eq(alu_refusal("sm_100a", "min.s16x2.relu %d, %a, %b;"), "");
    cr_expect_str_eq(alu_refusal("sm_100a", "add.f32.ftz.rn %d, %a, %b;"), "");
}
