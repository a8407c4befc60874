/* SPDX-License-Identifier: MIT */
/* Which folder is used, and which are refused. */
#include "cache_fixture.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A link of the kernel's to the root folder, which each process has. */
#define OWN_ROOT \
    "/proc/self" \
    "/root"

static struct fixture f;
static char reason[400];

static void begin(void)
{
    fixture_begin(&f);
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
}

static void end(void)
{
    fixture_end(&f);
}

TestSuite(cache_dir, .init = begin, .fini = end);

/* Opens with a folder and closes again; the versioned folder goes to `ret_used`. */
static jg_cache_result try_open(const char *folder, const char *environment, int read_only,
                                char ret_used[PATH_MAX])
{
    jg_cache_options options = {.folder = folder,
                                .environment = environment,
                                .read_only = read_only,
                                .no_sync = true};
    jg_cache *cache = NULL;
    jg_cache_result result = jg_cache_open(&options, &cache, reason, sizeof(reason));
    if (ret_used) {
        snprintf(ret_used, PATH_MAX, "%s", jg_cache_folder(cache));
    }
    if (result != JG_CACHE_OK) {
        cr_expect_null(cache, "ret_cache was touched");
        cr_expect_gt(strlen(reason), 0, "no reason given");
    }
    jg_cache_close(cache);
    return result;
}

/* A folder below the temporary one, with a mode. */
static const char *make_folder(const char *name, mode_t mode, char ret_path[256])
{
    snprintf(ret_path, 256, "%s/%s", f.root, name);
    cr_assert_eq(mkdir(ret_path, 0700), 0);
    cr_assert_eq(chmod(ret_path, mode), 0);
    return ret_path;
}

/* A folder outside /tmp, for folders that are derived and not named. */
static const char *make_home(char ret_path[256])
{
    const struct passwd *entry = getpwuid(geteuid());
    const char *const places[] = {entry != NULL ? entry->pw_dir : "/run", "/run"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(ret_path, 256, "%s/.jg-cache-test-XXXXXX", places[i]);
        if (mkdtemp(ret_path)) {
            return ret_path;
        }
    }
    return NULL;
}

Test(cache_dir, relative_path_is_refused)
{
    cr_expect_eq(try_open("jg-cache-test", NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_eq(try_open("./jg-cache-test", NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_eq(try_open("", NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_eq(try_open(NULL, "jg-cache-test", 0, NULL), JG_CACHE_UNTRUSTED);
    setenv("XDG_CACHE_HOME", "jg-cache-test", 1);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect(strstr(reason, "XDG_CACHE_HOME"), "%s", reason);
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "jg-cache-test", 1);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_not(path_exists("jg-cache-test"));
}

Test(cache_dir, folder_and_environment_come_before_xdg_and_home)
{
    char used[PATH_MAX], expected[300], named[200], environment[200];
    snprintf(named, sizeof(named), "%s/named/deeper", f.root);
    snprintf(environment, sizeof(environment), "%s/environment/", f.root);
    setenv("XDG_CACHE_HOME", "/jg-cache-test-absent/xdg", 1);

    cr_expect_eq(try_open(named, environment, 0, used), JG_CACHE_OK, "%s", reason);
    snprintf(expected, sizeof(expected), "%s/v1", named);
    cr_expect_str_eq(used, expected);
    cr_expect_eq(try_open(NULL, environment, 0, used), JG_CACHE_OK, "%s", reason);
    snprintf(expected, sizeof(expected), "%s/environment/v1", f.root);
    cr_expect_str_eq(used, expected);
}

Test(cache_dir, xdg_comes_before_home_and_empty_means_unset)
{
    char home[256], xdg[300], used[PATH_MAX], expected[PATH_MAX];
    if (!make_home(home)) {
        SKIP_TEST(&f, "no folder outside /tmp to write in");
    }
    snprintf(xdg, sizeof(xdg), "%s/xdg", home);
    setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);

    cr_expect_eq(try_open(NULL, "", 0, used), JG_CACHE_OK, "%s", reason);
    snprintf(expected, sizeof(expected), "%s/jit_gemm/v1", xdg);
    cr_expect_str_eq(used, expected);
    setenv("XDG_CACHE_HOME", "", 1);
    cr_expect_eq(try_open(NULL, NULL, 0, used), JG_CACHE_OK, "%s", reason);
    snprintf(expected, sizeof(expected), "%s/.cache/jit_gemm/v1", home);
    cr_expect_str_eq(used, expected);
    fixture_remove_tree(home);
}

Test(cache_dir, without_variables_the_password_entry_decides)
{
    struct passwd *entry = getpwuid(geteuid());
    char used[PATH_MAX], expected[PATH_MAX];
    setenv("HOME", "", 1);

    /* Read-only: nothing is made in a real home. */
    jg_cache_result result = try_open(NULL, NULL, 1, used);

    if (entry == NULL || !entry->pw_dir || !entry->pw_dir[0]) {
        cr_expect_eq(result, JG_CACHE_NO_FOLDER);
    } else if (result == JG_CACHE_OK) {
        snprintf(expected, sizeof(expected), "%s/.cache/jit_gemm/v1", entry->pw_dir);
        cr_expect_str_eq(used, expected);
    } else {
        snprintf(expected, sizeof(expected), "%s/.cache/jit_gemm", entry->pw_dir);
        cr_expect(strstr(reason, expected), "%s", reason);
    }
}

Test(cache_dir, home_that_does_not_exist_is_not_made)
{
    setenv("HOME", "/jg-cache-test-absent", 1);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER);
    cr_expect_not(path_exists("/jg-cache-test-absent"));
}

Test(cache_dir, derived_folder_is_never_in_a_shared_folder)
{
    static const char *const spellings[] = {
        "//tmp",
        "/./tmp/jg-cache-absent",
        "/var/../tmp/jg-cache-absent",
        "/var/tmp",
        "/dev/shm/jg-cache-absent",
        "/../dev/./shm",
        "/tmp/../var//tmp/./jg-cache-absent",
        (OWN_ROOT "/tmp"),
        (OWN_ROOT "/tmp/jg-cache-absent/and/more"),
    };
    static const char *const variables[] = {"XDG_CACHE_HOME", "HOME"};
    for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
        for (int k = 0; k < 2; k++) {
            setenv(variables[k], spellings[i], 1);
            cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER, "%s",
                         spellings[i]);
            cr_expect(strstr(reason, "JIT_GEMM_CACHE_DIR"), "%s", reason);
            cr_expect(strstr(reason, spellings[i]), "%s", reason);
            unsetenv(variables[k]);
        }
    }
}

Test(cache_dir, link_that_leads_to_a_shared_folder_is_one)
{
    char home[256], link[300], private[300];
    cr_assert_not_null(make_home(home));
    snprintf(link, sizeof(link), "%s/link", home);
    snprintf(private, sizeof(private), "%s/private", f.root);
    cr_assert_eq(symlink("/tmp", link), 0);

    setenv("XDG_CACHE_HOME", link, 1);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER);
    cr_expect(strstr(reason, "not yours alone"), "%s", reason);
    cr_expect_not(path_exists("/tmp/jit_gemm/v1"));

    cr_assert_eq(unlink(link), 0);
    cr_assert_eq(mkdir(private, 0700), 0);
    cr_assert_eq(symlink(private, link), 0);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_OK, "a private one: %s", reason);
    cr_assert_eq(chmod(private, 0777), 0);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER, "one that is not");

    cr_expect_eq(unlink(link), 0);
    cr_expect_eq(rmdir(home), 0);
}

Test(cache_dir, private_home_below_a_shared_folder_has_a_cache)
{
    char home[256], around[300], expected[300], used[PATH_MAX];
    snprintf(home, sizeof(home), "%s/home", f.root);
    snprintf(around, sizeof(around), "/var/..%s", home);
    snprintf(expected, sizeof(expected), "/home/.cache/jit_gemm/v1");
    cr_assert_eq(mkdir(home, 0755), 0);
    setenv("HOME", home, 1);
    cr_expect_eq(try_open(NULL, NULL, 0, used), JG_CACHE_OK, "%s", reason);
    cr_expect(strstr(used, expected), "%s", used);
    setenv("HOME", around, 1);
    cr_expect_eq(try_open(NULL, NULL, 0, used), JG_CACHE_OK, "%s", reason);
    setenv("XDG_CACHE_HOME", home, 1);
    cr_expect_eq(try_open(NULL, NULL, 0, used), JG_CACHE_OK, "%s", reason);
    unsetenv("XDG_CACHE_HOME");

    static const mode_t open_modes[] = {0777, 0775, 01777, 0757};
    for (size_t i = 0; i < sizeof(open_modes) / sizeof(open_modes[0]); i++) {
        cr_assert_eq(chmod(home, open_modes[i]), 0);
        cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER, "%o",
                     open_modes[i]);
        cr_expect(strstr(reason, "not yours alone"), "%s", reason);
    }
    cr_assert_eq(chmod(home, 0700), 0);
    snprintf(around, sizeof(around), "%s/link", f.root);
    cr_assert_eq(symlink(home, around), 0);
    setenv("HOME", around, 1);
    cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER, "a link");
    if (geteuid() == 0) {
        cr_assert_eq(chown(home, 12345, 12345), 0);
        setenv("HOME", home, 1);
        cr_expect_eq(try_open(NULL, NULL, 0, NULL), JG_CACHE_NO_FOLDER, "another user's");
    }
}

Test(cache_dir, folder_that_others_may_write_is_refused)
{
    static const mode_t modes[] = {0777, 0775, 0722, 01777};
    char path[256], name[16];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "mode%d", i);
        make_folder(name, modes[i], path);
        cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED, "%o", modes[i]);
        cr_expect_eq(try_open(path, NULL, 1, NULL), JG_CACHE_UNTRUSTED, "%o", modes[i]);
    }
    snprintf(path, sizeof(path), "%s/v1", f.folder);
    cr_assert_eq(chmod(path, 0777), 0);
    cr_expect_eq(try_open(f.folder, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
}

Test(cache_dir, readable_folder_of_mode_0755_is_accepted)
{
    char path[256];
    cr_expect_eq(try_open(make_folder("plain", 0755, path), NULL, 0, NULL), JG_CACHE_OK,
                 "%s", reason);
}

Test(cache_dir, parent_that_everybody_may_write_is_refused_unless_sticky)
{
    char parent[256], path[300], remedy[300];
    make_folder("parent", 0777, parent);
    snprintf(path, sizeof(path), "%s/cache", parent);

    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_not(path_exists(path));
    snprintf(remedy, sizeof(remedy), "chmod +t %s", parent);
    cr_expect_not_null(strstr(reason, remedy), "%s", reason);
    cr_assert_eq(chmod(parent, 01777), 0);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_OK, "%s", reason);
}

Test(cache_dir, parent_that_its_group_may_write_is_refused)
{
    char parent[256], path[300];
    make_folder("group", 0775, parent);
    snprintf(path, sizeof(path), "%s/cache", parent);

    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect(strstr(reason, "may be written by its group (mode 0775)"), "%s", reason);
    cr_expect_not(path_exists(path));
}

Test(cache_dir, folders_and_parents_of_another_user_are_refused)
{
    char parent[256], path[300], deeper[320];
    make_folder("foreign", 0755, parent);
    snprintf(path, sizeof(path), "%s/cache", parent);
    snprintf(deeper, sizeof(deeper), "%s/deeper", path);
    cr_assert_eq(mkdir(path, 0755), 0);
    if (geteuid() != 0) {
        SKIP_TEST(&f, "only root can give folders away");
    }
    cr_assert_eq(chown(parent, 65534, 65534), 0);

    cr_expect_eq(try_open(parent, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect(strstr(reason, "65534"), "%s", reason);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_eq(try_open(deeper, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
}

Test(cache_dir, folder_of_root_serves_another_user)
{
    char v1[256], path[256];
    struct sample s = sample_make(3, 100, 10, 0), other = sample_make(4, 100, 10, 0);
    if (geteuid() != 0) {
        sample_free(&s);
        sample_free(&other);
        SKIP_TEST(&f, "needs root");
    }
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    entry_path(&f, &s.name, path);
    snprintf(v1, sizeof(v1), "%s/v1/03", f.folder);
    cr_assert(!chmod(path, 0644) && !chmod(v1, 0755));
    v1[strlen(v1) - 3] = '\0';
    cr_assert(!chmod(v1, 0755) && !chmod(f.folder, 0755) && !chmod(f.root, 0755));
    become_nobody(NULL);

    jg_cache *cache = fixture_open(&f, 0);
    cr_expect_eq(sample_get(&f, cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_put(&f, cache, &other), JG_CACHE_IO, "%s", f.reason);
    jg_cache_close(cache);
    sample_free(&s);
    sample_free(&other);
}

Test(cache_dir, links_in_the_path_are_followed_when_they_are_ours)
{
    char target[256], link_path[256], relative[256], deeper[300];
    make_folder("target", 0700, target);
    snprintf(link_path, sizeof(link_path), "%s/link", f.root);
    snprintf(relative, sizeof(relative), "%s/relative", f.root);
    snprintf(deeper, sizeof(deeper), "%s/a/b", relative);
    cr_assert(!symlink(target, link_path) && !symlink("./link", relative));

    cr_expect_eq(try_open(link_path, NULL, 0, NULL), JG_CACHE_OK, "%s", reason);
    cr_expect_eq(try_open(deeper, NULL, 0, NULL), JG_CACHE_OK, "%s", reason);
    snprintf(deeper, sizeof(deeper), "%s/a/b/v1", target);
    cr_expect(path_exists(deeper));
    if (geteuid() == 0) {
        cr_assert_eq(lchown(link_path, 65534, 65534), 0);
        cr_expect_eq(try_open(link_path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    }
}

Test(cache_dir, dangling_and_endless_links_are_refused)
{
    char path[256], other[256];
    snprintf(path, sizeof(path), "%s/dangling", f.root);
    snprintf(other, sizeof(other), "%s/x", f.root);
    cr_assert(!symlink(other, path));
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_NO_FOLDER);
    cr_expect_not(path_exists(other), "the target of a dangling link was made");
    cr_assert(!symlink("x", other));
    cr_expect_eq(try_open(other, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
}

Test(cache_dir, versioned_folder_may_not_be_a_link_or_file)
{
    char path[256], v1[300];
    make_folder("linked", 0700, path);
    snprintf(v1, sizeof(v1), "%s/v1", path);
    cr_assert(!symlink(f.folder, v1));
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    unlink(v1);
    write_file(v1, "x", 1);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_eq(try_open(v1, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
}

/* Versions of the format share a folder and nothing in it. */
Test(cache_dir, folders_of_other_formats_are_neither_read_nor_touched)
{
    static const char *const others[] = {"v0", "v2"};
    char path[2][300];
    struct sample s = sample_make(1, 100, 10, 10);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    for (int i = 0; i < 2; i++) { /* where this version's file would be found */
        char file[256];
        entry_path(&f, &s.name, file);
        snprintf(path[i], sizeof(path[i]), "%s/%s", f.folder, others[i]);
        cr_assert_eq(mkdir(path[i], 0700), 0);
        char *shard = strstr(file, "/v1/") + strlen("/v1/");
        *strchr(shard, '/') = '\0';
        snprintf(path[i], sizeof(path[i]), "%s/%s/%s", f.folder, others[i], shard);
        cr_assert_eq(mkdir(path[i], 0700), 0);
        snprintf(path[i], sizeof(path[i]), "%s/%s/%s/%s", f.folder, others[i], shard,
                 shard + strlen(shard) + 1);
        write_file(path[i], "of another format", 17);
    }

    cr_expect_eq(jg_cache_trim(f.cache, 1, 1, NULL, NULL), JG_CACHE_OK);
    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK);

    for (int i = 0; i < 2; i++) {
        size_t size = 0;
        unsigned char *bytes = read_file(path[i], &size);
        cr_expect(size == 17 && memcmp(bytes, "of another format", 17) == 0);
        free(bytes);
    }
    sample_free(&s);
}

Test(cache_dir, odd_paths_are_handled)
{
    char path[PATH_MAX + 300];
    snprintf(path, sizeof(path), "%s//./cache/../new\nline \xff/", f.root);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_OK, "%s", reason);
    snprintf(path, sizeof(path), "%s/bad\nline/%0400d", f.root, 1);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_NO_FOLDER);
    snprintf(path, sizeof(path), "%s/x\ny", f.root);
    write_file(path, "x", 1);
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_UNTRUSTED);
    cr_expect_null(strchr(reason, '\n'), "a line feed of the path is in the reason");
    path[0] = '/';
    memset(path + 1, 'a', PATH_MAX + 100);
    for (size_t i = 100; i < PATH_MAX + 100; i += 100) {
        path[i] = '/';
    }
    path[PATH_MAX + 101] = '\0';
    cr_expect_eq(try_open(path, NULL, 0, NULL), JG_CACHE_NO_FOLDER);
}

Test(cache_dir, read_only_open_makes_nothing)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/absent", f.root);
    cr_expect_eq(try_open(path, NULL, 1, NULL), JG_CACHE_NO_FOLDER);
    cr_expect_not(path_exists(path));
    make_folder("empty", 0700, path);
    cr_expect_eq(try_open(path, NULL, 1, NULL), JG_CACHE_NO_FOLDER);
    cr_expect_eq(count_files(path, ""), 0);
}

Test(cache_dir, folder_that_cannot_be_made_is_no_folder)
{
    if (!become_nobody(NULL)) {
        cr_expect_neq(geteuid(), 0);
    }
    cr_expect_eq(try_open("/jg-cache-test-forbidden/x", NULL, 0, NULL), JG_CACHE_NO_FOLDER);
}

Test(cache_dir, program_with_raised_rights_ignores_the_environment)
{
    char named[200];
    if (geteuid() != 0) {
        SKIP_TEST(&f, "needs root to differ real and effective user");
    }
    snprintf(named, sizeof(named), "%s/named", f.root);
    setenv("XDG_CACHE_HOME", f.folder, 1);
    setenv("HOME", f.folder, 1);
    cr_assert_eq(setresuid(65534, 0, 0), 0);

    cr_expect_eq(try_open(NULL, f.folder, 0, NULL), JG_CACHE_NO_FOLDER);
    cr_expect(strstr(reason, "rights"), "%s", reason);
    cr_expect_eq(try_open(named, f.folder, 0, NULL), JG_CACHE_OK, "%s", reason);
    cr_assert_eq(setresuid(0, 0, 0), 0);
}

Test(cache_dir, renamed_folder_does_not_lead_the_cache_elsewhere)
{
    char moved[256], fake[300];
    struct sample s = sample_make(5, 100, 10, 0);
    snprintf(moved, sizeof(moved), "%s/moved", f.root);
    cr_assert_eq(rename(f.folder, moved), 0);
    cr_assert_eq(mkdir(f.folder, 0777), 0);
    snprintf(fake, sizeof(fake), "%s/v1", f.folder);
    cr_assert_eq(mkdir(fake, 0777), 0);

    cr_expect_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(sample_get(&f, f.cache, &s), JG_CACHE_OK, "%s", f.reason);
    cr_expect_eq(count_files(f.folder, ""), 0);
    cr_expect_eq(count_files(moved, ""), 1);
    sample_free(&s);
}

Test(cache_dir, descriptor_that_the_program_closed_is_left_to_its_new_owner)
{
    char folder[300], victim[300], victim_file[400];
    struct sample s[3] = {sample_make(5, 100, 10, 0), sample_make(6, 100, 10, 0),
                          sample_make(7, 100, 10, 0)};
    snprintf(folder, sizeof(folder), "%s/v1", f.folder);
    snprintf(victim, sizeof(victim), "%s/victim", f.root);
    snprintf(victim_file, sizeof(victim_file), "%s/file", f.root);
    cr_assert_eq(mkdir(victim, 0700), 0);
    write_file(victim_file, "", 0);
    for (int i = 0; i < 3; i++) { /* another folder's, another file's, nobody's */
        const int number = find_descriptor(folder);
        cr_assert_geq(number, 0, "%d: it is open", i);
        close(number);
        if (i < 2) {
            cr_assert_eq(open(i == 0 ? victim : victim_file, O_RDONLY), number);
        }
        uint64_t removed = 0;

        cr_expect_eq(sample_put(&f, f.cache, &s[i]), JG_CACHE_OK, "%s", f.reason);
        cr_expect_eq(sample_get(&f, f.cache, &s[i]), JG_CACHE_OK, "%s", f.reason);
        cr_expect_eq(jg_cache_trim(f.cache, 0, 0, &removed, NULL), JG_CACHE_OK);
        cr_expect_eq(count_files(victim, ""), 0, "%d: nothing is written there", i);
        cr_expect_eq(count_files(f.folder, ""), i + 1, "%d: but in the cache", i);
    }
    const int others = find_descriptor(victim), last = find_descriptor(folder);
    close(last);
    cr_assert_eq(open(victim_file, O_RDONLY), last);
    jg_cache_close(f.cache);
    f.cache = NULL;
    cr_expect(fcntl(others, F_GETFD) >= 0 && fcntl(last, F_GETFD) >= 0, "left open");
    cr_expect_lt(find_descriptor(folder), 0, "and the cache's own is closed");
    for (int i = 0; i < 3; i++) {
        sample_free(&s[i]);
    }
}

Test(cache_dir, read_only_cache_opens_its_folder_again)
{
    char folder[300];
    struct sample s = sample_make(5, 100, 10, 0);
    cr_assert_eq(sample_put(&f, f.cache, &s), JG_CACHE_OK);
    jg_cache_close(f.cache);
    f.cache = NULL;
    jg_cache *cache = fixture_open(&f, 1);
    snprintf(folder, sizeof(folder), "%s/v1", f.folder);
    close(find_descriptor(folder));

    cr_expect_eq(sample_get(&f, cache, &s), JG_CACHE_OK, "%s", f.reason);
    jg_cache_close(cache);
    sample_free(&s);
}
