/* SPDX-License-Identifier: MIT */
/*
 * A small scanner of C++ tokens. It must see literals, comments and brackets as the
 * compiler does, or a snippet could end its function unseen; where the language has two
 * spellings (splices, trigraphs, digraphs, raw strings) the rarer one is refused.
 */
#include "plan/snippet.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/text.h"

enum { MAX_DEPTH = 256 };

struct position {
    uint32_t line, column;
};

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_LITERAL, TOKEN_PUNCTUATOR };

struct token {
    enum token_kind kind;
    const char *text;
    size_t size;
    struct position begin, end; /* end: just past the token */
};

struct scanner {
    struct jg_epilogue *epilogue;
    const char *text;
    size_t size, offset;
    struct position position; /* of text[offset] */
    struct {
        char bracket;
        struct position position;
    } open[MAX_DEPTH];
    int depth;
    uint32_t assigned; /* bit of each operand that is assigned */
    bool d_assigned;
};

static jit_gemm_status refuse(const struct scanner *scanner, struct position position,
                              const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static jit_gemm_status refuse(const struct scanner *scanner, struct position position,
                              const char *hint, const char *format, ...)
{
    char text[192];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    jg_error_begin(JIT_GEMM_ERR_COMPILE);
    jg_error_add(JIT_GEMM_SEVERITY_ERROR, JIT_GEMM_DIAGNOSTIC_SNIPPET, position.line,
                 position.column, scanner->epilogue->source_name, text, hint);
    return JIT_GEMM_ERR_COMPILE;
}

/* --------------------------------------------------------------------- characters */

/* The character that stands `ahead` further on; 0 past the end (zero bytes are refused
 * earlier). */
static char peek(const struct scanner *scanner, size_t ahead)
{
    if (ahead >= scanner->size - scanner->offset) {
        return '\0';
    }
    return scanner->text[scanner->offset + ahead];
}

static bool at_end(const struct scanner *scanner)
{
    return scanner->offset == scanner->size;
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is the backslash at text[offset] followed by a line end (or by the end of the text, which
 * the generated source continues with a line end)? Blanks between do not help: some
 * compilers skip them. */
static bool is_splice(const struct scanner *scanner)
{
    size_t ahead = 1;
    while (peek(scanner, ahead) == ' ' || peek(scanner, ahead) == '\t' ||
           peek(scanner, ahead) == '\v' || peek(scanner, ahead) == '\f') {
        ahead++;
    }
    const char c = peek(scanner, ahead);
    return c == '\n' || c == '\r' || scanner->offset + ahead >= scanner->size;
}

/* What is refused wherever it stands, in comments and literals too. */
static jit_gemm_status check_character(const struct scanner *scanner)
{
    const char c = scanner->text[scanner->offset];
    if (c == '\0') {
        return refuse(scanner, scanner->position, "give a text without zero bytes",
                      "zero byte in the snippet");
    }
    if (c == '\r' && peek(scanner, 1) != '\n') {
        return refuse(scanner, scanner->position, "end lines with a line feed",
                      "carriage return inside of a line");
    }
    if (c == '\\' && is_splice(scanner)) {
        return refuse(scanner, scanner->position,
                      "put it on one line, or break without '\\'",
                      "line splice: backslash before a line end");
    }
    if (c == '?' && peek(scanner, 1) == '?' && peek(scanner, 2) != '\0' &&
        strchr("=/'()!<>-", peek(scanner, 2)) != NULL) {
        return refuse(scanner, scanner->position, "write the character itself",
                      "trigraph '?\?%c'", peek(scanner, 2));
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status advance(struct scanner *scanner)
{
    JG_TRY(check_character(scanner));
    if (scanner->text[scanner->offset++] == '\n') {
        scanner->position.line++;
        scanner->position.column = 1;
    } else {
        scanner->position.column++;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status advance_by(struct scanner *scanner, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        JG_TRY(advance(scanner));
    }
    return JIT_GEMM_OK;
}

/* ------------------------------------------------------------------------- tokens */

static jit_gemm_status skip_block_comment(struct scanner *scanner)
{
    const struct position begin = scanner->position;
    JG_TRY(advance_by(scanner, 2));
    while (!at_end(scanner)) {
        if (peek(scanner, 0) == '*' && peek(scanner, 1) == '/') {
            return advance_by(scanner, 2);
        }
        JG_TRY(advance(scanner));
    }
    return refuse(scanner, begin, "close it with '*/'", "comment without an end");
}

static jit_gemm_status skip_blanks(struct scanner *scanner)
{
    while (!at_end(scanner)) {
        const char c = peek(scanner, 0);
        if (c == '/' && peek(scanner, 1) == '/') {
            while (!at_end(scanner) && peek(scanner, 0) != '\n') {
                JG_TRY(advance(scanner));
            }
        } else if (c == '/' && peek(scanner, 1) == '*') {
            JG_TRY(skip_block_comment(scanner));
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            JG_TRY(advance(scanner));
        } else {
            break;
        }
    }
    return JIT_GEMM_OK;
}

/* A string or character literal from its quote on. */
static jit_gemm_status scan_literal(struct scanner *scanner)
{
    const struct position begin = scanner->position;
    const char quote = peek(scanner, 0);
    JG_TRY(advance(scanner));
    while (!at_end(scanner) && peek(scanner, 0) != '\n') {
        const char c = peek(scanner, 0);
        JG_TRY(advance(scanner));
        if (c == quote) {
            return JIT_GEMM_OK;
        }
        if (c == '\\') {
            JG_TRY(advance(scanner));
        }
    }
    return refuse(scanner, begin, "close it on the same line",
                  quote == '"' ? "string literal without an end"
                               : "character literal without an end");
}

/* A preprocessing number, digit separators included: 1'000, 0x1p-3f, 1e+5. */
static jit_gemm_status scan_number(struct scanner *scanner)
{
    for (;;) {
        const char c = peek(scanner, 0);
        const char next = peek(scanner, 1);
        if (c != '\0' && strchr("eEpP", c) != NULL && (next == '+' || next == '-')) {
            JG_TRY(advance_by(scanner, 2));
        } else if (is_name_char(c) || c == '.' || (c == '\'' && is_name_char(next))) {
            JG_TRY(advance(scanner));
        } else {
            return JIT_GEMM_OK;
        }
    }
}

static size_t punctuator_size(const struct scanner *scanner)
{
    static const char *const long_punctuators[] = {
        "<<=", ">>=", "->*", "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
        "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "->", "::"};
    for (size_t i = 0; i < sizeof(long_punctuators) / sizeof(long_punctuators[0]); i++) {
        const size_t size = strlen(long_punctuators[i]);
        if (scanner->size - scanner->offset >= size &&
            memcmp(scanner->text + scanner->offset, long_punctuators[i], size) == 0) {
            return size;
        }
    }
    return 1;
}

/* `<:` is '[', but not in `<::name`, which is '<' and '::'. */
static bool is_digraph(const struct scanner *scanner)
{
    const char c = peek(scanner, 0);
    const char next = peek(scanner, 1);
    if (c == '<' && next == ':') {
        const char third = peek(scanner, 2);
        const char fourth = peek(scanner, 3);
        return third != ':' || fourth == ':' || fourth == '>';
    }
    return (c == '<' && next == '%') || ((c == '%' || c == ':') && next == '>');
}

static jit_gemm_status check_punctuator(const struct scanner *scanner)
{
    const char c = peek(scanner, 0);
    if (c == '#' || (c == '%' && peek(scanner, 1) == ':')) {
        return refuse(scanner, scanner->position,
                      "a snippet is statements only; name a constant with 'const float'",
                      "preprocessor directives are not allowed in a snippet");
    }
    if (is_digraph(scanner)) {
        return refuse(scanner, scanner->position, "write the bracket itself",
                      "digraph '%c%c'", c, peek(scanner, 1));
    }
    if (c == '\\') {
        return refuse(scanner, scanner->position, "remove it",
                      "backslash outside of a literal");
    }
    if ((unsigned char)c >= 0x7f || (unsigned char)c < 0x20 || strchr("@$`", c) != NULL) {
        return refuse(scanner, scanner->position,
                      "use plain ASCII outside of comments and literals",
                      "character 0x%02x has no meaning here", (unsigned)(unsigned char)c);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status scan_name(struct scanner *scanner, const struct token *token)
{
    while (is_name_char(peek(scanner, 0))) {
        JG_TRY(advance(scanner));
    }
    if (peek(scanner, 0) == '"' && scanner->text[scanner->offset - 1] == 'R') {
        return refuse(scanner, token->begin, "use an ordinary string literal",
                      "raw string literals are not allowed in a snippet");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status next_token(struct scanner *scanner, struct token *ret_token)
{
    JG_TRY(skip_blanks(scanner));
    struct token token = {.kind = TOKEN_END,
                          .text = scanner->text + scanner->offset,
                          .begin = scanner->position};
    if (!at_end(scanner)) {
        JG_TRY(check_character(scanner));
        const char c = peek(scanner, 0);
        if (is_digit(c) || (c == '.' && is_digit(peek(scanner, 1)))) {
            token.kind = TOKEN_NUMBER;
            JG_TRY(scan_number(scanner));
        } else if (is_name_char(c)) {
            token.kind = TOKEN_NAME;
            JG_TRY(scan_name(scanner, &token));
        } else if (c == '"' || c == '\'') {
            token.kind = TOKEN_LITERAL;
            JG_TRY(scan_literal(scanner));
        } else {
            token.kind = TOKEN_PUNCTUATOR;
            JG_TRY(check_punctuator(scanner));
            JG_TRY(advance_by(scanner, punctuator_size(scanner)));
        }
    }
    token.size = (size_t)(scanner->text + scanner->offset - token.text);
    token.end = scanner->position;
    *ret_token = token;
    return JIT_GEMM_OK;
}

static bool token_is(const struct token *token, const char *text)
{
    return jg_word_is(token->text, token->size, text);
}

/* -------------------------------------------------------------------------- rules */

static const struct {
    const char *name;
    const char *hint;
} forbidden_names[] = {
    {"asm", "write it in C++"},
    {"__asm", "write it in C++"},
    {"__asm__", "write it in C++"},
    {"_Pragma", "remove it"},
    {"__pragma", "remove it"},
    {"return", "use if and else: the kernel goes on after the snippet"},
    {"goto", "use if, else and loops"},
    {"static", "use a local variable"},
    {"extern", "use a local variable"},
    {"thread_local", "use a local variable"},
    {"__shared__", "a snippet has no shared memory"},
    {"__syncthreads", "a snippet sees one element and cannot wait for others"},
    {"__syncwarp", "a snippet sees one element and cannot wait for others"},
    {"threadIdx", "use row, col and batch"},
    {"blockIdx", "use row, col and batch"},
    {"blockDim", "use M, N and K"},
    {"gridDim", "use M, N and K"},
};

static jit_gemm_status check_name(const struct scanner *scanner, const struct token *token)
{
    for (size_t i = 0; i < sizeof(forbidden_names) / sizeof(forbidden_names[0]); i++) {
        if (token_is(token, forbidden_names[i].name)) {
            return refuse(scanner, token->begin, forbidden_names[i].hint,
                          "'%s' is not allowed in a snippet", forbidden_names[i].name);
        }
    }
    if (token->size >= 2 &&
        (memcmp(token->text, "jg", 2) == 0 || memcmp(token->text, "JG", 2) == 0 ||
         memcmp(token->text, "__", 2) == 0)) {
        return refuse(scanner, token->begin,
                      "use another name; the prelude has exp, log, sqrt, tanh and others",
                      "%s begins with a reserved prefix (jg, JG, __)",
                      jg_quote(token->text, token->size).text);
    }
    return JIT_GEMM_OK;
}

/* Remembers the first literal that makes the arithmetic double. */
static void note_double(struct scanner *scanner, const struct token *token)
{
    if (scanner->epilogue->double_line != 0) {
        return;
    }
    const bool hexadecimal =
        token->size > 1 && token->text[0] == '0' && (token->text[1] | 32) == 'x';
    bool floating = false;
    for (size_t i = 0; i < token->size; i++) {
        const char c = (char)(token->text[i] | 32);
        floating |= token->text[i] == '.' || c == (hexadecimal ? 'p' : 'e');
    }
    if (floating && (token->text[token->size - 1] | 32) != 'f') {
        scanner->epilogue->double_line = token->begin.line;
        scanner->epilogue->double_column = token->begin.column;
    }
}

static char closing_of(char bracket)
{
    switch (bracket) {
    case '(':
        return ')';
    case '[':
        return ']';
    default:
        return '}';
    }
}

static jit_gemm_status check_bracket(struct scanner *scanner, const struct token *token)
{
    const char c = token->text[0];
    if (token->size != 1 || strchr("()[]{}", c) == NULL) {
        return JIT_GEMM_OK;
    }
    if (strchr("([{", c) != NULL) {
        if (scanner->depth == MAX_DEPTH) {
            return refuse(scanner, token->begin, "nest less",
                          "brackets are nested deeper than %d", MAX_DEPTH);
        }
        scanner->open[scanner->depth].bracket = c;
        scanner->open[scanner->depth].position = token->begin;
        scanner->depth++;
        return JIT_GEMM_OK;
    }
    if (scanner->depth == 0) {
        return refuse(scanner, token->begin, "remove it, or open it before",
                      "'%c' closes nothing", c);
    }
    scanner->depth--;
    const char bracket = scanner->open[scanner->depth].bracket;
    if (closing_of(bracket) != c) {
        return refuse(scanner, token->begin, "close brackets in the order of opening",
                      "'%c' does not match '%c' at %u:%u", c, bracket,
                      scanner->open[scanner->depth].position.line,
                      scanner->open[scanner->depth].position.column);
    }
    return JIT_GEMM_OK;
}

static bool is_step(const struct token *token)
{
    return token_is(token, "++") || token_is(token, "--");
}

/* Does the token, when it follows a name, change the variable? */
static bool is_assignment(const struct token *token)
{
    if (token->kind != TOKEN_PUNCTUATOR || is_step(token)) {
        return token->kind == TOKEN_PUNCTUATOR;
    }
    static const char *const comparisons[] = {"==", "!=", "<=", ">="};
    for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++) {
        if (token_is(token, comparisons[i])) {
            return false;
        }
    }
    return token->size > 0 && token->text[token->size - 1] == '=';
}

/* Looks at a name with its neighbours: is it an operand, or `d`, that is assigned? */
static jit_gemm_status note_assignment(struct scanner *scanner, const struct token *before,
                                       const struct token *name, const struct token *after)
{
    if (name->kind != TOKEN_NAME || token_is(before, ".") || token_is(before, "->") ||
        token_is(before, "::") || !(is_step(before) || is_assignment(after))) {
        return JIT_GEMM_OK;
    }
    if (token_is(name, "d")) {
        scanner->d_assigned = true;
        return JIT_GEMM_OK;
    }
    const struct jg_epilogue *epilogue = scanner->epilogue;
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        const struct jg_operand *operand = &epilogue->operands[i];
        if (!token_is(name, operand->name)) {
            continue;
        }
        if (operand->role == JIT_GEMM_OPERAND_INPUT) {
            return refuse(scanner, name->begin,
                          "copy it to a variable of your own, or declare it as an output",
                          "input '%s' cannot be assigned", operand->name);
        }
        scanner->assigned |= 1u << i;
    }
    return JIT_GEMM_OK;
}

/* Counts what looks like a call, but for statements, casts and functions of an instruction
 * or two. */
static void note_call(struct scanner *scanner, const struct token *name,
                      const struct token *after)
{
    static const char *const short_names[] = {
        "if",  "for", "while", "switch", "sizeof", "float", "int",
        "abs", "fma", "min",   "max",    "clamp",  "relu",
    };
    if (name->kind != TOKEN_NAME || !token_is(after, "(")) {
        return;
    }
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        if (token_is(name, short_names[i])) {
            return;
        }
    }
    scanner->epilogue->long_calls++;
}

static jit_gemm_status check_end(const struct scanner *scanner, const struct token *last)
{
    if (scanner->depth > 0) {
        const int top = scanner->depth - 1;
        return refuse(scanner, scanner->open[top].position, "close it",
                      "'%c' is never closed", scanner->open[top].bracket);
    }
    const struct position begin = {scanner->epilogue->first_line, 1};
    if (last->kind == TOKEN_END) {
        return refuse(scanner, begin, "assign d, for instance 'd = acc;'",
                      "the snippet has no statement");
    }
    if (!token_is(last, ";") && !token_is(last, "}")) {
        return refuse(scanner, last->end, "end the statement with ';'",
                      "expected ';' after %s", jg_quote(last->text, last->size).text);
    }
    if (!scanner->d_assigned) {
        return refuse(scanner, begin, "assign it, for instance 'd = acc;'",
                      "the result 'd' is never assigned");
    }
    for (uint32_t i = 0; i < scanner->epilogue->operand_count; i++) {
        const struct jg_operand *operand = &scanner->epilogue->operands[i];
        if (operand->role == JIT_GEMM_OPERAND_OUTPUT &&
            (scanner->assigned & (1u << i)) == 0) {
            return refuse(scanner, begin, "assign it, or remove the operand",
                          "output '%s' is never assigned", operand->name);
        }
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_token(struct scanner *scanner, const struct token *token)
{
    switch (token->kind) {
    case TOKEN_NAME:
        return check_name(scanner, token);
    case TOKEN_NUMBER:
        note_double(scanner, token);
        return JIT_GEMM_OK;
    case TOKEN_PUNCTUATOR:
        return check_bracket(scanner, token);
    case TOKEN_LITERAL:
    case TOKEN_END:
        break;
    }
    return JIT_GEMM_OK;
}

jit_gemm_status jg_snippet_check(struct jg_epilogue *epilogue)
{
    struct scanner scanner = {.epilogue = epilogue,
                              .text = epilogue->source,
                              .size = epilogue->source_size,
                              .position = {epilogue->first_line, 1}};
    if (epilogue->source_size > JG_SNIPPET_MAX_BYTES) {
        return refuse(&scanner, scanner.position, "use a shorter snippet",
                      "the snippet has %zu bytes, at most %d", epilogue->source_size,
                      JG_SNIPPET_MAX_BYTES);
    }
    epilogue->double_line = epilogue->double_column = 0;
    epilogue->long_calls = 0;
    struct token before = {.kind = TOKEN_END, .text = "", .size = 0};
    struct token token = before;
    struct token after;
    do {
        JG_TRY(next_token(&scanner, &after));
        JG_TRY(check_token(&scanner, &after));
        JG_TRY(note_assignment(&scanner, &before, &token, &after));
        note_call(&scanner, &token, &after);
        if (after.kind != TOKEN_END) {
            before = token;
            token = after;
        }
    } while (after.kind != TOKEN_END);
    return check_end(&scanner, &token);
}
