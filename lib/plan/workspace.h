/* SPDX-License-Identifier: MIT */
/* The begin of a workspace, which all kernels share. */
#ifndef JG_PLAN_WORKSPACE_H
#define JG_PLAN_WORKSPACE_H

/* A workspace begins with words that are zero between launches, whichever kernel uses it:
 * what one kernel leaves behind is then never taken for a lock by the next. First the locks
 * of the tiles, two each, where K is split; then the counters of reductions. */
enum {
    JG_WORKSPACE_TILES = 4096, /* most of one launch that splits K */
    JG_WORKSPACE_WORDS = 2 * JG_WORKSPACE_TILES,
    JG_WORKSPACE_SUMS_OFFSET = 4 * JG_WORKSPACE_WORDS, /* bytes */
    JG_WORKSPACE_ALIGNMENT = 128
};

#endif
