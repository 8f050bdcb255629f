import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerContentTests {
    private let samples = AnswerSamples()
    private let mangoKiwi = 6

    private func levels(_ content: AnswerContent) -> [String] {
        (0..<content.fruits.count).map { place in
            let line = content.fruits[place]
            let isNamed = content.kind != .outOfStock || line.isShort
            return "\(line.fruit): \(isNamed ? "\(line.level)" : "enough")"
        }
    }

    @Test func madeJuiceTellsWhatIsLeftInTheOrderOfTheRecipe() throws {
        let content = try samples.content(mangoKiwi, 3, levels: [10, 10, 10, 10, 10])
        #expect(content.kind == .juiceMade)
        #expect(content.order == .single(OrderItem(juice: mangoKiwi, quantity: 3)))
        #expect(levels(content) == ["4: 4", "3: 7"])
    }

    @Test(
        arguments: [
            ([10, 10, 10, 0, 1], ["4: 1", "3: 0"]), ([10, 10, 10, 0, 2], ["4: enough", "3: 0"]),
            ([10, 10, 10, 1, 1], ["4: 1", "3: enough"]),
        ]
    )
    func outOfStockTellsOnlyWhatIsShort(stock: [Int], told: [String]) throws {
        let content = try samples.content(mangoKiwi, levels: stock)
        #expect(content.kind == .outOfStock)
        #expect(levels(content) == told)
    }

    @Test func fruitsThatAreSetAgainKeepNothing() throws {
        var content = try samples.content(mangoKiwi, 3, levels: [10, 10, 10, 10, 10])
        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 2, amount: 1)])
        content.fruits.set(edit, left: try FruitStore(levels: [0, 0, 11, 0, 0]))
        #expect(levels(content) == ["2: 11"])
    }

    @Test func aBasketTellsTheSumsInTheOrderOfItsItems() throws {
        let basket = JuiceOrder.basket([
            OrderItem(juice: 2, quantity: 1), OrderItem(juice: mangoKiwi, quantity: 2),
        ])
        let content = try samples.content(basket, levels: [10, 10, 10, 10, 10])
        #expect(levels(content) == ["3: 5", "4: 6"])
        #expect((0..<2).map { content.fruits[$0].amount } == [5, 4])
    }

    @Test func whatIsPackedIsUnpacked() throws {
        for stock in [[10, 10, 10, 10, 10], [10, 10, 10, 0, 2], [10, 10, 10, 1, 1]] {
            let content = try samples.content(mangoKiwi, 1, levels: stock)
            let compact = try #require(CompactAnswer(content))
            var unpacked = AnswerContent()
            let isUnpacked = unpacked.unpack(compact, by: samples.maker)
            #expect(isUnpacked)
            #expect(unpacked.kind == content.kind)
            #expect(unpacked.order == content.order)
            #expect(unpacked.revision == content.revision)
            #expect(levels(unpacked) == levels(content))
        }
    }
}
