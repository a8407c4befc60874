// SPDX-License-Identifier: MIT
// DrawnNumbers: the words of random numbers (random.cuh) of all elements of a tile that a
// thread writes, drawn before accumulators are there and kept in registers.
//
// Where a CTA has one tile, the tensor core waits for its first stage for as long as the
// words of a small tile take. The plan says where (Config::kDrawsAhead): words depend on
// places and on one seed, an operand. Called by the threads that write the tile: draw
// before they wait for products, take before each vector. Waits for nobody.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/epilogue/random.cuh>

namespace jg {

template <class Epilogue, u32 kVectors>
class DrawnNumbers {
  public:
    enum : bool { kDraws = true };

    // `coord_of(i)`: the place of this thread's vector number `i`.
    template <class Params, class ShapeT, class CoordOf>
    JG_DEVICE void draw(const Params &params, const ShapeT &shape, u32 batch,
                        const CoordOf &coord_of)
    {
        const f32 seed = Epilogue::Vector::read_seed(params.operands, batch);
#pragma unroll
        for (u32 i = 0; i < kVectors; ++i) {
            const auto coord = coord_of(i);
#pragma unroll
            for (u32 element = 0; element < 8; ++element) {
                const u32 col = vector_column(coord, element);
                words_[i][element] = draw_word(shape.problem_row(coord.row, col),
                                               shape.problem_col(coord.row, col),
                                               static_cast<int>(coord.batch), seed);
            }
        }
    }

    // `operands`: gets the words of vector number `i`.
    JG_DEVICE void take(u32 i, typename Epilogue::Vector &operands) const
    {
#pragma unroll
        for (u32 element = 0; element < 8; ++element) {
            operands.drawn[element] = words_[i][element];
        }
    }

  private:
    u32 words_[kVectors][8];
};

} // namespace jg
