// SPDX-License-Identifier: MIT
// Epilogue operands: how each kind is read or written.
//
// Every kind K<T> has up to three forms of what one thread holds:
//   Vector    8 neighbouring columns of one row. load_columns: what all rows share;
//             load_row: the rest, row by row. Loads are as wide as the coord allows.
//   Fragment  for a thread's elements of a store tile, in the accumulator's own layout.
//             load: what is in global memory; read_boxes: of a matrix, what is in shared
//             memory, for two groups of columns at a time
//   Element   one element, for the reference kernel
// and
//   Argument  what the snippet sees: f32, or f32 & for an output
//   kHasFragment   without it an epilogue goes out by vectors (lib/plan/output.c)
//   kParams   parameters of the launch that it counts for: 1, but for the second of two
//             that read the same one
//   prefetch(param, part)   of a vector: its part of a tile, before the tile is computed
//   kLoads    stages of the ring that a step's part takes, if matrices go through one; as
//             the plan counts them (lib/plan/output.c)
//
// VectorEpilogue makes a Vector once per tile and calls, beside loads and stores, with what
// a reduction needs of the team of warps (reducing_team.cuh),
//   finish_row(param, coord, team)   after each vector, by all lanes of the warp: those of
//                                    which nothing exists have a coord.count of 0
//   finish_step(param, team)         after the last vector of a step
//   finish_tile(param, team)         after the last step of a tile
// and, of a group without rows, of which there is no tile,
//   clear_group(param, group, columns, thread, threads)
//                                    writes what it comes to: thread `thread` its part
// Kinds that reduce (kReduces, reductions.cuh) use them; for all others they are empty.
// Vectors of pairs are in gate_operands.cuh.
#pragma once
#include <jg/common/kernel_params.cuh>
#include <jg/epilogue/fragment_values.cuh>
#include <jg/epilogue/team_part.cuh>
#include <jg/epilogue/thread_values.cuh>

namespace jg {

// What all but reductions share.
struct NothingToFinish {
    template <class CoordT, class TeamT>
    JG_DEVICE void finish_row(const MatrixParam &, const CoordT &, const TeamT &)
    {
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

// What inputs share: they store nothing.
struct InputForms {
    using Argument = f32;
    enum : u32 { kParams = 1 };
    enum : bool {
        kHasFragment = true,
        kReduces = false,
    };
    enum : u32 { kLoads = 0 };

    template <class StepLoader>
    static JG_DEVICE void load_step(const TensorMap &, const MatrixParam &, StepLoader &)
    {
    }
    static JG_DEVICE void clear_group(const MatrixParam &, u32, u32, u32, u32) {}
    static JG_DEVICE void prefetch(const MatrixParam &, const TeamPart &) {}

    struct NoVectorStore : NothingToFinish {
        template <class CoordT>
        JG_DEVICE void store(const MatrixParam &, const CoordT &)
        {
        }
    };
    enum : u32 { kOutputs = 0 }; // by fragments
    struct NoFragmentRead {
        template <class Take>
        JG_DEVICE void give(const Take &) const
        {
        }
        template <class Reader>
        JG_DEVICE void read_boxes(Reader &)
        {
        }
    };
    struct NoElementStore {
        JG_DEVICE void store(const MatrixParam &, u32, u32, u32) {}
    };
};

// One value.
template <class T>
struct ScalarInput : InputForms {
    static JG_DEVICE f32 read(const MatrixParam &param, u32 batch)
    {
        return param.pointer ? to_f32(*param.base<const T>(batch)) : param.value;
    }

    struct Vector : NoVectorStore {
        f32 scalar;
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &param, const CoordT &coord)
        {
            scalar = read(param, coord.batch);
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &, const CoordT &, Reader &)
        {
        }
        JG_DEVICE f32 value(u32) const
        {
            return scalar;
        }
    };

    template <class CoordT>
    struct Fragment : NoFragmentRead {
        f32 scalar;
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
            scalar = read(param, coord.batch);
        }
        JG_DEVICE f32 value(const FragmentIndex &) const
        {
            return scalar;
        }
    };

    struct Element : NoElementStore {
        f32 scalar;
        JG_DEVICE void load(const MatrixParam &param, u32, u32, u32 batch)
        {
            scalar = read(param, batch);
        }
        JG_DEVICE f32 value() const
        {
            return scalar;
        }
    };
};

// N values, indexed by column: read in pairs, unless less is promised.
template <class T>
struct RowVectorInput : InputForms {
    static JG_DEVICE void prefetch(const MatrixParam &param, const TeamPart &part)
    {
        part.of_columns(
            [&](u32 i) { ptx::prefetch_global(param.base<const T>(part.batch) + i); });
    }

    struct Vector : NoVectorStore {
        f32 values[8];
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &param, const CoordT &coord)
        {
            const T *base = param.base<const T>(coord.batch) + coord.col;
            if constexpr (CoordT::kAlignment < 2 * sizeof(T)) {
                Packed8<T> packed;
                packed.template load<CoordT>(base, coord.count);
#pragma unroll
                for (u32 i = 0; i < 8; ++i) {
                    values[i] = packed.value(i);
                }
            } else {
#pragma unroll
                for (u32 i = 0; i < 8; i += 2) {
                    const u32 left = coord.count > i ? coord.count - i : 0;
                    ptx::load_pair(values[i], values[i + 1], base + i, left < 2 ? left : 2);
                }
            }
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &, const CoordT &, Reader &)
        {
        }
        JG_DEVICE f32 value(u32 i) const
        {
            return values[i];
        }
    };

    template <class CoordT>
    struct Fragment : NoFragmentRead, FragmentVector<CoordT, CoordT::kTransposed, T> {
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
            this->template load_from<CoordT::kWholeCols>(param.base<const T>(coord.batch),
                                                         coord.col, coord.col_end);
        }
    };

    struct Element : NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32, u32 col, u32 batch)
        {
            element = to_f32(param.base<const T>(batch)[col]);
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};

// M values, indexed by row.
template <class T>
struct ColumnVectorInput : InputForms {
    static JG_DEVICE void prefetch(const MatrixParam &param, const TeamPart &part)
    {
        part.of_rows(
            [&](u32 i) { ptx::prefetch_global(param.base<const T>(part.batch) + i); });
    }

    struct Vector : NoVectorStore {
        f32 element;
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &, const CoordT &)
        {
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &param, const CoordT &coord, Reader &)
        {
            element =
                coord.count ? to_f32(param.base<const T>(coord.batch)[coord.row]) : 0.0f;
        }
        JG_DEVICE f32 value(u32) const
        {
            return element;
        }
    };

    template <class CoordT>
    struct Fragment : NoFragmentRead, FragmentVector<CoordT, !CoordT::kTransposed, T> {
        JG_DEVICE void load(const MatrixParam &param, const CoordT &coord)
        {
            this->template load_from<CoordT::kWholeRows>(param.base<const T>(coord.batch),
                                                         coord.row, coord.row_end);
        }
    };

    struct Element : NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32 row, u32, u32 batch)
        {
            element = to_f32(param.base<const T>(batch)[row]);
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};

// M x N values, in rows as aligned as the coord says. Those of 8 bits do not go through the
// ring: a step would fill half of a stage.
template <class T>
struct MatrixInput : InputForms {
    enum : bool { kHasFragment = sizeof(T) == 2 };
    enum : u32 { kLoads = sizeof(T) / 2 };
    // Has the load warp bring the step's part into the ring.
    template <class StepLoader>
    static JG_DEVICE void load_step(const TensorMap &map, const MatrixParam &param,
                                    StepLoader &loader)
    {
        loader.template load<T>(&map, param.batch_step);
    }

    struct Vector : NoVectorStore {
        Packed8<T> packed;
        template <class CoordT>
        JG_DEVICE void load_columns(const MatrixParam &, const CoordT &)
        {
        }
        template <class CoordT, class Reader>
        JG_DEVICE void load_row(const MatrixParam &param, const CoordT &coord,
                                Reader &reader)
        {
            if constexpr (Reader::kThroughRing && kLoads > 0) {
                reader.read(packed);
            } else {
                packed.template load<CoordT>(
                    param.element<const T>(coord.row, coord.col, coord.batch), coord.count);
            }
        }
        JG_DEVICE f32 value(u32 i) const
        {
            return packed.value(i);
        }
    };

    // Of two groups of columns at a time, from a box in shared memory.
    template <class CoordT>
    struct Fragment {
        u32 words[4];
        JG_DEVICE void load(const MatrixParam &, const CoordT &) {}
        template <class Reader>
        JG_DEVICE void read_boxes(Reader &reader)
        {
            reader.read_fragment(words);
        }
        JG_DEVICE f32 value(const FragmentIndex &at) const
        {
            const u32 pair = words[at.group % 2 * 2 + at.half];
            return at.element ? Convert<T>::high(pair) : Convert<T>::low(pair);
        }
    };

    struct Element : NoElementStore {
        f32 element;
        JG_DEVICE void load(const MatrixParam &param, u32 row, u32 col, u32 batch)
        {
            element = to_f32(*param.element<const T>(row, col, batch));
        }
        JG_DEVICE f32 value() const
        {
            return element;
        }
    };
};

// M x N values that the snippet assigns, in rows as aligned as the coord says.
template <class T>
struct MatrixOutput {
    using Argument = f32 &;
    enum : u32 { kParams = 1 };
    enum : bool {
        kHasFragment = sizeof(T) == 2,
        kReduces = false,
    };
    enum : u32 { kLoads = 0, kOutputs = 1 };
    template <class StepLoader>
    static JG_DEVICE void load_step(const TensorMap &, const MatrixParam &, StepLoader &)
    {
    }
    static JG_DEVICE void clear_group(const MatrixParam &, u32, u32, u32, u32) {}
    static JG_DEVICE void prefetch(const MatrixParam &, const TeamPart &) {}

    struct Vector : NothingToFinish {
        f32 values[8];
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
            return values[i];
        }
        template <class CoordT>
        JG_DEVICE void store(const MatrixParam &param, const CoordT &coord)
        {
            Packed8<T> packed;
            packed.assign(values);
            packed.template store<CoordT>(
                param.element<T>(coord.row, coord.col, coord.batch), coord.count);
        }
    };

    // What was assigned, of two groups of columns at a time.
    template <class CoordT>
    struct Fragment {
        f32 values[2][2][2];
        JG_DEVICE void load(const MatrixParam &, const CoordT &) {}
        template <class Reader>
        JG_DEVICE void read_boxes(Reader &)
        {
        }
        JG_DEVICE f32 &value(const FragmentIndex &at)
        {
            return values[at.group % 2][at.half][at.element];
        }
        template <class Take>
        JG_DEVICE void give(const Take &take) const
        {
            take(FragmentWords<T>{values});
        }
    };

    struct Element {
        f32 element;
        JG_DEVICE void load(const MatrixParam &, u32, u32, u32) {}
        JG_DEVICE f32 &value()
        {
            return element;
        }
        JG_DEVICE void store(const MatrixParam &param, u32 row, u32 col, u32 batch)
        {
            *param.element<T>(row, col, batch) = Convert<T>::from(element);
        }
    };
};

// What a kind has for fragments; looked up only where an epilogue has them.
template <class Kind, class CoordT>
struct FragmentOf {
    using Type = typename Kind::template Fragment<CoordT>;
};

} // namespace jg
