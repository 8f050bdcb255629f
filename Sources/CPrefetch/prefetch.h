#ifndef PREFETCH_H
#define PREFETCH_H

/* Asks the processor to bring the memory at an address into its caches. Swift has no word for that. */
static inline void prefetch(const void *address) { __builtin_prefetch(address); }

#endif
