/* Child processes, by calls that Swift does not have, and the signals to this one. */
#if defined(__linux__)
#define _GNU_SOURCE
#include <sys/prctl.h>
#endif

#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <libproc.h>
#include <mach/mach_time.h>
#include <sys/resource.h>
#endif

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal) {
    (void)signal;
    is_interrupted = 1;
}

void process_catch_signals(void) {
    signal(SIGINT, interrupt);
    signal(SIGTERM, interrupt);
}

bool process_is_interrupted(void) { return is_interrupted; }

/* More file descriptors than the tools ever have open. */
enum { MOST_DESCRIPTORS = 4096 };

/* Runs in the forked child of a multithreaded process: only async-signal-safe calls are allowed. */
static void become(const char *executable, char *const arguments[], int output, pid_t parent) {
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have died before prctl. */
    if (getppid() != parent) _exit(127);
#else
    (void)parent;
#endif
    setpgid(0, 0);
    /* Ignored and blocked signals would be inherited by the new program. */
    const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);

    int input = open("/dev/null", O_RDONLY);
    if (input < 0 || dup2(input, STDIN_FILENO) < 0) _exit(127);
    if (dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0) _exit(127);
    /* A connection inherited by the child would stay open after the parent closes it. */
    for (int descriptor = STDERR_FILENO + 1; descriptor < MOST_DESCRIPTORS; descriptor++) close(descriptor);
    execv(executable, arguments);
    _exit(127);
}

pid_t process_spawn(const char *executable, char *const arguments[], const char *output) {
    int gate[2];
    if (access(executable, X_OK) || pipe(gate)) return -1;
    int file = open(output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    pid_t parent = getpid();
    pid_t child = file < 0 ? -1 : fork();
    if (child == 0) become(executable, arguments, file, parent);
    int reason = errno;
    close(file);
    close(gate[1]);
    /* Ends when the child, too, has closed the gate, as all that it inherited. */
    char none;
    while (read(gate[0], &none, 1) < 0 && errno == EINTR) {}
    close(gate[0]);
    errno = reason;
    return child;
}

int64_t process_cpu_time(pid_t process) {
#if defined(__APPLE__)
    struct rusage_info_v0 usage;
    if (proc_pid_rusage(process, RUSAGE_INFO_V0, (rusage_info_t *)&usage)) return -1;
    mach_timebase_info_data_t base;
    mach_timebase_info(&base);
    return (int64_t)((usage.ri_user_time + usage.ri_system_time) * base.numer / base.denom);
#else
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &time)) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
#endif
}

int64_t process_resident_memory(pid_t process) {
#if defined(__APPLE__)
    struct rusage_info_v0 usage;
    if (proc_pid_rusage(process, RUSAGE_INFO_V0, (rusage_info_t *)&usage)) return -1;
    return (int64_t)usage.ri_resident_size;
#elif defined(__linux__)
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)process);
    FILE *file = fopen(path, "r");
    if (!file) return -1;
    long total = 0, resident = 0;
    int found = fscanf(file, "%ld %ld", &total, &resident);
    fclose(file);
    return found == 2 ? (int64_t)resident * sysconf(_SC_PAGESIZE) : -1;
#else
    (void)process;
    return -1;
#endif
}
