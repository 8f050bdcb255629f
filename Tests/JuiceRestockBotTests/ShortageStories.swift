import Testing

@testable import JuiceRestockBot

/// The stories that ``ShortageWatchTests`` tells a bot.
extension ShortageWatchTests {
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
    }

    struct Story: CustomTestStringConvertible {
        let testDescription: String
        let rules: RefillRules?
        let steps: [Step]

        init(_ title: String, rules: RefillRules? = RefillRules(low: 5, target: 30), _ steps: [Step]) {
            testDescription = title
            self.rules = rules
            self.steps = steps
        }
    }

    static let stories: [Story] = [
        Story(
            "a low level is refilled once, until it is answered",
            [
                .made("a", ["kiwi": 5, "mango": 6]), .settled(false), .sends(["a@0 kiwi+25"]), .sends([]),
                .made("a", ["kiwi": 2]), .sends([]), .settled(false), .safe(0),
                .restocked("a", "bot/7-0", ["kiwi": 27]), .sends([]), .settled(true), .safe(3),
            ]
        ),
        Story(
            "one refill for all that is short, in the order in which it was shown, named after the first",
            [.made("a", ["mango": 0]), .made("a", ["kiwi": 3]), .sends(["a@0 mango+30 kiwi+27"])]),
        Story(
            "stores are refilled in the order in which they ran short",
            [.made("b", ["kiwi": 0]), .made("a", ["kiwi": 1]), .sends(["b@0 kiwi+30", "a@1 kiwi+29"])]),
        Story(
            "a level that is low again after the answer is a new shortage",
            [
                .made("a", ["kiwi": 5]), .sends(["a@0 kiwi+25"]),
                .made("a", ["kiwi": 2]), .restocked("a", "bot/7-0", ["kiwi": 27]), .sends([]),
                .made("a", ["kiwi": 4]), .sends(["a@3 kiwi+26"]), .safe(3),
            ]
        ),
        Story(
            "a refill that leaves too little shows a shortage itself",
            [
                .short("a", fruit: "kiwi", needed: 30, inStock: 28), .sends(["a@0 kiwi+2"]),
                .restocked("a", "bot/7-0", ["kiwi": 3]), .sends(["a@1 kiwi+27"]),
            ]),
        Story(
            "what became short while a refill was on its way is refilled after it, named after its answer",
            [
                .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]), .made("a", ["mango": 1]), .sends([]),
                .restocked("a", "bot/7-0", ["kiwi": 30]), .safe(1), .sends(["a@2 mango+29"]),
            ]),
        Story(
            "a copy that another bot sent first may be of fewer fruits",
            [
                .made("a", ["kiwi": 1]), .made("a", ["mango": 1]), .sends(["a@0 kiwi+29 mango+29"]),
                .restocked("a", "bot/7-0", ["kiwi": 30]), .sends(["a@2 mango+29"]),
                .restocked("a", "bot/7-0", ["kiwi": 30], duplicate: true), .sends([]), .settled(false),
            ]),
        Story(
            "somebody else's restock ends a shortage",
            [.made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]), .sends([]), .settled(true)]),
        Story(
            "a bot that had not read of the end may have sent a refill: until that is ruled out, the name is kept",
            [
                .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]), .safe(0),
                .made("a", ["kiwi": 4]), .sends(["a@0 kiwi+26"]),
            ]
        ),
        Story(
            "a refill of any store that was sent after the end rules it out",
            [
                .made("a", ["kiwi": 1]), .restocked("a", "manual", ["kiwi": 20]),
                .made("b", ["kiwi": 1]), .sends(["b@2 kiwi+29"]), .safe(0),
                .restocked("b", "bot/7-2", ["kiwi": 30]), .safe(4),
                .made("a", ["kiwi": 4]), .sends(["a@4 kiwi+26"]),
            ]
        ),
        Story(
            "a restock that is not this group's, or of another partition, is no refill",
            [
                .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]),
                .restocked("a", "other/7-0", ["mango": 9]), .restocked("a", "bot/6-0", ["mango": 9]),
                .restocked("a", "bot/7-00", ["mango": 9]), .restocked("a", "bot/7-0-1", ["mango": 9]),
                .settled(false), .safe(0),
            ]
        ),
        Story(
            "an answer given again says nothing of the stock",
            [
                .made("a", ["kiwi": 1]), .made("a", ["kiwi": 9], duplicate: true), .sends(["a@0 kiwi+29"]),
                .made("b", ["kiwi": 0], duplicate: true), .sends([]),
            ]),
        Story(
            "an order finds too little above low: refilled to the target",
            [.short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a@0 strawberry+20"])]),
        Story(
            "an order for more than the target: refilled to the target and no further",
            [
                .short("a", fruit: "strawberry", needed: 80, inStock: 10), .sends(["a@0 strawberry+20"]),
                .restocked("a", "bot/7-0", ["strawberry": 30]),
                .short("a", fruit: "strawberry", needed: 80, inStock: 30), .sends([]), .settled(true),
            ]
        ),
        Story(
            "an order that was short gets one refill, even if others take of it",
            [
                .short("a", fruit: "strawberry", needed: 16, inStock: 10), .sends(["a@0 strawberry+20"]),
                .short("a", fruit: "strawberry", needed: 16, inStock: 7),
                .restocked("a", "bot/7-0", ["strawberry": 14]), .sends([]), .safe(3),
                .short("a", fruit: "strawberry", needed: 16, inStock: 14), .sends(["a@3 strawberry+16"]),
            ]
        ),
        Story(
            "an order that was short is forgotten once there is enough",
            [
                .short("a", fruit: "strawberry", needed: 16, inStock: 10),
                .restocked("a", "manual", ["strawberry": 16]), .sends([]), .settled(true),
            ]
        ),
        Story(
            "a rejected refill of one fruit is not sent again before its level changes, and a successor sees why",
            [
                .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]), .rejected("a", "bot/7-0"), .sends([]), .settled(true), .safe(0),
                .made("a", ["mango": 9]), .sends([]), .made("a", ["kiwi": 1]), .sends([]),
                .short("a", fruit: "kiwi", needed: 3, inStock: 1), .sends([]),
                .made("a", ["kiwi": 0]), .settled(false), .sends(["a@5 kiwi+30"]), .safe(0),
            ]
        ),
        Story(
            "a rejected refill of several fruits is sent fruit by fruit, each named after the rejection before",
            [
                .made("a", ["ghost": 0, "kiwi": 1]), .sends(["a@0 ghost+30 kiwi+29"]),
                .rejected("a", "bot/7-0"), .sends(["a@1 ghost+30"]),
                .rejected("a", "bot/7-1"), .sends(["a@2 kiwi+29"]),
                .restocked("a", "bot/7-2", ["kiwi": 30]), .sends(["a@3 ghost+30"]),
                .rejected("a", "bot/7-3"), .sends([]), .settled(true),
            ]
        ),
        Story(
            "a rejection is not laid to what ran short after the refill was sent",
            [
                .made("a", ["kiwi": 1]), .sends(["a@0 kiwi+29"]),
                .restocked("a", "manual", ["kiwi": 1_000_000_000]), .made("a", ["mango": 2]),
                .rejected("a", "bot/7-0"), .sends(["a@3 mango+28"]),
            ]
        ),
        Story(
            "a successor reads from the oldest shortage that is not refilled and answered",
            [
                .made("b", ["kiwi": 9]), .short("a", fruit: "kiwi", needed: 8, inStock: 7), .safe(1),
                .made("b", ["kiwi": 4]), .safe(1), .sends(["a@1 kiwi+23", "b@2 kiwi+26"]),
                .restocked("a", "bot/7-1", ["kiwi": 30]), .safe(2),
                .restocked("b", "bot/7-2", ["kiwi": 30]), .safe(5),
            ]),
        Story(
            "stores and fruits that are not watched are left alone",
            rules: RefillRules(low: 5, target: 30, stores: ["a"], fruits: ["kiwi"]),
            [
                .made("b", ["kiwi": 0]), .made("a", ["mango": 0]),
                .short("a", fruit: "mango", needed: 9, inStock: 0), .sends([]), .safe(3),
                .made("a", ["kiwi": 0]), .sends(["a@3 kiwi+30"]),
            ]
        ),
        Story(
            "stores that only look the same are two",
            [
                .made("\u{E9}", ["kiwi": 0]), .made("e\u{301}", ["kiwi": 1]),
                .sends(["\u{E9}@0 kiwi+30", "e\u{301}@1 kiwi+29"]),
            ]
        ),
        Story(
            "low may be nothing",
            rules: RefillRules(low: 0, target: 1),
            [.made("a", ["kiwi": 0]), .sends(["a@0 kiwi+1"])]
        ),
    ]
}
