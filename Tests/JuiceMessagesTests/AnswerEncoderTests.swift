import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerEncoderTests {
    /// Orders a juice of a store at these levels and writes the answer.
    private func answer(
        _ juice: String, _ quantity: Int = 1, levels: [Int], menu: Menu = .standard, _ language: Language,
        id: String = "pos-7-000123", from: ForwardSource? = nil, revision: Int = 17
    ) throws -> String {
        let index = try #require(menu.juiceIndex(id: juice))
        var samples = AnswerSamples(menu: menu, language: language, revision: revision)
        samples.from = from
        return try samples.order(.single(index, quantity), levels: levels, id: id).value
    }

    private func restocked(levels: [(fruit: Int, level: Int)], _ language: Language) throws -> String {
        try AnswerSamples(language: language, revision: 2).restock(levels, store: "main").value
    }

    private func rejected(
        _ rejection: Rejection, _ command: CommandKind = .order, _ language: Language = .english, isDuplicate: Bool = false
    ) -> String {
        let encoder = AnswerEncoder(menu: .standard, language: language)
        let (id, store) = (BorrowedText("1"), BorrowedText("gangnam"))
        let head = AnswerHead(command, id: id, store: store, offset: 1234)
        let first = written { encoder.write(rejection, head, into: &$0) }
        return isDuplicate ? repeated(first, for: head) : first
    }

    @Test(arguments: [Language.english, .korean])
    func juiceMade(_ language: Language) throws {
        let levels = [10, 10, 10, 10, 10]
        #expect(try answer("strawberryBanana", levels: levels, language) == GoldenAnswers.juiceMade[language])
    }

    @Test(arguments: [Language.english, .korean])
    func severalJuicesMade(_ language: Language) throws {
        let levels = [10, 10, 10, 10, 10]
        #expect(
            try answer("mangoKiwi", 3, levels: levels, language, from: ForwardSource(partition: 3, offset: 42), revision: 18)
                == GoldenAnswers.severalJuicesMade[language])
    }

    @Test(arguments: [Language.english, .korean])
    func aBasketMade(_ language: Language) throws {
        let samples = AnswerSamples(language: language, revision: 19)
        let made = try samples.order(.basket((2, 2), (4, 1)), levels: [10, 10, 10, 10, 10])
        #expect(made.value == GoldenAnswers.basketMade[language])
    }

    @Test(arguments: [Language.english, .korean])
    func aBasketOutOfStock(_ language: Language) throws {
        let samples = AnswerSamples(language: language)
        let short = try samples.order(.basket((2, 2), (6, 4)), levels: [10, 10, 10, 4, 8])
        #expect(short.value == GoldenAnswers.basketOutOfStock[language])
    }

    @Test(arguments: [Language.english, .korean])
    func cancelled(_ language: Language) throws {
        let samples = AnswerSamples(language: language, revision: 20)
        let cancelled = try samples.cancel(.basket((2, 2), (4, 1)), levels: [16, 9, 10, 8, 10])
        #expect(cancelled.value == GoldenAnswers.cancelled[language])
        let nothing = try samples.cancel(nil, levels: [10, 10, 10, 10, 10])
        #expect(nothing.value == GoldenAnswers.cancelledNothing[language])
    }

    @Test(arguments: [Language.english, .korean])
    func outOfStock(_ language: Language) throws {
        let levels = [10, 10, 10, 0, 1]
        #expect(try answer("mangoKiwi", levels: levels, language) == GoldenAnswers.outOfStock[language])
    }

    @Test(
        arguments: [
            ([10], "out of stock (strawberry)", "딸기가 모자라요. 재고를 수정할까요?"),
            ([10, 0, 0], "out of stock (pineapple)", "파인애플이 모자라요. 재고를 수정할까요?"),
            ([10, 0, 10], "out of stock (banana)", "바나나가 모자라요. 재고를 수정할까요?"),
        ] as [([Int], String, String)]
    )
    func oneFruitShort(levels: [Int], english: String, korean: String) throws {
        let juice = levels.count == 1 ? "strawberry" : levels[2] == 0 ? "pineapple" : "banana"
        let levels = levels + Array(repeating: 0, count: 5 - levels.count)
        #expect(try answer(juice, levels: levels, .english).hasSuffix(#","message":"\#(english)"}"#))
        #expect(try answer(juice, levels: levels, .korean).hasSuffix(#","message":"\#(korean)"}"#))
    }

    @Test func manyFruitsShort() throws {
        let fruits = Menu.standard.fruits
        func punch(_ ids: JuiceSpec.Recipe) throws -> Menu {
            let name = LocalizedName(english: "punch", korean: "펀치")
            return try Menu(fruits: fruits, juices: [JuiceSpec(id: "punch", name: name, recipe: ids)])
        }
        let three = try punch(["strawberry": 1, "banana": 1, "kiwi": 1])
        let none = [0, 0, 0, 0, 0]
        #expect(try answer("punch", levels: none, menu: three, .korean).hasSuffix(#""딸기, 바나나와 키위가 모자라요. 재고를 수정할까요?"}"#))
        #expect(try answer("punch", levels: none, menu: three, .english).hasSuffix(#""out of stock (strawberry, banana, kiwi)"}"#))
        let four = try punch(["mango": 1, "kiwi": 1, "pineapple": 1, "banana": 1])
        #expect(try answer("punch", levels: none, menu: four, .korean).hasSuffix(#""망고, 키위, 파인애플과 바나나가 모자라요. 재고를 수정할까요?"}"#))
    }

    @Test(arguments: [Language.english, .korean])
    func restocked(_ language: Language) throws {
        #expect(try restocked(levels: [(0, 16), (3, 8)], language) == GoldenAnswers.restocked[language])
    }

    @Test(arguments: [Language.english, .korean])
    func rejected(_ language: Language) {
        #expect(rejected(.unknownJuice("durian"), .order, language) == GoldenAnswers.rejectedOrder[language])
        #expect(rejected(.unknownFruit("durian"), .restock, language) == GoldenAnswers.rejectedRestock[language])
        #expect(rejected(.cancelled, .order, language) == GoldenAnswers.rejectedCancelledOrder[language])
        #expect(
            rejected(.wouldOverflow(fruit: 3, inStock: 999_999_999), .cancel, language) == GoldenAnswers.rejectedCancel[language])
    }

    @Test func stock() throws {
        let store = try FruitStore(levels: [0, 9, 10, 1_000_000_000, 10])
        let record = written {
            AnswerEncoder(menu: .standard).stock(store: BorrowedText("gang\"nam"), revision: 17, levels: store, into: &$0)
        }
        #expect(record == GoldenAnswers.stock)
    }

    @Test func aDuplicateSaysSoAfterItsType() throws {
        let samples = AnswerSamples()
        let levels = [10, 10, 10, 10, 10]
        let answers = [
            try samples.order(.single(2), levels: levels), try samples.order(.single(0), levels: levels),
            try samples.order(.basket((2, 1), (5, 1)), levels: levels), try samples.restock([(0, 10)]),
            try samples.cancel(.single(2), levels: levels), try samples.cancel(nil, levels: levels),
        ]
        for answer in answers {
            #expect(
                answer.repeated(at: answer.offset)
                    == answer.value.replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1))
        }
        #expect(
            rejected(.badQuantity, isDuplicate: true)
                == rejected(.badQuantity).replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1))
    }

    @Test func textsFromOutsideAreEscaped() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "a\"b", name: LocalizedName(english: "a\\b", korean: "\u{1}"))],
            juices: [
                JuiceSpec(id: "\n", name: LocalizedName(english: "\t", korean: "\u{1f}"), recipe: ["a\"b": 2])
            ]
        )
        #expect(
            try answer("\n", levels: [2], menu: menu, .english, id: "\"\\\u{0}\r", revision: 1)
                == GoldenAnswers.escaped
        )
        #expect(
            try answer("\n", levels: [1], menu: menu, .korean)
                .hasSuffix(#""message":"\u0001이(가) 모자라요. 재고를 수정할까요?"}"#)
        )
    }
}
