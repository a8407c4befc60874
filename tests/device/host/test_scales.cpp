// SPDX-License-Identifier: MIT
// Scales of blocks of A and B: each accumulator is multiplied by those of the row and the
// column that the epilogue gives it. All products are 1, so that what is left is the sum of
// the scales' products; scales are numbers that tell their blocks apart.
#include "scaled_sums.h"

// With the gap rows of scales are whole words of four, and a batch begins inside of one.
constexpr u32 K_BLOCKS = 9, BATCHES = 2, GAP = 3;

// Of the matrix that is the product's A or B.
class ScalesInMemory {
  public:
    // `rows`: of the matrix; `block`: of them, that have a scale.
    ScalesInMemory(u32 rows, u32 block, bool by_columns, u32 seed)
        : block_(block), seed_(seed), by_columns_(by_columns),
          rows_(block > 0 ? (rows + block - 1) / block : 0),
          ld_((by_columns ? rows_ : K_BLOCKS) + GAP),
          stride_(ld_ * (by_columns ? K_BLOCKS : rows_) + GAP)
    {
        values_.assign(BATCHES * stride_, NAN);
        for (u32 i = 0; i < BATCHES * rows_ * K_BLOCKS; ++i) {
            const u32 batch = i / K_BLOCKS / rows_, row = i / K_BLOCKS % rows_,
                      k = i % K_BLOCKS;
            values_[batch * stride_ + (by_columns_ ? k * ld_ + row : row * ld_ + k)] =
                number(batch, row, k);
        }
    }
    // Reads outside of what is allowed are errors.
    void allow() const
    {
        host::allow_global(values_.data(), values_.size() * sizeof(f32));
    }
    jg::MatrixParam param() const
    {
        jg::MatrixParam param{};
        param.pointer = reinterpret_cast<u64>(values_.data());
        param.ld = ld_;
        param.batch_stride = stride_;
        return param;
    }
    // Of a row of the matrix.
    f32 wanted(u32 batch, u32 row, u32 k_block) const
    {
        return block_ > 0 ? number(batch, row / block_, k_block) : 1.0f;
    }

  private:
    // Products of two of them are exact, and so are sums of a few.
    f32 number(u32 batch, u32 row, u32 k_block) const
    {
        const u32 bits =
            ((batch * 4099 + row) * K_BLOCKS + k_block + seed_) * 2654435761u >> 12;
        return static_cast<f32>(bits % 1009 + 1);
    }

    u32 block_, seed_;
    bool by_columns_;
    u32 rows_;
    u32 ld_, stride_;
    std::vector<f32> values_;
};

// The second tile of the second row of tiles, cut by the ends of M and N.
template <template <class Config> class SumsOf, class Config>
class ScalesCheck {
    using Sums = SumsOf<Config>;
    static constexpr bool kPairsInB = Config::kGated && !Config::kGateInA;

  public:
    ScalesCheck()
        : rows_(cut(Sums::kTileRows, Config::kGateInA, Config::kAScaleRows)),
          cols_(cut(Sums::kTileCols, kPairsInB, Config::kBScaleRows)),
          shape_{rows_ * (Config::kGateInA ? 2 : 1), cols_ * (kPairsInB ? 2 : 1),
                 128 * (K_BLOCKS - 1) + 32},
          a_(shape_.m, Config::kAScaleRows, Config::kAByColumns, 1),
          b_(shape_.n, Config::kBScaleRows, Config::kBByColumns, 77)
    {
        params_.a_scale = a_.param();
        params_.b_scale = b_.param();
    }

    void run() const
    {
        host::global_regions.clear();
        a_.allow();
        b_.allow();
        check(item(0, K_BLOCKS));
        check(item(1, K_BLOCKS - 1));
        check(item(K_BLOCKS - 1, 2)); // the second one beyond the end of K
        check(item(K_BLOCKS, 1));
    }

  private:
    // Halves that blocks of several columns may not share end with the tile.
    static u32 cut(u32 tile, bool has_pairs, u32 block)
    {
        const bool is_whole = has_pairs && Config::kGateHalves && block > 1;
        return is_whole ? (2 * tile + block - 1) / block * block : 2 * tile - 5;
    }

    WorkItem item(u32 k_block, u32 k_blocks) const
    {
        WorkItem item{};
        item.row = Config::kBlockM;
        item.col = Config::kBlockN;
        item.batch = 1;
        item.k_first = 128 * k_block;
        item.k_blocks = k_blocks;
        return item;
    }

    // Row of the matrix that has accumulator `acc` of row `row` of D.
    static u32 in_matrix(u32 row, u32 acc, u32 count, bool has_pairs)
    {
        return !has_pairs ? row : Config::kGateHalves ? acc * count + row : 2 * row + acc;
    }

    bool exists(const ScaledSum &sum) const
    {
        return Sums::kTileRows + sum.row < rows_ && Sums::kTileCols + sum.col < cols_;
    }

    // Of a row and a column that exist.
    f32 wanted(const WorkItem &item, const ScaledSum &sum) const
    {
        const u32 of_a =
            in_matrix(Sums::kTileRows + sum.row, sum.acc, rows_, Config::kGateInA);
        const u32 of_b = in_matrix(Sums::kTileCols + sum.col, sum.acc, cols_, kPairsInB);
        f32 result = 0.0f;
        for (u32 i = 0; i < item.k_blocks && item.k_first / 128 + i < K_BLOCKS; ++i) {
            const u32 k = item.k_first / 128 + i;
            result += a_.wanted(1, of_a, k) * b_.wanted(1, of_b, k);
        }
        return result;
    }

    void check(const WorkItem &item) const
    {
        std::vector<bool> seen(Sums::kTileRows * Sums::kTileCols * 2);
        u32 count = 0;
        for (const ScaledSum &sum : Sums::run(params_, shape_, item)) {
            const f32 right = exists(sum) ? wanted(item, sum) : sum.value;
            const u32 place = (sum.row * Sums::kTileCols + sum.col) * 2 + sum.acc;
            count += !seen.at(place);
            seen[place] = true;
            EXPECT(sum.value == right && std::isfinite(right),
                   "tile %ux%u: %g, not %g, at %u, %u of acc%u", Config::kBlockM,
                   Config::kBlockN, sum.value, right, sum.row, sum.col, sum.acc);
        }
        EXPECT(count == Config::kBlockM * Config::kBlockN, "%u accumulators of %u", count,
               Config::kBlockM * Config::kBlockN);
    }

    u32 rows_, cols_; // of D, or of its transpose
    LaunchShape shape_;
    ScalesInMemory a_, b_;
    LaunchParams params_{};
};

template <u32 kRows, u32 kCols, u32 kTeamCols, Pairs kPairs, bool kHalves, u32 kAMn,
          u32 kBMn, bool kByColumns>
void check_sm90a()
{
    ScalesCheck<ScaledSumsSm90a, ScaledConfig<kRows, kCols, 1, kTeamCols, kPairs, kHalves,
                                              kAMn, kBMn, kByColumns>>()
        .run();
}

// Rows with scales of their own, and blocks of 128 rows; columns by runs.
template <u32 kRows, u32 kCols, u32 kTeamCols, Pairs kPairs = Pairs::kNone,
          bool kHalves = false>
void check_runs_sm90a()
{
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 1, 128, false>();
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 128, 128, true>();
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 0, 128, true>();
}
// Columns with scales of their own.
template <u32 kRows, u32 kCols, u32 kTeamCols, Pairs kPairs = Pairs::kNone,
          bool kHalves = false>
void check_columns_sm90a()
{
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 1, 1, false>();
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 128, 1, true>();
    check_sm90a<kRows, kCols, kTeamCols, kPairs, kHalves, 1, 0, true>();
}

TEST(scales, accumulators_of_sm_90a_have_those_of_their_rows_and_columns)
{
    check_runs_sm90a<64, 128, 64>();
    check_runs_sm90a<64, 256, 128>();
    check_runs_sm90a<128, 128, 128>();
    check_runs_sm90a<128, 192, 192>();
    check_runs_sm90a<256, 128, 128>();
    check_columns_sm90a<64, 128, 64>();
    check_columns_sm90a<64, 256, 128>();
    check_columns_sm90a<128, 128, 128>();
}

// Of A by rows or columns, of B the other way.
template <u32 kRows, u32 kCols, u32 kAMn, u32 kBMn, bool kByColumns>
void check_shared_sm90a()
{
    ScalesCheck<ScaledSumsSm90a,
                SharedConfig<ScaledConfig<kRows, kCols, 1, kCols / 2, Pairs::kNone, false,
                                          kAMn, kBMn, kByColumns>>>()
        .run();
}

TEST(scales, several_warps_that_copy_fill_each_slot_once)
{
    check_shared_sm90a<64, 64, 1, 1, true>();
    check_shared_sm90a<64, 64, 1, 128, false>();
    check_shared_sm90a<64, 128, 1, 1, false>();
    check_shared_sm90a<64, 128, 128, 1, true>();
    check_shared_sm90a<64, 128, 0, 1, true>();
}

TEST(scales, accumulators_of_pairs_have_those_of_their_columns_on_sm_90a)
{
    check_runs_sm90a<64, 256, 128, Pairs::kInColumns, false>();
    check_runs_sm90a<128, 128, 128, Pairs::kInColumns, true>();
    check_runs_sm90a<128, 192, 192, Pairs::kInColumns, false>();
    check_runs_sm90a<128, 192, 192, Pairs::kInColumns, true>();
    check_runs_sm90a<256, 128, 128, Pairs::kInColumns, false>();
    check_columns_sm90a<64, 128, 64, Pairs::kInColumns, true>();
    check_columns_sm90a<128, 128, 128, Pairs::kInColumns, false>();
}

TEST(scales, accumulators_of_pairs_have_those_of_their_rows_on_sm_90a)
{
    check_runs_sm90a<256, 128, 128, Pairs::kInRows, false>();
    check_runs_sm90a<256, 128, 128, Pairs::kInRows, true>();
    check_runs_sm90a<128, 128, 64, Pairs::kInRows, true>();
    check_columns_sm90a<128, 128, 64, Pairs::kInRows, false>();
}

template <u32 kRows, u32 kCols, u32 kGroup, Pairs kPairs, bool kHalves, u32 kAMn, u32 kBMn,
          bool kByColumns>
void check_sm100a()
{
    constexpr u32 kRowsOfMma = kPairs == Pairs::kInRows ? kRows / 2 : kRows;
    constexpr u32 kTeamCols = kRowsOfMma == 64 && kGroup == 2 ? kCols / 2 : kCols;
    ScalesCheck<ScaledSumsSm100a, ScaledConfig<kRows, kCols, kGroup, kTeamCols, kPairs,
                                               kHalves, kAMn, kBMn, kByColumns>>()
        .run();
}

template <u32 kRows, u32 kCols, u32 kGroup, Pairs kPairs = Pairs::kNone,
          bool kHalves = false>
void check_runs_sm100a()
{
    check_sm100a<kRows, kCols, kGroup, kPairs, kHalves, 1, 128, false>();
    check_sm100a<kRows, kCols, kGroup, kPairs, kHalves, 128, 128, true>();
}
template <u32 kRows, u32 kCols, u32 kGroup, Pairs kPairs = Pairs::kNone,
          bool kHalves = false>
void check_columns_sm100a()
{
    check_sm100a<kRows, kCols, kGroup, kPairs, kHalves, 1, 1, false>();
    check_sm100a<kRows, kCols, kGroup, kPairs, kHalves, 128, 1, true>();
}

TEST(scales, accumulators_of_128_lanes_have_those_of_their_rows_and_columns)
{
    check_runs_sm100a<128, 16, 1>();
    check_runs_sm100a<128, 48, 1>();
    check_runs_sm100a<128, 64, 1>();
    check_runs_sm100a<128, 80, 1>();
    check_runs_sm100a<128, 96, 1>();
    check_runs_sm100a<128, 112, 1>();
    check_runs_sm100a<128, 128, 2>();
    check_columns_sm100a<128, 16, 1>();
    check_columns_sm100a<128, 32, 2>();
    check_columns_sm100a<128, 48, 1>();
    check_columns_sm100a<128, 64, 1>();
}

TEST(scales, accumulators_of_64_lanes_have_those_of_their_rows_and_columns)
{
    check_runs_sm100a<64, 8, 1>();
    check_runs_sm100a<64, 24, 1>();
    check_runs_sm100a<64, 40, 1>();
    check_runs_sm100a<64, 64, 1>();
    check_runs_sm100a<64, 88, 1>();
    check_runs_sm100a<64, 128, 1>();
    check_columns_sm100a<64, 8, 1>();
    check_columns_sm100a<64, 56, 1>();
    check_columns_sm100a<64, 64, 1>();
}

TEST(scales, accumulators_of_split_lanes_have_those_of_their_rows_and_columns)
{
    check_runs_sm100a<64, 32, 2>();
    check_runs_sm100a<64, 96, 2>();
    check_runs_sm100a<64, 160, 2>();
    check_runs_sm100a<64, 192, 2>();
    check_runs_sm100a<64, 256, 2>();
    check_columns_sm100a<64, 32, 2>();
    check_columns_sm100a<64, 96, 2>();
    check_columns_sm100a<64, 128, 2>();
}

TEST(scales, accumulators_of_pairs_have_those_of_their_columns_on_sm_100a)
{
    check_runs_sm100a<128, 64, 1, Pairs::kInColumns, false>();
    check_runs_sm100a<128, 128, 2, Pairs::kInColumns, true>();
    check_runs_sm100a<128, 128, 1, Pairs::kNeighbours, false>();
    check_runs_sm100a<64, 128, 1, Pairs::kInColumns, true>();
    check_runs_sm100a<64, 256, 2, Pairs::kInColumns, false>();
    check_runs_sm100a<64, 128, 2, Pairs::kInColumns, true>();
    check_columns_sm100a<128, 64, 1, Pairs::kInColumns, true>();
    check_columns_sm100a<64, 64, 1, Pairs::kNeighbours, false>();
    check_columns_sm100a<64, 128, 2, Pairs::kInColumns, false>();
}

TEST(scales, accumulators_of_pairs_have_those_of_their_rows_on_sm_100a)
{
    check_runs_sm100a<256, 32, 1, Pairs::kInRows, false>();
    check_runs_sm100a<256, 64, 2, Pairs::kInRows, true>();
    check_runs_sm100a<128, 64, 1, Pairs::kInRows, true>();
    check_runs_sm100a<128, 128, 2, Pairs::kInRows, false>();
    check_columns_sm100a<256, 32, 1, Pairs::kInRows, true>();
    check_columns_sm100a<128, 32, 1, Pairs::kInRows, false>();
    check_columns_sm100a<128, 64, 2, Pairs::kInRows, true>();
}
