/* SPDX-License-Identifier: MIT */
/* Spellings and what they mean in nested scopes. */
#include <string.h>

#include "ptx/internal.h"

static void grow_table(struct ptx_table *table)
{
    const size_t room = table->room == 0 ? 256 : table->room * 2;
    struct ptx_name **slots = emu_alloc(room * sizeof(struct ptx_name *));
    for (size_t i = 0; i < table->room; i++) {
        if (table->slots[i] != NULL) {
            size_t at = table->slots[i]->hash & (room - 1);
            while (slots[at] != NULL) {
                at = (at + 1) & (room - 1);
            }
            slots[at] = table->slots[i];
        }
    }
    emu_free(table->slots);
    table->slots = slots;
    table->room = room;
}

struct ptx_name *ptx_intern(struct ptx_parser *parser, struct ptx_table *table,
                            const void *bytes, size_t length)
{
    if (table->count * 2 >= table->room) {
        grow_table(table);
    }
    const uint64_t hash = emu_hash(bytes, length);
    size_t at = hash & (table->room - 1);
    while (table->slots[at] != NULL) {
        struct ptx_name *name = table->slots[at];
        if (name->hash == hash && name->length == length &&
            memcmp(name->text, bytes, length) == 0) {
            return name;
        }
        at = (at + 1) & (table->room - 1);
    }
    struct ptx_name *name = emu_arena_alloc(&parser->scratch, sizeof(*name));
    name->text = emu_arena_strndup(&parser->module->arena, bytes, length);
    name->length = length;
    name->hash = hash;
    table->slots[at] = name;
    table->count++;
    return name;
}

void ptx_table_free(struct ptx_table *table)
{
    emu_free(table->slots);
    *table = (struct ptx_table){0};
}

bool ptx_scope_open(struct ptx_parser *parser)
{
    if (parser->depth == PTX_SCOPES_MAX) {
        return ptx_fail(parser, "more than %u nested scopes", PTX_SCOPES_MAX);
    }
    parser->depth++;
    parser->scopes[parser->depth] = NULL;
    parser->first_references[parser->depth] = parser->reference_count;
    parser->first_call_params[parser->depth] = parser->call_params.bytes;
    return true;
}

/* Finds out which labels of this scope its references mean; what is left may mean one of
 * the scope around it. */
static void resolve_labels(struct ptx_parser *parser)
{
    uint32_t left = parser->first_references[parser->depth];
    for (uint32_t i = left; i < parser->reference_count; i++) {
        struct ptx_operand *operand = parser->references[i];
        const struct ptx_name *name =
            ptx_intern(parser, &parser->names, operand->text, strlen(operand->text));
        const struct ptx_symbol *symbol = name->value;
        if (symbol != NULL && symbol->meaning == PTX_IS_LABEL &&
            symbol->depth == parser->depth) {
            operand->index = symbol->index;
            operand->value = 0;
        } else {
            parser->references[left++] = operand;
        }
    }
    parser->reference_count = left;
}

void ptx_scope_close(struct ptx_parser *parser)
{
    resolve_labels(parser);
    struct ptx_symbol *symbol = parser->scopes[parser->depth];
    while (symbol != NULL) {
        symbol->name->value = symbol->shadowed;
        symbol = symbol->next;
    }
    /* Parameters of calls live no longer than their scope: the next one reuses them. */
    if (parser->call_params.bytes > parser->call_params_most) {
        parser->call_params_most = parser->call_params.bytes;
    }
    parser->call_params.bytes = parser->first_call_params[parser->depth];
    parser->depth--;
}

bool ptx_declare(struct ptx_parser *parser, const struct ptx_token *token,
                 struct ptx_name *name, enum ptx_meaning meaning, uint32_t index)
{
    struct ptx_symbol *outer = name->value;
    if (outer != NULL && outer->depth == parser->depth) {
        return ptx_fail_at(parser, token->line, token->column,
                           "'%s' is declared twice in this scope", name->text);
    }
    struct ptx_symbol *symbol = emu_arena_alloc(&parser->scratch, sizeof(*symbol));
    *symbol = (struct ptx_symbol){.meaning = meaning,
                                  .index = index,
                                  .depth = parser->depth,
                                  .name = name,
                                  .shadowed = outer,
                                  .next = parser->scopes[parser->depth]};
    name->value = symbol;
    parser->scopes[parser->depth] = symbol;
    return true;
}
