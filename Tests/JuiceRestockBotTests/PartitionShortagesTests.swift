import JuiceDomain
import Testing

@testable import JuiceMessages
@testable import JuiceRestockBot

/// The bot's decisions, answer by answer.
struct PartitionShortagesTests {
    /// An answer or a question. The answers of a story have the offsets 0, 1, 2, ….
    enum Step {
        case made(String, [String: Int], duplicate: Bool = false)
        case short(String, fruit: String, needed: Int, inStock: Int)
        case restocked(String, String, [String: Int], duplicate: Bool = false)
        case rejected(String, String)
        /// The refills to send, as `store@offset fruit+amount …`, in order.
        case sends([String])
        /// Where a successor must begin.
        case safe(Int64)
        case settled(Bool)
        /// The rules of the story, at its beginning.
        case rules(RefillRules?)
    }

    @Test(arguments: stories) func decides(title: String, steps: [Step]) throws {
        var rules = try #require(RefillRules(low: 5, target: 30))
        if case .rules(let others) = steps.first { rules = try #require(others) }
        var shortages = Self.shortages(rules)
        var answers: [Answer] = []
        for step in steps {
            switch step {
            case .sends(let expected):
                #expect(shortages.startRefills().map(Self.text) == expected)
                Self.expectSameOfSuccessors(rules, answers, upTo: shortages.safePosition)
            case .safe(let expected): #expect(shortages.safePosition == expected)
            case .settled(let expected): #expect((shortages.unsettled == 0) == expected)
            case .rules: break
            default:
                let answer = try #require(Self.answer(step))
                _ = shortages.apply(answer, at: Self.point(answers.count))
                answers.append(answer)
                shortages.advance(to: Int64(answers.count))
            }
        }
    }

    private static func shortages(_ rules: RefillRules, from position: Int64 = 0) -> PartitionShortages {
        PartitionShortages(rules: rules, group: "bot", partition: 7, position: position)
    }

    /// The answers are written a second apart.
    private static func point(_ offset: Int) -> AnswerPoint { (Int64(offset), Int64(offset) * 1000) }

    /// A bot that dies leaves no trace of what it sent. Successors decide the same, wherever they begin.
    private static func expectSameOfSuccessors(_ rules: RefillRules, _ answers: [Answer], upTo safe: Int64) {
        let decisions = (0...Int(safe)).map { start in
            var successor = shortages(rules, from: Int64(start))
            for (offset, answer) in answers.enumerated().dropFirst(start) { _ = successor.apply(answer, at: point(offset)) }
            return successor.startRefills().map(text)
        }
        #expect(Set(decisions).count == 1, "\(decisions)")
    }

    private static func text(_ refill: Refill) -> String {
        let fruits = refill.entries.map { " \($0.fruit)+\($0.added)" }.joined()
        // The record carries the time of the answer that it is named after.
        return "\(refill.store)@\(refill.time / 1000)\(fruits)"
    }

    private static func amounts(_ levels: [String: Int]) -> [FruitAmount] {
        levels.sorted { $0.key < $1.key }.map { FruitAmount(fruit: $0.key, amount: $0.value) }
    }

    private static func answer(_ step: Step) -> Answer? {
        func answer(
            _ command: CommandKind, _ id: String, _ store: String, _ outcome: Answer.Outcome, isDuplicate: Bool = false
        ) -> Answer {
            let revision =
                switch outcome {
                case .outOfStock, .rejected: Int?.none
                default: 1
                }
            return Answer(
                command: command, id: id, store: store, offset: 0, from: nil, outcome: outcome, isDuplicate: isDuplicate,
                message: "m", revision: revision)
        }
        let juices = OrderedJuices.single(OrderedJuice(juice: "j", quantity: 1))
        switch step {
        case .made(let store, let left, let isDuplicate):
            let outcome = Answer.Outcome.juiceMade(juices, used: [], left: amounts(left))
            return answer(.order, "o", store, outcome, isDuplicate: isDuplicate)
        case .short(let store, let fruit, let needed, let inStock):
            let missing = MissingFruit(fruit: fruit, needed: needed, inStock: inStock)
            return answer(.order, "o", store, .outOfStock(juices, missing: [missing]))
        case .restocked(let store, let id, let left, let isDuplicate):
            return answer(.restock, id, store, .restocked(left: amounts(left)), isDuplicate: isDuplicate)
        case .rejected(let store, let id): return answer(.restock, id, store, .rejected(reason: "unknownFruit"))
        case .sends, .safe, .settled, .rules: return nil
        }
    }

    @Test func itReportsTheOutcomeOfARefill() throws {
        var shortages = Self.shortages(try #require(RefillRules(low: 5, target: 30)))
        func events(_ step: Step, _ offset: Int) throws -> [String] {
            shortages.apply(try #require(Self.answer(step)), at: Self.point(offset)).map { event in
                if case .rejected(let answer) = event { "rejected \(answer.id)" } else { "\(event)" }
            }
        }
        #expect(try events(.short("a", fruit: "kiwi", needed: 31, inStock: 1), 0) == [])
        let refill = try #require(shortages.startRefills().first)
        #expect(refill.id == "bot/7-0")
        #expect(refill.partition == 7)
        #expect(String(decoding: refill.value, as: UTF8.self) == #"{"restockId":"bot/7-0","add":{"kiwi":29}}"#)
        #expect(shortages.underway == 1)
        #expect(try events(.rejected("a", "bot/7-0"), 1) == ["answered", "rejected bot/7-0"])
        #expect(shortages.underway == 0)
    }

    /// Otherwise it would wait for ever. If the refill was applied, the next orders show the levels.
    @Test(arguments: [("restocked", 0), ("notMade", 1)]) func aRefillWhoseAnswerIsLostCountsAsAnswered(
        was: String, refills: Int
    ) throws {
        var shortages = Self.shortages(try #require(RefillRules(low: 5, target: 30)))
        func apply(_ id: String, _ offset: Int) -> [BotEvent] {
            let answer = Answer(
                command: .restock, id: id, store: "a", offset: 0, from: nil, outcome: .answerLost(was: was), isDuplicate: true,
                message: "m", revision: nil)
            return shortages.apply(answer, at: Self.point(offset))
        }
        _ = shortages.apply(try #require(Self.answer(.short("a", fruit: "kiwi", needed: 10, inStock: 1))), at: Self.point(0))
        #expect(shortages.startRefills().map(\.id) == ["bot/7-0"])
        #expect(apply("bot/7-9", 1).isEmpty && apply("somebody's", 2).isEmpty)
        #expect(shortages.underway == 1)
        #expect(apply("bot/7-0", 3).count == 1)
        #expect(shortages.underway == 0)
        let next = was == "restocked" ? [] : shortages.startRefills().map(\.id)
        #expect(next.count <= refills)
        // A second copy of the same says nothing new.
        #expect(apply("bot/7-0", 4).isEmpty)
    }

    /// Stores without a shortage hold no position back and take no memory.
    @Test func itForgetsStoresWithoutShortages() throws {
        var shortages = Self.shortages(try #require(RefillRules(low: 5, target: 30)))
        for offset in 0..<100 {
            _ = shortages.apply(try #require(Self.answer(.made("\(offset)", ["kiwi": 6]))), at: Self.point(offset))
        }
        shortages.advance(to: 100)
        #expect(shortages.safePosition == 100)
        let stores = Mirror(reflecting: shortages).children.first { $0.label == "stores" }
        #expect(stores.map { Mirror(reflecting: $0.value).children.isEmpty } == true)
    }

    static let stories: KeyValuePairs<String, [Step]> = [
        "a low level is refilled once, until it is answered": [
            .made("a", ["kiwi": 5, "mango": 6]), .settled(false), .sends(["a@0 kiwi+25"]), .sends([]),
            .made("a", ["kiwi": 2]), .sends([]), .settled(false), .safe(0),
            .restocked("a", "bot/7-0", ["kiwi": 27]), .sends([]), .settled(true), .safe(3),
        ],
        "one refill for all that is short, in the order in which it was shown, named after the first": [
            .made("a", ["mango": 0]), .made("a", ["kiwi": 3]), .sends(["a@0 mango+30 kiwi+27"]),
        ],
        "stores are refilled in the order in which they ran short": [
            .made("b", ["kiwi": 0]), .made("a", ["kiwi": 1]), .sends(["b@0 kiwi+30", "a@1 kiwi+29"]),
        ],
        "a level that is low again after the answer is a new shortage": [
            .made("a", ["kiwi": 5]), .sends(["a@0 kiwi+25"]),
            .made("a", ["kiwi": 2]), .restocked("a", "bot/7-0", ["kiwi": 27]), .sends([]),
            .made("a", ["kiwi": 4]), .sends(["a@3 kiwi+26"]), .safe(3),
        ],
        "a refill that leaves too little shows a shortage itself": [
            .short("a", fruit: "kiwi", needed: 30, inStock: 28), .sends(["a@0 kiwi+2"]),
            .restocked("a", "bot/7-0", ["kiwi": 3]), .sends(["a@1 kiwi+27"]),
        ],
        "what became short while a refill was on its way is refilled after it, named after its answer": [
            .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]), .made("a", ["mango": 1]), .sends([]),
            .restocked("a", "bot/7-0", ["kiwi": 30]), .safe(1), .sends(["a@2 mango+29"]),
        ],
        "a copy that another bot sent first may be of fewer fruits": [
            .made("a", ["kiwi": 1]), .made("a", ["mango": 1]), .sends(["a@0 kiwi+29 mango+29"]),
            .restocked("a", "bot/7-0", ["kiwi": 30]), .sends(["a@2 mango+29"]),
            .restocked("a", "bot/7-0", ["kiwi": 30], duplicate: true), .sends([]), .settled(false),
        ],
        "somebody else's restock ends a shortage": [
            .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]), .sends([]), .settled(true),
        ],
        "a bot that had not read of the end may have sent a refill: until that is ruled out, the name is kept": [
            .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]), .safe(0),
            .made("a", ["kiwi": 4]), .sends(["a@0 kiwi+26"]),
        ],
        "a refill of any store that was sent after the end rules it out": [
            .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]),
            .made("b", ["kiwi": 1]), .sends(["b@2 kiwi+29"]), .safe(0),
            .restocked("b", "bot/7-2", ["kiwi": 30]), .safe(4),
            .made("a", ["kiwi": 4]), .sends(["a@4 kiwi+26"]),
        ],
        "a restock that is not this group's, or of another partition, is no refill": [
            .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]),
            .restocked("a", "other/7-0", ["mango": 9]), .restocked("a", "bot/6-0", ["mango": 9]),
            .restocked("a", "bot/7-0-1", ["mango": 9]), .restocked("a", "bot/7-", ["mango": 9]),
            .settled(false), .safe(0),
        ],
        "an answer given again says nothing of the stock": [
            .made("a", ["kiwi": 1]), .made("a", ["kiwi": 9], duplicate: true), .sends(["a@0 kiwi+29"]),
            .made("b", ["kiwi": 0], duplicate: true), .sends([]),
        ],
        "an order finds too little above low: refilled to the target": [
            .short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a@0 strawberry+20"]),
        ],
        "an order for more than the target: refilled to the target and no further": [
            .short("a", fruit: "strawberry", needed: 80, inStock: 10), .sends(["a@0 strawberry+20"]),
            .restocked("a", "bot/7-0", ["strawberry": 30]),
            .short("a", fruit: "strawberry", needed: 80, inStock: 30), .sends([]), .settled(true),
        ],
        "an order that was short gets one refill, even if others take of it": [
            .short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a@0 strawberry+20"]),
            .short("a", fruit: "strawberry", needed: 16, inStock: 7),
            .restocked("a", "bot/7-0", ["strawberry": 14]), .sends([]), .safe(3),
            .short("a", fruit: "strawberry", needed: 16, inStock: 14), .sends(["a@3 strawberry+16"]),
        ],
        "an order that was short is forgotten once there is enough": [
            .short("a", fruit: "strawberry", needed: 16, inStock: 10),
            .restocked("a", "manual", ["strawberry": 16]), .sends([]), .settled(true),
        ],
        "a rejected refill is not sent again before the stock changes, and then only of what is shown again": [
            .made("a", ["ghost": 0, "kiwi": 1]), .sends(["a@0 ghost+30 kiwi+29"]),
            .rejected("a", "bot/7-0"), .sends([]), .settled(true), .safe(2),
            .short("a", fruit: "kiwi", needed: 3, inStock: 1), .settled(true), .safe(2),
            .made("a", ["mango": 9]), .settled(false), .sends(["a@2 kiwi+29"]), .safe(2),
        ],
        "a successor reads from the oldest shortage that is not refilled and answered": [
            .made("b", ["kiwi": 9]), .short("a", fruit: "kiwi", needed: 8, inStock: 7), .safe(1),
            .made("b", ["kiwi": 4]), .safe(1), .sends(["a@1 kiwi+23", "b@2 kiwi+26"]),
            .restocked("a", "bot/7-1", ["kiwi": 30]), .safe(2),
            .restocked("b", "bot/7-2", ["kiwi": 30]), .safe(5),
        ],
        "stores and fruits that are not watched are left alone": [
            .rules(RefillRules(low: 5, target: 30, stores: ["a"], fruits: ["kiwi"])),
            .made("b", ["kiwi": 0]), .made("a", ["mango": 0]),
            .short("a", fruit: "mango", needed: 9, inStock: 0), .sends([]), .safe(3),
            .made("a", ["kiwi": 0]), .sends(["a@3 kiwi+30"]),
        ],
        "stores that only look the same are two": [
            .made("\u{E9}", ["kiwi": 0]), .made("e\u{301}", ["kiwi": 1]),
            .sends(["\u{E9}@0 kiwi+30", "e\u{301}@1 kiwi+29"]),
        ],
        "low may be nothing": [
            .rules(RefillRules(low: 0, target: 1)),
            .made("a", ["kiwi": 0]), .sends(["a@0 kiwi+1"]),
        ],
    ]
}
