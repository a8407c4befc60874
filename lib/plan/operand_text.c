/* SPDX-License-Identifier: MIT */
#include "plan/operand_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/dtype.h"
#include "plan/epilogue.h"
#include "plan/text.h"

enum { NAME, KIND, TYPE, ROLE, PIECE_COUNT };

struct piece {
    const char *text;
    size_t size;
};

/* The pieces between separators; the number of them, which is one more than fit if there
 * are too many. Those that are not there are empty. Of blanks any number separates. */
static int split(const char *text, size_t size, char separator,
                 struct piece ret_pieces[PIECE_COUNT])
{
    int count = 0;
    size_t begin = 0;
    for (size_t i = 0; i <= size && count <= PIECE_COUNT; i++) {
        const bool is_tab = separator == ' ' && i < size && text[i] == '\t';
        if (i < size && text[i] != separator && !is_tab) {
            continue;
        }
        if (separator == ' ' && i == begin && i < size) {
            begin++;
            continue;
        }
        if (count < PIECE_COUNT) {
            ret_pieces[count] = (struct piece){text + begin, i - begin};
        }
        count++;
        begin = i + 1;
    }
    for (int i = count; i < PIECE_COUNT; i++) {
        ret_pieces[i] = (struct piece){"", 0};
    }
    return count;
}

/* `whole` is quoted in messages: there may be several operands. */
static jit_gemm_status read_pieces(const struct piece *pieces, bool has_role,
                                   const struct piece *whole, jit_gemm_operand *operand)
{
    const struct jg_quoted quoted = jg_quote(whole->text, whole->size);
    const struct piece *kind = &pieces[KIND];
    const struct piece *type = &pieces[TYPE];
    const struct piece *role = &pieces[ROLE];
    if (!jg_operand_kind_parse(kind->text, kind->size, &operand->kind)) {
        struct jg_nearest nearest = jg_nearest_begin(kind->text, kind->size);
        jg_operand_kind_nearest(&nearest);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "operand",
                       jg_near_hint(&nearest, JG_OPERAND_KINDS).text,
                       "there is no kind %s, in %s", jg_quote(kind->text, kind->size).text,
                       quoted.text);
    }
    if (!jg_dtype_parse(type->text, type->size, &operand->dtype) ||
        !jg_dtype_is_operand(operand->dtype)) {
        struct jg_nearest nearest = jg_nearest_begin(type->text, type->size);
        jg_dtype_nearest(&nearest, jg_dtype_is_operand);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "operand",
                       jg_near_hint(&nearest, JG_OPERAND_TYPES).text,
                       "operands have no type %s, in %s",
                       jg_quote(type->text, type->size).text, quoted.text);
    }
    if (has_role && !jg_operand_role_parse(role->text, role->size, &operand->role)) {
        struct jg_nearest nearest = jg_nearest_begin(role->text, role->size);
        jg_operand_role_nearest(&nearest);
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, "operand",
            jg_near_hint(&nearest, "roles: out (a matrix that the epilogue writes) sum max "
                                   "min; nothing for an input")
                .text,
            "there is no role %s, in %s", jg_quote(role->text, role->size).text,
            quoted.text);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_operand_parse(const char *text, size_t size, char separator,
                                 char ret_name[JIT_GEMM_NAME_SIZE],
                                 jit_gemm_operand *ret_operand)
{
    struct piece pieces[PIECE_COUNT];
    const struct piece whole = {text, size};
    const int count = split(text, size, separator, pieces);
    if (count <= TYPE || count > PIECE_COUNT) {
        char hint[80];
        snprintf(hint, sizeof(hint), "write NAME%cKIND%cTYPE or NAME%cKIND%cTYPE%cROLE",
                 separator, separator, separator, separator, separator);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "operand", hint, "%s has %s words",
                       jg_quote(text, size).text, count <= TYPE ? "too few" : "too many");
    }
    const struct piece *name = &pieces[NAME];
    if (name->size == 0 || name->size >= JIT_GEMM_NAME_SIZE ||
        memchr(name->text, '\0', name->size) != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "operand", "give a name of 1 to 63 letters",
                       "the name is missing, too long or has a zero byte, in %s",
                       jg_quote(text, size).text);
    }
    jit_gemm_operand operand = {.name = ret_name};
    JG_TRY(read_pieces(pieces, count > ROLE, &whole, &operand));
    memcpy(ret_name, name->text, name->size);
    ret_name[name->size] = '\0';
    *ret_operand = operand;
    return JIT_GEMM_OK;
}
