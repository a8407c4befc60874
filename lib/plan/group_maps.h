/* SPDX-License-Identifier: MIT */
/*
 * Tensor maps of A, B and D for each group, where only the device knows their addresses: a
 * kernel before that of the product writes them into the workspace
 * (kernel_src/jg/pack/group_maps_kernel.cuh), and TMA loads and stores by them. Whether
 * they are written, where they lie, and that kernel's parameter. Pure functions.
 */
#ifndef JG_PLAN_GROUP_MAPS_H
#define JG_PLAN_GROUP_MAPS_H

#include "plan/kernel_params.h"
#include "plan/trial.h"

/* The kernel, beside that of the product in one unit. */
#define JG_GROUP_MAPS_ENTRY "jit_gemm_group_maps"

enum {
    JG_GROUP_MAPS_THREADS = 256,
    JG_GROUP_MAPS_WARPS = 8, /* of a CTA, of which each writes a map at a time */
    JG_GROUP_MAP_STRIDES = 3 /* most of a map */
};

/* Does the kernel load by maps of each group? */
static inline bool jg_has_group_maps(const struct jg_config *config)
{
    return config->pipeline.group_maps == JG_GROUP_MAPS_WRITTEN;
}

/* Where the maps of the product's A and B lie, and of D, in bytes of the workspace. */
struct jg_group_maps_room {
    int64_t a, b, d;
    int64_t end; /* bytes of the workspace, maps and all */
};
/* ... behind `used` bytes of it; `used` is the end without any. */
struct jg_group_maps_room jg_group_maps_place(const struct jg_config *config,
                                              int64_t groups, int64_t used);

/* Bytes of a workspace that has nothing else. */
int64_t jg_group_maps_bytes(int64_t groups);

/* Is there no other way to A and B, whatever the workspace may have? */
bool jg_group_maps_are_needed(const struct jg_problem *problem);
/* False with a reason where maps are asked for and cannot be. */
bool jg_group_maps_check(struct jg_trial *trial);
/* Do the trial's maps, behind `used` bytes, fit what the problem allows? */
bool jg_group_maps_have_room(const struct jg_trial *trial, int64_t used);

/* Dimensions of a map of the product's A or B, and which of them have a group's M, N and
 * K; -1: none, or all groups have the same. */
struct jg_group_map_dims {
    int count, m, n, k;
};
struct jg_group_map_dims jg_group_map_dims(const struct jg_problem *problem,
                                           const struct jg_product *product,
                                           const struct jg_matrix *matrix);

/* As the device sees them (jg/pack/group_maps_kernel.cuh has the same structs; the source
 * unit carries the size and the device asserts it). */
struct jg_group_maps_matrix {
    unsigned char map[sizeof(struct jg_tensor_map)]; /* what groups' have in common */
    uint64_t
        pointers; /* device address of an address per group; 0: there is nothing to load, */
    uint64_t lds; /* and of a leading dimension, in elements; 0: all have `ld` */
    uint64_t to;  /* device address of the maps */
    int64_t ld;   /* elements */
    uint32_t element_bits;
    uint32_t stride_rows[JG_GROUP_MAP_STRIDES]; /* a stride is so many rows, */
    int64_t stride_bytes[JG_GROUP_MAP_STRIDES]; /* and so many bytes more */
};
struct jg_group_maps_params {
    struct jg_group_maps_matrix matrices[3];  /* the product's A and B, and D; without `to`
                                                 nothing is written */
    uint64_t group_sizes, group_ns, group_ks; /* device addresses; 0: all have `m`, `n`, `k`
                                               */
    uint32_t m, n, k, groups;                 /* the problem's sizes */
};
_Static_assert(sizeof(struct jg_group_maps_params) == 640,
               "as jg/pack/group_maps_kernel.cuh has it");

#endif
