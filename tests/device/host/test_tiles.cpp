// SPDX-License-Identifier: MIT
// Input tiles in shared memory: who writes them and who reads them mean the same bytes.
#include "hardware.h"
#include "modules.h"

using hardware::swizzle;

// -------------------------------------------------------------------------- swizzle

template <class T, bool kKMajor, u32 kRowBytes>
void check_swizzle()
{
    const swizzle mode = hardware::swizzle_for(kRowBytes, kKMajor, sizeof(T));
    std::set<u32> places;
    EXPECT(plan_input_atom(kKMajor, sizeof(T)) == i32(kAtomOf<T, kKMajor>),
           "the plan has another atom");
    for (u32 offset = 0; offset < 256 * 128; ++offset) {
        const u32 place = swizzled<T, kKMajor, kRowBytes>(offset);
        EXPECT(place == hardware::swizzled_address(mode, offset),
               "byte %u of rows of %u is at %u", offset, kRowBytes, place);
        places.insert(place);
    }
    EXPECT(places.size() == 256 * 128 && *places.rbegin() == 256 * 128 - 1,
           "rows of %u: no permutation", kRowBytes);
}

TEST(tile_swizzle, each_byte_lies_where_the_hardware_puts_it)
{
    check_swizzle<bf16, true, 128>();
    check_swizzle<e4m3, true, 128>();
    check_swizzle<tf32, true, 128>();
    check_swizzle<bf16, false, 128>();
    check_swizzle<bf16, false, 64>();
    check_swizzle<bf16, false, 32>();
    check_swizzle<e4m3, false, 128>();
    check_swizzle<e4m3, false, 64>();
    check_swizzle<e4m3, false, 32>();
    check_swizzle<tf32, false, 128>();
}

// --------------------------------------------------------------------------- matrix

// A matrix in global memory with random elements. Only its elements may be read.
class Matrix {
  public:
    // `alignment`: of its address and its lines, no more than this.
    Matrix(bool k_major, u32 element_bytes, u32 mn_size, u32 k_size, u32 alignment)
        : k_major_(k_major), bytes_(element_bytes), outer_(k_major ? mn_size : k_size),
          inner_(k_major ? k_size : mn_size)
    {
        const u32 line = (inner_ * bytes_ + alignment - 1) / alignment * alignment;
        ld_ = (line / alignment % 2 == 0 && alignment < 16 ? line + alignment : line) /
              bytes_;
        memory_.resize(16 + size_t(outer_) * ld_ * bytes_ + alignment);
        begin_ = memory_.data() + (16 - host::global_address(memory_.data()) % 16) % 16 +
                 alignment % 16;
        u32 state = 1;
        for (u8 &byte : memory_) {
            state = state * 1664525u + 1013904223u;
            byte = static_cast<u8>((state >> 24 & 0xbfu) | 0x10u); // normal as an f32
        }
        host::global_regions.clear();
        for (u32 i = 0; i < outer_ && inner_ > 0; ++i) {
            host::allow_global(begin_ + size_t(i) * ld_ * bytes_, inner_ * bytes_);
        }
    }

    const u8 *begin() const
    {
        return begin_;
    }
    u32 ld() const
    {
        return ld_;
    }

    // An element as it is to lie in shared memory: 0 beyond the end, tf32 rounded.
    u32 element(u32 mn, u32 k) const
    {
        const u32 outer = k_major_ ? mn : k, inner = k_major_ ? k : mn;
        u32 bits = 0;
        if (outer < outer_ && inner < inner_) {
            std::memcpy(&bits, begin_ + (size_t(outer) * ld_ + inner) * bytes_, bytes_);
        }
        return bytes_ == 4 ? round_to_tf32(bits) : bits;
    }

  private:
    static u32 round_to_tf32(u32 bits)
    {
        int exponent;
        const f32 part = std::frexp(__uint_as_float(bits), &exponent);
        return __float_as_uint(
            std::ldexp(std::nearbyint(std::ldexp(part, 11)), exponent - 11));
    }

    bool k_major_;
    u32 bytes_, outer_, inner_, ld_;
    std::vector<u8> memory_;
    const u8 *begin_;
};

// A tile of kMn by a block of K, at this place of a matrix with these sizes.
template <class T, bool kIsKMajor, u32 kMnOfTile, u32 kBytesOfRow = 128>
struct TileCheck {
    static constexpr bool kKMajor = kIsKMajor;
    static constexpr u32 kMn = kMnOfTile, kRowBytes = kBytesOfRow;
    static constexpr u32 kBlockK = 128 / sizeof(T);
    static constexpr u32 kTileBytes = kMn * 128;
    static constexpr u32 kTileAt = 32768; // in shared memory

    static swizzle mode()
    {
        return hardware::swizzle_for(kRowBytes, kKMajor, sizeof(T));
    }

    // What a tensor copy does with a box of `rows` rows.
    static void land_box(const Matrix &matrix, const host::box_copy &box, u32 rows)
    {
        EXPECT(box.address % 128 == 0, "a box at %u", box.address);
        for (u32 row = 0; row < rows; ++row) {
            for (u32 i = 0; i < kRowBytes / sizeof(T); ++i) {
                const u32 inner = static_cast<u32>(box.inner) + i;
                const u32 outer = static_cast<u32>(box.outer) + row;
                const u32 bits =
                    kKMajor ? matrix.element(outer, inner) : matrix.element(inner, outer);
                const u32 at = box.address + row * kRowBytes + i * u32(sizeof(T));
                host::write_shared(hardware::swizzled_address(mode(), at), &bits,
                                   sizeof(T));
            }
        }
    }

    static void expect_each_byte_once(const char *who)
    {
        u32 wrong = 0;
        for (u32 at = 0; at < 2 * kTileAt + kTileBytes; ++at) {
            const bool is_of_tile = at >= kTileAt && at < kTileAt + kTileBytes;
            wrong += host::shared_writes[at] != (is_of_tile ? 1 : 0);
        }
        EXPECT(wrong == 0, "%s: %u bytes of a tile of %u, rows of %u, not written once",
               who, wrong, kMn, kRowBytes);
    }

    // By kSlices CTAs that load a part each.
    template <u32 kSlices>
    static void copy(const Matrix &matrix, u32 mn, u32 k)
    {
        host::clear_shared(0xee);
        host::box_loads.clear();
        for (u32 slice = 0; slice < kSlices; ++slice) {
            copy_tile<T, kKMajor, kMn, kSlices, kRowBytes>(host::shared + kTileAt, slice,
                                                           mn, k);
        }
        for (const host::box_copy &box : host::box_loads) {
            land_box(matrix, box, (kKMajor ? kMn : kBlockK) / kSlices);
        }
        expect_each_byte_once("copies");
    }

    // The tensor core reads `count` rows of the tile from `first` on by these descriptors.
    static void check_reads(const Matrix &matrix, u32 mn, u32 k, u32 first, u32 count,
                            hardware::matrix (*decode)(u64),
                            const std::vector<u64> &descriptors)
    {
        constexpr u32 kStepK = 32 / sizeof(T); // of one instruction
        u32 wrong = 0;
        EXPECT(descriptors.size() == kBlockK / kStepK, "%zu products", descriptors.size());
        for (u32 i = 0; i < descriptors.size(); ++i) {
            const hardware::matrix tile = decode(descriptors[i]);
            EXPECT(tile.legal, "descriptor %llx", descriptors[i]);
            for (u32 row = 0; row < count; ++row) {
                for (u32 at = 0; at < kStepK; ++at) {
                    u32 bits = 0;
                    host::read_shared(
                        hardware::element_address(tile, kKMajor, sizeof(T), row, at), &bits,
                        sizeof(T));
                    wrong += bits != matrix.element(mn + first + row, k + i * kStepK + at);
                }
            }
        }
        EXPECT(wrong == 0, "%u elements of a tile of %u, rows of %u, read elsewhere", wrong,
               kMn, kRowBytes);
    }
};

// ------------------------------------------------------------------ pairs of columns

// Each pair of columns of B lies in the tile once, its two accumulators kGate columns
// apart.
template <bool kKMajor, u32 kColumns, u32 kGate, u32 kSlices>
void check_gated_copies()
{
    constexpr u32 kPanel = 64, kBlockK = 64; // of bf16
    const u32 first = 3 * kColumns;          // of the fourth tile
    const u32 base = host::shared_offset(host::shared);
    constexpr u32 kBoxColumns = !kKMajor                     ? kPanel
                                : kGate < kColumns / kSlices ? kGate
                                                             : kColumns / kSlices;
    std::map<std::pair<i32, i32>, std::set<u32>> places; // of (half, column of the half)
    host::box_loads.clear();
    for (u32 slice = 0; slice < kSlices; ++slice) {
        copy_gated_tile<bf16, kKMajor, kColumns, kGate, kSlices>(host::shared, slice,
                                                                 first);
    }
    for (const host::box_copy &box : host::box_loads) {
        const u32 at = box.address - base;
        const u32 column = kKMajor ? at / 128 : at / (kBlockK * 128) * kPanel;
        for (u32 i = 0; i < kBoxColumns; ++i) {
            places[{box.half, (kKMajor ? box.outer : box.inner) + i32(i)}].insert(column +
                                                                                  i);
        }
    }
    EXPECT(places.size() == kColumns, "%zu columns of %u", places.size(), kColumns);
    for (u32 i = 0; i < kColumns / 2; ++i) {
        const i32 column = i32(first / 2 + i);
        const std::set<u32> &acc0 = places[{0, column}], &acc1 = places[{1, column}];
        EXPECT(acc0.size() == 1 && acc1.size() == 1 &&
                   *acc1.begin() == *acc0.begin() + kGate,
               "pair %d of a tile of %u in %u slices", column, kColumns, kSlices);
        EXPECT(*acc0.begin() == i / kGate * 2 * kGate + i % kGate, "pair %d lies elsewhere",
               column);
    }
}

TEST(input_tiles, both_columns_of_a_pair_come_into_the_tile)
{
    check_gated_copies<true, 256, 128, 1>();
    check_gated_copies<true, 256, 128, 2>();
    check_gated_copies<true, 256, 128, 4>();
    check_gated_copies<true, 192, 96, 2>();
    check_gated_copies<true, 128, 32, 1>();
    check_gated_copies<true, 128, 32, 4>();
    check_gated_copies<true, 16, 8, 1>();
    check_gated_copies<false, 256, 128, 1>();
    check_gated_copies<false, 256, 64, 1>();
    check_gated_copies<false, 128, 64, 1>();
}

// ------------------------------------------------------------ copies and descriptors

template <class Tile>
struct TypeOf;
template <class T, bool kKMajor, u32 kMn, u32 kRowBytes>
struct TypeOf<TileCheck<T, kKMajor, kMn, kRowBytes>> {
    using Type = T;
};

// Each product of a stage adds to the one before; the first begins the sum or does not.
void check_sums(const std::vector<host::product> &products, bool is_first)
{
    for (size_t i = 0; i < products.size(); ++i) {
        EXPECT(products[i].accumulates == (i > 0 || !is_first), "product %zu", i);
    }
}
std::vector<u64> descriptors_of(const std::vector<host::product> &products, bool of_a)
{
    std::vector<u64> found;
    for (const host::product &product : products) {
        found.push_back(of_a ? product.a : product.b);
    }
    return found;
}

// Tile as operand A of a product, or as B; the other one is K-major and lies elsewhere.
template <class Tile, bool kIsA>
void multiply_tile_sm100a(const Matrix &matrix, u32 mn, u32 k)
{
    using T = typename TypeOf<Tile>::Type;
    using Config = std::conditional_t<
        kIsA, InputConfig<T, Tile::kKMajor, true, Tile::kMn, 128, 1, Tile::kRowBytes, 128>,
        InputConfig<T, true, Tile::kKMajor, 64, Tile::kMn, 1, 128, Tile::kRowBytes>>;
    if constexpr (kIsA || Tile::kMn % 8 == 0) {
        constexpr u32 kOffset = kIsA ? 0 : Config::kBlockM * 128;
        host::products.clear();
        multiply_sm100a<Config>(*tiles_at<Config>(host::shared + Tile::kTileAt - kOffset));
        check_sums(host::products, true);
        Tile::check_reads(matrix, mn, k, 0, Tile::kMn, hardware::decode_sm100,
                          descriptors_of(host::products, kIsA));
    }
}

template <class Tile, u32 kSlices>
void check_sm100a()
{
    using T = typename TypeOf<Tile>::Type;
    constexpr bool kKMajor = Tile::kKMajor;
    if constexpr ((kKMajor ? Tile::kMn : Tile::kBlockK) % (8 * kSlices) == 0) {
        const u32 mn = Tile::kMn, k = Tile::kBlockK; // the second tile along both
        const Matrix matrix(kKMajor, sizeof(T), mn + Tile::kMn, k + Tile::kBlockK, 16);
        Tile::template copy<kSlices>(matrix, mn, k);
        multiply_tile_sm100a<Tile, true>(matrix, mn, k);
        multiply_tile_sm100a<Tile, false>(matrix, mn, k);
    }
}
template <class... Tiles>
void check_all_sm100a()
{
    (check_sm100a<Tiles, 1>(), ...);
    (check_sm100a<Tiles, 2>(), ...);
    (check_sm100a<Tiles, 4>(), ...);
}

TEST(input_tiles, tensor_core_of_sm_100a_reads_what_copies_wrote)
{
    check_all_sm100a<TileCheck<bf16, true, 8>, TileCheck<bf16, true, 64>,
                     TileCheck<bf16, true, 128>, TileCheck<bf16, true, 256>,
                     TileCheck<e4m3, true, 16>, TileCheck<e4m3, true, 128>,
                     TileCheck<tf32, true, 24>, TileCheck<tf32, true, 128>>();
    check_all_sm100a<TileCheck<bf16, false, 64>, TileCheck<bf16, false, 128>,
                     TileCheck<bf16, false, 256>, TileCheck<bf16, false, 32, 64>,
                     TileCheck<bf16, false, 96, 64>, TileCheck<bf16, false, 16, 32>,
                     TileCheck<bf16, false, 48, 32>>();
    check_all_sm100a<TileCheck<e4m3, false, 128>, TileCheck<e4m3, false, 256>,
                     TileCheck<e4m3, false, 64, 64>, TileCheck<e4m3, false, 192, 64>,
                     TileCheck<e4m3, false, 32, 32>, TileCheck<e4m3, false, 96, 32>,
                     TileCheck<tf32, false, 32>, TileCheck<tf32, false, 96>,
                     TileCheck<tf32, false, 128>>();
}

// Products of a warpgroup, four for each 64 rows of A that it has; of B all have the rows
// from `first` on.
template <class Tile>
void check_reads_sm90a(const Matrix &matrix, u32 mn, u32 k, u32 first, u32 count, bool is_a)
{
    for (size_t at = 0; at < host::products.size(); at += 4) {
        const auto begin = host::products.begin() + std::ptrdiff_t(at);
        const std::vector<host::product> products(begin, begin + 4);
        check_sums(products, true);
        Tile::check_reads(matrix, mn, k, first, count, hardware::decode_sm90,
                          descriptors_of(products, is_a));
        first += is_a ? 64 : 0;
    }
}

// Two warpgroups share the rows of A, or the columns of B if there are 64 rows.
template <class Tile, bool kIsA, u32 kOther>
void multiply_tile_sm90a(const Matrix &matrix, u32 mn, u32 k)
{
    using T = typename TypeOf<Tile>::Type;
    using Config = std::conditional_t<
        kIsA, InputConfig<T, Tile::kKMajor, true, Tile::kMn, kOther, 1, 128, 128>,
        InputConfig<T, true, Tile::kKMajor, kOther, Tile::kMn, 1, 128, 128>>;
    constexpr u32 kOffset = kIsA ? 0 : Config::kBlockM * 128;
    constexpr bool kSharesRows = Config::kBlockM >= 128;
    constexpr u32 kShare = Tile::kMn / (kIsA == kSharesRows ? 2 : 1);
    constexpr u32 kRowBlocks = Config::kBlockM / (kSharesRows ? 128 : 64);
    for (u32 team = 0; team < 2; ++team) {
        host::products.clear();
        multiply_sm90a<Config>(*tiles_at<Config>(host::shared + Tile::kTileAt - kOffset),
                               team);
        EXPECT(host::products.size() == 4 * kRowBlocks, "%zu products of %u rows",
               host::products.size(), Config::kBlockM);
        check_reads_sm90a<Tile>(matrix, mn, k, kShare == Tile::kMn ? 0 : team * kShare,
                                kIsA ? 64 : kShare, kIsA);
    }
}

template <class Tile, u32 kSlices>
void check_sm90a()
{
    using T = typename TypeOf<Tile>::Type;
    constexpr bool kKMajor = Tile::kKMajor;
    const u32 mn = Tile::kMn, k = Tile::kBlockK;
    const Matrix matrix(kKMajor, sizeof(T), mn + Tile::kMn, k + Tile::kBlockK, 16);
    Tile::template copy<kSlices>(matrix, mn, k);
    if constexpr (Tile::kMn == 64 || Tile::kMn % 128 == 0) {
        multiply_tile_sm90a<Tile, true, 128>(matrix, mn, k);
    }
    multiply_tile_sm90a<Tile, false, 128>(matrix, mn, k);
    if constexpr (Tile::kMn % 128 == 0 || kKMajor) {
        multiply_tile_sm90a<Tile, false, 64>(matrix, mn, k);
    }
}
template <class... Tiles>
void check_all_sm90a()
{
    (check_sm90a<Tiles, 1>(), ...);
    (check_sm90a<Tiles, 2>(), ...);
}

TEST(input_tiles, tensor_core_of_sm_90a_reads_what_copies_wrote)
{
    check_all_sm90a<TileCheck<bf16, true, 64>, TileCheck<bf16, true, 256>,
                    TileCheck<e4m3, true, 128>, TileCheck<tf32, true, 192>,
                    TileCheck<f16, false, 64>, TileCheck<f16, false, 128>,
                    TileCheck<f16, false, 256>>();
}

// ---------------------------------------------------------------- blocks of a stage

// Writes down where the blocks of a stage are to lie, and which part of K they have.
struct NotedBlock {
    u32 a, b, k;
};
struct NotingLoader {
    static constexpr bool kSends = false;
    std::vector<NotedBlock> *blocks;

    void load(const u8 *a, const u8 *b, const WorkTile &, u32 k) const
    {
        blocks->push_back({jg::ptx::shared_address(a), jg::ptx::shared_address(b), k});
    }
    void load(const u8 *a, const u8 *b, u64 *, const WorkTile &work, u32 k) const
    {
        load(a, b, work, k);
    }
};

// A stage has kKGroup blocks of both operands, apart from each other and without a gap. The
// first `count` of them are sent, filled and multiplied, with the K that the item says.
template <class Config>
void check_stage(u32 count)
{
    constexpr u32 kStageAt = 1024, kGroup = Config::kKGroup;
    constexpr u32 kABytes = Config::kBlockM * 128;
    constexpr u32 kBBytes = Config::kBlockN / Config::kCtaGroup * 128;
    TilesOf<Config> &tiles = *tiles_at<Config>(host::shared + kStageAt);
    const WorkItem item = {{0, 0, 0, 0, 0}, 320, 9, true};
    std::vector<NotedBlock> sent, filled;
    host::products.clear();

    send_stage<Config>(tiles, NotingLoader{&sent}, item, 3, count);
    fill_stage<Config>(tiles, NotingLoader{&filled}, item, 3, count);
    multiply_sm100a<Config>(tiles, count, false);
    check_sums(host::products, false);
    host::products.clear();
    multiply_sm100a<Config>(tiles, count, true);
    check_sums(host::products, true);

    constexpr size_t kProducts = 4; // of a block
    EXPECT(sent.size() == count && filled.size() == count &&
               host::products.size() == kProducts * count,
           "%zu, %zu and %zu blocks of %u", sent.size(), filled.size(),
           host::products.size() / kProducts, count);
    std::vector<u32> times(kStageAt + sizeof(tiles) + kStageAt);
    for (u32 i = 0; i < count && i < sent.size() && i < filled.size(); ++i) {
        const hardware::matrix a = hardware::decode_sm100(host::products[kProducts * i].a);
        const hardware::matrix b = hardware::decode_sm100(host::products[kProducts * i].b);
        EXPECT(sent[i].k == item.k_first + (3 + i) * Config::kBlockK &&
                   filled[i].k == sent[i].k,
               "block %u has K from %u on", i, sent[i].k);
        EXPECT(filled[i].a == sent[i].a && filled[i].b == sent[i].b &&
                   a.start == sent[i].a && b.start == sent[i].b,
               "block %u lies elsewhere for others", i);
        EXPECT(sent[i].a % 1024 == 0 && sent[i].b % 1024 == 0, "block %u at %u and %u", i,
               sent[i].a, sent[i].b);
        for (u32 at = 0; at < kABytes + kBBytes; ++at) {
            times.at(at < kABytes ? sent[i].a + at : sent[i].b + at - kABytes)++;
        }
    }
    const auto begin = times.begin() + kStageAt;
    const std::ptrdiff_t once = std::count(begin, begin + sizeof(tiles), 1u);
    EXPECT(once == std::ptrdiff_t(count * (kABytes + kBBytes)) &&
               once ==
                   std::count_if(times.begin(), times.end(), [](u32 n) { return n > 0; }),
           "%td bytes of %u blocks are there once in the stage", once, count);
    EXPECT(sizeof(tiles) == kGroup * (kABytes + kBBytes) &&
               TilesOf<Config>::kLoadedBytes == kABytes + kBBytes,
           "a stage has %zu bytes", sizeof(tiles));
}
template <class... Configs>
void check_stages()
{
    const auto check = [](auto config) {
        for (u32 count = 1; count <= decltype(config)::kKGroup; ++count) {
            check_stage<decltype(config)>(count);
        }
    };
    (check(Configs()), ...);
}

TEST(input_stage, blocks_lie_apart_and_fill_it_and_those_of_an_item_are_read)
{
    check_stages<InputConfig<bf16, true, true, 128, 256, 1, 128, 128, 1>,
                 InputConfig<bf16, false, false, 64, 32, 1, 128, 64, 2>,
                 InputConfig<bf16, false, true, 128, 48, 1, 128, 128, 4>,
                 InputConfig<bf16, true, false, 64, 32, 2, 128, 32, 4>,
                 InputConfig<e4m3, true, false, 128, 96, 1, 128, 32, 2>,
                 InputConfig<tf32, false, false, 128, 64, 2, 128, 128, 2>>();
}

// ------------------------------------------------------------------ loads by threads

// Threads leave the tile as copies do, and nothing else, of matrices that end in it.
template <class Tile, u32 kAlignment>
void check_threads(u32 mn_size, u32 k_size)
{
    using T = typename TypeOf<Tile>::Type;
    const u32 mn = Tile::kMn, k = Tile::kBlockK;
    const Matrix matrix(Tile::kKMajor, sizeof(T), mn_size, k_size, kAlignment);
    Tile::template copy<1>(matrix, mn, k);
    const std::vector<u8> wanted(host::shared + Tile::kTileAt,
                                 host::shared + Tile::kTileAt + Tile::kTileBytes);

    host::clear_shared(0xee);
    for (u32 thread = 0; thread < 128; ++thread) {
        threadIdx.x = thread;
        fill_tile<T, Tile::kKMajor, Tile::kMn, kAlignment, Tile::kRowBytes>(
            host::shared + Tile::kTileAt, matrix.begin(), matrix.ld(), mn, k, mn_size,
            k_size, thread);
    }
    for (std::vector<host::access> &of_lane : host::accesses) {
        of_lane.clear();
    }

    Tile::expect_each_byte_once("threads");
    EXPECT(std::memcmp(wanted.data(), host::shared + Tile::kTileAt, Tile::kTileBytes) == 0,
           "tile of %u, rows of %u, aligned to %u, of %u by %u", Tile::kMn, Tile::kRowBytes,
           kAlignment, mn_size, k_size);
}
template <class Tile, u32... kAlignments>
void check_filled()
{
    const u32 mn = Tile::kMn, k = Tile::kBlockK;
    for (u32 cut : {0u, 1u, 2u, 3u, 5u}) {
        (check_threads<Tile, kAlignments>(2 * mn - cut, 2 * k), ...);
        (check_threads<Tile, kAlignments>(2 * mn, 2 * k - cut), ...);
    }
    (check_threads<Tile, kAlignments>(mn, 2 * k), ...); // nothing of the tile exists
    (check_threads<Tile, kAlignments>(2 * mn, k + 1), ...);
}

TEST(thread_loader, threads_fill_each_byte_of_a_tile_once_as_copies_do)
{
    check_filled<TileCheck<bf16, true, 16>, 2, 4, 8, 16>();
    check_filled<TileCheck<bf16, true, 24>, 4, 16>(); // rows that 16 do not divide
    check_filled<TileCheck<bf16, true, 128>, 2, 4, 8, 16>();
    check_filled<TileCheck<bf16, false, 128>, 2, 4, 8, 16>();
    check_filled<TileCheck<bf16, false, 96, 64>, 2, 4, 8, 16>();
    check_filled<TileCheck<bf16, false, 48, 32>, 2, 4, 8, 16>();
    check_filled<TileCheck<e4m3, true, 16>, 1, 2, 4, 8, 16>();
    check_filled<TileCheck<e4m3, true, 192>, 1, 2, 4, 8, 16>();
    check_filled<TileCheck<e4m3, false, 256>, 1, 2, 4, 8, 16>();
    check_filled<TileCheck<e4m3, false, 64, 64>, 1, 2, 4, 8, 16>();
    check_filled<TileCheck<e4m3, false, 96, 32>, 1, 2, 4, 8, 16>();
    check_filled<TileCheck<tf32, true, 64>, 4, 8, 16>();
    check_filled<TileCheck<tf32, false, 96>, 4, 8, 16>();
}

TEST(shifted_chunk, sixteen_bytes_begin_at_each_byte_of_a_chunk)
{
    const u32 pair[8] = {0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
                         0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c};
    for (u32 first = 0; first < 16; ++first) {
        const jg::ShiftedChunk chunk(pair, first);

        u32 wrong = 0;
        for (u32 i = 0; i < 16; ++i) {
            wrong += (chunk.words[i / 4] >> i % 4 * 8 & 0xff) != first + i;
        }
        EXPECT(wrong == 0, "%u bytes of the chunk that begins at %u", wrong, first);
    }
}

// Of pairs of columns the second tile: kGate columns of acc0, then as many of acc1.
template <class T, bool kKMajor, u32 kColumns, u32 kGate, bool kHalves, u32 kAlignment>
void check_gated_threads(u32 mn_size)
{
    using Tile = TileCheck<T, kKMajor, kColumns>;
    constexpr u32 kPanel = 128 / sizeof(T); // columns in a row of an MN-major tile
    const u32 k_size = Tile::kBlockK - 3;
    const Matrix matrix(kKMajor, sizeof(T), mn_size, k_size, kAlignment);
    host::clear_shared(0xee);
    for (u32 thread = 0; thread < 128; ++thread) {
        threadIdx.x = thread;
        fill_gated_tile<T, kKMajor, kColumns, kGate, kHalves, kAlignment>(
            host::shared + Tile::kTileAt, matrix.begin(), matrix.ld(), kColumns, mn_size,
            k_size, thread);
    }
    for (std::vector<host::access> &of_lane : host::accesses) {
        of_lane.clear();
    }

    Tile::expect_each_byte_once("threads");
    u32 wrong = 0;
    for (u32 i = 0; i < kColumns * Tile::kBlockK; ++i) {
        const u32 column = i / Tile::kBlockK, k = i % Tile::kBlockK;
        const u32 pair = kColumns / 2 + column / (2 * kGate) * kGate + column % kGate;
        const u32 half = column / kGate % 2;
        const u32 mn = kHalves ? half * (mn_size / 2) + pair : 2 * pair + half;
        const u32 wanted = pair < mn_size / 2 ? matrix.element(mn, k) : 0;
        const u32 offset = kKMajor ? column * 128 + k * u32(sizeof(T))
                                   : (column / kPanel * Tile::kBlockK + k) * 128 +
                                         column % kPanel * u32(sizeof(T));
        u32 bits = 0;
        std::memcpy(&bits, host::shared + Tile::kTileAt + swizzled<T, kKMajor, 128>(offset),
                    sizeof(T));
        wrong += bits != wanted;
    }
    EXPECT(wrong == 0, "%u elements of a tile of %u, aligned to %u, of %u columns", wrong,
           kColumns, kAlignment, mn_size);
}
template <class T, u32 kColumns, u32 kGate, u32... kAlignments>
void check_gated_fills()
{
    for (u32 columns : {2 * kColumns, 2 * kColumns - 2, kColumns + 6}) {
        (check_gated_threads<T, true, kColumns, kGate, false, kAlignments>(columns), ...);
        (check_gated_threads<T, true, kColumns, kGate, true, kAlignments>(columns), ...);
    }
    if constexpr (kGate % (128 / sizeof(T)) == 0) {
        for (u32 columns : {2 * kColumns, 2 * kColumns - 32, kColumns + 96}) {
            (check_gated_threads<T, false, kColumns, kGate, true, kAlignments>(columns),
             ...);
        }
    }
}

TEST(thread_loader, threads_fill_both_columns_of_pairs)
{
    check_gated_fills<bf16, 16, 8, 2, 4, 8, 16>();
    check_gated_fills<bf16, 192, 96, 2, 4, 8, 16>();
    check_gated_fills<bf16, 256, 64, 2, 4, 8, 16>();
    check_gated_fills<e4m3, 256, 128, 1, 2, 4, 8, 16>();
    check_gated_fills<tf32, 128, 64, 4, 8, 16>();
}

// --------------------------------------------------------------- instruction descriptors

// PTX ISA, "instruction descriptor" of tcgen05.mma: bits, and numbers of types by kind.
constexpr hardware::bit_field SUM_TYPE = {4, 2}, A_TYPE = {7, 3}, B_TYPE = {10, 3};
constexpr hardware::bit_field A_IS_MN_MAJOR = {15, 1}, B_IS_MN_MAJOR = {16, 1};
constexpr hardware::bit_field N_BY_8 = {17, 6}, M_BY_16 = {24, 5};
enum : u32 { SUM_F32 = 1, SUM_S32 = 2 };

struct TypeNumbers {
    u32 a, b, sum;
};

template <class A, class B>
void check_instruction(TypeNumbers types)
{
    for (u32 i = 0; i < 4 * 3 * 32; ++i) {
        const bool a_k_major = i % 2 == 0, b_k_major = i / 2 % 2 == 0;
        const u32 m = 64u << i / 4 % 3, n = (i / 12 + 1) * 8;
        const u32 bits = instruction_sm100a<A, B>(a_k_major, b_k_major, m, n);
        EXPECT(hardware::bits_of(bits, SUM_TYPE) == types.sum, "type of the sum in %x",
               bits);
        EXPECT(hardware::bits_of(bits, A_TYPE) == types.a &&
                   hardware::bits_of(bits, B_TYPE) == types.b,
               "types of A and B in %x", bits);
        EXPECT(hardware::bits_of(bits, A_IS_MN_MAJOR) == !a_k_major &&
                   hardware::bits_of(bits, B_IS_MN_MAJOR) == !b_k_major,
               "majors of A and B in %x", bits);
        EXPECT(hardware::bits_of(bits, N_BY_8) * 8 == n &&
                   hardware::bits_of(bits, M_BY_16) * 16 == m,
               "%u by %u in %x", m, n, bits);
        EXPECT(hardware::others_are_zero(bits, {SUM_TYPE, A_TYPE, B_TYPE, A_IS_MN_MAJOR,
                                                B_IS_MN_MAJOR, N_BY_8, M_BY_16}),
               "other bits in %x", bits);
    }
}

TEST(instruction_descriptor, bits_say_types_majors_and_shape)
{
    check_instruction<f16, f16>({0, 0, SUM_F32});
    check_instruction<bf16, bf16>({1, 1, SUM_F32});
    check_instruction<f16, bf16>({0, 1, SUM_F32});
    check_instruction<tf32, tf32>({2, 2, SUM_F32});
    check_instruction<e4m3, e4m3>({0, 0, SUM_F32});
    check_instruction<e4m3, e5m2>({0, 1, SUM_F32});
    check_instruction<e5m2, e4m3>({1, 0, SUM_F32});
    check_instruction<e5m2, e5m2>({1, 1, SUM_F32});
    check_instruction<s8, s8>({1, 1, SUM_S32});
}

// A pair multiplies twice the rows, and all columns of the tile.
template <u32 kRows, u32 kGroup>
void check_shape()
{
    using Config = InputConfig<bf16, true, false, kRows, 96, kGroup, 128, 32>;
    host::products.clear();
    multiply_sm100a<Config>(*tiles_at<Config>(host::shared));
    const u32 bits = host::products.at(0).instruction;
    EXPECT(hardware::bits_of(bits, M_BY_16) * 16 == kRows * kGroup, "M in %x", bits);
    EXPECT(hardware::bits_of(bits, N_BY_8) * 8 == 96, "N in %x", bits);
    EXPECT(hardware::bits_of(bits, A_IS_MN_MAJOR) == 0 &&
               hardware::bits_of(bits, B_IS_MN_MAJOR) == 1,
           "majors in %x", bits);
}

TEST(instruction_descriptor, shape_is_that_of_the_whole_group)
{
    check_shape<64, 1>();
    check_shape<128, 1>();
    check_shape<64, 2>();
    check_shape<128, 2>();
}

TEST(tensor_memory, allocated_columns_are_the_least_power_of_two_that_suffices)
{
    for (u32 columns = 1; columns <= 512; ++columns) {
        const u32 got = allocated_columns(columns);
        EXPECT((got & (got - 1)) == 0 && got >= 32 && got >= columns &&
                   (got == 32 || got / 2 < columns),
               "%u for %u", got, columns);
    }
}

// The stages of accumulators lie apart in what is allocated, and where the epilogue looks
// for them; the least that can be allocated suffices. In a pair with 64 rows a CTA has half
// of the columns in each half of its lanes.
template <u32 kRows, u32 kCols, u32 kGroup, u32 kCount>
void check_regions(u32 begin)
{
    const TmemOf<TmemConfig<kRows, kCols, kGroup, kCount>> tmem(
        *reinterpret_cast<u32 *>(host::shared));
    host::tmem_allocations.clear();
    host::tmem_free = begin;
    tmem.allocate();
    const u32 allocated = host::tmem_allocations[begin].columns;
    u32 columns = 0; // of a stage
    for (u32 col = 0; col < kCols; ++col) {
        columns = std::max(
            columns,
            hardware::find_in_tensor_memory(kRows, kCols, kGroup, 0, col).column + 1);
    }

    std::set<u32> used;
    for (u32 stage = 0; stage < kCount; ++stage) {
        const u32 first = tmem.accumulator(stage);
        EXPECT(first == tmem.accumulator_of_reader(stage),
               "stage %u lies elsewhere for "
               "the epilogue",
               stage);
        for (u32 col = first; col < first + columns; ++col) {
            EXPECT(col >= begin && col < begin + allocated && used.insert(col).second,
                   "column %u of stage %u, of %u", col, stage, allocated);
        }
    }
    EXPECT(allocated >= 32 && (allocated & (allocated - 1)) == 0 &&
               (allocated == 32 || allocated / 2 < *used.rbegin() + 1 - begin),
           "%u columns are allocated for %zu", allocated, used.size());
    tmem.release();
    EXPECT(host::tmem_allocations.empty(), "some columns are not freed");
}
template <u32 kRows, u32 kCols, u32 kGroup>
void check_regions_of()
{
    for (u32 begin : {0u, 32u, 256u}) {
        check_regions<kRows, kCols, kGroup, 1>(begin);
        check_regions<kRows, kCols, kGroup, 2>(begin);
    }
}

TEST(tensor_memory, stages_lie_apart_in_what_is_allocated_and_freed)
{
    check_regions_of<128, 256, 1>();
    check_regions_of<128, 80, 1>();
    check_regions_of<128, 16, 1>();
    check_regions_of<128, 256, 2>();
    check_regions_of<128, 48, 2>();
    check_regions_of<64, 256, 1>();
    check_regions_of<64, 24, 1>();
    check_regions_of<64, 256, 2>();
    check_regions_of<64, 64, 2>();
    check_regions_of<64, 144, 2>();
}
