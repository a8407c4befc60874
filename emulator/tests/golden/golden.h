/* SPDX-License-Identifier: MIT */
/*
 * Golden vectors: what a case is, and the small tools that cases are built with.
 *
 * A case is one PTX kernel with its inputs. The same program runs it on a real GPU, where
 * the outputs are kept in a file, and on the emulator, where they are compared with that
 * file. Inputs are made from fixed seeds, so they are never stored.
 */
#ifndef EMU_GOLDEN_GOLDEN_H
#define EMU_GOLDEN_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GOLD_PRINTF(string, first) __attribute__((format(printf, string, first)))

/* Ends the program when memory is gone. Zeroed. */
void *gold_alloc(size_t bytes);

/* Growable text. Zero-initialise; free(text.text) at the end. */
struct gold_text {
    char *text;
    size_t length, room;
};
void gold_text_add(struct gold_text *text, const char *format, ...) GOLD_PRINTF(2, 3);
/* Adds `text` with every "$x" replaced by the decimal value of the letter x in `values`: a
 * list of pairs {letter, value} that ends with letter 0. "$$" is a dollar. */
struct gold_value {
    char letter;
    long long value;
};
void gold_text_fill(struct gold_text *text, const char *form,
                    const struct gold_value *values);

/* splitmix64 (public domain algorithm): the same numbers on every machine. */
struct gold_random {
    uint64_t state;
};
uint64_t gold_random_next(struct gold_random *random);
uint32_t gold_random_below(struct gold_random *random, uint32_t bound);
/* A seed made of a text. */
uint64_t gold_seed(const char *text);

/* How an output item may differ from the golden one: any of the three may excuse it. NaN
 * matches NaN only, infinity the same infinity. */
enum gold_number { GOLD_BITS, GOLD_F16, GOLD_BF16, GOLD_F32, GOLD_F64 };
struct gold_tolerance {
    enum gold_number number; /* GOLD_BITS: not at all */
    unsigned ulps;
    double relative, absolute;
};

/* A tiled tensor map over the input or the output buffer. */
struct gold_map {
    unsigned type, rank, swizzle, fill; /* values of the driver's enums */
    bool on_output;
    size_t offset; /* of the tensor in the buffer */
    uint64_t dims[5], strides[4];
    uint32_t box[5], element_strides[5];
};

#define GOLD_MAPS 2

struct gold_case {
    const char *name; /* without blanks, unique in its group */
    /* One entry, `run`, with parameters: u64 input, u64 output, u32 count, then a 128-byte
     * tensor map per map. */
    const char *ptx;
    unsigned grid, block, cluster;
    unsigned shared_bytes; /* dynamic */
    uint32_t count;        /* third parameter */
    const void *input;
    size_t input_bytes;
    unsigned item_input_bytes; /* of one item, shown with a mismatch; 0: shared by all */
    const void *initial;       /* first contents of the output; NULL: bytes 0xA5 */
    /* The output is `items` items of `item_bytes`, printed in parts of `part_bytes`. The
     * first `full_items` are stored, the rest as a hash per `block_items`. */
    unsigned items, item_bytes, part_bytes;
    unsigned full_items, block_items;
    unsigned row_items;              /* not 0: items are printed as [row][column] */
    const char *const *column_names; /* of row_items columns, or NULL */
    struct gold_tolerance tolerance;
    bool record_only; /* kept for reading, not compared */
    struct gold_map maps[GOLD_MAPS];
    unsigned map_count;
};

/* Lists, runs and stores, or runs and compares one case, whatever the program was told. */
struct gold_run;
void gold_case_run(struct gold_run *run, const struct gold_case *one);

/* The groups. Each calls gold_case_run for its cases, in a fixed order. */
void gold_cvt_cases(struct gold_run *run);
void gold_integer_cases(struct gold_run *run);
void gold_float_cases(struct gold_run *run);
void gold_approx_cases(struct gold_run *run);
void gold_atom_cases(struct gold_run *run);
void gold_warp_cases(struct gold_run *run);
void gold_mma_cases(struct gold_run *run);
void gold_mbarrier_cases(struct gold_run *run);
void gold_address_cases(struct gold_run *run);
void gold_tma_cases(struct gold_run *run);
void gold_bulk_cases(struct gold_run *run);
void gold_tensormap_cases(struct gold_run *run);
void gold_wgmma_cases(struct gold_run *run);

#endif
