/* SPDX-License-Identifier: MIT */
#include "base/host.h"

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"

enum { FILE_BYTES = 8192 };

/* The beginning of a small file as text; false if it cannot be read. */
static bool read_text(const char *root, const char *path, char text[FILE_BYTES])
{
    char whole[PATH_MAX];
    const int length = snprintf(whole, sizeof(whole), "%s%s", root, path);
    FILE *file = length > 0 && (size_t)length < sizeof(whole) ? fopen(whole, "re") : NULL;
    if (file == NULL) {
        return false;
    }
    const size_t size = fread(text, 1, FILE_BYTES - 1, file);
    text[size] = '\0';
    fclose(file);
    return size > 0;
}

/* A number in a file of a control group; false without one, or where it says "max". */
static bool read_number(const char *root, const char *folder, const char *name,
                        int64_t *ret_number)
{
    char path[PATH_MAX];
    char text[FILE_BYTES];
    char *end = NULL;
    const int length = snprintf(path, sizeof(path), "%s/%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof(path) || !read_text(root, path, text)) {
        return false;
    }
    const long long number = strtoll(text, &end, 10);
    *ret_number = number;
    return end != text && number >= 0;
}

/* ------------------------------------------------------------------------- the machine */

static int64_t read_available_memory(const char *root)
{
    static const char word[] = "MemAvailable:";
    char text[FILE_BYTES];
    const char *at = read_text(root, "/proc/meminfo", text) ? strstr(text, word) : NULL;
    int64_t bytes = 0;
    return at != NULL &&
                   jg_mul_checked(strtoll(at + sizeof(word) - 1, NULL, 10), 1024, &bytes)
               ? bytes
               : INT64_MAX;
}

static int64_t count_processors(void)
{
    cpu_set_t processors;
    CPU_ZERO(&processors);
    return sched_getaffinity(0, sizeof(processors), &processors) == 0
               ? jg_max(CPU_COUNT(&processors), 1)
               : 1;
}

/* ---------------------------------------------------------------------- control groups */

/* Lowers what is free to what a group's limit leaves. Pages of files that can be dropped
 * count as free, as they do for the machine. */
static void limit_memory(const char *root, const char *folder, const char *limit_name,
                         const char *used_name, struct jg_host *host)
{
    char path[PATH_MAX];
    char text[FILE_BYTES];
    int64_t limit = 0;
    int64_t used = 0;
    if (!read_number(root, folder, limit_name, &limit) ||
        !read_number(root, folder, used_name, &used)) {
        return;
    }
    const int length = snprintf(path, sizeof(path), "%s/memory.stat", folder);
    if (length > 0 && (size_t)length < sizeof(path) && read_text(root, path, text)) {
        const char *inactive = strstr(text, "inactive_file ");
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
static void limit_by_cpu_max(const char *root, const char *folder, struct jg_host *host)
{
    char path[PATH_MAX];
    char text[FILE_BYTES];
    char *end = NULL;
    const int length = snprintf(path, sizeof(path), "%s/cpu.max", folder);
    if (length > 0 && (size_t)length < sizeof(path) && read_text(root, path, text)) {
        const int64_t quota = strtoll(text, &end, 10); /* 0 for "max" */
        limit_processors(quota, strtoll(end, NULL, 10), host);
    }
}

static void limit_by_folder(const char *root, const char *folder, struct jg_host *host)
{
    int64_t quota = 0;
    int64_t period = 0;
    limit_memory(root, folder, "memory.max", "memory.current", host);
    limit_memory(root, folder, "memory.limit_in_bytes", "memory.usage_in_bytes", host);
    limit_by_cpu_max(root, folder, host);
    if (read_number(root, folder, "cpu.cfs_quota_us", &quota) &&
        read_number(root, folder, "cpu.cfs_period_us", &period)) {
        limit_processors(quota, period, host);
    }
}

/* The group and all above it. In a container the path may be one of the host's, which is
 * not there: then only its end, the mount itself, counts. */
static void limit_by_group(const char *root, const char *mount, const char *group,
                           struct jg_host *host)
{
    char folder[PATH_MAX];
    const int length = snprintf(folder, sizeof(folder), "%s%s", mount, group);
    const size_t mount_size = strlen(mount);
    if (length < 0 || (size_t)length >= sizeof(folder)) {
        return;
    }
    for (char *end = folder + length; end != NULL; end = strrchr(folder, '/')) {
        *end = '\0';
        if ((size_t)(end - folder) < mount_size) {
            break;
        }
        limit_by_folder(root, folder, host);
    }
}

/* A line of /proc/self/cgroup: "0::/a/b", or "4:cpu,memory:/a/b" of the first version. */
static void limit_by_line(const char *root, char *line, struct jg_host *host)
{
    char *controllers = strchr(line, ':');
    char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) {
        return;
    }
    controllers++;
    *group++ = '\0';
    if (controllers[0] == '\0') {
        limit_by_group(root, "/sys/fs/cgroup", group, host);
    } else if (strcmp(controllers, "memory") == 0) {
        limit_by_group(root, "/sys/fs/cgroup/memory", group, host);
    } else if (strstr(controllers, "cpu") == controllers &&
               strstr(controllers, "cpuset") == NULL) {
        limit_by_group(root, "/sys/fs/cgroup/cpu", group, host);
    }
}

struct jg_host jg_host_read(const char *root)
{
    struct jg_host host = {.processors = count_processors(),
                           .free_bytes = read_available_memory(root)};
    char text[FILE_BYTES];
    if (read_text(root, "/proc/self/cgroup", text)) {
        char *rest = NULL;
        for (char *line = strtok_r(text, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            limit_by_line(root, line, &host);
        }
    }
    return host;
}
