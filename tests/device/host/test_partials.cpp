// SPDX-License-Identifier: MIT
// Parts of K that several CTAs multiply: what they leave in the workspace for each other.
#include "modules.h"

constexpr u32 SUMS_OFFSET = 32768;

// A column of tiles of one kind, with these workspace tiles, the last of which hangs
// over. Part s of K contributes s + 1 times an element's number.
template <class Output, bool kIsInteger>
class PartialsCheck {
    using Config = typename Output::Config;
    using Part = typename Output::Part;
    using Partials = PartialsOf<Output>;
    static constexpr u32 kRows = Output::kTileRows, kCols = Output::kTileCols;
    static constexpr u32 kParts = Config::kSplitK;
    static constexpr u32 kTimes = kParts * (kParts + 1) / 2;
    // What threads read at a time, as the epilogues do.
    static constexpr u32 kChunk = Part::kColumns % 32 == 0 ? 32
                                  : Part::kColumns % 16    ? 8
                                                           : 16;
    static constexpr u32 kChunks = Part::kColumns / kChunk;

  public:
    explicit PartialsCheck(const std::vector<u32> &tiles)
        : tiles_(tiles), shape_{u32(tiles.size()) * kRows - kRows / 2 + 1, 2 * kCols - 5, 1,
                                1},
          bytes_(static_cast<size_t>(plan_workspace_bytes(
              kRows, kCols, kParts, Config::kSplitSerial, tiles.back() + 1)))
    {
        EXPECT(plan_sums_offset() == SUMS_OFFSET, "sums begin elsewhere");
        workspace_.resize(bytes_ + 128, 0xff); // no number
        begin_ = workspace_.data() + (128 - host::global_address(workspace_.data()) % 128);
        std::memset(begin_, 0, SUMS_OFFSET);
        host::global_regions.clear();
        host::allow_global(begin_, bytes_);
        params_.workspace = host::global_address(begin_);
    }

    void run()
    {
        for (u32 split = 0; split < kParts; ++split) {
            for (u32 tile = 0; tile < tiles_.size(); ++tile) {
                run_cta(tile, split);
            }
        }
        u32 locks = 0;
        for (u32 at = 0; at < SUMS_OFFSET; ++at) {
            locks += begin_[at] != 0;
        }
        EXPECT(locks == 0, "%u bytes of locks are left", locks);
        EXPECT(summed_ == count_elements(), "%u sums of %u", summed_, count_elements());
    }

  private:
    // Whole numbers are so large that their bits do not add up as those of an f32.
    static f32 as_register(u32 number)
    {
        return kIsInteger ? __int_as_float(static_cast<i32>(number) * 14000)
                          : static_cast<f32>(number);
    }
    static u32 number(u32 tile, u32 row, u32 col)
    {
        return (tile * kRows + row) * kCols + col + 1;
    }
    // The tiles are the second of their rows of tiles.
    u32 count_elements() const
    {
        return shape_.m * (shape_.n - kCols);
    }

    void run_cta(u32 tile, u32 split)
    {
        const WorkTile work = {tile * kRows, kCols, 0, split, tiles_[tile]};
        const bool is_last = split + 1 == kParts;
        Output::set([&](u32 row, u32 col) {
            return as_register((split + 1) * number(tile, row, col));
        });
        for (u32 warp = 0; warp < Output::kWarps; ++warp) {
            host::run_warp(warp, [&] {
                typename Output::Accumulators acc;
                const Partials partials(params_, shape_, work, Output::team(warp),
                                        Output::warpgroup(warp), 1);
                if (!is_last) {
                    partials.store_partial(acc.reader);
                } else {
                    partials.fixup();
                    check_sums(partials, acc, tile);
                }
            });
        }
    }

    void check_sums(const Partials &partials, typename Output::Accumulators &acc, u32 tile)
    {
        if constexpr (Output::kInRegisters) {
            partials.add_to(acc.registers);
        }
        for (u32 i = 0; i < Part::kLaneSteps * kChunks; ++i) {
            const u32 step = i / kChunks, column = i % kChunks * kChunk;
            f32 values[Part::kFragments][kChunk / 2];
            if constexpr (Output::kInRegisters) {
                acc.reader.read(step, column, values);
            } else {
                partials.read_added(acc.reader, step, column, values);
            }
            for (u32 j = 0; j < Part::kFragments * kChunk / 2; ++j) {
                const u32 fragment = j / (kChunk / 2), index = j % (kChunk / 2);
                check_sum(tile, step, 16 * fragment, column, index,
                          values[fragment][index]);
            }
        }
    }

    void check_sum(u32 tile, u32 step, u32 lanes, u32 column, u32 index, f32 value)
    {
        const u32 lane = threadIdx.x % 32, team = Output::team(threadIdx.x / 32);
        const u32 along_lanes = lanes + hardware::fragment_row(lane, index);
        const u32 along_columns = column + hardware::fragment_col(lane, index);
        const u32 row = Part::first_row(team) + step * Part::kStepRows + Part::warp_row() +
                        (Part::kTransposed ? along_columns : along_lanes);
        const u32 col = Part::first_col(team) + Part::warp_col() +
                        (Part::kTransposed ? along_lanes : along_columns);
        if (tile * kRows + row < shape_.m && kCols + col < shape_.n) {
            const f32 wanted = as_register(kTimes * number(tile, row, col));
            summed_++;
            EXPECT(__float_as_uint(value) == __float_as_uint(wanted),
                   "%g, not %g, at %u, %u of tile %u", value, wanted, row, col, tile);
        }
    }

    std::vector<u32> tiles_;
    LaunchSize shape_;
    size_t bytes_;
    std::vector<u8> workspace_;
    u8 *begin_;
    LaunchParams params_{};
    u32 summed_ = 0;
};

// By parts that are added up in order at the end, or add as they come.
template <template <class Config> class OutputOf, class Config, u32 kParts,
          class Input = bf16>
void check_partials(const std::vector<u32> &tiles)
{
    constexpr bool kIsInteger = std::is_same_v<Input, s8>;
    using Serial = SplitConfig<Config, kParts, true, SUMS_OFFSET, Input>;
    using Unordered = SplitConfig<Config, kParts, false, SUMS_OFFSET, Input>;
    PartialsCheck<OutputOf<Serial>, kIsInteger>(tiles).run();
    PartialsCheck<OutputOf<Unordered>, kIsInteger>(tiles).run();
}

TEST(partial_sums, each_element_has_the_sum_of_all_parts_on_sm_90a)
{
    check_partials<OutputSm90a, OutputConfig<f32, 64, 128, 1, false>, 2>({0, 1, 2});
    check_partials<OutputSm90a, OutputConfig<f32, 128, 64, 1, false>, 3>(
        {0, 1, 4094, 4095});
    check_partials<OutputSm90a, OutputConfig<f32, 128, 256, 1, false>, 3>({0, 1});
    check_partials<OutputSm90a, OutputConfig<f32, 256, 128, 1, false>, 2>({0, 1});
    check_partials<OutputSm90a, OutputConfig<f32, 128, 16, 1, true>, 3>({0, 1, 2});
    check_partials<OutputSm90a, OutputConfig<f32, 64, 64, 1, true>, 2>({0, 1, 2});
}

TEST(partial_sums, each_element_has_the_sum_of_all_parts_on_sm_100a)
{
    check_partials<OutputSm100a, OutputConfig<f32, 128, 256, 1, false>, 2>({0, 1});
    check_partials<OutputSm100a, OutputConfig<f32, 128, 80, 2, false>, 3>({0, 1});
    check_partials<OutputSm100a, OutputConfig<f32, 64, 24, 1, false>, 4>(
        {0, 1, 2, 4094, 4095});
    check_partials<OutputSm100a, OutputConfig<f32, 64, 64, 2, false>, 3>({0, 1, 2});
    check_partials<OutputSm100a, OutputConfig<f32, 128, 16, 1, true>, 3>({0, 1, 2});
    check_partials<OutputSm100a, OutputConfig<f32, 64, 128, 2, true>, 3>({0, 1, 2});
    check_partials<OutputSm100a, OutputConfig<f32, 64, 64, 1, true>, 2>({0, 1, 2});
    check_partials<OutputSm100a, OutputConfig<f32, 128, 64, 1, false>, 3, s8>({0, 1, 2});
}
