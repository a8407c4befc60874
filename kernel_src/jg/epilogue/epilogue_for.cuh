// SPDX-License-Identifier: MIT
// EpilogueFor: which of the two ways out a kernel takes.
#pragma once
#include <jg/epilogue/fragment_epilogue.cuh>
#include <jg/epilogue/vector_epilogue.cuh>

namespace jg {

// Fragments for scalars alone, scales too, where the rows of D are known to end on 16
// bytes, which a TMA store would fill up, D has 16 or 32 bits and an alignment that TMA
// takes, and slabs fill the tile; vectors for all others.
template <class Config, class Epilogue, class Partition>
struct EpilogueFor {
    static constexpr bool kRaggedRows =
        !Config::kN || Config::kN * sizeof(typename Config::D) % 16 != 0;
    // Of 8-bit elements a slab of 128 bytes is wider than some tiles.
    static constexpr bool kNarrow = sizeof(typename Config::D) == 1;
    static constexpr bool kFragments =
        Epilogue::kScalarsOnly && Scales<Config>::kScalarsOnly && !Config::kHasC &&
        !kRaggedRows && !kNarrow && Config::kOutputAlignment == 16 &&
        Partition::kWholeStoreTiles;

    using Type = typename Select<kFragments, FragmentEpilogue<Config, Epilogue, Partition>,
                                 VectorEpilogue<Config, Epilogue, Partition>>::Type;
};

} // namespace jg
