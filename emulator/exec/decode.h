/* SPDX-License-Identifier: MIT */
/*
 * From parsed PTX to a program that can run. Families (ALU, memory, barriers, copies,
 * tensor cores, …) register opcodes; a word of an opcode that no one took is an error that
 * names it, so that nothing runs with a meaning that was guessed.
 */
#ifndef EMU_EXEC_DECODE_H
#define EMU_EXEC_DECODE_H

#include "exec/machine.h"

/* An instruction whose target was checked: others with its opcode need no second look. */
struct emu_checked {
    const char *opcode; /* the parser keeps equal ones once */
    unsigned operands;
    bool last_is_constant;
};

struct emu_decoder {
    struct emu_program *program;
    const struct ptx_insn *source;
    struct emu_insn *insn; /* being filled; zeroed but for guard, index, source, vector 1 */
    struct emu_error *error;
    uint64_t taken; /* words that were understood */
    struct emu_checked checked[256];
};

/* `name`: leading words, e.g. "cp.async.bulk.tensor"; the longest match wins. */
struct emu_opcode {
    const char *name;
    bool (*decode)(struct emu_decoder *decoder);
};
/* Tables of this folder, ended by a NULL name. */
extern const struct emu_opcode emu_alu_opcodes[]; /* integers, logic */
extern const struct emu_opcode emu_move_opcodes[];
extern const struct emu_opcode emu_compare_opcodes[];
extern const struct emu_opcode emu_float_opcodes[];   /* floating point, cvt */
extern const struct emu_opcode emu_control_opcodes[]; /* branches, exit, calls */
extern const struct emu_opcode emu_memory_opcodes[];  /* ld, st, cvta */
extern const struct emu_opcode emu_atomic_opcodes[];
extern const struct emu_opcode emu_warp_opcodes[];   /* shfl, elect, bar.warp, … */
extern const struct emu_opcode emu_reduce_opcodes[]; /* vote, match, redux */
extern const struct emu_opcode emu_matrix_opcodes[]; /* ldmatrix, stmatrix */

/* ------------------------------------------------------------- words of the opcode */

/* Takes the word if it is there. */
bool emu_take(struct emu_decoder *decoder, const char *word);
/* Takes the first untaken word that is one of the list; its index, or -1. */
int emu_take_one_of(struct emu_decoder *decoder, const char *const *words, unsigned count);
/* Takes a scope; EMU_SCOPE_NONE when none is written. */
enum emu_scope emu_take_scope(struct emu_decoder *decoder);
/* Takes the first untaken word that begins with prefix; what follows it, or NULL. */
const char *emu_take_prefix(struct emu_decoder *decoder, const char *prefix);
/* Takes the first untaken word that is a type of ptx.h. */
bool emu_take_type(struct emu_decoder *decoder, enum ptx_type *ret_type);
/* As emu_take_type, but its absence is an error. */
bool emu_need_type(struct emu_decoder *decoder, enum ptx_type *ret_type);
/* Fails with "opcode: <text>"; returns false. */
bool emu_decode_fail(struct emu_decoder *decoder, const char *format, ...) EMU_PRINTF(2, 3);

/* ------------------------------------------------------------------------ operands */

/* The first operand is what the instruction writes. */
bool emu_insn_has_result(const struct ptx_insn *insn);

unsigned emu_operand_count(const struct emu_decoder *decoder);
const struct ptx_operand *emu_operand(struct emu_decoder *decoder, unsigned index);
/* Fails unless there are that many. */
bool emu_need_operands(struct emu_decoder *decoder, unsigned least, unsigned most);
/* A register to be written, or the sink (EMU_NO_SLOT). */
bool emu_operand_dst(struct emu_decoder *decoder, const struct ptx_operand *operand,
                     uint32_t *ret_slot);
/* A register or a constant, as a slot. An immediate is cut to `bits`. A 128-bit register
 * gives the first of its two slots. */
bool emu_operand_src(struct emu_decoder *decoder, const struct ptx_operand *operand,
                     unsigned bits, uint32_t *ret_slot);
/* A predicate register (to be read or written); !p is told by ret_negated, which may be
 * NULL when it is not legal. */
bool emu_operand_predicate(struct emu_decoder *decoder, const struct ptx_operand *operand,
                           uint32_t *ret_predicate, bool *ret_negated);
/* [base + offset]: the slot of the base (a constant slot for symbols) and the offset. */
bool emu_operand_address(struct emu_decoder *decoder, const struct ptx_operand *operand,
                         uint32_t *ret_slot, int64_t *ret_offset);
/* An immediate. */
bool emu_operand_integer(struct emu_decoder *decoder, const struct ptx_operand *operand,
                         int64_t *ret_value);
/* The elements of a vector (or a single register) as a list in the program's arena;
 * sinks are EMU_NO_SLOT when `dst`. */
bool emu_operand_vector(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        bool dst, unsigned bits, uint32_t **ret_slots, uint32_t *ret_count);
/* Register width in bits of a slot's register operand; 0 for constants. */
unsigned emu_operand_bits(const struct emu_decoder *decoder,
                          const struct ptx_operand *operand);
void *emu_decode_alloc(struct emu_decoder *decoder, size_t bytes);

/* Address of a module variable of .global or .const, decided when the module was loaded. */
typedef uint64_t (*emu_variable_address)(void *context, uint32_t variable);

/* Decodes one function whose instructions are of this folder or of the units, a list that
 * NULL ends. NULL and an error ("file:line: opcode: …") when anything in it is not
 * supported. The module and the units must outlive the program. */
struct emu_program *emu_program_decode(const struct ptx_module *module,
                                       const struct ptx_function *function,
                                       const struct emu_unit *const *units,
                                       emu_variable_address address, void *context,
                                       struct emu_error *error);
void emu_program_free(struct emu_program *program);

#endif
