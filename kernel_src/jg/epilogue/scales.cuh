// SPDX-License-Identifier: MIT
// Scales: factors of accumulators, one for all or one for each row of A and each column of
// B. Used by both epilogues and the reference, beside the operands.
//
// Config::AScale and Config::BScale are operands of the epilogue, or NoScale: they are read
// as those are, in the same three forms (operands.cuh). An accumulator's factor is alpha *
// (a * b), each product rounded to f32. Where D is gated, Config::BGateScale has the scales
// of acc1's columns, and BScale those of acc0's.
#pragma once
#include <jg/epilogue/operands.cuh>

namespace jg {

// A scale of 1, which nobody reads.
struct NoScale : InputForms {
    struct Vector {
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &, const CoordT &)
        {
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &, const CoordT &, Reader &)
        {
        }
        JG_DEVICE f32 value(u32) const
        {
            return 1.0f;
        }
    };
    template <class CoordT>
    struct Fragment {
        JG_DEVICE void load(const MatrixParam &, const CoordT &) {}
        JG_DEVICE f32 value(const FragmentIndex &) const
        {
            return 1.0f;
        }
    };
    struct Element {
        JG_DEVICE void load(const MatrixParam &, u32, u32, u32) {}
        JG_DEVICE f32 value() const
        {
            return 1.0f;
        }
    };
};

template <class Config>
struct Scales {
    using A = typename Config::AScale;
    using B = typename Config::BScale;
    using BGate = typename Config::BGateScale;

    template <class Params>
    static JG_DEVICE void prefetch(const Params &params, const TeamPart &part)
    {
        A::prefetch(params.a_scale, part);
        B::prefetch(params.b_scale, part);
        BGate::prefetch(params.b_scale, part);
    }

    struct Vector {
        typename A::Vector a;
        typename B::Vector b;
        typename BGate::Vector b_gate;

        template <class Params, class CoordT>
        JG_DEVICE void load_columns(const Params &params, const CoordT &coord)
        {
            a.load_columns(params.a_scale, coord);
            b.load_columns(params.b_scale, coord);
            b_gate.load_columns(params.b_scale, coord);
        }
        template <class Params, class CoordT, class Reader>
        JG_DEVICE void load_row(const Params &params, const CoordT &coord, Reader &reader)
        {
            a.load_row(params.a_scale, coord, reader);
            b.load_row(params.b_scale, coord, reader);
            b_gate.load_row(params.b_scale, coord, reader);
        }
        JG_DEVICE f32 factor(f32 alpha, u32 i) const
        {
            return alpha * (a.value(i) * b.value(i));
        }
        JG_DEVICE f32 gated_factor(f32 alpha, u32 i) const
        {
            return alpha * (a.value(i) * b_gate.value(i));
        }
    };

    template <class CoordT>
    struct Fragment {
        typename A::template Fragment<CoordT> a;
        typename B::template Fragment<CoordT> b;
        typename BGate::template Fragment<CoordT> b_gate;

        template <class Params>
        JG_DEVICE void load(const Params &params, const CoordT &coord)
        {
            a.load(params.a_scale, coord);
            b.load(params.b_scale, coord);
            b_gate.load(params.b_scale, coord);
        }
        JG_DEVICE f32 factor(f32 alpha, const FragmentIndex &at) const
        {
            return alpha * (a.value(at) * b.value(at));
        }
        JG_DEVICE f32 gated_factor(f32 alpha, const FragmentIndex &at) const
        {
            return alpha * (a.value(at) * b_gate.value(at));
        }
    };

    struct Element {
        typename A::Element a;
        typename B::Element b;
        typename BGate::Element b_gate;

        template <class Params>
        JG_DEVICE void load(const Params &params, u32 row, u32 col, u32 batch)
        {
            a.load(params.a_scale, row, col, batch);
            b.load(params.b_scale, row, col, batch);
            b_gate.load(params.b_scale, row, col, batch);
        }
        // In f64, for the reference.
        JG_DEVICE double factor(double alpha) const
        {
            return alpha * (double(a.value()) * double(b.value()));
        }
        JG_DEVICE double gated_factor(double alpha) const
        {
            return alpha * (double(a.value()) * double(b_gate.value()));
        }
    };
};

// Has the vectors that a team's part of an item's tile needs come to the multiprocessor's
// own cache: from the team's threads, before the tile is computed.
template <class Kernel, class Item>
JG_DEVICE void prefetch_vectors(const Kernel &kernel, const Item &item, u32 team)
{
    using Config = typename Kernel::ConfigT;
    using Partition = typename Kernel::Partition;
    if constexpr (!Config::kPlain) {
        const auto shape = Kernel::Output::shape(kernel.shape, item);
        const auto tile = Kernel::Output::tile(item);
        const TeamPart part{tile.row + Partition::first_row(team),
                            tile.col + Partition::first_col(team),
                            Partition::kRows,
                            Partition::kCols,
                            shape.m,
                            shape.n,
                            tile.batch,
                            Partition::team_warp() * 32 + threadIdx.x % 32,
                            Partition::kTeamThreads};
        Kernel::Snippet::prefetch(kernel.params.operands, part);
        Scales<Config>::prefetch(kernel.params, part);
    }
}

} // namespace jg
