/* SPDX-License-Identifier: MIT */
#include "plan/ptx_function.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "plan/ptx_lexer.h"
#include "plan/text.h"

#define WHERE "epilogue.code"

static struct jg_piece piece_of(const struct jg_ptx_token *token)
{
    return (struct jg_piece){token->text, token->size};
}

static bool is_piece(const struct jg_piece *piece, const struct jg_ptx_token *token)
{
    return piece->size == token->size && memcmp(piece->text, token->text, token->size) == 0;
}

static jit_gemm_status fail_at(const struct jg_ptx_token *token, const char *hint,
                               const char *what)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, WHERE, hint, "line %u: %s: %s", token->line,
                   jg_quote(token->text, token->size).text, what);
}

static jit_gemm_status fail_form(const struct jg_ptx_token *token)
{
    return fail_at(token, "give the compiler's PTX, whole and unchanged",
                   "no PTX can stand like this");
}

static bool is_end(const struct jg_ptx_token *token)
{
    return token->kind == JG_PTX_END || token->kind == JG_PTX_BAD;
}

/* ------------------------------------------------------------------------- parameters */

/* Bytes of ".f32" and its like; 0 if the word is no type. */
static uint32_t bytes_of_type(const struct jg_ptx_token *token)
{
    static const struct {
        const char *digits;
        uint32_t bytes;
    } rows[] = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
    if (token->size < 3 || token->text[0] != '.' || token->text[1] == '\0' ||
        strchr("bsuf", token->text[1]) == NULL) {
        return 0;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (jg_word_is(token->text + 2, token->size - 2, rows[i].digits)) {
            return rows[i].bytes;
        }
    }
    return 0;
}

/* `.param .align 4 .b32 .ptr .global .align 4 name[12]`, up to a comma or the end of the
 * list, which stays. */
static jit_gemm_status read_parameter(struct jg_ptx_lexer *lexer,
                                      struct jg_ptx_parameter *parameter)
{
    for (;;) {
        const struct jg_ptx_token next = jg_ptx_peek(lexer);
        if (jg_ptx_is(&next, ",") || jg_ptx_is(&next, ")")) {
            return JIT_GEMM_OK;
        }
        const struct jg_ptx_token token = jg_ptx_next(lexer);
        if (is_end(&token) || jg_ptx_is(&token, "{") || jg_ptx_is(&token, ";")) {
            return fail_form(&token);
        }
        const uint32_t bytes = bytes_of_type(&token);
        if (bytes != 0 && parameter->bytes == 0) {
            parameter->bytes = bytes;
        } else if (jg_ptx_is_name(&token)) {
            parameter->name = piece_of(&token);
        } else if (jg_ptx_is(&token, "[")) {
            parameter->is_aggregate = true;
        }
    }
}

/* What stands after the opening parenthesis, with the closing one. Those that there is no
 * room for are counted. */
static jit_gemm_status read_list(struct jg_ptx_lexer *lexer, uint32_t room,
                                 struct jg_ptx_parameter *parameters, uint32_t *ret_count)
{
    uint32_t count = 0;
    struct jg_ptx_token token = jg_ptx_peek(lexer);
    if (jg_ptx_is(&token, ")")) {
        (void)jg_ptx_next(lexer);
        *ret_count = 0;
        return JIT_GEMM_OK;
    }
    do {
        struct jg_ptx_parameter parameter = {0};
        JG_TRY(read_parameter(lexer, &parameter));
        if (count < room) {
            parameters[count] = parameter;
        }
        count++;
        token = jg_ptx_next(lexer); /* a comma, or the end */
    } while (jg_ptx_is(&token, ","));
    *ret_count = count;
    return JIT_GEMM_OK;
}

/* -------------------------------------------------------------------------- functions */

/* From behind `.func` to the end of the declaration or the body. */
static jit_gemm_status read_function(struct jg_ptx_lexer *lexer,
                                     struct jg_ptx_function *function,
                                     struct jg_piece *ret_name, bool *ret_has_body)
{
    struct jg_ptx_token token = jg_ptx_next(lexer);
    if (jg_ptx_is(&token, "(")) {
        JG_TRY(read_list(lexer, 1, &function->result, &function->result_count));
        token = jg_ptx_next(lexer);
    }
    if (!jg_ptx_is_name(&token)) {
        return fail_form(&token);
    }
    *ret_name = piece_of(&token);
    token = jg_ptx_next(lexer);
    if (jg_ptx_is(&token, "(")) {
        JG_TRY(read_list(lexer, JG_PTX_MAX_PARAMETERS, function->parameters,
                         &function->parameter_count));
        token = jg_ptx_next(lexer);
    }
    while (!is_end(&token) && !jg_ptx_is(&token, "{") && !jg_ptx_is(&token, ";")) {
        token = jg_ptx_next(lexer); /* .noreturn and the like */
    }
    *ret_has_body = jg_ptx_is(&token, "{");
    if (is_end(&token)) {
        return fail_form(&token);
    }
    if (*ret_has_body) {
        function->body.text = lexer->at;
        if (!jg_ptx_skip_braces(lexer)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, WHERE, "give the whole of the PTX",
                           "the body of %s, line %u, does not end",
                           jg_quote(ret_name->text, ret_name->size).text, token.line);
        }
        function->body.size = (size_t)(lexer->at - function->body.text) - 1;
    }
    return JIT_GEMM_OK;
}

/* "sm_90a" */
static jit_gemm_status read_target(struct jg_ptx_lexer *lexer, struct jg_ptx_function *ret)
{
    static const char prefix[] = "sm_";
    const size_t skip = sizeof(prefix) - 1;
    const struct jg_ptx_token token = jg_ptx_next(lexer);
    size_t size = token.size;
    char suffix = '\0';
    int64_t arch = 0;
    if (size > skip && (token.text[size - 1] == 'a' || token.text[size - 1] == 'f')) {
        suffix = token.text[--size];
    }
    if (size <= skip || memcmp(token.text, prefix, skip) != 0 ||
        !jg_number_parse(token.text + skip, size - skip, 1, 9999, &arch)) {
        return fail_at(&token, "give PTX for a target such as sm_80 or sm_90a",
                       "is no target");
    }
    ret->arch = (int)arch;
    ret->suffix = suffix;
    return JIT_GEMM_OK;
}

static jit_gemm_status read_address_size(struct jg_ptx_lexer *lexer)
{
    const struct jg_ptx_token token = jg_ptx_next(lexer);
    return jg_ptx_is(&token, "64")
               ? JIT_GEMM_OK
               : fail_at(&token, "compile for 64-bit addresses", "is no address size");
}

/* The functions that a module defines, for a message. */
struct name_list {
    char text[160];
    size_t used;
};

static void add_name(struct name_list *list, const struct jg_piece *name)
{
    const size_t size = name->size + 2;
    if (list->used + size < sizeof(list->text)) {
        memcpy(list->text + list->used, list->used > 0 ? ", " : "  ", 2);
        memcpy(list->text + list->used + 2, name->text, name->size);
        list->used += size;
        list->text[list->used] = '\0';
    }
}

static jit_gemm_status fail_missing(const char *symbol, const struct name_list *list)
{
    return jg_fail(JIT_GEMM_ERR_ARGUMENT, "epilogue.symbol",
                   "declare the function extern \"C\" __device__, and compile with "
                   "-rdc=true, or give the name as the code has it",
                   "the code defines no function '%s'; it defines: %s", symbol,
                   list->used > 0 ? list->text + 2 : "none");
}

jit_gemm_status jg_ptx_function_find(const char *text, size_t size, const char *symbol,
                                     struct jg_ptx_function *ret_function)
{
    struct jg_ptx_lexer lexer = jg_ptx_lexer_begin(text, size);
    struct jg_ptx_function whole = {0}; /* has arch and suffix of the module */
    struct name_list list = {0};
    struct jg_ptx_token token = jg_ptx_next(&lexer);
    if (!jg_ptx_is(&token, ".version")) {
        return fail_form(&token);
    }
    for (; token.kind != JG_PTX_END; token = jg_ptx_next(&lexer)) {
        if (token.kind == JG_PTX_BAD) {
            return fail_form(&token);
        }
        if (jg_ptx_is(&token, ".target")) {
            JG_TRY(read_target(&lexer, &whole));
        } else if (jg_ptx_is(&token, ".address_size")) {
            JG_TRY(read_address_size(&lexer));
        } else if (jg_ptx_is(&token, "{") && !jg_ptx_skip_braces(&lexer)) {
            return fail_form(&token);
        } else if (jg_ptx_is(&token, ".func")) {
            struct jg_ptx_function function = {.arch = whole.arch, .suffix = whole.suffix};
            struct jg_piece name;
            bool has_body = false;
            JG_TRY(read_function(&lexer, &function, &name, &has_body));
            if (has_body && jg_word_is(name.text, name.size, symbol)) {
                *ret_function = function;
                return JIT_GEMM_OK;
            }
            if (has_body) {
                add_name(&list, &name);
            }
        }
    }
    return fail_missing(symbol, &list);
}

/* ------------------------------------------------------------------ names of the module */

struct module_names {
    struct jg_piece *pieces;
    size_t count, capacity;
};

static bool add_module_name(struct module_names *names, const struct jg_ptx_token *token)
{
    if (names->count == names->capacity) {
        const size_t capacity = names->capacity > 0 ? 2 * names->capacity : 16;
        struct jg_piece *pieces =
            jg_realloc(names->pieces, capacity * sizeof(struct jg_piece));
        if (pieces == NULL) {
            return false;
        }
        names->pieces = pieces;
        names->capacity = capacity;
    }
    names->pieces[names->count++] = piece_of(token);
    return true;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct jg_piece *a = left;
    const struct jg_piece *b = right;
    const int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Every name outside of functions: variables, and what stands beside them. The module was
 * read through once, so that it is well formed. False without memory. */
static bool find_module_names(const char *text, size_t size, struct module_names *names)
{
    struct jg_ptx_lexer lexer = jg_ptx_lexer_begin(text, size);
    struct jg_ptx_token token = jg_ptx_next(&lexer);
    bool is_function = false;
    for (; !is_end(&token); token = jg_ptx_next(&lexer)) {
        is_function |= jg_ptx_is(&token, ".func") || jg_ptx_is(&token, ".entry");
        if (jg_ptx_is(&token, "{")) {
            is_function = is_function && !jg_ptx_skip_braces(&lexer);
        } else if (jg_ptx_is(&token, ";")) {
            is_function = false;
        } else if (!is_function && jg_ptx_is_name(&token) &&
                   !add_module_name(names, &token)) {
            return false;
        }
    }
    if (names->count > 0) {
        qsort(names->pieces, names->count, sizeof(struct jg_piece), compare_pieces);
    }
    return true;
}

/* --------------------------------------------------------------------------- the body */

enum { MAX_STATEMENT_TOKENS = 256, MAX_WIDE_NAMES = 16 };

struct converter {
    const struct jg_ptx_function *function;
    struct module_names names;
    struct jg_ptx_lexer lexer;
    struct jg_str *out;
    struct jg_ptx_token tokens[MAX_STATEMENT_TOKENS]; /* of one statement, less its end */
    size_t count;
    struct jg_ptx_token wide[MAX_WIDE_NAMES]; /* what registers of 64 bits begin with */
    size_t wide_count;
    bool has_result; /* it was stored somewhere */
};

/* Opcodes that reach beyond this thread or out of the function. The first two are calls:
 * those begin by declaring their arguments. */
enum { CALL_OPCODES = 2 };
static const char *const refused_opcodes[] = {".param",
                                              "call",
                                              "exit",
                                              "bar",
                                              "barrier",
                                              "setmaxnreg",
                                              "wgmma",
                                              "tcgen05",
                                              "griddepcontrol",
                                              "clusterlaunchcontrol",
                                              "alloca",
                                              "stackrestore",
                                              "shfl",
                                              "vote",
                                              "match",
                                              "redux",
                                              "elect",
                                              "mbarrier",
                                              "cp",
                                              "st.async",
                                              "red.async",
                                              "mma",
                                              "wmma",
                                              "ldmatrix",
                                              "stmatrix",
                                              "movmatrix"};
enum { REFUSED_OPCODES = sizeof(refused_opcodes) / sizeof(refused_opcodes[0]) };

/* REFUSED_OPCODES: none of them. */
static size_t find_refused(const struct jg_ptx_token *opcode)
{
    for (size_t i = 0; i < REFUSED_OPCODES; i++) {
        const size_t size = strlen(refused_opcodes[i]);
        if (opcode->size >= size && memcmp(opcode->text, refused_opcodes[i], size) == 0 &&
            (opcode->size == size || opcode->text[size] == '.')) {
            return i;
        }
    }
    return REFUSED_OPCODES;
}

/* A directive, or an instruction of that memory: st.shared.f32, cvta.to.shared.u64. */
static bool names_shared(const struct jg_ptx_token *token)
{
    static const char word[] = ".shared";
    return token->kind == JG_PTX_WORD &&
           memmem(token->text, token->size, word, sizeof(word) - 1) != NULL;
}

static jit_gemm_status check_opcode(const struct jg_ptx_token *opcode)
{
    if (names_shared(opcode)) {
        return fail_at(opcode, "do without shared memory",
                       "an epilogue's function has none");
    }
    const size_t refused = find_refused(opcode);
    if (refused == REFUSED_OPCODES) {
        return JIT_GEMM_OK;
    }
    if (refused < CALL_OPCODES) {
        return fail_at(opcode,
                       "have everything inlined (__forceinline__, -O3), or give "
                       "LTO-IR, which may call",
                       "PTX that calls another function cannot be pasted into a kernel");
    }
    return fail_at(opcode, "compute one element from the parameters, and return",
                   "an epilogue's function must not do this");
}

jit_gemm_status jg_ptx_check_thread(const char *text, size_t size, const char *symbol)
{
    struct jg_ptx_lexer lexer = jg_ptx_lexer_begin(text, size);
    bool is_first = true; /* of a statement, behind its label and its condition */
    bool has_trapped = false;
    for (struct jg_ptx_token token = jg_ptx_next(&lexer); !is_end(&token);
         token = jg_ptx_next(&lexer)) {
        const bool is_shared = names_shared(&token);
        const size_t refused = is_first ? find_refused(&token) : REFUSED_OPCODES;
        const bool ends = has_trapped && jg_ptx_is(&token, "exit"); /* of an assertion */
        if (is_shared || (refused >= CALL_OPCODES && refused < REFUSED_OPCODES && !ends)) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, WHERE,
                           is_shared
                               ? "do without shared memory"
                               : "compute one element from the parameters, and return",
                           "the LTO-IR of '%s' has %s, which an epilogue's function must "
                           "not use",
                           symbol, jg_quote(token.text, token.size).text);
        }
        if (is_first) {
            has_trapped = jg_ptx_is(&token, "trap");
        }
        if (is_first && jg_ptx_is(&token, "@")) {
            token = jg_ptx_next(&lexer); /* "%p", or "!" before it */
            token = jg_ptx_is(&token, "!") ? jg_ptx_next(&lexer) : token;
            continue;
        }
        is_first = jg_ptx_is(&token, ";") || jg_ptx_is(&token, "{") ||
                   jg_ptx_is(&token, "}") || jg_ptx_is(&token, ":");
    }
    return JIT_GEMM_OK;
}

/* Index of the parameter, -1 for the result, -2 for any other name. */
static int find_parameter(const struct converter *converter,
                          const struct jg_ptx_token *token)
{
    const struct jg_ptx_function *function = converter->function;
    if (is_piece(&function->result.name, token)) {
        return -1;
    }
    for (uint32_t i = 0; i < function->parameter_count; i++) {
        if (is_piece(&function->parameters[i].name, token)) {
            return (int)i;
        }
    }
    return -2;
}

static jit_gemm_status check_names(const struct converter *converter, size_t first,
                                   size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct jg_ptx_token *token = &converter->tokens[i];
        if (!jg_ptx_is_name(token)) {
            continue;
        }
        if (find_parameter(converter, token) != -2) {
            return fail_at(token,
                           "let the compiler optimise (-O2 or -O3), so that parameters "
                           "are loaded whole",
                           "a parameter is used otherwise than by ld.param or st.param");
        }
        if (token->size >= 3 && memcmp(token->text, "jg_", 3) == 0) {
            return fail_at(token, "use another name", "begins with a reserved prefix");
        }
        const struct jg_piece piece = piece_of(token);
        if (converter->names.count > 0 &&
            bsearch(&piece, converter->names.pieces, converter->names.count, sizeof(piece),
                    compare_pieces) != NULL) {
            return fail_at(token,
                           "do without variables outside of the function, or give "
                           "LTO-IR, which may have them",
                           "PTX that uses a variable of its module cannot be pasted into a "
                           "kernel");
        }
    }
    return JIT_GEMM_OK;
}

static void print_tokens(struct converter *converter, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct jg_ptx_token *token = &converter->tokens[i];
        if (i > first && token->follows_blank) {
            jg_str_puts(converter->out, " ");
        }
        jg_str_add(converter->out, token->text, token->size);
    }
}

static bool opcode_begins(const struct jg_ptx_token *opcode, const char *prefix)
{
    return opcode->size >= strlen(prefix) &&
           memcmp(opcode->text, prefix, strlen(prefix)) == 0;
}

/* "[name]" or "[name+0]" at tokens [first, end)? Then the parameter's index as
 * find_parameter says it. */
static bool is_whole_parameter(const struct converter *converter, size_t first, size_t end,
                               int *ret_index)
{
    const struct jg_ptx_token *tokens = converter->tokens + first;
    const size_t count = end - first;
    if ((count != 3 && count != 5) || !jg_ptx_is(&tokens[0], "[") ||
        !jg_ptx_is(&tokens[count - 1], "]") ||
        (count == 5 && !(jg_ptx_is(&tokens[2], "+") && jg_ptx_is(&tokens[3], "0")))) {
        return false;
    }
    *ret_index = find_parameter(converter, &tokens[1]);
    return *ret_index != -2;
}

/* Bytes of the type that an opcode such as ld.param.f32 ends with; 0 for vectors and more.
 */
static uint32_t bytes_of_access(const struct jg_ptx_token *opcode, const char *prefix)
{
    const size_t skip = strlen(prefix);
    const struct jg_ptx_token type = {
        .kind = JG_PTX_WORD, .text = opcode->text + skip, .size = opcode->size - skip};
    return bytes_of_type(&type);
}

/* .reg .b64 %rd<7>; and its like: a 32-bit parameter may be loaded to such a register. */
static void note_wide(struct converter *converter)
{
    const struct jg_ptx_token *tokens = converter->tokens;
    if (converter->count < 3 || bytes_of_type(&tokens[1]) != 8) {
        return;
    }
    for (size_t i = 2; i < converter->count; i++) {
        const bool is_name = i == 2 || jg_ptx_is(&tokens[i - 1], ",");
        if (is_name && converter->wide_count < MAX_WIDE_NAMES) {
            converter->wide[converter->wide_count++] = tokens[i];
        }
    }
}

/* Is the token the name, or the name with a number? */
static bool is_numbered(const struct jg_ptx_token *token, const struct jg_ptx_token *name)
{
    if (token->size < name->size || memcmp(token->text, name->text, name->size) != 0) {
        return false;
    }
    size_t at = name->size;
    while (at < token->size && token->text[at] >= '0' && token->text[at] <= '9') {
        at++;
    }
    return at == token->size;
}

static bool is_wide(const struct converter *converter, const struct jg_ptx_token *token)
{
    for (size_t i = 0; i < converter->wide_count; i++) {
        if (is_numbered(token, &converter->wide[i])) {
            return true;
        }
    }
    return false;
}

/* ld.param.T register, [parameter] */
static jit_gemm_status convert_load(struct converter *converter, size_t first, size_t end)
{
    const struct jg_ptx_token *opcode = &converter->tokens[first];
    const uint32_t bytes = bytes_of_access(opcode, "ld.param");
    int index = -2;
    if (end - first < 6 || !jg_ptx_is(&converter->tokens[first + 2], ",") ||
        !is_whole_parameter(converter, first + 3, end, &index) || index < 0 ||
        bytes != converter->function->parameters[index].bytes) {
        return fail_at(opcode, "compile for scalar parameters, as the signature says",
                       "loads something else than one whole parameter");
    }
    JG_TRY(check_names(converter, first + 1, first + 2));
    const struct jg_ptx_token *to = &converter->tokens[first + 1];
    if (bytes == 4 && is_wide(converter, to)) {
        const char sign = opcode->text[sizeof("ld.param.") - 1] == 's' ? 's' : 'u';
        jg_str_printf(converter->out, "cvt.%c64.%c32 %.*s, jg_p%d;\n", sign, sign,
                      (int)to->size, to->text, index);
    } else {
        jg_str_printf(converter->out, "mov.b%u %.*s, jg_p%d;\n", 8 * bytes, (int)to->size,
                      to->text, index);
    }
    return JIT_GEMM_OK;
}

/* st.param.T [result], value */
static jit_gemm_status convert_store(struct converter *converter, size_t first, size_t end)
{
    const struct jg_ptx_token *opcode = &converter->tokens[first];
    const uint32_t bytes = bytes_of_access(opcode, "st.param");
    int index = -2;
    if (end - first < 6 || !jg_ptx_is(&converter->tokens[end - 2], ",") ||
        !is_whole_parameter(converter, first + 1, end - 2, &index) || index != -1 ||
        bytes != converter->function->result.bytes) {
        return fail_at(opcode, "return one float, as the signature says",
                       "stores something else than the one result");
    }
    JG_TRY(check_names(converter, end - 1, end));
    converter->has_result = true;
    jg_str_printf(converter->out, "mov.b32 jg_d, %.*s;\n",
                  (int)converter->tokens[end - 1].size, converter->tokens[end - 1].text);
    return JIT_GEMM_OK;
}

/* A statement, whose tokens have been collected. */
static jit_gemm_status convert_statement(struct converter *converter)
{
    size_t first = 0; /* behind a guard such as @!%p1 */
    if (jg_ptx_is(&converter->tokens[0], "@")) {
        first = converter->count > 1 && jg_ptx_is(&converter->tokens[1], "!") ? 3 : 2;
    }
    if (first >= converter->count) {
        return fail_form(&converter->tokens[0]);
    }
    const struct jg_ptx_token *opcode = &converter->tokens[first];
    JG_TRY(check_opcode(opcode));
    JG_TRY(check_names(converter, 0, first));
    print_tokens(converter, 0, first);
    jg_str_puts(converter->out, first > 0 ? " " : "");
    if (opcode_begins(opcode, "ld.param")) {
        return convert_load(converter, first, converter->count);
    }
    if (opcode_begins(opcode, "st.param")) {
        return convert_store(converter, first, converter->count);
    }
    if (jg_ptx_is(opcode, "ret") || jg_ptx_is(opcode, "ret.uni")) {
        if (first + 1 < converter->count) {
            return fail_form(&converter->tokens[first + 1]);
        }
        jg_str_puts(converter->out, "bra jg_end;\n");
        return JIT_GEMM_OK;
    }
    if (jg_ptx_is(opcode, ".reg")) {
        note_wide(converter);
    }
    JG_TRY(check_names(converter, first, converter->count));
    print_tokens(converter, first, converter->count);
    jg_str_puts(converter->out, ";\n");
    return JIT_GEMM_OK;
}

/* Collects tokens up to `;`, or a label's colon, and converts them. */
static jit_gemm_status convert_from(struct converter *converter, struct jg_ptx_token token)
{
    converter->count = 0;
    while (!jg_ptx_is(&token, ";")) {
        if (is_end(&token)) {
            return fail_form(&token);
        }
        if (converter->count == MAX_STATEMENT_TOKENS) {
            return fail_at(&token, "have simpler code made", "the statement is too long");
        }
        if (jg_ptx_is(&token, ":") && converter->count == 1) {
            JG_TRY(check_names(converter, 0, 1));
            print_tokens(converter, 0, 1);
            jg_str_puts(converter->out, ":\n");
            return JIT_GEMM_OK;
        }
        converter->tokens[converter->count++] = token;
        token = jg_ptx_next(&converter->lexer);
    }
    return converter->count > 0 ? convert_statement(converter) : JIT_GEMM_OK;
}

/* The rest of a line that says where its code comes from is left out: a brace or a
 * statement that went with it would be missed. */
static jit_gemm_status skip_directive(struct jg_ptx_lexer *lexer, uint32_t line)
{
    for (;;) {
        const struct jg_ptx_token token = jg_ptx_peek(lexer);
        if (is_end(&token) || token.line != line) {
            return JIT_GEMM_OK;
        }
        if (jg_ptx_is(&token, "{") || jg_ptx_is(&token, "}") || jg_ptx_is(&token, ";")) {
            return fail_form(&token);
        }
        (void)jg_ptx_next(lexer);
    }
}

static jit_gemm_status convert_body(struct converter *converter)
{
    for (;;) {
        const struct jg_ptx_token token = jg_ptx_next(&converter->lexer);
        if (token.kind == JG_PTX_END && converter->has_result) {
            return JIT_GEMM_OK;
        }
        if (token.kind == JG_PTX_END) {
            return jg_fail(JIT_GEMM_ERR_ARGUMENT, WHERE, "return one float",
                           "the function never stores its result");
        }
        if (jg_ptx_is(&token, "{") || jg_ptx_is(&token, "}")) {
            jg_str_add(converter->out, token.text, 1);
            jg_str_puts(converter->out, "\n");
        } else if (jg_ptx_is(&token, ".loc") || jg_ptx_is(&token, ".file")) {
            JG_TRY(skip_directive(&converter->lexer, token.line));
        } else {
            JG_TRY(convert_from(converter, token));
        }
    }
}

jit_gemm_status jg_ptx_function_convert(const char *text, size_t size,
                                        const struct jg_ptx_function *function,
                                        struct jg_str *out)
{
    if (function->body.size > JG_PTX_BODY_MAX_BYTES) {
        return jg_fail(JIT_GEMM_ERR_ARGUMENT, WHERE,
                       "give a smaller function, or LTO-IR, which the linker inlines",
                       "the function's PTX has %zu bytes, and at most %d can be pasted "
                       "into a kernel",
                       function->body.size, JG_PTX_BODY_MAX_BYTES);
    }
    struct converter *converter = jg_alloc(sizeof(*converter));
    if (converter == NULL) {
        return jg_fail_memory();
    }
    converter->function = function;
    converter->out = out;
    converter->lexer = jg_ptx_lexer_begin(function->body.text, function->body.size);
    for (const char *at = text; at < function->body.text; at++) {
        converter->lexer.line += *at == '\n';
    }
    jit_gemm_status status = find_module_names(text, size, &converter->names)
                                 ? convert_body(converter)
                                 : jg_fail_memory();
    if (status == JIT_GEMM_OK) {
        status = jg_str_status(out);
    }
    jg_free(converter->names.pieces);
    jg_free(converter);
    return status;
}
