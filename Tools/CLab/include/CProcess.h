#ifndef CPROCESS_H
#define CPROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* From now on SIGINT and SIGTERM do not end the process: process_is_interrupted() reports them. */
void process_catch_signals(void);
bool process_is_interrupted(void);

/*
 * Starts an executable with its output appended to a file, and no other open file of this process. On Linux the kernel kills it
 * when the calling thread ends. It gets a process group of its own, so that Ctrl-C in the terminal does not reach it.
 *
 * Returns the process id once the child has closed what it inherited, or -1 with errno set.
 */
pid_t process_spawn(const char *executable, char *const arguments[], const char *output);

/*
 * The processor time used so far by all threads of a process, in nanoseconds; -1 if unknown. On Linux the resolution is far
 * below a microsecond.
 */
int64_t process_cpu_time(pid_t process);

/* The current resident memory of a process, in bytes; -1 if unknown. */
int64_t process_resident_memory(pid_t process);

#endif
