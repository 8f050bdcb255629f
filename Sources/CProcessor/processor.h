#ifndef PROCESSOR_H
#define PROCESSOR_H

/* Instructions for which Swift has no word. */

#include <stdint.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

/* Asks the processor to bring the memory at an address into its caches. */
static inline void prefetch(const void *address) { __builtin_prefetch(address); }

/* Of the sixteen bytes at an address, how many come before the first one that does not stand for itself in a JSON string: a
 * quote, a backslash, a control character, or a byte that is not ASCII. */
static inline uint32_t plain_count(const void *address) {
#if defined(__SSE2__)
    __m128i bytes = _mm_loadu_si128((const __m128i *)address);
    __m128i marks = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    /* As signed numbers, those that are not ASCII are less than a space, too. */
    __m128i special = _mm_or_si128(marks, _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')));
    return (uint32_t)__builtin_ctz((uint32_t)_mm_movemask_epi8(special) | 1u << 16);
#elif defined(__ARM_NEON)
    int8x16_t bytes = vld1q_s8((const int8_t *)address);
    uint8x16_t marks = vorrq_u8(vceqq_s8(bytes, vdupq_n_s8('"')), vceqq_s8(bytes, vdupq_n_s8('\\')));
    uint8x16_t special = vorrq_u8(marks, vcltq_s8(bytes, vdupq_n_s8(' ')));
    /* Four bits of each byte. */
    uint64_t found = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(special), 4)), 0);
    return found == 0 ? 16 : (uint32_t)__builtin_ctzll(found) / 4;
#else
    const signed char *bytes = address;
    uint32_t count = 0;
    while (count < 16 && bytes[count] >= ' ' && bytes[count] != '"' && bytes[count] != '\\') count++;
    return count;
#endif
}

#endif
