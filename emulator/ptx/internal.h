/* SPDX-License-Identifier: MIT */
/* What the files of the PTX parser share: the parser and its parts. */
#ifndef EMU_PTX_INTERNAL_H
#define EMU_PTX_INTERNAL_H

#include "ptx/names.h"
#include "ptx/ptx.h"
#include "ptx/token.h"

#define PTX_TEXT_MAX      ((size_t)64 << 20)
#define PTX_BYTES_MAX     ((uint64_t)1 << 30) /* of all variables, and of one area */
#define PTX_REGISTERS_MAX ((uint32_t)1 << 20)

/* The instructions of a function and the `.loc` that held at each of them. */
struct ptx_code {
    struct ptx_insn *insns;
    const struct ptx_location **origins;
    uint32_t count;
};

/* Areas in which variables are laid out one after the other. */
struct ptx_area {
    uint64_t bytes, alignment;
};

struct ptx_parser {
    struct ptx_module *module;
    struct emu_error *error;
    bool failed;
    struct emu_arena scratch; /* lives until the end of the parse */

    const char *at, *end, *line_start;
    uint32_t line;
    struct ptx_token token; /* the one to be looked at next */

    struct ptx_table names, opcodes, locations, debug_labels;
    struct ptx_symbol *scopes[PTX_SCOPES_MAX + 1];
    unsigned depth; /* 0: the module */

    struct ptx_variable *variables;
    uint32_t variable_count;
    uint64_t variable_bytes;
    struct ptx_function *functions;
    uint32_t function_count;
    struct ptx_code *codes; /* of the functions with a body */
    uint32_t code_count;

    /* Of the function whose body is read. */
    struct ptx_register *registers;
    uint32_t register_count, registers_of_module;
    struct ptx_code code;
    struct ptx_operand **references; /* to labels, not yet resolved */
    uint32_t reference_count, first_references[PTX_SCOPES_MAX + 1];
    struct ptx_area local, call_params;
    uint64_t first_call_params[PTX_SCOPES_MAX + 1], call_params_most;

    struct ptx_operand *operands; /* a stack: those of the instruction that is read */
    uint32_t operand_count;
    unsigned nesting; /* of a constant expression */

    const struct ptx_location *location;
    const char **files;
    uint32_t file_count;
    unsigned char *debug_bytes; /* of .section .debug_str */
    uint32_t debug_byte_count;
    struct ptx_inline_name *inline_names;
    uint32_t inline_name_count;
};

/* expression.c: an integer or a double; anything else fails. */
struct ptx_constant {
    bool is_real, is_unsigned;
    uint64_t bits; /* of an integer */
    double real;
};
bool ptx_constant_parse(struct ptx_parser *parser, struct ptx_constant *ret);
bool ptx_constant_integer(struct ptx_parser *parser, int64_t *ret_value);

/* operand.c: the operands up to the `;`, in the module's arena. */
bool ptx_operands_parse(struct ptx_parser *parser, struct ptx_insn *insn);

/* type.c */
const char *ptx_type_word(enum ptx_type type);

/* variable.c */
struct ptx_linkage {
    bool is_extern, is_visible;
};
/* From the state space, which is the current token, to the `;`. */
bool ptx_variables_parse(struct ptx_parser *parser, enum ptx_space space,
                         struct ptx_linkage linkage);
/* `(.param … , …)`: declared in the current scope and laid out. */
bool ptx_params_parse(struct ptx_parser *parser, uint32_t **ret_indices,
                      unsigned *ret_count, uint64_t *ret_bytes);

/* initialiser.c: from the `=`, which is the current token. */
#define PTX_DIMENSIONS_MAX 8u
struct ptx_shape {
    uint64_t sizes[PTX_DIMENSIONS_MAX]; /* the first may be 0: as many as are given */
    unsigned count;
    uint64_t row_bytes; /* of one element of the first dimension */
};
bool ptx_initialiser_parse(struct ptx_parser *parser, const struct ptx_shape *shape,
                           struct ptx_variable *variable);
/* Counts against the limit of the module. */
bool ptx_count_bytes(struct ptx_parser *parser, uint64_t bytes);

/* function.c: from `.entry` or `.func`, which is the current token. */
bool ptx_function_parse(struct ptx_parser *parser, struct ptx_linkage linkage);

/* body.c: from the `{` to the `}`; closes the scope of the parameters. */
bool ptx_body_parse(struct ptx_parser *parser, struct ptx_function *function);
/* .pragma, which is the current token, to the `;`. */
bool ptx_pragma_parse(struct ptx_parser *parser);

/* location.c: .file, .loc and .section, each the current token. */
bool ptx_file_parse(struct ptx_parser *parser);
bool ptx_loc_parse(struct ptx_parser *parser);
bool ptx_section_parse(struct ptx_parser *parser);
/* At the end: the names of inlined functions, the locations of all instructions. */
bool ptx_locations_finish(struct ptx_parser *parser);

#endif
