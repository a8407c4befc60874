/* SPDX-License-Identifier: MIT */
#include "plan/snippet_loops.h"

#include <stdlib.h>
#include <string.h>

#include "plan/text.h"

static const char form_hint[] =
    "write 'for (int i = 0; i < 16; i++)', or 'i < 16 && ...' with a condition of your own; a "
    "bound is made of integers, row, col, batch, M, N and K";

/* Tokens of a head: [begin, end). */
struct part {
    const struct jg_token *begin, *end;
};

static int part_size(const struct part *part)
{
    return (int)(part->end - part->begin);
}

static bool is_same(const struct jg_token *a, const struct jg_token *b)
{
    return a->kind == JG_TOKEN_NAME && b->kind == JG_TOKEN_NAME && a->size == b->size &&
           memcmp(a->text, b->text, a->size) == 0;
}

static bool is_step_sign(const struct jg_token *token)
{
    return jg_token_is(token, "++") || jg_token_is(token, "--");
}

static bool is_change(const struct jg_token *token)
{
    static const char *const signs[] = {"=",  "+=", "-=", "*=", "/=",  "%=",  "&=",
                                        "|=", "^=", "++", "--", "<<=", ">>=", NULL};
    return jg_token_is_one_of(token, signs);
}

/* Of brackets in a head: 1 opens, -1 closes. */
static int depth_step(const struct jg_token *token)
{
    static const char *const opening[] = {"(", "[", "{", NULL};
    static const char *const closing[] = {")", "]", "}", NULL};
    return jg_token_is_one_of(token, opening)   ? 1
           : jg_token_is_one_of(token, closing) ? -1
                                                : 0;
}

/* Takes off what stands before the first of the words outside of brackets, and that word.
 */
static struct part split(struct part *rest, const char *const *words)
{
    int depth = 0;
    struct part part = {rest->begin, rest->begin};
    while (part.end < rest->end && (depth > 0 || !jg_token_is_one_of(part.end, words))) {
        depth += depth_step(part.end++);
    }
    rest->begin = part.end < rest->end ? part.end + 1 : rest->end;
    return part;
}

static bool contains(const struct part *part, const char *const *words)
{
    struct part rest = *part;
    return split(&rest, words).end != part->end;
}

/* -------------------------------------------------------------------------- numbers */

/* Beyond it a counter may overflow before it meets its bound. */
enum { MAX_NUMBER = 1 << 26 };

static bool read_number(const struct jg_token *token, int64_t *ret_value)
{
    char digits[16];
    char *end = NULL;
    if (token->kind != JG_TOKEN_NUMBER || token->size >= sizeof(digits)) {
        return false;
    }
    memcpy(digits, token->text, token->size);
    digits[token->size] = '\0';
    const unsigned long long value = strtoull(digits, &end, 0);
    if (*end != '\0' || value > MAX_NUMBER) {
        return false;
    }
    *ret_value = (int64_t)value;
    return true;
}

/* A number, or the name of a constant that has one. */
static bool read_constant(const struct jg_snippet_loops *loops,
                          const struct jg_token *token, int64_t *ret_value)
{
    for (int i = 0; i < loops->constant_count; i++) {
        if (is_same(&loops->constants[i].name, token)) {
            *ret_value = loops->constants[i].value;
            return true;
        }
    }
    return read_number(token, ret_value);
}

/* Where a counter begins, or where it ends. */
struct bound {
    bool is_legal; /* nothing in it but constants, sizes, places and counters */
    bool is_known; /* a number, which is the value */
    int64_t value;
    uint64_t reach; /* how far from 0, about */
};

/* How far a name or a number of a bound reaches; 0 if it may not stand there. */
static uint64_t measure(const struct jg_snippet_loops *loops, const struct jg_token *token)
{
    static const char *const names[] = {"row", "col", "batch", "M", "N", "K", NULL};
    if (jg_token_is_one_of(token, names)) {
        return JG_SNIPPET_SIZE_TURNS;
    }
    for (int i = 0; i < loops->count; i++) {
        if (is_same(&loops->loops[i].counter, token)) {
            return loops->loops[i].reach;
        }
    }
    int64_t value = 0;
    if (!read_constant(loops, token, &value)) {
        return 0;
    }
    return value > 0 ? (uint64_t)value : 1;
}

static struct bound read_bound(const struct jg_snippet_loops *loops,
                               const struct part *part)
{
    static const char *const signs[] = {"+", "-", "*", "/", "%", "(", ")", NULL};
    bool has_product = false;
    for (const struct jg_token *at = part->begin; at < part->end; at++) {
        has_product |= jg_token_is(at, "*");
    }
    struct bound bound = {.is_legal = part->begin < part->end,
                          .reach = has_product ? 1 : 0};
    const int sign = bound.is_legal && jg_token_is(part->begin, "-") ? 1 : 0;
    for (const struct jg_token *at = part->begin; at < part->end; at++) {
        if (jg_token_is_one_of(at, signs)) {
            continue;
        }
        const uint64_t reach = measure(loops, at);
        bound.is_legal &= reach > 0;
        bound.reach = has_product ? bound.reach * reach : bound.reach + reach;
        if (bound.reach > 2 * (uint64_t)MAX_NUMBER) {
            bound.reach = 2 * (uint64_t)MAX_NUMBER;
        }
    }
    bound.is_known = bound.is_legal && part_size(part) == 1 + sign &&
                     read_constant(loops, part->end - 1, &bound.value);
    bound.value = sign == 1 ? -bound.value : bound.value;
    return bound;
}

/* --------------------------------------------------------------------------- heads */

struct head {
    struct jg_token counter;
    struct bound first, last;
    const char *relation; /* <, <=, > or >= */
};

static jit_gemm_status refuse(const struct jg_snippet_loops *loops,
                              const struct jg_token *at, const char *text)
{
    return jg_snippet_refuse(loops->epilogue, at->begin, form_hint, "%s", text);
}

/* `int i = FIRST`, perhaps with other variables behind it. */
static jit_gemm_status read_counter(const struct jg_snippet_loops *loops, struct part init,
                                    struct head *head)
{
    static const char *const commas[] = {",", NULL};
    if (part_size(&init) < 4 || !jg_token_is(init.begin, "int") ||
        init.begin[1].kind != JG_TOKEN_NAME || !jg_token_is(init.begin + 2, "=")) {
        return refuse(loops, &loops->keyword,
                      "the loop has no counter of type int in its head");
    }
    head->counter = init.begin[1];
    init.begin += 3;
    const struct part first = split(&init, commas);
    head->first = read_bound(loops, &first);
    return head->first.is_legal
               ? JIT_GEMM_OK
               : refuse(loops, first.begin < first.end ? first.begin : &loops->keyword,
                        "the loop begins at what is no integer, size or place");
}

/* Is a condition `i < LAST`, or another relation? */
static bool reads_relation(const struct jg_snippet_loops *loops, const struct part *part,
                           struct head *head)
{
    static const char *const relations[] = {"<", "<=", ">", ">=", NULL};
    if (part_size(part) < 3 || !is_same(part->begin, &head->counter)) {
        return false;
    }
    for (int i = 0; relations[i] != NULL; i++) {
        if (jg_token_is(part->begin + 1, relations[i])) {
            const struct part bound = {part->begin + 2, part->end};
            head->relation = relations[i];
            head->last = read_bound(loops, &bound);
            return head->last.is_legal;
        }
    }
    return false;
}

/* One of the conditions that have to hold together is a bound of the counter. */
static jit_gemm_status read_condition(const struct jg_snippet_loops *loops,
                                      struct part condition, struct head *head)
{
    static const char *const ands[] = {"&&", "and", NULL};
    static const char *const others[] = {"||", "or", "?", ",", "=", NULL};
    const struct jg_token *at =
        condition.begin < condition.end ? condition.begin : &loops->keyword;
    bool is_bound = false;
    if (!contains(&condition, others)) {
        while (condition.begin < condition.end && !is_bound) {
            const struct part one = split(&condition, ands);
            is_bound = reads_relation(loops, &one, head);
        }
    }
    return is_bound ? JIT_GEMM_OK : refuse(loops, at, "the loop has no bound");
}

/* `i++` and others; false if the step is none, or leads away from the bound. */
static bool leads_to_bound(const struct jg_snippet_loops *loops, const struct head *head,
                           const struct part *step, int64_t *ret_size, bool *ret_is_factor)
{
    static const char *const ups[] = {"++", "+=", "*=", "<<=", NULL};
    static const char *const downs[] = {"--", "-=", "/=", ">>=", NULL};
    static const char *const factors[] = {"*=", "/=", "<<=", ">>=", NULL};
    const bool is_up = head->relation[0] == '<';
    const bool is_prefix = part_size(step) == 2 && is_step_sign(step->begin);
    const struct jg_token *sign = is_prefix ? step->begin : step->begin + 1;
    int64_t size = 1;
    if (part_size(step) < 2 || part_size(step) > 3 ||
        !is_same(is_prefix ? step->begin + 1 : step->begin, &head->counter) ||
        !jg_token_is_one_of(sign, is_up ? ups : downs) ||
        is_step_sign(sign) != (part_size(step) == 2) ||
        (part_size(step) == 3 && !read_constant(loops, step->begin + 2, &size)) ||
        size < 1) {
        return false;
    }
    *ret_size = size;
    *ret_is_factor = jg_token_is_one_of(sign, factors);
    if (!*ret_is_factor) {
        return true;
    }
    const bool is_shift = sign->text[0] == '<' || sign->text[0] == '>';
    if (is_shift ? size > 4 : size < 2 || size > 16) {
        return false;
    }
    /* Times 2, 0 stays 0; so it does divided by it. */
    return is_up ? head->first.is_known && head->first.value > 0
                 : head->last.is_known &&
                       head->last.value >= (head->relation[1] == '=' ? 1 : 0);
}

/* A counter is changed by its own step only. */
static bool changes_counter(const struct part *part, const struct jg_token *counter)
{
    for (const struct jg_token *at = part->begin; at < part->end; at++) {
        if (is_same(at, counter) && ((at > part->begin && is_step_sign(at - 1)) ||
                                     (at + 1 < part->end && is_change(at + 1)))) {
            return true;
        }
    }
    return false;
}

static jit_gemm_status read_step(const struct jg_snippet_loops *loops,
                                 struct part condition, struct part steps,
                                 const struct head *head, uint64_t *ret_turns)
{
    static const char *const commas[] = {",", NULL};
    const struct jg_token *at = steps.begin < steps.end ? steps.begin : &loops->keyword;
    int64_t size = 1;
    bool is_factor = false;
    int found = 0;
    bool is_changed = changes_counter(&condition, &head->counter);
    while (steps.begin < steps.end) {
        const struct part one = split(&steps, commas);
        const bool leads = leads_to_bound(loops, head, &one, &size, &is_factor);
        found += leads ? 1 : 0;
        is_changed |= !leads && changes_counter(&one, &head->counter);
    }
    if (found != 1 || is_changed) {
        return refuse(loops, at, "the loop's step does not lead its counter to the bound");
    }
    const bool is_known = head->first.is_known && head->last.is_known;
    const int64_t way = head->relation[0] == '<' ? head->last.value - head->first.value
                                                 : head->first.value - head->last.value;
    *ret_turns = is_factor   ? 32
                 : !is_known ? head->first.reach + head->last.reach
                 : way < 0   ? 1
                             : (uint64_t)(way / size) + 1;
    return JIT_GEMM_OK;
}

/* The head of a loop has been read. */
static jit_gemm_status begin_loop(struct jg_snippet_loops *loops)
{
    static const char *const semicolons[] = {";", NULL};
    struct part rest = {loops->head, loops->head + loops->head_size};
    const struct part all = rest;
    const struct part init = split(&rest, semicolons);
    const struct part condition = split(&rest, semicolons);
    const bool is_whole = init.end < all.end && condition.end < all.end;
    const uint64_t around = loops->count > 0 ? loops->loops[loops->count - 1].turns : 1;
    struct head head = {.counter = {.kind = JG_TOKEN_END, .text = ""}, .relation = "<"};
    uint64_t turns = 1;
    /* Other heads go through an array, or are the compiler's to refuse. */
    if (is_whole) {
        JG_TRY(read_counter(loops, init, &head));
        JG_TRY(read_condition(loops, condition, &head));
        JG_TRY(read_step(loops, condition, rest, &head, &turns));
    }
    if (loops->count == JG_SNIPPET_MAX_LOOPS) {
        return jg_snippet_refuse(loops->epilogue, loops->keyword.begin, "nest less",
                                 "loops stand inside of each other deeper than %d",
                                 JG_SNIPPET_MAX_LOOPS);
    }
    if (turns * around > JG_SNIPPET_MAX_TURNS) {
        return jg_snippet_refuse(loops->epilogue, loops->keyword.begin,
                                 "take fewer turns: each element of D takes all of them",
                                 "the loop, with those around it, takes more than %d turns",
                                 JG_SNIPPET_MAX_TURNS);
    }
    loops->loops[loops->count++] =
        (struct jg_snippet_loop){.counter = head.counter,
                                 .depth = loops->depth,
                                 .turns = turns * around,
                                 .reach = head.first.reach + head.last.reach};
    return JIT_GEMM_OK;
}

/* -------------------------------------------------------------------------- bodies */

/* Ends the loops whose last statement the token before has ended. */
static void end_loops(struct jg_snippet_loops *loops, const struct jg_token *token)
{
    const bool is_brace = jg_token_is(&loops->seen[0], "}");
    bool has_ended = true;
    while (loops->count > 0 && has_ended) {
        const struct jg_snippet_loop *loop = &loops->loops[loops->count - 1];
        const bool goes_on = (is_brace && !loop->is_braced) ||
                             (loop->is_branched && jg_token_is(token, "else"));
        has_ended = loop->depth > loops->depth || (loop->depth == loops->depth && !goes_on);
        loops->count -= has_ended ? 1 : 0;
    }
}

static jit_gemm_status check_counters(const struct jg_snippet_loops *loops,
                                      const struct jg_token *token,
                                      const struct jg_token *next)
{
    const struct jg_token *seen = loops->seen;
    if (jg_token_is(&seen[0], ".") || jg_token_is(&seen[0], "->")) {
        return JIT_GEMM_OK;
    }
    const bool is_address = jg_token_is(&seen[0], "&") &&
                            seen[1].kind == JG_TOKEN_PUNCTUATOR &&
                            !jg_token_is(&seen[1], ")") && !jg_token_is(&seen[1], "]");
    const bool is_reference = jg_token_is(&seen[0], "=") && jg_token_is(&seen[2], "&");
    const bool is_changed =
        is_step_sign(&seen[0]) || is_change(next) || is_address || is_reference;
    for (int i = 0; i < loops->count && is_changed; i++) {
        if (is_same(token, &loops->loops[i].counter)) {
            return jg_snippet_refuse(
                loops->epilogue, token->begin,
                "leave it to the loop's head; use another variable, or break",
                "%s counts a loop, and may be changed here",
                jg_quote(token->text, token->size).text);
        }
    }
    return JIT_GEMM_OK;
}

/* `const int name = number;`, whose last token this is. */
static void note_constant(struct jg_snippet_loops *loops, const struct jg_token *token)
{
    const struct jg_token *seen = loops->seen;
    int64_t value = 0;
    if (jg_token_is(token, ";") && read_number(&seen[0], &value) &&
        jg_token_is(&seen[1], "=") && seen[2].kind == JG_TOKEN_NAME &&
        jg_token_is(&seen[3], "int") &&
        (jg_token_is(&seen[4], "const") || jg_token_is(&seen[4], "constexpr")) &&
        loops->constant_count < JG_SNIPPET_MAX_CONSTANTS) {
        loops->constants[loops->constant_count].name = seen[2];
        loops->constants[loops->constant_count++].value = value;
    }
}

/* The first token of the body of the loops that have none so far. */
static void begin_body(struct jg_snippet_loops *loops, const struct jg_token *token)
{
    static const char *const braced[] = {"{", "if", "for", "switch", "try", NULL};
    for (int i = loops->count - 1; i >= 0 && !loops->loops[i].has_body; i--) {
        loops->loops[i].has_body = true;
        loops->loops[i].is_branched = jg_token_is(token, "if");
        loops->loops[i].is_braced = jg_token_is_one_of(token, braced);
    }
}

static jit_gemm_status take_head(struct jg_snippet_loops *loops,
                                 const struct jg_token *token)
{
    if (loops->head_size < 0) { /* the bracket that opens it */
        loops->head_size = 0;
        return JIT_GEMM_OK;
    }
    if (jg_token_is(token, ")") && loops->depth == loops->head_depth) {
        JG_TRY(begin_loop(loops));
        loops->keyword.kind = JG_TOKEN_END;
        return JIT_GEMM_OK;
    }
    if (jg_token_is(token, "for")) {
        return refuse(loops, token, "a loop stands in the head of another one");
    }
    if (loops->head_size == JG_SNIPPET_MAX_HEAD) {
        return refuse(loops, &loops->keyword, "the loop's head is too long");
    }
    loops->head[loops->head_size++] = *token;
    return JIT_GEMM_OK;
}

static jit_gemm_status take(struct jg_snippet_loops *loops, const struct jg_token *token,
                            const struct jg_token *next)
{
    const bool is_in_head = loops->keyword.kind != JG_TOKEN_END;
    const int step = token->kind == JG_TOKEN_PUNCTUATOR ? depth_step(token) : 0;
    if (loops->may_end) {
        end_loops(loops, token);
    }
    if (!is_in_head) {
        begin_body(loops, token);
    }
    JG_TRY(check_counters(loops, token, next));
    note_constant(loops, token);
    loops->depth += step < 0 ? step : 0;
    loops->may_end = !is_in_head && (jg_token_is(token, ";") || jg_token_is(token, "}"));
    if (is_in_head) {
        JG_TRY(take_head(loops, token));
    } else if (token->kind == JG_TOKEN_NAME && jg_token_is(token, "for") &&
               jg_token_is(next, "(")) {
        loops->keyword = *token;
        loops->head_depth = loops->depth;
        loops->head_size = -1;
    }
    loops->depth += step > 0 ? step : 0;
    return JIT_GEMM_OK;
}

jit_gemm_status jg_snippet_loops_take(struct jg_snippet_loops *loops,
                                      const struct jg_token *token,
                                      const struct jg_token *next)
{
    JG_TRY(take(loops, token, next));
    memmove(&loops->seen[1], &loops->seen[0], sizeof(loops->seen) - sizeof(loops->seen[0]));
    loops->seen[0] = *token;
    return JIT_GEMM_OK;
}
