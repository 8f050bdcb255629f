import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerContentTests {
    private let samples = AnswerSamples()
    private let mangoKiwi = 6

    private func levels(_ content: AnswerContent) -> [String] {
        (0..<content.count).map { place in
            "\(content[place].fruit): \(content[place].isTold ? "\(content[place].level)" : "enough")"
        }
    }

    @Test func madeJuiceTellsWhatIsLeftInTheOrderOfTheRecipe() throws {
        let content = try samples.content(mangoKiwi, 3, levels: [10, 10, 10, 10, 10])
        #expect(content.kind == .juiceMade)
        #expect((content.order.juice, content.order.quantity) == (mangoKiwi, 3))
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

    @Test func aContentThatIsSetAgainKeepsNothing() throws {
        var content = try samples.content(mangoKiwi, 3, levels: [10, 10, 10, 10, 10])
        let edit = StockEdit(.add, [StockEdit.Entry(fruit: 2, amount: 1)])
        content.set(edit, left: try FruitStore(levels: [0, 0, 11, 0, 0]))
        #expect(content.kind == .restocked)
        #expect((content.order.juice, content.order.quantity) == (0, 0))
        #expect(levels(content) == ["2: 11"])
    }

    @Test func whatIsPackedIsUnpacked() throws {
        for stock in [[10, 10, 10, 10, 10], [10, 10, 10, 0, 2], [10, 10, 10, 1, 1]] {
            let content = try samples.content(mangoKiwi, 1, levels: stock)
            let compact = try #require(CompactAnswer(content))
            var unpacked = AnswerContent()
            #expect(samples.encoder.unpack(compact, into: &unpacked))
            #expect(unpacked.kind == content.kind)
            #expect(
                (unpacked.order.juice, unpacked.order.quantity) == (
                    content.order.juice, content.order.quantity
                )
            )
            #expect(levels(unpacked) == levels(content))
        }
    }
}
