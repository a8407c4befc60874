/* SPDX-License-Identifier: MIT */
/* What a kernel does with its accumulators: which epilogue it has, what that loads, where
 * D's tiles end, and what it costs. Decided here and nowhere else: the device finds the
 * answers as constants of Config (kernel_src/jg/epilogue). Pure functions. */
#ifndef JG_PLAN_OUTPUT_H
#define JG_PLAN_OUTPUT_H

#include <stdbool.h>

#include "plan/problem.h"

enum {
    JG_STORE_TILE_COLUMNS = 16, /* of an accumulator: what a store tile of D has at least */
    JG_VECTOR_OUT_STAGES = 2,   /* output stages whose memory holds a staging buffer */
    JG_SHARED_OUT_STAGES = 3,   /* and what warps that share blocks of D exchange */
    JG_GATED_STEP = 32          /* columns of a gated D in a step of the epilogue */
};

/* Why a trial is refused whose product's A has pairs that no copy takes apart; of their
 * name. */
#define JG_NEIGHBOURS_ALONG_M                                                           \
    "pairs of neighbours in %s lie along the rows of the multiplication, in different " \
    "lanes; "

enum jg_epilogue_kind {
    JG_EPILOGUE_FRAGMENTS = 0, /* in the accumulator's own layout; D by TMA */
    JG_EPILOGUE_VECTORS = 1    /* in vectors of 8 columns; D by the threads */
};

/* Partial results of reductions (plan/reduction.h) that a tile has: of each of its rows
 * as D lies in memory, of each column, of all. What the chip's warps come to. */
struct jg_partial_results {
    int row, column, tensor;
};

struct jg_output {
    enum jg_epilogue_kind epilogue;
    int loads_per_step; /* stages of a ring that C and the matrix operands of one step take;
                           0: the epilogue's threads load them */
    int load_stages;    /* of a ring for those only; 0: none, or that of the input tiles */
    /* Do the tiles of all clusters end where D, as it lies in memory, ends? */
    bool whole_rows, whole_cols;
    bool whole_vectors; /* do vectors of 8 elements end where a row of D ends? */
    bool reduces;       /* are there reductions? */
    bool writes_boxes;  /* does a matrix that is assigned go out as D does, by its map? */
    bool divided; /* does each CTA of a cluster that adds up parts of K write a share? */
    struct jg_partial_results parts;
};

/* Of a D that lies transposed in the accumulator, of which a team of warps has so many
 * columns: rows of a store tile, whose rows have 128 bytes, and of a box of a matrix. */
int jg_transposed_store_rows(const struct jg_problem *problem, int columns);
int jg_transposed_step_rows(const struct jg_problem *problem, int columns);

struct jg_trial;

/* Do the CTAs of a cluster that add up parts of K each write a share of D
 * (jg/epilogue/cluster_shares.cuh), not the last part's all of it? Where they have all of K
 * and what the epilogue makes is each element's own: no reductions, no scales of blocks. */
bool jg_divides_output(const struct jg_trial *trial);

/* What is known of the kernel beside the trial. */
struct jg_output_facts {
    int columns;       /* of D, or of its transpose, that a team of warps has of a tile */
    int ring_stages;   /* of the ring that can bring C and matrix operands; 0 if none can */
    bool own_ring;     /* or is it that of the input tiles? */
    bool reads_boxes;  /* does a step of the epilogue fill one store tile, by rows of D? */
    bool writes_boxes; /* may an assigned matrix go out as D does? */
    struct jg_partial_results parts;
};

/* Fragments for scalars and vectors that are read only, scales too, where the rows of D are
 * known to end on 16 bytes, which a TMA store would fill up, D has 16 or 32 bits and an
 * alignment that TMA takes, pairs of a gated one are no neighbours, and store tiles fill
 * the accumulator, unless D is divided; also for C and matrices that are read only, if they
 * and D have 16 bits, they come through a ring and the chip reads boxes; or for one of 16
 * bits that is assigned, where store tiles have whole lines and the chip writes boxes;
 * vectors for all others. */
struct jg_output jg_output_choose(const struct jg_trial *trial,
                                  const struct jg_output_facts *facts);

/* Stages that C and the matrix operands of one step of the epilogue take: one each, two
 * where elements have 32 bits, none where they have 8: those would fill half of a stage.
 * None with output_align, or a gated epilogue, or where each group has a C of its own. */
int jg_output_loads(const struct jg_problem *problem);

/* What a team of warps has of a tile of D. */
struct jg_team_columns {
    int count;        /* columns */
    bool shared;      /* does another team have as many of the same rows beside them? */
    bool stored_once; /* does one store tile hold all that it has? */
    /* Where D lies transposed in the accumulator, 0 elsewhere: columns of D that a warp
     * has, and all warps of a tile. `count` are rows of D then. */
    int warp_lanes, tile_lanes;
    /* Where it does not: rows of D that the warps of a tile have below each other in one
     * step of the epilogue. */
    int step_rows;
};

/* `count` in whole steps of the epilogue. */
int jg_staged_columns(const struct jg_trial *trial, const struct jg_team_columns *columns);
/* Is all that a team has stored at once, with nothing staged? */
bool jg_is_stored_once(const struct jg_problem *problem,
                       const struct jg_team_columns *columns);
/* Output stages where the config leaves them open: as many as there must be, or as can be
 * in use at a time. */
int jg_out_stages_choose(const struct jg_problem *problem,
                         const struct jg_team_columns *columns);
/* Are there the output stages whose memory the epilogue by vectors needs, and are the
 * blocks whole whose scales it computes? False with a reason. */
bool jg_out_stages_check(struct jg_trial *trial, const struct jg_team_columns *columns);

/* Bytes of matrices of D's shape that the epilogue reads or writes, per element of the
 * product. */
double jg_output_bytes(const struct jg_problem *problem);
/* Clocks to move them, likewise: so many bytes per clock, or, where output_align makes
 * accesses narrow, an instruction of a warp each four clocks (assumed), if that is more. */
double jg_output_clk(const struct jg_problem *problem, double bytes_clk);

#endif
