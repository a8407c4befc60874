/* SPDX-License-Identifier: MIT */
/* Spellings, and what they mean in nested scopes. */
#ifndef EMU_PTX_NAMES_H
#define EMU_PTX_NAMES_H

#include "ptx/token.h"

#define PTX_SCOPES_MAX 64u

/* A spelling; spellings that are equal are one object with one text. */
struct ptx_name {
    const char *text;
    size_t length;
    uint64_t hash;
    void *value; /* of parser.names: the innermost ptx_symbol, or NULL */
};

struct ptx_table {
    struct ptx_name **slots;
    size_t room, count;
};

enum ptx_meaning { PTX_IS_REGISTER, PTX_IS_VARIABLE, PTX_IS_FUNCTION, PTX_IS_LABEL };

struct ptx_symbol {
    enum ptx_meaning meaning;
    uint32_t index;
    unsigned depth;
    struct ptx_name *name;
    struct ptx_symbol *shadowed; /* what the name means outside of this scope */
    struct ptx_symbol *next;     /* of the same scope */
};

struct ptx_name *ptx_intern(struct ptx_parser *parser, struct ptx_table *table,
                            const void *bytes, size_t length);
void ptx_table_free(struct ptx_table *table);
bool ptx_scope_open(struct ptx_parser *parser);
void ptx_scope_close(struct ptx_parser *parser);
/* Fails at the place of `token` when this scope has the name. */
bool ptx_declare(struct ptx_parser *parser, const struct ptx_token *token,
                 struct ptx_name *name, enum ptx_meaning meaning, uint32_t index);

#endif
