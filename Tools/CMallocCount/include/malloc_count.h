#ifndef MALLOC_COUNT_H
#define MALLOC_COUNT_H

#include <stdint.h>

/* How often this process has asked for memory from the heap; -1 where that cannot be counted. */
int64_t malloc_count(void);

#endif
