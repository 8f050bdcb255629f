import JuiceMaker

/// What an answer says, in numbers: everything but the command's id and store, and the language.
///
/// The one form between an outcome and its JSON, which an ``AnswerEncoder`` writes. Juices and fruits are indices of the menu.
///
/// Made to be kept and set again for each command, so that it allocates only while it grows to the longest recipe.
public struct AnswerContent: Sendable {
    /// What came of a command. Rejections are not among them: they carry text.
    public enum Kind: Sendable {
        /// An order's juices were made.
        case juiceMade
        /// An order was short of fruit.
        case outOfStock
        /// A restock changed the stock.
        case restocked
        /// An order was taken back.
        case cancelled

        /// The answer's type in JSON.
        var type: StaticString {
            switch self {
            case .juiceMade: "juiceMade"
            case .outOfStock: "outOfStock"
            case .restocked: "restocked"
            case .cancelled: "cancelled"
            }
        }

        /// The kind of the answers of a type, `nil` for rejections and for types of a newer service.
        init?(type: BorrowedText) {
            switch type {
            case BorrowedText(Self.juiceMade.type): self = .juiceMade
            case BorrowedText(Self.outOfStock.type): self = .outOfStock
            case BorrowedText(Self.restocked.type): self = .restocked
            case BorrowedText(Self.cancelled.type): self = .cancelled
            default: return nil
            }
        }

        /// What such an answer answers.
        var command: CommandKind {
            switch self {
            case .juiceMade, .outOfStock: .order
            case .restocked: .restock
            case .cancelled: .cancel
            }
        }
    }

    /// What came of the command.
    public var kind = Kind.restocked
    /// The order that was answered; means nothing for a restock or a cancel.
    public var order = JuiceOrder.basket([])
    /// The fruits of the command, in the order in which the answer names them. An out-of-stock answer names those that are short.
    public var fruits = FruitTally()
    /// The store's revision after a command that changed it; 0 if it did not.
    public var revision = 0

    /// The content of no answer, to be set.
    public init() {}

    /// Becomes the answer to an order, which the maker makes. The revision is left to be set.
    ///
    /// - Parameters:
    ///   - order: the order.
    ///   - maker: a maker by the answer's menu.
    ///   - store: the store that the fruits are taken from.
    /// - Returns: what came of the order.
    @discardableResult
    public mutating func make(
        _ order: JuiceOrder,
        by maker: JuiceMaker,
        from store: inout FruitStore
    ) -> JuiceMaker.Outcome {
        let outcome = maker.make(order, from: &store, &fruits)
        self.order = order
        kind = outcome == .made ? .juiceMade : .outOfStock
        return outcome
    }
}
