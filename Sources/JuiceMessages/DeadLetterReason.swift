/// Why a record cannot be answered and goes to the dead letters. The list is closed.
public enum DeadLetterReason: String, Error, Sendable, CaseIterable {
    // Each is explained by its message.
    case emptyValue, tooLarge, notJSON, tooDeep, missingID, wrongTopic, badID, badStore, misplaced, badHeaders

    /// The most bytes each of key and value that are kept of a large record, if its topic refuses more.
    package static let mostKept = 128 * 1024

    /// The value of the header `juice.error.code`.
    public var code: String { rawValue }

    /// The value of the header `juice.error.message`, in English.
    public var message: String {
        switch self {
        case .emptyValue: "the record has no value"
        case .tooLarge: "the value is longer than \(CommandKind.maximumLength) bytes"
        case .notJSON: "the value is not a JSON object in UTF-8"
        case .tooDeep: "the value is nested more than \(JSONReader.maximumDepth) levels deep"
        case .missingID: "the command has no id (an order's is orderId, a restock's is restockId)"
        case .wrongTopic: "it is a restock among the orders (it has a restockId), or an order among the restocks (an orderId)"
        case .badID: "the id must be given once, as a string of 1 to \(CommandKind.maximumIDLength) bytes"
        case .badStore: "the key must be a store's id, 1 to \(StoreID.maximumLength) bytes of UTF-8"
        case .misplaced: "the record was forwarded before and still is not in the partition of its store"
        case .badHeaders: "the record has too many headers, or they cannot be read; this copy has none of them"
        }
    }
}
