import JuiceDomain
import JuiceMessages

/// When a fruit is refilled, and to which level.
package struct RefillRules: Sendable, Equatable {
    /// A fruit is short at this level and below.
    package let low: Int
    /// The level that a refill aims at.
    package let target: Int
    private let stores: Set<Name>?
    private let fruits: Set<Name>?

    /// Rules for these stores and fruits, or for all; nil unless 0 ≤ `low` < `target` ≤ `FruitStore.maximumLevel`.
    package init?(low: Int, target: Int, stores: [String]? = nil, fruits: [String]? = nil) {
        guard low >= 0, low < target, target <= FruitStore.maximumLevel else { return nil }
        (self.low, self.target) = (low, target)
        self.stores = stores.map { Set($0.map(Name.init)) }
        self.fruits = fruits.map { Set($0.map(Name.init)) }
    }

    func watches(store: Name) -> Bool { stores?.contains(store) ?? true }
    func watches(fruit: String) -> Bool { fruits?.contains(Name(fruit)) ?? true }
}

/// A restock that the bot sends for what a store is short of.
///
/// Its id follows from the place of an answer: `juice-restock-bot/3-1042` is decided by the answer at offset 1042 of partition 3. A
/// bot that reads the answers again decides the same id, and the service makes it once.
package struct Refill: Sendable, Equatable {
    /// One fruit of a refill. The amount is added to whatever the level is on arrival, since orders may change it meanwhile.
    package struct Entry: Sendable, Equatable, Encodable {
        package let fruit: String
        /// The level when the refill was decided, and how many are added to that.
        package let level, added: Int
    }

    /// The longest group name, in bytes: what the 128 bytes of an id leave for it.
    package static let maximumGroupLength = CommandKind.maximumIDLength - "/-".utf8.count - 10 - 19

    package let id: String
    /// The partition that owns the store.
    package let partition: Int32
    package let store: String
    /// When the answer that the id names was written, in milliseconds since 1970. The record carries this time, so that a copy
    /// sent much later counts as sent at the same time and is recognised as a repeat.
    package let time: Int64
    package let entries: [Entry]

    /// The restock as a record's value.
    package var value: [UInt8] {
        OutgoingCommand.restock(id: id, store: store, .add, entries.map { FruitAmount(fruit: $0.fruit, amount: $0.added) }).value
    }
}
