import JuiceClient
import JuiceRestockBot

/// Formats a refill as one line.
enum RefillLine {
    /// `12:34:56  gangnam       juice-restock-bot/0-12  kiwi +25 (5 → 30)`.
    static func text(_ refill: Refill, time: String?, paint: Paint) -> String {
        let amounts = refill.entries.map { "\($0.fruit.printable) +\($0.amount) (\($0.level) → \($0.level + $0.amount))" }
        let store = DisplayWidth.pad(refill.store.printable, to: 12)
        let id = paint(.faint, DisplayWidth.pad(refill.id.printable, to: 24))
        let columns = [time.map { paint(.faint, $0) }, store, id, paint(.cyan, amounts.joined(separator: ", "))]
        return columns.compactMap { $0 }.joined(separator: "  ")
    }

    /// `{"refill":[{"added":25,"fruit":"kiwi","level":5}],"restockId":"…","store":"gangnam"}`.
    static func json(_ refill: Refill) -> String {
        struct Line: Encodable {
            struct Fruit: Encodable {
                let fruit: String
                let level: Int
                let added: Int
            }
            let restockId: String
            let store: String
            let refill: [Fruit]
        }
        let fruits = refill.entries.map { Line.Fruit(fruit: $0.fruit, level: $0.level, added: $0.amount) }
        return JSONText.line(Line(restockId: refill.id, store: refill.store, refill: fruits))
    }
}
