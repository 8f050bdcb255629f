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

    @Test func aBacklogTooLargeForOneTransactionIsProcessed() {
        for number in 1...40 { cluster.order("\(number)", "durian") }
        var count = 0
        harness.log.fault = { call in
            count = call == .begin ? 0 : count + (call == .produce ? 1 : 0)
            return call == .produce && count > 7 ? .startOver() : nil
        }
        harness.run()
        #expect(cluster.answers() == (1...40).map { "rejected \($0)" })
    }

    /// After an outage, the backlog must not be processed in small batches.
    @Test func aLostConnectionMakesNoBatchSmaller() {
        harness.run()
        harness.fail(.commit, with: LogError(.startOver, "no broker confirms anything", subject: .connection))
        cluster.order("before", "durian")
        while !harness.hasStartedOver { harness.step() }
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
        harness.refuse { $0.topic == .results && $0.value.map { String(decoding: $0, as: UTF8.self).contains("refused") } ?? false }
        harness.run()
        #expect(cluster.answers() == ["juiceMade before"])
        #expect(cluster.answers(partition: 1) == ["juiceMade elsewhere"])
        #expect(blamed(harness) == ["topic(JuiceMessages.Topic.results)"])
        harness.log.refusal = { _ in nil }
        cluster.now += 5_000
        harness.run()
        #expect(cluster.answers() == ["juiceMade before", "juiceMade refused", "juiceMade after"])
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
        harness.cluster.now += 60_000
        harness.run()
    }

    /// The topics that the worker blames for failing partitions.
    private func blamed(_ harness: Harness) -> Set<String> {
        Set(harness.events.compactMap { if case .partitionFailing(_, let fault) = $0 { "\(fault.kind)" } else { nil } })
    }

    /// A setting that is wrong for a while delays commands, and costs nothing. Only records with a key are refused: no claims, no
    /// notes.
    @Test(arguments: [Topic.orders, .results, .stock, .deadLetters])
    func everythingWaitsWholeWhileATopicRefusesIt(topic: Topic) {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        let (trace, till) = (MessageHeader(name: "traceparent", value: "00-1"), MessageHeader(name: "x-till", value: "7"))
        cluster.send(.orders, key: cluster.store(in: 0), #"{"orderId":"a","juice":"kiwi"}"#, headers: [trace, till])
        cluster.send(.orders, key: cluster.store(in: 0), "juice, please", headers: [till])
        cluster.send(.orders, key: cluster.store(in: 1), #"{"orderId":"b","juice":"kiwi"}"#, headers: [till])
        cluster.order("c", "kiwi")
        refuseForAWhile(on: harness) { $0.topic == topic && $0.key != nil }
        #expect(cluster.answers() == ["juiceMade a", "juiceMade c"])
        #expect(cluster.answers(partition: 1) == ["juiceMade b"])
        #expect(cluster.answerRecords().first?.headers == [trace])
        #expect(cluster.values(.deadLetters) == ["juice, please"])
        #expect(cluster.records(.deadLetters).first?.headers.map(\.name).prefix(2) == ["x-till", "juice.error.code"])
        let source = MessageHeader(name: "juice.forwarded.from", value: "0/2")
        #expect(cluster.records(.orders, partition: 1).map(\.headers) == [[till, source]])
        #expect(cluster.values(.stock).last?.contains(#""revision":2"#) == true)
        #expect(blamed(harness) == ["topic(JuiceMessages.Topic.\(topic))"])
        #expect(harness.hasRecovered)
    }

    /// If due stock is refused while no client sends anything, the worker must not retry without pauses.
    @Test func stockThatIsRefusedIsTriedAgainAtIntervals() {
        harness.run()
        harness.refuse { $0.topic == .stock }
        cluster.order("a", "kiwi")
        for _ in 0..<60 {
            harness.run()
            cluster.now += 1_000
        }
        #expect(harness.events.count { if case .startingOver = $0 { true } else { false } } <= 10)
        #expect(cluster.answers() == ["juiceMade a"])
        harness.log.refusal = { _ in nil }
        cluster.now += 60_000
        harness.run()
        #expect(cluster.values(.stock).last?.contains(#""revision":1"#) == true)
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
        #expect(cluster.answers() == ["juiceMade a", "juiceMade a again"])
    }

    /// A failed check does not show whether the claim is still there.
    @Test func startsOverIfTheCheckAfterAPauseFails() {
        harness.order("a", "kiwi")
        cluster.now += 14_000
        harness.fail(.extents, with: .retry())
        cluster.order("b", "kiwi")
        harness.run()
        #expect(harness.hasStartedOver)
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b"])
    }

    @Test func aRefusedRepeatWhoseAnswerIsReadBackWaits() {
        let harness = Harness(answerBytes: 0)
        harness.order("a", "kiwi")
        harness.refuse { record in
            record.topic == .results && record.value.map { String(decoding: $0, as: UTF8.self).contains("duplicate") } ?? false
        }
        harness.order("a", "kiwi")
        harness.order("b", "kiwi")
        #expect(harness.cluster.answers() == ["juiceMade a"])
        harness.log.refusal = { _ in nil }
        harness.cluster.now += 5_000
        harness.run()
        #expect(harness.cluster.answers() == ["juiceMade a", "juiceMade a again", "juiceMade b"])
        #expect(harness.cluster.values(.deadLetters).isEmpty)
    }

    // MARK: - Headers

    @Test func recordsWithBadHeadersBecomeDeadLetters() {
        let header = MessageHeader(name: "h", value: nil)
        let value = #"{"orderId":"a","juice":"kiwi"}"#
        for count in [99_990, 99_991, 100_001] {
            cluster.send(.orders, key: "gangnam", "\(count)", headers: Array(repeating: header, count: count))
        }
        cluster.send(.orders, key: "gangnam", value, headers: Array(repeating: header, count: 100_001))
        harness.order("b", "kiwi")
        let letters = cluster.records(.deadLetters)
        #expect(letters.map(\.text) == ["99990", "99991", "100001", value])
        #expect(letters.map(\.headers.count) == [99_995, 5, 5, 5])
        let codes = letters.map { letter in letter.headers.first { $0.name == "juice.error.code" }?.value }
        #expect(codes == ["notJSON", "badHeaders", "badHeaders", "badHeaders"].map { Array($0.utf8) })
        #expect(cluster.answers() == ["juiceMade b"])
    }

    @Test func aFailingPartitionDoesNotHoldUpTheOthers() {
        let harness = Harness(partitions: 2)
        let cluster = harness.cluster
        harness.run()
        harness.log.refusal = { $0.topic == .results && $0.partition == 0 ? .startOver() : nil }
        cluster.order("stuck", "kiwi")
        cluster.order("1", "kiwi", partition: 1)
        for _ in 0..<400 {
            cluster.writeAllMarkers()
            harness.step()
            cluster.now += 500
        }
        #expect(cluster.answers().isEmpty)
        #expect(cluster.answers(partition: 1) == ["juiceMade 1"])
        #expect(harness.events.contains { if case .partitionFailing(0, _) = $0 { true } else { false } })
        harness.log.refusal = { _ in nil }
        cluster.now += 600_000
        harness.run()
        #expect(cluster.answers() == ["juiceMade stuck"])
        #expect(harness.hasRecovered)
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
        #expect(cluster.answers(partition: 1) == ["juiceMade 1"])
        let failures = harness.events.compactMap { if case .partitionFailing(0, let fault) = $0 { fault.reason } else { nil } }
        #expect(failures == ["results [0] has no leader, or is gone"])
        cluster.electLeaders()
        harness.run()
        #expect(cluster.answers() == ["juiceMade waiting"])
        #expect(harness.hasRecovered)
    }

    @Test func traceHeadersAreBoundedInNumberAndInSum() {
        let small = MessageHeader(name: "traceparent", value: "00-1")
        let large = MessageHeader(name: "tracestate", value: String(repeating: "x", count: 8 * 1024))
        for (id, header) in [("a", small), ("b", large)] {
            let order = #"{"orderId":"\#(id)","juice":"kiwi"}"#
            cluster.send(.orders, key: nil, order, headers: Array(repeating: header, count: 200))
        }
        harness.run()
        #expect(cluster.answerRecords().map(\.headers.count) == [8, 2])
    }

    @Test func aDeadLetterRefusedForItsSizeIsTruncated() throws {
        let size = 600_000
        cluster.send(.orders, key: "gangnam", String(repeating: "x", count: size))
        harness.refuse { $0.size > 500_000 }
        harness.order("a", "banana")
        #expect(cluster.answers() == ["juiceMade a"])
        #expect(!harness.hasFailing)
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

    @Test func aDeadLetterIsKeptWholeWhateverElseFails() {
        let large = String(repeating: "x", count: 600_000)
        cluster.send(.orders, key: "gangnam", large)
        var failures = 0
        harness.log.fault = { call in
            guard call == .commit, failures < 5 else { return nil }
            failures += 1
            return .startOver()
        }
        harness.run()
        #expect(failures == 5)
        #expect(cluster.values(.deadLetters) == [large])
    }
}
