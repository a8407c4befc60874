/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/task.h"

struct work {
    sem_t may_end, has_ended;
    bool is_over;
    int stops, releases;
    bool are_signals_blocked;
    size_t stack_bytes;
};

static void init_work(struct work *work)
{
    memset(work, 0, sizeof(*work));
    cr_assert_eq(sem_init(&work->may_end, 0, 0), 0);
    cr_assert_eq(sem_init(&work->has_ended, 0, 0), 0);
}

static bool is_over(void *user)
{
    return ((struct work *)user)->is_over;
}

static void stop(void *user)
{
    ((struct work *)user)->stops++;
}

static void release(void *user)
{
    struct work *work = user;
    work->releases++;
    sem_post(&work->has_ended);
}

static jit_gemm_status look_around(void *user)
{
    struct work *work = user;
    sigset_t blocked;
    pthread_attr_t attributes;
    void *address = NULL;
    cr_assert_eq(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    cr_assert_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
    cr_assert_eq(pthread_attr_getstack(&attributes, &address, &work->stack_bytes), 0);
    pthread_attr_destroy(&attributes);
    work->are_signals_blocked =
        sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGUSR1) == 1;
    return JIT_GEMM_OK;
}

static jit_gemm_status fail(void *user)
{
    (void)user;
    return jg_fail(JIT_GEMM_ERR_COMPILE, "field", "remedy", "fact");
}

static jit_gemm_status wait_for_leave(void *user)
{
    struct work *work = user;
    while (sem_wait(&work->may_end) != 0) {
    }
    return fail(NULL);
}

Test(task, runs_with_a_large_stack_and_without_signals)
{
    struct work work;
    init_work(&work);
    const struct jg_task task = {.work = look_around, .user = &work, .release = release};
    bool is_left = true;

    cr_expect_eq(jg_task_run(&task, &is_left), JIT_GEMM_OK);

    cr_expect(!is_left);
    cr_expect(work.are_signals_blocked);
    cr_expect_geq(work.stack_bytes, (size_t)JG_TASK_STACK_BYTES);
    cr_expect_eq(work.releases, 0);
}

Test(task, its_error_becomes_the_callers)
{
    const struct jg_task task = {.work = fail};
    bool is_left = true;

    cr_expect_eq(jg_task_run(&task, &is_left), JIT_GEMM_ERR_COMPILE);

    cr_expect_str_eq(jg_error_text(), "field: fact; remedy");
}

Test(task, that_does_not_stop_is_left_and_frees_what_it_has)
{
    struct work work;
    init_work(&work);
    work.is_over = true;
    const struct jg_task task = {.work = wait_for_leave,
                                 .user = &work,
                                 .is_over = is_over,
                                 .over_user = &work,
                                 .stop = stop,
                                 .release = release,
                                 .grace_ms = 1};
    bool is_left = false;

    cr_expect_eq(jg_task_run(&task, &is_left), JIT_GEMM_OK);

    cr_expect(is_left);
    cr_expect_eq(work.stops, 1);
    sem_post(&work.may_end);
    while (sem_wait(&work.has_ended) != 0) {
    }
    cr_expect_eq(work.releases, 1);
}

/* ------------------------------------------------------------------- when a process exits
 */

static struct work left;

static void let_it_end(void)
{
    sem_post(&left.may_end);
}

/* Runs behind what waits for it. */
static void tell_whether_it_has_ended(void)
{
    _exit(left.releases == 1 ? 0 : 1);
}

static jit_gemm_status end_late(void *user)
{
    const struct timespec moment = {.tv_nsec = 50 * 1000 * 1000};
    const jit_gemm_status status = wait_for_leave(user);
    (void)nanosleep(&moment, NULL);
    return status;
}

static void leave_one(void)
{
    const struct jg_task task = {.work = end_late,
                                 .user = &left,
                                 .is_over = is_over,
                                 .over_user = &left,
                                 .stop = stop,
                                 .release = release,
                                 .grace_ms = 1};
    bool is_left = false;
    init_work(&left);
    left.is_over = true;
    cr_assert_eq(jg_task_run(&task, &is_left), JIT_GEMM_OK);
    cr_assert(is_left);
}

static int exit_code_of(pid_t child)
{
    int result = 0;
    cr_assert_eq(waitpid(child, &result, 0), child);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

Test(task, an_exit_waits_for_those_that_are_left)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (atexit(tell_whether_it_has_ended) != 0) {
            _exit(2);
        }
        leave_one();
        if (atexit(let_it_end) != 0) {
            _exit(2);
        }
        exit(3);
    }
    cr_expect_eq(exit_code_of(child), 0);
}

Test(task, a_child_of_a_fork_waits_for_none_of_its_parents)
{
    leave_one();
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        const struct jg_task task = {.work = fail};
        bool is_left = true;
        exit(jg_task_run(&task, &is_left) == JIT_GEMM_ERR_COMPILE && !is_left ? 0 : 1);
    }
    cr_expect_eq(exit_code_of(child), 0);
    let_it_end();
    while (sem_wait(&left.has_ended) != 0) {
    }
}

/* Of a user who may have no thread more: 0 if the error says so, 2 if there is no such
 * user. */
static int exit_code_without_threads(void)
{
    enum { NOBODY = 65534 };
    const struct rlimit none = {0, 0}; /* does not bind root */
    const struct jg_task task = {.work = fail};
    bool is_left = false;
    if ((geteuid() == 0 && setuid(NOBODY) != 0) || setrlimit(RLIMIT_NPROC, &none) != 0) {
        return 2;
    }
    const bool is_refused = jg_task_run(&task, &is_left) == JIT_GEMM_ERR_NO_MEMORY;
    const char *text = jg_error_text();
    return is_refused && strstr(text, "a stack of 64 MiB, cannot be started: ") != NULL &&
                   strstr(text, strerror(EAGAIN)) != NULL && strstr(text, "ulimit -u")
               ? 0
               : 1;
}

Test(task, a_limit_of_threads_is_no_lack_of_memory)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        _exit(exit_code_without_threads());
    }
    const int code = exit_code_of(child);
    if (code == 2) {
        cr_skip_test("no other user");
    }
    cr_expect_eq(code, 0);
}
