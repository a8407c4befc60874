/* SPDX-License-Identifier: MIT */
/*
 * Constant expressions with the operators and the precedence of C. Integers have 64 bits
 * and are signed unless one side is unsigned, as the PTX manual says of them.
 */
#include <string.h>

#include "ptx/internal.h"

#define NESTING_MAX 64u

/* Bounds the recursion: every enter that succeeds has its leave. */
static bool enter(struct ptx_parser *parser)
{
    if (parser->nesting == NESTING_MAX) {
        return ptx_fail(parser, "nested more than %u deep", NESTING_MAX);
    }
    parser->nesting++;
    return true;
}

static void leave(struct ptx_parser *parser)
{
    parser->nesting--;
}

static const struct {
    int mark;
    unsigned precedence; /* the higher, the tighter */
    bool compares;       /* the result is signed, whatever the sides are */
} binary_operators[] = {
    {PTX_MARK2('|', '|'), 1, true},
    {PTX_MARK2('&', '&'), 2, true},
    {'|', 3, false},
    {'^', 4, false},
    {'&', 5, false},
    {PTX_MARK2('=', '='), 6, true},
    {PTX_MARK2('!', '='), 6, true},
    {'<', 7, true},
    {'>', 7, true},
    {PTX_MARK2('<', '='), 7, true},
    {PTX_MARK2('>', '='), 7, true},
    {PTX_MARK2('<', '<'), 8, false},
    {PTX_MARK2('>', '>'), 8, false},
    {'+', 9, false},
    {'-', 9, false},
    {'*', 10, false},
    {'/', 10, false},
    {'%', 10, false},
};
#define BINARY_COUNT (sizeof(binary_operators) / sizeof(binary_operators[0]))

static struct ptx_constant make_integer(uint64_t bits, bool is_unsigned)
{
    return (struct ptx_constant){.bits = bits, .is_unsigned = is_unsigned};
}

static struct ptx_constant make_real(double real)
{
    return (struct ptx_constant){.is_real = true, .real = real};
}

/* -1, 0, 1 for less, equal, greater. */
static int order(const struct ptx_constant *a, const struct ptx_constant *b)
{
    if (a->is_unsigned || b->is_unsigned) {
        return (a->bits > b->bits) - (a->bits < b->bits);
    }
    return ((int64_t)a->bits > (int64_t)b->bits) - ((int64_t)a->bits < (int64_t)b->bits);
}

static bool divide(struct ptx_parser *parser, bool remainder, const struct ptx_constant *b,
                   struct ptx_constant *a)
{
    if (b->bits == 0) {
        return ptx_fail(parser, "a constant expression divides by zero");
    }
    const bool is_unsigned = a->is_unsigned || b->is_unsigned;
    if (is_unsigned) {
        *a = make_integer(remainder ? a->bits % b->bits : a->bits / b->bits, true);
    } else if (b->bits == UINT64_MAX) {
        /* By -1: C leaves the smallest number undefined. */
        *a = make_integer(remainder ? 0 : 0 - a->bits, false);
    } else {
        const int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
        *a = make_integer((uint64_t)(remainder ? x % y : x / y), false);
    }
    return true;
}

static bool shift(struct ptx_parser *parser, bool left, const struct ptx_constant *b,
                  struct ptx_constant *a)
{
    if (b->bits > 63) {
        return ptx_fail(parser, "a constant expression shifts by more than 63 bits");
    }
    if (left) {
        a->bits <<= b->bits;
    } else if (a->is_unsigned || (a->bits >> 63) == 0) {
        a->bits >>= b->bits;
    } else {
        a->bits = ~(~a->bits >> b->bits);
    }
    return true;
}

/* a = a OP b */
static bool combine_reals(struct ptx_parser *parser, int mark, const struct ptx_constant *b,
                          struct ptx_constant *a)
{
    switch (mark) {
    case '+':
        a->real += b->real;
        return true;
    case '-':
        a->real -= b->real;
        return true;
    case '*':
        a->real *= b->real;
        return true;
    case '/':
        a->real /= b->real;
        return true;
    default:
        return ptx_fail(parser,
                        "only + - * / are supported between floating-point constants");
    }
}

static bool combine(struct ptx_parser *parser, int mark, const struct ptx_constant *b,
                    struct ptx_constant *a)
{
    if (a->is_real != b->is_real) {
        return ptx_fail(parser, "a constant expression mixes integers and floating point");
    }
    if (a->is_real) {
        return combine_reals(parser, mark, b, a);
    }
    const bool is_unsigned = a->is_unsigned || b->is_unsigned;
    const int relation = order(a, b);
    uint64_t bits = 0;
    switch (mark) {
    case '*':
        bits = a->bits * b->bits;
        break;
    case '+':
        bits = a->bits + b->bits;
        break;
    case '-':
        bits = a->bits - b->bits;
        break;
    case '&':
        bits = a->bits & b->bits;
        break;
    case '^':
        bits = a->bits ^ b->bits;
        break;
    case '|':
        bits = a->bits | b->bits;
        break;
    case '/':
    case '%':
        return divide(parser, mark == '%', b, a);
    case PTX_MARK2('<', '<'):
    case PTX_MARK2('>', '>'):
        return shift(parser, mark == PTX_MARK2('<', '<'), b, a);
    case '<':
        bits = relation < 0;
        break;
    case '>':
        bits = relation > 0;
        break;
    case PTX_MARK2('<', '='):
        bits = relation <= 0;
        break;
    case PTX_MARK2('>', '='):
        bits = relation >= 0;
        break;
    case PTX_MARK2('=', '='):
        bits = relation == 0;
        break;
    case PTX_MARK2('!', '='):
        bits = relation != 0;
        break;
    case PTX_MARK2('&', '&'):
        bits = a->bits != 0 && b->bits != 0;
        break;
    default: /* || */
        bits = a->bits != 0 || b->bits != 0;
        break;
    }
    *a = make_integer(bits, is_unsigned);
    return true;
}

static bool parse_unary(struct ptx_parser *parser, struct ptx_constant *ret);

/* `(expression)`, or a cast `(.s64) x`; the parenthesis is consumed. */
static bool parse_parenthesis(struct ptx_parser *parser, struct ptx_constant *ret)
{
    const bool to_signed = ptx_is_directive(parser, "s64");
    if (!to_signed && !ptx_is_directive(parser, "u64")) {
        return ptx_constant_parse(parser, ret) && ptx_expect(parser, ')');
    }
    ptx_next(parser);
    if (!ptx_expect(parser, ')') || !parse_unary(parser, ret)) {
        return false;
    }
    if (ret->is_real) {
        return ptx_fail(parser, "a cast of a floating-point constant is not supported");
    }
    ret->is_unsigned = !to_signed;
    return true;
}

static bool parse_primary(struct ptx_parser *parser, struct ptx_constant *ret)
{
    const struct ptx_token token = parser->token;
    if (token.kind == PTX_TOKEN_INTEGER) {
        *ret = make_integer(token.bits, token.is_unsigned);
    } else if (token.kind == PTX_TOKEN_DECIMAL) {
        double real = 0;
        memcpy(&real, &token.bits, sizeof(real));
        *ret = make_real(real);
    } else if (token.kind == PTX_TOKEN_WORD && strcmp(token.name->text, "WARP_SZ") == 0) {
        *ret = make_integer(32, false);
    } else {
        return ptx_accept(parser, '(') ? parse_parenthesis(parser, ret)
                                       : ptx_fail_expected(parser, "a constant");
    }
    ptx_next(parser);
    return !parser->failed;
}

/* -x, !x, ~x and +x. */
static bool apply_sign(struct ptx_parser *parser, int mark, struct ptx_constant *a)
{
    if (a->is_real && (mark == '!' || mark == '~')) {
        return ptx_fail(parser, "'%c' does not apply to a floating-point constant", mark);
    }
    if (a->is_real) {
        a->real = mark == '-' ? -a->real : a->real;
    } else if (mark == '-') {
        a->bits = 0 - a->bits;
    } else if (mark == '~') {
        a->bits = ~a->bits;
    } else if (mark == '!') {
        *a = make_integer(a->bits == 0, false);
    }
    return true;
}

static bool parse_unary(struct ptx_parser *parser, struct ptx_constant *ret)
{
    const int mark = parser->token.kind == PTX_TOKEN_MARK ? parser->token.mark : 0;
    if (!enter(parser)) {
        return false;
    }
    bool ok = false;
    if (mark == '-' || mark == '!' || mark == '~' || mark == '+') {
        ptx_next(parser);
        ok = parse_unary(parser, ret) && apply_sign(parser, mark, ret);
    } else {
        ok = parse_primary(parser, ret);
    }
    leave(parser);
    return ok;
}

static size_t find_operator(const struct ptx_parser *parser)
{
    size_t i = 0;
    while (i < BINARY_COUNT && !ptx_is_mark(parser, binary_operators[i].mark)) {
        i++;
    }
    return i;
}

/* Operators of at least `least` precedence, from the left to the right. */
static bool parse_binary(struct ptx_parser *parser, unsigned least,
                         struct ptx_constant *ret)
{
    if (!parse_unary(parser, ret)) {
        return false;
    }
    size_t i = find_operator(parser);
    while (i < BINARY_COUNT && binary_operators[i].precedence >= least) {
        struct ptx_constant right = {0};
        ptx_next(parser);
        if (!parse_binary(parser, binary_operators[i].precedence + 1, &right) ||
            !combine(parser, binary_operators[i].mark, &right, ret)) {
            return false;
        }
        ret->is_unsigned = ret->is_unsigned && !binary_operators[i].compares;
        i = find_operator(parser);
    }
    return true;
}

/* `a ? b : c`, of which the condition is read. */
static bool parse_choice(struct ptx_parser *parser, struct ptx_constant *ret)
{
    struct ptx_constant yes = {0}, no = {0};
    if (ret->is_real) {
        return ptx_fail(parser, "the condition before '?' is not an integer");
    }
    if (!ptx_constant_parse(parser, &yes) || !ptx_expect(parser, ':') ||
        !ptx_constant_parse(parser, &no)) {
        return false;
    }
    if (yes.is_real != no.is_real) {
        return ptx_fail(parser, "a constant expression mixes integers and floating point");
    }
    const bool is_unsigned = yes.is_unsigned || no.is_unsigned;
    *ret = ret->bits != 0 ? yes : no;
    ret->is_unsigned = is_unsigned;
    return true;
}

bool ptx_constant_parse(struct ptx_parser *parser, struct ptx_constant *ret)
{
    if (!enter(parser)) {
        return false;
    }
    bool ok = parse_binary(parser, 1, ret);
    if (ok && ptx_accept(parser, '?')) {
        ok = parse_choice(parser, ret);
    }
    leave(parser);
    return ok && !parser->failed;
}

bool ptx_constant_integer(struct ptx_parser *parser, int64_t *ret_value)
{
    struct ptx_constant constant = {0};
    const struct ptx_token first = parser->token;
    if (!ptx_constant_parse(parser, &constant)) {
        return false;
    }
    if (constant.is_real) {
        return ptx_fail_at(parser, first.line, first.column,
                           "expected an integer but met a floating-point constant");
    }
    *ret_value = (int64_t)constant.bits;
    return true;
}
