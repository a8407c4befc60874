/* SPDX-License-Identifier: MIT */
/*
 * A layer on several GPUs, one process each: Y = (silu(X * G) * (X * U)) * W. Each has a
 * share of the columns of G and U and the same share of the rows of W; NCCL adds up what
 * they make of Y. Once all of that is done in order, and once by chunks of rows on two
 * streams: while the rows of one are added up, the other multiplies. Each process compares
 * both with the product of all columns on its own GPU.
 *
 *     13_tensor_parallel_mlp [processes=2] [tokens=4096] [width=4096] [hidden=14336]
 *                            [chunks=4] [repeats=20]
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tensor_parallel_mlp.h"

enum { MOST_PROCESSES = 16, NO_GPU = 77 };

/* Gives each process the identifier that the first one has made. */
static bool share_id(const struct rank *rank, const int channel[2], ncclUniqueId *ret_id)
{
    if (rank->number != 0) {
        return read(channel[0], ret_id, sizeof(*ret_id)) == sizeof(*ret_id);
    }
    if (broken("identifier", ncclGetUniqueId(ret_id))) {
        return false;
    }
    for (int i = 1; i < rank->sizes.processes; i++) {
        if (write(channel[1], ret_id, sizeof(*ret_id)) != sizeof(*ret_id)) {
            return false;
        }
    }
    return true;
}

/* The exit status of one process: nothing of CUDA was called before the fork. */
static int run_rank(struct rank *rank, const int channel[2])
{
    const jit_gemm_context_options options = {
        .struct_size = sizeof(options), .device = rank->number, .exact_device = 1};
    ncclUniqueId id;
    if (failed("skipped, no GPU for each process",
               jit_gemm_context_create(&options, &rank->context)) ||
        !open_driver()) {
        return NO_GPU;
    }
    const bool is_good = share_id(rank, channel, &id) && prepare(rank, &id) &&
                         check_results(rank) && (rank->sizes.repeats == 0 || measure(rank));
    if (rank->comm != NULL) {
        (void)ncclCommDestroy(rank->comm);
    }
    return is_good ? 0 : 1; /* kernels and memory end with the process */
}

/* Waits for all; after a failure the others would wait for NCCL for ever, and are ended. */
static int wait_for(pid_t *children, int count)
{
    int code = 0, status = 0;
    for (pid_t ended = 0; (ended = wait(&status)) > 0;) {
        const int result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        for (int i = 0; i < count; i++) {
            if (children[i] == ended) {
                children[i] = 0;
            } else if (children[i] > 0 && result != 0) {
                (void)kill(children[i], SIGKILL);
            }
        }
        code = code == 0 ? result : code;
    }
    return code;
}

static bool read_sizes(int count, char **words, struct sizes *sizes)
{
    const struct {
        const char *name;
        int *value, least;
    } keys[] = {{"processes", &sizes->processes, 1}, {"tokens", &sizes->tokens, 1},
                {"width", &sizes->width, 8},         {"hidden", &sizes->hidden, 8},
                {"chunks", &sizes->chunks, 1},       {"repeats", &sizes->repeats, 0}};
    for (int i = 1; i < count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
            const size_t length = strlen(keys[k].name);
            if (strncmp(words[i], keys[k].name, length) == 0 && words[i][length] == '=') {
                char *end = NULL;
                const long value = strtol(words[i] + length + 1, &end, 10);
                is_known = end != words[i] + length + 1 && *end == '\0' &&
                           value >= keys[k].least && value <= 1 << 20;
                *keys[k].value = (int)value;
            }
        }
        if (!is_known) {
            fprintf(stderr,
                    "%s: not one of processes, tokens, width, hidden, chunks and "
                    "repeats with a number, as tokens=4096\n",
                    words[i]);
            return false;
        }
    }
    if (sizes->processes > MOST_PROCESSES || sizes->width % 8 != 0 ||
        sizes->hidden % (8 * sizes->processes) != 0 || sizes->tokens % sizes->chunks != 0) {
        fprintf(stderr,
                "at most %d processes; tokens must be a multiple of chunks, width "
                "of 8, hidden of 8 * processes\n",
                MOST_PROCESSES);
        return false;
    }
    sizes->share = sizes->hidden / sizes->processes;
    sizes->rows = sizes->tokens / sizes->chunks;
    return true;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {.processes = 2,
                          .tokens = 4096,
                          .width = 4096,
                          .hidden = 14336,
                          .chunks = 4,
                          .repeats = 20};
    pid_t children[MOST_PROCESSES] = {0};
    int channel[2], count = 0;

    if (!read_sizes(argc, argv, &sizes) || pipe(channel) != 0) {
        return 1;
    }
    for (; count < sizes.processes; count++) {
        children[count] = fork();
        if (children[count] == 0) {
            struct rank rank = {.number = count, .sizes = sizes};
            exit(run_rank(&rank, channel));
        }
        if (children[count] < 0) {
            perror("fork");
            for (int i = 0; i < count; i++) {
                (void)kill(children[i], SIGKILL);
            }
            (void)wait_for(children, count);
            return 1;
        }
    }
    return wait_for(children, sizes.processes);
}
