/* SPDX-License-Identifier: MIT */
/* Several processes on one folder: races for a key, writers killed at any moment, readers
 * beside a trimmer. A plain program; prints one line for each part, exits 1 on failure. */
#include "cache_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    N_RACES = 150,
    N_WRITERS = 8,
    N_KEYS = 50,
    KILLING_MS = 1500,
    TRIMMING_MS = 1000, /* usually; another number of them as the argument */
    MAX_STOPS = 2000
};

static int failures;

static void check(int holds, const char *what, long long value)
{
    if (!holds) {
        fprintf(stderr, "FAILED: %s (%lld)\n", what, value);
        failures++;
    }
}

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Key `number` of this program: 1 to 60 KB. */
static struct sample make_key(unsigned number)
{
    return sample_make(number, 1000 + (number * 7919u) % 60000, 200, 30);
}

static int wait_status(pid_t child)
{
    int status = 0;
    pid_t got;
    do {
        got = waitpid(child, &status, 0);
    } while (got < 0 && errno == EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct tally {
    int entries, bad;
};

static int count_entry(void *user, const jg_cache_entry *entry)
{
    struct tally *tally = user;
    tally->entries++;
    if (entry->state != JG_CACHE_OK) {
        fprintf(stderr, "entry %02x: %s\n", entry->name.bytes[0],
                jg_cache_result_name(entry->state));
        tally->bad++;
    }
    return 0;
}

static struct tally verify_all(struct fixture *f)
{
    struct tally tally = {0, 0};
    check(jg_cache_walk(f->cache, 1, count_entry, &tally) == JG_CACHE_OK, "walk", 0);
    return tally;
}

/* Two processes put one key at once: one stores, the other finds it. */
static void race_for_a_key(void)
{
    struct fixture f;
    int exists = 0;

    fixture_begin(&f);
    for (unsigned round = 0; round < N_RACES; round++) {
        struct sample s = make_key(round);
        int gate[2], results[2];
        pid_t child[2];
        if (pipe(gate) != 0) {
            exit(99);
        }
        for (int i = 0; i < 2; i++) {
            child[i] = fork();
            if (child[i] == 0) {
                char go;
                jg_cache *cache = fixture_open(&f, 0);
                close(gate[1]);
                if (read(gate[0], &go, 1) != 0) {
                    _exit(98);
                }
                _exit((int)sample_put(&f, cache, &s));
            }
        }
        close(gate[0]);
        close(gate[1]); /* both children read the end of the pipe now */
        for (int i = 0; i < 2; i++) {
            results[i] = wait_status(child[i]);
        }
        check((results[0] == JG_CACHE_OK && results[1] == JG_CACHE_EXISTS) ||
                  (results[1] == JG_CACHE_OK && results[0] == JG_CACHE_EXISTS),
              "one of two puts stores", results[0] * 10000 + results[1]);
        exists += results[0] == JG_CACHE_EXISTS || results[1] == JG_CACHE_EXISTS;
        check(sample_get(&f, f.cache, &s) == JG_CACHE_OK, "get after a race", round);
        sample_free(&s);
    }
    check(count_files(f.folder, ".tmp") == 0, "no temporary file after the races", 0);
    check(count_quarantined(&f) == 0, "nothing quarantined by the races", 0);
    check(verify_all(&f).entries == N_RACES, "one entry for each race", 0);
    printf("races: %d rounds, %d losers found the winner's entry\n", N_RACES, exists);
    fixture_end(&f);
}

/* Puts keys in a random order until killed, spoiling nothing. */
static void write_for_ever(struct fixture *f, unsigned long long seed)
{
    jg_cache *cache = fixture_open(f, 0);
    for (;;) {
        struct sample s = make_key((unsigned)(next_random(&seed) % N_KEYS));
        jg_cache_result result = sample_put(f, cache, &s);
        if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
            _exit(1);
        }
        if (next_random(&seed) % 4 == 0) { /* makes room for more writing */
            char path[256];
            entry_path(f, &s.name, path);
            unlink(path);
        }
        sample_free(&s);
    }
}

/* Reads until told to stop: every answer is a hit or a miss. */
static void read_until(struct fixture *f, long long end_ms)
{
    unsigned long long seed = 77;
    jg_cache *cache = fixture_open(f, 0);
    while (now_ms() < end_ms) {
        struct sample s = make_key((unsigned)(next_random(&seed) % N_KEYS));
        int result = sample_get(f, cache, &s);
        sample_free(&s);
        if (result != JG_CACHE_OK && result != JG_CACHE_MISS) {
            fprintf(stderr, "reader: %d %s\n", result, f->reason);
            _exit(1);
        }
    }
    _exit(0);
}

static pid_t start_writer(struct fixture *f, unsigned long long seed)
{
    pid_t child = fork();
    if (child == 0) {
        write_for_ever(f, seed);
    }
    return child;
}

static void kill_writers(void)
{
    struct fixture f;
    pid_t writers[N_WRITERS], reader;
    unsigned long long seed = (unsigned long long)getpid();
    long long end_ms = now_ms() + KILLING_MS;
    int kills = 0, temps;

    fixture_begin(&f);
    reader = fork();
    if (reader == 0) {
        read_until(&f, end_ms);
    }
    for (int i = 0; i < N_WRITERS; i++) {
        writers[i] = start_writer(&f, next_random(&seed));
    }
    while (now_ms() < end_ms) {
        struct timespec pause = {0, (long)(next_random(&seed) % 8000000)};
        int i = (int)(next_random(&seed) % N_WRITERS);
        nanosleep(&pause, NULL);
        kill(writers[i], SIGKILL);
        check(wait_status(writers[i]) == 1000 + SIGKILL, "a writer failed by itself", i);
        writers[i] = start_writer(&f, next_random(&seed));
        kills++;
    }
    for (int i = 0; i < N_WRITERS; i++) {
        kill(writers[i], SIGKILL);
        wait_status(writers[i]);
    }
    check(wait_status(reader) == 0, "the reader saw only hits and misses", 0);
    temps = count_files(f.folder, ".tmp");
    struct tally tally = verify_all(&f);
    check(tally.bad == 0, "no bad entry after kills", tally.bad);
    check(tally.entries > 0, "some entries were stored", tally.entries);
    check(count_quarantined(&f) == 0, "nothing quarantined by kills", 0);
    check(jg_cache_trim(f.cache, 0, 0, NULL, NULL) == JG_CACHE_OK, "trim", 0);
    check(count_files(f.folder, ".tmp") == 0, "trim removes what dead writers left", 0);
    check(verify_all(&f).entries == tally.entries, "trim keeps the entries", 0);
    printf("kills: %d writers killed, %d entries good, %d temporary files swept\n", kills,
           tally.entries, temps);
    fixture_end(&f);
}

/* Kills a put after its n-th stop at a system call, for every n. */
static void kill_at_every_system_call(void)
{
    struct fixture f;
    struct sample s = make_key(1);
    int n, published = 0, missing = 0, temps = 0;

    for (n = 1; n < MAX_STOPS; n++) {
        int status, stops = 0, result, done = 0;
        fixture_begin(&f);
        pid_t child = fork();
        if (child == 0) {
            jg_cache_options options = {.folder = f.folder}; /* with fsync */
            jg_cache *cache = NULL;
            if (jg_cache_open(&options, &cache, NULL, 0) != JG_CACHE_OK ||
                ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
                _exit(97);
            }
            raise(SIGSTOP);
            _exit((int)sample_put(&f, cache, &s));
        }
        waitpid(child, &status, 0);
        if (!WIFSTOPPED(status)) {
            printf("kill at every system call: SKIPPED, processes cannot be traced here\n");
            fixture_end(&f);
            sample_free(&s);
            return;
        }
        while (stops < n && !done) {
            if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) {
                break;
            }
            waitpid(child, &status, 0);
            done = WIFEXITED(status) || WIFSIGNALED(status);
            stops++;
        }
        if (!done) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        } else {
            check(WIFEXITED(status) && WEXITSTATUS(status) == JG_CACHE_OK, "whole put",
                  status);
        }
        temps += count_files(f.folder, ".tmp");
        result = sample_get(&f, f.cache, &s);
        check(result == JG_CACHE_OK || result == JG_CACHE_MISS, "get after a kill", result);
        published += result == JG_CACHE_OK;
        missing += result == JG_CACHE_MISS;
        check(verify_all(&f).bad == 0, "no bad entry after a kill", n);
        check(jg_cache_trim(f.cache, 0, 0, NULL, NULL) == JG_CACHE_OK &&
                  count_files(f.folder, ".tmp") == 0,
              "trim after a kill", n);
        result = (int)sample_put(&f, f.cache, &s);
        check(result == JG_CACHE_OK || result == JG_CACHE_EXISTS, "put after a kill", n);
        check(sample_get(&f, f.cache, &s) == JG_CACHE_OK, "get of the second put", n);
        fixture_end(&f);
        if (done) {
            break;
        }
    }
    sample_free(&s);
    check(n < MAX_STOPS && missing > 0 && published > 0 && temps > 0,
          "kills happen before, during and after the write", n);
    printf("kill at every system call: %d stops, %d misses, %d hits, %d temporary files\n",
           n, missing, published, temps);
}

static int trimming_ms = TRIMMING_MS;

/* One process fills, one removes everything over and over, one reads. */
static void read_beside_a_trimmer(void)
{
    struct fixture f;
    long long end_ms = now_ms() + trimming_ms;

    fixture_begin(&f);
    pid_t writer = fork();
    if (writer == 0) {
        jg_cache *cache = fixture_open(&f, 0);
        unsigned long long seed = 5;
        while (now_ms() < end_ms) {
            struct sample s = make_key((unsigned)(next_random(&seed) % N_KEYS));
            jg_cache_result result = sample_put(&f, cache, &s);
            sample_free(&s);
            if (result != JG_CACHE_OK && result != JG_CACHE_EXISTS) {
                fprintf(stderr, "writer: %d %s\n", (int)result, f.reason);
                _exit(1);
            }
        }
        _exit(0);
    }
    pid_t trimmer = fork();
    if (trimmer == 0) {
        jg_cache *cache = fixture_open(&f, 0);
        uint64_t removed, all = 0;
        while (now_ms() < end_ms) {
            if (jg_cache_trim(cache, 1, 0, &removed, NULL) != JG_CACHE_OK) {
                _exit(1);
            }
            all += removed;
        }
        _exit(all > 0 ? 0 : 2);
    }
    pid_t reader = fork();
    if (reader == 0) {
        read_until(&f, end_ms);
    }
    check(wait_status(writer) == 0, "the writer beside a trimmer", 0);
    check(wait_status(trimmer) == 0, "the trimmer", 0);
    check(wait_status(reader) == 0, "the reader beside a trimmer", 0);
    check(verify_all(&f).bad == 0, "no bad entry after trimming", 0);
    check(count_files(f.folder, ".tmp") == 0, "no temporary file after trimming", 0);
    printf("trimmer: reader and writer ran %d ms beside it\n", trimming_ms);
    fixture_end(&f);
}

/* A set-user-id copy of this program, started by user 65534, must ignore its environment.
 */
static void run_set_user_id(const char *self)
{
    char root[] = "/var/tmp/jg-cache-test-XXXXXX", copy[64];
    size_t size;

    if (geteuid() != 0 || !mkdtemp(root)) {
        printf("set-user-id: SKIPPED, needs root and /var/tmp\n");
        return;
    }
    snprintf(copy, sizeof(copy), "%s/copy", root);
    unsigned char *bytes = read_file(self, &size);
    write_file(copy, bytes, size);
    free(bytes);
    if (chmod(root, 0755) != 0 || chmod(copy, 04755) != 0) {
        exit(99);
    }
    pid_t child = fork();
    if (child == 0) {
        char environment[96];
        become_nobody(NULL);
        snprintf(environment, sizeof(environment), "XDG_CACHE_HOME=%s/xdg", root);
        execle(copy, copy, "--raised", (char *)NULL,
               (char *[]){environment, "HOME=/var/tmp", NULL});
        _exit(96);
    }
    int answer = wait_status(child);
    if (answer == 95) {
        printf("set-user-id: SKIPPED, the file system does not honour the mode\n");
    } else {
        check(answer == JG_CACHE_NO_FOLDER, "set-user-id program", answer);
    }
    snprintf(copy, sizeof(copy), "%s/xdg", root);
    check(!path_exists(copy), "a set-user-id program used XDG_CACHE_HOME", 0);
    fixture_remove_tree(root);
    if (answer != 95) {
        printf("set-user-id: environment ignored\n");
    }
}

/* What the set-user-id copy does: real and effective user are made equal first, so that
 * only the kernel's own mark (AT_SECURE) is left. */
static int open_with_raised_rights(void)
{
    jg_cache *cache = NULL;
    if (geteuid() == getuid()) {
        return 95;
    }
    if (setresuid(0, 0, 0) != 0) {
        return 94;
    }
    jg_cache_result result = jg_cache_open(NULL, &cache, NULL, 0);
    jg_cache_close(cache);
    return (int)result;
}

int main(int argc, char **argv)
{
    char self[512];

    if (argc > 1 && strcmp(argv[1], "--raised") == 0) {
        return open_with_raised_rights();
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (length <= 0) {
        return 99;
    }
    self[length] = '\0';
    setvbuf(stdout, NULL, _IONBF, 0);
    trimming_ms = argc > 1 ? atoi(argv[1]) : TRIMMING_MS;
    race_for_a_key();
    kill_at_every_system_call();
    kill_writers();
    read_beside_a_trimmer();
    run_set_user_id(self);
    return failures > 0;
}
