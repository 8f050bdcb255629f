import JuiceMessages
import Testing

@testable import JuiceRestockBot

/// The ids of refills, and the rules for them.
struct RefillTests {
    @Test func theLongestIDFits() {
        let group = String(repeating: "g", count: Refill.maximumGroupLength)
        #expect("\(group)/\(Int32.max)-\(Int64.max)".utf8.count == CommandKind.maximumIDLength)
    }

    @Test(arguments: [(-1, 5), (5, 5), (6, 5), (5, 1_000_000_001)])
    func refusesRulesThatCannotBe(low: Int, target: Int) {
        #expect(RefillRules(low: low, target: target) == nil)
    }
}
