import JuiceMaker
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerDecoderTests {
    let decoder = AnswerDecoder()

    private func decode(_ json: String) throws -> Answer {
        try [UInt8](json).withUnsafeBytes { try decoder.decode($0) }
    }

    @Test(arguments: Language.allCases, [false, true])
    func whatTheEncoderWritesIsReadBack(language: Language, duplicate: Bool) throws {
        let encoder = AnswerEncoder(menu: .standard, language: language)
        func head(_ command: CommandKind) -> AnswerHead {
            let head = AnswerHead(command, id: BorrowedText("\"1\""), store: BorrowedText("강남\n"))
            return duplicate ? head.duplicate : head
        }
        func decode(_ content: AnswerContent, _ command: CommandKind) throws -> Answer {
            try self.decode(written { encoder.write(content, head(command), into: &$0) })
        }

        let samples = AnswerSamples()
        var content = AnswerContent()
        content.fruits.set(
            StockEdit(.add, [StockEdit.Entry(fruit: 0, amount: 0)]),
            left: try FruitStore(levels: [0, 9, 10, 10, 10])
        )
        content.revision = 18
        // The first is made, the second finds no strawberries.
        var answers = [
            try decode(try samples.content(4, levels: [10, 10, 10, 10, 10]), .order),
            try decode(try samples.content(4, levels: [0, 9, 10, 10, 10]), .order),
            try decode(content, .restock),
        ]
        for (kind, rejection) in [
            (CommandKind.order, Rejection.badQuantity), (.restock, .badQuantity),
            (.cancel, .wouldOverflow(fruit: 0, inStock: 1)),
        ] {
            answers.append(try self.decode(written { encoder.write(rejection, head(kind), into: &$0) }))
        }

        #expect(answers.map(\.command) == [.order, .order, .restock, .order, .restock, .cancel])
        #expect(answers.map(\.revision) == [17, nil, 18, nil, nil, nil])
        #expect(answers.allSatisfy { $0.id == "\"1\"" && $0.store == "강남\n" && $0.isDuplicate == duplicate })
        #expect(
            answers.map(\.outcome) == [
                .juiceMade(
                    .single(OrderedJuice(juice: "strawberryBanana", quantity: 1)),
                    used: [
                        FruitAmount(fruit: "strawberry", amount: 10), FruitAmount(fruit: "banana", amount: 1),
                    ],
                    left: [
                        FruitAmount(fruit: "strawberry", amount: 0), FruitAmount(fruit: "banana", amount: 9),
                    ]
                ),
                .outOfStock(
                    .single(OrderedJuice(juice: "strawberryBanana", quantity: 1)),
                    missing: [MissingFruit(fruit: "strawberry", needed: 10, inStock: 0)]
                ),
                .restocked(left: [FruitAmount(fruit: "strawberry", amount: 0)]),
                .rejected(reason: "badQuantity"),
                .rejected(reason: "badQuantity"),
                .rejected(reason: "wouldOverflow"),
            ]
        )
        let english = "juice made: strawberry banana juice"
        #expect(answers[0].message == (language == .english ? english : "딸바쥬스 나왔습니다! 맛있게 드세요!"))
    }

    @Test func basketsAndCancelsAreReadBack() throws {
        let items = [
            OrderedJuice(juice: "kiwi", quantity: 2), OrderedJuice(juice: "strawberryBanana", quantity: 1),
        ]
        let amounts = { (amounts: [(String, Int)]) in amounts.map { FruitAmount(fruit: $0.0, amount: $0.1) } }
        let used = amounts([("kiwi", 6), ("strawberry", 10), ("banana", 1)])
        let made = try decode(GoldenAnswers.basketMade[.english])
        #expect(
            made.outcome
                == .juiceMade(
                    .basket(items),
                    used: used,
                    left: amounts([("kiwi", 4), ("strawberry", 0), ("banana", 9)])
                )
        )
        let short = try decode(GoldenAnswers.basketOutOfStock[.korean])
        #expect(
            short.outcome
                == .outOfStock(
                    .basket([
                        OrderedJuice(juice: "kiwi", quantity: 3),
                        OrderedJuice(juice: "mangoKiwi", quantity: 4),
                    ]),
                    missing: [MissingFruit(fruit: "kiwi", needed: 13, inStock: 10)]
                )
        )
        let cancelled = try decode(GoldenAnswers.cancelled[.korean])
        #expect(cancelled.command == .cancel && cancelled.revision == 17)
        #expect(
            cancelled.outcome
                == .cancelled(
                    returned: used,
                    left: amounts([("kiwi", 10), ("strawberry", 10), ("banana", 10)])
                )
        )
        #expect(
            try decode(GoldenAnswers.cancelledNothing[.english]).outcome == .cancelled(returned: [], left: [])
        )
        #expect(try decode(GoldenAnswers.rejectedAsCancelled[.english]).command == .order)
    }

    @Test func fieldsOfANewerServiceAreIgnored() throws {
        let answer = try decode(
            #"{"price":3,"message":"m","reason":"tooEarly","type":"rejected","x":{"type":1},"store":"s","orderId":"1"}"#
        )
        #expect(answer.outcome == .rejected(reason: "tooEarly"))
        #expect(answer.id == "1" && !answer.isDuplicate)
    }

    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"),
            (String(repeating: "[", count: 200), "nested more than 128 levels deep"),
            ("{}", "must have either an orderId or a restockId, once"),
            (#"{"orderId":"1","restockId":"1"}"#, "must have either an orderId or a restockId, once"),
            (#"{"orderId":1}"#, "orderId: must be a string"), (#"{"orderId":"1"}"#, "store: missing"),
            (#"{"orderId":"1","store":"s","store":"s"}"#, "store: given twice"),
            (#"{"orderId":"1","store":"s"}"#, "type: missing"),
            (#"{"orderId":"1","store":"s","type":"smoothieMade"}"#, "type: no answer has this type"),
            (#"{"orderId":"1","store":"s","type":"rejected"}"#, "reason: missing"),
            (#"{"orderId":"1","store":"s","type":"rejected","reason":"r"}"#, "message: missing"),
            (
                #"{"orderId":"1","store":"s","type":"rejected","reason":"r","duplicate":1}"#,
                "duplicate: must be true or false"
            ),
            (
                #"{"orderId":"1","store":"s","type":"juiceMade","juice":"j","quantity":1.5}"#,
                "quantity: must be a whole number"
            ),
            (
                #"{"orderId":"1","store":"s","type":"juiceMade","juice":"j","quantity":1,"used":{"kiwi":"3"}}"#,
                "used.kiwi: must be a whole number from 0 to 1000000000"
            ),
            (
                #"{"orderId":"1","store":"s","type":"outOfStock","juice":"j","quantity":1,"missing":[]}"#,
                "missing: must not be empty"
            ),
            (
                #"{"orderId":"1","store":"s","type":"outOfStock","juice":"j","quantity":1,"missing":[{"fruit":"f"}]}"#,
                "missing[0].needed: missing"
            ),
            (#"{"restockId":"1","store":"s","type":"restocked","left":[]}"#, "left: must be an object"),
        ]
    )
    func aMalformedAnswerIsRefused(json: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try decode(json) }
        #expect(error?.description == problem)
    }

    /// Readers add and multiply what answers say.
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
    func numbersAreThoseThatAStoreCanHave(
        quantity: Int,
        level: Int,
        needed: Int,
        inStock: Int,
        areTaken: Bool
    ) {
        let made = #"""
            {"type":"juiceMade","orderId":"o","store":"s","juice":"kiwi","quantity":\#(quantity),\#
            "used":{"kiwi":\#(level)},"left":{"kiwi":\#(level)},"message":"m"}
            """#
        let short = #"""
            {"type":"outOfStock","orderId":"o","store":"s","juice":"kiwi","quantity":\#(quantity),"fruit":"kiwi",\#
            "missing":[{"fruit":"kiwi","needed":\#(needed),"inStock":\#(inStock)}],"message":"m"}
            """#
        let restocked =
            #"{"type":"restocked","restockId":"r","store":"s","left":{"kiwi":\#(level)},"message":"m"}"#
        #expect([made, short, restocked].allSatisfy { (try? decode($0)) != nil } == areTaken)
    }
}
