import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerDecoderTests {
    private func decode(_ json: String) throws -> Answer { try Answer(json: json) }

    private static let kiwis = OrderedJuice(juice: "kiwi", quantity: 2)

    private static func amounts(_ amounts: KeyValuePairs<String, Int>) -> [FruitAmount] {
        amounts.map { FruitAmount(fruit: $0, amount: $1) }
    }

    private static let outcomes: [(GoldenAnswer, CommandKind, Int?, Answer.Outcome)] = [
        (
            GoldenAnswers.juiceMade, .order, 17,
            .juiceMade(
                [OrderedJuice(juice: "strawberryBanana", quantity: 1)], used: amounts(["strawberry": 10, "banana": 1]),
                left: amounts(["strawberry": 0, "banana": 9]))
        ),
        (
            GoldenAnswers.basketMade, .order, 19,
            .juiceMade(
                [kiwis, OrderedJuice(juice: "strawberryBanana", quantity: 1)],
                used: amounts(["kiwi": 6, "strawberry": 10, "banana": 1]), left: amounts(["kiwi": 4, "strawberry": 0, "banana": 9]))
        ),
        (
            GoldenAnswers.outOfStock, .order, nil,
            .outOfStock(
                [OrderedJuice(juice: "mangoKiwi", quantity: 1)],
                missing: [MissingFruit(fruit: "mango", needed: 2, inStock: 1), MissingFruit(fruit: "kiwi", needed: 1, inStock: 0)])
        ),
        (
            GoldenAnswers.basketOutOfStock, .order, nil,
            .outOfStock(
                [kiwis, OrderedJuice(juice: "mangoKiwi", quantity: 4)],
                missing: [MissingFruit(fruit: "kiwi", needed: 10, inStock: 4)])
        ),
        (GoldenAnswers.restocked, .restock, 2, .restocked(left: amounts(["strawberry": 16, "kiwi": 8]))),
        (
            GoldenAnswers.cancelled, .cancel, 20,
            .cancelled(
                returned: amounts(["kiwi": 6, "strawberry": 10, "banana": 1]),
                left: amounts(["kiwi": 14, "strawberry": 26, "banana": 10]))
        ),
        (GoldenAnswers.cancelledNothing, .cancel, nil, .cancelled(returned: [], left: [])),
        (GoldenAnswers.rejectedOrder, .order, nil, .rejected(reason: "unknownJuice")),
        (GoldenAnswers.rejectedRestock, .restock, nil, .rejected(reason: "unknownFruit")),
        (GoldenAnswers.rejectedCancel, .cancel, nil, .rejected(reason: "wouldOverflow")),
    ]

    private static let translations: [(GoldenAnswer, english: String, korean: String)] = [
        (GoldenAnswers.juiceMade, "juice made: strawberry banana juice", "딸바쥬스 나왔습니다! 맛있게 드세요!"),
        (
            GoldenAnswers.basketMade, "juice made: 2 × kiwi juice, strawberry banana juice",
            "키위쥬스 2잔, 딸바쥬스 나왔습니다! 맛있게 드세요!"
        ),
        (GoldenAnswers.outOfStock, "out of stock (mango, kiwi)", "망고와 키위가 모자라요. 재고를 수정할까요?"),
        (GoldenAnswers.restocked, "restocked: strawberry now 16; kiwi now 8", "재고를 수정했어요: 딸기 현재 16개; 키위 현재 8개"),
        (
            GoldenAnswers.cancelled, "cancelled: kiwi 6, strawberry 10, banana 1 returned",
            "취소했어요. 키위 6개, 딸기 10개, 바나나 1개를 되돌렸습니다."
        ),
        (GoldenAnswers.cancelledNothing, "cancelled: nothing returned", "취소했어요. 되돌린 재고가 없습니다."),
    ]

    @Test(arguments: translations)
    func anAnswerIsShownInEitherLanguage(golden: GoldenAnswer, english: String, korean: String) throws {
        let (inEnglish, inKorean) = (try decode(golden[.english]), try decode(golden[.korean]))
        #expect(inKorean.message(in: .english, menu: .standard) == english)
        #expect(inEnglish.message(in: .korean, menu: .standard) == korean)
        // In its own language an answer shows the service's message, which may say more.
        for (answer, language) in [(inEnglish, Language.english), (inKorean, .korean)] {
            #expect(answer.message(in: language, menu: .standard) == answer.message)
        }
    }

    @Test func aRejectionStaysInTheLanguageOfTheService() throws {
        let answer = try decode(GoldenAnswers.rejectedOrder[.english])
        #expect(answer.message(in: .korean, menu: .standard) == answer.message)
    }

    @Test func namesUnknownJuicesByTheirID() throws {
        let answer = try decode(
            #"{"type":"juiceMade","orderId":"a","store":"s","offset":1,"juice":"fig","quantity":2,"used":{"fig":2},"left":{"fig":8},"revision":1,"message":"juice made: 2 × Fig"}"#
        )
        #expect(answer.message(in: .korean, menu: .standard) == "fig 2잔 나왔습니다! 맛있게 드세요!")
    }

    @Test(arguments: outcomes)
    func decodesTheAnswersOfTheService(golden: GoldenAnswer, command: CommandKind, revision: Int?, outcome: Answer.Outcome) throws {
        for json in golden.texts {
            let answer = try decode(json)
            #expect(answer.command == command && answer.revision == revision && answer.outcome == outcome)
            #expect(json.hasSuffix("\"\(answer.message.replacing("\"", with: "\\\""))\"}"))
        }
    }

    /// All readers agree on the answers to random commands.
    @Test(arguments: [20_240_902, 20_261_201] as [UInt64])
    func randomAnswersAreReadBack(seed: UInt64) throws {
        var commands = RandomCommands(seed: seed)
        let check = AnswerCheck()
        for _ in 0..<20 {
            let shop = try commands.shop()
            for _ in 0..<50 {
                let (kind, value) = commands.next(of: shop.menu)
                guard let answered = shop.answer(kind, value) else { continue }
                try check.check(answered, of: shop)
            }
        }
    }

    /// An order and its cancel share an id.
    @Test(
        arguments: [
            (#""type":"cancelled","orderId":"o""#, .cancel), (#""type":"rejected","orderId":"o","cancel":true"#, .cancel),
            (#""type":"rejected","orderId":"o""#, .order), (#""type":"rejected","restockId":"o""#, .restock),
        ] as [(String, CommandKind)]
    )
    func theCommandIsSeenByTheAnswer(beginning: String, command: CommandKind) throws {
        let answer = try decode(
            "{\(beginning)"
                + #","store":"s","offset":1,"returned":{},"left":{},"reason":"wouldOverflow","message":"m"}"#
        )
        #expect(answer.command == command)
    }

    @Test func namesTheSourceOfAForwardedCommand() throws {
        let answer = try decode(GoldenAnswers.severalJuicesMade[.english])
        #expect(answer.offset == 1234)
        #expect(answer.from == "3/42")
        #expect(try decode(GoldenAnswers.juiceMade[.english]).from == nil)
    }

    @Test func fieldsOfANewerServiceAreIgnored() throws {
        let answer = try decode(
            #"{"price":3,"message":"m","reason":"tooEarly","type":"rejected","x":{"type":1},"store":"s","offset":1,"orderId":"1"}"#)
        #expect(answer.outcome == .rejected(reason: "tooEarly"))
        #expect(answer.id == "1" && !answer.isDuplicate)
    }

    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"),
            (String(repeating: "[", count: 200), "nested more than 128 levels deep"),
            ("{}", "must have either an orderId or a restockId, once"),
            (#"{"orderId":"1","restockId":"1"}"#, "must have either an orderId or a restockId, once"),
            (#"{"type":"x","orderId":1}"#, "orderId: must be a string"),
            (#"{"type":"x","orderId":"1"}"#, "store: missing"),
            (#"{"type":"x","orderId":"1","store":"s","store":"s"}"#, "store: given twice"),
            (#"{"orderId":"1","store":"s","offset":1}"#, "type: missing"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"smoothieMade"}"#, "type: no answer has this type"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"rejected"}"#, "reason: missing"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"rejected","reason":"r"}"#, "message: missing"),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"rejected","reason":"r","duplicate":false}"#,
                "duplicate: must be true"
            ),
            (#"{"orderId":"1","store":"s","type":"rejected","cancel":1}"#, "cancel: must be true"),
            (#"{"orderId":"1","store":"s","type":"rejected"}"#, "offset: missing"),
            (#"{"orderId":"1","store":"s","type":"rejected","offset":-1}"#, "offset: must be from 0 to 9223372036854775807"),
            (
                #"{"orderId":"1","store":"s","type":"rejected","offset":1,"from":"03/4"}"#,
                "from: must be a partition and an offset, such as 3/42"
            ),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","juice":"j","quantity":1.5}"#,
                "quantity: must be a whole number"
            ),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","juice":"j","quantity":1,"used":{"kiwi":"3"}}"#,
                "used.kiwi: must be a whole number from 0 to 1000000000"
            ),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"outOfStock","juice":"j","quantity":1,"missing":[]}"#,
                "missing: must not be empty"
            ),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"outOfStock","juice":"j","quantity":1,"missing":[{"fruit":"f"}]}"#,
                "missing[0].needed: missing"
            ),
            (#"{"restockId":"1","store":"s","offset":1,"type":"restocked","left":[]}"#, "left: must be an object"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"cancelled","left":{}}"#, "returned: missing"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"cancelled","returned":{}}"#, "left: missing"),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"cancelled","returned":{"kiwi":-1},"left":{}}"#,
                "returned.kiwi: must be a whole number from 0 to 1000000000"
            ),
            (#"{"orderId":"1","store":"s","offset":1,"type":"juiceMade"}"#, "juice: missing"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","items":{}}"#, "items: must be an array"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","items":[],"items":[]}"#, "items: given twice"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","items":[]}"#, "items: must be 1 to 20"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"juiceMade","items":[7]}"#, "items[0]: must be an object"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"outOfStock","items":[{"quantity":1}]}"#, "items[0].juice: missing"),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"outOfStock","items":[{"juice":"j","quantity":1},{"juice":"j"}]}"#,
                "items[1].quantity: missing"
            ),
            (
                #"{"orderId":"1","store":"s","offset":1,"type":"rejected","reason":"r","message":"m","revision":null}"#,
                "revision: must be a whole number"
            ),
        ]
    )
    func aMalformedAnswerIsRefused(json: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try decode(json) }
        #expect(error?.description == problem)
    }

    /// Readers calculate with these numbers, so they must be within bounds.
    @Test(
        arguments: [
            (1, 0, 1, 0, true), (100, 1_000_000_000, 2_000_000_000_000, 1_000_000_000, true),
            (0, 0, 1, 0, false), (101, 0, 1, 0, false), (.max, 0, 1, 0, false),
            (1, -1, 1, 0, false), (1, .min, 1, 0, false), (1, 1_000_000_001, 1, 0, false),
            (1, .max, 1, 0, false),
            (1, 0, -1, 0, false), (1, 0, .min, 0, false), (1, 0, 2_000_000_000_001, 0, false),
            (1, 0, 1, -1, false), (1, 0, 1, 1_000_000_001, false), (1, 0, 1, .min, false),
        ] as [(Int, Int, Int, Int, Bool)]
    )
    func refusesNumbersOutOfBounds(
        quantity: Int,
        level: Int,
        needed: Int,
        inStock: Int,
        areTaken: Bool
    ) {
        let made = #"""
            {"type":"juiceMade","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":\#(quantity),\#
            "used":{"kiwi":\#(level)},"left":{"kiwi":\#(level)},"message":"m"}
            """#
        let short = #"""
            {"type":"outOfStock","orderId":"o","store":"s","offset":1,"juice":"kiwi","quantity":\#(quantity),"fruit":"kiwi",\#
            "missing":[{"fruit":"kiwi","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}
            """#
        let restocked = #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":\#(level)},"message":"m"}"#
        #expect([made, short, restocked].allSatisfy { (try? decode($0)) != nil } == areTaken)
    }

    @Test(
        arguments: [
            (1, 1, 1, true), (20, 2000, .max, true), (0, 1, 1, false), (21, 1, 1, false), (1, 0, 1, false),
            (1, 2001, 1, false), (1, .max, 1, false), (1, 1, 0, false), (1, 1, -1, false),
            (1, 1, .min, false),
        ] as [(Int, Int, Int, Bool)]
    )
    func refusesBasketNumbersOutOfBounds(count: Int, quantity: Int, revision: Int, areTaken: Bool) {
        let item = #"{"juice":"kiwi","quantity":\#(quantity)}"#
        let made = #"""
            {"type":"juiceMade","orderId":"o","store":"s","offset":1,\#
            "items":[\#(Array(repeating: item, count: count).joined(separator: ","))],\#
            "used":{"kiwi":3},"left":{"kiwi":7},"revision":\#(revision),"message":"m"}
            """#
        #expect(((try? decode(made)) != nil) == areTaken)
    }
}

struct RevisionTrackerTests {
    /// An answer of a store.
    enum Event {
        /// A change with a revision.
        case change(Int)
        /// The repeated answer to such a change.
        case duplicate(Int)
        /// An answer that changed nothing.
        case unchanged
    }

    @Test(
        arguments: [
            ([.change(7)], []), ([.change(1), .change(2), .unchanged, .change(3)], []), ([.change(1), .change(3)], [2...2]),
            ([.change(1), .change(5), .change(6), .change(8)], [2...4, 7...7]),
            ([.change(4), .duplicate(1), .duplicate(9), .change(5)], []),
            ([.unchanged, .change(2), .unchanged, .change(4)], [3...3]),
            // The store was reset.
            ([.change(9), .change(1), .change(2)], []),
        ] as [([Event], [ClosedRange<Int>])]
    )
    func gapsAreFound(events: [Event], gaps: [ClosedRange<Int>]) throws {
        var tracker = RevisionTracker()
        #expect(try events.compactMap { tracker.gap(before: try answer($0)) } == gaps)
    }

    private func answer(_ event: Event) throws -> Answer {
        switch event {
        case .change(let revision): try restocked(#""revision":\#(revision),"#)
        case .duplicate(let revision): try restocked(#""revision":\#(revision),"duplicate":true,"#)
        case .unchanged:
            try Answer(
                json: #"{"type":"cancelled","orderId":"o","store":"s","offset":1,"returned":{},"left":{},"message":"m"}"#
            )
        }
    }

    private func restocked(_ fields: String) throws -> Answer {
        try Answer(json: #"{"type":"restocked","restockId":"r","store":"s","offset":1,"left":{"kiwi":1},\#(fields)"message":"m"}"#)
    }

}
