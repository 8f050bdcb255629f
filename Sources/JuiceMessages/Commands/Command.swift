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
