/* SPDX-License-Identifier: MIT */
#include "epilogue_maker.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "plan/dtype.h"

struct operand_list {
    jit_gemm_operand operands[JIT_GEMM_MAX_OPERANDS];
    char names[JIT_GEMM_MAX_OPERANDS][JIT_GEMM_NAME_SIZE];
    uint32_t count;
};

static void read_operands(const char *at, struct operand_list *list)
{
    while (at != NULL && *at != '\0') {
        char kind[32] = "";
        char dtype[8] = "";
        char role[8] = "";
        int used = 0;
        cr_assert_lt(list->count, JIT_GEMM_MAX_OPERANDS);
        char *name = list->names[list->count];
        jit_gemm_operand *operand = &list->operands[list->count++];
        cr_assert(sscanf(at, "%63[^:]:%31[^:]:%7[^: ]%n", name, kind, dtype, &used) == 3,
                  "%s", at);
        at += used;
        if (sscanf(at, ":%7s%n", role, &used) == 1) {
            at += used;
        }
        operand->name = name;
        cr_assert(jg_operand_kind_parse(kind, strlen(kind), &operand->kind), "%s", kind);
        cr_assert(jg_dtype_parse(dtype, strlen(dtype), &operand->dtype), "%s", dtype);
        cr_assert(role[0] == '\0' ||
                      jg_operand_role_parse(role, strlen(role), &operand->role),
                  "%s", role);
        at += strspn(at, " ");
    }
}

jit_gemm_status epilogue_make(const struct epilogue_request *request,
                              struct jg_epilogue **ret_epilogue)
{
    struct operand_list list = {.count = 0};
    read_operands(request->operands, &list);
    const jit_gemm_epilogue user = {
        .struct_size = sizeof(user),
        .name = request->name != NULL ? request->name : "test",
        .source = request->snippet,
        .source_size = request->snippet_size,
        .source_name = request->source_name,
        .first_line = request->first_line,
        .operands = list.operands,
        .operand_count = list.count,
        .code = request->code != NULL ? request->code->data : NULL,
        .code_size = request->code != NULL ? request->code->size : 0,
        .symbol = request->symbol,
    };
    return jg_epilogue_create(&user, ret_epilogue);
}

/* By hand: some sanitizers measure all of the text in each strstr. */
static bool has_word(const char *text, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        const bool begins =
            at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (begins && strncmp(at, word, size) == 0 &&
            !(isalnum((unsigned char)at[size]) || at[size] == '_')) {
            return true;
        }
    }
    return false;
}

void epilogue_list_operands(const char *snippet, char *buffer, size_t size)
{
    static const char *const rows[][2] = {
        {"bias", "bias:row_vector:bf16"}, {"c", "c:column_vector:f32"},
        {"r", "r:matrix:bf16"},           {"s", "s:scalar:f32"},
        {"aux", "aux:matrix:f32:out"},    {"aux2", "aux2:matrix:bf16:out"},
    };
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (has_word(snippet, rows[i][0])) {
            used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                     used > 0 ? " " : "", rows[i][1]);
            cr_assert_lt(used, size);
        }
    }
}
