import JuiceMaker

/// The kinds of commands to a store.
public enum CommandKind: Sendable, CaseIterable {
    /// Make juice.
    case order
    /// Change the stock.
    case restock

    /// The longest command, in bytes. A longer record goes to the dead letters.
    public static let maximumLength = 64 * 1024

    /// The longest id, in bytes.
    public static let maximumIDLength = 128

    /// The topic for commands of this kind.
    public var topic: Topic {
        switch self {
        case .order: .orders
        case .restock: .restocks
        }
    }
}

/// A POS system's order of one juice.
public struct OrderCommand: Equatable {
    /// The sender's id, valid until the decoder decodes again.
    public let id: BorrowedText
    /// What is ordered.
    public let order: JuiceOrder

    /// An order.
    public init(id: BorrowedText, order: JuiceOrder) {
        self.id = id
        self.order = order
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

/// The result of decoding a record.
public enum Decoded<Command> {
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
        case .order: "orderId"
        case .restock: "restockId"
        }
    }
}
