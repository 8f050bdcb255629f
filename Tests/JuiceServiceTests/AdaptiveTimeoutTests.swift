import Testing

@testable import JuiceService

@Suite struct AdaptiveTimeoutTests {
    @Test(arguments: [(false, [2, 4, 8, 8]), (true, [2, 2, 2, 2])])
    func itGrowsLessWhereABrokerMayBeDead(isConnectionLost: Bool, seconds: [Int]) {
        var timeout = AdaptiveTimeout()
        let grown = seconds.map { _ in
            timeout.timedOut(isConnectionLost: isConnectionLost)
            return timeout.current
        }
        #expect(grown == seconds.map { .seconds($0) })
    }

    /// A broker that was slow and then died is not waited for as one that is slow.
    @Test func aLossShortensIt() {
        var timeout = AdaptiveTimeout()
        for _ in 0..<3 { timeout.timedOut(isConnectionLost: false) }
        timeout.timedOut(isConnectionLost: true)
        #expect(timeout.current == .seconds(2))
    }

    @Test func answersShrinkItStepByStep() {
        var timeout = AdaptiveTimeout()
        for _ in 0..<3 { timeout.timedOut(isConnectionLost: false) }
        let shrunk = (0..<4).map { _ in
            timeout.answered()
            return timeout.current
        }
        #expect(shrunk == [4, 2, 1, 1].map { .seconds($0) })
    }
}
