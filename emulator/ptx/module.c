/* SPDX-License-Identifier: MIT */
/* The module: its header, its directives, and what the parse hands out. */
#include <string.h>

#include "ptx/internal.h"

/* ---------------------------------------------------------------------------- header */

/* The last minor version of each major one. */
static const unsigned last_minor[] = {0, 5, 3, 2, 3, 0, 5, 8, 8, 2};
enum { LAST_MAJOR = sizeof(last_minor) / sizeof(last_minor[0]) - 1 };

/* A compiler writes its own version, whatever the text uses of it. So one that is newer
 * than the last is read too: what came with it is refused by its name where it stands. */
static bool is_version(unsigned major, unsigned minor)
{
    return major >= LAST_MAJOR || (major > 0 && minor <= last_minor[major]);
}

/* `.version 9.0`: two integers, which the lexer sees as one decimal number. */
static bool parse_version(struct ptx_parser *parser)
{
    if (!ptx_is_directive(parser, "version")) {
        return ptx_fail_expected(parser, "'.version'");
    }
    ptx_next(parser);
    const struct ptx_token *token = &parser->token;
    unsigned parts[2] = {0, 0}, part = 0;
    bool ok = token->kind == PTX_TOKEN_DECIMAL && token->length < 8;
    for (size_t i = 0; ok && i < token->length; i++) {
        const char c = token->start[i];
        if (c == '.' && part == 0) {
            part = 1;
        } else {
            ok = c >= '0' && c <= '9';
            parts[part] = parts[part] * 10 + (unsigned)(c - '0');
        }
    }
    if (!ok) {
        return ptx_fail_expected(parser, "a version such as 9.0");
    }
    if (!is_version(parts[0], parts[1])) {
        return ptx_fail(parser, "there is no PTX %u.%u", parts[0], parts[1]);
    }
    parser->module->version_major = parts[0];
    parser->module->version_minor = parts[1];
    ptx_next(parser);
    return !parser->failed;
}

/* Targets, with the first version of PTX that has each, and the last where a later name
 * took its place. Versions are ten times what is written. */
static const struct {
    unsigned sm;
    char suffix;
    uint8_t first, last;
} targets[] = {
    {10, 0, 10, 0},    {11, 0, 10, 0},     {12, 0, 12, 0},     {13, 0, 12, 0},
    {20, 0, 20, 0},    {30, 0, 30, 0},     {32, 0, 40, 0},     {35, 0, 31, 0},
    {37, 0, 41, 0},    {50, 0, 40, 0},     {52, 0, 41, 0},     {53, 0, 42, 0},
    {60, 0, 50, 0},    {61, 0, 50, 0},     {62, 0, 50, 0},     {70, 0, 60, 0},
    {72, 0, 61, 0},    {75, 0, 63, 0},     {80, 0, 70, 0},     {86, 0, 71, 0},
    {87, 0, 74, 0},    {88, 0, 88, 0},     {89, 0, 78, 0},     {90, 0, 78, 0},
    {90, 'a', 80, 0},  {100, 0, 86, 0},    {100, 'a', 86, 0},  {100, 'f', 88, 0},
    {101, 0, 86, 88},  {101, 'a', 86, 88}, {101, 'f', 88, 88}, {103, 0, 88, 0},
    {103, 'a', 88, 0}, {103, 'f', 88, 0},  {110, 0, 90, 0},    {110, 'a', 90, 0},
    {110, 'f', 90, 0}, {120, 0, 87, 0},    {120, 'a', 87, 0},  {120, 'f', 88, 0},
    {121, 0, 88, 0},   {121, 'a', 88, 0},  {121, 'f', 88, 0},
};

/* Fails unless the module's version of PTX has its target. */
static bool check_target(struct ptx_parser *parser, const struct ptx_token *name)
{
    const struct ptx_module *module = parser->module;
    const unsigned version = module->version_major * 10 + module->version_minor;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (targets[i].sm == module->sm && targets[i].suffix == module->sm_suffix) {
            const bool has = version >= targets[i].first &&
                             (targets[i].last == 0 || version <= targets[i].last);
            return has || ptx_fail_at(parser, name->line, name->column,
                                      "PTX %u.%u has no target %s", module->version_major,
                                      module->version_minor, module->target);
        }
    }
    return ptx_fail_at(parser, name->line, name->column,
                       "expected a target such as sm_90a but met '%.200s'", module->target);
}

/* "sm_100a": 100 and 'a' */
static bool split_target(struct ptx_module *module)
{
    const char *at = module->target;
    if (strncmp(at, "sm_", 3) != 0) {
        return false;
    }
    at += 3;
    while (*at >= '0' && *at <= '9' && module->sm < 10000) {
        module->sm = module->sm * 10 + (unsigned)(*at++ - '0');
    }
    if (*at == 'a' || *at == 'f') {
        module->sm_suffix = *at++;
    }
    return module->sm > 0 && *at == '\0';
}

static bool parse_target(struct ptx_parser *parser)
{
    struct ptx_token name;
    if (!ptx_is_directive(parser, "target")) {
        return ptx_fail_expected(parser, "'.target'");
    }
    ptx_next(parser);
    if (!ptx_expect_word(parser, "a target such as sm_90a", &name)) {
        return false;
    }
    parser->module->target = name.name->text;
    if (!split_target(parser->module)) {
        return ptx_fail_at(parser, name.line, name.column,
                           "expected a target such as sm_90a but met '%.200s'",
                           name.name->text);
    }
    if (!check_target(parser, &name)) {
        return false;
    }
    while (ptx_accept(parser, ',')) {
        if (!ptx_expect_word(parser, "an option of the target", &name)) {
            return false;
        }
        if (strcmp(name.name->text, "debug") != 0) {
            return ptx_fail_at(parser, name.line, name.column,
                               "option '%.200s' of the target is not supported",
                               name.name->text);
        }
    }
    return !parser->failed;
}

static bool parse_header(struct ptx_parser *parser)
{
    uint64_t bits = 32; /* what the manual says of a text without .address_size */
    if (!parse_version(parser) || !parse_target(parser)) {
        return false;
    }
    if (ptx_is_directive(parser, "address_size")) {
        ptx_next(parser);
        const struct ptx_token token = parser->token;
        if (!ptx_expect_integer(parser, 64, &bits)) {
            return false;
        }
        if (bits != 32 && bits != 64) {
            return ptx_fail_at(parser, token.line, token.column,
                               "expected an address size of 32 or 64 but met %llu",
                               (unsigned long long)bits);
        }
    }
    parser->module->address_bits = (unsigned)bits;
    return true;
}

/* ------------------------------------------------------------------------ directives */

static void parse_linkage(struct ptx_parser *parser, struct ptx_linkage *ret)
{
    *ret = (struct ptx_linkage){0};
    const bool is_extern = ptx_is_directive(parser, "extern");
    const bool is_visible = ptx_is_directive(parser, "visible") ||
                            ptx_is_directive(parser, "weak") ||
                            ptx_is_directive(parser, "common");
    if (is_extern || is_visible) {
        *ret = (struct ptx_linkage){.is_extern = is_extern, .is_visible = is_visible};
        ptx_next(parser);
    }
}

static bool parse_definition(struct ptx_parser *parser, struct ptx_linkage linkage)
{
    static const struct {
        const char *word;
        enum ptx_space space;
    } spaces[] = {{"global", PTX_GLOBAL},
                  {"shared", PTX_SHARED},
                  {"const", PTX_CONST},
                  {"local", PTX_LOCAL},
                  {"param", PTX_PARAM}};
    if (ptx_is_directive(parser, "func") || ptx_is_directive(parser, "entry")) {
        return ptx_function_parse(parser, linkage);
    }
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (ptx_is_directive(parser, spaces[i].word)) {
            return ptx_variables_parse(parser, spaces[i].space, linkage);
        }
    }
    if (parser->token.kind != PTX_TOKEN_DIRECTIVE) {
        return ptx_fail_expected(parser, "a function, a variable or a directive");
    }
    return ptx_fail(parser, "directive '.%s' is not supported", parser->token.name->text);
}

static bool parse_directive(struct ptx_parser *parser)
{
    static const struct {
        const char *word;
        bool (*parse)(struct ptx_parser *parser);
    } directives[] = {{"file", ptx_file_parse},
                      {"section", ptx_section_parse},
                      {"pragma", ptx_pragma_parse}};
    struct ptx_linkage linkage;
    for (size_t i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (ptx_is_directive(parser, directives[i].word)) {
            return directives[i].parse(parser);
        }
    }
    parse_linkage(parser, &linkage);
    return parse_definition(parser, linkage);
}

static bool parse_module(struct ptx_parser *parser)
{
    ptx_next(parser);
    if (!parse_header(parser)) {
        return false;
    }
    while (parser->token.kind != PTX_TOKEN_END) {
        if (!parse_directive(parser)) {
            return false;
        }
    }
    return !parser->failed && ptx_locations_finish(parser);
}

/* ------------------------------------------------------------------------ the result */

static void *keep(struct ptx_module *module, const void *array, size_t bytes)
{
    void *kept = emu_arena_alloc(&module->arena, bytes);
    if (bytes > 0) {
        memcpy(kept, array, bytes);
    }
    return kept;
}

static void hand_out(struct ptx_parser *parser)
{
    struct ptx_module *module = parser->module;
    module->file_count = parser->file_count;
    module->variable_count = parser->variable_count;
    module->function_count = parser->function_count;
    module->files =
        keep(module, parser->files, parser->file_count * sizeof(*parser->files));
    module->variables = keep(module, parser->variables,
                             parser->variable_count * sizeof(*parser->variables));
    module->functions = keep(module, parser->functions,
                             parser->function_count * sizeof(*parser->functions));
}

static void release(struct ptx_parser *parser)
{
    ptx_table_free(&parser->names);
    ptx_table_free(&parser->opcodes);
    ptx_table_free(&parser->locations);
    ptx_table_free(&parser->debug_labels);
    emu_free(parser->variables);
    emu_free(parser->functions);
    emu_free(parser->codes);
    emu_free(parser->registers);
    emu_free(parser->code.insns);
    emu_free(parser->code.origins);
    emu_free(parser->references);
    emu_free(parser->operands);
    emu_free(parser->files);
    emu_free(parser->debug_bytes);
    emu_free(parser->inline_names);
    emu_arena_free(&parser->scratch);
}

struct ptx_module *ptx_parse(const char *text, size_t length, struct emu_error *error)
{
    /* A text that came as a C string may bring its zero along. */
    while (length > 0 && text[length - 1] == '\0') {
        length--;
    }
    struct ptx_module *module = emu_alloc(sizeof(*module));
    struct ptx_parser parser = {.module = module,
                                .error = error,
                                .at = text,
                                .end = text + length,
                                .line_start = text,
                                .line = 1};
    bool ok = length <= PTX_TEXT_MAX;
    if (!ok) {
        emu_fail(error, "1:1: a text of more than %zu bytes is not supported",
                 PTX_TEXT_MAX);
    }
    ok = ok && parse_module(&parser);
    if (ok) {
        hand_out(&parser);
    }
    release(&parser);
    if (!ok) {
        ptx_module_free(module);
        return NULL;
    }
    return module;
}

void ptx_module_free(struct ptx_module *module)
{
    if (module != NULL) {
        emu_arena_free(&module->arena);
        emu_free(module);
    }
}

const struct ptx_function *ptx_find_function(const struct ptx_module *module,
                                             const char *name)
{
    for (uint32_t i = 0; i < module->function_count; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            return &module->functions[i];
        }
    }
    return NULL;
}
