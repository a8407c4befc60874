/* SPDX-License-Identifier: MIT */
#include "unit_maker.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "epilogue_maker.h"

static jit_gemm_status find_epilogue(void *user, const char *name, jit_gemm_dtype d,
                                     const struct jg_epilogue **ret_epilogue)
{
    const struct jg_epilogue *epilogue = user;
    (void)d;
    *ret_epilogue = epilogue != NULL && strcmp(epilogue->name, name) == 0 ? epilogue : NULL;
    return JIT_GEMM_OK;
}

static struct jg_epilogue *make_epilogue(const struct unit_request *request)
{
    const struct epilogue_request wanted = {.snippet = request->snippet,
                                            .operands = request->operands,
                                            .name = request->name,
                                            .source_name = request->source_name,
                                            .first_line = request->first_line,
                                            .code = request->code,
                                            .symbol = request->symbol};
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(epilogue_make(&wanted, &epilogue), JIT_GEMM_OK, "%s: %s",
                 request->snippet != NULL ? request->snippet : request->symbol,
                 jg_error_text());
    return epilogue;
}

struct unit unit_make_registered(const char *problem, const char *arch,
                                 struct jg_epilogue *epilogue)
{
    struct unit unit = {.epilogue = epilogue};
    jit_gemm_problem user;
    cr_assert_eq(jg_problem_parse(problem, &user), JIT_GEMM_OK, "%s", jg_error_text());
    if (epilogue != NULL) {
        snprintf(user.epilogue, sizeof(user.epilogue), "%s", epilogue->name);
    }
    cr_assert_eq(jg_problem_normalize(&user, find_epilogue, epilogue, &unit.problem),
                 JIT_GEMM_OK, "%s", jg_error_text());
    unit.arch = jg_arch_find(arch != NULL ? arch : "sm_90a");
    cr_assert_not_null(unit.arch);
    cr_assert_eq(jg_config_choose(unit.arch, &unit.problem, &unit.arch->default_facts,
                                  &unit.choice, NULL),
                 JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_source_assemble(unit.arch, &unit.problem, &unit.choice, &unit.source),
                 JIT_GEMM_OK, "%s", jg_error_text());
    jg_problem_text(&unit.problem, &unit.problem_text);
    return unit;
}

struct unit unit_make(const struct unit_request *request)
{
    const bool has_epilogue = request->snippet != NULL || request->code != NULL;
    return unit_make_registered(request->problem, request->arch,
                                has_epilogue ? make_epilogue(request) : NULL);
}

struct unit unit_make_snippet(const char *snippet, const char *source_name,
                              uint32_t first_line)
{
    char operands[256];
    epilogue_list_operands(snippet, operands, sizeof(operands));
    const struct unit_request request = {
        .problem = "64x64x64 bf16 config=kernel=reference",
        .snippet = snippet,
        .operands = operands,
        .source_name = source_name,
        .first_line = first_line,
    };
    return unit_make(&request);
}

void unit_free(struct unit *unit)
{
    jg_source_free(&unit->source);
    jg_str_free(&unit->problem_text);
    jg_epilogue_destroy(unit->epilogue);
}

void unit_make_folder(char path[64])
{
    snprintf(path, 64, "/tmp/jit_gemm_test_XXXXXX");
    cr_assert_not_null(mkdtemp(path));
}

static int remove_one(const char *path, const struct stat *facts, int kind,
                      struct FTW *place)
{
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void unit_remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
