/* SPDX-License-Identifier: MIT */
#include "base/task.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

struct running {
    struct jg_task task;
    jg_mutex mutex;
    jg_condition changed;
    bool is_done, is_left;
    jit_gemm_status status;            /* of the work, once it is done */
    jit_gemm_diagnostics *diagnostics; /* and its error */
    pthread_t thread;
    struct running *next_left;
    atomic_bool has_released; /* of one that is left: it does nothing any more but to end */
};

/*
 * Those that nobody waits for, and the process that has their threads. They run a
 * compiler's code and this library's, which a process that exits should not take apart
 * under them: a program that had cancelled its compiles crashed behind its last line. So an
 * exit waits for them, but not for the minutes that a compiler can take. `left_mutex`
 * guards the list. A task's own thread does not lock it: a child of a fork would find it
 * locked, where nobody knows of the task any more.
 */
enum { EXIT_WAITS_MS = 2000 };
static jg_mutex left_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct running *left_tasks;
static pid_t left_process;
static pthread_once_t exit_is_watched = PTHREAD_ONCE_INIT;

static void free_running(struct running *running)
{
    jg_diagnostics_destroy(&running->diagnostics);
    pthread_cond_destroy(&running->changed);
    pthread_mutex_destroy(&running->mutex);
    jg_free(running);
}

static void *run_work(void *user)
{
    struct running *running = user;
    jit_gemm_diagnostics *diagnostics = NULL;
    const jit_gemm_status status = running->task.work(running->task.user);
    if (status != JIT_GEMM_OK) {
        (void)jg_diagnostics_take(&diagnostics);
    }
    pthread_mutex_lock(&running->mutex);
    running->is_done = true;
    running->status = status;
    running->diagnostics = diagnostics;
    const bool is_left = running->is_left;
    pthread_cond_signal(&running->changed);
    pthread_mutex_unlock(&running->mutex);
    if (is_left) {
        running->task.release(running->task.user);
        atomic_store(&running->has_released, true);
    }
    return NULL;
}

/* Called with the list's mutex held: a child of a fork has none of the threads. */
static void forget_those_of_the_parent(void)
{
    if (left_process != getpid()) {
        left_process = getpid();
        left_tasks = NULL;
    }
}

/* Takes one off the list that has ended; NULL: there is none. */
static struct running *take_ended(bool *ret_are_more)
{
    pthread_mutex_lock(&left_mutex);
    forget_those_of_the_parent();
    struct running **link = &left_tasks;
    while (*link != NULL && !atomic_load(&(*link)->has_released)) {
        link = &(*link)->next_left;
    }
    struct running *taken = *link;
    if (taken != NULL) {
        *link = taken->next_left;
    }
    *ret_are_more = left_tasks != NULL;
    pthread_mutex_unlock(&left_mutex);
    return taken;
}

/* Frees those that have ended. True if others have not. */
static bool join_ended(void)
{
    struct running *running = NULL;
    bool are_more = false;
    while ((running = take_ended(&are_more)) != NULL) {
        pthread_join(running->thread, NULL);
        free_running(running);
    }
    return are_more;
}

static void wait_for_left(void)
{
    if (getpid() != left_process) { /* the mutex may be a thread's of the parent */
        return;
    }
    const double end_ms = jg_now_ms() + EXIT_WAITS_MS;
    const struct timespec moment = {.tv_nsec = JG_ASK_EVERY_MS * 1000000L};
    while (join_ended() && jg_now_ms() < end_ms) {
        (void)nanosleep(&moment, NULL);
    }
}

/* A program may unload this library (dlclose), whose code is still run by those that are
 * left. Where that code is the program's own, there is nothing to keep. */
static void keep_code(void)
{
    Dl_info here;
    if (dladdr(&left_tasks, &here) != 0 && here.dli_fname != NULL) {
        (void)dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
    }
}

static void watch_exit(void)
{
    keep_code();
    (void)atexit(wait_for_left); /* without memory an exit does not wait */
}

/* Called with the task's mutex held, so that its thread has not read `is_left` yet. */
static void leave(struct running *running)
{
    running->is_left = true;
    pthread_mutex_lock(&left_mutex);
    forget_those_of_the_parent();
    running->next_left = left_tasks;
    left_tasks = running;
    pthread_mutex_unlock(&left_mutex);
    (void)pthread_once(&exit_is_watched, watch_exit);
}

/* Signals are for the program's own threads. 0, or an errno value. */
static int start_thread(struct running *running)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int code = pthread_attr_init(&attributes);
    if (code != 0) {
        return code;
    }
    sigfillset(&all);
    code = pthread_attr_setstacksize(&attributes, JG_TASK_STACK_BYTES);
    if (code == 0) {
        code = pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    if (code == 0) {
        code = pthread_create(&running->thread, &attributes, run_work, running);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return code;
}

/* More often a limit than a lack of memory: a container's, say. */
static jit_gemm_status fail_thread(int code)
{
    return jg_fail_system(
        JIT_GEMM_ERR_NO_MEMORY, "compiler",
        "raise the limit of processes and threads (ulimit -u, pids.max of a container) or "
        "of addresses (ulimit -v), or fill the cache beforehand with `jit-gemm prewarm`",
        "its thread, with a stack of %d MiB, cannot be started: %s",
        JG_TASK_STACK_BYTES >> 20, strerror(code));
}

/* Called with the mutex held. False if the work goes on without anybody waiting. */
static bool wait_for_work(struct running *running)
{
    const struct jg_task *task = &running->task;
    bool is_stopped = false;
    double left_alone_ms = 0.0;
    while (!running->is_done) {
        if (task->is_over == NULL) {
            pthread_cond_wait(&running->changed, &running->mutex);
            continue;
        }
        if (!is_stopped && task->is_over(task->over_user)) {
            is_stopped = true;
            left_alone_ms = jg_now_ms() + task->grace_ms;
            task->stop(task->user);
        }
        if (is_stopped && jg_now_ms() >= left_alone_ms) {
            return false;
        }
        jg_condition_wait(&running->changed, &running->mutex);
    }
    return true;
}

/* NULL without memory. */
static struct running *create_running(const struct jg_task *task)
{
    struct running *running = jg_alloc(sizeof(*running));
    if (running == NULL || !jg_condition_init(&running->changed, &running->mutex)) {
        jg_free(running);
        return NULL;
    }
    running->task = *task;
    return running;
}

jit_gemm_status jg_task_run(const struct jg_task *task, bool *ret_is_left)
{
    (void)join_ended();
    struct running *running = create_running(task);
    if (running == NULL) {
        return jg_fail_memory();
    }
    const int code = start_thread(running);
    if (code != 0) {
        free_running(running);
        return fail_thread(code);
    }
    pthread_mutex_lock(&running->mutex);
    const bool is_done = wait_for_work(running);
    if (!is_done) {
        leave(running);
    }
    pthread_mutex_unlock(&running->mutex);
    *ret_is_left = !is_done;
    if (!is_done) {
        return JIT_GEMM_OK;
    }
    pthread_join(running->thread, NULL);
    const jit_gemm_status status = running->status;
    if (status != JIT_GEMM_OK) {
        jg_error_restore(status, running->diagnostics);
    }
    free_running(running);
    return status;
}
