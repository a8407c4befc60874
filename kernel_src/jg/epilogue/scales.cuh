// SPDX-License-Identifier: MIT
// Scales: factors of the sums, one for all or one for each row of A and each column of B.
//
// Config::AScale and Config::BScale are operands of the epilogue, or NoScale: they are read
// as those are, in the same three forms (operands.cuh). The sum's factor is alpha * (a *
// b), each product rounded to f32.
#pragma once
#include <jg/epilogue/operands.cuh>

namespace jg {

// A scale of 1, which nobody reads.
struct NoScale : InputForms {
    static constexpr bool kScalar = true;

    struct Vector {
        template <class PlaceT>
        JG_DEVICE void load_columns(const OperandParam &, const PlaceT &)
        {
        }
        template <class PlaceT, class Reader>
        JG_DEVICE void load_row(const OperandParam &, const PlaceT &, Reader &)
        {
        }
        JG_DEVICE f32 value(u32) const
        {
            return 1.0f;
        }
    };
    struct Fragment {
        JG_DEVICE void load(const OperandParam &, u32) {}
        JG_DEVICE f32 value() const
        {
            return 1.0f;
        }
    };
    struct Element {
        JG_DEVICE void load(const OperandParam &, u32, u32, u32) {}
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
    static constexpr bool kScalarsOnly = A::kScalar && B::kScalar;

    // Where scales lie, as an operand's parameter says it.
    static JG_DEVICE OperandParam param(u64 pointer, i64 batch_stride)
    {
        OperandParam param;
        param.pointer = pointer;
        param.batch_stride = batch_stride;
        return param;
    }
    template <class Params>
    static JG_DEVICE OperandParam a_param(const Params &params)
    {
        return param(params.a_scale, params.a_scale_batch_stride);
    }
    template <class Params>
    static JG_DEVICE OperandParam b_param(const Params &params)
    {
        return param(params.b_scale, params.b_scale_batch_stride);
    }

    struct Vector {
        typename A::Vector a;
        typename B::Vector b;

        template <class Params, class PlaceT>
        JG_DEVICE void load_columns(const Params &params, const PlaceT &place)
        {
            a.load_columns(a_param(params), place);
            b.load_columns(b_param(params), place);
        }
        template <class Params, class PlaceT, class Reader>
        JG_DEVICE void load_row(const Params &params, const PlaceT &place, Reader &reader)
        {
            a.load_row(a_param(params), place, reader);
            b.load_row(b_param(params), place, reader);
        }
        JG_DEVICE f32 factor(f32 alpha, u32 i) const
        {
            return alpha * (a.value(i) * b.value(i));
        }
    };

    // Of scalars alone; the parameter keeps it unmade for others.
    template <bool kWanted>
    struct Fragment {
        typename Select<kWanted, A, NoScale>::Type::Fragment a;
        typename Select<kWanted, B, NoScale>::Type::Fragment b;

        template <class Params>
        JG_DEVICE void load(const Params &params, u32 batch)
        {
            a.load(a_param(params), batch);
            b.load(b_param(params), batch);
        }
        JG_DEVICE f32 factor(f32 alpha) const
        {
            return alpha * (a.value() * b.value());
        }
    };

    struct Element {
        typename A::Element a;
        typename B::Element b;

        template <class Params>
        JG_DEVICE void load(const Params &params, u32 row, u32 col, u32 batch)
        {
            a.load(a_param(params), row, col, batch);
            b.load(b_param(params), row, col, batch);
        }
        // In f64, for the reference.
        JG_DEVICE double factor(double alpha) const
        {
            return alpha * (double(a.value()) * double(b.value()));
        }
    };
};

} // namespace jg
