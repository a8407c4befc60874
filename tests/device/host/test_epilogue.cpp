// SPDX-License-Identifier: MIT
// From accumulators to D: every element passes through one lane, one buffer and one store.
#include <algorithm>
#include <numeric>
#include <vector>

#include "modules.h"

// Elements of a tile of D, each with a number of its own that 16 bits hold.
template <class Output>
class TileOfD {
  public:
    static constexpr u32 kRows = Output::kTileRows, kCols = Output::kTileCols;

    static f32 number(u32 row, u32 col)
    {
        return static_cast<f32>(row * kCols + col + 1);
    }

    // The element turns up with this value.
    void see(u32 row, u32 col, f32 value)
    {
        const bool is_inside = row < kRows && col < kCols;
        EXPECT(is_inside && value == number(row, col), "%g at %u, %u of %ux%u", value, row,
               col, kRows, kCols);
        if (is_inside) {
            seen_[row][col]++;
        }
    }

    // Those of the first `rows` by `cols` have turned up once, no others.
    void expect_once(const char *where, u32 rows = kRows, u32 cols = kCols) const
    {
        u32 wrong = 0;
        for (u32 i = 0; i < kRows * kCols; ++i) {
            const bool is_wanted = i / kCols < rows && i % kCols < cols;
            wrong += seen_[i / kCols][i % kCols] != (is_wanted ? 1 : 0);
        }
        EXPECT(wrong == 0, "%s: %u of %ux%u elements are not there once", where, wrong,
               kRows, kCols);
    }

  private:
    u8 seen_[kRows][kCols] = {};
};

constexpr u32 least(u32 x, u32 y)
{
    return x < y ? x : y;
}
// Of a transposed product; 64 rows: each warpgroup has half of the columns.
template <class T, template <class Output> class Check, u32 kRows, u32 kCols>
void check_columns_sm90a()
{
    constexpr u32 kColumns = kRows == 64 ? kCols / 2 : kCols;
    Check<OutputSm90a<
        OutputConfig<T, kRows, kCols, 1, true, least(128 / sizeof(T), kColumns)>>>::run();
}

// The tiles of both chips, of elements of D of type T. Rows and columns of the
// multiplication.
template <class T, template <class Output> class Check>
void check_rows_sm90a()
{
    Check<OutputSm90a<OutputConfig<T, 64, 128, 1, false, 64>>>::run();
    Check<OutputSm90a<OutputConfig<T, 64, 256, 1, false, 64>>>::run();
    Check<OutputSm90a<OutputConfig<T, 128, 64, 1, false, 64>>>::run();
    Check<OutputSm90a<OutputConfig<T, 128, 192, 1, false, 64>>>::run();
    Check<OutputSm90a<OutputConfig<T, 128, 256, 1, false, 64>>>::run();
    Check<OutputSm90a<OutputConfig<T, 256, 128, 1, false, 64>>>::run();
    Check<OutputSm90a<PingpongConfig<OutputConfig<T, 64, 256, 1, false, 64>>>>::run();
    Check<OutputSm90a<PingpongConfig<OutputConfig<T, 128, 128, 1, false, 64>>>>::run();
    Check<OutputSm90a<PingpongConfig<OutputConfig<T, 128, 192, 1, false, 64>>>>::run();
}
template <class T, template <class Output> class Check>
void check_outputs_sm90a()
{
    check_rows_sm90a<T, Check>();
    check_columns_sm90a<T, Check, 128, 16>();
    check_columns_sm90a<T, Check, 128, 32>();
    check_columns_sm90a<T, Check, 128, 64>();
    check_columns_sm90a<T, Check, 64, 32>();
    check_columns_sm90a<T, Check, 64, 64>();
}
// 128 columns of D of each warpgroup, of a transposed product, which fragments alone read.
template <class T, template <class Output> class Check>
void check_wide_columns_sm90a()
{
    check_columns_sm90a<T, Check, 256, 128>();
}
// Store tiles as wide as a swizzle may be, if that divides the tile (the plan's rule).
constexpr u32 width_of_store_tile(u32 columns, u32 element_bytes)
{
    const u32 bytes = columns * element_bytes & -(columns * element_bytes);
    return bytes > 128 ? 128 : bytes < 16 * element_bytes ? 128 : bytes;
}
template <class T, template <class Output> class Check, u32 kRows, u32 kCols, u32 kGroup>
void check_rows_sm100a()
{
    constexpr u32 kColumns = kRows == 64 && kGroup == 2 ? kCols / 2 : kCols;
    constexpr u32 kLanes = kRows == 64 && kGroup == 1 ? 16 : 32;
    Check<OutputSm100a<OutputConfig<T, kRows, kCols, kGroup, false, kLanes,
                                    width_of_store_tile(kColumns, sizeof(T))>>>::run();
}
template <class T, template <class Output> class Check, u32 kRows, u32 kCols, u32 kGroup>
void check_columns_sm100a()
{
    constexpr u32 kColumns = kRows == 64 && kGroup == 2 ? kCols / 2 : kCols;
    constexpr u32 kLanes = kRows == 64 && kGroup == 1 ? 16 : 32;
    constexpr u32 kStoreRows =
        least(128 / sizeof(T) / kLanes * kLanes, kColumns & -kColumns);
    Check < OutputSm100a<OutputConfig<T, kRows, kCols, kGroup, true,
                                      kStoreRows<16 ? 16 : kStoreRows>>>::run();
}
template <class T, template <class Output> class Check>
void check_outputs_sm100a()
{
    check_rows_sm100a<T, Check, 128, 256, 1>();
    check_rows_sm100a<T, Check, 128, 80, 1>();
    check_rows_sm100a<T, Check, 128, 32, 2>();
    check_rows_sm100a<T, Check, 64, 192, 1>();
    check_rows_sm100a<T, Check, 64, 24, 1>();
    check_rows_sm100a<T, Check, 64, 256, 2>();
    check_rows_sm100a<T, Check, 64, 32, 2>();
    check_columns_sm100a<T, Check, 128, 16, 1>();
    check_columns_sm100a<T, Check, 128, 48, 1>();
    check_columns_sm100a<T, Check, 128, 256, 2>();
    check_columns_sm100a<T, Check, 64, 64, 1>();
    check_columns_sm100a<T, Check, 64, 40, 1>();
    check_columns_sm100a<T, Check, 64, 32, 2>();
    check_columns_sm100a<T, Check, 64, 256, 2>();
}

// ------------------------------------------------------------------------ partition

// Each thread reads its accumulators, in two parts: each element of D is read once, by the
// lane that the partition names.
template <class Output>
struct PartitionCheck {
    using Part = typename Output::Part;
    using Tile = TileOfD<Output>;
    static constexpr u32 kFirst = Part::kColumns / 16 * 8, kRest = Part::kColumns - kFirst;

    template <u32 kCount>
    static void read(const typename Output::Accumulators &acc, u32 step, u32 column,
                     Tile &tile)
    {
        const u32 lane = threadIdx.x % 32, team = Output::team(threadIdx.x / 32);
        const u32 row = Part::first_row(team) + step * Part::kStepRows + Part::warp_row();
        const u32 col = Part::first_col(team) + Part::warp_col();
        f32 values[Part::kFragments][kCount];
        acc.reader.read(step, column, values);
        for (u32 i = 0; i < Part::kFragments * kCount; ++i) {
            const u32 along_lanes =
                i / kCount * 16 + hardware::fragment_row(lane, i % kCount);
            const u32 along_columns = column + hardware::fragment_col(lane, i % kCount);
            tile.see(row + (Part::kTransposed ? along_columns : along_lanes),
                     col + (Part::kTransposed ? along_lanes : along_columns),
                     values[i / kCount][i % kCount]);
        }
    }

    static void run()
    {
        auto tile = std::make_unique<Tile>();
        Output::set(Tile::number);
        for (u32 warp = 0; warp < Output::kWarps; ++warp) {
            host::run_warp(warp, [&] {
                const typename Output::Accumulators acc;
                for (u32 step = 0; step < Part::kLaneSteps; ++step) {
                    read<kFirst / 2>(acc, step, 0, *tile);
                    EXPECT(acc.is_given_back(false), "given back before it is read");
                    read<kRest / 2>(acc, step, kFirst, *tile);
                }
                EXPECT(acc.is_given_back(true), "not given back once");
            });
        }
        tile->expect_once("partition");
    }
};

TEST(partition, each_element_of_a_tile_belongs_to_one_lane_on_sm_90a)
{
    check_outputs_sm90a<f32, PartitionCheck>();
}
TEST(partition, each_element_of_a_tile_belongs_to_one_lane_on_sm_100a)
{
    check_outputs_sm100a<f32, PartitionCheck>();
}

// ------------------------------------------------------------------ staging buffers

// Step by step: a warp's accumulators into its buffer, then rows of vectors out of it.
template <class Output>
struct StagingCheck {
    using Part = typename Output::Part;
    using Tile = TileOfD<Output>;
    using Staging = StagingOf<typename Output::Partition>;
    static constexpr u32 kVectors = Staging::kCols / 8; // of a row
    static constexpr u32 kAcross = (Part::kCols + Part::kStepCols - 1) / Part::kStepCols;
    static constexpr u32 kDown = (Part::kRows + Part::kStepRows - 1) / Part::kStepRows;
    static constexpr u32 kBufferAt = 2048;

    static void store(u32 warp, u32 step)
    {
        host::clear_shared(0xff);
        host::run_warp(warp, [&] {
            const typename Output::Accumulators acc;
            acc.reader.copy_step(Staging(host::shared + kBufferAt), step);
        });
        u32 beyond = 0;
        for (u32 at = 0; at < 2 * kBufferAt + Staging::kBytes; ++at) {
            const bool is_inside = at >= kBufferAt && at < kBufferAt + Staging::kBytes;
            beyond += host::shared_writes[at] > (is_inside ? 1 : 0);
        }
        EXPECT(beyond == 0, "%u bytes beyond the buffer, or twice", beyond);
        EXPECT(host::count_bank_conflicts() == 0, "%u conflicts of stores, %ux%u",
               host::count_bank_conflicts(), Staging::kRows, Staging::kCols);
    }

    // A vector a lane, as many rows as they are; those beyond the tile are left out.
    static void load(u32 warp, u32 step, Tile &tile)
    {
        const u32 down = step / kAcross * Part::kStepRows;
        const u32 across = step % kAcross * Part::kStepCols;
        const u32 team = Output::team(warp);
        for (u32 pass = 0; pass * 32 < Staging::kRows * kVectors; ++pass) {
            host::run_warp(warp, [&] {
                const u32 index = pass * 32 + threadIdx.x % 32;
                const u32 vector = index % kVectors, stage_row = index / kVectors;
                const u32 row = down + Part::warp_row() + stage_row;
                const u32 col = across + Part::warp_col() + vector * 8;
                if (stage_row >= Staging::kRows || row >= Part::kRows ||
                    col >= Part::kCols) {
                    return;
                }
                f32 values[8];
                Staging(host::shared + kBufferAt).load(stage_row, vector, values);
                for (u32 i = 0; i < 8; ++i) {
                    tile.see(Part::first_row(team) + row, Part::first_col(team) + col + i,
                             values[i]);
                }
            });
            if (down + Part::kStepRows <= Part::kRows &&
                across + Part::kStepCols <= Part::kCols &&
                Staging::kRows * kVectors % 32 == 0) {
                EXPECT(host::count_bank_conflicts() == 0, "%u conflicts of loads, %ux%u",
                       host::count_bank_conflicts(), Staging::kRows, Staging::kCols);
            }
        }
    }

    static void run()
    {
        auto tile = std::make_unique<Tile>();
        Output::set(Tile::number);
        for (u32 warp = 0; warp < Output::kWarps; ++warp) {
            for (u32 step = 0; step < kDown * kAcross; ++step) {
                store(warp, step);
                load(warp, step, *tile);
            }
        }
        tile->expect_once("staging");
    }
};

// kat_vectors of Random123, the code of the paper's authors: philox4x32, 10 rounds.
TEST(random, philox_gives_the_published_words)
{
    static const struct {
        jg::PhiloxWords counter;
        u32 key0, key1;
        jg::PhiloxWords words;
    } rows[] = {
        {{0, 0, 0, 0}, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         0xffffffff,
         0xffffffff,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0xa4093822,
         0x299f31d0,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (const auto &row : rows) {
        const jg::PhiloxWords got = jg::philox4x32_10(row.counter, row.key0, row.key1);
        EXPECT(got.w0 == row.words.w0 && got.w1 == row.words.w1 && got.w2 == row.words.w2 &&
                   got.w3 == row.words.w3,
               "%08x %08x %08x %08x", got.w0, got.w1, got.w2, got.w3);
    }
}

// The first row above is seed 0 at the first columns of the first row.
TEST(random, columns_take_the_words_in_turn)
{
    static const u32 words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int col = 0; col < 4; ++col) {
        const f32 got = jg::Uniform{0, col, 0}(0.0f);
        EXPECT(got == static_cast<f32>(words[col] >> 8) / 16777216.0f, "%d: %a", col, got);
    }
}

TEST(random, numbers_compare_as_the_floats_that_they_are)
{
    static const f32 limits[] = {0x1p-24f,
                                 0x1p-25f,
                                 3 * 0x1p-24f,
                                 0.1f,
                                 0.5f,
                                 0x1p-149f,
                                 0x1p-24f * 0xffffff,
                                 1.0f,
                                 1.5f,
                                 0x1p104f,
                                 0x1p127f,
                                 INFINITY,
                                 NAN,
                                 0.0f,
                                 0x1.000002p-1f};
    static const u32 words[] = {0,          0xff,       0x100,      0x101,      0x1ff,
                                0x200,      0x3ff,      0x400,      0x19999900, 0x19999aff,
                                0x7fffffff, 0x80000000, 0x800000ff, 0x80000100, 0xfffffeff,
                                0xffffff00, 0xffffffff};
    for (const f32 positive : limits) {
        for (const f32 limit : {positive, -positive}) {
            for (const u32 word : words) {
                const jg::UniformNumber number = {word};
                const f32 value = number;
                EXPECT((number < limit) == (value < limit), "%08x < %a", word, limit);
                EXPECT((number >= limit) == (value >= limit), "%08x >= %a", word, limit);
            }
        }
    }
}
TEST(random, numbers_compare_with_limits_of_other_types)
{
    const jg::UniformNumber least = {0xff}, half = {0x80000000}, greatest = {0xffffffff};
    EXPECT(greatest < 1 && !(least < 0) && least >= 0 && !(greatest >= 1), "int");
    EXPECT(half < 0x1.00000001p-1 && half >= 0.5 && !(half >= 0x1.00000001p-1), "double");
    EXPECT(least < half && !(half < half) && half >= half && !(least >= half),
           "each other");
}

TEST(staging, vectors_have_each_element_once_without_bank_conflicts_on_sm_90a)
{
    check_outputs_sm90a<f32, StagingCheck>();
}
TEST(staging, vectors_have_each_element_once_without_bank_conflicts_on_sm_100a)
{
    check_outputs_sm100a<f32, StagingCheck>();
}

// Steps that wait side by side: all of a row's accumulators go into a warp's buffer, each
// vector comes out, goes back and comes out again.
template <class Output>
struct PanelStagingCheck {
    using Part = typename Output::Part;
    using Tile = TileOfD<Output>;
    using Staging = PanelStagingOf<typename Output::Partition>;
    static constexpr u32 kVectors = Part::kStepCols / 8; // of a row of a step
    static constexpr u32 kAcross = Part::kCols / Part::kStepCols;
    static constexpr u32 kDown = Part::kRows / Part::kStepRows;
    static constexpr u32 kBufferAt = 2048;

    static Staging step(u32 across)
    {
        return Staging(host::shared + kBufferAt).step(across);
    }
    static void expect_no_conflicts(const char *what)
    {
        EXPECT(host::count_bank_conflicts() == 0, "%u conflicts of %s, %u rows",
               host::count_bank_conflicts(), what, Staging::kRows);
    }

    static void store(u32 warp, u32 down)
    {
        host::clear_shared(0xff);
        for (u32 across = 0; across < kAcross; ++across) {
            host::run_warp(warp, [&] {
                const typename Output::Accumulators acc;
                acc.reader.copy_step(step(across), down * kAcross + across);
            });
            expect_no_conflicts("stores");
        }
        u32 beyond = 0;
        for (u32 at = 0; at < 2 * kBufferAt + Staging::kBytes; ++at) {
            const bool is_inside = at >= kBufferAt && at < kBufferAt + Staging::kBytes;
            beyond += host::shared_writes[at] > (is_inside ? 1 : 0);
        }
        EXPECT(beyond == 0, "%u bytes beyond the buffer, or twice", beyond);
    }

    // `use`: what a lane does with its vector, at row and column of D.
    template <class Use>
    static void visit(u32 warp, u32 down, const char *what, Use use)
    {
        for (u32 pass = 0; pass < kAcross * Staging::kRows * kVectors / 32; ++pass) {
            host::run_warp(warp, [&] {
                const u32 index = pass * 32 + threadIdx.x % 32;
                const u32 vector = index % kVectors,
                          row = index / kVectors % Staging::kRows;
                const u32 across = index / kVectors / Staging::kRows;
                use(step(across), row, vector,
                    Part::first_row(Output::team(warp)) + down * Part::kStepRows +
                        Part::warp_row() + row,
                    Part::first_col(Output::team(warp)) + across * Part::kStepCols +
                        vector * 8);
            });
            expect_no_conflicts(what);
        }
    }

    static void run()
    {
        auto tile = std::make_unique<Tile>();
        Output::set(Tile::number);
        for (u32 i = 0; i < Output::kWarps * kDown; ++i) {
            const u32 warp = i / kDown, down = i % kDown;
            store(warp, down);
            visit(warp, down, "loads",
                  [&](Staging at, u32 row, u32 vector, u32 d_row, u32 d_col) {
                      f32 values[8];
                      at.load(row, vector, values);
                      for (u32 j = 0; j < 8; ++j) {
                          EXPECT(values[j] == Tile::number(d_row, d_col + j), "staged");
                      }
                  });
            visit(warp, down, "puts",
                  [&](Staging at, u32 row, u32 vector, u32 d_row, u32 d_col) {
                      f32 values[8];
                      for (u32 j = 0; j < 8; ++j) {
                          values[j] = -Tile::number(d_row, d_col + j);
                      }
                      at.put(row, vector, values);
                  });
            visit(warp, down, "loads",
                  [&](Staging at, u32 row, u32 vector, u32 d_row, u32 d_col) {
                      f32 values[8];
                      at.load(row, vector, values);
                      for (u32 j = 0; j < 8; ++j) {
                          tile->see(d_row, d_col + j, -values[j]);
                      }
                  });
        }
        tile->expect_once("panels");
    }
};

TEST(staging, steps_side_by_side_keep_what_is_put_back)
{
    check_rows_sm90a<f32, PanelStagingCheck>(); // a transposed product scales no blocks
    check_rows_sm100a<f32, PanelStagingCheck, 128, 256, 1>();
    check_rows_sm100a<f32, PanelStagingCheck, 64, 192, 1>();
    check_rows_sm100a<f32, PanelStagingCheck, 64, 256, 2>();
}

// ---------------------------------------------------------------------- store tiles

// The whole epilogue of fragments: what it computes with which coordinates, and what tensor
// copies take from shared memory where.
template <class Output>
struct StoreCheck {
    using Config = typename Output::Config;
    using D = typename Config::D;
    using Tile = TileOfD<Output>;
    using StoreTile = StoreTileOf<Config, typename Output::Partition>;
    // Of each team that fills them; all of the tile is in shared memory in the end.
    static constexpr u32 kTileBytes = Output::kTileRows * Output::kTileCols * sizeof(D);
    static constexpr u32 kStoreTileBytes = StoreTile::kRows * StoreTile::kRowBytes;
    static constexpr u32 kOwners = Output::kWarps / StoreTile::kWarps;
    static constexpr u32 kStoreTiles = kTileBytes / kStoreTileBytes / kOwners;
    static constexpr u32 kRow = 3 * Output::kTileRows, kCol = Output::kTileCols;

    static inline Tile *computed;

    // The user's snippet: D is the sum. It has a vector of each kind, whose elements are
    // their own numbers; what lies beyond D reads as 0.
    struct Snippet {
        static constexpr bool kHasFragments = true;
        static constexpr u32 kLoads = 0;
        template <class CoordT>
        struct Fragment {
            static constexpr u32 kOutputs = 0, kOutput = 0;
            typename jg::RowVectorInput<f32>::Fragment<CoordT> by_col;
            typename jg::ColumnVectorInput<f32>::Fragment<CoordT> by_row;
            u32 row_end, col_end;

            void load(const jg::MatrixParam *params, const CoordT &coord)
            {
                by_col.load(params[0], coord);
                by_row.load(params[0], coord);
                row_end = coord.row_end;
                col_end = coord.col_end;
            }
            template <class Shape>
            f32 apply(f32 sum, const Shape &, u32 row, u32 col, u32,
                      const jg::FragmentIndex &at) const
            {
                EXPECT(by_col.value(at) == (col < col_end ? f32(col) : 0.0f), "column %u",
                       col);
                EXPECT(by_row.value(at) == (row < row_end ? f32(row) : 0.0f), "row %u",
                       row);
                computed->see(row - kRow, col - kCol, sum);
                return sum;
            }
        };
    };
    using Epilogue = FragmentsOf<Output, Snippet, kStoreTiles>;

    static hardware::swizzle mode()
    {
        return hardware::swizzle_for(StoreTile::kRowBytes, true, sizeof(D));
    }
    static f32 read_element(u32 address)
    {
        f32 number;
        u16 bits;
        if constexpr (sizeof(D) == 4) {
            host::read_shared(address, &number, sizeof(number));
        } else {
            host::read_shared(address, &bits, sizeof(bits));
            number = bits;
        }
        return number;
    }
    // What the copy of a store tile takes to D.
    static void take(const host::box_copy &box, Tile &stored)
    {
        constexpr u32 kCols = StoreTile::kRowBytes / sizeof(D);
        EXPECT(box.address % 128 == 0 && box.batch == 5, "a copy from %u", box.address);
        for (u32 i = 0; i < StoreTile::kRows * kCols; ++i) {
            const u32 at = box.address + i * u32(sizeof(D));
            stored.see(static_cast<u32>(box.outer) - kRow + i / kCols,
                       static_cast<u32>(box.inner) - kCol + i % kCols,
                       read_element(hardware::swizzled_address(mode(), at)));
        }
    }

    // Of a D with the first `rows` and `cols` of the tile.
    static void check(u32 rows, u32 cols, Tile &stored)
    {
        // Of the longer dimension; nothing beyond it may be read.
        std::vector<f32> numbers(std::max(kRow + rows, kCol + cols));
        std::iota(numbers.begin(), numbers.end(), 0.0f);
        const jg::MatrixParam vector{reinterpret_cast<u64>(numbers.data()), 0, 0, 0, 0};
        LaunchParams params{};
        params.operands = &vector;
        const LaunchSize shape = {kRow + rows, kCol + cols, 1, 6};
        host::box_stores.clear();
        host::clear_shared(0xff);
        for (u32 warp = 0; warp < Output::kWarps; ++warp) {
            const u32 warpgroup = Output::warpgroup(warp);
            u8 *memory = host::shared + warpgroup * (kTileBytes / Output::kWarpgroups);
            host::run_warp(warp, [&] {
                typename Output::Accumulators acc;
                Epilogue epilogue(params, shape, memory, Output::team(warp));
                const WorkTile tile{kRow, kCol, 5, 0, 0};
                epilogue.read_ahead(params, shape, tile);
                epilogue.run(params, shape, acc.reader, 0, acc, tile);
            });
        }
        for (const host::box_copy &box : host::box_stores) {
            EXPECT(box.map == params.map_of_d(), "a copy to something else than D");
            take(box, stored);
        }
    }

    static void run()
    {
        if constexpr (StoreTile::kFillsTile) {
            auto numbers = std::make_unique<Tile>(), stored = std::make_unique<Tile>();
            computed = numbers.get();
            Output::set(Tile::number);
            check(Output::kTileRows, Output::kTileCols, *stored);
            computed->expect_once("computed");
            stored->expect_once("stored");
            check_cut();
        }
    }
    // Of a tile that hangs over only those store tiles are computed that have some of D.
    static void check_cut()
    {
        auto numbers = std::make_unique<Tile>(), stored = std::make_unique<Tile>();
        computed = numbers.get();
        check(2, 2, *stored); // rows that TMA stores have an even number of elements
        constexpr u32 kRows = StoreTile::kRows, kCols = StoreTile::kRowBytes / sizeof(D);
        stored->expect_once("stored of four elements", kRows, kCols);
    }
};

TEST(store_tiles, each_element_reaches_d_once_on_sm_90a)
{
    check_outputs_sm90a<f32, StoreCheck>();
    check_outputs_sm90a<bf16, StoreCheck>();
    check_wide_columns_sm90a<f32, StoreCheck>();
    check_wide_columns_sm90a<bf16, StoreCheck>();
}
TEST(store_tiles, each_element_reaches_d_once_on_sm_100a)
{
    check_outputs_sm100a<f32, StoreCheck>();
    check_outputs_sm100a<bf16, StoreCheck>();
}

/* ------------------------------------------------------------------------ conversions */

void expect_code(float value, u32 code)
{
    const u32 got = jg::e2m1_code(value);
    EXPECT(got == code, "%a became %x, not %x", value, got, code);
}

// What kernels without an instruction for it do: codes, ties to even, what is too much,
// NaN.
TEST(convert, four_bit_floats_are_rounded_to_the_even_code)
{
    static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    for (u32 code = 0; code < 8; code++) {
        expect_code(values[code], code);
        expect_code(-values[code], code | 8);
        if (code < 7) {
            const float middle = (values[code] + values[code + 1]) / 2;
            expect_code(middle, code % 2 == 0 ? code : code + 1);
            expect_code(middle * (1 - 0x1p-22f), code);
            expect_code(-middle * (1 + 0x1p-22f), (code + 1) | 8);
        }
    }
    expect_code(7, 7);
    expect_code(-__builtin_inff(), 15);
    expect_code(__builtin_nanf(""), 7);
    expect_code(-__builtin_nanf(""), 7);
}
