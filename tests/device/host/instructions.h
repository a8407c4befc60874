/* SPDX-License-Identifier: MIT */
/* The memories and instructions that device code meets on the host. Threads run one after
 * the other; what each of them accesses is written down, so that the accesses of a warp's
 * lanes can be laid side by side afterwards. */
#ifndef JG_TESTS_INSTRUCTIONS_H
#define JG_TESTS_INSTRUCTIONS_H

#include "check.h"

namespace host {

enum : uint32_t { LANES = 32, SHARED_BYTES = 232448, TMEM_LANES = 128, TMEM_COLUMNS = 512 };

/* ------------------------------------------------------------------ shared memory */

alignas(1024) inline uint8_t shared[SHARED_BYTES];
/* How often each byte was written. */
inline uint8_t shared_writes[SHARED_BYTES];

inline void clear_shared(uint8_t filler)
{
    std::memset(shared, filler, sizeof(shared));
    std::memset(shared_writes, 0, sizeof(shared_writes));
}

inline unsigned int shared_offset(const void *pointer)
{
    return static_cast<unsigned int>(static_cast<const uint8_t *>(pointer) - shared);
}

inline bool check_shared(uint32_t address, uint32_t bytes)
{
    const bool is_inside = address % bytes == 0 && address <= SHARED_BYTES - bytes;
    EXPECT(is_inside, "%u bytes of shared memory at %u", bytes, address);
    return is_inside;
}

inline void write_shared(uint32_t address, const void *source, uint32_t bytes)
{
    if (check_shared(address, bytes)) {
        std::memcpy(shared + address, source, bytes);
        for (uint32_t i = 0; i < bytes; ++i) {
            shared_writes[address + i]++;
        }
    }
}

inline void read_shared(uint32_t address, void *target, uint32_t bytes)
{
    std::memset(target, 0, bytes);
    if (check_shared(address, bytes)) {
        std::memcpy(target, shared + address, bytes);
    }
}

/* -------------------------------------------------------------------------- warps */

struct access {
    uint32_t address, bytes;
};
/* One stmatrix of a warp: matrix i is registers[lane][i], its row r goes to address[8 i +
 * r]. */
struct matrix_store {
    uint32_t address[LANES], registers[LANES][4];
    bool transposed;
};

/* What the lanes of the running warp have accessed, in order. */
inline std::vector<access> accesses[LANES];
inline std::vector<matrix_store> matrix_stores;
inline size_t matrix_stores_of_lane;

inline void note_access(uint32_t address, uint32_t bytes)
{
    accesses[threadIdx.x % LANES].push_back({address, bytes});
}

inline void add_matrix_store(uint32_t address, const uint32_t (&registers)[4],
                             bool transposed)
{
    if (matrix_stores_of_lane == matrix_stores.size()) {
        matrix_stores.push_back({});
    }
    matrix_store &store = matrix_stores[matrix_stores_of_lane++];
    store.address[threadIdx.x % LANES] = address;
    std::memcpy(store.registers[threadIdx.x % LANES], registers, sizeof(registers));
    store.transposed = transposed;
}

/* PTX ISA, stmatrix: lane l has elements 2 (l % 4) and the next of row l / 4, or of that
 * column of the matrix where it is transposed. */
inline void finish_matrix_store(const matrix_store &store)
{
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
        for (uint32_t row = 0; row < 8; ++row) {
            uint16_t values[8];
            for (uint32_t col = 0; col < 8; ++col) {
                const uint32_t from = store.transposed ? col : row;
                const uint32_t at = store.transposed ? row : col;
                const uint32_t pair = store.registers[4 * from + at / 2][matrix];
                values[col] = static_cast<uint16_t>(pair >> at % 2 * 16);
            }
            write_shared(store.address[8 * matrix + row], values, sizeof(values));
        }
    }
}

/* Runs `code` as each thread of a warp, `warp` counted in the CTA. */
template <class Code>
void run_warp(uint32_t warp, Code code)
{
    matrix_stores.clear();
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        accesses[lane].clear();
        matrix_stores_of_lane = 0;
        threadIdx.x = warp * LANES + lane;
        code();
        EXPECT(matrix_stores_of_lane == matrix_stores.size(), "lane %u diverges", lane);
    }
    for (const matrix_store &store : matrix_stores) {
        finish_matrix_store(store);
    }
}

/* Do these accesses meet in a bank of shared memory, at another word? */
inline bool have_conflict(const std::vector<access> &part)
{
    std::map<uint32_t, uint32_t> word_of_bank;
    for (const access &one : part) {
        for (uint32_t word = one.address / 4; word < (one.address + one.bytes) / 4;
             ++word) {
            if (word_of_bank.emplace(word % 32, word).first->second != word) {
                return true;
            }
        }
    }
    return false;
}

/* Accesses of the last warp whose lanes meet in a bank. The hardware takes 128 bytes at a
 * time: all lanes, half or a quarter of them; of stmatrix, a matrix. */
inline uint32_t count_bank_conflicts()
{
    uint32_t conflicts = 0;
    for (size_t i = 0; i < accesses[0].size(); ++i) {
        const uint32_t lanes = 128 / accesses[0][i].bytes;
        for (uint32_t first = 0; first < LANES; first += lanes) {
            std::vector<access> part;
            for (uint32_t lane = first; lane < first + lanes; ++lane) {
                part.push_back(accesses[lane].at(i));
            }
            conflicts += have_conflict(part);
        }
    }
    for (const matrix_store &store : matrix_stores) {
        for (uint32_t matrix = 0; matrix < 4; ++matrix) {
            std::vector<access> part;
            for (uint32_t row = 0; row < 8; ++row) {
                part.push_back({store.address[8 * matrix + row], 16});
            }
            conflicts += have_conflict(part);
        }
    }
    return conflicts;
}

/* ----------------------------------------------------------------------- barriers */

/* Of a cluster, whose CTAs have them at the same address; counts by rank. */
struct barrier {
    uint32_t wanted; /* arrivals that complete a phase */
    std::map<uint32_t, uint32_t> arrivals, bytes;
};
inline std::map<const void *, barrier> barriers;
/* Of the CTA that runs. */
inline uint32_t cta_rank;

/* ----------------------------------------------------------------- launch control */

struct clc_request {
    const void *response, *barrier;
    bool to_all; /* CTAs of the cluster */
};
inline std::vector<clc_request> clc_requests;
/* First CTAs of the clusters that are given up, in order; then there are refusals. */
inline std::vector<uint32_t> clc_grants;
/* What the thread that runs has read so far. */
inline std::vector<const void *> clc_reads;

/* ------------------------------------------------------------------ global memory */

/* What may be read and written; everything else is an error. */
inline std::map<uint64_t, uint64_t> global_regions; /* begin, bytes */

inline uint64_t global_address(const void *pointer)
{
    return reinterpret_cast<uint64_t>(pointer);
}

inline void allow_global(const void *pointer, uint64_t bytes)
{
    global_regions[global_address(pointer)] = bytes;
}

/* The memory there, or NULL. `bytes` of it are accessed, or fewer. */
inline uint8_t *find_global(uint64_t address, uint32_t bytes, uint32_t used)
{
    const auto after = global_regions.upper_bound(address);
    const bool is_inside =
        after != global_regions.begin() &&
        address - std::prev(after)->first + used <= std::prev(after)->second;
    EXPECT(used == 0 || is_inside, "%u bytes of global memory where none is", used);
    EXPECT(address % bytes == 0, "address %llu for %u bytes",
           static_cast<unsigned long long>(address), bytes);
    return is_inside ? reinterpret_cast<uint8_t *>(address) : nullptr;
}

inline void read_global(uint64_t address, void *target, uint32_t bytes)
{
    const uint8_t *source = find_global(address, bytes, bytes);
    std::memset(target, 0, bytes);
    if (source != nullptr) {
        std::memcpy(target, source, bytes);
    }
}

inline void write_global(uint64_t address, const void *source, uint32_t bytes)
{
    uint8_t *target = find_global(address, bytes, bytes);
    if (target != nullptr) {
        std::memcpy(target, source, bytes);
    }
}

/* ------------------------------------------------------------------- tensor core */

inline float tensor_memory[TMEM_LANES][TMEM_COLUMNS];

/* Columns that are allocated, by their address, and by how many CTAs together. */
struct tmem_allocation {
    uint32_t columns, group;
};
inline std::map<uint32_t, tmem_allocation> tmem_allocations;
/* Where the next one begins. */
inline uint32_t tmem_free;

/* A product of 32 bytes of K, as the code asked for it. */
struct product {
    uint64_t a, b;        /* matrix descriptors */
    uint32_t instruction; /* of tcgen05.mma */
    bool accumulates;
};
inline std::vector<product> products;
/* Where tcgen05.mma is told to leave its sums. */
enum : uint32_t { ACCUMULATOR = 96 };

/* ------------------------------------------------------------------- tensor copies */

/* A box between shared memory and a matrix, as the code asked for it. */
struct box_copy {
    const void *map;
    uint32_t address;            /* of shared memory */
    int32_t inner, outer, batch; /* of its first element */
    int32_t half;                /* of a matrix whose columns come in pairs */
};
inline std::vector<box_copy> box_loads, box_stores;

} // namespace host

#endif
