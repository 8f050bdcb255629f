import Foundation
import JuiceDomain
import MessageSamples
import Testing

@testable import JuiceMessages

@Suite struct AnswerDecoderTests {
    private func decode(_ json: String) throws -> Answer { try Answer(json: json) }

    /// Without the answers to restocks, and those whose message names what was sent.
    private static let translated =
        (GoldenAnswers.bilingual + GoldenAnswers.lost.map(\.answer)).filter { golden in
            guard let answer = try? Answer(json: golden[.english]), answer.command != .restock || answer.type == .answerLost else {
                return false
            }
            return answer.type != .rejected
        }

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
        let golden = GoldenAnswers.restocked
        let (english, korean) = (try decode(golden[.english]), try decode(golden[.korean]))
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

    /// Foundation finds the same members. Two of them only repeat what others say.
    @Test(arguments: GoldenAnswers.all)
    func decodesTheAnswersOfTheService(json: String) throws {
        let answer = try decode(json)
        var members = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        #expect(members.removeValue(forKey: "cancel") == nil || answer.command == .cancel)
        if let first = members.removeValue(forKey: "fruit") as? String {
            guard case .outOfStock(_, let missing) = answer.outcome else { throw Unexpected() }
            #expect(missing.first?.fruit == first)
        }
        var found = Self.members(of: answer.outcome)
        found["type"] = "\(answer.type)"
        found["\(answer.command.idField)"] = answer.id
        (found["store"], found["offset"], found["message"]) = (answer.store, Int(answer.offset), answer.message)
        (found["from"], found["revision"]) = (answer.from, answer.revision)
        if answer.isDuplicate { found["duplicate"] = true }
        #expect(NSDictionary(dictionary: found) == NSDictionary(dictionary: members))
    }

    /// Tests, schemas and the fuzzer read the samples, but the compiler asks for none of a new kind or type.
    @Test func everyKindAndTypeHasASample() throws {
        let answers = try GoldenAnswers.all.map(decode)
        #expect(Set(answers.map(\.type)) == Set(AnswerType.allCases))
        var random = RandomCommands(seed: 1)
        let kinds = [
            answers.map(\.command), GoldenCommands.outgoing.map(\.kind), (0..<100).map { _ in random.next(of: .standard).kind },
        ]
        for kinds in kinds { #expect(Set(kinds) == Set(CommandKind.allCases)) }
    }

    @Test func answersOfEachTypeAreCounted() {
        var counts = AnswerCounts()
        for type in AnswerType.allCases {
            for _ in 0...type.rawValue { counts.add(type) }
            #expect(counts[type] == type.rawValue + 1)
        }
        #expect(counts.total == (1...AnswerType.allCases.count).reduce(0, +))
    }

    private struct Unexpected: Error {}

    /// The parts of an outcome by their labels. What was ordered has none.
    private static func members(of outcome: Answer.Outcome) -> [String: Any] {
        let labelled = Mirror(reflecting: outcome).children.first.map { Array(Mirror(reflecting: $0.value).children) } ?? []
        return labelled.reduce(into: [:]) { members, part in
            switch part.value {
            // Before all others: any empty array passes for one of amounts.
            case let amounts as [FruitAmount]:
                members[part.label ?? ""] = Dictionary(uniqueKeysWithValues: amounts.map { ($0.fruit, $0.amount) })
            case let items as [OrderedJuice] where items.count == 1: members.merge(parts(of: items[0])) { $1 }
            case let items as [OrderedJuice]: members["items"] = items.map(parts)
            case let missing as [MissingFruit]: members[part.label ?? ""] = missing.map(parts)
            default: members[part.label ?? ""] = part.value
            }
        }
    }

    private static func parts(of value: Any) -> [String: Any] {
        Dictionary(uniqueKeysWithValues: Mirror(reflecting: value).children.map { ($0.label ?? "", $0.value) })
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
        #expect(try decode(GoldenAnswers.basketMade[.english]).from == nil)
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

    /// Each member that is missing, or of another type, is named.
    @Test(arguments: GoldenAnswers.bilingual)
    func aMalformedAnswerIsRefused(golden: GoldenAnswer) throws {
        // Without items, it is about one juice. The first fruit that is missing is read from the list of them.
        let mayLack: Set = ["duplicate", "from", "cancel", "revision", "items"]
        for (path, json) in try damages(golden[.english], mayLack: mayLack) where path != "fruit" {
            let error = #expect(throws: MalformedMessage.self, "\(json)") { try decode(json) }
            #expect(error?.path == path || error?.path == "" && path.hasSuffix("Id"))
        }
    }

    @Test(
        arguments: [
            (GoldenAnswers.basketMade, #""type":""#, #""type":"x"#, "type: no answer has this type"),
            (GoldenAnswers.outOfStock, #""missing":["#, #""missing":[],"x":["#, "missing: must not be empty"),
            (GoldenAnswers.basketMade, #""items":["#, #""items":[],"items":["#, "items: given twice"),
            (GoldenAnswers.basketMade, #""items":["#, #""items":[],"x":["#, "items: must be 1 to 20"),
        ])
    func aWrongMemberIsRefused(golden: GoldenAnswer, member: String, wrong: String, problem: String) {
        let error = #expect(throws: MalformedMessage.self) { try decode(golden[.english].replacing(member, with: wrong)) }
        #expect(error?.description == problem)
    }

    /// Readers calculate with these numbers, so they must be within bounds.
    @Test(arguments: GoldenAnswers.bounds)
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
        let golden = GoldenAnswers.basketMade[.english]
        let item = try #require(golden.firstMatch(of: /{"juice":[^}]*},/)).0
        func read(items count: Int) throws -> Answer {
            try decode(golden.replacing(item, with: String(repeating: String(item), count: count - 1)))
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
            case .change(let revision): changed(revision)
            case .duplicate(let revision): changed(revision).replacing(#","store""#, with: #","duplicate":true,"store""#)
            case .unchanged: GoldenAnswers.rejectedOrder[.english]
            }
        return try Answer(json: json)
    }

    private func changed(_ revision: Int) -> String {
        GoldenAnswers.basketMade[.english].replacing(#""revision":19"#, with: #""revision":\#(revision)"#)
    }
}
