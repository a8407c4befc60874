/* SPDX-License-Identifier: MIT */
/* What control groups leave of a machine, in trees that look like theirs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

#define MIB (INT64_C(1024) * 1024)

static char root[64];

static void set_up(void)
{
    snprintf(root, sizeof(root), "/tmp/jit_gemm_host_XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

/* Writes a file of the tree, with its folders. */
static void put(const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(whole, 0700);
        *at = '/';
    }
    FILE *file = fopen(whole, "w");
    cr_assert_not_null(file, "%s", whole);
    fputs(text, file);
    fclose(file);
}

TestSuite(host, .init = set_up, .fini = tear_down);

/* In place of the C library's: what a kernel says that was made for many processors. */
static int processors_of_kernel, processors_to_run_on;

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *ret_set)
{
    memset(ret_set, 0, bytes);
    if (processors_of_kernel == 0) {
        return syscall(SYS_sched_getaffinity, process, bytes, ret_set) < 0 ? -1 : 0;
    }
    if (8 * bytes < (size_t)processors_of_kernel) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 1; i <= processors_to_run_on; i++) {
        CPU_SET_S((size_t)(processors_of_kernel - i), bytes, ret_set);
    }
    return 0;
}

Test(host, processors_are_counted_whatever_the_kernel_was_made_for)
{
    static const int rows[] = {64, 1024, 1025, 8192, 65536};
    processors_to_run_on = 48;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        processors_of_kernel = rows[i];

        cr_expect_eq(jg_host_read(root).processors, 48, "%d", rows[i]);
    }
    processors_of_kernel = 1 << 20; /* more than is asked for */

    cr_expect_eq(jg_host_read(root).processors, 1);
}

Test(host, machine_without_groups_has_what_it_has)
{
    const struct jg_host unknown = jg_host_read(root);
    put("/proc/meminfo", "MemTotal:  9999999 kB\nMemFree:  1 kB\nMemAvailable:  2048 kB\n");

    const struct jg_host host = jg_host_read(root);

    cr_expect_eq(unknown.free_bytes, INT64_MAX);
    cr_expect_eq(host.free_bytes, 2 * MIB);
    cr_expect_geq(host.processors, 1);
    cr_expect_eq(host.processors, unknown.processors);
}

Test(host, groups_of_both_versions_set_limits_up_to_the_top)
{
    static const struct {
        const char *groups; /* of the process */
        const char *files[8][2];
        int64_t free_mib;
        int64_t most_processors; /* 0: the machine's */
    } rows[] = {
        {"0::/\n",
         {{"/sys/fs/cgroup/memory.max", "1073741824\n"},
          {"/sys/fs/cgroup/memory.current", "536870912\n"},
          {"/sys/fs/cgroup/cpu.max", "100000 100000\n"}},
         512,
         1},
        {"0::/a/b\n",
         {{"/sys/fs/cgroup/a/b/memory.max", "max\n"},
          {"/sys/fs/cgroup/a/b/memory.current", "5\n"},
          {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
          {"/sys/fs/cgroup/a/memory.max", "104857600\n"},
          {"/sys/fs/cgroup/a/memory.current", "94371840\n"},
          {"/sys/fs/cgroup/a/memory.stat", "anon 7\ninactive_file 20971520\nfile 3\n"}},
         30,
         0},
        {"0::/host/only/path\n",
         {{"/sys/fs/cgroup/memory.max", "10485760\n"},
          {"/sys/fs/cgroup/memory.current", "20971520\n"}},
         0,
         0},
        {"5:memory:/x\n4:cpuset:/x\n3:cpu,cpuacct:/x\n",
         {{"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "209715200\n"},
          {"/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "104857600\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}},
         100,
         1},
        {"4:cpu:/x\n",
         {{"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n"},
          {"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"}},
         4096,
         0},
        {"nonsense\n0:\n", {{"/sys/fs/cgroup/memory.max", "1\n"}}, 4096, 0},
    };
    const int64_t all = jg_host_read("").processors > 0 ? jg_host_read(root).processors : 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tear_down();
        cr_assert_eq(mkdir(root, 0700), 0);
        put("/proc/meminfo", "MemAvailable: 4194304 kB\n");
        put("/proc/self/cgroup", rows[i].groups);
        for (int k = 0; k < 8 && rows[i].files[k][0] != NULL; k++) {
            put(rows[i].files[k][0], rows[i].files[k][1]);
        }

        const struct jg_host host = jg_host_read(root);

        cr_expect_eq(host.free_bytes, rows[i].free_mib * MIB, "row %zu: %lld", i,
                     (long long)host.free_bytes);
        cr_expect_eq(host.processors, rows[i].most_processors > 0 ? 1 : all, "row %zu", i);
    }
}

Test(host, compiles_at_a_time_have_a_processor_and_memory_each)
{
    static const struct {
        int processors;
        const char *memory;
        int64_t jobs;
    } rows[] = {
        {48, "MemAvailable: 104857600 kB\n", 48},
        {48, "MemAvailable: 3145728 kB\n", 6},
        {2, "MemAvailable: 3145728 kB\n", 2},
        {48, "MemAvailable: 1 kB\n", 1},
        {48, "none\n", 48},
    };
    processors_of_kernel = 64;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        processors_to_run_on = rows[i].processors;
        put("/proc/meminfo", rows[i].memory);

        cr_expect_eq(jg_host_jobs(root), rows[i].jobs, "row %zu", i);
    }
}

static void *read_into(void *host)
{
    *(struct jg_host *)host = jg_host_read(root);
    return NULL;
}

/* A prewarm may be called from any thread. */
Test(host, reading_needs_little_stack)
{
    struct jg_host host = {0};
    pthread_attr_t attributes;
    pthread_t thread;
    put("/proc/self/cgroup", "5:memory:/x\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "209715200\n");
    put("/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "104857600\n");
    put("/sys/fs/cgroup/memory/x/memory.stat", "inactive_file 104857600\n");
    cr_assert_eq(pthread_attr_init(&attributes), 0);
    cr_assert_eq(pthread_attr_setstacksize(&attributes, 40 << 10), 0);

    cr_assert_eq(pthread_create(&thread, &attributes, read_into, &host), 0);
    cr_assert_eq(pthread_join(thread, NULL), 0);

    cr_expect_eq(host.free_bytes, 200 * MIB, "%lld", (long long)host.free_bytes);
    pthread_attr_destroy(&attributes);
}
