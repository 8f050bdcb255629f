import JuiceDomain
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
        func punch(_ ids: [String]) throws -> Menu {
            let name = LocalizedName(english: "punch", korean: "펀치")
            return try Menu(fruits: fruits, juices: [JuiceSpec(id: "punch", name: name, recipe: ids.map { ($0, 1) })])
        }
        let three = try punch(["strawberry", "banana", "kiwi"])
        let none = [0, 0, 0, 0, 0]
        #expect(try answer("punch", levels: none, menu: three, .korean).hasSuffix(#""딸기, 바나나와 키위가 모자라요. 재고를 수정할까요?"}"#))
        #expect(try answer("punch", levels: none, menu: three, .english).hasSuffix(#""out of stock (strawberry, banana, kiwi)"}"#))
        let four = try punch(["mango", "kiwi", "pineapple", "banana"])
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
                JuiceSpec(id: "\n", name: LocalizedName(english: "\t", korean: "\u{1f}"), recipe: [("a\"b", 2)])
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

@Suite struct RejectionMessageTests {
    static let messages: [(Rejection, String, String, String)] = [
        (.unknownJuice("durian"), "unknownJuice", #"no juice is called "durian""#, #"메뉴에 없는 쥬스예요: "durian""#),
        (.unknownFruit("두리안"), "unknownFruit", #"no fruit is called "두리안""#, #"메뉴에 없는 과일이에요: "두리안""#),
        (.badQuantity, "badQuantity", "the quantity must be a whole number from 1 to 100", "수량은 1부터 100까지의 정수여야 해요"),
        (.badAmount(fruit: 3), "badAmount", "the amount of kiwi must be a whole number", "키위 수량은 정수여야 해요"),
        (
            .wouldGoNegative(fruit: 3, inStock: 1), "wouldGoNegative", "kiwi cannot go below 0 (in stock: 1)",
            "키위 재고는 0보다 작아질 수 없어요 (현재 1개)"
        ),
        (
            .wouldOverflow(fruit: 2, inStock: 9), "wouldOverflow", "pineapple cannot go above 1000000000 (in stock: 9)",
            "파인애플 재고는 1000000000개를 넘을 수 없어요 (현재 9개)"
        ),
        (
            .emptyRestock, "emptyRestock", #"the restock names no fruit, neither in "add" nor in "set""#,
            #"수정할 과일이 없어요. "add"나 "set"에 과일을 적어 주세요"#
        ), (.badCommand(.missingJuice), "badCommand", "the order names no juice", "주문에 쥬스가 없어요"),
        (.badCommand(.juiceNotText), "badCommand", "the juice must be a string", "쥬스는 문자열이어야 해요"),
        (
            .badCommand(.juiceAndItems), "badCommand", #"an order has either "juice" or "items", not both"#,
            #""juice"와 "items"는 함께 쓸 수 없어요"#
        ),
        (
            .badCommand(.quantityAndItems), "badCommand", #"the quantities of a basket stand in its "items""#,
            #"장바구니의 수량은 "items" 안에 적어 주세요"#
        ),
        (.badCommand(.noItems), "badCommand", #""items" is empty"#, #""items"가 비어 있어요"#),
        (
            .badCommand(.tooManyItems), "badCommand", "a basket holds at most 20 items",
            "한 번에 20가지까지만 주문할 수 있어요"
        ),
        (
            .badCommand(.itemNotAnObject), "badCommand",
            "an item must be an object with a juice and a quantity", "주문 항목은 쥬스와 수량을 담은 객체여야 해요"
        ),
        (
            .badCommand(.notAnArray(.items)), "badCommand", #""items" must be an array"#,
            #""items" 값은 배열이어야 해요"#
        ),
        (
            .badCommand(.notBoolean(.cancel)), "badCommand", #""cancel" must be true or false"#,
            #""cancel" 값은 true나 false여야 해요"#
        ),
        (.cancelled, "cancelled", "the order was cancelled", "취소된 주문이에요"),
        (.badCommand(.addAndSet), "badCommand", #"a restock has either "add" or "set", not both"#, #""add"와 "set"은 함께 쓸 수 없어요"#),
        (
            .badCommand(.notAnObject(.add)), "badCommand", #""add" must be an object of amounts by fruit"#,
            #""add" 값은 과일별 수량을 담은 객체여야 해요"#
        ), (.badCommand(.repeatedField(.quantity)), "badCommand", #""quantity" is given twice"#, #""quantity" 필드가 두 번 나왔어요"#),
        (.badCommand(.repeatedFruit(fruit: 2)), "badCommand", "pineapple is given twice", "파인애플이 두 번 나왔어요"),
    ]

    @Test(arguments: messages.indices)
    func rejectionHasACodeAndAMessageInEachLanguage(index: Int) {
        let (rejection, code, english, korean) = Self.messages[index]
        #expect(rejection.reason.rawValue == code)
        #expect(Phrasebook(menu: .standard, language: .english).message(for: rejection) == english)
        #expect(Phrasebook(menu: .standard, language: .korean).message(for: rejection) == korean)
    }

    @Test func everyReasonIsInTheTable() {
        #expect(Set(Self.messages.map(\.1)) == Set(Rejection.Reason.allCases.map(\.rawValue)))
    }

    @Test func aStocksRefusalIsARejection() {
        #expect(Rejection(.wouldGoNegative(fruit: 1, inStock: 2)) == .wouldGoNegative(fruit: 1, inStock: 2))
        #expect(Rejection(.wouldOverflow(fruit: 1, inStock: 2)) == .wouldOverflow(fruit: 1, inStock: 2))
    }
}

@Suite struct KoreanParticleTests {
    @Test(
        arguments: [
            ("딸기", "딸기가", "딸기와"), ("바나나", "바나나가", "바나나와"), ("파인애플", "파인애플이", "파인애플과"),
            ("키위", "키위가", "키위와"), ("망고", "망고가", "망고와"), ("귤", "귤이", "귤과"), ("감", "감이", "감과"),
            ("가", "가가", "가와"), ("힣", "힣이", "힣과"), ("각", "각이", "각과"), ("갸", "갸가", "갸와"),
            // 귤 and 배 in their parts.
            ("\u{1100}\u{1172}\u{11AF}", "\u{1100}\u{1172}\u{11AF}이", "\u{1100}\u{1172}\u{11AF}과"),
            ("\u{1107}\u{1162}", "\u{1107}\u{1162}가", "\u{1107}\u{1162}와"),
            ("melon", "melon이", "melon과"), ("PLUM", "PLUM이", "PLUM과"), ("kiwi", "kiwi가", "kiwi와"),
            ("mango", "mango가", "mango와"), ("strawberry", "strawberry가", "strawberry와"),
            ("fig", "fig이(가)", "fig와(과)"), ("pear", "pear이(가)", "pear와(과)"),
            ("딸기 0", "딸기 0이", "딸기 0과"), ("딸기 1", "딸기 1이", "딸기 1과"), ("딸기 2", "딸기 2가", "딸기 2와"),
            ("딸기 3", "딸기 3이", "딸기 3과"), ("딸기 4", "딸기 4가", "딸기 4와"), ("딸기 5", "딸기 5가", "딸기 5와"),
            ("딸기 6", "딸기 6이", "딸기 6과"), ("딸기 7", "딸기 7이", "딸기 7과"), ("딸기 8", "딸기 8이", "딸기 8과"),
            ("딸기 9", "딸기 9가", "딸기 9와"), ("🍓", "🍓이(가)", "🍓와(과)"), ("梨", "梨이(가)", "梨와(과)"),
            ("배(신고)", "배(신고)이(가)", "배(신고)와(과)"), ("ㄱ", "ㄱ이(가)", "ㄱ와(과)"), ("", "이(가)", "와(과)"),
        ]
    )
    func particleFollowsTheSound(word: String, subject: String, and: String) {
        #expect(Array(KoreanParticle.subject.attached(to: word).utf8) == Array(subject.utf8))
        #expect(Array(KoreanParticle.and.attached(to: word).utf8) == Array(and.utf8))
    }
}
