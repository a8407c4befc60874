/* SPDX-License-Identifier: MIT */
/* Claims: who has a key, and what takes no claims. */
#include "cache_fixture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fixture f;
static struct sample s, other;
static char path[256];

static void begin(void)
{
    fixture_begin(&f);
    s = sample_make(1, 10, 10, 0);
    other = sample_make(2, 10, 10, 0);
    snprintf(path, sizeof(path), "%s/v1/.lock", f.folder);
}

static void end(void)
{
    sample_free(&s);
    sample_free(&other);
    fixture_end(&f);
}

TestSuite(cache_claim, .init = begin, .fini = end);

Test(cache_claim, is_one_for_each_key_until_it_ends)
{
    jg_cache *second = fixture_open(&f, 0);
    jg_cache_claim claim = {0};
    jg_cache_claim third = {0};
    jg_cache_claim refused = {0};
    cr_expect_eq(jg_cache_claim_try(f.cache, &s.name, &claim), JG_CACHE_CLAIM_OWN);
    cr_expect_eq(jg_cache_claim_try(f.cache, &s.name, &refused), JG_CACHE_CLAIM_TAKEN);
    cr_expect_eq(jg_cache_claim_try(second, &s.name, &refused), JG_CACHE_CLAIM_TAKEN);
    cr_expect_not(refused.is_held);
    cr_expect_eq(jg_cache_claim_try(second, &other.name, &third), JG_CACHE_CLAIM_OWN);
    /* It keeps nobody from anything. */
    cr_expect_eq(sample_put(&f, second, &s), JG_CACHE_OK);
    cr_expect_eq(sample_get(&f, second, &s), JG_CACHE_OK);
    jg_cache_claim_end(&claim);
    cr_expect_not(claim.is_held);
    jg_cache_claim_end(&claim);
    cr_expect_eq(jg_cache_claim_try(second, &s.name, &claim), JG_CACHE_CLAIM_OWN);
    jg_cache_claim_end(&claim);
    jg_cache_claim_end(&third);
    jg_cache_close(second);
}

Test(cache_claim, ends_with_its_process_and_not_with_a_child)
{
    jg_cache_claim claim = {0};
    const pid_t dead = fork();
    if (dead == 0) {
        _exit(jg_cache_claim_try(f.cache, &s.name, &claim) == JG_CACHE_CLAIM_OWN ? 0 : 1);
    }
    int status = 1;
    cr_assert_eq(waitpid(dead, &status, 0), dead);
    cr_expect_eq(status, 0);
    cr_expect_eq(jg_cache_claim_try(f.cache, &s.name, &claim), JG_CACHE_CLAIM_OWN);
    int gate[2];
    cr_assert_eq(pipe(gate), 0);
    const pid_t child = fork(); /* has the claim's file open until it is let go */
    if (child == 0) {
        char byte;
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1);
    }
    jg_cache_claim again = {0};
    jg_cache_claim_end(&claim);
    cr_expect_eq(jg_cache_claim_try(f.cache, &s.name, &again), JG_CACHE_CLAIM_OWN);
    jg_cache_claim_end(&again);
    close(gate[1]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    close(gate[0]);
}

static void expect_impossible(jg_cache *cache, const char *what)
{
    jg_cache_claim claim = {0};
    cr_expect_eq(jg_cache_claim_try(cache, &s.name, &claim), JG_CACHE_CLAIM_IMPOSSIBLE,
                 "%s", what);
    cr_expect_not(claim.is_held, "%s", what);
}

Test(cache_claim, is_impossible_where_there_is_no_file_to_lock)
{
    expect_impossible(NULL, "no cache");
    jg_cache *reader = fixture_open(&f, 1);
    expect_impossible(reader, "read-only");
    cr_expect_not(path_exists(path));
    jg_cache_close(reader);
    cr_assert_eq(mkdir(path, 0700), 0);
    expect_impossible(f.cache, "a folder");
    cr_assert_eq(rmdir(path), 0);
    cr_assert_eq(symlink("elsewhere", path), 0);
    expect_impossible(f.cache, "a link");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkfifo(path, 0600), 0);
    expect_impossible(f.cache, "a pipe");
    cr_assert_eq(unlink(path), 0);
}

/* Then two have it, and each does the work: what they read and put is right all the same.
 */
Test(cache_claim, lock_file_that_is_removed_costs_work_and_nothing_else)
{
    jg_cache *second = fixture_open(&f, 0);
    jg_cache_claim claim = {0};
    jg_cache_claim other_claim = {0};
    cr_assert_eq(jg_cache_claim_try(f.cache, &s.name, &claim), JG_CACHE_CLAIM_OWN);
    cr_assert_eq(unlink(path), 0);

    cr_expect_eq(jg_cache_claim_try(second, &s.name, &other_claim), JG_CACHE_CLAIM_OWN);

    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(sample_put(&f, second, &s), JG_CACHE_EXISTS);
    cr_expect_eq(sample_get(&f, second, &s), JG_CACHE_OK);
    jg_cache_claim_end(&claim);
    jg_cache_claim_end(&other_claim);
    jg_cache_close(second);
}

Test(cache_claim, leaves_a_private_file_that_is_no_entry)
{
    jg_cache_claim claim = {0};
    struct stat st;
    uint64_t removed = 1;
    cr_expect_eq(jg_cache_claim_try(f.cache, &s.name, &claim), JG_CACHE_CLAIM_OWN);
    cr_assert_eq(stat(path, &st), 0);
    cr_expect_eq(st.st_mode & 07777, 0600);
    cr_expect_eq(st.st_size, 0);
    cr_expect_eq(jg_cache_trim(f.cache, 1, 0, &removed, NULL), JG_CACHE_OK);
    cr_expect_eq(removed, 0);
    cr_expect(path_exists(path));
    jg_cache_claim_end(&claim);
}
