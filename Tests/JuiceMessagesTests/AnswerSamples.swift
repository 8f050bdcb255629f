import JuiceMaker
import MessageSamples
import SeededRandom

@testable import JuiceMessages

/// An answer as an encoder first wrote it, and as it is remembered.
struct AnswerSample {
    let command: CommandKind
    let id: String
    let store: String
    let value: String
    let compact: CompactAnswer?
}

/// Orders and restocks of one menu, carried out and answered.
struct AnswerSamples {
    let menu: Menu
    let encoder: AnswerEncoder
    let maker: JuiceMaker

    init(menu: Menu = .standard, language: Language = .english) {
        self.menu = menu
        maker = JuiceMaker(menu: menu)
        encoder = AnswerEncoder(menu: menu, language: language)
    }

    func order(
        _ juice: Int,
        _ quantity: Int = 1,
        levels: [Int],
        id: String = "pos-7-000123",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        let content = try content(juice, quantity, levels: levels)
        return sample(content, .order, id: id, store: store)
    }

    /// What comes of an order of a store at these levels, after 16 changes.
    func content(_ juice: Int, _ quantity: Int = 1, levels: [Int]) throws -> AnswerContent {
        try content(.single(OrderItem(juice: juice, quantity: quantity)), levels: levels)
    }

    func content(_ order: JuiceOrder, levels: [Int], revision: Int = 17) throws -> AnswerContent {
        var fruits = try FruitStore(levels: levels)
        var content = AnswerContent()
        content.make(order, by: maker, from: &fruits)
        content.revision = content.kind == .juiceMade ? revision : 0
        return content
    }

    func basket(
        _ items: [(juice: Int, quantity: Int)],
        levels: [Int],
        id: String = "pos-7-000123",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        let order = JuiceOrder.basket(items.map { OrderItem(juice: $0.juice, quantity: $0.quantity) })
        return sample(try content(order, levels: levels), .order, id: id, store: store)
    }

    /// The cancel of an order of a store at these levels: it returns nothing if the order was not made.
    func cancel(
        of order: JuiceOrder,
        levels: [Int],
        id: String = "pos-7-000123",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        var fruits = try FruitStore(levels: levels)
        var content = AnswerContent()
        if content.make(order, by: maker, from: &fruits) == .made {
            try fruits.putBack(&content.fruits)
            content.revision = 17
        } else {
            content.fruits.removeAll()
        }
        content.kind = .cancelled
        return sample(content, .cancel, id: id, store: store)
    }

    /// Sets these fruits to these levels.
    func restock(
        _ levels: [(fruit: Int, level: Int)],
        id: String = "bot-1-42",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        var fruits = FruitStore(menu: menu)
        let edit = StockEdit(.set, levels.map { StockEdit.Entry(fruit: $0.fruit, amount: $0.level) })
        try fruits.apply(edit)
        var content = AnswerContent()
        content.fruits.set(edit, left: fruits)
        content.revision = 17
        return sample(content, .restock, id: id, store: store)
    }

    func rejection(of command: CommandKind) -> AnswerSample {
        let head = AnswerHead(command, id: BorrowedText("1"), store: BorrowedText("main"))
        // The only reason by which a cancel is rejected, and an order never.
        let rejection = command == .cancel ? Rejection.wouldOverflow(fruit: 0, inStock: 1) : .badQuantity
        let value = written { encoder.write(rejection, head, into: &$0) }
        return AnswerSample(command: command, id: "1", store: "main", value: value, compact: nil)
    }

    private func sample(
        _ content: AnswerContent,
        _ command: CommandKind,
        id: String,
        store: String
    ) -> AnswerSample {
        let value = withHead(command, id: id, store: store) { head in
            written { encoder.write(content, head, into: &$0) }
        }
        return AnswerSample(
            command: command,
            id: id,
            store: store,
            value: value,
            compact: CompactAnswer(content)
        )
    }

    /// A random order or restock of a random store, with a random id.
    func random(_ generator: inout SeededGenerator) throws -> AnswerSample {
        let id = RandomSamples.text(&generator)
        let store = RandomSamples.text(&generator)
        let bound =
            [20, 200, 20_000, 2_000_000, FruitStore.maximumLevel].randomElement(using: &generator) ?? 0
        let levels = menu.fruits.map { _ in Int.random(in: 0...bound, using: &generator) }
        if Int.random(in: 0..<3, using: &generator) == 0 {
            let count = Int.random(in: 1...levels.count, using: &generator)
            let named = levels.indices.shuffled(using: &generator).prefix(count)
            return try restock(named.map { (fruit: $0, level: levels[$0]) }, id: id, store: store)
        }
        if Bool.random(using: &generator) {
            let items = menu.juices.indices.shuffled(using: &generator).prefix(
                .random(in: 1...20, using: &generator)
            )
            let basket = items.map { (juice: $0, quantity: Int.random(in: 1...2, using: &generator)) }
            guard Bool.random(using: &generator) else {
                return try self.basket(basket, levels: levels, id: id, store: store)
            }
            let order = JuiceOrder.basket(basket.map { OrderItem(juice: $0.juice, quantity: $0.quantity) })
            return try cancel(of: order, levels: levels, id: id, store: store)
        }
        let quantity = Bool.random(using: &generator) ? 1 : Int.random(in: 1...100, using: &generator)
        let juice = Int.random(in: menu.juices.indices, using: &generator)
        return try order(juice, quantity, levels: levels, id: id, store: store)
    }
}

/// Calls `body` with the head of an answer, valid during the call.
func withHead<Result>(
    _ command: CommandKind,
    id: String,
    store: String,
    _ body: (AnswerHead) throws -> Result
) rethrows -> Result {
    try BorrowedText.withText(id) { id in
        try BorrowedText.withText(store) { store in try body(AnswerHead(command, id: id, store: store)) }
    }
}

extension AnswerSample {
    /// Calls `body` with the head of the answer, valid during the call.
    func withHead<Result>(_ body: (AnswerHead) throws -> Result) rethrows -> Result {
        try JuiceMessagesTests.withHead(command, id: id, store: store, body)
    }
}

extension AnswerSamples {
    /// What a compact answer is written as; `nil` if it cannot be one of the menu.
    func text(_ answer: CompactAnswer, of sample: AnswerSample, isDuplicate: Bool = false) -> String? {
        var content = AnswerContent()
        guard content.unpack(answer, by: maker) else { return nil }
        return sample.withHead { head in
            written { encoder.write(content, isDuplicate ? head.duplicate : head, into: &$0) }
        }
    }
}
