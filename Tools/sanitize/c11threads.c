/* C11 threads in terms of POSIX threads, and a visible wait for Swift's Mutex, for runs under ThreadSanitizer.
 *
 * librdkafka starts its threads and locks with C11's functions, which ThreadSanitizer does not intercept, but it has to know a
 * thread that runs instrumented code, as every callback does. In glibc the C11 types are the POSIX ones under other names. Loaded
 * before librdkafka (LD_PRELOAD) by `make sanitize`. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

static int result(int error) { return error == 0 ? thrd_success : thrd_error; }

struct start {
    thrd_start_t function;
    void *argument;
};

static void *run(void *opaque) {
    struct start start = *(struct start *)opaque;
    free(opaque);
    return (void *)(long)start.function(start.argument);
}

int thrd_create(thrd_t *thread, thrd_start_t function, void *argument) {
    struct start *start = malloc(sizeof *start);
    if (!start) return thrd_nomem;
    *start = (struct start){function, argument};
    int error = pthread_create((pthread_t *)thread, NULL, run, start);
    if (error) free(start);
    return result(error);
}

int thrd_join(thrd_t thread, int *code) {
    void *value = NULL;
    int error = pthread_join((pthread_t)thread, &value);
    if (code) *code = (int)(long)value;
    return result(error);
}

int thrd_detach(thrd_t thread) { return result(pthread_detach((pthread_t)thread)); }

int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    if (type & mtx_recursive) pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result(error);
}

int mtx_lock(mtx_t *mutex) { return result(pthread_mutex_lock((pthread_mutex_t *)mutex)); }
int mtx_unlock(mtx_t *mutex) { return result(pthread_mutex_unlock((pthread_mutex_t *)mutex)); }
void mtx_destroy(mtx_t *mutex) { pthread_mutex_destroy((pthread_mutex_t *)mutex); }

int mtx_trylock(mtx_t *mutex) {
    return pthread_mutex_trylock((pthread_mutex_t *)mutex) == 0 ? thrd_success : thrd_busy;
}

int cnd_init(cnd_t *condition) { return result(pthread_cond_init((pthread_cond_t *)condition, NULL)); }
int cnd_signal(cnd_t *condition) { return result(pthread_cond_signal((pthread_cond_t *)condition)); }
int cnd_broadcast(cnd_t *condition) { return result(pthread_cond_broadcast((pthread_cond_t *)condition)); }
void cnd_destroy(cnd_t *condition) { pthread_cond_destroy((pthread_cond_t *)condition); }

int cnd_wait(cnd_t *condition, mtx_t *mutex) {
    return result(pthread_cond_wait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *condition, mtx_t *mutex, const struct timespec *until) {
    int error = pthread_cond_timedwait((pthread_cond_t *)condition, (pthread_mutex_t *)mutex, until);
    return error == ETIMEDOUT ? thrd_timedout : result(error);
}

/* Swift's Mutex takes and leaves a lock that nobody waits for in code that is compiled into its caller. The rest is in a library
 * that is not instrumented, so whatever follows a wait would be called a race. */
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define MUTEX __attribute__((swift_context)) void *mutex

extern void __tsan_acquire(void *address);
extern void __tsan_release(void *address);

__attribute__((swiftcall)) void lock_slow(uint32_t owner, MUTEX) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(MUTEX) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t owner, MUTEX) {
    ((__attribute__((swiftcall)) void (*)(uint32_t, MUTEX))dlsym(RTLD_NEXT, LOCK_SLOW))(owner, mutex);
    __tsan_acquire(mutex);
}

__attribute__((swiftcall)) void unlock_slow(MUTEX) {
    __tsan_release(mutex);
    ((__attribute__((swiftcall)) void (*)(MUTEX))dlsym(RTLD_NEXT, UNLOCK_SLOW))(mutex);
}
