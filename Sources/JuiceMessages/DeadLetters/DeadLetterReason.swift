/// Why a record cannot be answered and goes to the dead letters. The list is closed.
public enum DeadLetterReason: String, Error, Sendable, CaseIterable {
    /// The record has no value, or an empty one.
    case emptyValue
    /// The value is longer than ``CommandKind/maximumLength``.
    case tooLarge
    /// The value is not one JSON object in UTF-8.
    case notJSON
    /// The value nests objects and arrays too deep.
    case tooDeep
    /// There is no id, or it is `null`.
    case missingID
    /// The id is not a string, is empty or too long, or is given twice.
    case badID
    /// The key is too long or not UTF-8, and names no store.
    case badStore
    /// The record was forwarded before, but is not in the partition of its store.
    case misplaced
    /// The broker refuses the answer or, if the command was to be forwarded, the command itself.
    case unanswerable

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
        case .badID: "the id must be given once, as a string of 1 to \(CommandKind.maximumIDLength) bytes"
        case .badStore: "the key must be a store's id, 1 to \(StoreID.maximumLength) bytes of UTF-8"
        case .misplaced: "the record was forwarded before and still is not in the partition of its store"
        case .unanswerable:
            "the broker refused what the command is answered with, or the command itself where it was to be forwarded"
        }
    }
}
