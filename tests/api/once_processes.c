/* SPDX-License-Identifier: MIT */
/* Processes that share a cache folder and come to one key: it is compiled once, unless who
 * compiles it dies or takes too long, or the folder takes no locks. No clock: a compile is
 * held inside the compiler, and processes say when they are there and when they wait. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"
#include "plain_test.h"

enum { MOST_CHILDREN = 64, WAITERS = 63 };

/* What a child says, a byte each. */
enum word {
    SAYS_HELD = 'H',      /* its compile is inside the compiler */
    SAYS_WAITS = 'W',     /* another process has the key */
    SAYS_COMPILED = 'C',  /* it ended, and has compiled */
    SAYS_FOUND = 'D',     /* it ended, and has compiled nothing */
    SAYS_CANCELLED = 'X', /* it was cancelled */
    SAYS_FAILED = 'F'
};

/* What a child does. */
struct task {
    bool holds;        /* its compile, until it is told to go on */
    bool cancels;      /* itself once it waits */
    uint32_t limit_ms; /* of a compile; 0: the default */
};

/* Children over one folder. */
struct family {
    struct api_fixture fixture; /* its folder only */
    int words[2], orders[2];    /* pipes: from all children, to one that holds */
    pid_t children[MOST_CHILDREN];
    int count;
};

/* ------------------------------------------------------------------------- in a child */

struct child {
    struct api_fixture fixture;
    const struct task *task;
    int words;
};

static void say(int words, enum word word)
{
    const char byte = (char)word;
    if (write(words, &byte, 1) != 1) {
        _exit(2);
    }
}

static void hear_log(void *user, jit_gemm_severity severity, const char *text)
{
    const struct child *child = user;
    (void)severity;
    if (strstr(text, "another process is compiling") == NULL) {
        return;
    }
    say(child->words, SAYS_WAITS);
    if (child->task->cancels) {
        (void)jit_gemm_cancel(child->fixture.context);
    }
}

static void *build_one(void *user)
{
    const struct child *child = user;
    const jit_gemm_problem problem = api_problem("512x512x512 bf16");
    jit_gemm_artifact *artifact = NULL;
    const jit_gemm_status status =
        jit_gemm_build(child->fixture.context, &problem, JIT_GEMM_EMIT_CUBIN, &artifact);
    const bool has_compiled = jg_compiler_dummy_calls(child->fixture.compiler) > 0;
    jit_gemm_artifact_destroy(&artifact);
    say(child->words, status == JIT_GEMM_ERR_CANCELLED ? SAYS_CANCELLED
                      : status != JIT_GEMM_OK          ? SAYS_FAILED
                      : has_compiled                   ? SAYS_COMPILED
                                                       : SAYS_FOUND);
    return NULL;
}

static void be_child(const struct family *family, const struct task *task)
{
    struct child child = {.task = task, .words = family->words[1]};
    const jit_gemm_context_options options = {.struct_size = sizeof(options),
                                              .arch = "sm_90a",
                                              .no_device = 1,
                                              .cache_dir = family->fixture.folder,
                                              .log = hear_log,
                                              .log_user = &child,
                                              .log_level = JIT_GEMM_SEVERITY_DEBUG,
                                              .compile_limit_ms = task->limit_ms};
    api_fixture_open_with(&child.fixture, &options, 0);
    jg_compiler_dummy_hold(child.fixture.compiler, task->holds);
    const pthread_t thread = plain_begin_thread(build_one, &child);
    if (task->holds) {
        char order;
        api_fixture_wait_for_held(&child.fixture, 1);
        say(child.words, SAYS_HELD);
        if (read(family->orders[0], &order, 1) != 1) {
            _exit(2);
        }
        jg_compiler_dummy_hold(child.fixture.compiler, false);
    }
    pthread_join(thread, NULL);
    jit_gemm_context_destroy(&child.fixture.context);
    _exit(0);
}

/* ------------------------------------------------------------------------ in the parent */

static void begin(struct family *family)
{
    *family = (struct family){.count = 0};
    (void)api_fixture_options(&family->fixture);
    if (pipe(family->words) != 0 || pipe(family->orders) != 0) {
        abort();
    }
}

static void start(struct family *family, const struct task *task)
{
    const pid_t child = fork();
    if (child == 0) {
        be_child(family, task);
    }
    expect(child > 0, "fork");
    family->children[family->count++] = child;
}

static enum word hear(const struct family *family)
{
    char byte = 0;
    return read(family->words[0], &byte, 1) == 1 ? (enum word)byte : SAYS_FAILED;
}

/* The next words, in any order: so many of this one, and of another. */
static void expect_words(const struct family *family, enum word one, int ones,
                         enum word other, int others, const char *what)
{
    for (int i = ones + others; i > 0; i--) {
        const enum word heard = hear(family);
        ones -= heard == one;
        others -= heard == other;
    }
    expect(ones == 0 && others == 0, what);
}

static void let_go(const struct family *family)
{
    expect(write(family->orders[1], "g", 1) == 1, "order");
}

/* `killed` of the children were. */
static void end(struct family *family, int killed)
{
    for (int i = 0; i < family->count; i++) {
        int status = 0;
        (void)waitpid(family->children[i], &status, 0);
        killed -= WIFSIGNALED(status);
        expect(WIFSIGNALED(status) || WEXITSTATUS(status) == 0, "a child failed");
    }
    expect(killed == 0, "children that were killed");
    for (int i = 0; i < 2; i++) {
        close(family->words[i]);
        close(family->orders[i]);
    }
    api_fixture_close(&family->fixture);
}

static const struct task holding = {.holds = true};
static const struct task plain = {.holds = false};

static void processes_compile_a_key_once(void)
{
    struct family family;
    begin(&family);
    start(&family, &holding);
    expect(hear(&family) == SAYS_HELD, "the first one compiles");
    for (int i = 0; i < WAITERS; i++) {
        start(&family, &plain);
    }
    expect_words(&family, SAYS_WAITS, WAITERS, SAYS_FAILED, 0, "the others wait");
    let_go(&family);
    expect_words(&family, SAYS_COMPILED, 1, SAYS_FOUND, WAITERS, "one compile");
    end(&family, 0);
}

static void the_lock_of_a_dead_process_is_free(void)
{
    struct family family;
    begin(&family);
    start(&family, &holding);
    expect(hear(&family) == SAYS_HELD, "the first one compiles");
    start(&family, &plain);
    start(&family, &plain);
    expect_words(&family, SAYS_WAITS, 2, SAYS_FAILED, 0, "the others wait");
    kill(family.children[0], SIGKILL);
    /* The second of them waits for the first, or comes later. */
    int compiled = 0;
    int found = 0;
    while (compiled + found < 2) {
        const enum word heard = hear(&family);
        compiled += heard == SAYS_COMPILED;
        found += heard == SAYS_FOUND;
        if (heard == SAYS_FAILED) {
            break;
        }
    }
    expect(compiled == 1 && found == 1, "one of the others compiled");
    end(&family, 1);
}

static void who_has_waited_long_enough_compiles(void)
{
    static const struct task hasty = {.limit_ms = 40};
    struct family family;
    begin(&family);
    start(&family, &holding);
    expect(hear(&family) == SAYS_HELD, "the first one compiles");
    start(&family, &hasty);
    expect(hear(&family) == SAYS_WAITS, "the other waits");
    expect(hear(&family) == SAYS_COMPILED, "and compiles then");
    let_go(&family);
    expect(hear(&family) == SAYS_COMPILED, "the first one ends as ever");
    end(&family, 0);
}

static void a_wait_can_be_cancelled(void)
{
    static const struct task cancelling = {.cancels = true};
    struct family family;
    begin(&family);
    start(&family, &holding);
    expect(hear(&family) == SAYS_HELD, "the first one compiles");
    start(&family, &cancelling);
    expect(hear(&family) == SAYS_WAITS, "the other waits");
    expect(hear(&family) == SAYS_CANCELLED, "and is cancelled");
    let_go(&family);
    expect(hear(&family) == SAYS_COMPILED, "the first one ends as ever");
    end(&family, 0);
}

static void without_locks_everyone_compiles(void)
{
    struct family family;
    char path[96];
    begin(&family);
    snprintf(path, sizeof(path), "%s/v1", family.fixture.folder);
    expect(mkdir(path, 0700) == 0, "v1");
    snprintf(path, sizeof(path), "%s/v1/.lock", family.fixture.folder);
    expect(mkdir(path, 0700) == 0, "a folder where the lock file would be");
    start(&family, &holding);
    expect(hear(&family) == SAYS_HELD, "the first one compiles");
    start(&family, &plain);
    expect(hear(&family) == SAYS_COMPILED, "the other compiles too");
    let_go(&family);
    expect(hear(&family) == SAYS_COMPILED, "the first one ends as ever");
    end(&family, 0);
}

int main(void)
{
    processes_compile_a_key_once();
    the_lock_of_a_dead_process_is_free();
    who_has_waited_long_enough_compiles();
    a_wait_can_be_cancelled();
    without_locks_everyone_compiles();
    return plain_end("once_processes");
}
