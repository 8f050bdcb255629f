#include "malloc_count.h"

#include <stddef.h>

#ifdef __GLIBC__

#include <errno.h>
#include <stdatomic.h>

/* An executable's own malloc takes the place of glibc's, also for the libraries it uses; glibc keeps its own under these
   names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_int_fast64_t requests;

static void count(void) { atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed); }

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

int64_t malloc_count(void) { return atomic_load_explicit(&requests, memory_order_relaxed); }

#else

int64_t malloc_count(void) { return -1; }

#endif
