/* SPDX-License-Identifier: MIT */
/*
 * A parsed PTX module: names resolved, nothing interpreted. The text is what NVRTC, nvcc or
 * a person wrote; `ptx_parse` accepts or refuses it as a whole and never crashes on it.
 *
 * What an instruction means is not known here: an opcode is a list of words, and only the
 * executor knows which lists it can run.
 */
#ifndef EMU_PTX_PTX_H
#define EMU_PTX_PTX_H

#include "base/base.h"

enum ptx_space { PTX_PARAM, PTX_SHARED, PTX_GLOBAL, PTX_CONST, PTX_LOCAL };

/* Element types of variables and registers. */
enum ptx_type {
    PTX_PRED,
    PTX_B8,
    PTX_B16,
    PTX_B32,
    PTX_B64,
    PTX_B128,
    PTX_U8,
    PTX_U16,
    PTX_U32,
    PTX_U64,
    PTX_S8,
    PTX_S16,
    PTX_S32,
    PTX_S64,
    PTX_F16,
    PTX_F16X2,
    PTX_BF16,
    PTX_BF16X2,
    PTX_F32,
    PTX_F64,
    PTX_TYPE_COUNT
};
/* Bytes of a type; a predicate has 1. */
unsigned ptx_type_bytes(enum ptx_type type);
/* "u32" → PTX_U32; false when the word names no type. */
bool ptx_type_of(const char *word, enum ptx_type *ret_type);

struct ptx_register {
    const char *name; /* "%r12" */
    enum ptx_type type;
};

/* A 8-byte (or 4-byte) slot of an initialiser that holds an address. */
struct ptx_relocation {
    uint64_t offset; /* bytes from the start of the variable */
    uint32_t bytes;
    uint32_t variable; /* index in ptx_module.variables */
    int64_t addend;
    bool generic; /* generic(x): the generic address; otherwise the address in its space */
};

/* A variable of the module, of a function, or a parameter. Names are unique per scope, so
 * two variables of a module may carry the same name. */
struct ptx_variable {
    const char *name;
    enum ptx_space space;
    enum ptx_type type;
    unsigned vector; /* 1, 2 or 4 elements of `type` each */
    uint64_t alignment;
    uint64_t bytes;  /* 0: an unsized `.extern .shared x[]` */
    uint64_t offset; /* parameters and .local: from the start of that function's area */
    bool is_extern, is_visible;
    unsigned char *initial; /* `bytes` of them, or NULL */
    struct ptx_relocation *relocations;
    size_t relocation_count;
};

enum ptx_operand_kind {
    PTX_REGISTER, /* index: register of the function */
    PTX_INTEGER,  /* value; 64-bit two's complement, as written; WARP_SZ is 32 */
    PTX_FLOAT32,  /* value: the bits (0f…) */
    PTX_FLOAT64,  /* value: the bits (0d…, or a decimal constant such as 1.5) */
    PTX_VARIABLE, /* index: variable of the module; value: byte offset added */
    PTX_FUNCTION, /* index: function of the module */
    PTX_LABEL,    /* index: instruction of the function that the label stands before; it
                     equals insn_count for a label at the very end */
    PTX_SPECIAL,  /* text: "%tid.x" and all other undeclared %names */
    PTX_SINK,     /* _ */
    PTX_VECTOR,   /* {a, b, …}: elements */
    PTX_ADDRESS,  /* [base + value]: elements[0] is the base: REGISTER, VARIABLE, or INTEGER
                   */
    PTX_TENSOR,   /* [base, {c0, …}]: elements[0] an ADDRESS, elements[1] a VECTOR */
    PTX_PAIR,     /* a|b: two elements */
    PTX_LIST      /* (a, b): of a call */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated; /* !p, or - before a register */
    uint32_t index;
    int64_t value;
    const char *text;
    struct ptx_operand *elements;
    unsigned count;
};

/* Where an instruction comes from. */
struct ptx_location {
    uint32_t ptx_line; /* line of the PTX text, from 1 */
    uint32_t file;     /* index in ptx_module.files; valid when line > 0 */
    uint32_t line, column;
    const char *function;                  /* from inlining information, or NULL */
    const struct ptx_location *inlined_at; /* or NULL */
};

#define PTX_NO_GUARD UINT32_MAX

struct ptx_insn {
    const char **words; /* "mbarrier", "try_wait", "parity", "shared::cta", "b64" */
    unsigned word_count;
    const char *opcode; /* the words joined by dots, as written */
    uint32_t guard;     /* predicate register, or PTX_NO_GUARD */
    bool guard_negated;
    struct ptx_operand *operands;
    unsigned operand_count;
    struct ptx_location location;
};

struct ptx_function {
    const char *name;
    bool is_entry, has_body, is_visible;
    /* Parameters and results: indices in ptx_module.variables; their offsets lie in areas
     * of param_bytes and result_bytes. */
    uint32_t *params, *results;
    unsigned param_count, result_count;
    uint64_t param_bytes, result_bytes;
    struct ptx_register *registers;
    uint32_t register_count;
    struct ptx_insn *insns;
    uint32_t insn_count;
    uint64_t local_bytes, local_alignment; /* .local variables of the body, laid out */
    uint64_t call_param_bytes; /* .param variables declared in the body, laid out */
    /* Performance-tuning directives; 0 means not given. */
    unsigned max_threads[3], required_threads[3]; /* .maxntid, .reqntid */
    unsigned required_cluster[3];                 /* .reqnctapercluster */
    unsigned max_cluster_rank, min_ctas_per_sm, max_registers;
    bool explicit_cluster;
};

struct ptx_module {
    unsigned version_major, version_minor;
    const char *target;    /* "sm_100a" */
    unsigned sm;           /* 100, 90, … */
    char sm_suffix;        /* 'a', 'f', or 0 */
    unsigned address_bits; /* 32 or 64 */
    const char **files;    /* by .file index; gaps are NULL */
    uint32_t file_count;
    struct ptx_variable *variables;
    uint32_t variable_count;
    struct ptx_function *functions;
    uint32_t function_count;
    struct emu_arena arena; /* owns everything above */
};

/*
 * Parses `text` of `length` bytes (need not end in a zero). On failure returns NULL and
 * puts "line:column: what is wrong" into the error. Limits that keep a malformed text from
 * taking the machine: 64 MiB of text, 1 GiB of variables, 64 nested scopes, 2^20 registers.
 */
struct ptx_module *ptx_parse(const char *text, size_t length, struct emu_error *error);
/* Accepts NULL. */
void ptx_module_free(struct ptx_module *module);

/* The entry or function of that name, or NULL. */
const struct ptx_function *ptx_find_function(const struct ptx_module *module,
                                             const char *name);

/* "gemm_kernel.cuh:107 (run_producer)" or "ptx line 31": where a person should look. */
void ptx_describe_location(const struct ptx_module *module,
                           const struct ptx_location *location, struct emu_text *text);
/* "gemm_kernel.cuh:107 (run_producer), PTX line 31", or only "ptx line 31". */
void ptx_describe_full_location(const struct ptx_module *module,
                                const struct ptx_location *location, struct emu_text *text);

#endif
