// SPDX-License-Identifier: MIT
// The struct around the user's snippet.
//
// The source unit defines JG_OPERANDS(JG_ROW) as a list of
// JG_ROW(index, name, Kind, type), and JG_GATED where the snippet takes two accumulators.
// Before this file it includes what the snippet needs beside scalars, vectors and matrices:
// reductions.cuh, gate_operands.cuh, prelude.cuh and random.cuh (lib/source/modules.c).
// Then it writes
//
//     JG_EPILOGUE_BEGIN
//     ... the snippet ...
//     JG_EPILOGUE_END
//
// Where the numbers of a tile are drawn before its accumulators are there
// (Config::kDrawsAhead), the unit defines JG_SEED(JG_ROW) as the row of the one scalar that
// all calls of `uniform` name, and Vector::drawn has the words of its elements.
//
// JG_EPILOGUE_BEGIN makes `struct Epilogue`: the operands of one vector, fragment or
// element as members, and the snippet as the body of a function whose parameters are the
// names in scope. `d` starts as the first accumulator. What is called when: operands.cuh.
#pragma once
#include <jg/epilogue/operands.cuh>

// clang-format off
#ifdef JG_GATED
#define JG_ACC_PARAMETERS                                      jg::f32 acc0, jg::f32 acc1
#define JG_ACC_VALUES                                          acc0, acc1
#define JG_ACC_FIRST                                           acc0
#else
#define JG_ACC_PARAMETERS                                      jg::f32 acc
#define JG_ACC_VALUES                                          acc
#define JG_ACC_FIRST                                           acc
#endif
#ifndef JG_PRELUDE
#define JG_PRELUDE
#endif
#ifdef JG_UNIFORM
#define JG_VECTOR_COLUMN(coord, i)                             jg::vector_column(coord, i)
#else
#define JG_VECTOR_COLUMN(coord, i)                             (coord.col + i)
#define JG_UNIFORM
#endif
#ifdef JG_SEED
#define JG_SEED_READ(index, name, Kind, type)                  jg::Kind<jg::type>::read(params[index], batch)
#define JG_DRAWN_MEMBERS                                       jg::u32 drawn[8]; static JG_DEVICE jg::f32 read_seed(const jg::MatrixParam *params, jg::u32 batch) { return JG_SEED(JG_SEED_READ); }
#define JG_DRAWN_PARAMETER                                     , const jg::u32 jg_drawn
#define JG_DRAWN_VECTOR                                        , drawn[i]
#define JG_DRAWN_FRAGMENT                                      , jg::draw_word(shape.problem_row(row, col), shape.problem_col(row, col), static_cast<int>(batch) JG_SEED(JG_OPERAND_FRAGMENT_VALUE))
#define JG_DRAWN_ELEMENT                                       , jg::draw_word(shape.problem_row(row, col), shape.problem_col(row, col), static_cast<int>(batch) JG_SEED(JG_OPERAND_ELEMENT_VALUE))
#else
#define JG_DRAWN_MEMBERS
#define JG_DRAWN_PARAMETER
#define JG_DRAWN_VECTOR
#define JG_DRAWN_FRAGMENT
#define JG_DRAWN_ELEMENT
#endif
#define JG_OPERAND_COUNT(index, name, Kind, type)              + jg::Kind<jg::type>::kParams
#define JG_OPERAND_HAS_FRAGMENT(index, name, Kind, type)       && jg::Kind<jg::type>::kHasFragment
#define JG_OPERAND_REDUCES(index, name, Kind, type)            || jg::Kind<jg::type>::kReduces
#define JG_OPERAND_LOADS(index, name, Kind, type)             + jg::Kind<jg::type>::kLoads
#define JG_OPERAND_LOAD_STEP(index, name, Kind, type)        jg::Kind<jg::type>::load_step(params.operand_maps[index], params.operands[index], loader);
#define JG_OPERAND_CLEAR_GROUP(index, name, Kind, type)      jg::Kind<jg::type>::clear_group(params[index], group, columns, thread, threads);
#define JG_OPERAND_PREFETCH(index, name, Kind, type)           jg::Kind<jg::type>::prefetch(params[index], part);
#define JG_OPERAND_PARAMETER(index, name, Kind, type)          , jg::Kind<jg::type>::Argument name
#define JG_OPERAND_VECTOR(index, name, Kind, type)             jg::Kind<jg::type>::Vector operand_##name;
#define JG_OPERAND_VECTOR_VALUE(index, name, Kind, type)       , operand_##name.value(i)
#define JG_OPERAND_FRAGMENT(index, name, Kind, type)           typename jg::FragmentOf<jg::Kind<jg::type>, CoordT>::Type operand_##name;
#define JG_OPERAND_FRAGMENT_VALUE(index, name, Kind, type)     , operand_##name.value(at)
#define JG_OPERAND_FRAGMENT_LOAD(index, name, Kind, type)      operand_##name.load(params[index], coord);
#define JG_OPERAND_FRAGMENT_READ(index, name, Kind, type)      operand_##name.read_boxes(reader);
#define JG_OPERAND_FRAGMENT_OUTPUT(index, name, Kind, type)    + jg::Kind<jg::type>::kOutputs
#define JG_OPERAND_FRAGMENT_PLACE(index, name, Kind, type)     + jg::Kind<jg::type>::kOutputs * index
#define JG_OPERAND_FRAGMENT_GIVE(index, name, Kind, type)      operand_##name.give(take);
#define JG_OPERAND_LOAD_COLUMNS(index, name, Kind, type)       operand_##name.load_columns(params[index], coord);
#define JG_OPERAND_LOAD_ROW(index, name, Kind, type)           operand_##name.load_row(params[index], coord, reader);
#define JG_OPERAND_STORE(index, name, Kind, type)              operand_##name.store(params[index], coord);
#define JG_OPERAND_FINISH_ROW(index, name, Kind, type)         operand_##name.finish_row(params[index], coord, team);
#define JG_OPERAND_FINISH_STEP(index, name, Kind, type)        operand_##name.finish_step(params[index], team);
#define JG_OPERAND_FINISH_TILE(index, name, Kind, type)        operand_##name.finish_tile(params[index], team);
#define JG_OPERAND_ELEMENT(index, name, Kind, type)            jg::Kind<jg::type>::Element operand_##name;
#define JG_OPERAND_ELEMENT_LOAD(index, name, Kind, type)       operand_##name.load(params[index], row, col, batch);
#define JG_OPERAND_ELEMENT_VALUE(index, name, Kind, type)      , operand_##name.value()
#define JG_OPERAND_ELEMENT_STORE(index, name, Kind, type)      operand_##name.store(params[index], row, col, batch);

#define JG_EPILOGUE_BEGIN                                                                  \
    struct Epilogue {                                                                      \
        enum : jg::u32 { kOperandCount = 0 JG_OPERANDS(JG_OPERAND_COUNT) };                \
        enum : jg::u32 { kLoads = 0 JG_OPERANDS(JG_OPERAND_LOADS) };                       \
        enum : bool { kHasFragments = true JG_OPERANDS(JG_OPERAND_HAS_FRAGMENT) };         \
        enum : bool { kReduces = false JG_OPERANDS(JG_OPERAND_REDUCES) };                  \
                                                                                           \
        template <class Params, class StepLoader>                                          \
        static JG_DEVICE void load_step(const Params &params, StepLoader &loader)        \
        {                                                                                  \
            JG_OPERANDS(JG_OPERAND_LOAD_STEP)                                            \
        }                                                                                  \
        static JG_DEVICE void clear_group(const jg::MatrixParam *params, jg::u32 group,    \
                                          jg::u32 columns, jg::u32 thread, jg::u32 threads)\
        {                                                                                  \
            JG_OPERANDS(JG_OPERAND_CLEAR_GROUP)                                            \
        }                                                                                  \
        static JG_DEVICE void prefetch(const jg::MatrixParam *params,                      \
                                       const jg::TeamPart &part)                           \
        {                                                                                  \
            JG_OPERANDS(JG_OPERAND_PREFETCH)                                               \
        }                                                                                  \
                                                                                           \
        struct Vector {                                                                    \
            JG_OPERANDS(JG_OPERAND_VECTOR)                                                 \
            JG_DRAWN_MEMBERS                                                               \
                                                                                           \
            template <class CoordT>                                                        \
            JG_DEVICE void load_columns(const jg::MatrixParam *params, const CoordT &coord)\
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_LOAD_COLUMNS)                                       \
            }                                                                              \
            template <class CoordT, class Reader>                                          \
            JG_DEVICE void load_row(const jg::MatrixParam *params, const CoordT &coord,    \
                                    Reader &reader)                                        \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_LOAD_ROW)                                           \
            }                                                                              \
            template <class ShapeT, class CoordT>                                          \
            JG_DEVICE jg::f32 apply(JG_ACC_PARAMETERS, const ShapeT &shape,                \
                                    const CoordT &coord, jg::u32 i)                        \
            {                                                                              \
                jg::f32 d = JG_ACC_FIRST;                                                  \
                snippet(JG_ACC_VALUES, d,                                                  \
                        shape.problem_row(coord.row, JG_VECTOR_COLUMN(coord, i)),          \
                        shape.problem_col(coord.row, JG_VECTOR_COLUMN(coord, i)),          \
                        static_cast<int>(coord.batch), shape.problem_m(), shape.problem_n(),\
                        static_cast<int>(shape.k) JG_OPERANDS(JG_OPERAND_VECTOR_VALUE) JG_DRAWN_VECTOR);   \
                return d;                                                                  \
            }                                                                              \
            template <class CoordT>                                                        \
            JG_DEVICE void store(const jg::MatrixParam *params, const CoordT &coord)       \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_STORE)                                              \
            }                                                                              \
            template <class CoordT, class TeamT>                                           \
            JG_DEVICE void finish_row(const jg::MatrixParam *params, const CoordT &coord,  \
                                      const TeamT &team)                                   \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FINISH_ROW)                                         \
            }                                                                              \
            template <class TeamT>                                                         \
            JG_DEVICE void finish_step(const jg::MatrixParam *params, const TeamT &team)   \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FINISH_STEP)                                        \
            }                                                                              \
            template <class TeamT>                                                         \
            JG_DEVICE void finish_tile(const jg::MatrixParam *params, const TeamT &team)   \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FINISH_TILE)                                        \
            }                                                                              \
        };                                                                                 \
                                                                                           \
        template <class CoordT>                                                            \
        struct Fragment {                                                                  \
            enum : jg::u32 { kOutputs = 0 JG_OPERANDS(JG_OPERAND_FRAGMENT_OUTPUT),         \
                             kOutput = 0 JG_OPERANDS(JG_OPERAND_FRAGMENT_PLACE) };         \
            JG_OPERANDS(JG_OPERAND_FRAGMENT)                                               \
                                                                                           \
            JG_DEVICE void load(const jg::MatrixParam *params, const CoordT &coord)        \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FRAGMENT_LOAD)                                      \
            }                                                                              \
            template <class Reader>                                                        \
            JG_DEVICE void read_boxes(Reader &reader)                                            \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FRAGMENT_READ)                                      \
            }                                                                              \
            template <class Take>                                                          \
            JG_DEVICE void give(const Take &take) const                                    \
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_FRAGMENT_GIVE)                                      \
            }                                                                              \
            template <class ShapeT>                                                        \
            JG_DEVICE jg::f32 apply(JG_ACC_PARAMETERS, const ShapeT &shape, jg::u32 row,   \
                                    jg::u32 col, jg::u32 batch,                            \
                                    const jg::FragmentIndex &at)                           \
            {                                                                              \
                jg::f32 d = JG_ACC_FIRST;                                                  \
                snippet(JG_ACC_VALUES, d,                                                  \
                        shape.problem_row(row, col), shape.problem_col(row, col),          \
                        static_cast<int>(batch), shape.problem_m(), shape.problem_n(),     \
                        static_cast<int>(shape.k) JG_OPERANDS(JG_OPERAND_FRAGMENT_VALUE) JG_DRAWN_FRAGMENT); \
                return d;                                                                  \
            }                                                                              \
        };                                                                                 \
                                                                                           \
        struct Element {                                                                   \
            JG_OPERANDS(JG_OPERAND_ELEMENT)                                                \
                                                                                           \
            template <class ShapeT>                                                        \
            JG_DEVICE jg::f32 run(const jg::MatrixParam *params, JG_ACC_PARAMETERS,        \
                                  const ShapeT &shape, jg::u32 row, jg::u32 col, jg::u32 batch)\
            {                                                                              \
                JG_OPERANDS(JG_OPERAND_ELEMENT_LOAD)                                       \
                jg::f32 d = JG_ACC_FIRST;                                                  \
                snippet(JG_ACC_VALUES, d,                                                  \
                        shape.problem_row(row, col), shape.problem_col(row, col),          \
                        static_cast<int>(batch), shape.problem_m(), shape.problem_n(),     \
                        static_cast<int>(shape.k) JG_OPERANDS(JG_OPERAND_ELEMENT_VALUE) JG_DRAWN_ELEMENT);  \
                JG_OPERANDS(JG_OPERAND_ELEMENT_STORE)                                      \
                return d;                                                                  \
            }                                                                              \
        };                                                                                 \
                                                                                           \
        static JG_DEVICE void snippet(JG_ACC_PARAMETERS, float &d,                         \
                                      const int row, const int col,                        \
                                      const int batch, const int M, const int N,           \
                                      const int K JG_OPERANDS(JG_OPERAND_PARAMETER) JG_DRAWN_PARAMETER)       \
        {                                                                                  \
            JG_PRELUDE                                                                     \
            JG_UNIFORM                                                                     \
            {

#define JG_EPILOGUE_END }}};
// clang-format on
