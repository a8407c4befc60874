/* SPDX-License-Identifier: MIT */
/* `.entry` and `.func`: results, name, parameters, tuning directives, body. */
#include <string.h>

#include "ptx/internal.h"

/* ---------------------------------------------------------------------------- tuning */

/* Directives between the parameters and the body, with up to `most` positive numbers. */
static unsigned *find_numbers(struct ptx_function *function, const char *word,
                              unsigned *ret_most)
{
    const struct {
        const char *word;
        unsigned *numbers, most;
    } directives[] = {{"maxntid", function->max_threads, 3},
                      {"reqntid", function->required_threads, 3},
                      {"reqnctapercluster", function->required_cluster, 3},
                      {"maxclusterrank", &function->max_cluster_rank, 1},
                      {"minnctapersm", &function->min_ctas_per_sm, 1},
                      {"maxnreg", &function->max_registers, 1}};
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (strcmp(word, directives[i].word) == 0) {
            *ret_most = directives[i].most;
            return directives[i].numbers;
        }
    }
    return NULL;
}

/* `256, 2`; what is not given of three is 1. */
static bool parse_numbers(struct ptx_parser *parser, unsigned *numbers, unsigned most)
{
    for (unsigned i = 0; i < most; i++) {
        uint64_t number = 1;
        if ((i == 0 || ptx_accept(parser, ',')) &&
            !ptx_expect_integer(parser, INT32_MAX, &number)) {
            return false;
        }
        if (number == 0) {
            return ptx_fail(parser, "expected a number that is not 0");
        }
        numbers[i] = (unsigned)number;
    }
    return true;
}

static bool parse_tuning(struct ptx_parser *parser, struct ptx_function *function)
{
    while (parser->token.kind == PTX_TOKEN_DIRECTIVE) {
        const char *word = parser->token.name->text;
        unsigned most = 0;
        unsigned *numbers = find_numbers(function, word, &most);
        bool ok = true;
        if (strcmp(word, "pragma") == 0) {
            ok = ptx_pragma_parse(parser);
        } else if (numbers != NULL) {
            ptx_next(parser);
            ok = parse_numbers(parser, numbers, most);
        } else if (strcmp(word, "explicitcluster") == 0) {
            function->explicit_cluster = true;
            ptx_next(parser);
        } else if (strcmp(word, "noreturn") == 0) {
            ptx_next(parser);
        } else {
            return ptx_fail(parser, "directive '.%s' of a function is not supported", word);
        }
        if (!ok) {
            return false;
        }
    }
    return !parser->failed;
}

/* --------------------------------------------------------------------------- headers */

static bool same_params(const struct ptx_parser *parser, const uint32_t *a,
                        unsigned a_count, const uint32_t *b, unsigned b_count)
{
    if (a_count != b_count) {
        return false;
    }
    for (unsigned i = 0; i < a_count; i++) {
        const struct ptx_variable *x = &parser->variables[a[i]];
        const struct ptx_variable *y = &parser->variables[b[i]];
        if (x->bytes != y->bytes || x->alignment != y->alignment) {
            return false;
        }
    }
    return true;
}

static bool same_header(const struct ptx_parser *parser, const struct ptx_function *a,
                        const struct ptx_function *b)
{
    return a->is_entry == b->is_entry &&
           same_params(parser, a->params, a->param_count, b->params, b->param_count) &&
           same_params(parser, a->results, a->result_count, b->results, b->result_count);
}

static bool declare_function(struct ptx_parser *parser, const struct ptx_token *name,
                             const struct ptx_function *function, uint32_t *ret_index)
{
    const unsigned depth = parser->depth;
    const struct ptx_symbol *symbol = name->name->value;
    if (symbol != NULL && symbol->depth == depth) {
        return ptx_fail_at(parser, name->line, name->column,
                           "'%s' is both a function and its parameter", function->name);
    }
    /* The name belongs to the module; the scope of the parameters is open already. */
    parser->depth = 0;
    const bool ok =
        ptx_declare(parser, name, name->name, PTX_IS_FUNCTION, parser->function_count);
    parser->depth = depth;
    *ret_index = parser->function_count;
    if (ok) {
        EMU_GROW(parser->functions, parser->function_count);
        parser->functions[parser->function_count++] = *function;
    }
    return ok;
}

/* Finds the earlier declaration, or makes one, so that the body can call itself. */
static bool enter_function(struct ptx_parser *parser, const struct ptx_token *name,
                           struct ptx_function *function, uint32_t *ret_index)
{
    const struct ptx_symbol *symbol = name->name->value;
    if (symbol == NULL || symbol->meaning != PTX_IS_FUNCTION) {
        return declare_function(parser, name, function, ret_index);
    }
    const struct ptx_function *earlier = &parser->functions[symbol->index];
    if (!same_header(parser, earlier, function)) {
        return ptx_fail_at(parser, name->line, name->column,
                           "'%s' was declared with other parameters", function->name);
    }
    if (earlier->has_body && ptx_is_mark(parser, '{')) {
        return ptx_fail_at(parser, name->line, name->column, "'%s' has two bodies",
                           function->name);
    }
    function->is_visible = function->is_visible || earlier->is_visible;
    *ret_index = symbol->index;
    return true;
}

/* `(results) name (parameters)` and what follows up to the body. */
static bool parse_header(struct ptx_parser *parser, struct ptx_token *ret_name,
                         struct ptx_function *function)
{
    if (!function->is_entry && ptx_is_mark(parser, '(') &&
        !ptx_params_parse(parser, &function->results, &function->result_count,
                          &function->result_bytes)) {
        return false;
    }
    if (!ptx_expect_word(parser, "the name of a function", ret_name)) {
        return false;
    }
    function->name = ret_name->name->text;
    if (ptx_is_mark(parser, '(') &&
        !ptx_params_parse(parser, &function->params, &function->param_count,
                          &function->param_bytes)) {
        return false;
    }
    return parse_tuning(parser, function);
}

bool ptx_function_parse(struct ptx_parser *parser, struct ptx_linkage linkage)
{
    struct ptx_function function = {.is_entry = ptx_is_directive(parser, "entry"),
                                    .is_visible = linkage.is_visible,
                                    .local_alignment = 1};
    struct ptx_token name;
    uint32_t index = 0;
    ptx_next(parser);
    if (!ptx_scope_open(parser) || !parse_header(parser, &name, &function) ||
        !enter_function(parser, &name, &function, &index)) {
        return false;
    }
    if (ptx_accept(parser, ';')) {
        ptx_scope_close(parser);
        return !parser->failed;
    }
    if (linkage.is_extern) {
        return ptx_fail_expected(parser, "';' behind an .extern function");
    }
    if (!ptx_body_parse(parser, &function)) {
        return false;
    }
    parser->functions[index] = function;
    return true;
}
