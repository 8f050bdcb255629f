import JuiceDomain
import MessageSamples

@testable import JuiceMessages

extension Array<UInt8> {
    init(_ string: String) { self.init(string.utf8) }

    var text: String { String(decoding: self, as: UTF8.self) }
}

private func summary(_ request: OrderCommand.Request, menu: Menu) -> String {
    switch request {
    case .make(let order):
        let items = order.items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ")
        return if case .basket = order { "[\(items)]" } else { items }
    case .cancel: return "cancel"
    }
}

/// A restock or order in words, for tables of expected results.
func summary(_ decoded: consuming Decoded<OrderCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let command): "\(String(command.id)): \(summary(command.request, menu: menu))"
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}

func summary(_ decoded: consuming Decoded<RestockCommand>, menu: Menu = .standard) -> String {
    switch decoded {
    case .command(let restock):
        "\(String(restock.id)): \(restock.edit.kind) "
            + restock.edit.entries.map { "\(menu.fruits[$0.fruit].id) \($0.amount)" }.joined(separator: ", ")
    case .rejected(let id, let rejection): "\(String(id)): \(rejection)"
    case .undecodable(let reason): reason.code
    }
}

extension JuiceOrder {
    /// An order of one juice of a menu.
    static func single(_ juice: Int, _ quantity: Int = 1) -> JuiceOrder {
        .single(OrderItem(juice: juice, quantity: quantity))
    }

    /// A basket of juices of a menu.
    static func basket(_ items: (juice: Int, quantity: Int)...) -> JuiceOrder {
        .basket(items.map { OrderItem(juice: $0.juice, quantity: $0.quantity) })
    }
}

/// An answer as an encoder first wrote it.
struct AnswerSample {
    let command: CommandKind
    let id: String
    let store: String
    let offset: Int64
    let from: ForwardSource?
    let value: String
    let content: AnswerContent?

    /// The answer to a repeat at a place.
    func repeated(at offset: Int64, from: ForwardSource? = nil) -> String {
        JuiceMessagesTests.withHead(command, id: id, store: store, offset: offset, from: from) { head in
            JuiceMessagesTests.repeated(value, for: head)
        }
    }
}

/// Orders, cancels and restocks of one menu, carried out and answered.
struct AnswerSamples {
    let menu: Menu
    let encoder: AnswerEncoder
    let maker: JuiceMaker
    /// The store's revision after a command that changed it.
    let revision: Int
    /// The commands' place.
    var offset: Int64 = 1234
    var from: ForwardSource?

    init(menu: Menu = .standard, language: Language = .english, revision: Int = 17) {
        self.menu = menu
        encoder = AnswerEncoder(menu: menu, language: language)
        maker = JuiceMaker(menu: menu)
        self.revision = revision
    }

    /// An order of a store at these levels.
    func order(_ order: JuiceOrder, levels: [Int], id: String = "pos-7-000123", store: String = "gangnam") throws -> AnswerSample {
        sample(try content(order, levels: levels), .order, id: id, store: store)
    }

    /// What comes of an order of a store at these levels.
    func content(_ order: JuiceOrder, levels: [Int]) throws -> AnswerContent {
        var fruits = try FruitStore(levels: levels)
        var content = AnswerContent()
        if content.make(order, by: maker, from: &fruits) == .made { content.revision = revision }
        return content
    }

    /// A cancel in a store at these levels of an order that was made there, or of none.
    func cancel(
        _ order: JuiceOrder?,
        levels: [Int],
        id: String = "pos-7-000123",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        var fruits = try FruitStore(levels: levels)
        var content = AnswerContent()
        content.kind = .cancelled
        if let order {
            maker.count(order, &content.fruits)
            try fruits.putBack(&content.fruits)
            content.revision = revision
        }
        return sample(content, .cancel, id: id, store: store)
    }

    /// Sets these fruits to these levels.
    func restock(_ levels: [(fruit: Int, level: Int)], id: String = "bot-1-42", store: String = "gangnam") throws -> AnswerSample {
        var fruits = FruitStore(menu: menu)
        let edit = StockEdit(.set, levels.map { StockEdit.Entry(fruit: $0.fruit, amount: $0.level) })
        try fruits.apply(edit)
        var content = AnswerContent()
        content.fruits.set(edit, left: fruits)
        content.revision = revision
        return sample(content, .restock, id: id, store: store)
    }

    /// A rejection that answers commands of this kind.
    func rejection(of command: CommandKind) -> AnswerSample {
        let head = AnswerHead(command, id: BorrowedText("1"), store: BorrowedText("main"), offset: offset)
        let rejection: Rejection =
            switch command {
            case .order: .badQuantity
            case .restock: .emptyRestock
            case .cancel: .wouldOverflow(fruit: 0, inStock: 7)
            }
        let value = written { encoder.write(rejection, head, into: &$0) }
        return AnswerSample(command: command, id: "1", store: "main", offset: offset, from: nil, value: value, content: nil)
    }

    private func sample(_ content: AnswerContent, _ command: CommandKind, id: String, store: String) -> AnswerSample {
        let value = withHead(command, id: id, store: store, offset: offset, from: from) { head in
            written { encoder.write(content, head, into: &$0) }
        }
        return AnswerSample(command: command, id: id, store: store, offset: offset, from: from, value: value, content: content)
    }

    /// A random order, cancel or restock of a random store, with a random id and at a random place.
    func random(_ generator: inout SeededGenerator) throws -> AnswerSample {
        var samples = self
        samples.offset = RandomSamples.number(&generator)
        if Bool.random(using: &generator) {
            samples.from = ForwardSource(partition: RandomSamples.number(&generator), offset: RandomSamples.number(&generator))
        }
        return try samples.randomHere(&generator)
    }

    private func randomHere(_ generator: inout SeededGenerator) throws -> AnswerSample {
        let id = RandomSamples.text(&generator)
        let store = RandomSamples.text(&generator)
        let bound = [20, 200, 20_000, 2_000_000, FruitStore.maximumLevel - 1_000_000].randomElement(using: &generator) ?? 0
        let levels = menu.fruits.map { _ in Int.random(in: 0...bound, using: &generator) }
        switch Int.random(in: 0..<6, using: &generator) {
        case 0, 1:
            let count = Int.random(in: 1...levels.count, using: &generator)
            let named = levels.indices.shuffled(using: &generator).prefix(count)
            return try restock(named.map { (fruit: $0, level: levels[$0]) }, id: id, store: store)
        case 2:
            let order = Int.random(in: 0..<4, using: &generator) == 0 ? nil : randomOrder(&generator)
            return try cancel(order, levels: levels, id: id, store: store)
        default: return try order(randomOrder(&generator), levels: levels, id: id, store: store)
        }
    }

    private func randomOrder(_ generator: inout SeededGenerator) -> JuiceOrder {
        func quantity(_ quantities: ClosedRange<Int>) -> Int {
            Bool.random(using: &generator) ? 1 : Int.random(in: quantities, using: &generator)
        }
        let juices = menu.juices.indices.shuffled(using: &generator)
        guard Bool.random(using: &generator) else { return .single(juices[0], quantity(JuiceOrder.quantities)) }
        let count = Int.random(in: 1...juices.count, using: &generator)
        return .basket(juices.prefix(count).map { OrderItem(juice: $0, quantity: quantity(JuiceOrder.basketQuantities)) })
    }
}

/// Calls `body` with the head of an answer, valid during the call.
func withHead<Result>(
    _ command: CommandKind, id: String, store: String, offset: Int64 = 1234, from: ForwardSource? = nil,
    _ body: (AnswerHead) throws -> Result
) rethrows -> Result {
    try BorrowedText.withText(id) { id in
        try BorrowedText.withText(store) { store in try body(AnswerHead(command, id: id, store: store, offset: offset, from: from))
        }
    }
}

/// The answer to a repeat with this head.
func repeated(_ first: String, for head: AnswerHead) -> String {
    written { buffer in [UInt8](first).withUnsafeBytes { buffer.append(repeating: $0, for: head) } }
}
