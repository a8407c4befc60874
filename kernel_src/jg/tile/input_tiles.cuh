// SPDX-License-Identifier: MIT
// InputTiles: the payload of a stage of the input ring: what a CTA has of A and B for
// kKGroup blocks of K. How a block lies is its operand's (input_operand.cuh).
//
// Called by: those who load, for a stage that they have acquired (send by one thread, fill
// by all that load); and by those who read, before they do, or by all (clear_rest). Both
// chips' shared memory is composed of these, and MmaOp takes one.
#pragma once
#include <jg/common/choices.cuh>
#include <jg/ptx/mbarrier.cuh>
#include <jg/ptx/shared.cuh>
#include <jg/schedule/k_group.cuh>
#include <jg/schedule/work_item.cuh>
#include <jg/tile/input_operand.cuh>

namespace jg {

template <class Config>
struct alignas(1024) InputTiles {
    using A = InputA<Config>;
    using B = InputB<Config>;

    u8 a[Config::kKGroup][A::kBlockBytes];
    u8 b[Config::kKGroup][B::kBlockBytes];

    enum : u32 { kLoadedBytes = A::kLoadedBytes + B::kLoadedBytes }; // of a block
    static_assert(A::kBlockBytes % 1024 == 0 && B::kBlockBytes % 1024 == 0,
                  "swizzled tiles begin at multiples of 1024");

    // Are there rows that nothing is loaded to?
    enum : bool { kHasRest = A::kLoadedRows < A::kRows || B::kLoadedRows < B::kRows };
    static_assert(Config::kKGroup == 1 || !kHasRest, "of one block");

    // Writes zeros to these in so many stages: thread `thread` of so many its part.
    template <u32 kStages>
    static JG_DEVICE void clear_rest(InputTiles *stages, u32 thread, u32 threads)
    {
        clear_rest_of<A, kStages>(stages->a[0], thread, threads);
        clear_rest_of<B, kStages>(stages->b[0], thread, threads);
    }

    // `block`: that of the first stage.
    template <class Operand, u32 kStages>
    static JG_DEVICE void clear_rest_of(u8 *block, u32 thread, u32 threads)
    {
        enum : u32 {
            kRestBytes = (Operand::kRows - Operand::kLoadedRows) * 128,
            kStores = kRestBytes / 16, // of a stage
        };
        if constexpr (kStores > 0) {
            const u32 rest = ptx::shared_address(block) + Operand::kLoadedRows * 128;
            const u32 zeros[4] = {};
#pragma unroll 1
            for (u32 i = thread; i < kStages * kStores; i += threads) {
                const u32 stage = i / kStores;
                ptx::store_shared_4(
                    rest + stage * sizeof(InputTiles) + (i - stage * kStores) * 16, zeros);
            }
        }
    }

    // Starts the copies of so many blocks, from the item's block `first` on; their bytes
    // count at `full`.
    template <class Loader>
    JG_DEVICE void send(const Loader &loader, u64 *full, const WorkItem &item, u32 first,
                        u32 blocks)
    {
#pragma unroll
        for (u32 i = 0; i < Config::kKGroup; ++i) {
            if (i < blocks) {
                loader.load(a[i], b[i], full, item,
                            item.k_first + (first + i) * Config::kBlockK);
            }
        }
    }

    // The same of one block's A or B.
    template <FirstLoads kOperand, class Loader>
    JG_DEVICE void send_one(const Loader &loader, u64 *full, const WorkItem &item,
                            u32 block)
    {
        static_assert(Config::kKGroup == 1, "of one block");
        const u32 k = item.k_first + block * Config::kBlockK;
        if constexpr (kOperand == FirstLoads::kA) {
            loader.load_a(a[0], full, item, k);
        } else {
            loader.load_b(b[0], full, item, k);
        }
    }

    // The same by threads: their part of it is stored, or its copies are issued. What a
    // loader leaves to TMA (kSends) one of them sends beside that.
    template <class Loader>
    JG_DEVICE void fill(Loader &loader, u64 *full, const WorkItem &item, u32 first,
                        u32 blocks)
    {
        if constexpr (Loader::kSends) {
            if (loader.is_sender()) {
                ptx::mbarrier_expect_bytes(full, blocks * Loader::kSentBytes);
#pragma unroll 1
                for (u32 i = 0; i < blocks; ++i) {
                    loader.send(a[i], b[i], full, item,
                                item.k_first + (first + i) * Config::kBlockK);
                }
            }
        }
#pragma unroll 1
        for (u32 i = 0; i < blocks; ++i) {
            loader.load(a[i], b[i], item, item.k_first + (first + i) * Config::kBlockK);
        }
    }
};

} // namespace jg
