/// One committed record, as a consumer with `read_committed` sees it.
public struct AuditRecord: Sendable, Hashable {
    /// Its offset in the partition.
    public let offset: Int64
    /// Milliseconds since 1970.
    public let timestamp: Int64
    /// The key; nil if there is none.
    public let key: [UInt8]?
    /// The value; nil if there is none.
    public let value: [UInt8]?
    /// The headers in their order.
    public let headers: [AuditHeader]

    /// A record.
    public init(offset: Int64, timestamp: Int64, key: [UInt8]?, value: [UInt8]?, headers: [AuditHeader] = []) {
        (self.offset, self.timestamp, self.key, self.value, self.headers) = (offset, timestamp, key, value, headers)
    }
}

/// One header of a record.
public struct AuditHeader: Sendable, Hashable {
    /// The header's name.
    public let name: String
    /// Its value; nil if there is none.
    public let value: [UInt8]?

    /// A header.
    public init(_ name: String, _ value: [UInt8]?) { (self.name, self.value) = (name, value) }
}

extension [AuditHeader] {
    /// The trace headers that an answer must carry over from its command.
    var traces: [AuditHeader] {
        var room = Contract.mostTraceBytes
        let fitting = filter { header in
            let size = header.value?.count ?? 0
            guard Contract.traceHeaders.contains(header.name), size <= Swift.min(Contract.longestTraceHeader, room) else {
                return false
            }
            room -= size
            return true
        }
        return Array(fitting.prefix(Contract.mostTraceHeaders))
    }
}

/// A topic of the contract.
public enum AuditTopic: String, Sendable, Hashable {
    /// Orders, written by clients.
    case orders
    /// Stock edits, written by clients.
    case restocks
    /// The journal: the answers, and notes of what else was done.
    case results
    /// Each store's stock.
    case stock
    /// Records that have no answer.
    case deadLetters = "dead-letters"
}

/// The committed records of the five topics, by partition and in offset order.
public struct AuditTopics: Sendable {
    /// Orders, by partition.
    public var orders: [[AuditRecord]]
    /// Stock edits, by partition.
    public var restocks: [[AuditRecord]]
    /// The journal, by partition.
    public var results: [[AuditRecord]]
    /// Stock, by partition. Compaction may have removed all but a store's last record.
    public var stock: [[AuditRecord]]
    /// Dead letters, by partition. The number of partitions need not be that of the other topics.
    public var deadLetters: [[AuditRecord]]

    /// The records of the five topics.
    public init(
        orders: [[AuditRecord]], restocks: [[AuditRecord]], results: [[AuditRecord]], stock: [[AuditRecord]],
        deadLetters: [[AuditRecord]]
    ) {
        (self.orders, self.restocks, self.results) = (orders, restocks, results)
        (self.stock, self.deadLetters) = (stock, deadLetters)
    }

    subscript(topic: AuditTopic) -> [[AuditRecord]] {
        switch topic {
        case .orders: orders
        case .restocks: restocks
        case .results: results
        case .stock: stock
        case .deadLetters: deadLetters
        }
    }
}

/// The fruits and the juices that the service was started with.
public struct AuditMenu: Sendable {
    /// A fruit on the menu.
    public struct Fruit: Sendable {
        let id: [UInt8]
        let initialLevel: Int
        /// The id as the name of a member.
        private(set) var member: [UInt8] = []

        /// A fruit with this id, of which a new store has so many.
        public init(_ id: String, initialLevel: Int) {
            (self.id, self.initialLevel) = (Array(id.utf8), initialLevel)
            member.add(quoted: self.id)
            member.add(":")
        }
    }

    /// A fruit's place on the menu, and how many of it.
    public struct Amount: Sendable, Hashable {
        let fruit: Int
        var amount: Int

        /// So many of the fruit at this place on the menu, from 0.
        public init(fruit: Int, amount: Int) { (self.fruit, self.amount) = (fruit, amount) }
    }

    /// A juice on the menu.
    public struct Juice: Sendable {
        let id: [UInt8]
        let recipe: [Amount]

        /// A juice with this id, and what one of it takes, in the order in which answers name the fruits.
        public init(_ id: String, _ recipe: [Amount]) { (self.id, self.recipe) = (Array(id.utf8), recipe) }
    }

    let fruits: [Fruit]
    let juices: [Juice]

    /// A menu of these fruits, in the order in which stock records name them, and these juices.
    public init(fruits: [Fruit], juices: [Juice]) { (self.fruits, self.juices) = (fruits, juices) }

    /// The menu that is built into the service, written down a second time.
    public static let builtIn = AuditMenu(
        fruits: ["strawberry", "banana", "pineapple", "kiwi", "mango"].map { Fruit($0, initialLevel: 10) },
        juices: [
            Juice("strawberry", [Amount(fruit: 0, amount: 16)]),
            Juice("banana", [Amount(fruit: 1, amount: 2)]),
            Juice("kiwi", [Amount(fruit: 3, amount: 3)]),
            Juice("pineapple", [Amount(fruit: 2, amount: 2)]),
            Juice("strawberryBanana", [Amount(fruit: 0, amount: 10), Amount(fruit: 1, amount: 1)]),
            Juice("mango", [Amount(fruit: 4, amount: 3)]),
            Juice("mangoKiwi", [Amount(fruit: 4, amount: 2), Amount(fruit: 3, amount: 1)]),
        ])

    /// The place of the fruit with this id.
    func fruit(_ id: UnsafeBufferPointer<UInt8>) -> Int? { fruits.firstIndex { isSame(id, $0.id) } }

    /// The place of the juice with this id.
    func juice(_ id: UnsafeBufferPointer<UInt8>) -> Int? { juices.firstIndex { isSame(id, $0.id) } }
}
