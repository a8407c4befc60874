/* SPDX-License-Identifier: MIT */
/* The list of features whose behaviour no known-good kernel has confirmed. */
#include "tensor/unvalidated.h"

#include "tensor/state.h"

static const char *const texts[EMU_FEATURE_COUNT] = {
    [EMU_FEATURE_LOAD_16] = "tcgen05.ld and .st of the shapes 16x64b, 16x128b and 16x32bx2",
    [EMU_FEATURE_PACK_16] = "tcgen05.ld .pack::16b and tcgen05.st .unpack::16b",
    [EMU_FEATURE_MN_NO_SWIZZLE] = "MN-major operands without swizzle",
    [EMU_FEATURE_PAIR_128_SCALES] = "scale factors of B for M = 128 over a CTA pair",
    [EMU_FEATURE_A_IN_TENSOR_MEMORY] = "A in tensor memory, of a CTA pair or of 8 bits",
    [EMU_FEATURE_NARROW_A_IN_TENSOR_MEMORY] =
        "A of 4 or 6 bits in tensor memory: the place of the bits in a byte",
    [EMU_FEATURE_NARROW_TYPES] = "elements of 6 bits in padded shared memory",
    [EMU_FEATURE_N_STEP] = "an N that is not a multiple of 16 for M = 128",
    [EMU_FEATURE_SCALE_INPUT] = "scale-input-d",
    [EMU_FEATURE_DISABLED_LANES] = "disable-output-lane",
    [EMU_FEATURE_COPY_SHAPE] = "tcgen05.cp of a shape other than 32x128b.warpx4",
    [EMU_FEATURE_COPY_DECOMPRESS] = "tcgen05.cp that decompresses",
    [EMU_FEATURE_COPY_AFTER_MMA] =
        "a tcgen05.cp behind an MMA whose scale factors it overwrites (practised)",
    [EMU_FEATURE_ODD_ISSUER] =
        "tcgen05.mma and .cp of a CTA pair that the CTA of odd rank issues",
};

void emu_features_advise(struct emu_warp *warp, const struct emu_insn *insn,
                         uint32_t features)
{
    struct emu_tensor_cluster *cluster = emu_tensor_cluster_of(warp);
    uint32_t fresh = features & ~cluster->advised;
    if (fresh == 0) {
        return;
    }
    cluster->advised |= fresh;
    struct emu_text text = {0};
    for (uint32_t rest = fresh; rest != 0; rest &= rest - 1) {
        emu_text_add(&text, "%s%s", text.length == 0 ? "" : "; ",
                     texts[emu_lowest_bit(rest)]);
    }
    emu_report(warp, insn, EMU_LANES, EMU_ADVICE, EMU_FINDING_UNSUPPORTED,
               "unvalidated (emulated as documented or practised, but not confirmed on "
               "hardware): %s",
               emu_text_get(&text));
    emu_text_free(&text);
}
