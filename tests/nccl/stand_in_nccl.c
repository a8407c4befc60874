/* SPDX-License-Identifier: MIT */
/*
 * What the example of several GPUs takes of NCCL, between processes that each have an
 * emulated device. Data goes through memory that all share; each waits for its own stream,
 * and for the others, so that a call that one of them lacks ends in the test's timeout.
 * Sums are rounded once, in bf16.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nccl.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST_RANKS = 16, MOST_VALUES = 1 << 16 };

struct shared {
    pthread_barrier_t barrier;
    size_t counts[MOST_RANKS];
    uint16_t values[MOST_RANKS][MOST_VALUES];
};

struct ncclComm {
    int rank, ranks;
    struct shared *shared;
};

static int (*synchronize)(void *);
static int (*to_host)(void *, unsigned long long, size_t, void *);
static int (*to_device)(unsigned long long, const void *, size_t, void *);

static bool open_driver(void)
{
    const struct {
        const char *name;
        void *function;
    } rows[] = {{"cuStreamSynchronize", &synchronize},
                {"cuMemcpyDtoHAsync_v2", &to_host},
                {"cuMemcpyHtoDAsync_v2", &to_device}};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *symbol = library != NULL ? dlsym(library, rows[i].name) : NULL;
        if (symbol == NULL) {
            return false;
        }
        memcpy(rows[i].function, &symbol, sizeof(symbol));
    }
    return true;
}

/* The name of a file is the identifier. Whoever comes to it first does not matter: the one
 * that made it has set up the barrier. */
static struct shared *map_shared(const char *name)
{
    const int file = open(name, O_RDWR);
    void *memory = MAP_FAILED;
    if (file >= 0) {
        memory =
            mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        (void)close(file);
    }
    return memory == MAP_FAILED ? NULL : memory;
}

EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    const char *folder = getenv("TMPDIR");
    snprintf(uniqueId->internal, sizeof(uniqueId->internal), "%s/stand_in_nccl_XXXXXX",
             folder != NULL ? folder : "/tmp");
    const int file = mkstemp(uniqueId->internal);
    const bool is_long = file >= 0 && ftruncate(file, sizeof(struct shared)) == 0;
    if (file >= 0) {
        (void)close(file);
    }
    return is_long ? ncclSuccess : ncclSystemError;
}

EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId,
                                     int rank)
{
    struct shared *shared = map_shared(commId.internal);
    pthread_barrierattr_t attributes;
    if (shared == NULL || nranks > MOST_RANKS || rank < 0 || rank >= nranks ||
        !open_driver()) {
        return ncclInvalidArgument;
    }
    *comm = malloc(sizeof(**comm));
    if (*comm == NULL) {
        return ncclSystemError;
    }
    **comm = (struct ncclComm){.rank = rank, .ranks = nranks, .shared = shared};
    if (rank == 0) {
        (void)pthread_barrierattr_init(&attributes);
        (void)pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
        (void)pthread_barrier_init(&shared->barrier, &attributes, (unsigned)nranks);
        __atomic_store_n(&shared->counts[0], 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&shared->counts[0], __ATOMIC_ACQUIRE) == 0) {
        (void)usleep(1000);
    }
    (void)pthread_barrier_wait(&shared->barrier);
    if (rank == 0) {
        (void)unlink(commId.internal);
    }
    return ncclSuccess;
}

static float from_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    return *(float *)memcpy(&value, &bits, sizeof(value));
}

static uint16_t to_bf16(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The counts of all ranks must agree, or one of them is in another call. */
EXPORT ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                                  ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                  cudaStream_t stream)
{
    struct shared *shared = comm->shared;
    static uint16_t sums[MOST_VALUES];
    bool agrees = true;

    if (count > MOST_VALUES || datatype != ncclBfloat16 || op != ncclSum) {
        return ncclInvalidArgument;
    }
    /* Only what this stream has to do is waited for, as NCCL does. */
    if (to_host(shared->values[comm->rank], (uintptr_t)sendbuff, count * 2, stream) != 0 ||
        synchronize(stream) != 0) {
        return ncclUnhandledCudaError;
    }
    shared->counts[comm->rank] = count;
    (void)pthread_barrier_wait(&shared->barrier);
    for (int rank = 0; rank < comm->ranks; rank++) {
        agrees = agrees && shared->counts[rank] == count;
    }
    for (size_t i = 0; i < count; i++) {
        float sum = 0;
        for (int rank = 0; rank < comm->ranks; rank++) {
            sum += from_bf16(shared->values[rank][i]);
        }
        sums[i] = to_bf16(sum);
    }
    (void)pthread_barrier_wait(&shared->barrier);
    if (!agrees) {
        return ncclInvalidUsage;
    }
    return to_device((uintptr_t)recvbuff, sums, count * 2, stream) == 0 &&
                   synchronize(stream) == 0
               ? ncclSuccess
               : ncclUnhandledCudaError;
}

EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    (void)munmap(comm->shared, sizeof(*comm->shared));
    free(comm);
    return ncclSuccess;
}

EXPORT const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclInvalidUsage ? "the processes are in different calls"
                                      : "the stand-in cannot do that";
}
