// SPDX-License-Identifier: MIT
// The one parameter of every kernel. The host fills the same struct
// (lib/plan/kernel_params.h); the source unit carries the host's size and the kernel
// asserts it.
#pragma once
#include <jg/common/types.cuh>

namespace jg {

// A matrix, a vector or a scalar of a launch. Of a reduction, ld is the byte of the
// workspace at which its partial results begin, and batch_step its first counter there.
struct MatrixParam {
    u64 pointer;      // device address; 0: a scalar by value, or absent
    i64 ld;           // elements
    i64 batch_stride; // elements; 0 broadcasts
    f32 value;        // of a scalar, used if pointer is 0
    u32 batch_step;   // of its tensor map: 1, or 0 if it is broadcast over batches

    // Address of batch `batch`.
    template <class T>
    JG_DEVICE T *base(u32 batch) const
    {
        return reinterpret_cast<T *>(pointer) +
               storage_step<T>(batch_stride * static_cast<i64>(batch));
    }
    // Of the element that lies there in memory.
    template <class T>
    JG_DEVICE T *element(u32 row, u32 col, u32 batch) const
    {
        return base<T>(batch) + storage_step<T>(ld * static_cast<i64>(row)) +
               storage_step<T>(col);
    }
};

// alpha or beta.
struct ScalarParam {
    u64 pointer; // device address of a float, or 0
    f32 value;   // used if pointer is 0
    u32 reserved;

    JG_DEVICE f32 load() const
    {
        return pointer ? *reinterpret_cast<const f32 *>(pointer) : value;
    }
};

// Which of GemmParams::maps.
enum MapIndex : u32 { kMapA, kMapB, kMapC, kMapD, kMapAScale, kMapBScale, kMapCount };

struct GemmParams {
    TensorMap maps[kMapCount];
    MatrixParam a, b, c, d, a_scale, b_scale, d_scale;
    ScalarParam alpha, beta;
    u32 m, n, k, batch; // sizes of this launch
    u64 workspace;      // device address; of kernels that split K or reduce (epilogue/)
    u64 group_sizes;    // device address of a number per group, or per row; of kernels that
                        // have groups. kNumbersInParams: they are parameters
    MatrixParam d_rows, a_rows;   // int32, where an index names D's rows, A's
    u32 d_row_count, a_row_count; // then of how many
    u64 group_ns, group_ks;       // as group_sizes, of N and of K; 0: all have n, k
    u64 reserved;
};
static_assert(sizeof(GemmParams) == 1152, "as the host has it");

template <u32 kOperandCount>
struct OperandParams : GemmParams {
    MatrixParam operands[kOperandCount];
    TensorMap operand_maps[kOperandCount]; // of matrix inputs
};
template <>
struct OperandParams<0> : GemmParams {
    static constexpr const MatrixParam *operands = nullptr;
    static constexpr const TensorMap *operand_maps = nullptr;
};

// Boxes with which a block of K ends where a group does: maps of A, of Config::kTailRows
// rows of K and of one, then those of B (tile/tile_loader.cuh).
enum : u32 { kTailBoxes = 2 };

template <u32 kOperandCount, u32 kTailMaps>
struct TailParams : OperandParams<kOperandCount> {
    static_assert(kTailMaps == 2 * kTailBoxes, "of A and of B");
    TensorMap tail_maps[kTailMaps];
};
template <u32 kOperandCount>
struct TailParams<kOperandCount, 0> : OperandParams<kOperandCount> {
    static constexpr const TensorMap *tail_maps = nullptr;
};

// The numbers of groups, where a launch by a host that knows them has them.
enum : u64 { kNumbersInParams = 1 };

template <u32 kOperandCount, u32 kTailMaps, u32 kNumbers = 0>
struct KernelParams : TailParams<kOperandCount, kTailMaps> {
    i32 numbers[kNumbers];

    JG_DEVICE u64 numbers_of_groups() const
    {
        return this->group_sizes == kNumbersInParams ? reinterpret_cast<u64>(numbers)
                                                     : this->group_sizes;
    }
};
template <u32 kOperandCount, u32 kTailMaps>
struct KernelParams<kOperandCount, kTailMaps, 0> : TailParams<kOperandCount, kTailMaps> {
    JG_DEVICE u64 numbers_of_groups() const
    {
        return this->group_sizes;
    }
};

// Sizes of this launch: compiled in where Config has them, arguments where it says 0. With
// a column-major D the epilogue's rows and columns, those of memory, are the problem's
// columns and rows.
template <class Config, class Params>
struct Shape {
    enum : bool { kColumnMajor = Config::kColumnMajor };
    u32 m, n, k, batch;
    u64 group_sizes, group_ns, group_ks;

    // What the snippet sees, of an epilogue's shape.
    JG_DEVICE int problem_m() const
    {
        return static_cast<int>(kColumnMajor ? n : m);
    }
    JG_DEVICE int problem_n() const
    {
        return static_cast<int>(kColumnMajor ? m : n);
    }
    // Of scales in 128x4.
    static JG_DEVICE u32 scale_row(u32 row)
    {
        return row;
    }
    static JG_DEVICE int problem_row(u32 row, u32 col)
    {
        return static_cast<int>(kColumnMajor ? col : row);
    }
    static JG_DEVICE int problem_col(u32 row, u32 col)
    {
        return static_cast<int>(kColumnMajor ? row : col);
    }

    JG_DEVICE explicit Shape(const Params &params)
        : m(Config::kM ? Config::kM : params.m), n(Config::kN ? Config::kN : params.n),
          k(Config::kK ? Config::kK : params.k),
          batch(Config::kBatch ? Config::kBatch : params.batch),
          group_sizes(params.numbers_of_groups()), group_ns(params.group_ns),
          group_ks(params.group_ks)
    {
    }
};

} // namespace jg
