// SPDX-License-Identifier: MIT
// Reductions: operands that the snippet assigns for each element and that hold, when the
// kernel has ended, one value of each row, of each column, of each block of a row, or of
// all of D in memory, of each batch: the sum of what was assigned, or the greatest or least
// of it.
//
// A kind has the forms of operands.cuh but Fragment: epilogues that reduce are vectors. An
// element that the snippet does not assign adds nothing, nor does one beyond D. The order
// of folding is fixed: within a thread, over the lanes of a warp, the steps of a tile, the
// warps of a team, and the tiles. Called and synchronised as ReducingTeam says.
//
// The reference kernel does not reduce: there the operand is a matrix of f32, which gets
// what the snippet assigned for each element.
#pragma once
#include <jg/epilogue/reducing_team.cuh>
#include <jg/epilogue/team_part.cuh>
#include <jg/ptx/address.cuh>
#include <jg/ptx/arithmetic.cuh>

namespace jg {

struct SumOp {
    static JG_DEVICE f32 nothing()
    {
        return 0.0f;
    }
    static JG_DEVICE f32 fold(f32 x, f32 y)
    {
        return x + y;
    }
};

// NaN if one of them is NaN, as in the prelude.
struct MaxOp {
    static JG_DEVICE f32 nothing()
    {
        return __uint_as_float(0xff800000u); // -infinity
    }
    static JG_DEVICE f32 fold(f32 x, f32 y)
    {
        return ptx::max_nan(x, y);
    }
};

struct MinOp {
    static JG_DEVICE f32 nothing()
    {
        return __uint_as_float(0x7f800000u);
    }
    static JG_DEVICE f32 fold(f32 x, f32 y)
    {
        return ptx::min_nan(x, y);
    }
};

// What all reductions share.
template <class Op>
struct ReductionForms {
    using Argument = f32 &;
    enum : u32 { kParams = 1 };
    enum : bool {
        kHasFragment = false,
        kReduces = true,
    };
    enum : u32 { kLoads = 0, kOutputs = 0 };
    template <class StepLoader>
    static JG_DEVICE void load_step(const TensorMap &, const MatrixParam &, StepLoader &)
    {
    }
    static JG_DEVICE void clear_group(const MatrixParam &, u32, u32, u32, u32) {}
    static JG_DEVICE void prefetch(const MatrixParam &, const TeamPart &) {}

    struct VectorBase {
        f32 values[8]; // of the row that was computed last
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &, const CoordT &)
        {
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &, const CoordT &, Reader &)
        {
        }
        JG_DEVICE f32 &value(u32 i)
        {
            values[i] = Op::nothing();
            return values[i];
        }
        template <class CoordT>
        JG_DEVICE void store(const MatrixParam &, const CoordT &)
        {
        }
        // Of those that exist.
        template <class CoordT>
        JG_DEVICE f32 existing(const CoordT &coord, u32 i) const
        {
            return i < coord.count ? values[i] : Op::nothing();
        }
        template <class CoordT>
        JG_DEVICE f32 fold_row(const CoordT &coord) const
        {
            f32 x[8];
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                x[i] = existing(coord, i);
            }
            return Op::fold(Op::fold(Op::fold(x[0], x[1]), Op::fold(x[2], x[3])),
                            Op::fold(Op::fold(x[4], x[5]), Op::fold(x[6], x[7])));
        }
    };

    struct Element {
        f32 element;
        JG_DEVICE void load(const MatrixParam &, u32, u32, u32) {}
        JG_DEVICE f32 &value()
        {
            element = Op::nothing();
            return element;
        }
        JG_DEVICE void store(const MatrixParam &param, u32 row, u32 col, u32 batch)
        {
            *param.element<f32>(row, col, batch) = element;
        }
    };
};

// A value of each row: M of them. A lane keeps those of some rows. Where lanes of the
// accumulator are columns, the warps of a team have parts of a row.
template <class Op, class T>
struct ReducedColumnVector : ReductionForms<Op> {
    struct Vector : ReductionForms<Op>::VectorBase {
        f32 kept[2] = {Op::nothing(), Op::nothing()};

        template <class CoordT, class TeamT>
        JG_DEVICE void finish_row(const MatrixParam &, const CoordT &coord,
                                  const TeamT &team)
        {
            static_assert(TeamT::kLaneRows <= 2, "no room");
            const f32 x = fold_lanes<Op, 1, TeamT::kAcross>(this->fold_row(coord));
#pragma unroll
            for (u32 i = 0; i < TeamT::kLaneRows; ++i) {
                kept[i] = team.keeps_pass(i) ? Op::fold(kept[i], x) : kept[i];
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_step(const MatrixParam &param, const TeamT &team)
        {
            if (!team.is_last_across()) {
                return;
            }
#pragma unroll
            for (u32 i = 0; i < TeamT::kLaneRows; ++i) {
                const u32 row = TeamT::kept_row(i);
                if constexpr (TeamT::kTransposed) {
                    if (row < team.step_rows()) {
                        team.put(row, kept[i]);
                    }
                } else if (row < TeamT::kWarpRows) {
                    team.store_row(param, team.step_row() + TeamT::warp_row() + row,
                                   kept[i]);
                }
                kept[i] = Op::nothing();
            }
            if constexpr (TeamT::kTransposed) {
                const u32 row = TeamT::thread();
                team.sync();
                if (row < team.step_rows()) {
                    team.store_row(param, team.step_row() + row,
                                   team.template fold_warps<Op>(row));
                }
                team.sync();
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_tile(const MatrixParam &param, const TeamT &team)
        {
            team.template finish_rows<Op, T>(param);
        }
    };
};

// A value of each column: N of them. Where lanes of the accumulator are rows, the warps of
// a team have parts of a column; elsewhere a thread has the same columns in all steps.
template <class Op, class T>
struct ReducedRowVector : ReductionForms<Op> {
    static JG_DEVICE void clear_group(const MatrixParam &param, u32 group, u32 columns,
                                      u32 thread, u32 threads)
    {
#pragma unroll 1
        for (u32 i = thread; i < columns; i += threads) {
            param.base<T>(group)[i] = Convert<T>::from(Op::nothing());
        }
    }

    struct Vector : ReductionForms<Op>::VectorBase {
        f32 kept[8] = {Op::nothing(), Op::nothing(), Op::nothing(), Op::nothing(),
                       Op::nothing(), Op::nothing(), Op::nothing(), Op::nothing()};

        template <class CoordT, class TeamT>
        JG_DEVICE void finish_row(const MatrixParam &, const CoordT &coord, const TeamT &)
        {
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                kept[i] = Op::fold(kept[i], this->existing(coord, i));
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_step(const MatrixParam &param, const TeamT &team)
        {
            if (TeamT::kTransposed && !team.is_last_step()) {
                return;
            }
            const u32 first = TeamT::lane() * 8; // of a lane whose vector this is
#pragma unroll
            for (u32 i = 0; i < 8; ++i) {
                const f32 x = fold_lanes<Op, TeamT::kAcross, 32>(kept[i]);
                kept[i] = Op::nothing();
                if (TeamT::lane() < TeamT::kAcross) {
                    if constexpr (TeamT::kTransposed) {
                        team.store_column(
                            param, team.step_col() + TeamT::warp_col() + first + i, x);
                    } else {
                        team.put(first + i, x);
                    }
                }
            }
            if constexpr (!TeamT::kTransposed) {
                const u32 col = TeamT::thread();
                team.sync();
                if (col < team.step_cols()) {
                    team.store_column(param, team.step_col() + col,
                                      team.template fold_warps<Op>(col));
                }
                team.sync();
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_tile(const MatrixParam &param, const TeamT &team)
        {
            team.template finish_columns<Op, T>(param);
        }
    };
};

// One value.
template <class Op, class T>
struct ReducedScalar : ReductionForms<Op> {
    static JG_DEVICE void clear_group(const MatrixParam &param, u32 group, u32, u32 thread,
                                      u32)
    {
        if (thread == 0) {
            *param.base<T>(group) = Convert<T>::from(Op::nothing());
        }
    }

    struct Vector : ReductionForms<Op>::VectorBase {
        f32 kept = Op::nothing();

        template <class CoordT, class TeamT>
        JG_DEVICE void finish_row(const MatrixParam &, const CoordT &coord, const TeamT &)
        {
            kept = Op::fold(kept, this->fold_row(coord));
        }
        template <class TeamT>
        JG_DEVICE void finish_step(const MatrixParam &, const TeamT &)
        {
        }
        template <class TeamT>
        JG_DEVICE void finish_tile(const MatrixParam &param, const TeamT &team)
        {
            const f32 x = fold_lanes<Op, 1, 32>(kept);
            if (TeamT::lane() == 0) {
                team.store_tensor(param, x);
            }
            team.template finish_tensor<Op, T>(param);
        }
    };
};

// A value of each block of kBlock columns of a row, in M rows. A step has whole ones: some
// neighbouring lanes have one.
template <class Op, class T, u32 kBlock>
struct ReducedStepBlocks : ReductionForms<Op> {
    struct Vector : ReductionForms<Op>::VectorBase {
        template <class CoordT, class TeamT>
        JG_DEVICE void finish_row(const MatrixParam &param, const CoordT &coord,
                                  const TeamT &)
        {
            constexpr u32 kLanes = kBlock / 8;
            static_assert(TeamT::kAcross % kLanes == 0, "a step has whole blocks");
            const f32 x = fold_lanes<Op, 1, kLanes>(this->fold_row(coord));
            if (TeamT::lane() % kLanes == 0 && coord.count > 0) {
                *param.element<T>(coord.row, coord.col / kBlock, coord.batch) =
                    Convert<T>::from(x);
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_step(const MatrixParam &, const TeamT &)
        {
        }
        template <class TeamT>
        JG_DEVICE void finish_tile(const MatrixParam &, const TeamT &)
        {
        }
    };
};

// The same of blocks of several steps. Where two teams have half of each, the first one
// folds both halves.
template <class Op, class T, u32 kBlock>
struct ReducedSpreadBlocks : ReductionForms<Op> {
    struct Vector : ReducedColumnVector<Op, T>::Vector {
        template <class TeamT>
        JG_DEVICE void finish_step(const MatrixParam &param, const TeamT &team)
        {
            constexpr bool kShared = TeamT::kCols < kBlock;
            constexpr u32 kSteps = (kShared ? TeamT::kCols : kBlock) / TeamT::kStepCols;
            if (!team.is_last_of(kSteps)) {
                return;
            }
#pragma unroll
            for (u32 i = 0; i < TeamT::kLaneRows; ++i) {
                const u32 row = TeamT::kept_row(i);
                const bool exists = row < TeamT::kWarpRows;
                f32 value = this->kept[i];
                if constexpr (kShared) {
                    value = team.template fold_neighbour<Op>(row, exists, value);
                }
                if (exists) {
                    team.template store_block<kBlock, T>(
                        param, team.step_row() + TeamT::warp_row() + row, value);
                }
                this->kept[i] = Op::nothing();
            }
        }
        template <class TeamT>
        JG_DEVICE void finish_tile(const MatrixParam &, const TeamT &)
        {
        }
    };
};

// As the source unit names them: the kind, then what is done.
template <class T>
using ScalarSum = ReducedScalar<SumOp, T>;
template <class T>
using ScalarMax = ReducedScalar<MaxOp, T>;
template <class T>
using ScalarMin = ReducedScalar<MinOp, T>;
template <class T>
using RowVectorSum = ReducedRowVector<SumOp, T>;
template <class T>
using RowVectorMax = ReducedRowVector<MaxOp, T>;
template <class T>
using RowVectorMin = ReducedRowVector<MinOp, T>;
template <class T>
using ColumnVectorSum = ReducedColumnVector<SumOp, T>;
template <class T>
using ColumnVectorMax = ReducedColumnVector<MaxOp, T>;
template <class T>
using ColumnVectorMin = ReducedColumnVector<MinOp, T>;
template <class T>
using Block1x128Sum = ReducedSpreadBlocks<SumOp, T, 128>;
template <class T>
using Block1x128Max = ReducedSpreadBlocks<MaxOp, T, 128>;
template <class T>
using Block1x128Min = ReducedSpreadBlocks<MinOp, T, 128>;
template <class T>
using Block1x32Sum = ReducedStepBlocks<SumOp, T, 32>;
template <class T>
using Block1x32Max = ReducedStepBlocks<MaxOp, T, 32>;
template <class T>
using Block1x32Min = ReducedStepBlocks<MinOp, T, 32>;
template <class T>
using Block1x16Sum = ReducedStepBlocks<SumOp, T, 16>;
template <class T>
using Block1x16Max = ReducedStepBlocks<MaxOp, T, 16>;
template <class T>
using Block1x16Min = ReducedStepBlocks<MinOp, T, 16>;

} // namespace jg
