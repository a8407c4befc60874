/* SPDX-License-Identifier: MIT */
#include "plan/epilogue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct.h"
#include "plan/dtype.h"
#include "plan/snippet.h"
#include "plan/text.h"

enum { MAX_SOURCE_NAME = 1024 };
/* Line numbers of the whole snippet must stay within what a #line directive takes. */
#define MAX_FIRST_LINE (UINT32_C(2147483647) - JG_SNIPPET_MAX_BYTES)

static const char *const names_in_scope[] = {"acc",   "d", "row", "col",
                                             "batch", "M", "N",   "K"};
static const char *const prelude_names[] = {"relu", "gelu", "gelu_tanh", "silu", "sigmoid",
                                            "tanh", "exp",  "log",       "sqrt", "rsqrt",
                                            "min",  "max",  "clamp",     "fma",  "abs"};
static const char *const device_names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                           "warpSize"};
static const char *const keywords[] = {"alignas",      "alignof",
                                       "and",          "and_eq",
                                       "asm",          "auto",
                                       "bitand",       "bitor",
                                       "bool",         "break",
                                       "case",         "catch",
                                       "char",         "char16_t",
                                       "char32_t",     "class",
                                       "compl",        "const",
                                       "const_cast",   "constexpr",
                                       "continue",     "decltype",
                                       "default",      "delete",
                                       "do",           "double",
                                       "dynamic_cast", "else",
                                       "enum",         "explicit",
                                       "export",       "extern",
                                       "false",        "float",
                                       "for",          "friend",
                                       "goto",         "if",
                                       "inline",       "int",
                                       "long",         "mutable",
                                       "namespace",    "new",
                                       "noexcept",     "not",
                                       "not_eq",       "nullptr",
                                       "operator",     "or",
                                       "or_eq",        "private",
                                       "protected",    "public",
                                       "register",     "reinterpret_cast",
                                       "return",       "short",
                                       "signed",       "sizeof",
                                       "static",       "static_assert",
                                       "static_cast",  "struct",
                                       "switch",       "template",
                                       "this",         "thread_local",
                                       "throw",        "true",
                                       "try",          "typedef",
                                       "typeid",       "typename",
                                       "union",        "unsigned",
                                       "using",        "virtual",
                                       "void",         "volatile",
                                       "wchar_t",      "while",
                                       "xor",          "xor_eq"};

#define IS_ONE_OF(name, list) is_one_of(name, list, sizeof(list) / sizeof((list)[0]))

static const char *const kind_names[] = {[JIT_GEMM_OPERAND_SCALAR] = "scalar",
                                         [JIT_GEMM_OPERAND_ROW_VECTOR] = "row_vector",
                                         [JIT_GEMM_OPERAND_COLUMN_VECTOR] = "column_vector",
                                         [JIT_GEMM_OPERAND_MATRIX] = "matrix"};

enum { KIND_COUNT = sizeof(kind_names) / sizeof(kind_names[0]) };

bool jg_operand_kind_exists(jit_gemm_operand_kind kind)
{
    return (unsigned)kind < KIND_COUNT;
}

const char *jg_operand_kind_name(jit_gemm_operand_kind kind)
{
    return jg_operand_kind_exists(kind) ? kind_names[kind] : "unknown";
}

bool jg_operand_kind_parse(const char *text, size_t size, jit_gemm_operand_kind *ret_kind)
{
    for (int i = 0; i < KIND_COUNT; i++) {
        if (jg_word_is(text, size, kind_names[i])) {
            *ret_kind = (jit_gemm_operand_kind)i;
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Copies a name of at most 63 bytes that is a C identifier. */
static jit_gemm_status copy_identifier(const char *where, const char *name, char *ret_name)
{
    if (name == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give a C identifier", "is NULL");
    }
    const size_t size = strnlen(name, JIT_GEMM_NAME_SIZE);
    if (size >= JIT_GEMM_NAME_SIZE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "use a shorter name",
                       "%s is longer than %d bytes", jg_quote(name, size).text,
                       JIT_GEMM_NAME_SIZE - 1);
    }
    if (!jg_is_identifier(name, size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "use letters, digits and '_', not beginning with a digit",
                       "%s is no C identifier", jg_quote(name, size).text);
    }
    memcpy(ret_name, name, size + 1);
    return JIT_GEMM_OK;
}

/* Why an operand cannot have this name; NULL if it can. */
static const char *find_name_conflict(const struct jg_epilogue *epilogue, const char *name)
{
    if (IS_ONE_OF(name, keywords)) {
        return "is a C++ keyword";
    }
    if (IS_ONE_OF(name, names_in_scope)) {
        return "is in scope of every snippet already";
    }
    if (IS_ONE_OF(name, prelude_names)) {
        return "is a function of the prelude";
    }
    if (IS_ONE_OF(name, device_names)) {
        return "is a built-in variable of CUDA";
    }
    if (strncmp(name, "jg", 2) == 0 || strncmp(name, "JG", 2) == 0 ||
        strncmp(name, "__", 2) == 0) {
        return "begins with a reserved prefix (jg, JG, __)";
    }
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (strcmp(epilogue->operands[i].name, name) == 0) {
            return "is the name of an earlier operand";
        }
    }
    return NULL;
}

static jit_gemm_status check_operand_kind(const char *where,
                                          const jit_gemm_operand *operand)
{
    char field[64];
    if (!jg_operand_kind_exists(operand->kind)) {
        snprintf(field, sizeof(field), "%s.kind", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, JG_OPERAND_KINDS,
                       "%d is no kind of operand", (int)operand->kind);
    }
    if (jg_dtype_bits(operand->dtype) == 0) {
        snprintf(field, sizeof(field), "%s.dtype", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, JG_OPERAND_TYPES,
                       "%d is no element type", (int)operand->dtype);
    }
    if (!jg_dtype_is_operand(operand->dtype)) {
        snprintf(field, sizeof(field), "%s.dtype", where);
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field, JG_OPERAND_TYPES,
                       "there is no kernel for an operand of type %s",
                       jg_dtype_name(operand->dtype));
    }
    if ((unsigned)operand->role > JIT_GEMM_OPERAND_OUTPUT) {
        snprintf(field, sizeof(field), "%s.role", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give JIT_GEMM_OPERAND_INPUT or JIT_GEMM_OPERAND_OUTPUT",
                       "must be 0 or 1, is %d", (int)operand->role);
    }
    if (operand->role == JIT_GEMM_OPERAND_OUTPUT &&
        operand->kind != JIT_GEMM_OPERAND_MATRIX) {
        snprintf(field, sizeof(field), "%s.role", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "declare it as a matrix",
                       "an output must be a matrix, is a %s",
                       jg_operand_kind_name(operand->kind));
    }
    if (operand->reserved != 0) {
        snprintf(field, sizeof(field), "%s.reserved", where);
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "zero the struct before filling it",
                       "must be 0, is %d", operand->reserved);
    }
    return JIT_GEMM_OK;
}

/* Appends one operand. */
static jit_gemm_status add_operand(struct jg_epilogue *epilogue,
                                   const jit_gemm_operand *operand)
{
    char where[48];
    char name_field[64];
    snprintf(where, sizeof(where), "epilogue.operands[%u]", epilogue->operand_count);
    snprintf(name_field, sizeof(name_field), "%s.name", where);
    char name[JIT_GEMM_NAME_SIZE] = {0};
    JG_TRY(copy_identifier(name_field, operand->name, name));
    const char *conflict = find_name_conflict(epilogue, name);
    if (conflict != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, name_field, "use another name", "'%s' %s",
                       name, conflict);
    }
    JG_TRY(check_operand_kind(where, operand));
    struct jg_operand *own = &epilogue->operands[epilogue->operand_count++];
    memcpy(own->name, name, sizeof(own->name));
    own->kind = operand->kind;
    own->dtype = operand->dtype;
    own->role = operand->role;
    return JIT_GEMM_OK;
}

static jit_gemm_status copy_operands(struct jg_epilogue *epilogue,
                                     const jit_gemm_epilogue *user)
{
    if (user->operand_count > JIT_GEMM_MAX_OPERANDS) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.operand_count",
                       "use fewer operands", "must be at most %d, is %u",
                       JIT_GEMM_MAX_OPERANDS, user->operand_count);
    }
    if (user->operand_count > 0 && user->operands == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.operands",
                       "give the operands, or operand_count 0",
                       "is NULL while operand_count is %u", user->operand_count);
    }
    for (uint32_t i = 0; i < user->operand_count; i++) {
        JG_TRY(add_operand(epilogue, &user->operands[i]));
    }
    return JIT_GEMM_OK;
}

/* The name goes into messages of one line. */
static jit_gemm_status check_source_name(const char *name)
{
    const size_t size = strnlen(name, MAX_SOURCE_NAME + 1);
    if (size == 0 || size > MAX_SOURCE_NAME) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.source_name",
                       "give a file name, or NULL for the epilogue's name",
                       "must have 1 to %d bytes", MAX_SOURCE_NAME);
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.source_name",
                           "use a name of printable characters",
                           "%s has a control character at byte %zu",
                           jg_quote(name, size).text, i + 1);
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status copy_source(struct jg_epilogue *epilogue,
                                   const jit_gemm_epilogue *user)
{
    if (user->source == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.source",
                       "give the snippet, for instance 'd = relu(acc);'", "is NULL");
    }
    if (user->first_line > MAX_FIRST_LINE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.first_line",
                       "give the snippet's line in its file, or 0",
                       "must be at most %u, is %u", MAX_FIRST_LINE, user->first_line);
    }
    const char *source_name =
        user->source_name != NULL ? user->source_name : epilogue->name;
    JG_TRY(check_source_name(source_name));
    epilogue->first_line = user->first_line > 0 ? user->first_line : 1;
    epilogue->source_size =
        user->source_size > 0 ? user->source_size : strlen(user->source);
    epilogue->source = jg_copy_text(user->source, epilogue->source_size);
    epilogue->source_name = jg_copy_text(source_name, strlen(source_name));
    if (epilogue->source == NULL || epilogue->source_name == NULL) {
        return jg_fail_memory();
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status fill_epilogue(struct jg_epilogue *epilogue,
                                     const jit_gemm_epilogue *user)
{
    JG_TRY(copy_identifier("epilogue.name", user->name, epilogue->name));
    JG_TRY(copy_operands(epilogue, user));
    JG_TRY(copy_source(epilogue, user));
    return jg_snippet_check(epilogue);
}

jit_gemm_status jg_epilogue_create(const jit_gemm_epilogue *user,
                                   struct jg_epilogue **ret_epilogue)
{
    jit_gemm_epilogue checked;
    JG_TRY(jg_struct_import(user, &checked, sizeof(checked), "epilogue"));
    struct jg_epilogue *epilogue = jg_alloc(sizeof(*epilogue));
    if (epilogue == NULL) {
        return jg_fail_memory();
    }
    const jit_gemm_status status = fill_epilogue(epilogue, &checked);
    if (status != JIT_GEMM_OK) {
        jg_epilogue_destroy(epilogue);
        return status;
    }
    *ret_epilogue = epilogue;
    return JIT_GEMM_OK;
}

void jg_epilogue_destroy(struct jg_epilogue *epilogue)
{
    if (epilogue != NULL) {
        jg_free(epilogue->source);
        jg_free(epilogue->source_name);
        jg_free(epilogue);
    }
}

bool jg_epilogue_equal(const struct jg_epilogue *a, const struct jg_epilogue *b)
{
    if (strcmp(a->name, b->name) != 0 || strcmp(a->source_name, b->source_name) != 0 ||
        a->first_line != b->first_line || a->source_size != b->source_size ||
        memcmp(a->source, b->source, a->source_size) != 0 ||
        a->operand_count != b->operand_count) {
        return false;
    }
    for (uint32_t i = 0; i < a->operand_count; i++) {
        const struct jg_operand *x = &a->operands[i];
        const struct jg_operand *y = &b->operands[i];
        if (strcmp(x->name, y->name) != 0 || x->kind != y->kind || x->dtype != y->dtype ||
            x->role != y->role) {
            return false;
        }
    }
    return true;
}

void jg_epilogue_bytes(const struct jg_epilogue *epilogue, struct jg_str *out)
{
    enum { TAG_NAME = 1, TAG_OPERAND, TAG_SOURCE, TAG_SOURCE_NAME };
    jg_bytes_field(out, TAG_NAME, epilogue->name, strlen(epilogue->name));
    jg_bytes_u32(out, epilogue->operand_count);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        jg_bytes_field(out, TAG_OPERAND, operand->name, strlen(operand->name));
        jg_bytes_u32(out, (uint32_t)operand->kind);
        jg_bytes_u32(out, (uint32_t)operand->dtype);
        jg_bytes_u32(out, (uint32_t)operand->role);
    }
    jg_bytes_field(out, TAG_SOURCE, epilogue->source, epilogue->source_size);
    jg_bytes_field(out, TAG_SOURCE_NAME, epilogue->source_name,
                   strlen(epilogue->source_name));
    jg_bytes_u32(out, epilogue->first_line);
}
