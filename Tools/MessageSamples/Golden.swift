import JuiceDomain
import JuiceMessages

/// An answer of the service, word for word in each of its languages, and the commands to a store that lead to it.
package struct GoldenAnswer: Sendable {
    /// The answer in both languages, English first.
    package let texts: [String]
    private let menu: Menu
    private let store: String
    private let levels: [Int]
    private let revision: Int
    private let commands: [String]
    private let from: RecordPosition?
    private let isKnownStore: Bool

    /// `revision` is the store's before the commands. The texts are the answer to the last command.
    init(
        to commands: [String], of menu: Menu = .standard, store: String = "gangnam", at levels: [Int] = [10, 10, 10, 10, 10],
        revision: Int = 16, from: RecordPosition? = nil, isKnownStore: Bool = true, _ head: String, english: String, korean: String
    ) {
        texts = [english, korean].map { head + #""message":"\#($0)"}"# }
        (self.menu, self.store, self.levels, self.revision, self.commands, self.from) = (
            menu, store, levels, revision, commands, from
        )
        self.isKnownStore = isKnownStore
    }

    /// The answer in one language.
    package subscript(language: Language) -> String { texts[language == .english ? 0 : 1] }

    /// A shop's answers to the last command, at offset 1234: in each language, and once for a repeat.
    package func shopAnswers() throws -> [String] {
        let shop = Shop(menu: menu, store: store, fruits: try FruitStore(levels: levels), revision: revision, isKnown: isKnownStore)
        let answers = commands.map { shop.answer($0.contains("restockId") ? .restock : .order, $0, at: (1234, from)) }
        return answers.last??.values ?? []
    }
}

/// Answers and a stock record, for the tests of the encoder and of the schemas.
package enum GoldenAnswers {
    package static let juiceMade = GoldenAnswer(
        to: [#"{"orderId":"pos-7-000123","juice":"strawberryBanana"}"#],
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"juice":"strawberryBanana","quantity":1,"used":{"strawberry":10,"banana":1},"left":{"strawberry":0,"banana":9},"revision":17,"#,
        english: "juice made: strawberry banana juice", korean: "딸바쥬스 나왔습니다! 맛있게 드세요!")

    package static let severalJuicesMade = GoldenAnswer(
        to: [#"{"orderId":"pos-7-000123","juice":"mangoKiwi","quantity":3}"#], revision: 17,
        from: RecordPosition(partition: 3, offset: 42),
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"from":"3/42","juice":"mangoKiwi","quantity":3,"used":{"mango":6,"kiwi":3},"left":{"mango":4,"kiwi":7},"revision":18,"#,
        english: "juice made: 3 × mango kiwi juice", korean: "망고키위쥬스 3잔 나왔습니다! 맛있게 드세요!")

    private static let basket = #"{"orderId":"pos-7-000123","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}]}"#

    package static let basketMade = GoldenAnswer(
        to: [basket], revision: 18,
        #"{"type":"juiceMade","orderId":"pos-7-000123","store":"gangnam","offset":1234,"items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana","quantity":1}],"used":{"kiwi":6,"strawberry":10,"banana":1},"left":{"kiwi":4,"strawberry":0,"banana":9},"revision":19,"#,
        english: "juice made: 2 × kiwi juice, strawberry banana juice", korean: "키위쥬스 2잔, 딸바쥬스 나왔습니다! 맛있게 드세요!")

    package static let outOfStock = GoldenAnswer(
        to: [#"{"orderId":"pos-7-000123","juice":"mangoKiwi"}"#], at: [10, 10, 10, 0, 1],
        #"{"type":"outOfStock","orderId":"pos-7-000123","store":"gangnam","offset":1234,"juice":"mangoKiwi","quantity":1,"fruit":"mango","missing":[{"fruit":"mango","needed":2,"inStock":1},{"fruit":"kiwi","needed":1,"inStock":0}],"#,
        english: "out of stock (mango, kiwi)", korean: "망고와 키위가 모자라요. 재고를 수정할까요?")

    /// There are enough mangos.
    package static let basketOutOfStock = GoldenAnswer(
        to: [#"{"orderId":"pos-7-000123","items":[{"juice":"kiwi","quantity":2},{"juice":"mangoKiwi","quantity":4}]}"#],
        at: [10, 10, 10, 4, 8],
        #"{"type":"outOfStock","orderId":"pos-7-000123","store":"gangnam","offset":1234,"items":[{"juice":"kiwi","quantity":2},{"juice":"mangoKiwi","quantity":4}],"fruit":"kiwi","missing":[{"fruit":"kiwi","needed":10,"inStock":4}],"#,
        english: "out of stock (kiwi)", korean: "키위가 모자라요. 재고를 수정할까요?")

    package static let restocked = GoldenAnswer(
        to: [#"{"restockId":"bot-1-42","add":{"strawberry":6,"kiwi":-2}}"#], store: "main", revision: 1,
        #"{"type":"restocked","restockId":"bot-1-42","store":"main","offset":1234,"left":{"strawberry":16,"kiwi":8},"revision":2,"#,
        english: "restocked: strawberry +6, now 16; kiwi -2, now 8", korean: "재고를 수정했어요: 딸기 +6, 현재 16개; 키위 -2, 현재 8개")

    package static let cancelled = GoldenAnswer(
        to: [basket, #"{"orderId":"pos-7-000123","cancel":true}"#], at: [26, 10, 10, 14, 10], revision: 18,
        #"{"type":"cancelled","orderId":"pos-7-000123","store":"gangnam","offset":1234,"returned":{"kiwi":6,"strawberry":10,"banana":1},"left":{"kiwi":14,"strawberry":26,"banana":10},"revision":20,"#,
        english: "cancelled: kiwi 6, strawberry 10, banana 1 returned", korean: "취소했어요. 키위 6개, 딸기 10개, 바나나 1개를 되돌렸습니다.")

    package static let cancelledNothing = GoldenAnswer(
        to: [#"{"orderId":"pos-7-000123","cancel":true}"#],
        #"{"type":"cancelled","orderId":"pos-7-000123","store":"gangnam","offset":1234,"returned":{},"left":{},"#,
        english: "cancelled: nothing returned", korean: "취소했어요. 되돌린 재고가 없습니다.")

    package static let rejectedOrder = GoldenAnswer(
        to: [#"{"orderId":"1","juice":"durian"}"#],
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"reason":"unknownJuice","#,
        english: #"no juice is called \"durian\""#, korean: #"메뉴에 없는 쥬스예요: \"durian\""#)

    package static let rejectedRestock = GoldenAnswer(
        to: [#"{"restockId":"1","set":{"durian":1}}"#],
        #"{"type":"rejected","restockId":"1","store":"gangnam","offset":1234,"reason":"unknownFruit","#,
        english: #"no fruit is called \"durian\""#, korean: #"메뉴에 없는 과일이에요: \"durian\""#)

    package static let rejectedCancelledOrder = GoldenAnswer(
        to: [#"{"orderId":"1","cancel":true}"#, #"{"orderId":"1","juice":"kiwi"}"#],
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"reason":"cancelled","#,
        english: "the order was cancelled", korean: "취소된 주문이에요")

    /// With the kiwis that were restocked after the order, the returned ones would exceed the limit.
    package static let rejectedCancel = GoldenAnswer(
        to: [
            #"{"orderId":"1","juice":"kiwi"}"#, #"{"restockId":"1","set":{"kiwi":999999999}}"#, #"{"orderId":"1","cancel":true}"#,
        ],
        #"{"type":"rejected","orderId":"1","store":"gangnam","offset":1234,"cancel":true,"reason":"wouldOverflow","#,
        english: "kiwi cannot go above 1000000000 (in stock: 999999999)",
        korean: "키위 재고는 1000000000개를 넘을 수 없어요 (현재 999999999개)")

    package static let unknownStoreOrder = unknownStore(#"{"orderId":"1","juice":"durian"}"#, #""orderId":"1""#)
    package static let unknownStoreCancel = unknownStore(#"{"orderId":"1","cancel":true}"#, #""orderId":"1""#, #","cancel":true"#)
    package static let unknownStoreRestock = unknownStore(#"{"restockId":"1","add":{}}"#, #""restockId":"1""#)

    private static func unknownStore(_ command: String, _ id: String, _ cancel: String = "") -> GoldenAnswer {
        GoldenAnswer(
            to: [command], store: "gangnma", isKnownStore: false,
            #"{"type":"rejected",\#(id),"store":"gangnma","offset":1234\#(cancel),"reason":"unknownStore","#,
            english: #"no store is called \"gangnma\""#, korean: #"등록되지 않은 매장이에요: \"gangnma\""#)
    }

    /// Answers to repeats whose first answer is lost.
    package static let lost: [(was: FormerOutcome, kind: CommandKind, answer: GoldenAnswer)] = [
        lost(.made, .order), lost(.notMade, .order), lost(.made, .cancel), lost(.cancelled, .cancel),
        lost(.made, .restock), lost(.notMade, .restock),
    ]

    private static func lost(_ was: FormerOutcome, _ kind: CommandKind) -> (FormerOutcome, CommandKind, GoldenAnswer) {
        let (id, cancel) = (kind == .restock ? "restockId" : "orderId", kind == .cancel ? #","cancel":true"# : "")
        let answer = GoldenAnswer(
            to: [],
            #"{"type":"answerLost","duplicate":true,"\#(id)":"1","store":"gangnam","offset":1234\#(cancel),"was":"\#(was)","#,
            english: #"answered before as \"\#(was)\"; the first answer is lost"#,
            korean: #"이미 \"\#(was)\"(으)로 응답했지만, 첫 응답이 남아 있지 않아요"#)
        return (was, kind, answer)
    }

    package static let bilingual = [
        juiceMade, severalJuicesMade, basketMade, outOfStock, basketOutOfStock, restocked, cancelled,
        cancelledNothing, rejectedOrder, rejectedRestock, rejectedCancelledOrder, rejectedCancel,
        unknownStoreOrder, unknownStoreCancel, unknownStoreRestock,
    ]

    /// An order with the id `"\`, a null and a carriage return, of a menu with such names.
    package static let escaped =
        #"{"type":"juiceMade","orderId":"\"\\\u0000\r","store":"gangnam","offset":1234,"juice":"\n","quantity":1,"used":{"a\"b":2},"left":{"a\"b":0},"revision":1,"message":"juice made: \t"}"#

    package static let all = (bilingual + lost.map(\.answer)).flatMap(\.texts) + [escaped]

    /// Numbers in answers, what readers must take in their place, and the paths of these members.
    package static let bounds: [(answer: GoldenAnswer, member: String, bounds: ClosedRange<Int>, path: String)] = [
        (severalJuicesMade, #""quantity":3"#, 1...100, "quantity"),
        (severalJuicesMade, #""mango":6"#, 0...1_000_000_000, "used.mango"),
        (severalJuicesMade, #""mango":4"#, 0...1_000_000_000, "left.mango"),
        (severalJuicesMade, #""revision":18"#, 1...Int.max, "revision"),
        (basketMade, #""quantity":2"#, 1...2_000, "items[0].quantity"),
        (outOfStock, #""needed":2"#, 0...2_000_000_000_000, "missing[0].needed"),
        (outOfStock, #""inStock":1"#, 0...1_000_000_000, "missing[0].inStock"),
        (restocked, #""strawberry":16"#, 0...1_000_000_000, "left.strawberry"),
        (cancelled, #""kiwi":6"#, 0...1_000_000_000, "returned.kiwi"),
    ]

    /// The stock record of the store `gang"nam` after its 17th change.
    package static let stock =
        #"{"store":"gang\"nam","revision":17,"stock":{"strawberry":0,"banana":9,"pineapple":10,"kiwi":1000000000,"mango":10}}"#

    /// Stock records as the service writes them, as others may, and malformed ones.
    package static let stocks =
        [stock, #"{"stock":{"plum":[1],"kiwi":1000000000},"revision":0,"store":"\ud83e\udd5d"}"#, "", "{", #"{"store":""#]
        + [
            "10}}", "0}}", "1000000001}}", "-1}}", "01}}", "1.0}}", "1}} ", "1}}}", "1}",
        ].map { #"{"store":"s","revision":17,"stock":{"strawberry":0,"banana":9,"pineapple":10,"kiwi":10,"mango":\#($0)"# }
        + ["0", "9223372036854775807", "99999999999999999999", ""].map {
            #"{"store":"s","revision":\#($0),"stock":{"strawberry":1,"banana":9,"pineapple":10,"kiwi":10,"mango":1}}"#
        }
        + [
            #"{"store":"t","revision":3,"stock":{"strawberry":1,"banana":9,"pineapple":10,"kiwi":10,"mango":1}}"#,
            #"{"store":"s","revision":3,"stock":{"banana":9,"strawberry":1,"pineapple":10,"kiwi":10,"mango":1}}"#,
            #"{"store":"s","revision":1,"stock":{"strawberry":1,"banana":9,"pineapple":10,"kiwi":10}}"#,
        ]
}

/// Commands, word for word, and how they are decoded by the built-in menu.
///
/// The id of most is `a`. Those that are rejected are given by their members after the id.
package enum GoldenCommands {
    /// Valid orders, baskets and cancels, and how they are decoded.
    package static let orders: [(value: String, expected: String)] = singles + baskets + cancels

    private static let singles = [
        (#"{"orderId":"pos-7-000123","juice":"strawberryBanana","quantity":1}"#, "pos-7-000123: 1 strawberryBanana"),
        (#"{"orderId":"a","juice":"kiwi"}"#, "a: 1 kiwi"),
        (#"{"orderId":"a","juice":"kiwi","quantity":100}"#, "a: 100 kiwi"),
        (#"{"orderId":"a","juice":"kiwi","quantity":null}"#, "a: 1 kiwi"),
        (#" {"quantity" : 2 , "juice" : "mango" , "orderId" : "b" } "#, "b: 2 mango"),
        ("\u{feff}{\"orderId\":\"a\",\"juice\":\"kiwi\"}", "a: 1 kiwi"),
        (#"{"order\u0049d":"\uac00\n","juice":"k\u0069wi"}"#, "가\n: 1 kiwi"),
        // Unknown fields are ignored, whatever they hold and however often.
        (#"{"x":{"orderId":1,"juice":[]},"orderId":"a","x":1e999,"juice":"kiwi","ORDERID":null,"":[[]]}"#, "a: 1 kiwi"),
        (#"{"orderId":"a","juice":"kiwi","add":{"kiwi":1},"restockId":"b"}"#, "a: 1 kiwi"),
    ]

    private static let baskets = [
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}]}"#,
            "a: [2 kiwi, 1 strawberryBanana]"
        ), (#"{"orderId":"a","items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
        // Items of the same juice are added up in the first one's place, even beyond the limit of one item.
        (#"{"orderId":"a","items":[{"juice":"kiwi","quantity":2},{"juice":"mango"},{"juice":"kiwi"}]}"#, "a: [3 kiwi, 1 mango]"),
        (order(#""items":"# + array(of: #"{"juice":"kiwi","quantity":100}"#, 20)), "a: [2000 kiwi]"),
        (#"{"orderId":"a","juice":null,"quantity":null,"items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
        (#"{"orderId":"a","items":[{"quantity":null,"x":[],"juice":"k\u0069wi","x":1,"items":[]}],"cancel":null}"#, "a: [1 kiwi]"),
        (#"{"items":[{"juice":"mango"}],"cancel":false,"orderId":"b"}"#, "b: [1 mango]"),
        (#"{"orderId":"a","juice":"kiwi","items":null,"cancel":false}"#, "a: 1 kiwi"),
    ]

    private static let cancels = [
        #"{"orderId":"a","cancel":true}"#, #" {"c\u0061ncel" : true, "orderId" : "a"} "#,
        // All other fields are ignored.
        #"{"orderId":"a","juice":"kiwi","quantity":2,"cancel":true}"#,
        #"{"orderId":"a","juice":7,"juice":[],"quantity":-1,"quantity":{},"cancel":true,"x":1}"#,
        #"{"orderId":"a","items":[],"juice":"durian","items":7,"cancel":true}"#,
    ].map { ($0, "a: cancel") }

    /// Valid restocks, and how they are decoded.
    package static let restocks: [(value: String, expected: String)] = [
        (#"{"restockId":"a","add":{"strawberry":16,"kiwi":-2}}"#, "a: add strawberry 16, kiwi -2"),
        (#"{"restockId":"a","add":{"kiwi":-2,"strawberry":16}}"#, "a: add strawberry 16, kiwi -2"),
        (#"{"restockId":"a","set":{"mango":30}}"#, "a: set mango 30"),
        (#"{"restockId":"a","add":null,"set":{"mango":0}}"#, "a: set mango 0"),
        (#"{"restockId":"a","set":{"kiwi":1000000000}}"#, "a: set kiwi 1000000000"),
        (#"{"restockId":"a","set":{"kiwi":1000000001}}"#, "a: set kiwi 1000000001"),
        (#"{"set":{"mango":9223372036854775807},"restockId":"a"}"#, "a: set mango 9223372036854775807"),
        (#"{"restockId":"a","add":{"mango":-9223372036854775808}}"#, "a: add mango -9223372036854775808"),
        (#"{"restockId":"a","add":{"mango":0},"juice":7,"orderId":[]}"#, "a: add mango 0"),
    ]

    /// A rejected command's members after its id, and why it is rejected.
    package typealias Faulty = (members: String, expected: Rejection)

    /// Orders with one fault each.
    package static let faultyOrders: [Faulty] = faultySingles + faultyBaskets

    private static let faultySingles: [Faulty] =
        [
            ("", .badCommand(.missingJuice)), (#""juice":null"#, .badCommand(.missingJuice)),
            (#""juice":7"#, .badCommand(.juiceNotText)), (#""juice":["kiwi"]"#, .badCommand(.juiceNotText)),
            (#""cancel":false"#, .badCommand(.missingJuice)), (#""cancel":null,"juice":"durian""#, .unknownJuice("durian")),
        ]
        + ["1", #""true""#, "[true]"].map { (#""cancel":\#($0)"#, .badCommand(.notBoolean("cancel"))) }
        + ["durian", "", "Kiwi", "pineappl"].map { (#""juice":"\#($0)""#, .unknownJuice($0)) }
        + [
            "0", "101", "-1", "1.5", "9223372036854775807", "9223372036854775808", "18446744073709551617", #""1""#, "true", "[1]",
        ].map { (#""juice":"kiwi","quantity":\#($0)"#, .badQuantity) }

    private static let faultyBaskets: [Faulty] =
        [
            (#""items":null"#, .badCommand(.missingJuice)), (#""items":[]"#, .badCommand(.noItems)),
            (#""juice":"kiwi","items":[{"juice":"kiwi"}]"#, .badCommand(.juiceAndItems)),
            (#""items":[{"juice":"kiwi"}],"quantity":1"#, .badCommand(.quantityAndItems)),
            (#""items":"# + array(of: #"{"juice":"kiwi"}"#, 21), .badCommand(.tooManyItems)),
        ]
        + [#"{"juice":"kiwi"}"#, #""kiwi""#, "false"].map { (#""items":\#($0)"#, .badCommand(.notAnArray("items"))) }
        + ["7", "null", #""kiwi""#, #"[{"juice":"kiwi"}]"#].map { (#""items":[\#($0)]"#, .badCommand(.itemNotAnObject)) }
        + ["", #""juice":null"#].map { (#""items":[{\#($0)}]"#, .badCommand(.missingJuice)) }
        + [
            (#""items":[{"juice":7}]"#, .badCommand(.juiceNotText)), (#""items":[{"juice":"durian"}]"#, .unknownJuice("durian")),
        ] + ["0", "101", #""1""#].map { (#""items":[{"juice":"kiwi","quantity":\#($0)}]"#, .badQuantity) }

    /// Restocks with one fault each.
    package static let faultyRestocks: [Faulty] =
        ["", #""add":null"#, #""add":{}"#, #""set":{}"#].map { ($0, .emptyRestock) }
        + [
            (#""add":{"kiwi":1},"set":{"kiwi":1}"#, .badCommand(.addAndSet)), (#""add":[]"#, .badCommand(.notAnObject("add"))),
            (#""set":"kiwi""#, .badCommand(.notAnObject("set"))), (#""add":{"kiwi":1,"durian":1}"#, .unknownFruit("durian")),
            (#""set":{"kiwi":-9223372036854775809}"#, .badAmount(fruit: 3)),
        ] + ["1.5", "null", #""1""#, "9223372036854775808"].map { (#""add":{"kiwi":\#($0)}"#, .badAmount(fruit: 3)) }

    /// Orders whose fault other JSON readers do not see as the service does: a member given twice, 1.0 for 1, several faults.
    package static let subtleOrders: [Faulty] =
        [
            (#""juice":"kiwi","juice":"kiwi""#, "juice"), (#""juice":"kiwi","quantity":1,"quantity":null"#, "quantity"),
            (#""items":[],"items":[]"#, "items"), (#""items":null,"items":[{"juice":"kiwi"}]"#, "items"),
            (#""items":[{"juice":"kiwi","juice":"kiwi"}]"#, "juice"), (#""cancel":true,"cancel":true"#, "cancel"),
            (#""items":[{"juice":"kiwi","quantity":1,"quantity":1}]"#, "quantity"),
            (#""juice":"kiwi","cancel":null,"cancel":false"#, "cancel"),
            // Of several faults the first in the decoder's order counts.
            (#""juice":7,"juice":7,"items":[],"items":[]"#, "juice"), (#""juice":7,"items":[],"items":[]"#, "items"),
            (#""items":7,"quantity":0,"quantity":null"#, "quantity"),
        ].map { ($0, .badCommand(.repeatedField($1))) }
        + ["1.0", "1e1"].map { (#""juice":"kiwi","quantity":\#($0)"#, .badQuantity) }
        + [
            (#""items":[{"juice":"kiwi","quantity":1.0}]"#, .badQuantity),
            (#""juice":7,"items":[],"quantity":0"#, .badCommand(.juiceAndItems)),
            (#""items":[],"quantity":0"#, .badCommand(.quantityAndItems)),
            (#""items":"# + array(of: "7", 21), .badCommand(.tooManyItems)),
            (#""juice":7,"juice":7,"items":[],"items":[],"cancel":0"#, .badCommand(.notBoolean("cancel"))),
            // The juice is judged before the quantity. Of several items, the first with a fault counts.
            (#""quantity":0,"juice":"durian""#, .unknownJuice("durian")),
            (#""items":[{"quantity":0,"quantity":0,"juice":"durian"}]"#, .unknownJuice("durian")),
            (#""items":[{"juice":"kiwi"},{"juice":"durian"},{"juice":"kiwi","quantity":0}]"#, .unknownJuice("durian")),
            (#""items":[{"juice":"kiwi","quantity":0},{"juice":"durian"},7]"#, .badQuantity),
        ]

    /// Restocks of this kind.
    package static let subtleRestocks: [Faulty] = [
        (#""add":{},"set":[]"#, .badCommand(.addAndSet)), (#""set":null,"set":null"#, .badCommand(.repeatedField("set"))),
        (#""add":{"kiwi":1},"add":{"kiwi":1}"#, .badCommand(.repeatedField("add"))),
        (#""add":{"kiwi":1,"kiwi":1}"#, .badCommand(.repeatedFruit(fruit: 3))),
        // The fruits are judged in order.
        (#""add":{"mango":{},"durian":1}"#, .badAmount(fruit: 4)), (#""add":{"durian":1,"mango":{}}"#, .unknownFruit("durian")),
    ]

    /// Values of the orders topic that are not orders, and the codes of their dead letters.
    package static let deadLetters: [(value: String, code: String)] = [
        ("", "emptyValue"), (" ", "notJSON"), ("hello", "notJSON"), (#"{"orderId":"a","juice":"kiwi"}}"#, "notJSON"),
        ("[]", "notJSON"), (#""orderId""#, "notJSON"), ("null", "notJSON"), ("1", "notJSON"),
        (#"[{"orderId":"a","juice":"kiwi"}]"#, "notJSON"), (#"{"orderId":"a","juice":"kiwi","x":01}"#, "notJSON"),
        ("{}", "missingID"), (#"{"juice":"kiwi"}"#, "missingID"), (#"{"orderId":null}"#, "missingID"),
        (#"{"orderid":"a","restockId":7}"#, "missingID"), (#"{"restockId":"b","add":{"kiwi":1}}"#, "wrongTopic"),
        (#"{"orderId":""}"#, "badID"), (#"{"orderId":7}"#, "badID"), (#"{"orderId":{"orderId":"a"}}"#, "badID"),
        (#"{"orderId":"\#(String(repeating: "x", count: 129))"}"#, "badID"),
        (#"{"orderId":"\#(String(repeating: "가", count: 43))"}"#, "badID"),
    ]

    /// The same, for values that other JSON readers take.
    package static let subtleDeadLetters = [
        (#"{"orderId":"a","orderId":"a"}"#, "badID"), (#"{"orderId":"a","orderId":null}"#, "badID"),
        (#"{"orderId":"a","x":"# + String(repeating: "[", count: 128) + String(repeating: "]", count: 128) + "}", "tooDeep"),
    ]

    /// Commands as the programs of this project write them, to the store `s`. The id of each is `a"`.
    package static let outgoing: [(command: OutgoingCommand, kind: CommandKind, value: String)] = [
        (.order(id: id, store: "s", juice: "kiwi"), .order, order(#""juice":"kiwi","quantity":1"#, id: quotedID)),
        // Only the service judges a command.
        (.order(id: id, store: "s", juice: "\n", quantity: -7), .order, order(#""juice":"\n","quantity":-7"#, id: quotedID)),
        (
            .basket(id: id, store: "s", [.init(juice: "kiwi", quantity: 2), .init(juice: "\n", quantity: 0)]), .order,
            order(#""items":[{"juice":"kiwi","quantity":2},{"juice":"\n","quantity":0}]"#, id: quotedID)
        ), (.basket(id: id, store: "s", []), .order, order(#""items":[]"#, id: quotedID)),
        (.cancel(id: id, store: "s"), .cancel, order(#""cancel":true"#, id: quotedID)),
        (
            .restock(id: id, store: "s", .add, [.init(fruit: "strawberry", amount: 16), .init(fruit: "\"", amount: .min)]),
            .restock,
            restock(#""add":{"strawberry":16,"\"":-9223372036854775808}"#, id: quotedID)
        ),
        (
            .restock(id: id, store: "s", .set, [.init(fruit: "mango", amount: 30)]), .restock,
            restock(#""set":{"mango":30}"#, id: quotedID)
        ),
    ]

    private static let (id, quotedID) = ("a\"", #""a\"""#)

    /// The values of all of them.
    package static let all =
        orders.map(\.value) + (faultyOrders + subtleOrders).map { order($0.members) } + restocks.map(\.value)
        + (faultyRestocks + subtleRestocks).map { restock($0.members) } + (deadLetters + subtleDeadLetters).map(\.0)

    /// An order with these members after its id, which is JSON.
    package static func order(_ members: String, id: String = #""a""#) -> String { command("orderId", id, members) }

    /// The same for a restock.
    package static func restock(_ members: String, id: String = #""a""#) -> String { command("restockId", id, members) }

    private static func command(_ field: String, _ id: String, _ members: String) -> String {
        #"{"\#(field)":\#(id)\#(members.isEmpty ? "" : ",")\#(members)}"#
    }

    private static func array(of item: String, _ count: Int) -> String {
        "[\(Array(repeating: item, count: count).joined(separator: ","))]"
    }

    /// A decoded command in the words of these tables.
    package static func summary(_ decoded: consuming DecodedRecord) -> String {
        let menu = Menu.standard
        switch decoded {
        case .command(_, let id, .cancel): return "\(String(id)): cancel"
        case .command(_, let id, .make(let order)):
            let items = order.items.map { "\($0.quantity) \(menu.juices[$0.juice].id)" }.joined(separator: ", ")
            guard case .basket = order else { return "\(String(id)): \(items)" }
            return "\(String(id)): [\(items)]"
        case .command(_, let id, .apply(let edit)):
            let entries = edit.entries.map { "\(menu.fruits[$0.fruit].id) \($0.amount)" }
            return "\(String(id)): \(edit.kind) " + entries.joined(separator: ", ")
        case .command(_, let id, .reject(let rejection)): return "\(String(id)): \(rejection)"
        case .undecodable(let reason): return reason.code
        }
    }
}

/// Notes of the journal, each with the value of its record word for word.
package enum GoldenNotes {
    private static let ids = ["juice-maker/till-1/0/2/0", "juice-maker/till-1/0/2/1"]

    /// Commands, and their digests by OpenSSL's SIPHASH with `c-rounds:1`, `d-rounds:3` and `size:16`.
    package static let commands: [(kind: CommandKind, store: StaticString, id: StaticString, digest: String)] = [
        (.order, "gangnam", "pos-7-000123", "4a756f8c1180ca81b1c50f7ec9a76d94"),
        (.cancel, "gangnam", "pos-7-000123", "c096d5d58824edcc57e558c94a2438f7"),
        (.restock, "강남", "bot-1-42", "7e737fb7e85800ec73fb8af5dbc8bfbf"),
    ]

    /// The digest of a record that got no answer.
    package static func digest(key: String?, value: String?) -> RecordDigest {
        let (keyBytes, valueBytes) = (key.map { Array($0.utf8) }, value.map { Array($0.utf8) })
        return (keyBytes ?? []).withUnsafeBytes { keyView in
            (valueBytes ?? []).withUnsafeBytes { valueView in
                RecordDigest(key: keyBytes.map { _ in keyView }, value: valueBytes.map { _ in valueView })
            }
        }
    }

    private static func handled(_ command: Int, at offset: Int64) -> HandledRecord {
        let (kind, store, id, _) = commands[command]
        let head = AnswerHead(kind, id: BorrowedText(id), store: BorrowedText(store), offset: offset)
        return HandledRecord(offset: offset, digest: RecordDigest(of: head))
    }

    /// One note of each type, and the shortest form of some.
    package static let all: [(note: JournalNote, value: String)] = [
        (
            .forwarded(
                InputPlace(
                    topic: .orders, partition: nil, offset: 42, digest: digest(key: "gangnam", value: #"{"orderId":"a"}"#)), to: 5),
            #"{"type":"forwarded","topic":"orders","offset":42,"to":5,"digest":"83883389b9a0f1f95e864b5f463783ef"}"#
        ),
        (
            .forwarded(InputPlace(topic: .restocks, partition: 9, offset: 0, digest: digest(key: "", value: nil)), to: 0),
            #"{"type":"forwarded","topic":"restocks","partition":9,"offset":0,"to":0,"#
                + #""digest":"e0195d83ed759e5ace227a7705dde1c8"}"#
        ),
        (
            .deadLetter(
                InputPlace(topic: .orders, partition: nil, offset: 44, digest: digest(key: nil, value: "nope")), code: "notJSON"),
            #"{"type":"deadLetter","topic":"orders","offset":44,"code":"notJSON","digest":"367026dc90519f37e788e7705d3de2b4"}"#
        ),
        (
            .copy(InputPlace(topic: .restocks, partition: nil, offset: .max, digest: digest(key: "", value: ""))),
            #"{"type":"copy","topic":"restocks","offset":9223372036854775807,"digest":"e0195d83ed759e5ace227a7705dde1c8"}"#
        ),
        (
            .position(
                JournalPosition(
                    next: [.orders: 1235, .restocks: 57], added: [InputPartition(topic: .orders, partition: 9): 43], claim: 8812,
                    ids: ids,
                    forwarded: [
                        InputPartition(topic: .restocks, partition: 1): 7, InputPartition(topic: .orders, partition: 10): 2,
                        InputPartition(topic: .orders, partition: 3): 42,
                    ],
                    account: JournalAccount(
                        before: 7980, records: 1292, changes: StockChanges(count: 881, sum: .max), oldest: 7001, menu: 0x0D3E),
                    last: [
                        InputPartition(topic: .restocks, partition: 1): handled(2, at: 56),
                        InputPartition(topic: .orders, partition: 9): handled(1, at: 42),
                        InputPartition(topic: .orders, partition: 1): handled(0, at: 1234),
                    ])),
            #"{"type":"position","orders":1235,"restocks":57,"claim":8812,"#
                + #""ids":["juice-maker/till-1/0/2/0","juice-maker/till-1/0/2/1"],"#
                + #""added":{"orders/9":43},"forwarded":{"orders/3":42,"orders/10":2,"restocks/1":7},"#
                + #""before":7980,"records":1292,"changes":881,"sum":"18446744073709551615","#
                + #""oldest":7001,"menu":"0000000000000d3e","#
                + #""last":{"orders/1":{"offset":1234,"digest":"4a756f8c1180ca81b1c50f7ec9a76d94"},"#
                + #""orders/9":{"offset":42,"digest":"c096d5d58824edcc57e558c94a2438f7"},"#
                + #""restocks/1":{"offset":56,"digest":"7e737fb7e85800ec73fb8af5dbc8bfbf"}}}"#
        ),
        (
            .position(
                JournalPosition(
                    next: [:], added: [:], claim: 0, ids: [], forwarded: [:],
                    account: JournalAccount(before: nil, records: 0, changes: StockChanges(), oldest: nil, menu: .max))),
            #"{"type":"position","claim":0,"ids":[],"records":0,"changes":0,"sum":"0","menu":"ffffffffffffffff"}"#
        ),
        (
            .claim(
                JournalClaim(
                    ids: ids, since: 8800, fenced: ["juice-maker/till-2/0/1/0"], group: "juice-maker", instance: "till \"1\"",
                    partitions: 8, next: [.orders: 1235])),
            #"{"type":"claim","ids":["juice-maker/till-1/0/2/0","juice-maker/till-1/0/2/1"],"since":8800,"#
                + #""group":"juice-maker","instance":"till \"1\"","partitions":8,"orders":1235,"#
                + #""fenced":["juice-maker/till-2/0/1/0"]}"#
        ),
        (
            .claim(
                JournalClaim(
                    ids: ids, since: 0, group: "juice-maker", instance: "till-1", partitions: 8, next: [:], attempt: 2,
                    process: "5f3759df")),
            #"{"type":"claim","ids":["juice-maker/till-1/0/2/0","juice-maker/till-1/0/2/1"],"since":0,"#
                + #""group":"juice-maker","instance":"till-1","partitions":8,"attempt":2,"process":"5f3759df"}"#
        ),
        (
            .anchored(InputPlace(topic: .orders, partition: nil, offset: 17), by: "root@host", reason: "the topic was recreated"),
            #"{"type":"anchored","topic":"orders","offset":17,"by":"root@host","reason":"the topic was recreated"}"#
        ),
        (
            .anchored(InputPlace(topic: .orders, partition: 8, offset: 17), by: "강남", reason: nil),
            #"{"type":"anchored","topic":"orders","partition":8,"offset":17,"by":"강남"}"#
        ),
        (
            .anchored(InputPlace(topic: .restocks, partition: nil, offset: 17), by: "b", reason: "r", copied: 19),
            #"{"type":"anchored","topic":"restocks","offset":17,"by":"b","reason":"r","copied":19}"#
        ),
    ]
}

/// Invalid menu files, word for word: for the tests of the reader and of the schema.
package enum GoldenMenus {
    /// Each with its fault and the fault's place.
    package static let malformed: [(json: String, problem: String)] = [
        ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"), ("{}", "fruits: missing"),
        (#"{"fruits":[]}"#, "juices: missing"),
        (#"{"fruits":{},"juices":[]}"#, "fruits: must be an array"),
        (#"{"fruits":[],"fruits":[],"juices":[]}"#, "fruits: given twice"),
        (#"{"fruits":[],"juices":[]}"#, "fruits: must not be empty"),
        (#"{"fruit":[],"juices":[]}"#, "fruit: unknown field; the fields here are fruits, juices"),
        (#"{"fruits":["kiwi"],"juices":[]}"#, "fruits[0]: must be an object"),
        (#"{"fruits":[{"id":"a"},{}],"juices":[]}"#, "fruits[1].id: missing"),
        (#"{"fruits":[{"id":7}],"juices":[]}"#, "fruits[0].id: must be a string"),
        (
            #"{"fruits":[{"id":"a"},{"id":"b","initalStock":1}],"juices":[]}"#,
            "fruits[1].initalStock: unknown field; the fields here are id, name, initialStock"
        ), (#"{"fruits":[{"id":"a","initialStock":1.5}],"juices":[]}"#, "fruits[0].initialStock: must be a whole number"),
        (
            #"{"fruits":[{"id":"a","initialStock":99999999999999999999}],"juices":[]}"#,
            "fruits[0].initialStock: must be a whole number"
        ),
        (#"{"fruits":[{"id":"a","name":"x"}],"juices":[]}"#, "fruits[0].name: must be an object"),
        (#"{"fruits":[{"id":"a","name":{"fr":"x"}}],"juices":[]}"#, "fruits[0].name.fr: unknown field; the fields here are en, ko"),
        (#"{"fruits":[{"id":"a","name":{"ko":null}}],"juices":[]}"#, "fruits[0].name.ko: must be a string"),
        (#"{"fruits":[{"id":"a"}],"juices":[{"id":"j"}]}"#, "juices[0].recipe: missing"),
        (#"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":[]}]}"#, "juices[0].recipe: must be an object"),
        (#"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{}}]}"#, "juices[0].recipe: must not be empty"),
        (#"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":"1"}}]}"#, "juices[0].recipe.a: must be a whole number"),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1,"a":1}}]}"#,
            "juices[0].recipe.a: this fruit is already in the recipe"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1}},{"id":"k","recipe":{"mango":1}}]}"#,
            "juices[1].recipe.mango: no fruit has this id"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"price":3}]}"#,
            "juices[0].price: unknown field; the fields here are id, name, aliases, recipe"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":"b"},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases: must be an array"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["b",7]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[1]: must be a string"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":[""]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[0]: must not be empty"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["b"," "]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[1]: must not be empty"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["K"]},{"id":"k","recipe":{"a":1}}]}"#,
            #"juices[0].aliases[0]: already means the juice "k""#
        ),
    ]
}
