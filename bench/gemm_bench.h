/* SPDX-License-Identifier: MIT */
/*
 * Times problems with jit_gemm and, if asked, with cuBLASLt, in one run on one device, or
 * groups with a loop of dense products.
 *
 * Method: uniform [-1, 1] inputs in several sets that together exceed twice the L2 cache,
 * the sets rotating from launch to launch; back-to-back launches with device events around
 * the loop; in each round the contenders take turns, there and back, in an order that
 * rotates; medians over the rounds. Before anything is timed, the results of all contenders
 * are compared.
 *
 * Used by the command line. Its sources are listed in tools/meson.build; they link
 * jit_gemm, libdl and libm, and need the CUDA headers as a system include folder.
 *
 * Functions that can fail return 0 on success and leave a text in `error` otherwise.
 */
#ifndef BENCH_GEMM_BENCH_H
#define BENCH_GEMM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "jit_gemm/jit_gemm.h"

#define GEMM_BENCH_MAX_ROUNDS 200 /* timed rounds of one measurement, at most */

#define GEMM_BENCH_ERROR_SIZE  1024
#define GEMM_BENCH_MAX_ENTRIES 32

/* How to measure. Zero means default in every field. */
struct gemm_bench_options {
    int against_cublaslt; /* not 0: time cuBLASLt too; open fails where it is missing */
    bool against_dense; /* time a loop of our own dense products too, one for each group */
    const char *cublaslt_path; /* its library; NULL: JIT_GEMM_CUBLASLT, then usual places */
    const char *nvrtc_path;    /* for the separate elementwise kernel of the rival; NULL:
                                  JIT_GEMM_NVRTC, then usual places */
    int heuristics;            /* cuBLASLt algorithms to try, default 8 */
    int rounds;                /* timed rounds, default 15, at most GEMM_BENCH_MAX_ROUNDS */
    double round_ms;           /* device time of one contender in one round, default 40 */
    double warmup_ms; /* before the first problem, default 1000; 300 before others */
    uint64_t seed;    /* of the inputs, default 1 */
    bool replays;     /* a turn is one replay of a CUDA graph of its launches */
    FILE *progress;   /* receives a line per problem while it runs; NULL: silence */
    bool (*is_stopped)(void); /* asked between timings; true: fail; NULL: never */
};

/* One contender at one problem. Entry 0 is always jit_gemm, or the first of its kernels. */
struct gemm_bench_entry {
    char name[48];    /* "jit_gemm", "cublaslt default", "cublaslt best", ... */
    char note[160];   /* what differs or why it is absent; may be empty */
    int absent;       /* not 0: could not take part, see note; the numbers are zero */
    int host_bound;   /* not 0: the host launched more slowly than the device worked */
    double median_us; /* time of one launch (all kernels of it), median over rounds */
    double min_us;    /* fastest round */
    double max_us;    /* slowest round */
    double spread;    /* (third quartile - first quartile) / median */
    double tflops; /* 2 * M * N * K * batch, or what groups have of that, over the median */
    double ratio;  /* this entry's median over jit_gemm's: above 1, jit_gemm is faster */
    double sm_mhz, watts; /* clock and power in the rounds, medians; 0: not known */
    double difference;    /* max |x - jit_gemm's x| / max |jit_gemm's x| on one input set */
};

struct gemm_bench_result {
    char problem[512]; /* text form */
    char epilogue[256];
    char groups[160]; /* how many there are, and what they have; empty without groups */
    char config[JIT_GEMM_CONFIG_SIZE];
    char entry_point[JIT_GEMM_NAME_SIZE];
    jit_gemm_origin origin;
    uint32_t registers, spill_bytes, grid_ctas;
    double compile_ms;
    double flops;       /* of one launch */
    size_t sets;        /* input sets that rotate */
    double sets_mib;    /* inputs of all sets together */
    int rounds;         /* timed */
    int launches;       /* of jit_gemm in one of a round's two turns */
    bool replays;       /* as asked for */
    size_t entry_count; /* of `entries` */
    struct gemm_bench_entry entries[GEMM_BENCH_MAX_ENTRIES];
};

/* What is the same for every problem of a run. */
struct gemm_bench_machine {
    char device[128];
    int sm_count;
    int cc_major, cc_minor;
    int driver_cuda_version; /* 1000 * major + 10 * minor */
    double l2_mib;
    char cublaslt[160]; /* version and path, or why it is absent */
    char date[32];      /* UTC, ISO 8601 */
};

/* Rows of D that lie one after the other and are a group's, or, with groups along K, its
 * elements of that. */
struct gemm_bench_part {
    int64_t group, begin, end;
};

/* What the groups of a problem have, in every launch. */
struct gemm_bench_groups {
    const int32_t *numbers; /* as a launch reads them */
    size_t number_count;
    const struct gemm_bench_part *parts; /* in the order of groups; none is empty */
    size_t part_count;
    const int32_t *ns, *ks; /* N and K of each group; NULL: all have the launch's */
};

/* What is measured. */
struct gemm_bench_problem {
    const jit_gemm_problem *problem;
    const jit_gemm_epilogue *epilogue; /* the registered one that the problem names, or NULL
                                          if it names none */
    const struct gemm_bench_groups *groups; /* NULL if the problem has none */
};

struct gemm_bench; /* opaque; one thread at a time */

/* Are all its sizes given? 0, or -1 with the reason. */
int gemm_bench_check_sizes(const jit_gemm_problem *problem,
                           char error[GEMM_BENCH_ERROR_SIZE]);
/* Can this problem be measured? 0, or -1 with the reason; needs no device. */
int gemm_bench_check(const jit_gemm_problem *problem, char error[GEMM_BENCH_ERROR_SIZE]);

/* Opens the device's tools. `options` may be NULL. `context` must outlive the result. */
int gemm_bench_open(jit_gemm_context *context, const struct gemm_bench_options *options,
                    struct gemm_bench **ret_bench, char error[GEMM_BENCH_ERROR_SIZE]);

const struct gemm_bench_machine *gemm_bench_machine(const struct gemm_bench *bench);

/*
 * Measures one problem. Operands of its epilogue get random inputs. All sizes run at their
 * planned value. The results of the contenders must agree, or the call fails.
 */
int gemm_bench_measure(struct gemm_bench *bench, const struct gemm_bench_problem *problem,
                       struct gemm_bench_result *ret_result,
                       char error[GEMM_BENCH_ERROR_SIZE]);

/*
 * Measures kernels of one problem beside each other: an entry for each, in their order;
 * ratios are to the first. Notes are their configs; the first one's is the result's.
 */
int gemm_bench_measure_kernels(struct gemm_bench *bench,
                               const struct gemm_bench_problem *problem,
                               jit_gemm *const *gemms, size_t count,
                               struct gemm_bench_result *ret_result,
                               char error[GEMM_BENCH_ERROR_SIZE]);

/* Sets the pointer to NULL. Accepts NULL. */
void gemm_bench_close(struct gemm_bench **bench);

/* One line of JSON; `command_line` may be NULL. */
void gemm_bench_print_json(FILE *out, const struct gemm_bench_machine *machine,
                           const struct gemm_bench_result *result,
                           const char *command_line);

#endif
