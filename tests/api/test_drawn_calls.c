/* SPDX-License-Identifier: MIT */
/* Drawn calls: whatever arguments a launch gets and whatever a text says, what is wrong is
 * told and launches nothing, what is right is launched once, and what a check takes prints,
 * parses back and prewarms. For sanitizers as much as for the statuses.
 * JIT_GEMM_TEST_DRAWS=COUNT draws more. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_fixture.h"
#include "draws.h"

enum { OPERANDS = 3, USUAL_DRAWS = 100000, TEXT_BYTES = 512 };

/* Problems of each chip, with every kind of argument between them. */
static const struct {
    int cc_major;
    const char *text;
} corpus[] = {
    {9, "512x256x128 bf16"},
    {9, "m=512 n=256 k=128 batch=2 a=bf16 c=bf16 dynamic=m epilogue=fused"},
    {9, "m=512 n=256 k=256 a=e4m3 d=bf16 a_scale=1x128 b_scale=128x128 dynamic=m,n,k"},
    {9, "m=512 n=256 k=256 batch=3 a=e4m3 d=bf16 a_scale=vector b_scale=tensor"},
    {9, "m=64 n=64 k=4096 a=bf16 workspace=64m config=split_k=4"},
    {9, "m=129 n=65 k=33 batch=2 a=bf16 d=f32 layout=tt d_layout=column input_align=2 "
        "output_align=4"},
    {9, "m=512 n=256 k=256 a=bf16 d=e4m3 d_scale=1x128 dynamic=m"},
    {9, "m=512 n=256 k=128 a=s8 c=s32 d=s32 config=kernel=reference"},
    {10, "m=512 n=256 k=256 a=mxfp8 d=mxfp8 dynamic=m,n,k"},
    {10, "m=512 n=256 k=256 batch=2 a=nvfp4 d=bf16"},
    {10, "m=512 n=256 k=256 a=mxfp8 b=mxfp4 d=bf16 dynamic=k"},
    {10, "m=5 n=4096 k=4096 a=bf16 c=bf16 workspace=64m epilogue=fused"},
    {9, "m=512 n=256 k=128 a=bf16 c=bf16 groups=5 group_by=pointers dynamic=m,k"},
};
enum { CORPUS = sizeof(corpus) / sizeof(corpus[0]) };

static int count_draws(int share)
{
    const char *text = getenv("JIT_GEMM_TEST_DRAWS");
    const int draws = text != NULL ? atoi(text) : USUAL_DRAWS;
    return draws / share > 0 ? draws / share : 1;
}

static void open_chip(struct api_fixture *fixture, int cc_major)
{
    api_fixture_driver()->cc_major = cc_major;
    api_fixture_driver()->cc_minor = 0;
    api_fixture_open(fixture);
    cr_assert_eq(jit_gemm_epilogue_register(fixture->context, &api_fused), JIT_GEMM_OK,
                 "%s", jit_gemm_last_error());
}

/* ------------------------------------------------------------------------ arguments */

struct call {
    jit_gemm_args args;
    jit_gemm_arg operands[OPERANDS];
};

static struct call right_call(const jit_gemm_problem *problem)
{
    struct call call = {.args = {.struct_size = sizeof(call.args),
                                 .m = problem->m.size,
                                 .n = problem->n.size,
                                 .k = problem->k.size,
                                 .workspace = UINT64_C(1) << 40}};
    call.args.operand_count = problem->epilogue[0] != '\0' ? OPERANDS : 0;
    jit_gemm_arg *const given[] = {
        &call.args.a,       &call.args.b,      &call.args.d, &call.operands[0],
        &call.operands[1],  &call.operands[2], &call.args.c, &call.args.a_scale,
        &call.args.b_scale, &call.args.d_scale};
    const bool wanted[] = {true,
                           true,
                           true,
                           call.args.operand_count > 0,
                           call.args.operand_count > 0,
                           call.args.operand_count > 0,
                           problem->c.dtype != JIT_GEMM_DTYPE_NONE,
                           problem->a.scale.kind != JIT_GEMM_SCALE_NONE,
                           problem->b.scale.kind != JIT_GEMM_SCALE_NONE,
                           problem->d.scale.kind != JIT_GEMM_SCALE_NONE};
    for (uint64_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        given[i]->pointer = wanted[i] ? (i + 1) << 32 : 0;
    }
    return call;
}

static uint64_t draw_value(uint64_t old)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      UINT64_MAX,
                                      8,
                                      15,
                                      127,
                                      128,
                                      255,
                                      256,
                                      260,
                                      512,
                                      1U << 31,
                                      (1U << 31) - 1,
                                      UINT64_C(1) << 32,
                                      1ULL << 40,
                                      1ULL << 41,
                                      1ULL << 62,
                                      INT64_MAX,
                                      (uint64_t)INT64_MIN,
                                      INT64_MAX - 15,
                                      UINT64_MAX - 255,
                                      0x10004};
    const uint64_t count = sizeof(values) / sizeof(values[0]);
    const uint64_t kind = draw(4);
    return kind == 0   ? old + draw(65) - 32
           : kind == 1 ? old ^ UINT64_C(1) << draw(64)
                       : values[draw(count)];
}

/* One 64-bit word of the call is another; addresses of host memory stay as they are. */
static void change_word(struct call *call)
{
    jit_gemm_args *args = &call->args;
    jit_gemm_arg *const given[] = {
        &args->a,           &args->b,          &args->c,       &args->d,
        &args->a_scale,     &args->b_scale,    &args->d_scale, &call->operands[0],
        &call->operands[1], &call->operands[2]};
    uint64_t *const others[] = {(uint64_t *)&args->m,   (uint64_t *)&args->n,
                                (uint64_t *)&args->k,   (uint64_t *)&args->batch,
                                &args->alpha_device,    &args->beta_device,
                                &args->workspace,       &args->workspace_bytes,
                                &args->operand_count,   &args->group_sizes,
                                &args->a_lds,           &args->b_lds,
                                &args->c_lds,           &args->d_lds,
                                &args->group_ns,        &args->group_ks,
                                &args->host_group_count};
    const uint64_t of_given = sizeof(given) / sizeof(given[0]);
    const uint64_t number = draw(of_given + sizeof(others) / sizeof(others[0]));
    if (number >= of_given) {
        uint64_t *word = others[number - of_given];
        *word = draw_value(*word);
        return;
    }
    jit_gemm_arg *arg = given[number];
    uint64_t words[sizeof(*arg) / sizeof(uint64_t)];
    memcpy(words, arg, sizeof(words));
    uint64_t *word = &words[draw(sizeof(words) / sizeof(words[0]))];
    *word = draw_value(*word);
    memcpy(arg, words, sizeof(words));
}

Test(drawn_calls, wrong_arguments_are_told_and_right_ones_launched_once)
{
    for (int i = 0; i < CORPUS; i++) {
        struct api_fixture fixture;
        open_chip(&fixture, corpus[i].cc_major);
        const jit_gemm_problem problem = api_problem(corpus[i].text);
        jit_gemm *gemm = NULL;
        cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK,
                     "%s: %s", corpus[i].text, jit_gemm_last_error());
        struct call right = right_call(&problem);
        right.args.operands = right.operands;
        cr_assert_eq(jit_gemm_run(gemm, &right.args, NULL), JIT_GEMM_OK, "%s: %s",
                     corpus[i].text, jit_gemm_last_error());
        int accepted = 0;
        const int draws = count_draws(CORPUS);
        for (int j = 0; j < draws; j++) {
            struct call call = right;
            for (uint64_t changes = 1 + draw(3); changes > 0; changes--) {
                change_word(&call);
            }
            call.args.operands = call.operands;
            const struct call kept = call;
            const long launches = atomic_load(&fixture.fake->launches);
            const jit_gemm_status status = jit_gemm_run(gemm, &call.args, NULL);
            const long made = atomic_load(&fixture.fake->launches) - launches;

            cr_assert_eq(memcmp(&call, &kept, sizeof(call)), 0);
            if (status == JIT_GEMM_OK) {
                accepted++;
                cr_assert(made == 1 || (made == 0 && (call.args.m == JIT_GEMM_SIZE_EMPTY ||
                                                      call.args.n == JIT_GEMM_SIZE_EMPTY)),
                          "%s: %ld launches", corpus[i].text, made);
            } else {
                cr_assert(status == JIT_GEMM_ERR_ARGUMENT ||
                              status == JIT_GEMM_ERR_UNSUPPORTED,
                          "%d: %s", (int)status, jit_gemm_last_error());
                cr_assert_eq(made, 0);
                cr_assert_eq(strncmp(jit_gemm_last_error(), "args.", 5), 0, "%s",
                             jit_gemm_last_error());
            }
        }
        cr_expect(accepted > 0 && accepted < draws, "%s: %d of %d", corpus[i].text,
                  accepted, draws);
        jit_gemm_destroy(&gemm);
        api_fixture_close(&fixture);
    }
}

/* ---------------------------------------------------------------------------- texts */

/* Words of two texts, some of them left out, with a letter or a digit changed. */
static void draw_text(char text[TEXT_BYTES])
{
    static const char letters[] = "0123456789abcdefmnkx=,_ -";
    size_t size = 0;
    for (int i = 0; i < 2; i++) {
        const char *at = corpus[draw(CORPUS)].text;
        const uint64_t keep = i == 0 ? 7 : 2; /* of 8 words */
        while (*at != '\0') {
            const size_t length = strcspn(at, " ");
            if (draw(8) < keep) {
                memcpy(text + size, at, length);
                text[size + length] = ' ';
                size += length + 1;
            }
            at += length + (at[length] == ' ');
        }
    }
    text[size] = '\0';
    for (uint64_t changes = draw(3); changes > 0 && size > 0; changes--) {
        text[draw(size)] = letters[draw(sizeof(letters) - 1)];
    }
}

/* A manifest of one problem, prewarmed: nothing may fail, or be compiled again. */
static void expect_prewarmed(struct api_fixture *fixture, const jit_gemm_problem *problem)
{
    char printed[TEXT_BYTES], manifest[2 * TEXT_BYTES];
    jit_gemm_problem back;
    cr_assert_eq(jit_gemm_problem_print(problem, printed, sizeof(printed), NULL),
                 JIT_GEMM_OK);
    cr_assert_eq(jit_gemm_problem_parse(printed, &back), JIT_GEMM_OK, "%s: %s", printed,
                 jit_gemm_last_error());
    const int size = snprintf(manifest, sizeof(manifest),
                              "jit_gemm manifest 1\n"
                              "epilogue fused\n"
                              "operand bias row_vector bf16\n"
                              "operand r matrix bf16\n"
                              "operand aux matrix f32 out\n"
                              "source %zu 1 fused.epi\n%s\nend\n"
                              "problem %s\n",
                              strlen(api_fused.source), api_fused.source, printed);
    jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
    cr_assert_eq(jit_gemm_prewarm(fixture->context, manifest, (size_t)size, NULL, &result),
                 JIT_GEMM_OK, "%s: %s", printed, jit_gemm_last_error());
    /* That of the manifest has a file's name, which is part of what is compiled. */
    const bool is_made = problem->epilogue[0] != '\0' && result.compiled == 1;
    cr_assert(result.total == 1 && (result.cached == 1 || is_made), "%s: %zu, %zu", printed,
              result.cached, result.compiled);
}

Test(drawn_calls, what_a_check_takes_prints_parses_back_and_prewarms)
{
    static const int chips[] = {9, 10};
    for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++) {
        struct api_fixture fixture;
        open_chip(&fixture, chips[i]);
        int taken = 0;
        const int draws = count_draws(20);
        for (int j = 0; j < draws; j++) {
            char text[TEXT_BYTES];
            draw_text(text);
            jit_gemm_problem problem;
            if (jit_gemm_problem_parse(text, &problem) != JIT_GEMM_OK ||
                jit_gemm_check(fixture.context, &problem) != JIT_GEMM_OK) {
                cr_assert_neq(jit_gemm_last_error()[0], '\0', "%s", text);
                continue;
            }
            jit_gemm *gemm = NULL;
            cr_assert_eq(jit_gemm_create(fixture.context, &problem, &gemm), JIT_GEMM_OK,
                         "%s: %s", text, jit_gemm_last_error());
            jit_gemm_destroy(&gemm);
            expect_prewarmed(&fixture, &problem);
            taken++;
        }
        cr_expect(taken > draws / 50 && taken < draws, "%d of %d", taken, draws);
        api_fixture_close(&fixture);
    }
}

Test(drawn_calls, a_damaged_manifest_is_told)
{
    static const char whole[] = "jit_gemm manifest 1\n"
                                "epilogue scaled\n"
                                "operand s scalar f32\n"
                                "operand aux matrix bf16 out\n"
                                "source 29 7 my file.epi\n"
                                "aux = acc * s;\nd = aux + acc;\n"
                                "end\n"
                                "problem m=512 n=512 k=512 a=bf16 epilogue=scaled\n"
                                "pack bytes=1 from=row to=128x4\n"
                                "problem 256x256x256 f16\n";
    struct api_fixture fixture;
    open_chip(&fixture, 9);
    int failed = 0;
    const int draws = count_draws(20);
    for (int i = 0; i < draws; i++) {
        char text[sizeof(whole)];
        memcpy(text, whole, sizeof(whole));
        for (uint64_t changes = 1 + draw(2); changes > 0; changes--) {
            text[draw(sizeof(whole) - 1)] =
                draw(4) == 0 ? (char)draw(256) : whole[draw(sizeof(whole) - 1)];
        }
        jit_gemm_prewarm_result result = {.struct_size = sizeof(result)};
        const size_t size = draw(8) == 0 ? draw(sizeof(whole)) : sizeof(whole) - 1;
        const jit_gemm_status status =
            jit_gemm_prewarm(fixture.context, text, size, NULL, &result);
        if (status != JIT_GEMM_OK) {
            failed++;
            cr_assert_neq(jit_gemm_last_error()[0], '\0');
        }
    }
    cr_expect(failed > draws / 10 && failed < draws, "%d of %d", failed, draws);
    api_fixture_close(&fixture);
}
