import CSimdJSON

/// Why a text could not be read as JSON.
enum JSONError: Error, Hashable {
    /// Not one JSON document in UTF-8.
    case notJSON
    /// Objects and arrays nested more than ``JSONReader/maximumDepth`` levels deep.
    case tooDeep
    /// The memory for a document of this size could not be had.
    case outOfMemory
}

/// Reads one JSON document at a time, with buffers that it keeps for the next one.
///
/// It cannot be copied: the parser behind it has one owner and is freed once.
struct JSONReader: ~Copyable {
    static let maximumDepth = Int(CSJ_MAXIMUM_DEPTH)

    private let parser: OpaquePointer

    /// A reader that needs no more memory for documents of up to `capacity` bytes.
    ///
    /// Ends the process when there is no memory, as Swift's own collections do.
    init(capacity: Int) {
        guard let parser = csj_parser_create(), csj_parser_reserve(parser, capacity) == .none else {
            preconditionFailure("no memory for a JSON reader")
        }
        self.parser = parser
    }

    deinit {
        csj_parser_free(parser)
    }

    /// The root of the document in these bytes, valid until the next call.
    func read(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
        var tokens: UnsafePointer<csj_token>?
        let error = csj_parse(parser, bytes.baseAddress, bytes.count, &tokens)
        switch (error, tokens) {
        case (.none, let tokens?): return JSONValue(tokens: tokens, index: 0)
        case (.too_deep, _): throw .tooDeep
        case (.out_of_memory, _): throw .outOfMemory
        case (.none, nil), (.not_json, _): throw .notJSON
        }
    }
}
