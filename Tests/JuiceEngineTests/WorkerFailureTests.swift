import JuiceEngine
import Testing

@testable import simulate

/// Transactions that fail or whose outcome is unknown.
@Suite struct WorkerFailureTests {
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

    // MARK: - Batches that are too large, records that are refused, partitions that keep failing

    @Test func aBacklogTooLargeForOneTransactionIsProcessed() {
        let harness = Harness()
        for number in 1...40 { harness.cluster.order("\(number)", "durian") }
        harness.log.largestTransaction = 7
        harness.run()
        #expect(harness.cluster.answers() == (1...40).map { "rejected \($0)" })
    }

    /// After a broker was lost, what has piled up meanwhile must not go out in small portions.
    @Test func aLostConnectionMakesNoBatchSmaller() {
        let harness = Harness()
        harness.run()
        harness.fail(.commit, with: LogError(.startOver, "no broker confirms anything", subject: .connection))
        harness.cluster.order("before", "durian")
        while !harness.hasStartedOver {
            harness.step()
        }
        for number in 1...40 { harness.cluster.order("\(number)", "durian") }
        harness.run()
        #expect(harness.transactions.map(\.commands) == [41])
    }

    @Test func anAnswerThatTheLogRefusesGoesWithoutItsHeaders() throws {
        let harness = Harness()
        let trace = MessageHeader(name: "traceparent", value: String(repeating: "x", count: 5_000))
        harness.cluster.order("before", "kiwi")
        harness.cluster.send(.orders, partition: 0, key: "gangnam", value: #"{"orderId":"a","juice":"kiwi"}"#, headers: [trace])
        harness.cluster.order("after", "kiwi")
        harness.log.largestRecord = 4_000
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade before", "juiceMade a", "juiceMade after"])
        #expect(harness.cluster[.results, 0].readCommitted().records.allSatisfy { $0.record.headers.isEmpty })
    }

    @Test func aCommandWhoseAnswerTheLogRefusesBecomesADeadLetter() throws {
        let harness = Harness()
        let id = String(repeating: "i", count: 128)
        harness.cluster.order("before", "kiwi")
        harness.cluster.order(id, "kiwi")
        harness.cluster.order("after", "kiwi")
        harness.log.refuses = { $0.topic == .results && ($0.value?.count ?? 0) > 250 }
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade before", "juiceMade after"])
        let (_, letter) = try #require(harness.cluster[.deadLetters, 0].readCommitted().records.first)
        #expect(letter.headers.contains(MessageHeader(name: "juice.error.code", value: "unanswerable")))
        #expect(letter.value.map { String(decoding: $0.view, as: UTF8.self) }?.contains(id) == true)
        // It was not carried out.
        #expect(harness.cluster.values(.stock).last?.contains(#""revision":2"#) == true)
    }

    @Test func aCommandThatCannotBeForwardedBecomesADeadLetter() throws {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster)
        cluster.order("a", "kiwi", store: cluster.store(in: 1), partition: 0)
        cluster.order("b", "kiwi", store: cluster.store(in: 0), partition: 0)
        harness.log.refuses = { $0.topic == .orders }
        harness.run()
        #expect(cluster.answers(partition: 0) == ["juiceMade b"])
        #expect(cluster.answers(partition: 1).isEmpty)
        #expect(cluster.values(.deadLetters).count == 1)
    }

    @Test func aFailingPartitionDoesNotHoldUpTheOthers() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster)
        harness.run()
        var isBroken = true
        harness.log.breaks = { isBroken && $0.topic == .results && $0.partition == 0 }
        cluster.order("stuck", "kiwi", partition: 0)
        cluster.order("1", "kiwi", partition: 1)
        for _ in 0..<400 {
            cluster.writeAllMarkers()
            harness.step()
            cluster.now += 500
        }
        #expect(cluster.answers(partition: 0).isEmpty)
        #expect(cluster.answers(partition: 1) == ["juiceMade 1"])
        #expect(harness.events.contains { if case .partitionFailing(0, _) = $0 { true } else { false } })
        isBroken = false
        cluster.now += 600_000
        harness.run()
        #expect(cluster.answers(partition: 0) == ["juiceMade stuck"])
        #expect(harness.hasRecovered)
    }

    @Test func aPartitionWithoutALeaderDoesNotHoldUpTheOthers() {
        let cluster = SimulatedCluster(partitionCount: 2)
        let harness = Harness(cluster)
        harness.log.leaderless = [0]
        cluster.order("waiting", "kiwi", partition: 0)
        cluster.order("1", "kiwi", partition: 1)
        harness.run()
        #expect(cluster.answers(partition: 1) == ["juiceMade 1"])
        func failures() -> [PartitionFault] {
            harness.events.compactMap { if case .partitionFailing(0, let fault) = $0 { fault } else { nil } }
        }
        #expect(failures().map(\.reason) == ["results [0] has no leader, or is gone"])
        // The failure is reported once, and the pauses are shorter than after other failures.
        for _ in 0..<10 {
            cluster.now += 20_000
            harness.run()
        }
        #expect(failures().count == 1)
        harness.log.leaderless = []
        cluster.now += 20_000
        harness.run()
        #expect(cluster.answers(partition: 0) == ["juiceMade waiting"])
        #expect(harness.hasRecovered)
    }

    @Test func traceHeadersAreBoundedInNumberAndInSum() throws {
        let harness = Harness()
        let small = MessageHeader(name: "traceparent", value: "00-1")
        let large = MessageHeader(name: "tracestate", value: String(repeating: "x", count: 8 * 1024))
        for (id, headers) in [
            ("a", Array(repeating: small, count: 200)), ("b", Array(repeating: large, count: 200)),
        ] {
            harness.cluster.send(
                .orders,
                partition: 0,
                key: nil,
                value: #"{"orderId":"\#(id)","juice":"kiwi"}"#,
                headers: headers
            )
        }
        harness.run()
        let answers = harness.cluster[.results, 0].readCommitted().records.filter { $0.record.key != nil }
        #expect(answers.map(\.record.headers.count) == [8, 2])
    }

    @Test func aDeadLetterRefusedForItsSizeIsTruncated() throws {
        let harness = Harness()
        let size = 600_000
        harness.cluster.send(.orders, partition: 0, key: "gangnam", value: String(repeating: "x", count: size))
        harness.cluster.order("a", "banana")
        harness.log.largestRecord = 500_000
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a"])
        let (_, letter) = try #require(harness.cluster[.deadLetters, 0].readCommitted().records.first)
        let value = try #require(letter.value?.view)
        #expect(value.count < 500_000 && value.allSatisfy { $0 == UInt8(ascii: "x") })
        let truncated = letter.headers.first { $0.name == "juice.truncated.from" }
        #expect(truncated == MessageHeader(name: "juice.truncated.from", value: String(size + "gangnam".count)))
        #expect(letter.headers.contains { $0.name == "juice.error.code" })
    }

    @Test func aDeadLetterIsKeptWholeWhateverElseFails() throws {
        let harness = Harness()
        let large = String(repeating: "x", count: 600_000)
        harness.cluster.send(.orders, partition: 0, key: "gangnam", value: large)
        var failures = 0
        harness.log.fault = { call in
            guard call == .commit, failures < 5 else { return nil }
            failures += 1
            return LogError(.startOver, "an outage")
        }
        harness.run()
        #expect(failures == 5)
        #expect(harness.cluster.values(.deadLetters, partition: 0) == [large])
    }
}
