/* SPDX-License-Identifier: MIT */
/* A launch file: what to run, on what data, and what must come out. */
#ifndef EMU_TOOLS_SCRIPT_H
#define EMU_TOOLS_SCRIPT_H

#include "tools/elements.h"

#define EMU_SCRIPT_RANK 5u
#define EMU_SCRIPT_NONE UINT32_MAX

enum emu_initial {
    EMU_INITIAL_UNDEFINED, /* not written: a kernel that reads it is in error */
    EMU_INITIAL_CONSTANT,
    EMU_INITIAL_IOTA,     /* low, low + high, low + 2 high, … */
    EMU_INITIAL_RANDOM,   /* uniform in [low, high) */
    EMU_INITIAL_INTEGERS, /* uniform among low, low + 1, …, high */
    EMU_INITIAL_FILE
};

struct emu_script_buffer {
    char name[32];
    const struct emu_element_type *type;
    uint64_t count, bytes;
    enum emu_initial initial;
    uint64_t seed;
    double low, high;
    char *path;
};

struct emu_script_map {
    char name[32];
    uint32_t buffer;
    const struct emu_element_type *type;
    uint64_t offset_bytes;
    uint32_t rank;
    uint64_t dims[EMU_SCRIPT_RANK], strides[EMU_SCRIPT_RANK];
    bool has_strides; /* a stride of 0 repeats the same elements */
    uint32_t box[EMU_SCRIPT_RANK], steps[EMU_SCRIPT_RANK];
    unsigned interleave, swizzle, promotion, fill;
};

enum emu_piece_kind { EMU_PIECE_ADDRESS, EMU_PIECE_MAP, EMU_PIECE_BYTES };

/* Bytes of a parameter. */
struct emu_script_piece {
    enum emu_piece_kind kind;
    uint32_t param;
    uint64_t offset_bytes, bytes; /* in the parameter */
    uint32_t index;               /* of the buffer or map */
    uint64_t addend;
    unsigned char *data;
};

struct emu_script_param {
    uint64_t bytes;
    unsigned line;
};

/* A matrix of a check. */
struct emu_script_matrix {
    uint32_t buffer;  /* EMU_SCRIPT_NONE: not given */
    bool first_inner; /* the first of its two letters is the contiguous dimension */
    uint64_t pitch;   /* elements between rows of the other dimension; 0: packed */
};

struct emu_script_scale {
    uint32_t buffer; /* its first element; EMU_SCRIPT_NONE: value */
    double value;
};

enum emu_action_kind {
    EMU_ACTION_PRINT,
    EMU_ACTION_DUMP,
    EMU_ACTION_EQUAL, /* two buffers hold the same bytes */
    EMU_ACTION_GEMM   /* D = alpha · scale_a · scale_b · A·B + beta · C */
};

struct emu_script_action {
    enum emu_action_kind kind;
    unsigned line;
    uint32_t buffer, other;
    uint64_t count;
    char *path;
    struct emu_script_matrix d, a, b, c;
    uint64_t m, n, k;
    double alpha, beta, relative, absolute;
    struct emu_script_scale scale_a, scale_b;
};

struct emu_script {
    int ordinal; /* of the device */
    char *entry;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
    uint32_t shared_bytes;
    bool cooperative, programmatic;
    struct emu_script_buffer *buffers;
    struct emu_script_map *maps;
    struct emu_script_param *params;
    struct emu_script_piece *pieces;
    struct emu_script_action *actions;
    uint32_t buffer_count, map_count, param_count, piece_count, action_count;
    bool expect_clean;
    char **findings; /* names of findings that must be there */
    uint32_t finding_count;
    char *result; /* name of the code that the launch must end with; NULL: success */
};

/* Parses the text of a launch file; false: the error begins with "line N: ". */
bool emu_script_parse(const char *text, struct emu_script *ret_script,
                      struct emu_error *error);
void emu_script_free(struct emu_script *script);

/* What a launch file may hold, for --help. */
extern const char emu_script_help[];

#endif
