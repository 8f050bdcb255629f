import JuiceMessages
import Testing

@testable import JuiceRestockBot

/// The ids of refills, and the rules for them.
struct RefillTests {
    @Test(
        arguments: [
            ("bot/12-0", 0), ("bot/12-9223372036854775807", .max), ("bot/12-00", nil), ("bot/12-+1", nil),
            ("bot/12--1", nil), ("bot/12", nil), ("bot/12-", nil), ("bot/12-1-2", nil), ("bot/1-2", nil),
            ("bott/12-1", nil),
            ("", nil), ("bot/12-\u{301}1", nil),
        ] as [(String, Int64?)]
    )
    func readsItsOwnOnly(text: String, offset: Int64?) {
        let ids = RefillIDs(group: "bot", partition: 12)
        #expect(ids.offset(in: text) == offset)
        if let offset { #expect(ids[offset] == text) }
    }

    @Test func theLongestFits() {
        let ids = RefillIDs(group: String(repeating: "g", count: RefillIDs.maximumGroupLength), partition: .max)
        #expect(ids[.max].utf8.count == CommandKind.maximumIDLength)
    }

    @Test(arguments: [(-1, 5), (5, 5), (6, 5), (5, 1_000_000_001)])
    func refusesRulesThatCannotBe(low: Int, target: Int) {
        #expect(RefillRules(low: low, target: target) == nil)
    }
}
