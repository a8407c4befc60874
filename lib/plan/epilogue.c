/* SPDX-License-Identifier: MIT */
#include "plan/epilogue.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/struct.h"
#include "plan/compiled.h"
#include "plan/dtype.h"
#include "plan/snippet.h"
#include "plan/text.h"

enum {
    MAX_SOURCE_NAME = 1024,
    MAX_READ_BYTES = 16 << 20 /* of a text that is refused with its place */
};
/* Line numbers of the whole snippet must stay within what a #line directive takes. */
#define MAX_FIRST_LINE (UINT32_C(2147483647) - JG_SNIPPET_MAX_BYTES)

static const char *const names_in_scope[] = {
    "acc", "acc0", "acc1", "d", "row", "col", "batch", "M", "N", "K", "NAN", "INFINITY"};
static const char *const prelude_names[] = {
    "relu",  "gelu", "gelu_tanh", "silu",    "sigmoid", "tanh",
    "exp",   "log",  "sqrt",      "rsqrt",   "min",     "max",
    "clamp", "fma",  "abs",       "uniform", "dgelu",   "dgelu_tanh"};
static const char *const device_names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim",
                                           "warpSize"};
/* What the source of a kernel defines outside of jg. */
static const char *const unit_names[] = {"Config", "Epilogue"};
/* Macros that the compiler defines for every unit. */
static const char *const macro_names[] = {"NULL",    "assert", "va_arg",
                                          "va_copy", "va_end", "va_start"};
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
                                         [JIT_GEMM_OPERAND_MATRIX] = "matrix",
                                         [JIT_GEMM_OPERAND_PAIR_VECTOR] = "pair_vector",
                                         [JIT_GEMM_OPERAND_BLOCK_1X128] = "1x128",
                                         [JIT_GEMM_OPERAND_BLOCK_1X32] = "1x32",
                                         [JIT_GEMM_OPERAND_BLOCK_1X16] = "1x16"};

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

void jg_operand_kind_nearest(struct jg_nearest *nearest)
{
    static const char *const other_names[][2] = {
        {"row", "row_vector"},          {"rowvec", "row_vector"},
        {"vector", "row_vector"},       {"bias", "row_vector"},
        {"column", "column_vector"},    {"col", "column_vector"},
        {"colvector", "column_vector"}, {"colvec", "column_vector"},
        {"tensor", "matrix"},           {"mat", "matrix"},
        {"number", "scalar"},           {"value", "scalar"}};
    for (int i = 0; i < KIND_COUNT; i++) {
        jg_nearest_try(nearest, kind_names[i], strlen(kind_names[i]));
    }
    for (size_t i = 0; i < sizeof(other_names) / sizeof(other_names[0]); i++) {
        jg_nearest_other(nearest, other_names[i][0], other_names[i][1]);
    }
}

int jg_operand_kind_block(jit_gemm_operand_kind kind)
{
    return kind == JIT_GEMM_OPERAND_BLOCK_1X128  ? 128
           : kind == JIT_GEMM_OPERAND_BLOCK_1X32 ? 32
           : kind == JIT_GEMM_OPERAND_BLOCK_1X16 ? 16
                                                 : 0;
}

static const char *const role_names[] = {[JIT_GEMM_OPERAND_INPUT] = "in",
                                         [JIT_GEMM_OPERAND_OUTPUT] = "out",
                                         [JIT_GEMM_OPERAND_SUM] = "sum",
                                         [JIT_GEMM_OPERAND_MAX] = "max",
                                         [JIT_GEMM_OPERAND_MIN] = "min"};

enum { ROLE_COUNT = sizeof(role_names) / sizeof(role_names[0]) };

void jg_operand_role_nearest(struct jg_nearest *nearest)
{
    for (int i = JIT_GEMM_OPERAND_OUTPUT; i < ROLE_COUNT; i++) {
        jg_nearest_try(nearest, role_names[i], strlen(role_names[i]));
    }
}

const char *jg_operand_role_name(jit_gemm_operand_role role)
{
    return (unsigned)role < ROLE_COUNT ? role_names[role] : "unknown";
}

bool jg_operand_role_parse(const char *text, size_t size, jit_gemm_operand_role *ret_role)
{
    for (int i = JIT_GEMM_OPERAND_OUTPUT; i < ROLE_COUNT; i++) {
        if (jg_word_is(text, size, role_names[i])) {
            *ret_role = (jit_gemm_operand_role)i;
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

/* Why no name may begin so; NULL if it may. */
static const char *find_prefix_conflict(const char *name)
{
    if (strncmp(name, "jg", 2) == 0 || strncmp(name, "JG", 2) == 0 ||
        strncmp(name, "__", 2) == 0) {
        return "begins with a reserved prefix (jg, JG, __)";
    }
    if (strncmp(name, "NV_", 3) == 0 || strncmp(name, "CUDART", 6) == 0) {
        return "begins as macros of CUDA do (NV_, CUDART)";
    }
    if (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z') {
        return "begins as names of the compiler do ('_' and a capital)";
    }
    return NULL;
}

/* Why an operand, or a compiled function, cannot have this name; NULL if it can. */
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
    if (IS_ONE_OF(name, macro_names)) {
        return "is a macro of CUDA";
    }
    const char *prefix = find_prefix_conflict(name);
    if (prefix != NULL) {
        return prefix;
    }
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (strcmp(epilogue->operands[i].name, name) == 0) {
            return "is the name of an earlier operand";
        }
    }
    return NULL;
}

/* Is the role one that an operand of this kind and type can have? */
static jit_gemm_status check_operand_role(const char *where,
                                          const jit_gemm_operand *operand)
{
    const char *kind = jg_operand_kind_name(operand->kind);
    char field[64];
    snprintf(field, sizeof(field), "%s.role", where);
    if ((unsigned)operand->role >= ROLE_COUNT) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "give a JIT_GEMM_OPERAND_INPUT, _OUTPUT, _SUM, _MAX or _MIN",
                       "%d is no role of an operand", (int)operand->role);
    }
    const bool is_matrix = operand->kind == JIT_GEMM_OPERAND_MATRIX;
    if (operand->role == JIT_GEMM_OPERAND_OUTPUT && !is_matrix) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "declare it as a matrix, or say what to do with the elements: sum, "
                       "max or min",
                       "an output must be a matrix, is a %s", kind);
    }
    if (operand->role == JIT_GEMM_OPERAND_INPUT && jg_operand_kind_block(operand->kind)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "say what to do with the elements of a block: sum, max or min",
                       "a %s is no input: it is written", kind);
    }
    if (operand->role <= JIT_GEMM_OPERAND_OUTPUT) {
        return JIT_GEMM_OK;
    }
    if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "declare it as a row_vector: one value for each column of D",
                       "a pair_vector is an input, not a %s", role_names[operand->role]);
    }
    if (is_matrix) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                       "declare it as a column_vector (of each row), a row_vector (of each "
                       "column), a 1x128, 1x32 or 1x16 (of blocks) or a scalar, or make it "
                       "an output",
                       "a %s has fewer values than D, a matrix has as many",
                       role_names[operand->role]);
    }
    if (jg_dtype_bits(operand->dtype) < 16) {
        snprintf(field, sizeof(field), "%s.dtype", where);
        return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, field, "give f32, bf16 or f16",
                       "there is no kernel for a %s of type %s", role_names[operand->role],
                       jg_dtype_name(operand->dtype));
    }
    return JIT_GEMM_OK;
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
    JG_TRY(check_operand_role(where, operand));
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
                       "give the snippet, for instance 'd = relu(acc);', or a compiled "
                       "function in epilogue.code",
                       "is NULL");
    }
    if (user->first_line > MAX_FIRST_LINE) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.first_line",
                       "give the snippet's line in its file, or 0",
                       "must be at most %u, is %u", MAX_FIRST_LINE, user->first_line);
    }
    if (user->source_size > MAX_READ_BYTES) { /* nothing of it is read */
        return jg_fail(
            JIT_GEMM_ERR_ARGUMENT, "epilogue.source_size",
            "give the bytes of epilogue.source, or 0 if it ends with a zero byte",
            "must be at most %d, is %zu", JG_SNIPPET_MAX_BYTES, user->source_size);
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

/* The snippet sees a pair vector by two names, which no other operand may have. */
static jit_gemm_status check_pair_names(const struct jg_epilogue *epilogue,
                                        const struct jg_operand *operand)
{
    const size_t size = strlen(operand->name);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const char *other = epilogue->operands[i].name;
        if (strncmp(other, operand->name, size) == 0 &&
            (strcmp(other + size, "0") == 0 || strcmp(other + size, "1") == 0)) {
            char field[64];
            snprintf(field, sizeof(field), "epilogue.operands[%u].name", i);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field, "use another name",
                           "'%s' is what the snippet calls a value of the pair_vector '%s'",
                           other, operand->name);
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_pair_vectors(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (epilogue->operands[i].kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
            JG_TRY(check_pair_names(epilogue, &epilogue->operands[i]));
        }
    }
    return JIT_GEMM_OK;
}

/* After the scan of the snippet, which says whether there are pairs. */
static jit_gemm_status check_gated(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; i < epilogue->operand_count && !epilogue->is_gated; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (operand->kind == JIT_GEMM_OPERAND_PAIR_VECTOR) {
            char field[64];
            snprintf(field, sizeof(field), "epilogue.operands[%u].kind", i);
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                           "declare a row_vector, or name acc0 and acc1 in the snippet",
                           "'%s' is a pair_vector, but the epilogue is not gated",
                           operand->name);
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status copy_compiled(struct jg_epilogue *epilogue,
                                     const jit_gemm_epilogue *user)
{
    JG_TRY(jg_compiled_check_symbol(user->symbol));
    const char *conflict = IS_ONE_OF(user->symbol, unit_names)
                               ? "is a type of the kernel's source"
                               : find_name_conflict(epilogue, user->symbol);
    if (conflict != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
                       "give the function another name", "'%s' %s", user->symbol, conflict);
    }
    const char *source_name =
        user->source_name != NULL ? user->source_name : epilogue->name;
    JG_TRY(check_source_name(source_name));
    epilogue->source_name = jg_copy_text(source_name, strlen(source_name));
    if (epilogue->source_name == NULL) {
        return jg_fail_memory();
    }
    return jg_compiled_create(user, epilogue);
}

static jit_gemm_status fill_epilogue(struct jg_epilogue *epilogue,
                                     const jit_gemm_epilogue *user)
{
    JG_TRY(copy_identifier("epilogue.name", user->name, epilogue->name));
    JG_TRY(copy_operands(epilogue, user));
    if (user->code != NULL) {
        JG_TRY(copy_compiled(epilogue, user));
        return check_gated(epilogue);
    }
    JG_TRY(jg_compiled_refuse_rest(user));
    JG_TRY(copy_source(epilogue, user));
    JG_TRY(check_pair_vectors(epilogue));
    JG_TRY(jg_snippet_check(epilogue));
    return check_gated(epilogue);
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

bool jg_epilogue_reduces(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (jg_operand_reduces(&epilogue->operands[i])) {
            return true;
        }
    }
    return false;
}

const struct jg_operand *jg_epilogue_find_blocks(const struct jg_epilogue *epilogue)
{
    for (uint32_t i = 0; epilogue != NULL && i < epilogue->operand_count; i++) {
        if (jg_operand_kind_block(epilogue->operands[i].kind) > 0) {
            return &epilogue->operands[i];
        }
    }
    return NULL;
}

void jg_epilogue_destroy(struct jg_epilogue *epilogue)
{
    if (epilogue != NULL) {
        jg_free(epilogue->source);
        jg_free(epilogue->source_name);
        jg_compiled_free(&epilogue->compiled);
        jg_free(epilogue);
    }
}

bool jg_epilogue_equal(const struct jg_epilogue *a, const struct jg_epilogue *b)
{
    if (strcmp(a->name, b->name) != 0 || a->source_size != b->source_size ||
        memcmp(a->source, b->source, a->source_size) != 0 ||
        !jg_compiled_equal(&a->compiled, &b->compiled) ||
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
    enum { TAG_NAME = 1, TAG_OPERAND, TAG_SOURCE, TAG_CODE, TAG_SYMBOL };
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
    if (jg_epilogue_is_compiled(epilogue)) {
        const struct jg_compiled *compiled = &epilogue->compiled;
        jg_bytes_field(out, TAG_CODE, compiled->code, compiled->code_size);
        jg_bytes_field(out, TAG_SYMBOL, compiled->symbol, strlen(compiled->symbol));
    }
}
