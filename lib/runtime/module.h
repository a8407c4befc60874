/* SPDX-License-Identifier: MIT */
/* A loaded kernel: code in the driver (PTX, where it takes that), and what a launch needs
 * to know of it. Immutable after its load, counted, independent of the context that made
 * it. */
#ifndef JG_RUNTIME_MODULE_H
#define JG_RUNTIME_MODULE_H

#include <stdatomic.h>

#include "base/log.h"
#include "compile/build.h"
#include "cuda/device.h"
#include "plan/choose.h"
#include "plan/cluster.h"
#include "plan/groups.h"

struct jg_debug_slot;

/* The kernel before that of the product, in the same code (plan/first_kernel.h). */
struct jg_first_kernel {
    CUkernel function; /* NULL: there is none */
    CUfunction primary;
    int resident_ctas; /* that the device holds at once */
};

struct jg_kernel {
    atomic_int references;
    struct jg_device *device; /* counted */
    CUlibrary library;
    CUkernel function;  /* of any context */
    CUfunction primary; /* the same in the primary context: launches a little faster */
    struct jg_problem problem; /* zero where it is none of a product; its epilogue is NULL:
                                  operands are copied below */
    struct jg_choice choice;
    uint32_t operand_count;
    struct jg_operand operands[JIT_GEMM_MAX_OPERANDS];
    char epilogue_name[JIT_GEMM_NAME_SIZE]; /* "" without one */
    int resident_clusters;                  /* clusters that fit on the device at once */
    unsigned int exact_grid;                /* CTAs of each launch; 0: the sizes of a launch
                                               say how many (grid.h) */
    uint32_t registers;                     /* per thread, at launch; 0 for PTX: unknown */
    uint32_t local_bytes;                   /* per thread; 0 for PTX: unknown */
    double load_ms;                         /* time in the driver */
    struct jg_first_kernel first;
    struct jg_debug_slot *debug_slots; /* pinned; NULL unless debug=1 (instruments.h) */
    char arch[16];
    char key[33];
    char entry[JIT_GEMM_NAME_SIZE];
    char config[JIT_GEMM_CONFIG_SIZE];
};

static inline int jg_kernel_cluster_ctas(const struct jg_kernel *kernel)
{
    const int ctas = jg_cluster_ctas(&kernel->choice.config);
    return ctas > 1 ? ctas : 1;
}

/* Tiles of clusters that a product of M x N takes, fewer than 2^62 in a batch. */
static inline struct jg_cluster_tiles
jg_kernel_cluster_tiles(const struct jg_kernel *kernel, uint32_t m, uint32_t n,
                        uint32_t batch)
{
    return jg_cluster_tiles_of(&kernel->choice.config, &kernel->choice.product, m, n,
                               batch);
}

/* What a load is made from; everything is borrowed for the call. */
struct jg_module_request {
    const struct jg_problem *problem; /* NULL: it is no kernel of a product, and has no
                                         config; only `derived` of the choice is read */
    const struct jg_choice *choice;
    const struct jg_binary *binary;
    const struct jg_arch *arch;
    const char *entry;
    struct jg_log *log;   /* may be NULL */
    bool *ret_none_fits;  /* set if not one cluster fits on the device, else untouched */
    bool *ret_is_refused; /* set if the driver refuses the code itself, else untouched */
};

/*
 * Loads code and compares it with the plan: shared memory must be granted and one
 * cluster must fit; registers and spills beyond the plan are logged. Works under a relaxed
 * stream capture mode, so that captures of other threads are not disturbed.
 * LOAD, DEVICE, NO_MEMORY.
 */
jit_gemm_status jg_module_load(struct jg_device *device,
                               const struct jg_module_request *request,
                               struct jg_kernel **ret_kernel);

struct jg_kernel *jg_kernel_retain(struct jg_kernel *kernel);
/* The last holder unloads the code. Accepts NULL. */
void jg_kernel_release(struct jg_kernel *kernel);

/* CAPTURE if the driver says that a stream capture is under way which a load would disturb:
 * on the default stream, or one that the default stream waits for. */
jit_gemm_status jg_module_refuse_capture(const struct jg_device *device);

#endif
