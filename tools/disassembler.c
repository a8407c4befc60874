/* SPDX-License-Identifier: MIT */
#include "disassembler.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define PROGRAM      "nvdisasm"
#define USUAL_FOLDER "/usr/local/cuda/bin"

static bool is_program(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && S_ISREG(facts.st_mode) && access(path, X_OK) == 0;
}

static bool is_in_folder(const char *folder, size_t length, const char *below,
                         char *ret_path, size_t size)
{
    int used = snprintf(ret_path, size, "%.*s%s/" PROGRAM, (int)length, folder, below);

    return length > 0 && used > 0 && (size_t)used < size && is_program(ret_path);
}

int disassembler_find(char *ret_path, size_t size)
{
    static const char *const homes[] = {"CUDA_HOME", "CUDA_PATH"};
    const char *named = getenv(DISASSEMBLER_VARIABLE);
    const char *folders = getenv("PATH");

    if (named != NULL && named[0]) {
        int used = snprintf(ret_path, size, "%s", named);

        if (used < 0 || (size_t)used >= size || !is_program(named)) {
            cli_error(DISASSEMBLER_VARIABLE ": %s is no program; name " PROGRAM
                                            ", or unset the variable",
                      named);
            return -1;
        }
        return 1;
    }
    while (folders != NULL && *folders) {
        size_t length = strcspn(folders, ":");

        if (is_in_folder(folders, length, "", ret_path, size)) {
            return 1;
        }
        folders += length + (folders[length] == ':');
    }
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        const char *home = getenv(homes[i]);

        if (home != NULL && is_in_folder(home, strlen(home), "/bin", ret_path, size)) {
            return 1;
        }
    }
    return is_in_folder(USUAL_FOLDER, strlen(USUAL_FOLDER), "", ret_path, size);
}

/* A file that only this user can read; its name goes to `ret_path`. */
static int write_temporary(const void *bytes, size_t size, char *ret_path, size_t path_size)
{
    const char *folder = getenv("TMPDIR");
    const char *at = bytes;
    int used = snprintf(ret_path, path_size, "%s/jit-gemm-XXXXXX",
                        folder != NULL && folder[0] ? folder : "/tmp");
    int file = used > 0 && (size_t)used < path_size ? mkstemp(ret_path) : -1;

    if (file < 0) {
        return cli_error("a temporary file: %s", strerror(errno));
    }
    while (size > 0) {
        ssize_t written = write(file, at, size);

        if (written < 0 && errno != EINTR) {
            cli_error("%s: %s", ret_path, strerror(errno));
            close(file);
            unlink(ret_path);
            return CLI_FAILED;
        }
        at += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    close(file);
    return CLI_OK;
}

/* All that comes out of the pipe; zero-terminated. */
static char *read_all(int pipe_end)
{
    size_t room = 1 << 16, used = 0;
    char *text = cli_alloc(room);

    for (;;) {
        ssize_t count = read(pipe_end, text + used, room - used - 1);

        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            text[used] = '\0';
            return text;
        }
        used += (size_t)count;
        if (room - used < 2) {
            char *grown = cli_alloc(room * 2);

            memcpy(grown, text, used);
            free(text);
            text = grown;
            room *= 2;
        }
    }
}

/* Standard output of the program, or NULL after an error. Its own messages are shown only
 * if asked for: it warns of indirect branches that are all right. */
static char *run_program(const char *path, char *const words[], int with_messages)
{
    posix_spawn_file_actions_t actions;
    int ends[2], status = 0, failure;
    char *text = NULL;
    pid_t child;

    if (pipe(ends) != 0) {
        cli_error("a pipe: %s", strerror(errno));
        return NULL;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    if (!with_messages) {
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    failure = posix_spawn(&child, path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failure != 0) {
        cli_error("%s: %s", path, strerror(failure));
    } else {
        text = read_all(ends[0]);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            free(text);
            text = NULL;
        }
    }
    close(ends[0]);
    return text;
}

char *disassembler_run(const char *path, const void *cubin, size_t size)
{
    char file[4096], program[] = PROGRAM, code_only[] = "-c", as_it_is[] = "-ndf";
    char *const words[] = {program, code_only, as_it_is, file, NULL};

    if (write_temporary(cubin, size, file, sizeof(file)) != CLI_OK) {
        return NULL;
    }
    char *text = run_program(path, words, 0);
    if (text == NULL) {
        free(run_program(path, words, 1));
        cli_error("%s failed; is it older than the chip of this code?", path);
    }
    unlink(file);
    return text;
}
