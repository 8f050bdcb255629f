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
