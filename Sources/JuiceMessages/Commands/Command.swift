import JuiceMaker

/// The kinds of commands to a store.
public enum CommandKind: Sendable, CaseIterable {
    /// Make juice.
    case order
    /// Change the stock.
    case restock
    /// Take an order back. It has the order's id.
    case cancel

    /// The longest command, in bytes. A longer record goes to the dead letters.
    public static let maximumLength = 64 * 1024

    /// The longest id, in bytes.
    public static let maximumIDLength = 128

    /// The topic for commands of this kind.
    public var topic: Topic {
        switch self {
        case .order, .cancel: .orders
        case .restock: .restocks
        }
    }
}

/// A POS system's command: to make an order, or to take one back.
public struct OrderCommand: Equatable {
    /// The order's id, valid until the decoder decodes again.
    public let id: BorrowedText
    /// What is to be done.
    public let request: Request

    /// What a command on the orders topic can ask for.
    public enum Request: Equatable {
        /// To make the order.
        case make(JuiceOrder)
        /// To take the order of this id back.
        case cancel
    }

    /// A command about an order.
    public init(id: BorrowedText, _ request: Request) {
        self.id = id
        self.request = request
    }
}

/// A restock bot's change to the stock of a store.
public struct RestockCommand: Equatable {
    /// The sender's id, valid until the decoder decodes again.
    public let id: BorrowedText
    /// The change, of at least one fruit.
    public let edit: StockEdit

    /// A restock.
    public init(id: BorrowedText, edit: StockEdit) {
        self.id = id
        self.edit = edit
    }
}

/// The result of decoding a record. It cannot be copied, so that taking a command out of it counts no references.
public enum Decoded<Command>: ~Copyable {
    /// A command to carry out and answer.
    case command(Command)
    /// A command to answer with a rejection.
    case rejected(id: BorrowedText, Rejection)
    /// A record that cannot be answered: a dead letter.
    case undecodable(DeadLetterReason)
}

extension CommandKind {
    /// The name of the field with a command's id.
    var idField: StaticString {
        switch self {
        case .order, .cancel: "orderId"
        case .restock: "restockId"
        }
    }
}

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
