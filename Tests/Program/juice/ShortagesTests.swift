import JuiceDomain
import Testing

@testable import JuiceMessages
@testable import juice

/// The bot's decisions, answer by answer.
struct ShortagesTests {
    /// An answer or a question. The answers of a story have the offsets 0, 1, 2, ….
    enum Step {
        case made(String, [String: Int], duplicate: Bool = false)
        case short(String, fruit: String, needed: Int, inStock: Int)
        case restocked(String, String, [String: Int], duplicate: Bool = false)
        case rejected(String, String)
        /// The first answer of store `a` is lost.
        case lost(String, was: String)
        /// The refills to send, as `store@offset fruit+amount …`, in order.
        case sends([String])
        /// Where a successor must begin.
        case safe(Int64)
        /// Whether nothing is short, and every refill is answered.
        case settled(Bool)
        /// The rules of the story, at its beginning.
        case rules(RestockBotPlan)
    }

    @Test(arguments: stories) func decides(title: String, steps: [Step]) throws {
        var plan = RestockBotPlan(group: "bot")
        if case .rules(let others) = steps.first { plan = others }
        var shortages = Self.shortages(plan, log: 0..<0)
        var answers: [Answer] = []
        var underway: Set<String> = []
        for step in steps {
            switch step {
            case .sends(let expected):
                let refills = shortages.startRefills(atMost: .max)
                #expect(refills.map(Self.text) == expected)
                underway.formUnion(refills.map(\.id))
                // A bot that dies leaves no trace of what it sent. Successors send the same, wherever they begin.
                for start in 0...shortages.safePosition {
                    var successor = Self.shortages(plan, log: start..<Int64(answers.count))
                    for (offset, answer) in answers.enumerated().dropFirst(Int(start)) {
                        #expect(successor.startRefills(atMost: .max).isEmpty, "it has not read to the end")
                        Self.apply(answer, at: offset, to: &successor)
                    }
                    #expect(Set(successor.startRefills(atMost: .max).map(\.id)) == underway, "from \(start)")
                }
            case .safe(let expected): #expect(shortages.safePosition == expected)
            case .settled(let expected): #expect((shortages.safePosition == answers.count) == expected)
            case .rules: break
            default:
                let answer = try #require(Self.answer(step))
                Self.apply(answer, at: answers.count, to: &shortages)
                answers.append(answer)
                underway.remove(answer.id)
            }
        }
    }

    private static func shortages(_ plan: RestockBotPlan, log: Range<Int64>) -> Shortages {
        Shortages(plan, partition: 7, log: log, committed: nil)
    }

    /// The answers are written a second apart.
    private static func apply(_ answer: Answer, at offset: Int, to shortages: inout Shortages) {
        shortages.apply(answer, at: Int64(offset), time: Int64(offset) * 1000)
        shortages.advance(to: Int64(offset) + 1)
    }

    private static func text(_ refill: Refill) -> String {
        // The record carries the time of the answer that the id names.
        #expect(refill.id == "bot/7-\(refill.time / 1000)")
        return "\(refill.store)@\(refill.time / 1000)\(refill.amounts.map { " \($0.fruit)+\($0.amount)" }.joined())"
    }

    private static func amounts(_ levels: [String: Int]) -> [FruitAmount] {
        levels.sorted { $0.key < $1.key }.map { FruitAmount(fruit: $0.key, amount: $0.value) }
    }

    private static func answer(_ step: Step) -> Answer? {
        let juices = OrderedJuices.single(OrderedJuice(juice: "j", quantity: 1))
        switch step {
        case .made(let store, let left, let isDuplicate):
            let outcome = Answer.Outcome.juiceMade(juices, used: [], left: amounts(left))
            return Answer(.order, "o", store, outcome, isDuplicate: isDuplicate)
        case .short(let store, let fruit, let needed, let inStock):
            let missing = MissingFruit(fruit: fruit, needed: needed, inStock: inStock)
            return Answer(.order, "o", store, .outOfStock(juices, missing: [missing]))
        case .restocked(let store, let id, let left, let isDuplicate):
            return Answer(.restock, id, store, .restocked(left: amounts(left)), isDuplicate: isDuplicate)
        case .rejected(let store, let id): return Answer(.restock, id, store, .rejected(reason: "unknownFruit"))
        case .lost(let id, let was):
            return Answer(.restock, id, "a", .answerLost(was: was), isDuplicate: true)
        case .sends, .safe, .settled, .rules: return nil
        }
    }

    @Test(arguments: [(nil, 3), (2, 3), (3, 3), (7, 7), (9, 9), (10, 3)] as [(Int64?, Int64)])
    func beginsInTheLog(committed: Int64?, position: Int64) {
        #expect(Shortages(RestockBotPlan(), partition: 0, log: 3..<9, committed: committed).position == position)
    }

    @Test func itSendsAFewAtATime() {
        var shortages = Self.shortages(RestockBotPlan(group: "bot"), log: 0..<0)
        for offset in 0..<5 {
            let answer = Self.answer(.made("\(offset)", ["kiwi": 0]))
            if let answer { Self.apply(answer, at: offset, to: &shortages) }
        }
        #expect(shortages.startRefills(atMost: 2).map(\.id) == ["bot/7-0", "bot/7-1"])
        #expect(shortages.startRefills(atMost: 9).map(\.id) == ["bot/7-2", "bot/7-3", "bot/7-4"])
    }

    /// Stores without a shortage hold no position back and take no memory.
    @Test func itForgetsStoresWithoutShortages() throws {
        var shortages = Self.shortages(RestockBotPlan(), log: 0..<0)
        for offset in 0..<100 {
            Self.apply(try #require(Self.answer(.made("\(offset)", ["kiwi": 6]))), at: offset, to: &shortages)
        }
        #expect(shortages.safePosition == 100)
        let refills = Mirror(reflecting: shortages).children.first { $0.label == "shortages" }
        #expect(refills.map { Mirror(reflecting: $0.value).children.isEmpty } == true)
    }

    static let stories: KeyValuePairs<String, [Step]> = [
        "a low level is refilled once, until it is answered": [
            .made("a", ["kiwi": 5, "mango": 6]), .settled(false), .sends(["a@0 kiwi+25"]), .sends([]),
            .made("a", ["kiwi": 2]), .sends([]), .settled(false), .safe(0),
            .restocked("a", "bot/7-0", ["kiwi": 27]), .sends([]), .settled(true), .safe(3),
        ],
        "one refill for all that an answer shows": [
            .made("a", ["mango": 0, "kiwi": 3]), .made("a", ["mango": 0, "banana": 5]),
            .sends(["a@0 kiwi+27 mango+30", "a@1 banana+25"]),
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
        "fruits do not wait for each other": [
            .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]), .made("a", ["mango": 1]), .sends(["a@1 mango+29"]),
            .restocked("a", "bot/7-0", ["kiwi": 30]), .safe(1), .restocked("a", "bot/7-1", ["mango": 30]), .settled(true),
        ],
        "another bot's refill may have been named after an answer that this one did not read": [
            .made("a", ["kiwi": 1, "mango": 1]), .restocked("a", "bot/7-2000", ["kiwi": 30]), .sends(["a@0 mango+29"]),
            .restocked("a", "bot/7-2000", ["mango": 30], duplicate: true), .settled(false), .safe(0),
        ],
        "another sender's restock ends a shortage": [
            .made("a", ["kiwi": 1, "mango": 1]), .restocked("a", "manual", ["kiwi": 20]), .sends(["a@0 mango+29"]),
        ],
        "unless the refill is sent": [
            .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 3]), .sends(["a@0 kiwi+27"]),
            .restocked("a", "manual", ["kiwi": 20]), .settled(false),
            .restocked("a", "bot/7-0", ["kiwi": 47]), .settled(true),
        ],
        "a restock that is not this group's, or of another partition, is no refill": [
            .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]),
            .restocked("a", "other/7-0", ["mango": 9]), .restocked("a", "bot/6-0", ["mango": 9]),
            .restocked("a", "bot/70", ["mango": 9]), .settled(false), .safe(0),
        ],
        "an answer given again says nothing of the stock": [
            .made("a", ["kiwi": 1]), .made("a", ["kiwi": 9], duplicate: true), .sends(["a@0 kiwi+29"]),
            .made("b", ["kiwi": 0], duplicate: true), .sends([]),
        ],
        "an order finds too little above low: refilled to the target": [
            .short("a", fruit: "strawberry", needed: 16, inStock: 10), .made("a", ["strawberry": 7]), .sends(["a@0 strawberry+23"]),
        ],
        "an order for more than the target: refilled to the target and no further": [
            .short("a", fruit: "strawberry", needed: 80, inStock: 10), .sends(["a@0 strawberry+20"]),
            .restocked("a", "bot/7-0", ["strawberry": 30]),
            .short("a", fruit: "strawberry", needed: 80, inStock: 30), .sends([]), .settled(true),
        ],
        "an order that was short is forgotten once others restocked": [
            .short("a", fruit: "strawberry", needed: 16, inStock: 10),
            .restocked("a", "manual", ["strawberry": 16]), .sends([]), .settled(true),
        ],
        "a rejected refill is not sent again before an order shows the shortage again": [
            .made("a", ["ghost": 0, "kiwi": 1]), .sends(["a@0 ghost+30 kiwi+29"]),
            .rejected("a", "bot/7-0"), .sends([]), .settled(true), .safe(2),
            .short("a", fruit: "kiwi", needed: 3, inStock: 1), .sends(["a@2 kiwi+29"]), .safe(2),
        ],
        "a refill whose answer is lost counts as answered": [
            .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]), .lost("bot/7-9", was: "restocked"), .lost("other", was: "notMade"),
            .settled(false), .lost("bot/7-0", was: "restocked"), .sends([]), .settled(true), .safe(4),
        ],
        "a successor reads from the oldest shortage that is not refilled and answered": [
            .made("b", ["kiwi": 9]), .short("a", fruit: "kiwi", needed: 8, inStock: 7), .safe(1),
            .made("b", ["kiwi": 4]), .safe(1), .sends(["a@1 kiwi+23", "b@2 kiwi+26"]),
            .restocked("a", "bot/7-1", ["kiwi": 30]), .safe(2), .sends([]),
            .restocked("b", "bot/7-2", ["kiwi": 30]), .safe(5),
        ],
        "stores that are not watched are left alone": [
            .rules(RestockBotPlan(stores: [Name("a")], group: "bot")),
            .made("b", ["kiwi": 0]), .sends([]), .safe(1), .made("a", ["kiwi": 0]), .sends(["a@1 kiwi+30"]),
        ],
        "stores that only look the same are two": [
            .made("\u{E9}", ["kiwi": 0]), .made("e\u{301}", ["kiwi": 1]),
            .sends(["\u{E9}@0 kiwi+30", "e\u{301}@1 kiwi+29"]),
        ],
        "low may be nothing": [
            .rules(RestockBotPlan(low: 0, target: 1, group: "bot")),
            .made("a", ["kiwi": 0]), .sends(["a@0 kiwi+1"]),
        ],
    ]
}

extension Answer {
    /// An answer as the bot reads it: offset, message and revision mean nothing to it.
    init(_ command: CommandKind, _ id: String, _ store: String, _ outcome: Outcome, isDuplicate: Bool = false) {
        self.init(
            command: command, id: id, store: store, offset: 0, from: nil, outcome: outcome, isDuplicate: isDuplicate,
            message: "m", revision: nil)
    }
}
