#include "CBench.h"

#if defined(__has_feature)
/* A sanitizer brings a malloc of its own. */
#define HAS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define HAS_SANITIZER 0
#endif

#if defined(__GLIBC__) && !HAS_SANITIZER

#include <errno.h>

/* An executable's own malloc takes the place of glibc's, also for the libraries it uses; glibc keeps its own under these
   names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

/* By thread: one count would move between the processors at each request, and the loops that run in this executable, too, would
   be slower than they need be. This takes one instruction without a lock. */
static _Thread_local int64_t requests __attribute__((tls_model("initial-exec")));

static void count(void) { requests++; }

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

int64_t malloc_count(void) { return requests; }

#else

int64_t malloc_count(void) { return -1; }

#endif
