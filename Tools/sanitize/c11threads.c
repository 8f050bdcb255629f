/* C11 threads in terms of POSIX threads, for runs under ThreadSanitizer.
 *
 * librdkafka starts its threads and locks with C11's functions, which ThreadSanitizer does not intercept: it knows nothing
 * of such a thread, and crashes as soon as one runs instrumented code, as every callback does. In glibc the C11 types are
 * the POSIX ones under other names. Loaded before librdkafka (LD_PRELOAD) by `make sanitize`. */
#include <errno.h>
#include <pthread.h>
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
