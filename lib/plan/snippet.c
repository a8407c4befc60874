/* SPDX-License-Identifier: MIT */
/*
 * A small scanner of C++ tokens. It must see literals, comments and brackets as the
 * compiler does, or a snippet could end its function unseen; where the language has two
 * spellings (splices, trigraphs, digraphs, raw strings) the rarer one is refused.
 */
#include "plan/snippet.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "plan/snippet_loops.h"
#include "plan/snippet_names.h"
#include "plan/text.h"

/* Names of accumulators: one, or the two of a gated epilogue. */
enum { ACC, ACC0, ACC1, ACC_NAMES };
static const char *const acc_names[ACC_NAMES] = {"acc", "acc0", "acc1"};

struct scanner {
    struct jg_epilogue *epilogue;
    const char *text;
    size_t size, offset;
    struct jg_position position; /* of text[offset] */
    struct {
        char bracket;
        bool is_number; /* opened behind `uniform` */
        struct jg_position position;
    } open[JG_SNIPPET_MAX_DEPTH];
    int depth;
    bool has_other;     /* has a call of `uniform` another seed than those before? */
    bool behind_number; /* does this token stand behind a call of `uniform`? */
    int tokens;         /* so far */
    int operators;      /* side by side before this token */
    struct jg_position accs[ACC_NAMES]; /* where each is named first; line 0: nowhere */
};

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
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "give a text without zero bytes",
                                 "zero byte in the snippet");
    }
    const bool is_last = scanner->offset + 1 == scanner->size;
    if (c == '\r' && peek(scanner, 1) != '\n' && !is_last) {
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "end lines with a line feed",
                                 "carriage return inside of a line");
    }
    if (c == '\\' && is_splice(scanner)) {
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "put it on one line, or break without '\\'",
                                 "line splice: backslash before a line end");
    }
    if (c == '?' && peek(scanner, 1) == '?' && peek(scanner, 2) != '\0' &&
        strchr("=/'()!<>-", peek(scanner, 2)) != NULL) {
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "write the character itself", "trigraph '?\?%c'",
                                 peek(scanner, 2));
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
    const struct jg_position begin = scanner->position;
    JG_TRY(advance_by(scanner, 2));
    while (!at_end(scanner)) {
        if (peek(scanner, 0) == '*' && peek(scanner, 1) == '/') {
            return advance_by(scanner, 2);
        }
        JG_TRY(advance(scanner));
    }
    return jg_snippet_refuse(scanner->epilogue, begin, "close it with '*/'",
                             "comment without an end");
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
    const struct jg_position begin = scanner->position;
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
    return jg_snippet_refuse(scanner->epilogue, begin, "close it on the same line",
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

/* "U+2212" for a character of UTF-8, which an editor may have put in place of an ordinary
 * one; "'@'" for another that prints, "0x01" for one that does not. */
static void print_character(const struct scanner *scanner, char *buffer, size_t size)
{
    const unsigned char first = (unsigned char)peek(scanner, 0);
    if (first > 0x20 && first < 0x7f) {
        snprintf(buffer, size, "'%c'", first);
        return;
    }
    const int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
    unsigned code = more > 0 ? first & (0x3fu >> more) : first;
    bool is_whole = more > 0 && first < 0xf5;
    for (int i = 1; i <= more && is_whole; i++) {
        const unsigned char next = (unsigned char)peek(scanner, (size_t)i);
        is_whole = (next & 0xc0) == 0x80;
        code = code << 6 | (next & 0x3fu);
    }
    snprintf(buffer, size, is_whole ? "U+%04X" : "0x%02x", is_whole ? code : first);
}

/* Does the '#' begin what may be meant for a directive? A comment of other languages may be
 * any word. */
static bool begins_directive(const struct scanner *scanner)
{
    static const char *const words[] = {"define", "include", "pragma", "undef", "if",
                                        "ifdef",  "ifndef",  "else",   "elif",  "endif",
                                        "line",   "error",   "warning"};
    size_t ahead = 1;
    while (peek(scanner, ahead) == ' ' || peek(scanner, ahead) == '\t') {
        ahead++;
    }
    const char *word = scanner->text + scanner->offset + ahead;
    size_t size = 0;
    while (is_name_char(peek(scanner, ahead + size))) {
        size++;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == size && memcmp(words[i], word, size) == 0) {
            return true;
        }
    }
    return false;
}

static jit_gemm_status check_punctuator(const struct scanner *scanner)
{
    const char c = peek(scanner, 0);
    if (c == '#' || (c == '%' && peek(scanner, 1) == ':')) {
        return jg_snippet_refuse(
            scanner->epilogue, scanner->position,
            c == '%' || begins_directive(scanner)
                ? "a snippet is statements only; name a constant with 'const float'"
                : "a comment begins with //",
            "preprocessor directives are not allowed in a snippet");
    }
    if (is_digraph(scanner)) {
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "write the bracket itself", "digraph '%c%c'", c,
                                 peek(scanner, 1));
    }
    if (c == '\\') {
        return jg_snippet_refuse(scanner->epilogue, scanner->position, "remove it",
                                 "backslash outside of a literal");
    }
    if ((unsigned char)c >= 0x7f || (unsigned char)c < 0x20 || strchr("@$`", c) != NULL) {
        char shown[16];
        print_character(scanner, shown, sizeof(shown));
        return jg_snippet_refuse(scanner->epilogue, scanner->position,
                                 "use plain ASCII outside of comments and literals",
                                 "character %s has no meaning here", shown);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status scan_name(struct scanner *scanner, const struct jg_token *token)
{
    while (is_name_char(peek(scanner, 0))) {
        JG_TRY(advance(scanner));
    }
    if (peek(scanner, 0) == '"' && scanner->text[scanner->offset - 1] == 'R') {
        return jg_snippet_refuse(scanner->epilogue, token->begin,
                                 "use an ordinary string literal",
                                 "raw string literals are not allowed in a snippet");
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status next_token(struct scanner *scanner, struct jg_token *ret_token)
{
    JG_TRY(skip_blanks(scanner));
    struct jg_token token = {.kind = JG_TOKEN_END,
                             .text = scanner->text + scanner->offset,
                             .begin = scanner->position};
    if (!at_end(scanner)) {
        JG_TRY(check_character(scanner));
        const char c = peek(scanner, 0);
        if (is_digit(c) || (c == '.' && is_digit(peek(scanner, 1)))) {
            token.kind = JG_TOKEN_NUMBER;
            JG_TRY(scan_number(scanner));
        } else if (is_name_char(c)) {
            token.kind = JG_TOKEN_NAME;
            JG_TRY(scan_name(scanner, &token));
        } else if (c == '"' || c == '\'') {
            token.kind = JG_TOKEN_LITERAL;
            JG_TRY(scan_literal(scanner));
        } else {
            token.kind = JG_TOKEN_PUNCTUATOR;
            JG_TRY(check_punctuator(scanner));
            JG_TRY(advance_by(scanner, punctuator_size(scanner)));
        }
    }
    token.size = (size_t)(scanner->text + scanner->offset - token.text);
    token.end = scanner->position;
    *ret_token = token;
    return JIT_GEMM_OK;
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
    {"while", "give the loop a bound: 'for (int i = 0; i < 64 && condition; i++)'"},
    {"do", "give the loop a bound: 'for (int i = 0; i < 64 && condition; i++)'"},
    {"operator", "write the arithmetic where it is used"},
    {"mutable", "capture by reference: a copy of the result is not stored"},
    {"noexcept", "leave it out: nothing is thrown in a snippet"},
    {"static", "use a local variable"},
    {"extern", "use a local variable"},
    {"thread_local", "use a local variable"},
    {"__shared__", "a snippet has no shared memory"},
    {"__syncthreads", "a snippet sees one element and cannot wait for others"},
    {"__syncwarp", "a snippet sees one element and cannot wait for others"},
    {"__shfl_sync", "a snippet sees one element, and no other lane's"},
    {"__shfl_up_sync", "a snippet sees one element, and no other lane's"},
    {"__shfl_down_sync", "a snippet sees one element, and no other lane's"},
    {"__shfl_xor_sync", "a snippet sees one element, and no other lane's"},
    {"new", "use a local array of at most 1024 elements, or an operand"},
    {"delete", "use a local array: nothing is to be freed"},
    {"malloc", "use a local array of at most 1024 elements, or an operand"},
    {"free", "use a local array: nothing is to be freed"},
    {"threadIdx", "use row, col and batch"},
    {"blockIdx", "use row, col and batch"},
    {"blockDim", "use M, N and K"},
    {"gridDim", "use M, N and K"},
    {"warpSize", "a snippet sees one element, and no warp"},
};

/* Of the source unit: a snippet that names them reaches out of its function. An operand of
 * that name stands before them. */
static const char *const frame_names[] = {
    "Config",        "Epilogue", "snippet",       "Vector",   "Fragment",  "Element",
    "kOperandCount", "kLoads",   "kHasFragments", "kReduces", "load_step", "clear_group",
    "prefetch",      NULL};

static bool is_operand(const struct jg_epilogue *epilogue, const struct jg_token *name)
{
    for (uint32_t i = 0; i < epilogue->operand_count; i++) {
        if (jg_token_is(name, epilogue->operands[i].name)) {
            return true;
        }
    }
    return false;
}

static jit_gemm_status check_name(const struct scanner *scanner,
                                  const struct jg_token *token)
{
    for (size_t i = 0; i < sizeof(forbidden_names) / sizeof(forbidden_names[0]); i++) {
        if (jg_token_is(token, forbidden_names[i].name) &&
            !is_operand(scanner->epilogue, token)) {
            return jg_snippet_refuse(
                scanner->epilogue, token->begin, forbidden_names[i].hint,
                "'%s' is not allowed in a snippet", forbidden_names[i].name);
        }
    }
    if (jg_token_is_one_of(token, frame_names) && !is_operand(scanner->epilogue, token)) {
        return jg_snippet_refuse(scanner->epilogue, token->begin, "use another name",
                                 "%s is a name of the kernel around the snippet",
                                 jg_quote(token->text, token->size).text);
    }
    if (token->size >= 2 &&
        (memcmp(token->text, "jg", 2) == 0 || memcmp(token->text, "JG", 2) == 0 ||
         memcmp(token->text, "__", 2) == 0)) {
        return jg_snippet_refuse(
            scanner->epilogue, token->begin,
            "use another name; the prelude has exp, log, sqrt, tanh and others",
            "%s begins with a reserved prefix (jg, JG, __)",
            jg_quote(token->text, token->size).text);
    }
    return JIT_GEMM_OK;
}

/* The compiler only warns of an integer that no type can hold, and goes on with its low
 * bits. */
static jit_gemm_status check_integer(const struct scanner *scanner,
                                     const struct jg_token *token)
{
    const char *at = token->text;
    const char *end = at + token->size;
    uint64_t base = 10;
    if (at[0] == '0' && token->size > 1) {
        const char prefix = (char)(at[1] | 32);
        base = prefix == 'x' ? 16 : prefix == 'b' ? 2 : 8;
        at += base == 8 ? 1 : 2;
    }
    uint64_t value = 0;
    bool fits = true;
    for (; at < end; at++) {
        static const char digits[] = "0123456789abcdef";
        const char *digit = memchr(digits, is_digit(*at) ? *at : *at | 32, base);
        if (*at == '\'') {
            continue;
        }
        if (digit == NULL) {
            break;
        }
        const uint64_t number = (uint64_t)(digit - digits);
        fits &= value <= (UINT64_MAX - number) / base;
        value = value * base + number;
    }
    /* What ends with letters of its own is a float, or wrong in another way. */
    while (at < end && strchr("uUlL", *at) != NULL) {
        at++;
    }
    if (fits || at < end) {
        return JIT_GEMM_OK;
    }
    return jg_snippet_refuse(
        scanner->epilogue, token->begin, "write it as a float, such as 1e20f",
        "the number %s fits no integer type", jg_quote(token->text, token->size).text);
}

/* Remembers the first literal that makes the arithmetic double. */
static void note_double(struct scanner *scanner, const struct jg_token *token)
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

static jit_gemm_status check_bracket(struct scanner *scanner, const struct jg_token *token)
{
    const char c = token->text[0];
    if (token->size != 1 || strchr("()[]{}", c) == NULL) {
        return JIT_GEMM_OK;
    }
    if (strchr("([{", c) != NULL) {
        if (scanner->depth == JG_SNIPPET_MAX_DEPTH) {
            return jg_snippet_refuse(scanner->epilogue, token->begin, "nest less",
                                     "brackets are nested deeper than %d",
                                     JG_SNIPPET_MAX_DEPTH);
        }
        scanner->open[scanner->depth].bracket = c;
        scanner->open[scanner->depth].position = token->begin;
        scanner->depth++;
        return JIT_GEMM_OK;
    }
    if (scanner->depth == 0) {
        return jg_snippet_refuse(scanner->epilogue, token->begin,
                                 "remove it, or open it before", "'%c' closes nothing", c);
    }
    scanner->depth--;
    const char bracket = scanner->open[scanner->depth].bracket;
    if (closing_of(bracket) != c) {
        return jg_snippet_refuse(scanner->epilogue, token->begin,
                                 "close brackets in the order of opening",
                                 "'%c' does not match '%c' at %u:%u", c, bracket,
                                 scanner->open[scanner->depth].position.line,
                                 scanner->open[scanner->depth].position.column);
    }
    return JIT_GEMM_OK;
}

/* `uniform` is an object, which knows the element's place: nothing but a call of it means
 * anything. */
static jit_gemm_status check_uniform(const struct scanner *scanner,
                                     const struct jg_token *name,
                                     const struct jg_token *after)
{
    if (name->kind != JG_TOKEN_NAME || !jg_token_is(name, "uniform") ||
        jg_token_is(after, "(")) {
        return JIT_GEMM_OK;
    }
    return jg_snippet_refuse(scanner->epilogue, name->begin,
                             "call it as uniform(seed), or use another name",
                             "'uniform' is a function of the prelude");
}

/* Notes what a call of `uniform` has between its brackets, of which the second one comes:
 * `names` has the two tokens before it. */
static void note_seed(struct scanner *scanner, const struct jg_snippet_names *names)
{
    struct jg_epilogue *epilogue = scanner->epilogue;
    uint32_t seed = 0;
    while (seed < epilogue->operand_count &&
           !jg_token_is(&names->token, epilogue->operands[seed].name)) {
        seed++;
    }
    const struct jg_operand *operand = &epilogue->operands[seed];
    const bool is_seed =
        jg_token_is(&names->before, "(") && seed < epilogue->operand_count &&
        operand->kind == JIT_GEMM_OPERAND_SCALAR &&
        operand->role == JIT_GEMM_OPERAND_INPUT && operand->dtype == JIT_GEMM_DTYPE_F32;
    scanner->has_other |= !is_seed || (epilogue->has_seed && epilogue->seed != seed);
    epilogue->has_seed = !scanner->has_other;
    epilogue->seed = seed;
}

/* What stands behind one of these may be all of the left side of a `<`. */
static const char *const before_comparison[] = {"=", "(", "{",  "[",  ",", ";",
                                                "?", ":", "&&", "||", NULL};

/* Notes a random number that is more than compared with what stands behind it. `names` has
 * the two tokens before this one, whose brackets are counted. */
static void note_number(struct scanner *scanner, const struct jg_snippet_names *names,
                        const struct jg_token *token)
{
    struct jg_epilogue *epilogue = scanner->epilogue;
    if (token->kind == JG_TOKEN_PUNCTUATOR && strchr("([{", token->text[0]) != NULL) {
        const bool is_number =
            names->token.kind == JG_TOKEN_NAME && jg_token_is(&names->token, "uniform");
        scanner->open[scanner->depth - 1].is_number = is_number;
        epilogue->compares_random &=
            !is_number || jg_token_is_one_of(&names->before, before_comparison);
    }
    epilogue->compares_random &=
        !scanner->behind_number || jg_token_is(token, "<") || jg_token_is(token, ">=");
    scanner->behind_number =
        jg_token_is(token, ")") && scanner->open[scanner->depth].is_number;
    if (scanner->behind_number) {
        note_seed(scanner, names);
    }
}

/* Of an element: what other rows, or another place of its row, make different. */
static const char *const place_names[] = {"row", "batch", "M", "uniform"};
enum { PLACE_NAMES = sizeof(place_names) / sizeof(place_names[0]) };

static void note_place(struct jg_epilogue *epilogue, const struct jg_token *name)
{
    for (int i = 0; i < PLACE_NAMES && epilogue->place_name == NULL; i++) {
        if (name->kind == JG_TOKEN_NAME && jg_token_is(name, place_names[i])) {
            epilogue->place_name = place_names[i];
        }
    }
}

/* Notes the first place of an accumulator's name, of a row's place, and whether there are
 * random numbers. */
static void note_name(struct scanner *scanner, const struct jg_token *name)
{
    note_place(scanner->epilogue, name);
    scanner->epilogue->is_random |=
        name->kind == JG_TOKEN_NAME && jg_token_is(name, "uniform");
    for (int i = 0; i < ACC_NAMES; i++) {
        if (name->kind == JG_TOKEN_NAME && jg_token_is(name, acc_names[i]) &&
            scanner->accs[i].line == 0) {
            scanner->accs[i] = name->begin;
        }
    }
}

/* A snippet takes one accumulator, or two. */
static jit_gemm_status check_accumulators(const struct scanner *scanner)
{
    const struct jg_position *accs = scanner->accs;
    const bool has_acc0 = accs[ACC0].line != 0;
    const bool has_acc1 = accs[ACC1].line != 0;
    if (has_acc0 != has_acc1) {
        const int named = has_acc0 ? ACC0 : ACC1;
        const int missing = has_acc0 ? ACC1 : ACC0;
        return jg_snippet_refuse(
            scanner->epilogue, accs[named],
            "a gated snippet combines both, such as 'd = silu(acc0) * acc1;'; one "
            "accumulator is called acc",
            "%s is named, and %s is not", acc_names[named], acc_names[missing]);
    }
    if (has_acc0 && accs[ACC].line != 0) {
        return jg_snippet_refuse(
            scanner->epilogue, accs[ACC],
            "name acc0 and acc1, which make an element of D, or only acc",
            "acc is not in scope beside acc0 and acc1");
    }
    scanner->epilogue->is_gated = has_acc0;
    return JIT_GEMM_OK;
}

/* Counts what looks like a call, but for statements, casts and functions of an instruction
 * or two. */
static void note_call(struct scanner *scanner, const struct jg_token *name,
                      const struct jg_token *after)
{
    static const char *const short_names[] = {
        "if",  "for", "switch", "sizeof", "float", "int",
        "abs", "fma", "min",    "max",    "clamp", "relu",
    };
    if (name->kind != JG_TOKEN_NAME || !jg_token_is(after, "(")) {
        return;
    }
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        if (jg_token_is(name, short_names[i])) {
            return;
        }
    }
    scanner->epilogue->long_calls++;
}

static jit_gemm_status check_end(const struct scanner *scanner, const struct jg_token *last)
{
    if (scanner->depth > 0) {
        const int top = scanner->depth - 1;
        return jg_snippet_refuse(scanner->epilogue, scanner->open[top].position, "close it",
                                 "'%c' is never closed", scanner->open[top].bracket);
    }
    const struct jg_position begin = {scanner->epilogue->first_line, 1};
    if (last->kind == JG_TOKEN_END) {
        return jg_snippet_refuse(scanner->epilogue, begin,
                                 "assign d, for instance 'd = acc;'",
                                 "the snippet has no statement");
    }
    if (!jg_token_is(last, ";") && !jg_token_is(last, "}")) {
        return jg_snippet_refuse(scanner->epilogue, last->end, "end the statement with ';'",
                                 "expected ';' after %s",
                                 jg_quote(last->text, last->size).text);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_counts(struct scanner *scanner, const struct jg_token *token)
{
    const bool is_operator =
        token->kind == JG_TOKEN_PUNCTUATOR && strchr("()[]{};,", token->text[0]) == NULL;
    scanner->operators = is_operator ? scanner->operators + 1 : 0;
    scanner->tokens += token->kind != JG_TOKEN_END;
    if (scanner->operators > JG_SNIPPET_MAX_OPERATORS) {
        return jg_snippet_refuse(scanner->epilogue, token->begin, "remove some",
                                 "more than %d operators stand side by side",
                                 JG_SNIPPET_MAX_OPERATORS);
    }
    if (scanner->tokens > JG_SNIPPET_MAX_TOKENS) {
        return jg_snippet_refuse(
            scanner->epilogue, token->begin, "use a shorter snippet, or a loop",
            "the snippet has more than %d names, numbers and operators",
            JG_SNIPPET_MAX_TOKENS);
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status check_token(struct scanner *scanner, const struct jg_token *token)
{
    JG_TRY(check_counts(scanner, token));
    switch (token->kind) {
    case JG_TOKEN_NAME:
        return check_name(scanner, token);
    case JG_TOKEN_NUMBER:
        note_double(scanner, token);
        return check_integer(scanner, token);
    case JG_TOKEN_PUNCTUATOR:
        return check_bracket(scanner, token);
    case JG_TOKEN_LITERAL:
    case JG_TOKEN_END:
        break;
    }
    return JIT_GEMM_OK;
}

static jit_gemm_status scan_all(struct scanner *scanner, struct jg_snippet_names *names,
                                struct jg_snippet_loops *loops)
{
    struct jg_token next;
    do {
        JG_TRY(next_token(scanner, &next));
        JG_TRY(check_token(scanner, &next));
        note_name(scanner, &next);
        JG_TRY(check_uniform(scanner, &names->token, &next));
        note_number(scanner, names, &next);
        note_call(scanner, &names->token, &next);
        JG_TRY(jg_snippet_loops_take(loops, &names->token, &next));
        JG_TRY(jg_snippet_names_take(names, &next));
    } while (next.kind != JG_TOKEN_END);
    JG_TRY(check_end(scanner, &names->before));
    JG_TRY(check_accumulators(scanner));
    return jg_snippet_names_finish(names);
}

jit_gemm_status jg_snippet_check(struct jg_epilogue *epilogue)
{
    struct scanner scanner = {.epilogue = epilogue,
                              .text = epilogue->source,
                              .size = epilogue->source_size,
                              .position = {epilogue->first_line, 1}};
    if (epilogue->source_size > JG_SNIPPET_MAX_BYTES) {
        return jg_snippet_refuse(epilogue, scanner.position, "use a shorter snippet",
                                 "the snippet has %zu bytes, at most %d",
                                 epilogue->source_size, JG_SNIPPET_MAX_BYTES);
    }
    epilogue->double_line = epilogue->double_column = 0;
    epilogue->long_calls = 0;
    epilogue->is_random = false;
    epilogue->compares_random = true;
    epilogue->has_seed = false;
    epilogue->place_name = NULL;
    const struct jg_token none = {.kind = JG_TOKEN_END, .text = ""};
    struct jg_snippet_names names = {.epilogue = epilogue, .before = none, .token = none};
    struct jg_snippet_loops loops = {.epilogue = epilogue};
    return scan_all(&scanner, &names, &loops);
}
