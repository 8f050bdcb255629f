#include "CSimdJSON.h"

// Errors travel as codes: no exception may cross into C.
#define SIMDJSON_EXCEPTIONS 0
// On-Demand then also finds, at each closing bracket, that an outer object or array was never closed.
#define SIMDJSON_CHECK_EOF 1
#define SIMDJSON_DEVELOPMENT_CHECKS 0
// SwiftPM leaves assertions in, also in release.
#define NDEBUG
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

namespace ondemand = simdjson::ondemand;

namespace {

// The document is read as the only element of an array, so that one walk serves documents of every kind:
// On-Demand has other entry points, with other checks, for a number or a string that stands alone.
constexpr char kOpening = '[';
constexpr char kClosing = ']';
constexpr size_t kWrapping = 2;
constexpr size_t kSmallestCapacity = 4096;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_json_number(std::string_view text) {
    size_t at = 0;
    auto skip = [&](std::string_view any) {
        bool found = at < text.size() && any.find(text[at]) != any.npos;
        at += found ? 1 : 0;
        return found;
    };
    auto digits = [&] {
        size_t first = at;
        while (skip("0123456789")) {}
        return at - first;
    };
    skip("-");
    bool leading_zero = at < text.size() && text[at] == '0';
    size_t whole = digits();
    if (whole == 0 || (leading_zero && whole > 1)) { return false; }
    if (skip(".") && digits() == 0) { return false; }
    if (skip("eE")) {
        skip("+-");
        if (digits() == 0) { return false; }
    }
    return at == text.size();
}

// The first quote or backslash from here on, where there is one. Eight bytes at a time: a loop over single bytes ends at
// another place for every string, which no processor can predict. Reads up to seven bytes past it, into the padding.
const char *find_quote_or_backslash(const char *at) {
    constexpr uint64_t ones = 0x0101010101010101;
    constexpr uint64_t highs = 0x8080808080808080;
    for (;; at += 8) {
        uint64_t word;
        std::memcpy(&word, at, sizeof word);
        uint64_t quotes = word ^ (ones * '"');
        uint64_t backslashes = word ^ (ones * '\\');
        // A byte's high bit is set where the byte is zero; above the first such byte others may be set too.
        uint64_t found = ((quotes - ones) & ~quotes & highs) | ((backslashes - ones) & ~backslashes & highs);
        if (!found) { continue; }
        // Little-endian, as all processors are that this runs on, else byte by byte.
        if constexpr (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) { return at + __builtin_ctzll(found) / 8; }
        while (*at != '"' && *at != '\\') { ++at; }
        return at;
    }
}

csj_error error_from(simdjson::error_code error) {
    switch (error) {
    case simdjson::SUCCESS: return csj_error_none;
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY: return csj_error_out_of_memory;
    default: return csj_error_not_json;
    }
}

}  // namespace

struct csj_parser {
    csj_error reserve(size_t length);
    csj_error parse(std::string_view document);
    const csj_token *tokens() const { return tape.get(); }

private:
    csj_error flatten(ondemand::value &value, unsigned depth);
    csj_error flatten_object(ondemand::value &value, csj_token &token, unsigned depth);
    csj_error flatten_array(ondemand::value &value, csj_token &token, unsigned depth);
    csj_error flatten_text(ondemand::raw_json_string raw, csj_token &token);
    csj_error flatten_number(ondemand::value &value, csj_token &token);
    csj_token *append();

    ondemand::parser simdjson;
    // The longest document there is room for; 0 until there are buffers.
    size_t capacity = 0;
    // The wrapped copy of the document, with the padding that simdjson reads past the end.
    std::unique_ptr<char[]> copy;
    // The strings of the document that had escapes, without them. Ours rather than simdjson's, which does not
    // notice when it has no memory.
    std::unique_ptr<uint8_t[]> texts;
    uint8_t *texts_end = nullptr;
    std::unique_ptr<csj_token[]> tape;
    size_t tape_capacity = 0;
    size_t tape_count = 0;
};

csj_error csj_parser::reserve(size_t length) {
    // An empty document needs buffers as well: it too is wrapped and padded.
    if (capacity > 0 && length <= capacity) { return csj_error_none; }
    if (length > CSJ_MAXIMUM_LENGTH) { return csj_error_out_of_memory; }
    // Doubled, so that a run of ever longer documents costs few reallocations.
    size_t wanted = std::max({length, capacity * 2, kSmallestCapacity});
    // A token takes at least one byte, and something stands between any two that are not one within the
    // other.
    size_t wanted_tokens = wanted / 2 + 2;

    capacity = 0;
    copy.reset(new (std::nothrow) char[wanted + kWrapping + simdjson::SIMDJSON_PADDING]);
    texts.reset(new (std::nothrow) uint8_t[wanted + kWrapping + simdjson::SIMDJSON_PADDING]);
    tape.reset(new (std::nothrow) csj_token[wanted_tokens]);
    if (!copy || !texts || !tape) { return csj_error_out_of_memory; }
    if (auto error = simdjson.allocate(wanted + kWrapping)) { return error_from(error); }
    capacity = wanted;
    tape_capacity = wanted_tokens;
    return csj_error_none;
}

csj_error csj_parser::parse(std::string_view document) {
    if (document.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
        document.remove_prefix(kByteOrderMark.size());
    }
    if (auto error = reserve(document.size())) { return error; }

    size_t length = document.size() + kWrapping;
    copy[0] = kOpening;
    if (!document.empty()) { std::memcpy(&copy[1], document.data(), document.size()); }
    copy[length - 1] = kClosing;
    // Zeros, so that what a longer document left behind is never taken for a part of this one.
    std::memset(&copy[length], 0, simdjson::SIMDJSON_PADDING);
    texts_end = texts.get();
    tape_count = 0;

    ondemand::document root;
    ondemand::array wrapper;
    auto allocated = length + simdjson::SIMDJSON_PADDING;
    if (auto error = simdjson.iterate(copy.get(), length, allocated).get(root)) { return error_from(error); }
    if (auto error = root.get_array().get(wrapper)) { return error_from(error); }
    bool found = false;
    for (auto element : wrapper) {
        ondemand::value value;
        if (auto error = element.get(value)) { return error_from(error); }
        if (found) { return csj_error_not_json; }
        if (auto error = flatten(value, 0)) { return error; }
        found = true;
    }
    // Nowhere to point at: the wrapper's closing bracket was the last token, so nothing trails the document.
    bool at_end = root.current_location().error() == simdjson::OUT_OF_BOUNDS;
    return found && at_end ? csj_error_none : csj_error_not_json;
}

csj_token *csj_parser::append() {
    // Never full for a document that is JSON; one that is not may yet get here before the walk finds out.
    if (tape_count == tape_capacity) { return nullptr; }
    csj_token *token = &tape[tape_count++];
    *token = {nullptr, 0, 0, uint32_t(tape_count), csj_kind_null};
    return token;
}

// Recursion is bounded by CSJ_MAXIMUM_DEPTH, whatever the document holds.
csj_error csj_parser::flatten(ondemand::value &value, unsigned depth) {
    csj_token *token = append();
    if (!token) { return csj_error_not_json; }
    ondemand::json_type type;
    if (auto error = value.type().get(type)) { return error_from(error); }
    switch (type) {
    case ondemand::json_type::object: return flatten_object(value, *token, depth + 1);
    case ondemand::json_type::array: return flatten_array(value, *token, depth + 1);
    case ondemand::json_type::number: return flatten_number(value, *token);
    case ondemand::json_type::string: {
        ondemand::raw_json_string raw;
        if (auto error = value.get_raw_json_string().get(raw)) { return error_from(error); }
        return flatten_text(raw, *token);
    }
    case ondemand::json_type::boolean: {
        bool boolean;
        if (auto error = value.get_bool().get(boolean)) { return error_from(error); }
        token->kind = boolean ? csj_kind_true : csj_kind_false;
        return csj_error_none;
    }
    case ondemand::json_type::null: {
        bool null;
        simdjson::simdjson_result<bool> result = value.is_null();
        if (auto error = std::move(result).get(null)) { return error_from(error); }
        token->kind = csj_kind_null;
        return null ? csj_error_none : csj_error_not_json;
    }
    default: return csj_error_not_json;
    }
}

csj_error csj_parser::flatten_object(ondemand::value &value, csj_token &token, unsigned depth) {
    if (depth > CSJ_MAXIMUM_DEPTH) { return csj_error_too_deep; }
    ondemand::object object;
    if (auto error = value.get_object().get(object)) { return error_from(error); }
    for (auto result : object) {
        ondemand::field field;
        if (auto error = std::move(result).get(field)) { return error_from(error); }
        csj_token *key = append();
        if (!key) { return csj_error_not_json; }
        if (auto error = flatten_text(field.key(), *key)) { return error; }
        if (auto error = flatten(field.value(), depth)) { return error; }
    }
    token.kind = csj_kind_object;
    token.next = uint32_t(tape_count);
    return csj_error_none;
}

csj_error csj_parser::flatten_array(ondemand::value &value, csj_token &token, unsigned depth) {
    if (depth > CSJ_MAXIMUM_DEPTH) { return csj_error_too_deep; }
    ondemand::array array;
    if (auto error = value.get_array().get(array)) { return error_from(error); }
    for (auto result : array) {
        ondemand::value element;
        if (auto error = result.get(element)) { return error_from(error); }
        if (auto error = flatten(element, depth)) { return error; }
    }
    token.kind = csj_kind_array;
    token.next = uint32_t(tape_count);
    return csj_error_none;
}

csj_error csj_parser::flatten_text(ondemand::raw_json_string raw, csj_token &token) {
    // A string without escapes is used where it lies in the copy. simdjson has seen to it that a quote ends
    // it.
    const char *first = raw.raw();
    const char *end = find_quote_or_backslash(first);
    std::string_view text(first, size_t(end - first));
    if (*end == '\\') {
        if (auto error = simdjson.unescape(raw, texts_end).get(text)) { return error_from(error); }
    }
    token.kind = csj_kind_string;
    token.text = text.data();
    token.length = uint32_t(text.size());
    return csj_error_none;
}

csj_error csj_parser::flatten_number(ondemand::value &value, csj_token &token) {
    if (!value.get_int64().get(token.integer)) {
        token.kind = csj_kind_integer;
        return csj_error_none;
    }
    // simdjson has no reader for numbers of any size, and such a number does not make a document any less
    // JSON.
    std::string_view text;
    simdjson::simdjson_result<std::string_view> raw = value.raw_json_token();
    if (auto error = std::move(raw).get(text)) { return error_from(error); }
    // The raw token runs up to the next one.
    text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
    token.integer = 0;
    token.kind = csj_kind_number;
    return is_json_number(text) ? csj_error_none : csj_error_not_json;
}

csj_parser *csj_parser_create(void) { return new (std::nothrow) csj_parser; }

void csj_parser_free(csj_parser *parser) { delete parser; }

csj_error csj_parser_reserve(csj_parser *parser, size_t length) { return parser->reserve(length); }

csj_error csj_parse(csj_parser *parser, const void *bytes, size_t length, const csj_token **tokens) {
    csj_error error = parser->parse(std::string_view(static_cast<const char *>(bytes), length));
    *tokens = error == csj_error_none ? parser->tokens() : nullptr;
    return error;
}

const char *csj_error_description(csj_error error) {
    switch (error) {
    case csj_error_none: return "no error";
    case csj_error_not_json: return "not a JSON document in UTF-8";
    case csj_error_too_deep: return "JSON nested too deep";
    case csj_error_out_of_memory: return "not enough memory to read the JSON document";
    }
    return "unknown error";
}
