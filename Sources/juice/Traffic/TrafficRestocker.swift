import JuiceMessages

/// Refills what simulated traffic uses up, immediately and by large amounts. The real bot, `juice restock-bot`, keeps
/// levels instead.
struct TrafficRestocker {
    /// How much of a fruit it adds beyond what the order lacked.
    let extra: Int
    private let run: String

    /// The fruits on their way, by restock id, so that further orders that lack them send no more restocks.
    private var underway: [String: Set<Shelf>] = [:]
    private var count = 0

    private struct Shelf: Hashable {
        let store: String
        let fruit: String
    }

    /// - Parameter run: a part of every id, so that ids of different runs differ.
    init(run: String = "", extra: Int) {
        self.run = run
        self.extra = extra
    }

    /// Decides whether an answer requires a restock.
    ///
    /// - Returns: the restock to send; nil if none is needed.
    mutating func refill(after answer: Answer) -> OutgoingCommand? {
        switch (answer.command, answer.outcome) {
        case (.restock, _):
            underway[answer.id] = nil
            return nil
        case (.order, .outOfStock(_, let missing)): return refill(missing, of: answer.store)
        case (.order, _), (.cancel, _): return nil
        }
    }

    private mutating func refill(_ missing: [MissingFruit], of store: String) -> OutgoingCommand? {
        let coming = underway.values.reduce(into: Set()) { $0.formUnion($1) }
        let empty = missing.filter { !coming.contains(Shelf(store: store, fruit: $0.fruit)) }
        guard !empty.isEmpty else { return nil }
        count += 1
        let id = "bot-\(run.isEmpty ? "" : run + "-")\(count)"
        underway[id] = Set(empty.map { Shelf(store: store, fruit: $0.fruit) })
        let amounts = empty.map { FruitAmount(fruit: $0.fruit, amount: $0.needed - $0.inStock + extra) }
        return .restock(id: id, store: store, .add, amounts)
    }
}
