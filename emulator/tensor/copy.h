/* SPDX-License-Identifier: MIT */
/* tcgen05.cp and tcgen05.commit. */
#ifndef EMU_TENSOR_COPY_H
#define EMU_TENSOR_COPY_H

#include "tensor/engine.h"

/* What a shape of tcgen05.cp means: `rows` of `bytes`; row r goes to the lanes
 * r % block + (r / block) · block_lanes, and again `copies` - 1 times, copy_lanes apart. */
struct emu_copy_shape {
    const char *word, *multicast; /* multicast: NULL when the shape has none */
    unsigned rows, bytes;
    unsigned block, block_lanes;
    unsigned copies, copy_lanes;
};
#define EMU_COPY_SHAPES 6u
extern const struct emu_copy_shape emu_copy_shapes[EMU_COPY_SHAPES];

bool emu_decode_tcgen05_cp(struct emu_decoder *decoder);
bool emu_decode_tensor_commit(struct emu_decoder *decoder);
bool emu_decode_tensor_shift(struct emu_decoder *decoder);

#endif
