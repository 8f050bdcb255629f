import Testing

@testable import JuiceMessages
@testable import JuiceRestockBot

/// The bot's decisions, answer by answer.
struct ShortageWatchTests {
    @Test(arguments: stories) func decides(story: Story) throws {
        let rules = try #require(story.rules)
        var watch = Self.watch(rules, from: 0)
        var answers: [Answer] = []
        for step in story.steps {
            switch step {
            case .sends(let expected):
                #expect(watch.startRefills().map(Self.text) == expected)
                Self.expectSameOfSuccessors(rules, answers, upTo: watch.safePosition())
            case .safe(let expected): #expect(watch.safePosition() == expected)
            case .settled(let expected): #expect(watch.isSettled == expected)
            default:
                let answer = try #require(Self.answer(step))
                _ = watch.apply(answer, at: Self.point(answers.count))
                answers.append(answer)
                watch.advance(to: Int64(answers.count))
            }
        }
    }

    private static func watch(_ rules: RefillRules, from position: Int64) -> ShortageWatch {
        ShortageWatch(rules: rules, ids: RefillIDs(group: "bot", partition: 7), position: position)
    }

    /// The answers are written a second apart.
    private static func point(_ offset: Int) -> StoreShortages.Point { (Int64(offset), Int64(offset) * 1000) }

    /// A bot that dies leaves no trace of what it sent. Successors decide the same, wherever they begin.
    private static func expectSameOfSuccessors(_ rules: RefillRules, _ answers: [Answer], upTo safe: Int64) {
        let decisions = (0...Int(safe)).map { start in
            var successor = watch(rules, from: Int64(start))
            for (offset, answer) in answers.enumerated().dropFirst(start) { _ = successor.apply(answer, at: point(offset)) }
            return successor.startRefills().map(text)
        }
        #expect(Set(decisions).count == 1, "\(decisions)")
    }

    private static func text(_ refill: Refill) -> String {
        let fruits = refill.entries.map { " \($0.fruit)+\($0.amount)" }.joined()
        // The record carries the time of the answer that it is named after.
        return "\(refill.store)@\(refill.time / 1000)\(fruits)"
    }

    private static func amounts(_ levels: [String: Int]) -> [FruitAmount] {
        levels.sorted { $0.key < $1.key }.map { FruitAmount(fruit: $0.key, amount: $0.value) }
    }

    private static func answer(_ step: Step) -> Answer? {
        func answer(
            _ command: CommandKind,
            _ id: String,
            _ store: String,
            _ outcome: Answer.Outcome,
            isDuplicate: Bool = false
        ) -> Answer {
            Answer(
                command: command, id: id, store: store, offset: 0, from: nil, outcome: outcome, isDuplicate: isDuplicate,
                message: "m", revision: nil)
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
        case .sends, .safe, .settled: return nil
        }
    }

    @Test func itReportsTheOutcomeOfARefill() throws {
        var watch = Self.watch(try #require(RefillRules(low: 5, target: 30)), from: 0)
        func events(_ step: Step, _ offset: Int) throws -> [String] {
            watch.apply(try #require(Self.answer(step)), at: Self.point(offset)).map { event in
                switch event {
                case .beyondTarget(let fruit, let needed): "\(needed) \(fruit)"
                case .rejected(let answer): "rejected \(answer.id)"
                default: "\(event)"
                }
            }
        }
        #expect(try events(.short("a", fruit: "kiwi", needed: 31, inStock: 1), 0) == ["31 kiwi"])
        let refill = try #require(watch.startRefills().first)
        #expect(refill.id == "bot/7-0")
        #expect(refill.partition == 7)
        #expect(String(decoding: refill.value, as: UTF8.self) == #"{"restockId":"bot/7-0","add":{"kiwi":29}}"#)
        #expect(watch.underway == 1)
        #expect(try events(.rejected("a", "bot/7-0"), 1) == ["answered", "rejected bot/7-0"])
        #expect(watch.underway == 0)
    }

    /// Stores without a shortage hold no position back and take no memory.
    @Test func itForgetsStoresWithoutShortages() throws {
        var watch = Self.watch(try #require(RefillRules(low: 5, target: 30)), from: 0)
        for offset in 0..<100 {
            _ = watch.apply(try #require(Self.answer(.made("\(offset)", ["kiwi": 6]))), at: Self.point(offset))
        }
        watch.advance(to: 100)
        #expect(watch.safePosition() == 100)
        #expect(Mirror(reflecting: watch).children.contains { ($0.value as? [[UInt8]: StoreShortages])?.isEmpty ?? false })
    }
}
