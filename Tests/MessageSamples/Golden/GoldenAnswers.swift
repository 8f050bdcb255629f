import JuiceMessages

/// A message in each language of the service.
public struct Bilingual: Sendable {
    /// Both, English first.
    public let texts: [String]

    init(_ head: String, english: String, korean: String) {
        texts = [head + english, head + korean]
    }

    /// The message in one language.
    public subscript(language: Language) -> String {
        switch language {
        case .english: texts[0]
        case .korean: texts[1]
        }
    }
}

/// Records that the service writes, word for word: for the tests of the encoder and of the schemas.
///
/// Unless another is named, the store is `gangnam` and the order `pos-7-000123` at offset 1234, at the built-in menu.
public enum GoldenAnswers {
    /// A strawberry banana juice from a full stock.
    public static let juiceMade = Bilingual(
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"juice":"strawberryBanana","#
            + #""quantity":1,"used":{"strawberry":10,"banana":1},"left":{"strawberry":0,"banana":9},"#
            + #""revision":17,"message":"#, english: #""juice made: strawberry banana juice"}"#, korean: #""딸바쥬스 나왔습니다! 맛있게 드세요!"}"#
    )

    /// Three mango kiwi juices from a full stock, by an order that was forwarded.
    public static let severalJuicesMade = Bilingual(
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"from":"3/42","#
            + #""juice":"mangoKiwi","quantity":3,"#
            + #""used":{"mango":6,"kiwi":3},"left":{"mango":4,"kiwi":7},"revision":18,"message":"#,
        english: #""juice made: 3 × mango kiwi juice"}"#, korean: #""망고키위쥬스 3잔 나왔습니다! 맛있게 드세요!"}"#)

    /// A basket of two kiwi juices and a strawberry banana juice from a full stock.
    public static let basketMade = Bilingual(
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"#
            + #""items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}],"#
            + #""used":{"kiwi":6,"strawberry":10,"banana":1},"left":{"kiwi":4,"strawberry":0,"banana":9},"#
            + #""revision":19,"message":"#, english: #""juice made: 2 × kiwi juice, strawberry banana juice"}"#,
        korean: #""키위쥬스 2잔, 딸바쥬스 나왔습니다! 맛있게 드세요!"}"#)

    /// A mango kiwi juice from one mango and no kiwi.
    public static let outOfStock = Bilingual(
        #"{"type":"outOfStock","orderId":"pos-7-000123","store":"gangnam","offset":1234,"juice":"mangoKiwi","quantity":1,"#
            + #""fruit":"mango","missing":[{"fruit":"mango","needed":2,"inStock":1},"#
            + #"{"fruit":"kiwi","needed":1,"inStock":0}],"message":"#, english: #""out of stock (mango, kiwi)"}"#,
        korean: #""망고와 키위가 모자라요. 재고를 수정할까요?"}"#)

    /// A basket of two kiwi juices and four mango kiwi juices from eight mangos and four kiwis.
    public static let basketOutOfStock = Bilingual(
        #"{"type":"outOfStock","orderId":"pos-7-000123","store":"gangnam","offset":1234,"#
            + #""items":[{"juice":"kiwi","quantity":2},{"juice":"mangoKiwi","quantity":4}],"#
            + #""fruit":"kiwi","missing":[{"fruit":"kiwi","needed":10,"inStock":4}],"message":"#,
        english: #""out of stock (kiwi)"}"#, korean: #""키위가 모자라요. 재고를 수정할까요?"}"#)

    /// The restock `bot-1-42` of the store `main`, after which there are 16 strawberries and 8 kiwis.
    public static let restocked = Bilingual(
        #"{"type":"restocked","restockId":"bot-1-42","store":"main","offset":1234,"left":{"strawberry":16,"kiwi":8},"revision":2,"message":"#,
        english: #""restocked: strawberry 16, kiwi 8"}"#, korean: #""재고를 수정했어요: 딸기 16개, 키위 8개"}"#)

    /// A cancel of the basket, after which there are 14 kiwis, 26 strawberries and 10 bananas.
    public static let cancelled = Bilingual(
        #"{"type":"cancelled","orderId":"pos-7-000123","store":"gangnam","offset":1234,"#
            + #""returned":{"kiwi":6,"strawberry":10,"banana":1},"left":{"kiwi":14,"strawberry":26,"banana":10},"#
            + #""revision":20,"message":"#, english: #""cancelled: kiwi 6, strawberry 10, banana 1 returned"}"#,
        korean: #""취소했어요. 키위 6개, 딸기 10개, 바나나 1개를 되돌렸습니다."}"#)

    /// A cancel of an order that was not made.
    public static let cancelledNothing = Bilingual(
        #"{"type":"cancelled","orderId":"pos-7-000123","store":"gangnam","offset":1234,"returned":{},"left":{},"message":"#,
        english: #""cancelled: nothing returned"}"#, korean: #""취소했어요. 되돌린 재고가 없습니다."}"#)

    /// The order `1` for a juice called durian.
    public static let rejectedOrder = Bilingual(
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"reason":"unknownJuice","message":"#,
        english: #""no juice is called \"durian\""}"#, korean: #""메뉴에 없는 쥬스예요: \"durian\""}"#)

    /// The restock `1` of a fruit called durian.
    public static let rejectedRestock = Bilingual(
        #"{"type":"rejected","restockId":"1","store":"gangnam","offset":1234,"reason":"unknownFruit","message":"#,
        english: #""no fruit is called \"durian\""}"#, korean: #""메뉴에 없는 과일이에요: \"durian\""}"#)

    /// The order `1` after it was cancelled.
    public static let rejectedCancelledOrder = Bilingual(
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"reason":"cancelled","message":"#,
        english: #""the order was cancelled"}"#, korean: #""취소된 주문이에요"}"#)

    /// A cancel of the order `1` whose kiwis found no room beside 999,999,999 others.
    public static let rejectedCancel = Bilingual(
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"cancel":true,"reason":"wouldOverflow","message":"#,
        english: #""kiwi cannot go above 1000000000 (in stock: 999999999)"}"#,
        korean: #""키위 재고는 1000000000개를 넘을 수 없어요 (현재 999999999개)"}"#)

    /// An order with the id `"\`, a null and a carriage return, of a menu with such names.
    public static let escaped =
        #"{"type":"juiceMade","orderId":"\"\\\u0000\r","store":"gangnam","offset":1234,"juice":"\n","quantity":1,"#
        + #""used":{"a\"b":2},"left":{"a\"b":0},"revision":1,"message":"juice made: \t"}"#

    /// All of them.
    public static let all =
        [
            juiceMade, severalJuicesMade, basketMade, outOfStock, basketOutOfStock, restocked, cancelled,
            cancelledNothing, rejectedOrder, rejectedRestock, rejectedCancelledOrder, rejectedCancel,
        ].flatMap(\.texts) + [escaped]

    /// The stock record of the store `gang"nam` after its 17th change.
    public static let stock =
        #"{"store":"gang\"nam","revision":17,"stock":"#
        + #"{"strawberry":0,"banana":9,"pineapple":10,"kiwi":1000000000,"mango":10}}"#
}
