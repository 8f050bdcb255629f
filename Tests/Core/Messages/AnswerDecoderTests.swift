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

    private static let translated =
        [
            GoldenAnswers.juiceMade, GoldenAnswers.severalJuicesMade, GoldenAnswers.basketMade, GoldenAnswers.outOfStock,
            GoldenAnswers.basketOutOfStock, GoldenAnswers.cancelled, GoldenAnswers.cancelledNothing,
        ] + GoldenAnswers.lost.map(\.answer)

    /// Whichever language the service has.
    @Test(arguments: translated)
    func anAnswerIsShownInEitherLanguage(golden: GoldenAnswer) throws {
        let answers = try golden.texts.map(decode)
        for answer in answers {
            #expect(Language.allCases.map { answer.message(in: $0, menu: .standard) } == answers.map(\.message))
        }
    }

    /// The answer to a restock does not have the amounts added, which only the service's own message names.
    @Test func aRestockIsShownInTheOtherLanguageByItsLevels() throws {
        let (english, korean) = (try decode(GoldenAnswers.restocked[.english]), try decode(GoldenAnswers.restocked[.korean]))
        #expect(korean.message(in: .english, menu: .standard) == "restocked: strawberry now 16; kiwi now 8")
        #expect(english.message(in: .korean, menu: .standard) == "재고를 수정했어요: 딸기 현재 16개; 키위 현재 8개")
        #expect(english.message(in: .english, menu: .standard) == english.message)
        #expect(korean.message(in: .korean, menu: .standard) == korean.message)
    }

    @Test func aRejectionStaysInTheLanguageOfTheService() throws {
        let answer = try decode(GoldenAnswers.rejectedOrder[.english])
        #expect(answer.message(in: .korean, menu: .standard) == answer.message)
    }

    @Test func namesUnknownJuicesByTheirID() throws {
        let answer = try decode(GoldenAnswers.severalJuicesMade[.english].replacing("mangoKiwi", with: "fig"))
        #expect(answer.message(in: .korean, menu: .standard) == "fig 3잔 나왔습니다! 맛있게 드세요!")
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

    /// Faults in what all answers have. The service finds them, too, when it restores its stores.
    @Test(
        arguments: [
            ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"),
            (String(repeating: "[", count: 200), "nested more than 128 levels deep"),
            (#"{"orderId":"1","restockId":"1"}"#, "must have either an orderId or a restockId, once"),
            (#"{"type":"x","orderId":1}"#, "orderId: must be a string"),
            (#"{"type":"x","orderId":"1"}"#, "store: missing"),
            (#"{"type":"x","orderId":"1","store":"s","store":"s"}"#, "store: given twice"),
            (#"{"orderId":"1","store":"s","offset":1}"#, "type: missing"),
            (#"{"type":"x","orderId":"1","store":"s","offset":1,"duplicate":false}"#, "duplicate: must be true"),
            (#"{"type":"x","orderId":"1","store":"s","cancel":1}"#, "cancel: must be true"),
            (#"{"type":"x","orderId":"1","store":"s"}"#, "offset: missing"),
            (#"{"type":"x","orderId":"1","store":"s","offset":1.0}"#, "offset: must be a whole number"),
            (#"{"type":"x","orderId":"1","store":"s","offset":-1}"#, "offset: must be from 0 to 9223372036854775807"),
            (
                #"{"type":"x","orderId":"1","store":"s","offset":1,"from":"03/4"}"#,
                "from: must be a partition and an offset, such as 3/42"
            ),
            (#"{"type":"x","orderId":"1","store":"s","offset":1,"revision":null}"#, "revision: must be a whole number"),
            (
                #"{"type":"x","orderId":"1","store":"s","offset":1,"revision":0}"#,
                "revision: must be from 1 to 9223372036854775807"
            ),
        ]
    )
    func everyReaderRefusesAMalformedHead(json: String, problem: String) {
        let decoding = #expect(throws: MalformedMessage.self) { try decode(json) }
        #expect(decoding?.description == problem)
        let restoring = #expect(throws: MalformedMessage.self) { try json.asValue { _ = try JournalReader().read($0) } }
        #expect(restoring?.description == problem)
    }

    @Test(
        arguments: [
            ("{}", "must have either an orderId or a restockId, once"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"smoothieMade"}"#, "type: no answer has this type"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"rejected"}"#, "reason: missing"),
            (#"{"orderId":"1","store":"s","offset":1,"type":"rejected","reason":"r"}"#, "message: missing"),
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
        ]
    )
    func aMalformedAnswerIsRefused(json: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try decode(json) }
        #expect(error?.description == problem)
    }

    /// Readers calculate with these numbers, so they must be within bounds.
    @Test(
        arguments: [
            (GoldenAnswers.severalJuicesMade, #""quantity":3"#, 1...100, "quantity"),
            (GoldenAnswers.severalJuicesMade, #""mango":6"#, 0...1_000_000_000, "used.mango"),
            (GoldenAnswers.severalJuicesMade, #""mango":4"#, 0...1_000_000_000, "left.mango"),
            (GoldenAnswers.severalJuicesMade, #""revision":18"#, 1...Int.max, "revision"),
            (GoldenAnswers.basketMade, #""quantity":2"#, 1...2_000, "items[0].quantity"),
            (GoldenAnswers.outOfStock, #""needed":2"#, 0...2_000_000_000_000, "missing[0].needed"),
            (GoldenAnswers.outOfStock, #""inStock":1"#, 0...1_000_000_000, "missing[0].inStock"),
            (GoldenAnswers.restocked, #""strawberry":16"#, 0...1_000_000_000, "left.strawberry"),
            (GoldenAnswers.cancelled, #""kiwi":6"#, 0...1_000_000_000, "returned.kiwi"),
        ] as [(GoldenAnswer, String, ClosedRange<Int>, String)]
    )
    func aNumberOutOfBoundsIsRefused(golden: GoldenAnswer, member: String, bounds: ClosedRange<Int>, path: String) throws {
        let name = member.prefix { $0 != ":" }
        func read(_ number: Int) throws -> Answer { try decode(golden[.english].replacing(member, with: "\(name):\(number)")) }
        for number in [bounds.lowerBound, bounds.upperBound] { _ = try read(number) }
        for number in [Int.min, bounds.lowerBound - 1, bounds.upperBound &+ 1, .max] where !bounds.contains(number) {
            let error = #expect(throws: MalformedMessage.self, "\(number)") { try read(number) }
            #expect(error?.path == path)
        }
    }

    @Test func anAnswerHasUpToTwentyItems() throws {
        func read(items count: Int) throws -> Answer {
            let item = #"{"juice":"kiwi","quantity":2},"#
            return try decode(
                GoldenAnswers.basketMade[.english].replacing(item, with: String(repeating: item, count: count - 1)))
        }
        _ = try read(items: 20)
        let error = #expect(throws: MalformedMessage.self) { try read(items: 21) }
        #expect(error?.description == "items: must be 1 to 20")
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
        let json =
            switch event {
            case .change(let revision): restocked(revision)
            case .duplicate(let revision): restocked(revision).replacing(#","store""#, with: #","duplicate":true,"store""#)
            case .unchanged: GoldenAnswers.cancelledNothing[.english]
            }
        return try Answer(json: json)
    }

    private func restocked(_ revision: Int) -> String {
        GoldenAnswers.restocked[.english].replacing(#""revision":2"#, with: #""revision":\#(revision)"#)
    }
}
