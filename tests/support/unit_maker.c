/* SPDX-License-Identifier: MIT */
#include "unit_maker.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const struct jg_epilogue *find_epilogue(void *user, const char *name)
{
    const struct jg_epilogue *epilogue = user;
    return epilogue != NULL && strcmp(epilogue->name, name) == 0 ? epilogue : NULL;
}

static struct jg_epilogue *make_epilogue(const struct unit_request *request)
{
    static char names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS] = {{0}};
    uint32_t count = 0;
    const char *at = request->operands != NULL ? request->operands : "";
    while (*at != '\0') {
        char kind[32] = "";
        char dtype[8] = "";
        char role[8] = "";
        int used = 0;
        cr_assert(
            sscanf(at, "%63[^:]:%31[^:]:%7[^: ]%n", names[count], kind, dtype, &used) == 3);
        at += used;
        if (sscanf(at, ":%7s%n", role, &used) == 1) {
            at += used;
        }
        operands[count].name = names[count];
        cr_assert(jg_operand_kind_parse(kind, strlen(kind), &operands[count].kind));
        cr_assert(jg_dtype_parse(dtype, strlen(dtype), &operands[count].dtype));
        operands[count].role =
            strcmp(role, "out") == 0 ? JIT_GEMM_OPERAND_OUTPUT : JIT_GEMM_OPERAND_INPUT;
        count++;
        at += strspn(at, " ");
    }
    const jit_gemm_epilogue user = {
        .struct_size = sizeof(user),
        .name = request->name != NULL ? request->name : "test",
        .source = request->snippet,
        .source_name = request->source_name,
        .first_line = request->first_line,
        .operands = operands,
        .operand_count = count,
    };
    struct jg_epilogue *epilogue = NULL;
    cr_assert_eq(jg_epilogue_create(&user, &epilogue), JIT_GEMM_OK, "%s: %s",
                 request->snippet, jg_error_text());
    return epilogue;
}

struct unit unit_make(const struct unit_request *request)
{
    struct unit unit = {0};
    jit_gemm_problem user;
    cr_assert_eq(jg_problem_parse(request->problem, &user), JIT_GEMM_OK, "%s",
                 jg_error_text());
    if (request->snippet != NULL) {
        unit.epilogue = make_epilogue(request);
        snprintf(user.epilogue, sizeof(user.epilogue), "%s", unit.epilogue->name);
    }
    cr_assert_eq(jg_problem_normalize(&user, find_epilogue, unit.epilogue, &unit.problem),
                 JIT_GEMM_OK, "%s", jg_error_text());
    unit.arch = jg_arch_find(request->arch != NULL ? request->arch : "sm_90a");
    cr_assert_not_null(unit.arch);
    cr_assert_eq(jg_config_choose(unit.arch, &unit.problem, &unit.arch->default_facts,
                                  &unit.choice, NULL),
                 JIT_GEMM_OK, "%s", jg_error_text());
    cr_assert_eq(jg_source_assemble(unit.arch, &unit.problem, &unit.choice, &unit.source),
                 JIT_GEMM_OK, "%s", jg_error_text());
    jg_problem_text(&unit.problem, &unit.problem_text);
    return unit;
}

struct unit unit_make_snippet(const char *snippet, const char *source_name,
                              uint32_t first_line)
{
    const struct unit_request request = {
        .problem = "64x64x64 bf16 config=kernel=reference",
        .snippet = snippet,
        .operands = strstr(snippet, "aux") != NULL
                        ? "bias:row_vector:bf16 r:matrix:bf16 s:scalar:f32 "
                          "aux:matrix:f32:out"
                        : "bias:row_vector:bf16 r:matrix:bf16 s:scalar:f32",
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
