// SPDX-License-Identifier: MIT
// Rows of D, each the sum of kChosen others by an index, times a weight each: what experts
// say of a token. Sums are in f32, from C on, in the order of the index, so that they have
// the same bits each time. Each thread makes eight columns of a row by itself; nobody
// waits. Called by the unit of lib/source/combine_unit.c; the host has checked sizes and
// addresses.
#pragma once
#include <jg/common/math.cuh>
#include <jg/epilogue/thread_values.cuh>

namespace jg::combine {

// The kernel's parameter; the host fills the same struct (lib/plan/combine.h).
struct CombineParams {
    u64 rows, index, weights, c, d; // device addresses
    i64 rows_ld, c_ld, d_ld;        // elements
    u32 row_count, tokens, columns;
    u32 is_aligned; // addresses and rows to Config::kAlignment
};
static_assert(sizeof(CombineParams) == 80, "as the host has it");

enum : u32 { kColumns = 8 }; // of a thread

// One of the rows that make a row of D: which, if there is one, and its weight.
struct Part {
    u32 row;
    f32 weight;
    bool exists;
};

// Part `entry` of all. Without an index the rows lie in the order of the parts; the weight
// of a row that is none is not read.
JG_DEVICE Part find_part(const CombineParams &params, u64 entry)
{
    const u32 row =
        params.index != 0
            ? static_cast<u32>(ptx::load_global_bits<4>(params.index + 4 * entry))
            : static_cast<u32>(entry < params.row_count ? entry : ~0u);
    const bool exists = row < params.row_count;
    const bool has_weight = exists && params.weights != 0;
    const u32 bits = ptx::load_global_if<4>(params.weights + 4 * entry, has_weight);
    return Part{row, has_weight ? __uint_as_float(bits) : 1.0f, exists};
}

// Columns from `column` on of row `token` of D.
template <class Config, u32 kAlignment>
JG_DEVICE void combine_columns(const CombineParams &params, u32 token, u32 column)
{
    using Row = typename Config::Row;
    using D = typename Config::D;
    using Coord = VectorCoord<false, kAlignment>;
    // Rows that are asked for before one is added.
    constexpr u32 kAtOnce = Config::kChosen < 8 ? Config::kChosen : 8;
    const u32 count = min_u32(params.columns - column, kColumns);
    f32 sums[kColumns] = {};
    if (params.c != 0) {
        Packed8<D> c;
        c.template load<Coord>(reinterpret_cast<const D *>(params.c) +
                                   params.c_ld * i64(token) + column,
                               count);
#pragma unroll
        for (u32 i = 0; i < kColumns; ++i) {
            sums[i] = c.value(i);
        }
    }
#pragma unroll 1
    for (u32 first = 0; first < Config::kChosen; first += kAtOnce) {
        Part parts[kAtOnce];
        Packed8<Row> values[kAtOnce];
#pragma unroll
        for (u32 j = 0; j < kAtOnce; ++j) {
            parts[j] = Part{0, 0.0f, false};
            if (first + j < Config::kChosen) {
                parts[j] = find_part(params, u64(token) * Config::kChosen + first + j);
            }
        }
#pragma unroll
        for (u32 j = 0; j < kAtOnce; ++j) {
            values[j].clear();
            if (parts[j].exists) {
                values[j].template load<Coord>(reinterpret_cast<const Row *>(params.rows) +
                                                   params.rows_ld * i64(parts[j].row) +
                                                   column,
                                               count);
            }
        }
#pragma unroll
        for (u32 j = 0; j < kAtOnce; ++j) {
#pragma unroll
            for (u32 i = 0; i < kColumns; ++i) {
                const f32 sum = fmaf(parts[j].weight, values[j].value(i), sums[i]);
                sums[i] = parts[j].exists ? sum : sums[i];
            }
        }
    }
    Packed8<D> d;
    d.assign(sums);
    d.template store<Coord>(
        reinterpret_cast<D *>(params.d) + params.d_ld * i64(token) + column, count);
}

template <class Config, u32 kAlignment>
JG_DEVICE void combine_all(const CombineParams &params)
{
    const u32 chunks = ceil_div(params.columns, kColumns);
    const u64 total = u64(chunks) * params.tokens;
    for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
         i += u64(gridDim.x) * blockDim.x) {
        combine_columns<Config, kAlignment>(params, u32(i / chunks),
                                            u32(i % chunks) * kColumns);
    }
}

template <class Config>
JG_DEVICE void combine_kernel(const CombineParams &params)
{
    static_assert(Config::kParamsBytes == sizeof(CombineParams),
                  "host and device disagree on parameters");
    if (params.is_aligned) {
        combine_all<Config, Config::kAlignment>(params);
    } else {
        combine_all<Config, 1>(params);
    }
}

} // namespace jg::combine
