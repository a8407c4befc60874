/* SPDX-License-Identifier: MIT */
/* The form of code that a build makes: what the driver takes decides. */
#ifndef JG_COMPILE_FORM_H
#define JG_COMPILE_FORM_H

enum jg_form {
    JG_FORM_CUBIN, /* machine code, an ELF file */
    JG_FORM_PTX    /* text, for drivers that assemble or execute it themselves */
};

/* Stands in keys, in metadata and as the suffix of dumped files. */
static inline const char *jg_form_name(enum jg_form form)
{
    return form == JG_FORM_PTX ? "ptx" : "cubin";
}

#endif
