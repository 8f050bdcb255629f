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
package struct Refill: Sendable, Equatable {
    /// One fruit of a refill. The amount is added to whatever the level is on arrival, since orders may change it meanwhile.
    package struct Entry: Sendable, Equatable {
        package let fruit: String
        /// The level when the refill was decided.
        package let level: Int
        let target: Int
        /// How many to add.
        package var amount: Int { target - level }
    }

    /// The restock's id: see ``RefillIDs``.
    package var id: String
    /// The partition that owns the store.
    package let partition: Int32
    package let store: String
    /// When the answer that the id names was written, in milliseconds since 1970. The record carries this time, so that a copy
    /// sent much later counts as sent at the same time and is recognised as a repeat.
    package let time: Int64
    package let entries: [Entry]

    /// The restock as a record's value.
    package var value: [UInt8] {
        let amounts = entries.map { FruitAmount(fruit: $0.fruit, amount: $0.amount) }
        return OutgoingCommand.restock(id: id, store: store, .add, amounts).value
    }
}

/// The ids of a partition's refills: `juice-restock-bot/3-1042` is decided by the answer at offset 1042 of partition 3.
///
/// An id follows from the answers alone. A bot that reads them again decides the same id, and the service makes it once.
package struct RefillIDs: Sendable {
    /// The longest group name, in bytes: what the 128 bytes of an id leave for it.
    package static let maximumGroupLength = CommandKind.maximumIDLength - "/-".utf8.count - 10 - 19

    let partition: Int32
    private let prefix: String

    package init(group: String, partition: Int32) {
        (self.partition, prefix) = (partition, "\(group)/\(partition)-")
    }

    /// The id of the refill decided by the answer at an offset.
    package subscript(offset: Int64) -> String { "\(prefix)\(offset)" }

    /// The offset in an id of one of these restocks; nil for any other id.
    func offset(in id: String) -> Int64? {
        let number = String(id.utf8.dropFirst(prefix.utf8.count)) ?? ""
        guard let offset = Int64(number), offset >= 0 else { return nil }
        // Ids with another prefix, a sign or leading zeros are not this group's.
        return Name(self[offset]) == Name(id) ? offset : nil
    }
}
