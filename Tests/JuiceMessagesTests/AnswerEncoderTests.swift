import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerEncoderTests {
    /// Orders a juice of a store at these levels and writes the answer.
    private func answer(
        _ juice: String,
        _ quantity: Int = 1,
        levels: [Int],
        menu: Menu = .standard,
        _ language: Language,
        id: StaticString = "pos-7-000123",
        isDuplicate: Bool = false
    ) throws -> String {
        let index = try #require(menu.juiceIndex(id: juice))
        let samples = AnswerSamples(menu: menu, language: language)
        let content = try samples.content(index, quantity, levels: levels)
        let head = AnswerHead(.order, id: BorrowedText(id), store: BorrowedText("gangnam"))
        return written { samples.encoder.write(content, isDuplicate ? head.duplicate : head, into: &$0) }
    }

    private func restocked(
        _ edit: StockEdit,
        levels: [Int],
        _ language: Language,
        isDuplicate: Bool = false
    ) throws -> String {
        let encoder = AnswerEncoder(menu: .standard, language: language)
        var content = AnswerContent()
        content.fruits.set(edit, left: try FruitStore(levels: levels))
        content.revision = 17
        let head = AnswerHead(.restock, id: BorrowedText("bot-1-42"), store: BorrowedText("main"))
        return written { encoder.write(content, isDuplicate ? head.duplicate : head, into: &$0) }
    }

    private func rejected(
        _ rejection: Rejection,
        _ command: CommandKind = .order,
        _ language: Language = .english,
        isDuplicate: Bool = false
    ) -> String {
        let encoder = AnswerEncoder(menu: .standard, language: language)
        let head = AnswerHead(command, id: BorrowedText("1"), store: BorrowedText("gangnam"))
        return written { encoder.write(rejection, isDuplicate ? head.duplicate : head, into: &$0) }
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
            try answer("mangoKiwi", 3, levels: levels, language) == GoldenAnswers.severalJuicesMade[language]
        )
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
        #expect(
            try answer("punch", levels: none, menu: three, .korean)
                .hasSuffix(#""딸기, 바나나와 키위가 모자라요. 재고를 수정할까요?"}"#)
        )
        #expect(
            try answer("punch", levels: none, menu: three, .english)
                .hasSuffix(#""out of stock (strawberry, banana, kiwi)"}"#)
        )
        let four = try punch(["mango": 1, "kiwi": 1, "pineapple": 1, "banana": 1])
        #expect(
            try answer("punch", levels: none, menu: four, .korean)
                .hasSuffix(#""망고, 키위, 파인애플과 바나나가 모자라요. 재고를 수정할까요?"}"#)
        )
    }

    @Test(arguments: [Language.english, .korean])
    func restocked(_ language: Language) throws {
        let edit = StockEdit(
            .add,
            [StockEdit.Entry(fruit: 0, amount: 16), StockEdit.Entry(fruit: 3, amount: -2)]
        )
        #expect(
            try restocked(edit, levels: [16, 10, 10, 8, 10], language) == GoldenAnswers.restocked[language]
        )
    }

    @Test(arguments: [Language.english, .korean])
    func baskets(_ language: Language) throws {
        let samples = AnswerSamples(language: language)
        let levels = [10, 10, 10, 10, 10]
        let made = try samples.basket([(2, 2), (4, 1)], levels: levels)
        #expect(made.value == GoldenAnswers.basketMade[language])
        let short = try samples.basket([(2, 3), (6, 4)], levels: levels)
        #expect(short.value == GoldenAnswers.basketOutOfStock[language])
    }

    @Test(arguments: [Language.english, .korean])
    func cancelled(_ language: Language) throws {
        let samples = AnswerSamples(language: language)
        let levels = [10, 10, 10, 10, 10]
        let basket = JuiceOrder.basket([OrderItem(juice: 2, quantity: 2), OrderItem(juice: 4, quantity: 1)])
        #expect(try samples.cancel(of: basket, levels: levels).value == GoldenAnswers.cancelled[language])
        let strawberry = JuiceOrder.single(OrderItem(juice: 0, quantity: 1))
        #expect(
            try samples.cancel(of: strawberry, levels: levels).value
                == GoldenAnswers.cancelledNothing[language]
        )
        #expect(rejected(.cancelled, .order, language) == GoldenAnswers.rejectedAsCancelled[language])
    }

    /// As versions before revisions wrote it, and as those answers are given again.
    @Test func aContentWithoutARevisionIsWrittenWithoutOne() throws {
        let content = try AnswerSamples().content(
            .single(OrderItem(juice: 4, quantity: 1)),
            levels: [10, 10, 10, 10, 10],
            revision: 0
        )
        let head = AnswerHead(.order, id: BorrowedText("pos-7-000123"), store: BorrowedText("gangnam"))
        let value = written { AnswerEncoder(menu: .standard).write(content, head, into: &$0) }
        #expect(value == GoldenAnswers.juiceMade[.english].replacing(#","revision":17"#, with: ""))
    }

    @Test(arguments: [Language.english, .korean])
    func rejected(_ language: Language) {
        #expect(rejected(.unknownJuice("durian"), .order, language) == GoldenAnswers.rejectedOrder[language])
        #expect(
            rejected(.unknownFruit("durian"), .restock, language) == GoldenAnswers.rejectedRestock[language]
        )
    }

    @Test func stock() throws {
        let store = try FruitStore(levels: [0, 9, 10, 1_000_000_000, 10])
        let record = written {
            AnswerEncoder(menu: .standard).stock(
                store: BorrowedText("gang\"nam"),
                revision: 17,
                levels: store,
                into: &$0
            )
        }
        #expect(record == GoldenAnswers.stock)
    }

    @Test func aDuplicateSaysSoAfterItsType() throws {
        let levels = [10, 10, 10, 10, 10]
        let edit = StockEdit(.set, [StockEdit.Entry(fruit: 0, amount: 10)])
        let answers = [false, true].map { isDuplicate in
            Result {
                [
                    try answer("kiwi", levels: levels, .english, isDuplicate: isDuplicate),
                    try answer("strawberry", levels: levels, .english, isDuplicate: isDuplicate),
                    try restocked(edit, levels: levels, .english, isDuplicate: isDuplicate),
                    rejected(.badQuantity, isDuplicate: isDuplicate),
                ]
            }
        }
        for (first, again) in zip(try answers[0].get(), try answers[1].get()) {
            #expect(again == first.replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1))
        }
    }

    @Test func textsFromOutsideAreEscaped() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "a\"b", name: LocalizedName(english: "a\\b", korean: "\u{1}"))],
            juices: [
                JuiceSpec(id: "\n", name: LocalizedName(english: "\t", korean: "\u{1f}"), recipe: ["a\"b": 2])
            ]
        )
        #expect(
            try answer("\n", levels: [2], menu: menu, .english, id: "\"\\\u{0}\r") == GoldenAnswers.escaped
        )
        #expect(
            try answer("\n", levels: [1], menu: menu, .korean)
                .hasSuffix(#""message":"\u0001이(가) 모자라요. 재고를 수정할까요?"}"#)
        )
    }
}
