import JuiceEngine
import JuiceSimulation
import Testing

/// Transactions that fail or whose outcome is unknown.
@Suite struct WorkerFailureTests {
    @Test(arguments: [SimulatedLog.Call.produce, .commit])
    func aFailedTransactionIsUndoneAndItsCommandsAreReadAgain(call: SimulatedLog.Call) {
        let harness = Harness()
        harness.cluster.order("before", "banana")
        harness.run()
        harness.fail(call, with: LogError(.startOver, "a test"))
        harness.cluster.order("a", "banana")
        harness.cluster.order("b", "banana", store: "jongno")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade before", "juiceMade a", "juiceMade b"])
        // Charged once: 10 - 2 - 2. A store that only the failed transaction had changed starts full.
        let stock = harness.cluster.values(.stock, partition: 0)
        #expect(stock.count == 3)
        #expect(stock.contains { $0.contains(#""gangnam","revision":2"#) && $0.contains(#""banana":6"#) })
        #expect(stock.contains { $0.contains(#""jongno","revision":1"#) && $0.contains(#""banana":8"#) })
        #expect(harness.events.contains { if case .startingOver = $0 { true } else { false } })
    }

    @Test(arguments: [
        SimulatedLog.Call.initTransactions, .poll, .extents, .openChangelog, .readChangelog, .confirmMembership, .fence,
        .answerStarts, .readBack, .start, .begin, .commit,
    ])
    func aCallThatMayBeMadeAgainIsMadeAgain(call: SimulatedLog.Call) {
        let cluster = SimulatedCluster(partitionCount: 1)
        // With something to restore, the changelog is read.
        let first = Harness(cluster, member: "first")
        cluster.order("before", "banana")
        first.run()
        first.log.leave()

        let harness = Harness(cluster, member: "second")
        harness.fail(call, with: LogError(.retry, "a test"))
        cluster.order("a", "banana")
        harness.run()
        #expect(cluster.answers() == ["juiceMade before", "juiceMade a"])
        #expect(harness.events.contains { if case .retrying = $0 { true } else { false } })
    }

    @Test(arguments: [true, false]) func anUnknownOutcomeIsLookedUpInTheLog(isCommitted: Bool) {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        if isCommitted {
            harness.loseReply(of: .commit, with: LogError(.startOver, "a test"))
        } else {
            harness.fail(.commit, with: LogError(.startOver, "a test"))
        }
        harness.run()
        harness.cluster.order("b", "banana")
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade b"])
        #expect(harness.cluster.values(.stock, partition: 0).last?.contains(#""banana":6"#) == true)
    }

    /// The reply is lost, then the retry fails. If the commit counted as failed, the command would be answered twice.
    @Test func aCommitInDoubtDoesNotCountAsFailed() {
        let harness = Harness()
        harness.run()
        harness.cluster.order("a", "banana")
        harness.loseReply(of: .commit, with: LogError(.retry, "a test"))
        var commits = 0
        harness.log.fault = { call in
            commits += call == .commit ? 1 : 0
            return call == .commit && commits == 2 ? LogError(.startOver, "a test") : nil
        }
        harness.run()
        #expect(commits > 2)
        #expect(harness.cluster.answers() == ["juiceMade a"])
    }

    @Test func aCommitWhoseAnswerWasLostCanBeMadeAgain() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.loseReply(of: .commit, with: LogError(.retry, "a test"))
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
        #expect(harness.cluster.values(.stock, partition: 0).count == 1)
    }

    @Test func aCallThatKeepsFailingBacksOff() {
        let harness = Harness()
        harness.log.fault = { $0 == .initTransactions ? LogError(.retry, "no broker") : nil }
        #expect((1...4).map { _ in harness.step() } == (1...4).map { .backOff(attempt: $0) })
    }

    @Test func transactionsThatKeepFailingBackOff() {
        let harness = Harness()
        harness.cluster.order("a", "banana")
        harness.log.fault = { $0 == .commit ? LogError(.startOver, "a test") : nil }
        var attempts: [Int] = []
        for _ in 0..<300 {
            harness.cluster.writeAllMarkers()
            if case .backOff(let attempt) = harness.step() { attempts.append(attempt) }
        }
        #expect(attempts.filter { $0 > 1 }.starts(with: [2, 3, 4, 5]))
    }

    @Test func anUnrecoverableErrorStopsTheWorker() {
        let harness = Harness()
        let error = LogError(.stop, "fenced")
        harness.fail(.poll, with: error)
        #expect(harness.run() == .failed(error))
        #expect(harness.step() == .failed(error))
        #expect(harness.cluster.group.members.isEmpty)
    }
}
