import JuiceMessages

/// Refills what simulated traffic empties, at once and by far: the real bot (`juice restock-bot`) keeps levels instead.
struct TrafficRestocker {
    /// How many more of a fruit it gets than the order needed.
    let extra: Int
    private let run: String

    /// What is on its way, so that it is not ordered again by every order that meets the same empty shelf.
    private var underway: [String: Set<Shelf>] = [:]
    private var count = 0

    private struct Shelf: Hashable {
        let store: String
        let fruit: String
    }

    /// - Parameter run: part of every id, so that two runs do not use the same ones.
    init(run: String = "", extra: Int) {
        self.run = run
        self.extra = extra
    }

    /// Decides what an answer asks for.
    ///
    /// - Returns: the restock to send, if there is something to refill.
    mutating func refill(after answer: Answer) -> OutgoingCommand? {
        switch (answer.command, answer.outcome) {
        case (.restock, _):
            underway[answer.id] = nil
            return nil
        case (.order, .outOfStock(_, _, let missing)):
            return refill(missing, of: answer.store)
        case (.order, _):
            return nil
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
