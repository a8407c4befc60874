// SPDX-License-Identifier: MIT
// Tmem: the tensor memory of a CTA, allocated once and freed at the end.
//
// Called by one whole warp (allocate, release; in a pair one in each CTA) and by all who
// address it (address). Before allocate: a cluster synchronisation, where CTAs are pairs,
// because the other CTA must run. Between allocate and address: a synchronisation of the
// CTA, of the cluster where CTAs are pairs. Before release: one that all readers and all
// multiplications precede.
#pragma once
#include <jg/ptx/tcgen05.cuh>

namespace jg::sm100a {

// What can be allocated: a power of two, at least 32.
constexpr JG_DEVICE u32 round_up_columns(u32 columns)
{
    u32 power = 32;
    while (power < columns) {
        power *= 2;
    }
    return power;
}

template <u32 kCtaGroup, u32 kColumns>
class Tmem {
    static constexpr u32 kAllocated = round_up_columns(kColumns);
    static_assert(kAllocated <= 512, "a multiprocessor has 512 columns");

  public:
    // `published`: a word of shared memory that takes the address.
    JG_DEVICE explicit Tmem(u32 *published) : published_(published) {}

    JG_DEVICE void allocate() const
    {
        ptx::tcgen05_allocate<kCtaGroup>(published_, kAllocated);
        ptx::tcgen05_relinquish<kCtaGroup>();
    }

    // Of lane 0 and the first column.
    JG_DEVICE u32 address() const
    {
        return *published_;
    }

    JG_DEVICE void release() const
    {
        ptx::tcgen05_free<kCtaGroup>(address(), kAllocated);
    }

  private:
    u32 *published_;
};

} // namespace jg::sm100a
