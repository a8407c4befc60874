/* SPDX-License-Identifier: MIT */
#include "plan/compiled.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/ptx_lexer.h"
#include "plan/text.h"

enum { MAX_SYMBOL_BYTES = 255, PLAIN_PARAMETERS = 4 /* acc row col batch */ };

/* ------------------------------------------------------------------------ what it is */

static const char ltoir_magic[] = {'\xed', 'C', 'N', '\x7f'};

static bool begins_with(const void *code, size_t size, const void *magic, size_t magic_size)
{
    return size >= magic_size && memcmp(code, magic, magic_size) == 0;
}

static bool is_ptx(const char *code, size_t size)
{
    struct jg_ptx_lexer lexer = jg_ptx_lexer_begin(code, size);
    const struct jg_ptx_token token = jg_ptx_next(&lexer);
    return jg_ptx_is(&token, ".version");
}

/* AUTO if it is neither. */
static jit_gemm_code_kind kind_of_bytes(const char *code, size_t size)
{
    if (begins_with(code, size, ltoir_magic, sizeof(ltoir_magic))) {
        return JIT_GEMM_CODE_LTOIR;
    }
    return is_ptx(code, size) ? JIT_GEMM_CODE_PTX : JIT_GEMM_CODE_AUTO;
}

/* What something else than PTX and LTO-IR seems to be. */
static const char *describe_bytes(const char *code, size_t size)
{
    static const struct {
        char magic[5];
        const char *what;
    } rows[] = {
        {"\x7f"
         "ELF",
         "an ELF file: a cubin or an object file"},
        {"\x50\xed\x55\xba", "a fatbin, which holds several codes"},
        {"BC\xc0\xde", "LLVM bitcode, which is not NVIDIA's LTO-IR"},
        {"!<ar", "an archive"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (begins_with(code, size, rows[i].magic, 4)) {
            return rows[i].what;
        }
    }
    return "neither PTX nor LTO-IR";
}

static const char *name_of_kind(jit_gemm_code_kind kind)
{
    return kind == JIT_GEMM_CODE_PTX ? "PTX" : "LTO-IR";
}

static jit_gemm_status find_kind(const jit_gemm_epilogue *user, size_t size,
                                 jit_gemm_code_kind *ret_kind)
{
    if ((unsigned)user->code_kind > JIT_GEMM_CODE_LTOIR) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code_kind",
                       "give JIT_GEMM_CODE_AUTO, JIT_GEMM_CODE_PTX or JIT_GEMM_CODE_LTOIR",
                       "%d is no kind of code", (int)user->code_kind);
    }
    const jit_gemm_code_kind found = kind_of_bytes(user->code, size);
    if (found == JIT_GEMM_CODE_AUTO) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code",
                       "give PTX (nvcc -rdc=true -ptx) or LTO-IR (nvcc -dlto -ltoir)",
                       "it is %s", describe_bytes(user->code, size));
    }
    if (user->code_kind != JIT_GEMM_CODE_AUTO && user->code_kind != found) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code_kind",
                       "give the kind that it is, or JIT_GEMM_CODE_AUTO",
                       "says %s, and the code is %s", name_of_kind(user->code_kind),
                       name_of_kind(found));
    }
    *ret_kind = found;
    return JIT_GEMM_OK;
}

/* Bytes of the code, without the zero byte that may end a text. */
static jit_gemm_status measure_code(const jit_gemm_epilogue *user, size_t *ret_size)
{
    size_t size = user->code_size;
    if (size == 0) {
        size = strnlen(user->code, JIT_GEMM_MAX_CODE_BYTES + 1);
    }
    if (size > JIT_GEMM_MAX_CODE_BYTES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code_size",
                       "compile the one function alone, without debug information",
                       "must be at most %d bytes, is more", JIT_GEMM_MAX_CODE_BYTES);
    }
    const bool is_text = !begins_with(user->code, size, ltoir_magic, sizeof(ltoir_magic));
    if (is_text && size > 0 && ((const char *)user->code)[size - 1] == '\0') {
        size--;
    }
    *ret_size = size;
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------------ symbol */

jit_gemm_status jg_compiled_check_symbol(const char *symbol)
{
    static const char where[] = "epilogue.symbol";
    if (symbol == NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give the function's name in the code",
                       "is NULL");
    }
    const size_t size = strnlen(symbol, MAX_SYMBOL_BYTES + 1);
    if (size > MAX_SYMBOL_BYTES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "declare the function extern \"C\", which keeps its name short",
                       "%s is longer than %d bytes", jg_quote(symbol, size).text,
                       MAX_SYMBOL_BYTES);
    }
    if (!jg_is_identifier(symbol, size)) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where,
                       "declare the function extern \"C\" (numba: abi=\"c\")",
                       "%s is no C identifier", jg_quote(symbol, size).text);
    }
    if (strncmp(symbol, "jit_gemm", 8) == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, where, "give the function another name",
                       "'%s' begins with a reserved prefix (jit_gemm)", symbol);
    }
    return JIT_GEMM_OK;
}

/* --------------------------------------------------------------------------- signature */

void jg_compiled_print_signature(const struct jg_epilogue *epilogue, const char *name,
                                 struct jg_str *out)
{
    jg_str_printf(out, "float %s(float acc, int row, int col, int batch", name);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        jg_str_printf(out, ", float %s%s",
                      operand->role == JIT_GEMM_OPERAND_OUTPUT ? "*" : "", operand->name);
    }
    jg_str_puts(out, ")");
}

/* The snippet that calls the function; `&` takes an output's address. */
static void print_call(const struct jg_epilogue *epilogue, const char *name,
                       struct jg_str *out)
{
    jg_str_printf(out, "d = %s(acc, row, col, batch", name);
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        jg_str_printf(out, ", %s%s", operand->role == JIT_GEMM_OPERAND_OUTPUT ? "&" : "",
                      operand->name);
    }
    jg_str_puts(out, ");");
}

/* The first thing that differs, in words; empty if nothing does. */
static void compare_signature(const struct jg_epilogue *epilogue,
                              const struct jg_ptx_function *function, char *text,
                              size_t size)
{
    const uint32_t count = PLAIN_PARAMETERS + epilogue->operand_count;
    text[0] = '\0';
    if (function->result_count == 0) {
        snprintf(text, size, "returns nothing");
    } else if (function->result.is_aggregate || function->result.bytes != sizeof(float)) {
        snprintf(text, size, "returns something else than one float");
    } else if (function->parameter_count != count) {
        snprintf(text, size, "takes %u parameters, not %u", function->parameter_count,
                 count);
    } else {
        for (uint32_t i = 0; i < count; i++) {
            const bool is_pointer =
                i >= PLAIN_PARAMETERS &&
                epilogue->operands[i - PLAIN_PARAMETERS].role == JIT_GEMM_OPERAND_OUTPUT;
            const struct jg_ptx_parameter *parameter = &function->parameters[i];
            const uint32_t wanted = is_pointer ? 8 : 4;
            if (parameter->is_aggregate || parameter->bytes != wanted) {
                snprintf(text, size, "takes a parameter %u that is %s, not of %u bytes",
                         i + 1, parameter->is_aggregate ? "a struct" : "of another size",
                         wanted);
                return;
            }
        }
    }
}

jit_gemm_status jg_compiled_check_signature(const struct jg_epilogue *epilogue,
                                            const struct jg_ptx_function *function)
{
    char difference[96];
    compare_signature(epilogue, function, difference, sizeof(difference));
    if (difference[0] == '\0') {
        return JIT_GEMM_OK;
    }
    struct jg_str wanted = {0};
    jg_str_puts(&wanted, "declare it as ");
    jg_compiled_print_signature(epilogue, epilogue->compiled.symbol, &wanted);
    const jit_gemm_status status =
        wanted.failed
            ? jg_fail_memory()
            : jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol", jg_str_text(&wanted),
                      "the function '%s' has another signature than the operands "
                      "ask for: it %s",
                      epilogue->compiled.symbol, difference);
    jg_str_free(&wanted);
    return status;
}

/* ------------------------------------------------------------------------------- whole */

/* Numbers of chips and their letters: PTX for 90 runs on 100, that for 90a only there. */
jit_gemm_status jg_compiled_check_arch(const struct jg_epilogue *epilogue, const char *arch)
{
    if (epilogue == NULL || epilogue->compiled.kind != JIT_GEMM_CODE_PTX) {
        return JIT_GEMM_OK;
    }
    const struct jg_compiled *compiled = &epilogue->compiled;
    const size_t digits = strspn(arch + 3, "0123456789"); /* "sm_90a" */
    int64_t number = 0;
    if (!jg_number_parse(arch + 3, digits, 1, 9999, &number)) {
        return JIT_GEMM_OK; /* no chip of ours */
    }
    const bool is_newer = compiled->ptx_arch > number;
    const bool is_other =
        (compiled->ptx_suffix == 'a' &&
         (compiled->ptx_arch != number || arch[3 + digits] != 'a')) ||
        (compiled->ptx_suffix == 'f' && compiled->ptx_arch / 10 != number / 10);
    if (!is_newer && !is_other) {
        return JIT_GEMM_OK;
    }
    char target[16];
    const int letters = compiled->ptx_suffix != '\0';
    snprintf(target, sizeof(target), "sm_%d%.*s", compiled->ptx_arch, letters,
             &compiled->ptx_suffix);
    return jg_fail(JIT_GEMM_ERR_UNSUPPORTED, "epilogue.code",
                   "compile it for an older target without a letter, such as sm_80",
                   "the PTX of '%s' is for %s, and the kernel for %s", compiled->symbol,
                   target, arch);
}

static jit_gemm_status convert_ptx(struct jg_epilogue *epilogue)
{
    struct jg_compiled *compiled = &epilogue->compiled;
    if (memchr(compiled->code, '\0', compiled->code_size) != NULL) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code", "give one text of PTX",
                       "a zero byte is in the PTX");
    }
    struct jg_ptx_function function;
    JG_TRY(jg_ptx_function_find(compiled->code, compiled->code_size, compiled->symbol,
                                &function));
    JG_TRY(jg_compiled_check_signature(epilogue, &function));
    struct jg_str body = {0};
    const jit_gemm_status status =
        jg_ptx_function_convert(compiled->code, compiled->code_size, &function, &body);
    if (status != JIT_GEMM_OK) {
        jg_str_free(&body);
        return status;
    }
    compiled->ptx_arch = function.arch;
    compiled->ptx_suffix = function.suffix;
    compiled->body = body.data; /* moved; it stores a result, so there is one */
    return JIT_GEMM_OK;
}

static jit_gemm_status make_source(struct jg_epilogue *epilogue)
{
    struct jg_str source = {0};
    const bool is_pasted = epilogue->compiled.kind == JIT_GEMM_CODE_PTX;
    print_call(epilogue, is_pasted ? JG_COMPILED_NAME : epilogue->compiled.symbol, &source);
    if (source.failed) {
        jg_str_free(&source);
        return jg_fail_memory();
    }
    epilogue->source = source.data; /* moved */
    epilogue->source_size = source.size;
    epilogue->first_line = 1;
    epilogue->long_calls = 2; /* nobody knows what it does: as of a long snippet */
    return JIT_GEMM_OK;
}

static jit_gemm_status refuse_snippet(const jit_gemm_epilogue *user)
{
    if (user->source != NULL || user->source_size != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code",
                       "give either epilogue.source or epilogue.code",
                       "a snippet and a compiled function exclude each other");
    }
    if (user->first_line != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.first_line",
                       "leave it 0: only a snippet has lines",
                       "is %u, with a compiled function", user->first_line);
    }
    if (user->reserved != 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.reserved",
                       "zero the struct before filling it", "must be 0, is %u",
                       user->reserved);
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_compiled_create(const jit_gemm_epilogue *user,
                                   struct jg_epilogue *epilogue)
{
    struct jg_compiled *compiled = &epilogue->compiled;
    size_t size = 0;
    jit_gemm_code_kind kind = JIT_GEMM_CODE_AUTO;
    JG_TRY(refuse_snippet(user));
    JG_TRY(measure_code(user, &size));
    JG_TRY(find_kind(user, size, &kind));
    if (kind == JIT_GEMM_CODE_LTOIR && user->code_size == 0) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.code_size",
                       "give the size of the LTO-IR in bytes",
                       "is 0, which is for text that ends with a zero byte");
    }
    compiled->kind = kind;
    compiled->code = jg_copy_text(user->code, size);
    compiled->code_size = size;
    compiled->symbol = jg_copy_text(user->symbol, strlen(user->symbol));
    if (compiled->code == NULL || compiled->symbol == NULL) {
        return jg_fail_memory();
    }
    if (kind == JIT_GEMM_CODE_PTX) {
        JG_TRY(convert_ptx(epilogue));
    }
    return make_source(epilogue);
}

jit_gemm_status jg_compiled_refuse_rest(const jit_gemm_epilogue *user)
{
    const char *field = user->code_size != 0                    ? "epilogue.code_size"
                        : user->symbol != NULL                  ? "epilogue.symbol"
                        : user->code_kind != JIT_GEMM_CODE_AUTO ? "epilogue.code_kind"
                        : user->reserved != 0                   ? "epilogue.reserved"
                                                                : NULL;
    if (field == NULL) {
        return JIT_GEMM_OK;
    }
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, field,
                   "give a compiled function in epilogue.code, or zero the field",
                   "is set while epilogue.code is NULL");
}

void jg_compiled_free(struct jg_compiled *compiled)
{
    jg_free(compiled->code);
    jg_free(compiled->symbol);
    jg_free(compiled->body);
    *compiled = (struct jg_compiled){0};
}

bool jg_compiled_equal(const struct jg_compiled *a, const struct jg_compiled *b)
{
    return a->kind == b->kind && a->code_size == b->code_size &&
           (a->kind == JIT_GEMM_CODE_AUTO || (memcmp(a->code, b->code, a->code_size) == 0 &&
                                              strcmp(a->symbol, b->symbol) == 0));
}
