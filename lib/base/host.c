/* SPDX-License-Identifier: MIT */
#include "base/host.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/math.h"

enum { FILE_BYTES = 8192 };

/* Files below a root. Its texts are large, and the caller's stack may be small. */
struct files {
    const char *root;
    char folder[PATH_MAX];   /* of a control group */
    char path[PATH_MAX];     /* of the file that was read last */
    char text[FILE_BYTES];   /* its beginning */
    char groups[FILE_BYTES]; /* of /proc/self/cgroup */
};

/* The beginning of a small file as text; false if it cannot be read. */
static bool read_text(struct files *files, const char *folder, const char *name)
{
    const int length =
        snprintf(files->path, sizeof(files->path), "%s%s/%s", files->root, folder, name);
    FILE *file = length > 0 && (size_t)length < sizeof(files->path)
                     ? fopen(files->path, "re")
                     : NULL;
    if (file == NULL) {
        return false;
    }
    const size_t size = fread(files->text, 1, FILE_BYTES - 1, file);
    files->text[size] = '\0';
    fclose(file);
    return size > 0;
}

/* A number in a file of the control group; false without one, or where it says "max". */
static bool read_number(struct files *files, const char *name, int64_t *ret_number)
{
    char *end = NULL;
    if (!read_text(files, files->folder, name)) {
        return false;
    }
    const long long number = strtoll(files->text, &end, 10);
    *ret_number = number;
    return end != files->text && number >= 0;
}

/* ------------------------------------------------------------------------- the machine */

static int64_t read_available_memory(struct files *files)
{
    static const char word[] = "MemAvailable:";
    const char *at =
        read_text(files, "/proc", "meminfo") ? strstr(files->text, word) : NULL;
    int64_t bytes = 0;
    return at != NULL &&
                   jg_mul_checked(strtoll(at + sizeof(word) - 1, NULL, 10), 1024, &bytes)
               ? bytes
               : INT64_MAX;
}

#define MOST_PROCESSORS ((size_t)1 << 16)

/* Those that this thread may run on. A kernel that was made for more than 1024 refuses a
 * set of so many, whatever the machine has. */
static int64_t count_processors(void)
{
    int64_t count = 0;
    bool is_too_small = true;
    for (size_t room = CPU_SETSIZE; is_too_small && room <= MOST_PROCESSORS; room *= 2) {
        const size_t bytes = CPU_ALLOC_SIZE(room);
        cpu_set_t *processors = jg_alloc(bytes);
        if (processors == NULL) {
            break;
        }
        const bool is_read = sched_getaffinity(0, bytes, processors) == 0;
        is_too_small = !is_read && errno == EINVAL;
        count = is_read ? CPU_COUNT_S(bytes, processors) : 0;
        jg_free(processors);
    }
    return jg_max(count, 1);
}

/* ---------------------------------------------------------------------- control groups */

/* Lowers what is free to what a group's limit leaves. Pages of files that can be dropped
 * count as free, as they do for the machine. */
static void limit_memory(struct files *files, const char *limit_name, const char *used_name,
                         struct jg_host *host)
{
    int64_t limit = 0;
    int64_t used = 0;
    if (!read_number(files, limit_name, &limit) || !read_number(files, used_name, &used)) {
        return;
    }
    if (read_text(files, files->folder, "memory.stat")) {
        const char *inactive = strstr(files->text, "inactive_file ");
        if (inactive != NULL) {
            used -= jg_min(strtoll(strchr(inactive, ' '), NULL, 10), used);
        }
    }
    host->free_bytes = jg_min(host->free_bytes, jg_max(limit - used, 0));
}

static void limit_processors(int64_t quota_us, int64_t period_us, struct jg_host *host)
{
    if (quota_us > 0 && period_us > 0) {
        host->processors =
            jg_min(host->processors, jg_max((quota_us + period_us - 1) / period_us, 1));
    }
}

/* "max 100000" or "150000 100000" */
static void limit_by_cpu_max(struct files *files, struct jg_host *host)
{
    char *end = NULL;
    if (read_text(files, files->folder, "cpu.max")) {
        const int64_t quota = strtoll(files->text, &end, 10); /* 0 for "max" */
        limit_processors(quota, strtoll(end, NULL, 10), host);
    }
}

static void limit_by_folder(struct files *files, struct jg_host *host)
{
    int64_t quota = 0;
    int64_t period = 0;
    limit_memory(files, "memory.max", "memory.current", host);
    limit_memory(files, "memory.limit_in_bytes", "memory.usage_in_bytes", host);
    limit_by_cpu_max(files, host);
    if (read_number(files, "cpu.cfs_quota_us", &quota) &&
        read_number(files, "cpu.cfs_period_us", &period)) {
        limit_processors(quota, period, host);
    }
}

/* The group and all above it. In a container the path may be one of the host's, which is
 * not there: then only its end, the mount itself, counts. */
static void limit_by_group(struct files *files, const char *mount, const char *group,
                           struct jg_host *host)
{
    char *folder = files->folder;
    const int length = snprintf(folder, sizeof(files->folder), "%s%s", mount, group);
    const size_t mount_size = strlen(mount);
    if (length < 0 || (size_t)length >= sizeof(files->folder)) {
        return;
    }
    for (char *end = folder + length; end != NULL; end = strrchr(folder, '/')) {
        *end = '\0';
        if ((size_t)(end - folder) < mount_size) {
            break;
        }
        limit_by_folder(files, host);
    }
}

/* A line of /proc/self/cgroup: "0::/a/b", or "4:cpu,memory:/a/b" of the first version. */
static void limit_by_line(struct files *files, char *line, struct jg_host *host)
{
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return;
    }
    controllers++;
    *group++ = '\0';
    if (controllers[0] == '\0') {
        limit_by_group(files, "/sys/fs/cgroup", group, host);
    } else if (strcmp(controllers, "memory") == 0) {
        limit_by_group(files, "/sys/fs/cgroup/memory", group, host);
    } else if (strstr(controllers, "cpu") == controllers &&
               strstr(controllers, "cpuset") == NULL) {
        limit_by_group(files, "/sys/fs/cgroup/cpu", group, host);
    }
}

struct jg_host jg_host_read(const char *root)
{
    struct jg_host host = {.processors = count_processors()};
    struct files *files = jg_alloc(sizeof(*files));
    if (files == NULL) {
        return host;
    }
    files->root = root;
    host.free_bytes = read_available_memory(files);
    if (read_text(files, "/proc/self", "cgroup")) {
        char *rest = NULL;
        memcpy(files->groups, files->text, sizeof(files->groups));
        for (char *line = strtok_r(files->groups, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            limit_by_line(files, line, &host);
        }
    }
    jg_free(files);
    return host;
}

/* That a compile takes. */
#define BYTES_PER_JOB (INT64_C(512) * 1024 * 1024)

int64_t jg_host_jobs(const char *root)
{
    const struct jg_host host = jg_host_read(root);
    return jg_max(jg_min(host.processors, host.free_bytes / BYTES_PER_JOB), 1);
}

int64_t jg_host_free_addresses(void)
{
    struct rlimit limit;
    char text[128], *end = text;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur > INT64_MAX) {
        return INT64_MAX;
    }
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return INT64_MAX;
    }
    const bool is_read = fgets(text, sizeof(text), file) != NULL;
    fclose(file);
    const int64_t pages = is_read ? strtoll(text, &end, 10) : 0; /* the first number */
    const int64_t left = (int64_t)limit.rlim_cur - pages * sysconf(_SC_PAGESIZE);
    return end != text ? jg_max(left, 0) : INT64_MAX;
}
