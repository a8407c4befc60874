/* SPDX-License-Identifier: MIT */
#include "plan/snippet.h"

#include <string.h>

#include "plan/snippet_lexer.h"
#include "plan/snippet_loops.h"
#include "plan/snippet_names.h"
#include "plan/text.h"

/* Names of accumulators: one, or the two of a gated epilogue. */
enum { ACC, ACC0, ACC1, ACC_NAMES };
static const char *const acc_names[ACC_NAMES] = {"acc", "acc0", "acc1"};

struct scanner {
    struct jg_epilogue *epilogue;
    struct jg_snippet_lexer lexer;
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
    "prefetch",      "kOutputs", "kOutput",       NULL};

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
        const char *digit = memchr(digits, *at | 32, base);
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
        JG_TRY(jg_snippet_next_token(&scanner->lexer, &next));
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
                              .lexer = {.epilogue = epilogue,
                                        .text = epilogue->source,
                                        .size = epilogue->source_size,
                                        .position = {epilogue->first_line, 1}}};
    if (epilogue->source_size > JG_SNIPPET_MAX_BYTES) {
        return jg_snippet_refuse(epilogue, scanner.lexer.position, "use a shorter snippet",
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
