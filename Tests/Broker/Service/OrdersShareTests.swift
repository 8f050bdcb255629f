import Testing

@testable import JuiceService

/// What a member without assigned orders does.
@Suite struct OrdersShareTests {
    private let start = ContinuousClock.now
    private var share = OrdersShare()

    private mutating func assigned(_ seconds: Int, isDue: Bool = true, hasOrders: Bool = false) -> OrdersShare.Action {
        share.assigned(isDue: isDue, hasOrders: hasOrders, at: start + .seconds(seconds))
    }

    @Test mutating func strangersAreNamedOnceAndNeverMakeItJoinAgain() {
        let actions = (0..<1000).map { assigned($0 * 10) }
        #expect(actions == [.warnOfOthers] + Array(repeating: .accept, count: 999))
    }

    @Test mutating func anAssignmentThatIsAsItShouldBeIsAccepted() {
        #expect(assigned(0, hasOrders: true) == .accept)
        #expect(assigned(1, isDue: false) == .accept, "more members than partitions")
        share.isOutdated = true
        #expect(assigned(2, isDue: false) == .accept)
    }

    @Test mutating func rejoinsOnceForEachOutdatedAssignment() {
        share.isOutdated = true
        #expect(assigned(0) == .rejoin)
        #expect(assigned(1) == .warnOfOthers)
        share.isOutdated = true
        #expect([2, 4].map { assigned($0) } == [.wait, .wait])
        #expect(assigned(5) == .rejoin)
        #expect(assigned(100) == .accept)
    }

    @Test mutating func pausesGrowUntilItHasOrders() {
        var rejoins: [Int] = []
        for second in 0..<2000 {
            share.isOutdated = true
            if assigned(second) == .rejoin { rejoins.append(second) }
        }
        #expect(rejoins == [0, 5, 15, 35, 75, 155, 315, 615, 915, 1215, 1515, 1815])
        #expect(assigned(2001, hasOrders: true) == .accept)
        share.isOutdated = true
        #expect([2002, 2003].map { assigned($0) } == [.rejoin, .warnOfOthers])
        share.isOutdated = true
        #expect(assigned(2007) == .rejoin)
    }
}
