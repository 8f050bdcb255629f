import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Calls and transactions that fail, and records that are refused.
@Suite struct WorkerFailureTests {
    private let harness = Harness()
    private var cluster: SimulatedCluster { harness.cluster }

    @Test func aCallThatKeepsFailingBacksOff() {
        harness.log.fault = { $0 == .initTransactions ? .retry() : nil }
        #expect((1...4).map { _ in harness.step() } == (1...4).map { .backOff(attempt: $0) })
        let attempts = harness.events.compactMap { if case .retrying(_, let attempt) = $0 { attempt } else { nil } }
        #expect(attempts == [1, 2, 3, 4])
    }

    @Test func transactionsThatKeepFailingBackOff() {
        cluster.order("a", "banana")
        harness.log.fault = { $0 == .commit ? .startOver() : nil }
        var attempts: [Int] = []
        for _ in 0..<300 {
            cluster.writeAllMarkers()
            if case .backOff(let attempt) = harness.step() { attempts.append(attempt) }
        }
        #expect(attempts.filter { $0 > 1 }.starts(with: [2, 3, 4, 5]))
    }

    @Test func anUnrecoverableErrorStopsTheWorker() {
        let error = LogError(.stop, "fenced")
        harness.fail(.poll, with: error)
        #expect(harness.run() == .failed(error))
        #expect(harness.step() == .failed(error))
        #expect(cluster.group.members.isEmpty)
    }

    // MARK: - Batches that are too large, records that are refused, partitions that keep failing

    /// After an outage, the backlog must not be processed in small batches.
    @Test func aLostConnectionMakesNoBatchSmaller() {
        harness.run()
        harness.fail(.commit, with: LogError(.startOver, "no broker confirms anything", subject: .connection))
        cluster.order("before", "durian")
        while harness.restarts == 0 { harness.step() }
        for number in 1...40 { cluster.order("\(number)", "durian") }
        harness.run()
        #expect(harness.transactions.map(\.commands) == [41])
    }

    /// Answers are bounded in size, so the topic is to blame. Other partitions do not wait.
    @Test func aCommandWhoseAnswerTheLogRefusesWaits() {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        cluster.order("before", "kiwi")
        cluster.order("refused", "kiwi")
        cluster.order("after", "kiwi")
        cluster.order("elsewhere", "kiwi", partition: 1)
        harness.refuse(of: .results, having: "refused")
        harness.run()
        #expect(cluster.answers() == ["made before"])
        #expect(cluster.answers(partition: 1) == ["made elsewhere"])
        #expect(blamed(harness) == ["topic(JuiceMessages.Topic.results)"])
        harness.log.refusal = { _ in nil }
        harness.run(after: 5_000)
        #expect(cluster.answers() == ["made before", "made refused", "made after"])
        #expect(cluster.values(.deadLetters).isEmpty && harness.hasRecovered)
    }

    /// Refuses the records that match, runs for half a minute, and then accepts them again.
    private func refuseForAWhile(on harness: Harness, _ isRefused: @escaping (OutputRecord) -> Bool) {
        harness.refuse(isRefused)
        for _ in 0..<30 {
            harness.run()
            harness.cluster.now += 1_000
        }
        harness.log.refusal = { _ in nil }
        harness.run(after: 60_000)
    }

    /// The topics that the worker blames for failing partitions.
    private func blamed(_ harness: Harness) -> Set<String> {
        Set(harness.failures.map { "\($0.kind)" })
    }

    /// A setting that is wrong for a while delays commands, and costs nothing. Only records with a key are refused: no claims, no
    /// notes.
    @Test(arguments: [Topic.orders, .results, .stock, .deadLetters])
    func everythingWaitsWholeWhileATopicRefusesIt(topic: Topic) {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        let (trace, till) = (MessageHeader(name: "traceparent", value: "00-1"), MessageHeader(name: "x-till", value: "7"))
        cluster.order("a", "kiwi", headers: [trace, till])
        cluster.send(.orders, key: cluster.store(in: 0), "juice, please", headers: [till])
        cluster.order("b", "kiwi", store: cluster.store(in: 1), headers: [till])
        cluster.order("c", "kiwi")
        refuseForAWhile(on: harness) { $0.topic == topic && $0.key != nil }
        #expect(harness.restarts <= 10, "there are pauses, even if only stock is due")
        #expect(cluster.answers() == ["made a", "made c"])
        #expect(cluster.answers(partition: 1) == ["made b"])
        #expect(cluster.answerRecords().first?.headers == [trace])
        #expect(cluster.values(.deadLetters) == ["juice, please"])
        #expect(cluster.records(.deadLetters).first?.headers.map(\.name).prefix(2) == ["x-till", "juice.error.code"])
        let source = MessageHeader(name: "juice.forwarded.from", value: "0/2")
        #expect(cluster.records(.orders, partition: 1).map(\.headers) == [[till, source]])
        #expect(cluster.values(.stock).last?.contains(#""revision":2"#) == true)
        #expect(blamed(harness) == ["topic(JuiceMessages.Topic.\(topic))"])
        #expect(harness.hasRecovered)
    }

    /// Its claim may have been deleted meanwhile, so that a successor had no id to fence. The pauses are shorter than a session.
    @Test(arguments: [SimulatedPort.Call.begin, .produce, .flush])
    func checksTheLogBeforeCommittingAfterAPause(paused: SimulatedPort.Call) {
        harness.order("a", "kiwi")
        var calls: [SimulatedPort.Call] = []
        harness.log.fault = { call in
            if call == paused, !calls.contains(call) { cluster.now += 14_000 }
            calls.append(call)
            return nil
        }
        cluster.order("a", "kiwi")
        harness.run()
        let look = calls.firstIndex(of: .extents), commit = calls.firstIndex(of: .commit)
        #expect(look.flatMap { look in commit.map { look < $0 } } ?? false, "\(calls)")
        #expect(cluster.answers() == ["made a", "made a again"])
    }

    /// A failed check does not show whether the claim is still there.
    @Test func startsOverIfTheCheckAfterAPauseFails() {
        harness.order("a", "kiwi")
        cluster.now += 14_000
        harness.fail(.extents, with: .retry())
        cluster.order("b", "kiwi")
        harness.run()
        #expect(harness.restarts > 0)
        #expect(cluster.answers() == ["made a", "made b"])
    }

    // MARK: - Headers

    @Test func recordsWithBadHeadersBecomeDeadLetters() {
        let header = MessageHeader(name: "h", value: nil)
        for count in [99_990, 99_991, 100_001] {
            cluster.send(.orders, key: "gangnam", "\(count)", headers: Array(repeating: header, count: count))
        }
        cluster.order("a", "kiwi", headers: Array(repeating: header, count: 100_001))
        harness.order("b", "kiwi")
        let letters = cluster.records(.deadLetters)
        #expect(letters.map(\.text) == ["99990", "99991", "100001"] + cluster.values(.orders).suffix(2).prefix(1))
        #expect(letters.map(\.headers.count) == [99_995, 5, 5, 5])
        let codes = letters.map { letter in letter.headers.first { $0.name == "juice.error.code" }?.value }
        #expect(codes == ["notJSON", "badHeaders", "badHeaders", "badHeaders"].map { Array($0.utf8) })
        #expect(cluster.answers() == ["made b"])
    }

    @Test func aPartitionWithoutALeaderDoesNotHoldUpTheOthers() {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        cluster[.results, 0].isLeaderless = true
        cluster.order("waiting", "kiwi")
        cluster.order("1", "kiwi", partition: 1)
        // The failure is reported once, and the pauses are shorter than after other failures.
        for _ in 0..<11 {
            harness.run()
            cluster.now += 20_000
        }
        #expect(cluster.answers(partition: 1) == ["made 1"])
        #expect(harness.failures.map(\.reason) == ["results [0] has no leader, or is gone"])
        cluster.electLeaders()
        harness.run()
        #expect(cluster.answers() == ["made waiting"])
        #expect(harness.hasRecovered)
    }

    @Test func aDeadLetterRefusedForItsSizeIsTruncated() throws {
        let size = 600_000
        cluster.send(.orders, key: "gangnam", String(repeating: "x", count: size))
        harness.refuse { $0.size > 500_000 }
        harness.order("a", "banana")
        #expect(cluster.answers() == ["made a"])
        #expect(harness.failures.isEmpty)
        let letter = try #require(cluster.records(.deadLetters).first)
        let value = try #require(letter.value?.view)
        #expect(value.count < 500_000 && value.allSatisfy { $0 == UInt8(ascii: "x") })
        let truncated = letter.headers.first { $0.name == "juice.truncated.from" }
        #expect(truncated == MessageHeader(name: "juice.truncated.from", value: String(size + "gangnam".count)))
        #expect(letter.headers.contains { $0.name == "juice.error.code" })
    }

    /// A correctly configured topic would accept it, so it keeps its headers.
    @Test func aDeadLetterOfOrdinarySizeIsNeverCut() {
        let header = MessageHeader(name: "x-till", value: String(repeating: "7", count: 100_000))
        cluster.send(.orders, key: "gangnam", "juice, please", headers: [header])
        refuseForAWhile(on: harness) { $0.topic == .deadLetters && $0.size > 50_000 }
        #expect(cluster.records(.deadLetters).map { $0.headers.first } == [header])
        #expect(blamed(harness) == ["topic(JuiceMessages.Topic.deadLetters)"])
    }
}
