import Testing

@testable import JuiceService

@Suite struct AdaptiveTimeoutTests {
    @Test(arguments: [(0, [2, 4, 8, 8]), (1, [2, 2, 2, 2])])
    func itGrowsLessWhereABrokerMayBeDead(closedConnections: Int, seconds: [Int]) {
        var timeout = AdaptiveTimeout()
        let grown = seconds.map { _ in
            timeout.timedOut(closedConnections: closedConnections)
            return timeout.current
        }
        #expect(grown == seconds.map { .seconds($0) })
    }

    /// A slow broker that died must not be waited for as long as a slow one.
    @Test func aLossShortensIt() {
        var timeout = AdaptiveTimeout()
        for _ in 0..<3 { timeout.timedOut() }
        timeout.timedOut(closedConnections: 1)
        #expect(timeout.current == .seconds(2))
    }

    /// Only connections lost since the last answer count.
    @Test func anAnswerForgivesALoss() {
        var timeout = AdaptiveTimeout()
        timeout.answered(after: .zero, closedConnections: 1)
        for _ in 0..<3 { timeout.timedOut(closedConnections: 1) }
        #expect(timeout.current == .seconds(8))
    }

    /// Otherwise a broker that is always slow would time out every other time.
    @Test(arguments: [(1, 2), (1.1, 2.2), (3, 6), (5, 8), (0.01, 1)])
    func itStaysTwiceAsLongAsTheLastAnswerTook(seconds: Double, next: Double) {
        var timeout = AdaptiveTimeout()
        for _ in 0..<3 { timeout.timedOut() }
        for _ in 0..<2 { timeout.answered(after: .seconds(seconds)) }
        #expect(timeout.current == .seconds(next))
    }
}
