import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerEncoderTests {
    @Test(arguments: GoldenAnswers.bilingual)
    func anAnswerIsWrittenToTheByte(answer: GoldenAnswer) throws {
        let again = answer.texts[0].replacing(#"","#, with: #"","duplicate":true,"#, maxReplacements: 1)
        #expect(try answer.shopAnswers() == answer.texts + [again])
    }

    @Test func aLostAnswerIsWrittenToTheByte() {
        for (was, kind, answer) in GoldenAnswers.lost {
            let head = AnswerHead(kind, id: BorrowedText("1"), store: BorrowedText("gangnam"), offset: 1234)
            let texts = Language.allCases.map { language in
                written { AnswerEncoder(menu: .standard, language: language).write(lost: was, head, into: &$0) }
            }
            #expect(texts == answer.texts)
        }
    }

    @Test func stock() throws {
        let store = try FruitStore(levels: [0, 9, 10, 1_000_000_000, 10])
        let record = written {
            AnswerEncoder(menu: .standard).stock(store: BorrowedText("gang\"nam"), revision: 17, levels: store, into: &$0)
        }
        #expect(record == GoldenAnswers.stock)
    }

    @Test func textsFromOutsideAreEscaped() throws {
        let menu = try Menu(
            fruits: [Fruit(id: "a\"b", name: LocalizedName(english: "a\\b", korean: "\u{1}"))],
            juices: [JuiceSpec(id: "\n", name: LocalizedName(english: "\t", korean: "\u{1f}"), recipe: [("a\"b", 2)])])
        let shop = Shop(menu: menu, fruits: try FruitStore(levels: [2]))
        let order = OutgoingCommand.order(id: "\"\\\u{0}\r", store: "", juice: "\n").value
        let answers = (0..<2).map { _ in order.withUnsafeBytes { shop.answer(.order, $0, at: (1234, nil))?.values ?? [] } }
        #expect(answers[0].first == GoldenAnswers.escaped)
        #expect(answers[1][1].hasSuffix(#""message":"\u0001이(가) 모자라요. 재고를 수정할까요?"}"#))
    }

    @Test(
        arguments: [
            ("strawberry", "strawberry", "딸기가"), ("pineapple", "pineapple", "파인애플이"), ("banana", "banana", "바나나가"),
            ("kiwi, strawberry", "kiwi, strawberry", "키위와 딸기가"),
            ("strawberry, banana, kiwi", "strawberry, banana, kiwi", "딸기, 바나나와 키위가"),
            ("mango, kiwi, pineapple, banana", "mango, kiwi, pineapple, banana", "망고, 키위, 파인애플과 바나나가"),
        ]
    )
    func shortFruitsAreListed(juices: String, english: String, korean: String) {
        let shop = Shop(fruits: try? FruitStore(levels: [0, 0, 0, 0, 0]))
        let items = juices.split(separator: ", ").map { OrderedJuice(juice: String($0), quantity: 1) }
        let answers = OutgoingCommand.basket(id: "o", store: "", items).value.withUnsafeBytes {
            shop.answer(.order, $0)?.values ?? []
        }
        #expect(answers[0].hasSuffix(#","message":"out of stock (\#(english))"}"#))
        #expect(answers[1].hasSuffix(#","message":"\#(korean) 모자라요. 재고를 수정할까요?"}"#))
    }
}

@Suite struct RejectionMessageTests {
    static let messages: [(Rejection, String, String, String)] = [
        (.unknownStore("강남"), "unknownStore", #"no store is called "강남""#, #"등록되지 않은 매장이에요: "강남""#),
        (
            .unknownStore("gangnam\u{200B}"), "unknownStore", #"no store is called "gangnam\u200b""#,
            #"등록되지 않은 매장이에요: "gangnam\u200b""#
        ),
        (.unknownJuice("durian"), "unknownJuice", #"no juice is called "durian""#, #"메뉴에 없는 쥬스예요: "durian""#),
        (.unknownFruit("두리안"), "unknownFruit", #"no fruit is called "두리안""#, #"메뉴에 없는 과일이에요: "두리안""#),
        (.badQuantity, "badQuantity", "the quantity must be a whole number from 1 to 100", "수량은 1부터 100까지의 정수여야 해요"),
        (.badAmount(fruit: 3), "badAmount", "the amount of kiwi must be a whole number", "키위 수량은 정수여야 해요"),
        (
            .outOfRange(.wouldGoNegative(fruit: 3, inStock: 1)), "wouldGoNegative", "kiwi cannot go below 0 (in stock: 1)",
            "키위 재고는 0보다 작아질 수 없어요 (현재 1개)"
        ),
        (
            .outOfRange(.wouldOverflow(fruit: 2, inStock: 9)), "wouldOverflow",
            "pineapple cannot go above 1000000000 (in stock: 9)",
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
        (.badCommand(.tooManyItems), "badCommand", "a basket holds at most 20 items", "한 번에 20가지까지만 주문할 수 있어요"),
        (
            .badCommand(.itemNotAnObject), "badCommand",
            "an item must be an object with a juice and a quantity", "주문 항목은 쥬스와 수량을 담은 객체여야 해요"
        ),
        (.badCommand(.notAnArray("items")), "badCommand", #""items" must be an array"#, #""items" 값은 배열이어야 해요"#),
        (.badCommand(.notBoolean("cancel")), "badCommand", #""cancel" must be true or false"#, #""cancel" 값은 true나 false여야 해요"#),
        (.cancelled, "cancelled", "the order was cancelled", "취소된 주문이에요"),
        (.badCommand(.addAndSet), "badCommand", #"a restock has either "add" or "set", not both"#, #""add"와 "set"은 함께 쓸 수 없어요"#),
        (
            .badCommand(.notAnObject("add")), "badCommand", #""add" must be an object of amounts by fruit"#,
            #""add" 값은 과일별 수량을 담은 객체여야 해요"#
        ), (.badCommand(.repeatedField("quantity")), "badCommand", #""quantity" is given twice"#, #""quantity" 필드가 두 번 나왔어요"#),
        (.badCommand(.repeatedFruit(fruit: 2)), "badCommand", "pineapple is given twice", "파인애플이 두 번 나왔어요"),
    ]

    @Test(arguments: messages.indices)
    func rejectionHasACodeAndAMessageInEachLanguage(index: Int) {
        let (rejection, code, english, korean) = Self.messages[index]
        #expect(rejection.reason.rawValue == code)
        #expect(AnswerMessages(menu: .standard, language: .english).message(for: rejection) == english)
        #expect(AnswerMessages(menu: .standard, language: .korean).message(for: rejection) == korean)
        #expect(Language(of: english) == .english && Language(of: korean) == .korean)
    }

    @Test func everyReasonIsInTheTable() {
        #expect(Set(Self.messages.map(\.1)) == Set(Rejection.Reason.allCases.map(\.rawValue)))
    }
}

@Suite struct KoreanParticleTests {
    @Test(
        arguments: [
            ("딸기", "딸기가", "딸기와"), ("바나나", "바나나가", "바나나와"), ("파인애플", "파인애플이", "파인애플과"),
            ("키위", "키위가", "키위와"), ("망고", "망고가", "망고와"), ("귤", "귤이", "귤과"), ("감", "감이", "감과"),
            ("가", "가가", "가와"), ("힣", "힣이", "힣과"), ("각", "각이", "각과"), ("갸", "갸가", "갸와"),
            // 귤 and 배, decomposed.
            ("\u{1100}\u{1172}\u{11AF}", "\u{1100}\u{1172}\u{11AF}이", "\u{1100}\u{1172}\u{11AF}과"),
            ("\u{1107}\u{1162}", "\u{1107}\u{1162}가", "\u{1107}\u{1162}와"),
            ("melon", "melon이", "melon과"), ("PLUM", "PLUM이", "PLUM과"), ("kiwi", "kiwi가", "kiwi와"),
            ("mango", "mango가", "mango와"), ("strawberry", "strawberry가", "strawberry와"),
            ("fig", "fig이(가)", "fig와(과)"), ("pear", "pear이(가)", "pear와(과)"), ("apple", "apple이(가)", "apple와(과)"),
            ("LIME", "LIME이(가)", "LIME와(과)"),
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
