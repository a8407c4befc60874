/* SPDX-License-Identifier: MIT */
/* Walks through the tree of a snippet for one element. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "verify/random.h"
#include "verify/snippet_tree.h"

/* Nodes that one element may walk through. */
enum { MAX_STEPS = 1000000 };

enum flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE };

struct run {
    const struct snippet *snippet;
    struct interval slots[SNIPPET_MAX_SLOTS];
    bool has_value[SNIPPET_MAX_SLOTS];
    int result_bits;
    uint32_t steps;
    enum flow flow;
    enum snippet_outcome outcome;
    char *reason;
};

static const struct snippet_node *node_at(const struct run *run, snippet_node_id id)
{
    return &run->snippet->nodes[id];
}

/* Ends the run; the first reason counts. */
static struct interval stop(struct run *run, const struct snippet_node *node,
                            enum snippet_outcome outcome, const char *reason)
{
    if (run->outcome == SNIPPET_DONE) {
        run->outcome = outcome;
        snprintf(run->reason, SNIPPET_REASON_SIZE, "%u:%u: %s", node->line, node->column,
                 reason);
    }
    return interval_unknown();
}

static struct interval evaluate(struct run *run, snippet_node_id id);

/* --------------------------------------------------------------------- conversions */

static struct interval to_bool(struct run *run, const struct snippet_node *node,
                               struct interval x)
{
    if (interval_is_nan(x)) {
        return interval_of(1);
    }
    if (interval_is_exact(x)) {
        return interval_of(x.low != 0 ? 1 : 0);
    }
    if (x.low > 0 || x.high < 0) {
        return interval_of(1);
    }
    return stop(run, node, SNIPPET_UNDECIDED, "a number within its error of 0");
}

/* Of a float or double, towards zero. */
static struct interval to_integer(struct run *run, const struct snippet_node *node,
                                  struct interval x)
{
    const double low = node->type == SNIPPET_INT ? -0x1p31 : 0;
    const double high = node->type == SNIPPET_INT ? 0x1p31 : 0x1p32;
    if (interval_is_nan(x)) {
        return stop(run, node, SNIPPET_CANNOT, "NaN is converted to an integer");
    }
    const double first = trunc(x.low);
    const double last = trunc(x.high);
    if (interval_is_unknown(x) || first < last || first > last) {
        return stop(run, node, SNIPPET_UNDECIDED,
                    "a number within its error of the next integer");
    }
    if (!(first >= low && first < high)) {
        return stop(run, node, SNIPPET_CANNOT, "a number is beyond the integers");
    }
    return interval_of(first + 0.0);
}

static struct interval convert(struct run *run, const struct snippet_node *node)
{
    const struct interval x = evaluate(run, node->first);
    const enum snippet_type from = node_at(run, node->first)->type;
    if (run->outcome != SNIPPET_DONE || from == node->type) {
        return x;
    }
    switch (node->type) {
    case SNIPPET_BOOL:
        return to_bool(run, node, x);
    case SNIPPET_INT:
    case SNIPPET_UNSIGNED:
        if (from >= SNIPPET_FLOAT) {
            return to_integer(run, node, x);
        }
        return interval_of(node->type == SNIPPET_UNSIGNED
                               ? (double)(uint32_t)(int64_t)x.low
                               : (double)(int32_t)(uint32_t)(int64_t)x.low);
    case SNIPPET_FLOAT:
        return interval_to_float(x);
    case SNIPPET_DOUBLE:
        break;
    }
    return x;
}

/* ---------------------------------------------------------------------- operators */

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_OPEN };

static enum truth is_less(struct interval x, struct interval y)
{
    if (interval_is_unknown(x) || interval_is_unknown(y)) {
        return TRUTH_OPEN;
    }
    if (x.high < y.low) {
        return TRUTH_YES;
    }
    return x.low < y.high ? TRUTH_OPEN : TRUTH_NO; /* of NaN: no */
}

static enum truth is_equal(struct interval x, struct interval y)
{
    if (interval_is_unknown(x) || interval_is_unknown(y)) {
        return TRUTH_OPEN;
    }
    if (interval_is_exact(x) && interval_is_exact(y)) {
        return x.low == y.low ? TRUTH_YES : TRUTH_NO;
    }
    return x.high < y.low || y.high < x.low || interval_is_nan(x) || interval_is_nan(y)
               ? TRUTH_NO
               : TRUTH_OPEN;
}

static enum truth negate(enum truth truth)
{
    if (truth == TRUTH_OPEN) {
        return truth;
    }
    return truth == TRUTH_YES ? TRUTH_NO : TRUTH_YES;
}

static enum truth either(enum truth a, enum truth b)
{
    if (a == TRUTH_YES || b == TRUTH_YES) {
        return TRUTH_YES;
    }
    return a == TRUTH_OPEN || b == TRUTH_OPEN ? TRUTH_OPEN : TRUTH_NO;
}

/* x <= y is no negation of y < x where one is NaN; between numbers it is. */
static enum truth is_at_most(struct interval x, struct interval y)
{
    if (interval_is_nan(x) || interval_is_nan(y)) {
        return either(is_less(x, y), is_equal(x, y));
    }
    return negate(is_less(y, x));
}

static enum truth compare(const char *op, struct interval x, struct interval y)
{
    if (strcmp(op, "<") == 0) {
        return is_less(x, y);
    }
    if (strcmp(op, ">") == 0) {
        return is_less(y, x);
    }
    if (strcmp(op, "<=") == 0) {
        return is_at_most(x, y);
    }
    if (strcmp(op, ">=") == 0) {
        return is_at_most(y, x);
    }
    const enum truth equal = is_equal(x, y);
    return strcmp(op, "==") == 0 ? equal : negate(equal);
}

static bool is_comparison(const char *op)
{
    return strchr("<>=!", op[0]) != NULL && strcmp(op, "<<") != 0 && strcmp(op, ">>") != 0;
}

static bool is_shift(const char *op)
{
    return strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0;
}

/* Of two integers that fit; the result need not. Divisors are no zeros, and counts of
 * shifts are less than 32. */
static int64_t compute_integer(const char *op, int64_t x, int64_t y)
{
    switch (op[0]) {
    case '+':
        return x + y;
    case '-':
        return x - y;
    case '*':
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case '/':
        return x / y;
    case '%':
        return x % y;
    case '&':
        return x & y;
    case '|':
        return x | y;
    case '^':
        return x ^ y;
    case '<':
        return x * (INT64_C(1) << y);
    default:
        return x >> y;
    }
}

static struct interval fit_integer(struct run *run, const struct snippet_node *node,
                                   int64_t value)
{
    if (node->type == SNIPPET_UNSIGNED) {
        return interval_of((double)(uint32_t)value);
    }
    return value >= INT32_MIN && value <= INT32_MAX
               ? interval_of((double)value)
               : stop(run, node, SNIPPET_CANNOT, "an int overflows");
}

static struct interval apply_integer(struct run *run, const struct snippet_node *node,
                                     int64_t x, int64_t y)
{
    if ((node->op[0] == '/' || node->op[0] == '%') && y == 0) {
        return stop(run, node, SNIPPET_CANNOT, "an integer is divided by 0");
    }
    if (is_shift(node->op) && (y < 0 || y > 31)) {
        return stop(run, node, SNIPPET_CANNOT, "a shift by less than 0 or more than 31");
    }
    if (strcmp(node->op, "<<") == 0 && x < 0) {
        return stop(run, node, SNIPPET_CANNOT, "a negative number is shifted to the left");
    }
    return fit_integer(run, node, compute_integer(node->op, x, y));
}

static struct interval apply_floating(const struct snippet_node *node, struct interval x,
                                      struct interval y)
{
    const enum interval_rounding rounding =
        node->type == SNIPPET_FLOAT ? INTERVAL_FLOAT : INTERVAL_DOUBLE;
    switch (node->op[0]) {
    case '+':
        return interval_add(x, y, rounding);
    case '-':
        return interval_subtract(x, y, rounding);
    case '*':
        return interval_multiply(x, y, rounding);
    default:
        return interval_divide(x, y, rounding);
    }
}

static struct interval apply_binary(struct run *run, const struct snippet_node *node)
{
    const struct interval x = evaluate(run, node->first);
    const struct interval y = evaluate(run, node->second);
    if (run->outcome != SNIPPET_DONE) {
        return interval_unknown();
    }
    if (is_comparison(node->op)) {
        const enum truth truth = compare(node->op, x, y);
        return truth == TRUTH_OPEN
                   ? stop(run, node, SNIPPET_UNDECIDED, "numbers within their error")
                   : interval_of(truth == TRUTH_YES ? 1 : 0);
    }
    return node->type >= SNIPPET_FLOAT
               ? apply_floating(node, x, y)
               : apply_integer(run, node, (int64_t)x.low, (int64_t)y.low);
}

/* A condition that is open joins both results, which are without side effects. */
static struct interval choose(struct run *run, const struct snippet_node *node)
{
    const struct interval condition = evaluate(run, node->first);
    if (run->outcome == SNIPPET_DONE) {
        return evaluate(run, condition.low != 0 ? node->second : node->third);
    }
    if (run->outcome != SNIPPET_UNDECIDED || node->type < SNIPPET_FLOAT) {
        return interval_unknown();
    }
    run->outcome = SNIPPET_DONE;
    const struct interval second = evaluate(run, node->second);
    const struct interval third =
        run->outcome == SNIPPET_DONE ? evaluate(run, node->third) : second;
    return interval_join(second, third);
}

static struct interval call(struct run *run, const struct snippet_node *node)
{
    const snippet_node_id ids[] = {node->first, node->second, node->third};
    struct interval arguments[3] = {{0, 0}};
    for (int i = 0; i < node->function->parameter_count; i++) {
        arguments[i] = evaluate(run, ids[i]);
    }
    return run->outcome == SNIPPET_DONE
               ? interval_call(node->function, arguments, run->result_bits)
               : interval_unknown();
}

/* Of a seed that is not known to the bit, or NaN, whose bits a double does not tell, any
 * number may come; and of zero, whose sign may be another one. */
static struct interval draw_uniform(struct run *run, const struct snippet_node *node)
{
    const struct interval seed = evaluate(run, node->first);
    if (!interval_is_exact(seed) || seed.low == 0 || (double)(float)seed.low != seed.low) {
        return (struct interval){0, 1 - 0x1p-24};
    }
    const float value = (float)seed.low;
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return interval_of(random_uniform(bits, (uint32_t)run->slots[SNIPPET_SLOT_ROW].low,
                                      (uint32_t)run->slots[SNIPPET_SLOT_COL].low,
                                      (uint32_t)run->slots[SNIPPET_SLOT_BATCH].low));
}

static struct interval negate_value(struct run *run, const struct snippet_node *node)
{
    const struct interval x = evaluate(run, node->first);
    if (run->outcome != SNIPPET_DONE) {
        return x;
    }
    return node->type >= SNIPPET_FLOAT ? interval_negate(x)
                                       : fit_integer(run, node, -(int64_t)x.low);
}

static struct interval assign(struct run *run, const struct snippet_node *node)
{
    const struct interval value = evaluate(run, node->first);
    if (run->outcome == SNIPPET_DONE) {
        run->slots[node->slot] = value;
        run->has_value[node->slot] = true;
    }
    return value;
}

static struct interval evaluate_kind(struct run *run, const struct snippet_node *node)
{
    struct interval x;
    switch (node->kind) {
    case SNIPPET_NUMBER:
        return node->value;
    case SNIPPET_VARIABLE:
        return run->has_value[node->slot]
                   ? run->slots[node->slot]
                   : stop(run, node, SNIPPET_CANNOT, "a variable has no value yet");
    case SNIPPET_CONVERT:
        return convert(run, node);
    case SNIPPET_CALL:
        return call(run, node);
    case SNIPPET_UNIFORM:
        return draw_uniform(run, node);
    case SNIPPET_BINARY:
        return apply_binary(run, node);
    case SNIPPET_NEGATE:
        return negate_value(run, node);
    case SNIPPET_COMPLEMENT:
        x = evaluate(run, node->first);
        return run->outcome == SNIPPET_DONE ? fit_integer(run, node, ~(int64_t)x.low) : x;
    case SNIPPET_NOT:
        x = evaluate(run, node->first);
        return run->outcome == SNIPPET_DONE ? interval_of(x.low != 0 ? 0 : 1) : x;
    case SNIPPET_AND:
        x = evaluate(run, node->first);
        return run->outcome == SNIPPET_DONE && x.low != 0 ? evaluate(run, node->second) : x;
    case SNIPPET_OR:
        x = evaluate(run, node->first);
        return run->outcome == SNIPPET_DONE && x.low == 0 ? evaluate(run, node->second) : x;
    case SNIPPET_CONDITIONAL:
        return choose(run, node);
    case SNIPPET_ASSIGN:
        return assign(run, node);
    default:
        return stop(run, node, SNIPPET_CANNOT, "a statement stands for a value");
    }
}

static bool may_go_on(struct run *run, const struct snippet_node *node)
{
    if (run->outcome == SNIPPET_DONE && ++run->steps > MAX_STEPS) {
        stop(run, node, SNIPPET_CANNOT, "it takes more than a million steps");
    }
    return run->outcome == SNIPPET_DONE;
}

static struct interval evaluate(struct run *run, snippet_node_id id)
{
    const struct snippet_node *node = node_at(run, id);
    return may_go_on(run, node) ? evaluate_kind(run, node) : interval_unknown();
}

/* --------------------------------------------------------------------- statements */

static void execute(struct run *run, snippet_node_id id);

static bool holds(struct run *run, snippet_node_id condition)
{
    const struct interval x = evaluate(run, condition);
    return run->outcome == SNIPPET_DONE && x.low != 0;
}

/* After a turn of a loop: does it go on? */
static bool finish_turn(struct run *run)
{
    const bool goes_on = run->flow != FLOW_BREAK && run->outcome == SNIPPET_DONE;
    run->flow = FLOW_ON;
    return goes_on;
}

static void execute_while(struct run *run, const struct snippet_node *node)
{
    while (may_go_on(run, node) && holds(run, node->first)) {
        execute(run, node->second);
        if (!finish_turn(run)) {
            break;
        }
        execute(run, node->third);
    }
}

static void execute_do(struct run *run, const struct snippet_node *node)
{
    do {
        execute(run, node->second);
    } while (finish_turn(run) && may_go_on(run, node) && holds(run, node->first));
}

static void execute(struct run *run, snippet_node_id id)
{
    const struct snippet_node *node = node_at(run, id);
    if (!may_go_on(run, node)) {
        return;
    }
    switch (node->kind) {
    case SNIPPET_NOTHING:
        break;
    case SNIPPET_BLOCK:
        for (snippet_node_id each = node->first;
             each != 0 && run->flow == FLOW_ON && run->outcome == SNIPPET_DONE;
             each = node_at(run, each)->next) {
            execute(run, each);
        }
        break;
    case SNIPPET_IF:
        if (holds(run, node->first)) {
            execute(run, node->second);
        } else if (run->outcome == SNIPPET_DONE) {
            execute(run, node->third);
        }
        break;
    case SNIPPET_WHILE:
        execute_while(run, node);
        break;
    case SNIPPET_DO:
        execute_do(run, node);
        break;
    case SNIPPET_BREAK:
        run->flow = FLOW_BREAK;
        break;
    case SNIPPET_CONTINUE:
        run->flow = FLOW_CONTINUE;
        break;
    case SNIPPET_FORGET:
        run->has_value[node->slot] = false;
        break;
    default:
        (void)evaluate(run, id);
    }
}

/* -------------------------------------------------------------------------- whole */

static void set(struct run *run, uint32_t slot, struct interval value)
{
    run->slots[slot] = value;
    run->has_value[slot] = true;
}

static void set_scope(struct run *run, const struct snippet_element *element)
{
    if (run->snippet->is_pair) {
        set(run, SNIPPET_SLOT_ACC0, element->pair[0]);
        set(run, SNIPPET_SLOT_ACC1, element->pair[1]);
        set(run, SNIPPET_SLOT_D, element->pair[0]);
    } else {
        set(run, SNIPPET_SLOT_ACC, element->acc);
        set(run, SNIPPET_SLOT_D, element->acc);
    }
    set(run, SNIPPET_SLOT_ROW, interval_of(element->row));
    set(run, SNIPPET_SLOT_COL, interval_of(element->col));
    set(run, SNIPPET_SLOT_BATCH, interval_of(element->batch));
    set(run, SNIPPET_SLOT_M, interval_of(element->m));
    set(run, SNIPPET_SLOT_N, interval_of(element->n));
    set(run, SNIPPET_SLOT_K, interval_of(element->k));
    for (uint32_t i = 0; i < run->snippet->operand_count; i++) {
        if (!run->snippet->is_output[i]) {
            set(run, SNIPPET_SLOT_OPERANDS + i, element->operands[i]);
        }
    }
}

/* A result that was assigned. */
static struct interval take(struct run *run, uint32_t slot, const char *reason)
{
    const struct snippet_node *body = node_at(run, run->snippet->body);
    if (run->outcome == SNIPPET_DONE && !run->has_value[slot]) {
        stop(run, body, SNIPPET_CANNOT, reason);
    }
    return run->outcome == SNIPPET_DONE ? interval_to_float(run->slots[slot])
                                        : interval_unknown();
}

enum snippet_outcome snippet_run(const struct snippet *snippet,
                                 const struct snippet_element *element,
                                 struct snippet_results *ret_results,
                                 char reason[SNIPPET_REASON_SIZE])
{
    struct run run = {.snippet = snippet,
                      .result_bits =
                          element->result_bits > 0 ? element->result_bits : FLT_MANT_DIG,
                      .reason = reason};
    set_scope(&run, element);
    execute(&run, snippet->body);
    struct snippet_results results = {
        .d = take(&run, SNIPPET_SLOT_D, "d is not assigned on this way")};
    for (uint32_t i = 0; i < snippet->operand_count; i++) {
        results.operands[i] = snippet->is_output[i]
                                  ? take(&run, SNIPPET_SLOT_OPERANDS + i,
                                         "an output is not assigned on this way")
                                  : interval_unknown();
    }
    if (run.outcome != SNIPPET_DONE) {
        results.d = interval_unknown();
        for (uint32_t i = 0; i < snippet->operand_count; i++) {
            results.operands[i] = interval_unknown();
        }
    }
    *ret_results = results;
    return run.outcome;
}
