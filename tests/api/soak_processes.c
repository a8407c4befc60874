/* SPDX-License-Identifier: MIT */
/*
 * Processes that share a cache folder, of which one is killed now and then, wherever it is.
 * What any of them reads is the kernel that it asked for, nothing in the folder is damaged
 * at the end, and there was no compile too many: one for each key, and one for each kill,
 * which may have cost one.
 *
 *     soak_processes [OPERATIONS [MINUTES]]
 *
 * With MINUTES it goes on for so long, or for OPERATIONS if they are done first. New keys
 * come all the time, so that processes meet at keys that nobody has compiled.
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api_fixture.h"
#include "draws.h"
#include "plain_test.h"

enum {
    PROCESSES = 16,
    USUAL_OPERATIONS = 1500,
    OPERATIONS_OF_A_KEY = 10, /* on average */
    KEYS_AT_A_TIME = 8,
    OPERATIONS_OF_A_CONTEXT = 100,
    OPERATIONS_OF_A_LIFE = 25, /* on average, of all processes, until one is killed */
    MOST_KEYS = 1 << 20
};

/* In memory that all processes share. */
struct shared {
    atomic_long begun, done, disk_hits;
    atomic_int compiles, bad_reads, failures;
    atomic_bool is_over;
    atomic_uchar is_asked[MOST_KEYS];
};

static struct shared *shared;
static struct api_fixture home; /* its folder only */
static long operations = USUAL_OPERATIONS;

/* ------------------------------------------------------------------------- in a child */

static void open_context(struct api_fixture *fixture)
{
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = "sm_90a",
                                              .no_device = 1,
                                              .cache_dir = home.folder,
                                              .compile_limit_ms = 3600000};
    api_fixture_open_with(fixture, &options, 1);
    jg_compiler_dummy_count_in(fixture->compiler, &shared->compiles);
}

static void close_context(struct api_fixture *fixture)
{
    const jit_gemm_stats stats = api_fixture_stats(fixture);
    if (stats.cache_rejects > 0 || stats.cache_store_errors > 0) {
        fprintf(stderr, "%llu entries were refused, %llu not stored\n",
                (unsigned long long)stats.cache_rejects,
                (unsigned long long)stats.cache_store_errors);
        atomic_fetch_add(&shared->bad_reads, 1);
    }
    jit_gemm_context_destroy(&fixture->context);
}

/* The problem of a key: its snippet is its own. */
static jit_gemm_status name_problem(const struct api_fixture *fixture, long key,
                                    jit_gemm_problem *ret_problem)
{
    char name[32];
    char source[48];
    char text[96];
    snprintf(name, sizeof(name), "key_%ld", key);
    snprintf(source, sizeof(source), "d = acc + %ld.0f;", key);
    snprintf(text, sizeof(text), "512x512x512 bf16 epilogue=%s", name);
    const jit_gemm_epilogue epilogue = {
        .struct_size = sizeof(epilogue), .name = name, .source = source};
    const jit_gemm_status status = jit_gemm_epilogue_register(fixture->context, &epilogue);
    return status == JIT_GEMM_OK ? jit_gemm_problem_parse(text, ret_problem) : status;
}

static bool build_one(const struct api_fixture *fixture, long key)
{
    jit_gemm_problem problem;
    jit_gemm_info info = {.struct_size = sizeof(info)};
    bool is_right = false;
    if (name_problem(fixture, key, &problem) != JIT_GEMM_OK ||
        api_build_and_compare(fixture, &problem, &info, &is_right) != JIT_GEMM_OK) {
        fprintf(stderr, "key %ld: %s\n", key, jit_gemm_last_error());
        atomic_fetch_add(&shared->failures, 1);
        return false;
    }
    if (!is_right) {
        fprintf(stderr, "key %ld: the code of something else\n", key);
        atomic_fetch_add(&shared->bad_reads, 1);
    }
    atomic_fetch_add(&shared->disk_hits, info.origin == JIT_GEMM_ORIGIN_DISK);
    return is_right;
}

static void be_child(uint32_t seed)
{
    struct api_fixture *fixture = calloc(1, sizeof(*fixture));
    bool goes_on = true;
    while (goes_on) {
        open_context(fixture);
        for (int i = 0; i < OPERATIONS_OF_A_CONTEXT && goes_on; i++) {
            const long number = atomic_fetch_add(&shared->begun, 1);
            goes_on = number < operations && !atomic_load(&shared->is_over);
            if (goes_on) {
                const long key =
                    number / OPERATIONS_OF_A_KEY + draw_bits(&seed) % KEYS_AT_A_TIME;
                atomic_store(&shared->is_asked[key], 1);
                goes_on = build_one(fixture, key);
                atomic_fetch_add(&shared->done, 1);
            }
        }
        close_context(fixture);
    }
    free(fixture);
    _exit(0);
}

/* ------------------------------------------------------------------------ in the parent */

static pid_t start_child(void)
{
    static uint32_t count;
    count++;
    const pid_t child = fork();
    if (child == 0) {
        be_child(count);
    }
    expect(child > 0, "fork");
    return child;
}

/* Was it still there to be killed? Another child takes its place. */
static int kill_one(pid_t *child)
{
    int status = 0;
    kill(*child, SIGKILL);
    (void)waitpid(*child, &status, 0);
    expect(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a child failed");
    *child = start_child();
    return WIFSIGNALED(status);
}

/* The number of kills. */
static int kill_at_random(pid_t children[PROCESSES], time_t end)
{
    int kills = 0;
    long next = OPERATIONS_OF_A_LIFE;
    while (atomic_load(&shared->begun) < operations &&
           atomic_load(&shared->failures) + atomic_load(&shared->bad_reads) == 0 &&
           (end == 0 || time(NULL) < end)) {
        if (atomic_load(&shared->begun) < next) {
            usleep(200);
            continue;
        }
        next += 1 + (long)draw(2 * OPERATIONS_OF_A_LIFE);
        kills += kill_one(&children[draw(PROCESSES)]);
    }
    return kills;
}

static int count_entry(void *user, const jg_cache_entry *entry)
{
    int *counts = user; /* good, bad */
    counts[entry->state == JG_CACHE_OK ? 0 : 1]++;
    return 0;
}

static int count_asked(void)
{
    int asked = 0;
    for (long key = 0; key < MOST_KEYS; key++) {
        asked += atomic_load(&shared->is_asked[key]);
    }
    return asked;
}

static void look_at_the_folder(void)
{
    const jg_cache_options options = {.folder = home.folder};
    jg_cache *cache = NULL;
    int counts[2] = {0, 0};
    expect(jg_cache_open(&options, &cache, NULL, 0) == JG_CACHE_OK, "the folder opens");
    expect(jg_cache_walk(cache, true, count_entry, counts) == JG_CACHE_OK, "walk");
    expect(counts[0] > 0 && counts[1] == 0, "all entries are good");
    expect(jg_cache_trim(cache, 0, 0, NULL, NULL) == JG_CACHE_OK, "trim");
    jg_cache_close(cache);
    printf("%d entries, none damaged\n", counts[0]);
}

/* What was asked for is there, but for what only a process asked for that was killed. */
static void read_all_again(int kills)
{
    struct api_fixture *fixture = calloc(1, sizeof(*fixture));
    const int before = atomic_load(&shared->compiles);
    const long end = atomic_load(&shared->begun) / OPERATIONS_OF_A_KEY + KEYS_AT_A_TIME;
    for (long first = 0; first < end; first += OPERATIONS_OF_A_CONTEXT) {
        open_context(fixture);
        for (long key = first; key < first + OPERATIONS_OF_A_CONTEXT; key++) {
            if (key < end && atomic_load(&shared->is_asked[key]) != 0) {
                expect(build_one(fixture, key), "every key is served");
            }
        }
        close_context(fixture);
    }
    free(fixture);
    expect(atomic_load(&shared->compiles) - before <= kills, "nothing was lost");
}

int main(int argc, char **argv)
{
    pid_t children[PROCESSES];
    const long minutes = argc > 2 ? atol(argv[2]) : 0;
    operations = argc > 1 ? atol(argv[1]) : USUAL_OPERATIONS;
    if (operations > (long)(MOST_KEYS - PROCESSES) * OPERATIONS_OF_A_KEY) {
        fprintf(stderr, "fewer operations, or another MOST_KEYS\n");
        return 2;
    }
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                  -1, 0);
    expect(shared != MAP_FAILED, "shared memory");
    (void)api_fixture_options(&home);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = start_child();
    }

    const int kills = kill_at_random(children, minutes > 0 ? time(NULL) + 60 * minutes : 0);

    atomic_store(&shared->is_over, true);
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        (void)waitpid(children[i], &status, 0);
        expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child failed");
    }
    const int asked = count_asked();
    const int compiles = atomic_load(&shared->compiles);
    printf("%ld operations, %d keys, %d kills, %d compiles, %ld read from disk\n",
           atomic_load(&shared->done), asked, kills, compiles,
           atomic_load(&shared->disk_hits));
    expect(kills > 0 && asked > 0, "there was something to see");
    expect(compiles <= asked + kills, "a compile for each key, and for each kill");
    expect(atomic_load(&shared->disk_hits) > 0, "processes read what others compiled");
    expect(atomic_load(&shared->failures) == 0, "no call fails");
    look_at_the_folder();
    read_all_again(kills);
    expect(atomic_load(&shared->bad_reads) == 0, "no bad read");
    api_fixture_close(&home);
    return plain_end("soak_processes");
}
