import JuiceMessages

/// A change of a store's stock, as its answer tells it.
struct StockChange: Equatable {
    /// What caused it, such as `order pos-7: 2 × kiwi, mango`.
    let cause: String
    /// What it used or returned, such as `used kiwi 6`; nil for a restock, whose answer has only the new levels.
    let amounts: String?
    /// The levels after it, such as `left kiwi 4`.
    let levels: String

    /// The change that an answer tells of; nil if the command changed nothing, or the answer is a first answer given again.
    init?(_ answer: Answer) {
        guard !answer.isDuplicate else { return nil }
        switch answer.outcome {
        case .juiceMade(let juices, let used, let left):
            cause = "order \(answer.id): \(Self.text(juices))"
            amounts = "used \(Self.text(used))"
            levels = "left \(Self.text(left))"
        case .restocked(let left):
            cause = "restock \(answer.id)"
            amounts = nil
            levels = "left \(Self.text(left))"
        case .cancelled(let returned, let left):
            guard !returned.isEmpty else { return nil }
            cause = "cancel \(answer.id)"
            amounts = "returned \(Self.text(returned))"
            levels = "left \(Self.text(left))"
        case .outOfStock, .rejected: return nil
        }
    }

    private static func text(_ juices: OrderedJuices) -> String {
        juices.items.map(\.description).joined(separator: ", ")
    }

    private static func text(_ amounts: [FruitAmount]) -> String {
        amounts.map { "\($0.fruit) \($0.amount)" }.joined(separator: ", ")
    }
}
