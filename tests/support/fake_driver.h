/* SPDX-License-Identifier: MIT */
/*
 * A driver library that launches nothing: it checks what it is given, counts calls and
 * remembers the last ones. Opened through options.driver like the real one; a test opens
 * the same file again and asks for its state with fake_driver_get.
 *
 * Built with FAKE_EMULATOR it looks like the emulator: it takes PTX, and shows a B200 and
 * an H200.
 */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <cuda.h>
#include <stdatomic.h>

#include "plan/kernel_params.h"

#define FAKE_ENCODES_KEPT 16

struct fake_encode {
    CUtensorMapDataType type;
    unsigned int rank;
    uint64_t address;
    uint64_t dims[5];
    uint64_t strides_bytes[4];
    unsigned int box[5];
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
};

struct fake_launch {
    unsigned int grid, block, smem_bytes, cluster; /* cluster is 0 without the attribute */
    int pdl;
    CUstream stream;
    struct jg_kernel_params params;
};

struct fake_driver {
    /* Set by tests. */
    int version, device_count, cc_major, cc_minor, sm_count; /* chip of device 0 ... */
    int other_cc_major, other_cc_minor, other_sm_count;      /* ... and of the others */
    int l2_bytes;                                            /* of each device */
    const char *module_format; /* what emuModuleFormat says, if it is there */
    unsigned warnings, errors; /* what emuCountFindings says, if it is there */
    int blocks_per_sm, resident_clusters, registers, local_bytes;
    int most_cluster_ctas;        /* of a cluster that fits; 0: any */
    int capture;                  /* what cuStreamIsCapturing reports */
    const char *failing_function; /* this function returns failing_result */
    CUresult failing_result;
    int failing_times; /* so often, and then no more; 0: always */
    int recording;     /* keep the last launch and encodes; one thread only */
    CUresult (*set_context)(CUcontext context);  /* cuCtxSetCurrent of this library */
    CUresult (*get_context)(CUcontext *context); /* cuCtxGetCurrent */
    int other_device; /* of contexts that are not the primary one of device 0 */
    /* Counted by the driver; `encodes` are maps, also those that another one was made to by
     * a new address, which are the `moves`. */
    CUcontext allocating; /* current at the last allocation */
    int launched_here;    /* Not 0: so was the primary one at the last launch. */
    atomic_long calls, launches, encodes, moves, loads, unloads, retains, releases,
        allocations;
    unsigned char variable[16]; /* every variable of every library */
    CUdevice last_retained;
    char last_code[64]; /* beginning of the PTX that was loaded last */
    struct fake_launch last_launch;
    struct fake_encode
        last_encodes[FAKE_ENCODES_KEPT]; /* number n is at n modulo the size */
};

/* Name of the exported function of this type, for dlsym. */
#define FAKE_DRIVER_GET "fake_driver_get"
typedef struct fake_driver *(*fake_driver_get_fn)(void);

#endif
