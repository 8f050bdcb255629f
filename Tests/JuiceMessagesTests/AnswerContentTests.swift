import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerContentTests {
    private let samples = AnswerSamples()
    private let mangoKiwi = 6

    /// The fruits that an answer names, by what it says of them.
    private func levels(_ content: AnswerContent) -> [String] {
        (0..<content.fruits.count).map { place in
            let line = content.fruits[place]
            guard content.kind == .outOfStock else { return "\(line.fruit): \(line.level)" }
            return "\(line.fruit): \(line.isShort ? "\(line.level)" : "enough")"
        }
    }

    @Test func madeJuiceSaysWhatIsLeftInTheOrderOfTheRecipe() throws {
        let content = try samples.content(.single(mangoKiwi, 3), levels: [10, 10, 10, 10, 10])
        #expect(content.kind == .juiceMade)
        #expect(content.order == .single(mangoKiwi, 3))
        #expect(levels(content) == ["4: 4", "3: 7"])
    }

    @Test func aBasketSaysWhatIsLeftInTheOrderOfItsRecipes() throws {
        let content = try samples.content(.basket((2, 2), (mangoKiwi, 1)), levels: [10, 10, 10, 10, 10])
        #expect(content.kind == .juiceMade)
        #expect(content.order == .basket((2, 2), (mangoKiwi, 1)))
        #expect(levels(content) == ["3: 3", "4: 8"])
    }

    @Test(
        arguments: [
            ([10, 10, 10, 0, 1], ["4: 1", "3: 0"]), ([10, 10, 10, 0, 2], ["4: enough", "3: 0"]),
            ([10, 10, 10, 1, 1], ["4: 1", "3: enough"]),
        ]
    )
    func outOfStockSaysOnlyWhatIsShort(stock: [Int], said: [String]) throws {
        let content = try samples.content(.single(mangoKiwi), levels: stock)
        #expect(content.kind == .outOfStock)
        #expect(levels(content) == said)
        #expect(content.revision == 0)
    }

    @Test func aContentThatIsSetAgainKeepsNothing() throws {
        var content = try samples.content(.basket((mangoKiwi, 3), (0, 1)), levels: [16, 10, 10, 10, 10])
        var store = FruitStore(menu: .standard)
        content.make(.single(2), by: samples.maker, from: &store)
        #expect(content.order == .single(2))
        #expect(levels(content) == ["3: 7"])
        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 2, amount: 1)])
        content.fruits.set(edit, left: try FruitStore(levels: [0, 0, 11, 0, 0]))
        #expect(levels(content) == ["2: 11"])
    }

    /// What fits into a compact answer, and what does not.
    @Test(
        arguments: [
            (.single(6), [10, 10, 10, 10, 10]), (.single(6), [10, 10, 10, 0, 2]),
            (.single(6), [10, 10, 10, 1, 1]),
            (.single(0, 100), [FruitStore.maximumLevel, 0, 0, 0, 0]), (.basket((6, 1)), [0, 0, 0, 1, 2]),
            (.basket((0, 2000), (4, 1)), [10, 10, 10, 10, 10]),
            (
                .basket((0, 2000), (1, 2000), (2, 2000), (3, 2000), (4, 2000), (5, 2000), (6, 2000)),
                Array(repeating: FruitStore.maximumLevel, count: 5)
            ),
        ] as [(JuiceOrder, [Int])],
        [0, 17, Int.max]
    )
    func whatIsPackedIsUnpacked(order: (JuiceOrder, levels: [Int]), revision: Int) throws {
        let samples = AnswerSamples(revision: revision)
        let answers = [
            try samples.order(order.0, levels: order.levels),
            try samples.cancel(order.0, levels: [0, 1, 2, 3, 4]),
            try samples.cancel(nil, levels: order.levels),
            try samples.restock([(1, order.levels[0]), (4, 3)]),
        ]
        for answer in answers {
            let content = try #require(answer.content)
            var numbers = NumberArray()
            #expect(content.pack(into: &numbers))
            var unpacked = try samples.content(.single(1), levels: [0, 0, 0, 0, 0])
            let isOfMenu = unpacked.unpack(content.kind, from: &numbers, by: samples.maker)
            #expect(isOfMenu)
            #expect(samples.text(unpacked, of: answer) == answer.value)
            #expect(unpacked.revision == content.revision)
            #expect(levels(unpacked) == levels(content))
        }
    }
}
