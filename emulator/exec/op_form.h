/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic instructions as rows of tables: which words, type and operands an operation
 * may have, and the function that executes it. One decoder reads all rows.
 */
#ifndef EMU_EXEC_OP_FORM_H
#define EMU_EXEC_OP_FORM_H

#include "exec/decode.h"

/* Words behind an operation's name, other than types. */
enum emu_word {
    EMU_WORD_RN,
    EMU_WORD_RZ,
    EMU_WORD_RM,
    EMU_WORD_RP,
    EMU_WORD_FTZ,
    EMU_WORD_SAT,
    EMU_WORD_RELU,
    EMU_WORD_NAN,
    EMU_WORD_XORSIGN,
    EMU_WORD_ABS,
    EMU_WORD_APPROX,
    EMU_WORD_FULL,
    EMU_WORD_LO,
    EMU_WORD_HI,
    EMU_WORD_WIDE,
    EMU_WORD_CC,
    EMU_WORD_L,
    EMU_WORD_R,
    EMU_WORD_CLAMP,
    EMU_WORD_WRAP,
    EMU_WORD_SHIFTAMT,
    EMU_WORD_F4E,
    EMU_WORD_B4E,
    EMU_WORD_RC8,
    EMU_WORD_ECL,
    EMU_WORD_ECR,
    EMU_WORD_RC16,
    EMU_WORD_U16X2,
    EMU_WORD_S16X2,
    EMU_WORD_F32X2,
    EMU_WORD_FINITE,
    EMU_WORD_INFINITE,
    EMU_WORD_NUMBER,
    EMU_WORD_NOTANUMBER,
    EMU_WORD_NORMAL,
    EMU_WORD_SUBNORMAL,
    EMU_WORD_COUNT
};
#define EMU_W(word)  (UINT64_C(1) << EMU_WORD_##word)
#define EMU_ROUNDING (EMU_W(RN) | EMU_W(RZ) | EMU_W(RM) | EMU_W(RP))

/* What insn->mode tells of the words. */
enum {
    EMU_MODE_ROUNDING = 3, /* enum emu_rounding: RN, RZ, RM, RP */
    EMU_MODE_FTZ = 4,
    EMU_MODE_SAT = 8,
    EMU_MODE_RELU = 16,
    EMU_MODE_NAN = 32,
    EMU_MODE_XORSIGN = 64,
    EMU_MODE_ABS = 128,
    EMU_MODE_CC = 256,
    EMU_MODE_WRAP = 512,
    EMU_MODE_SHIFTAMT = 1024
};

/* Sets of types. */
#define EMU_T(type) (1u << PTX_##type)
#define EMU_T_I16   (EMU_T(U16) | EMU_T(S16))
#define EMU_T_I32   (EMU_T(U32) | EMU_T(S32))
#define EMU_T_I64   (EMU_T(U64) | EMU_T(S64))
#define EMU_T_HALF  (EMU_T(F16) | EMU_T(BF16))

struct emu_form {
    const char *name;
    uint32_t types;  /* 0: a word of its own stands for the type */
    uint32_t types2; /* of the second type; 0: there is none */
    uint64_t need;   /* words that must be there */
    uint64_t may;    /* words that may be there; of the roundings at most one */
    /* The operands, destination first: n as wide as the type, w twice that, b 16, i 32 and
     * l 64 bits, p a predicate, # an integer constant that goes to insn->offset. A c at the
     * end is no operand: the predicate of the condition code goes to insn->target. */
    const char *shape;
    emu_exec exec;
};

/* Tables end with a NULL name. */
extern const struct emu_form emu_integer_forms[];
extern const struct emu_form emu_multiply_forms[];
extern const struct emu_form emu_carry_forms[];
extern const struct emu_form emu_logic_forms[];
extern const struct emu_form emu_bits_forms[];
extern const struct emu_form emu_select_forms[];
extern const struct emu_form emu_f32_forms[];
extern const struct emu_form emu_f64_forms[];
extern const struct emu_form emu_approx_forms[];
extern const struct emu_form emu_half_forms[];

/* Decodes by the first row that fits. Its roundings are EMU_RN where none is written. */
bool emu_form_decode(struct emu_decoder *decoder);

/* ----------------------------------------------------------- operands, with their width */

/* A register to be written of exactly that width. */
bool emu_form_dst(struct emu_decoder *decoder, const struct ptx_operand *operand,
                  unsigned bits, uint32_t *ret_slot);
/* A register of exactly that width, or a constant; `is_float`: no integer constant. */
bool emu_form_src(struct emu_decoder *decoder, const struct ptx_operand *operand,
                  unsigned bits, bool is_float, uint32_t *ret_slot);
/* A predicate to be written; `sink`: or _, as EMU_NO_PREDICATE. */
bool emu_form_predicate(struct emu_decoder *decoder, const struct ptx_operand *operand,
                        bool sink, uint32_t *ret_predicate);
/* Fills source `index` (see op_predicate.h) from a predicate, negated or not, or an integer
 * constant. */
bool emu_form_predicate_source(struct emu_decoder *decoder,
                               const struct ptx_operand *operand, unsigned index);
bool emu_form_is_float(enum ptx_type type);
unsigned emu_form_bits(enum ptx_type type);

#endif
