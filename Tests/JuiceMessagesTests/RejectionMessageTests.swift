import JuiceMaker
import Testing

@testable import JuiceMessages

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
