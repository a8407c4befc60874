/* SPDX-License-Identifier: MIT */
/* For tests of the library that are plain programs, fit for ThreadSanitizer: Criterion does
 * not start under it. Any thread may expect. */
#ifndef PLAIN_TEST_H
#define PLAIN_TEST_H

#include <pthread.h>
#include <stdbool.h>

/* Counts and prints what does not hold, with the last error of this thread. */
void expect(bool holds, const char *what);
/* Ends the program if there is no thread to be had. */
pthread_t plain_begin_thread(void *(*body)(void *), void *user);
/* Prints how the program of that name went; its exit code. */
int plain_end(const char *name);

#endif
