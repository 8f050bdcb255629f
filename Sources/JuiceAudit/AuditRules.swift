/// The service's settings that the contract depends on.
package struct AuditRules: Sendable {
    /// How many partitions stores live in. Topics may have more: commands there are forwarded, and none is answered there.
    let partitionCount: Int
    /// For how many milliseconds a repeated id must be recognised, by the timestamps of the commands.
    package var memoryWindow: Int64
    /// For how many further ids of its partition a repeated id must be recognised.
    package var memoryCount: Int
    let topicPrefix: String
    let menu: AuditMenu
    /// The only stores that the service knows, and has known for as long as the topics show. Nil if they are not known, or were
    /// others before: then a store is unknown where an answer says so.
    var stores: Set<[UInt8]>?
    /// Whether the latest commands may still have no answer, as on a cluster that is in use. They count as open.
    var allowsOpen: Bool
    /// Whether a forwarded command has the time of its original. Topics may set times themselves, or refuse old ones.
    package var keepsTimes: Bool

    /// The defaults are the service's.
    package init(
        partitionCount: Int, memoryWindow: Int64 = 3_600_000, memoryCount: Int = 1_000_000, topicPrefix: String = "juice.",
        menu: AuditMenu = .builtIn, stores: Set<[UInt8]>? = nil, allowsOpen: Bool = false, keepsTimes: Bool = true
    ) {
        (self.partitionCount, self.memoryWindow, self.memoryCount) = (partitionCount, memoryWindow, memoryCount)
        (self.topicPrefix, self.menu, self.stores) = (topicPrefix, menu, stores)
        (self.allowsOpen, self.keepsTimes) = (allowsOpen, keepsTimes)
    }
}

/// The fruits and the juices that the service was started with.
package struct AuditMenu: Sendable {
    package struct Fruit: Sendable {
        let id: [UInt8]
        let initialLevel: Int
        /// The id as the name of a member.
        let member: [UInt8]

        package init(_ id: String, initialLevel: Int) {
            (self.id, self.initialLevel) = (Array(id.utf8), initialLevel)
            var member: [UInt8] = []
            member.add(quoted: self.id)
            self.member = member + ":".utf8
        }
    }

    package struct Amount: Sendable, Equatable {
        /// The fruit's place on the menu, from 0.
        let fruit: Int
        var amount: Int

        package init(fruit: Int, amount: Int) { (self.fruit, self.amount) = (fruit, amount) }
    }

    package struct Juice: Sendable {
        let id: [UInt8]
        /// What one of it takes, in the order in which answers name the fruits.
        let recipe: [Amount]

        package init(_ id: String, _ recipe: [Amount]) { (self.id, self.recipe) = (Array(id.utf8), recipe) }
    }

    /// In the order in which stock records name them.
    let fruits: [Fruit]
    let juices: [Juice]

    package init(fruits: [Fruit], juices: [Juice]) { (self.fruits, self.juices) = (fruits, juices) }

    /// The menu that is built into the service, written down a second time.
    package static let builtIn = AuditMenu(
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
