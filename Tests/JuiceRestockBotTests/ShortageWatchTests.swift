import Testing

@testable import JuiceMessages
@testable import JuiceRestockBot

/// The bot's decisions, event by event.
struct ShortageWatchTests {
    /// One thing that happens, or is asked.
    enum Step {
        case stock(String, [String: Int])
        case gone(String)
        case sent(String, String)
        case made(String, [String: Int], duplicate: Bool = false)
        case short(String, fruit: String, needed: Int, inStock: Int)
        case restocked(String, String, [String: Int], duplicate: Bool = false)
        case rejected(String, String)
        /// What is sent, as `store fruit+amount …`, in this order.
        case sends([String])
        case safe(Int64)
    }

    struct Story: CustomTestStringConvertible {
        let testDescription: String
        var rules = RefillRules(low: 5, target: 30)
        let steps: [Step]

        init(_ title: String, rules: RefillRules? = RefillRules(low: 5, target: 30), _ steps: [Step]) {
            testDescription = title
            self.rules = rules
            self.steps = steps
        }
    }

    /// Stands for the id of the refill that was sent last.
    static let last = "last"

    static let stories: [Story] = [
        Story(
            "a low level is refilled once, until it is answered",
            [
                .stock("a", ["kiwi": 5, "mango": 6]), .sends(["a kiwi+25"]), .sends([]),
                .stock("a", ["kiwi": 2]), .sends([]),
                .restocked("a", last, ["kiwi": 27]), .sends([]),
            ]
        ),
        Story(
            "one refill for all that is short, in the order in which it was told",
            [.made("a", ["mango": 0]), .made("a", ["kiwi": 3]), .sends(["a mango+30 kiwi+27"])]
        ),
        Story(
            "a level that is low again after the answer is a new shortage",
            [
                .made("a", ["kiwi": 5]), .sends(["a kiwi+25"]),
                .made("a", ["kiwi": 2]), .restocked("a", last, ["kiwi": 27]), .sends([]),
                .made("a", ["kiwi": 4]), .sends(["a kiwi+26"]),
            ]
        ),
        Story(
            "what became short while a refill was on its way is refilled after it",
            [
                .made("a", ["kiwi": 1]), .sends(["a kiwi+29"]),
                .made("a", ["mango": 1]), .sends([]),
                .restocked("a", last, ["kiwi": 30]), .sends(["a mango+29"]),
            ]
        ),
        Story(
            "somebody else's restock ends a shortage",
            [.made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]), .sends([])]
        ),
        Story(
            "a restock that is not this group's is no refill",
            [
                .sent("other/7-1", "a"), .sent("bot/7-01", "a"), .sent("bot/7-1-1", "a"),
                .made("a", ["kiwi": 1]), .sends(["a kiwi+29"]),
            ]
        ),
        Story(
            "a refill that was on its way at the start is waited for",
            [
                .stock("a", ["kiwi": 1]), .sent("bot/7-99", "a"), .sends([]),
                .restocked("a", "bot/7-99", ["kiwi": 2]), .sends(["a kiwi+28"]),
            ]
        ),
        Story(
            "an answer given again settles a refill and says nothing of the stock",
            [
                .stock("a", ["kiwi": 1]), .sent("bot/7-99", "a"),
                .restocked("a", "bot/7-99", ["kiwi": 30], duplicate: true), .sends(["a kiwi+29"]),
                .made("b", ["kiwi": 0], duplicate: true), .sends([]),
            ]
        ),
        Story(
            "an order finds too little above low: refilled to the target",
            [.short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a strawberry+20"])]
        ),
        Story(
            "a successor reads again of an order, and then of the refill that another bot sent for it",
            [
                .short("a", fruit: "strawberry", needed: 20, inStock: 14),
                .restocked("a", "bot/7-99", ["strawberry": 14]), .sends([]), .safe(3),
                .short("a", fruit: "strawberry", needed: 20, inStock: 14), .sends(["a strawberry+16"]),
            ]
        ),
        Story(
            "an order for more than the target: refilled to the target and no further",
            [
                .short("a", fruit: "strawberry", needed: 80, inStock: 10), .sends(["a strawberry+20"]),
                .restocked("a", last, ["strawberry": 30]),
                .short("a", fruit: "strawberry", needed: 80, inStock: 30), .sends([]),
            ]
        ),
        Story(
            "an order that was short gets one refill, even if others take of it",
            [
                .short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a strawberry+20"]),
                .short("a", fruit: "strawberry", needed: 16, inStock: 7),
                .restocked("a", last, ["strawberry": 14]), .sends([]), .safe(4),
                .short("a", fruit: "strawberry", needed: 16, inStock: 14), .sends(["a strawberry+16"]),
            ]
        ),
        Story(
            "an order that was short is forgotten once there is enough",
            [
                .short("a", fruit: "strawberry", needed: 16, inStock: 10),
                .restocked("a", "manual", ["strawberry": 16]), .sends([]), .safe(3),
            ]
        ),
        Story(
            "a rejected refill of one fruit is not sent again before its level changes",
            [
                .made("a", ["kiwi": 1]), .sends(["a kiwi+29"]),
                .rejected("a", last), .sends([]),
                .made("a", ["mango": 9]), .sends([]), .made("a", ["kiwi": 1]), .sends([]),
                .short("a", fruit: "kiwi", needed: 3, inStock: 1), .sends([]), .safe(6),
                .made("a", ["kiwi": 0]), .sends(["a kiwi+30"]),
            ]
        ),
        Story(
            "a rejected refill of several fruits is sent fruit by fruit",
            [
                .stock("a", ["ghost": 0, "kiwi": 1]), .sends(["a ghost+30 kiwi+29"]),
                .rejected("a", last), .sends(["a ghost+30"]),
                .rejected("a", last), .sends(["a kiwi+29"]),
                .restocked("a", last, ["kiwi": 30]), .sends([]),
            ]
        ),
        Story(
            "a successor reads from the order for which nothing was sent yet",
            [
                .sent("bot/7-99", "a"), .made("b", ["kiwi": 9]),
                .short("a", fruit: "kiwi", needed: 8, inStock: 7), .made("b", ["kiwi": 8]), .sends([]),
                .safe(2), .restocked("a", "bot/7-99", ["mango": 30]), .safe(2), .sends(["a kiwi+23"]),
                .safe(5),
            ]
        ),
        Story(
            "stores and fruits that are not watched are left alone",
            rules: RefillRules(low: 5, target: 30, stores: ["a"], fruits: ["kiwi"]),
            [
                .made("b", ["kiwi": 0]), .made("a", ["mango": 0]),
                .short("a", fruit: "mango", needed: 9, inStock: 0), .sends([]),
                .made("a", ["kiwi": 0]), .sends(["a kiwi+30"]),
            ]
        ),
        Story(
            "a store whose record was deleted is short of nothing",
            [.stock("a", ["kiwi": 0]), .gone("a"), .sends([])]
        ),
        Story(
            "stores that only look the same are two",
            [
                .stock("\u{E9}", ["kiwi": 0]), .stock("e\u{301}", ["kiwi": 1]),
                .sends(["e\u{301} kiwi+29", "\u{E9} kiwi+30"]),
            ]
        ),
        Story(
            "low may be nothing",
            rules: RefillRules(low: 0, target: 1),
            [.made("a", ["kiwi": 0]), .sends(["a kiwi+1"])]
        ),
    ]

    @Test(arguments: stories) func decides(story: Story) throws {
        var watch = ShortageWatch(rules: try #require(story.rules), group: "bot", partition: 7)
        // Answers count from offset 1, so that the first decision has an id of its own.
        var position: Int64 = 1
        var lastID = ""
        for step in story.steps {
            switch step {
            case .stock(let store, let levels):
                watch.note(stock: StockRecord(store: store, revision: 1, stock: amounts(levels)))
                position += 1
            case .gone(let store): watch.noteGone(store: store)
            case .sent(let id, let store): watch.note(sent: id, to: store)
            case .sends(let expected):
                let refills = watch.takeRefills(at: position)
                #expect(refills.map(text) == expected)
                for refill in refills { #expect(refill.id.text == "bot/7-\(position)") }
                lastID = refills.last?.id.text ?? lastID
            case .safe(let expected): #expect(watch.safePosition(at: position) == expected)
            default:
                _ = watch.note(try #require(answer(step, lastID: lastID)), at: position)
                position += 1
            }
        }
    }

    private func text(_ refill: Refill) -> String {
        ([refill.store] + refill.entries.map { "\($0.fruit)+\($0.amount)" }).joined(separator: " ")
    }

    private func amounts(_ levels: [String: Int]) -> [FruitAmount] {
        levels.sorted { $0.key < $1.key }.map { FruitAmount(fruit: $0.key, amount: $0.value) }
    }

    private func answer(_ step: Step, lastID: String = "") -> Answer? {
        switch step {
        case .made(let store, let left, let isDuplicate):
            Answer(
                command: .order,
                id: "o",
                store: store,
                outcome: .juiceMade(juice: "j", quantity: 1, used: [], left: amounts(left)),
                isDuplicate: isDuplicate,
                message: ""
            )
        case .short(let store, let fruit, let needed, let inStock):
            Answer(
                command: .order,
                id: "o",
                store: store,
                outcome: .outOfStock(
                    juice: "j",
                    quantity: 1,
                    missing: [MissingFruit(fruit: fruit, needed: needed, inStock: inStock)]
                ),
                isDuplicate: false,
                message: ""
            )
        case .restocked(let store, let id, let left, let isDuplicate):
            Answer(
                command: .restock,
                id: id == Self.last ? lastID : id,
                store: store,
                outcome: .restocked(left: amounts(left)),
                isDuplicate: isDuplicate,
                message: ""
            )
        case .rejected(let store, let id):
            Answer(
                command: .restock,
                id: id == Self.last ? lastID : id,
                store: store,
                outcome: .rejected(reason: "unknownFruit"),
                isDuplicate: false,
                message: "no fruit is called so"
            )
        default: nil
        }
    }

    @Test func itTellsWhatBecameOfARefill() throws {
        var watch = ShortageWatch(
            rules: try #require(RefillRules(low: 5, target: 30)),
            group: "bot",
            partition: 7
        )
        let short = try #require(answer(.short("a", fruit: "kiwi", needed: 31, inStock: 1)))
        #expect(watch.note(short, at: 0) == [.beyondTarget(fruit: "kiwi", needed: 31)])
        let first = try #require(watch.takeRefills(at: 1).first)
        #expect(watch.underway == 1)
        let rejected = try #require(answer(.rejected("a", first.id.text)))
        #expect(
            watch.note(rejected, at: 1) == [
                .rejected(
                    store: "a",
                    id: first.id,
                    reason: "unknownFruit",
                    message: "no fruit is called so"
                )
            ]
        )
        #expect(watch.note(rejected, at: 2).isEmpty)
        #expect(watch.underway == 0)
    }

    /// However many stores there are, those that are short of nothing take no memory.
    @Test func itForgetsWhatIsWell() throws {
        var watch = ShortageWatch(
            rules: try #require(RefillRules(low: 5, target: 30)),
            group: "bot",
            partition: 7
        )
        watch.note(stock: StockRecord(store: "a", revision: 1, stock: amounts(["kiwi": 10, "mango": 6])))
        #expect(watch.isIdle)
        watch.note(stock: StockRecord(store: "a", revision: 2, stock: amounts(["kiwi": 5])))
        #expect(!watch.isIdle)
        let refill = try #require(watch.takeRefills(at: 1).first)
        _ = watch.note(try #require(answer(.restocked("a", refill.id.text, ["kiwi": 30]))), at: 1)
        #expect(watch.isIdle)
    }

    @Test func aLimitLeavesTheRestForLater() throws {
        var watch = ShortageWatch(
            rules: try #require(RefillRules(low: 5, target: 30)),
            group: "bot",
            partition: 7
        )
        for store in ["c", "a", "b"] {
            watch.note(stock: StockRecord(store: store, revision: 1, stock: amounts(["kiwi": 0])))
        }
        #expect(watch.takeRefills(at: 1, limit: 2).map(\.store) == ["a", "b"])
        #expect(watch.takeRefills(at: 1, limit: 2).map(\.store) == ["c"])
        #expect(watch.takeRefills(at: 1, limit: 2).isEmpty)
    }
}

struct RefillTests {
    @Test(arguments: [
        ("bot/0-0", true), ("bot/12-9223372036854775807", true), ("bot/0-00", false), ("bot/+0-0", false),
        ("bot/0--1", false), ("bot/0", false), ("bot/0-1-2", false), ("bot/", false), ("bott/0-1", false),
        ("", false),
    ])
    func readsItsOwnIDsOnly(text: String, isOne: Bool) {
        let id = RefillID(text, group: "bot")
        #expect((id != nil) == isOne)
        if let id { #expect(id.text == text) }
    }

    @Test func theLongestIDFits() {
        let group = String(repeating: "g", count: RefillID.maximumGroupLength)
        let id = RefillID(group: group, partition: .max, position: .max)
        #expect(id.text.utf8.count == CommandKind.maximumIDLength)
    }

    @Test(arguments: [(-1, 5), (5, 5), (6, 5), (5, 1_000_000_001)])
    func refusesRulesThatCannotBe(low: Int, target: Int) {
        #expect(RefillRules(low: low, target: target) == nil)
    }
}
