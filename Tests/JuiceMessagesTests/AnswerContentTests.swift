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
}
