// A thin C face on simdjson On-Demand: one call checks a whole JSON document and flattens it into an array of
// tokens, which the caller then walks without calling back.

#ifndef CSIMDJSON_H
#define CSIMDJSON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Closed for Swift, which then imports an exhaustive enum instead of a bare number. The integer types are
// given because C and C++ would otherwise be free to disagree on them.
#if defined(__clang__)
#define CSJ_CLOSED __attribute__((enum_extensibility(closed)))
#else
#define CSJ_CLOSED
#endif

/// Why a document was not read.
typedef enum CSJ_CLOSED csj_error : int32_t {
    csj_error_none = 0,
    /// The bytes are not one JSON document (RFC 8259) in UTF-8.
    csj_error_not_json = 1,
    /// Objects and arrays are nested more than CSJ_MAXIMUM_DEPTH levels deep.
    csj_error_too_deep = 2,
    /// Memory could not be had, or the document is larger than CSJ_MAXIMUM_LENGTH.
    csj_error_out_of_memory = 3,
} csj_error;

/// What a token is.
typedef enum CSJ_CLOSED csj_kind : uint8_t {
    csj_kind_object,
    csj_kind_array,
    csj_kind_string,
    /// A number written as an integer that fits 64 signed bits.
    csj_kind_integer,
    /// Any other number JSON allows: with a fraction or an exponent, or beyond 64 bits.
    csj_kind_number,
    csj_kind_true,
    csj_kind_false,
    csj_kind_null,
} csj_kind;

/// Levels of objects and arrays that a document may nest.
#define CSJ_MAXIMUM_DEPTH 128
/// The longest document, in bytes.
#define CSJ_MAXIMUM_LENGTH 0x40000000

/// One value, or one key of an object, of a flattened document.
///
/// Tokens lie in document order. An object is followed by its members, each a string token (the key) and then
/// the value; an array is followed by its elements. `next` is the index of the first token after the value
/// and all it holds, which is how a reader steps over a value it has no use for.
typedef struct csj_token {
    /// A string, unescaped, `length` bytes of UTF-8 without a terminating zero; NULL for other kinds.
    const char *text;
    /// The value of an integer; 0 for other kinds.
    int64_t integer;
    uint32_t length;
    uint32_t next;
    csj_kind kind;
} csj_token;

/// Owns the buffers of one document at a time. Not for two threads at once.
typedef struct csj_parser csj_parser;

/// A parser with empty buffers; NULL when memory could not be had.
csj_parser *csj_parser_create(void);
/// Frees a parser and every document it read. NULL is fine.
void csj_parser_free(csj_parser *parser);

/// Makes room for documents of up to `length` bytes: reading one of those needs no memory any more.
csj_error csj_parser_reserve(csj_parser *parser, size_t length);

/// Reads the document of `length` bytes at `bytes`, which are copied.
///
/// On success `*tokens` has at least one token, the document's root, and the root's `next` is their number.
/// The tokens and their texts are valid until the parser reads again or is freed. On failure `*tokens` is
/// NULL. A byte order mark in front of the document is skipped. A key that is given twice is two members.
csj_error csj_parse(csj_parser *parser, const void *bytes, size_t length, const csj_token **tokens);

/// The error as an English phrase, a constant.
const char *csj_error_description(csj_error error);

#ifdef __cplusplus
}
#endif

#endif
