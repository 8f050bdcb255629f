import JuiceMaker
import MessageSamples

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

    init(menu: Menu = .standard, language: Language = .english) {
        self.menu = menu
        encoder = AnswerEncoder(menu: menu, language: language)
    }

    func order(
        _ juice: Int,
        _ quantity: Int = 1,
        levels: [Int],
        id: String = "pos-7-000123",
        store: String = "gangnam"
    ) throws -> AnswerSample {
        var fruits = try FruitStore(levels: levels)
        return BorrowedText.withText(id) { orderID in
            BorrowedText.withText(store) { storeID in
                let order = OrderCommand(id: orderID, juice: juice, quantity: quantity)
                var compact: CompactAnswer?
                let value = written { buffer in
                    switch JuiceMaker(menu: menu).make(juice, quantity: quantity, from: &fruits) {
                    case .made:
                        encoder.juiceMade(order, store: storeID, left: fruits, into: &buffer)
                        compact = encoder.compactJuiceMade(order, left: fruits)
                    case .outOfStock(let shortages):
                        encoder.outOfStock(order, store: storeID, shortages: shortages, into: &buffer)
                        compact = encoder.compactOutOfStock(order, shortages: shortages)
                    }
                }
                return AnswerSample(command: .order, id: id, store: store, value: value, compact: compact)
            }
        }
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
        return BorrowedText.withText(id) { restockID in
            BorrowedText.withText(store) { storeID in
                let restock = RestockCommand(id: restockID, edit: edit)
                let value = written {
                    encoder.restocked(restock, store: storeID, left: fruits, into: &$0)
                }
                let compact = encoder.compactRestocked(restock, left: fruits)
                return AnswerSample(command: .restock, id: id, store: store, value: value, compact: compact)
            }
        }
    }

    func rejection(of command: CommandKind) -> AnswerSample {
        let value = written {
            encoder.rejected(
                command,
                id: BorrowedText("1"),
                store: BorrowedText("main"),
                rejection: .badQuantity,
                into: &$0
            )
        }
        return AnswerSample(command: command, id: "1", store: "main", value: value, compact: nil)
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
        let quantity = Bool.random(using: &generator) ? 1 : Int.random(in: 1...100, using: &generator)
        let juice = Int.random(in: menu.juices.indices, using: &generator)
        return try order(juice, quantity, levels: levels, id: id, store: store)
    }
}

extension AnswerEncoder {
    /// What a compact answer is written as, `nil` if it cannot be one of the menu.
    func text(_ answer: CompactAnswer, of sample: AnswerSample, duplicate: Bool = false) -> String? {
        var isOfMenu = false
        let text = BorrowedText.withText(sample.id) { id in
            BorrowedText.withText(sample.store) { store in
                written {
                    isOfMenu = write(answer, id: id, store: store, duplicate: duplicate, into: &$0)
                }
            }
        }
        return isOfMenu ? text : nil
    }
}
