import JuiceMessages

/// One restock that the bot sends: what a store is short of.
public struct Refill: Sendable, Equatable {
    /// So many of one fruit.
    public struct Entry: Sendable, Equatable {
        /// The fruit's id.
        public let fruit: String
        /// How many there were when it was decided.
        public let level: Int
        /// How many are added.
        public let amount: Int

        /// A fruit to refill.
        public init(fruit: String, level: Int, amount: Int) {
            self.fruit = fruit
            self.level = level
            self.amount = amount
        }
    }

    /// The restock's id.
    public let id: RefillID
    /// The store.
    public let store: String
    /// The fruits, at least one.
    public let entries: [Entry]

    /// A restock of these fruits.
    public init(id: RefillID, store: String, entries: [Entry]) {
        self.id = id
        self.store = store
        self.entries = entries
    }

    /// What is added, as a restock command says it: steps leave room for whatever happens to the stock meanwhile.
    public var amounts: [FruitAmount] {
        entries.map { FruitAmount(fruit: $0.fruit, amount: $0.amount) }
    }
}

/// What the bot calls a restock: `juice-restock-bot/3-1042` is the one that it decided on after it had read the answers of
/// partition 3 up to offset 1042.
///
/// A store gets at most one refill at each position, and the next only after the answer to it: so no two refills of a
/// store ever have the same id, whichever instance sends them.
public struct RefillID: Sendable, Hashable {
    /// The bots that share the work.
    public let group: String
    /// The partition of the store.
    public let partition: Int32
    /// The next answer to read.
    public let position: Int64

    /// The longest name of a group, in bytes: what is left of the 128 bytes of an id.
    public static let maximumGroupLength = CommandKind.maximumIDLength - "/-".utf8.count - 10 - 19

    /// The id of a refill that is decided on now.
    public init(group: String, partition: Int32, position: Int64) {
        self.group = group
        self.partition = partition
        self.position = position
    }

    /// Reads back the id of a refill of this group; nil for any other id.
    public init?(_ text: String, group: String) {
        let prefix = group + "/"
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        let numbers = text.utf8.dropFirst(prefix.utf8.count).split(
            separator: UInt8(ascii: "-"),
            omittingEmptySubsequences: false
        )
        guard numbers.count == 2, let partition = Int32(String(decoding: numbers[0], as: UTF8.self)),
            let position = Int64(String(decoding: numbers[1], as: UTF8.self))
        else { return nil }
        self.init(group: group, partition: partition, position: position)
        // Signs and leading zeros make another id.
        guard self.text.utf8.elementsEqual(text.utf8) else { return nil }
    }

    /// The id as it is sent.
    public var text: String { "\(group)/\(partition)-\(position)" }
}
