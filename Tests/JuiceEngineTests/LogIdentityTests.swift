import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// What is done to the topics: the right answers follow, or a partition that stops, with the reason.
@Suite struct LogIdentityTests {
    private let cluster = SimulatedCluster(partitionCount: 1)

    /// Answers these orders, then ends.
    private func serve(_ ids: [String]) {
        let harness = Harness(cluster, member: "first")
        for id in ids { cluster.order(id, "kiwi") }
        harness.run()
        harness.log.leave()
    }

    /// What a worker stops for that takes the partition over now.
    private func stop(of member: String = "second", window: DuplicateWindow = .standard) -> PartitionFault? {
        let harness = Harness(cluster, member: member, window: window)
        harness.run(limit: 10_000)
        defer { harness.log.leave() }
        return harness.fault
    }

    private func anchor(_ positions: [InputPosition]) throws {
        for position in positions {
            let log = SimulatedLog(operator: "anchor-\(position.topic)", on: cluster, share: .whole)
            var anchoring = Anchoring(log: log, settings: .anchor, share: .whole)
            let place = InputPlace(topic: position.topic, partition: nil, offset: position.offset)
            cluster.writeAllMarkers()
            while true {
                do throws(LogError) {
                    try anchoring.write(place, by: "operator", reason: nil)
                    break
                } catch {
                    guard error.remedy == .retry else { throw error }
                    cluster.writeAllMarkers()
                }
            }
        }
    }

    // MARK: - Inputs

    @Test func anInputMadeAnewStopsItsPartitionAndIsReadFromItsBeginning() throws {
        serve(["a", "b", "c"])
        cluster[.orders, 0].clear()
        for id in ["x", "y", "z", "a"] { cluster.order(id, "kiwi") }

        let fault = try #require(stop())
        #expect(fault.kind == .input(InputPartition(topic: .orders, partition: 0)))
        #expect(fault.reason.contains(#"order "a" of store "gangnam""#), "\(fault.reason)")
        #expect(fault.reason.contains(#"order "x" of store "gangnam""#), "\(fault.reason)")
        #expect(fault.anchors.map(\.offset) == [0])
        try anchor(fault.anchors)
        #expect(stop(of: "third") == nil)
        #expect(cluster.answers().suffix(4) == ["outOfStock x", "outOfStock y", "outOfStock z", "juiceMade a again"])
    }

    /// An order and its cancel share their id, and are two commands all the same.
    @Test func anInputMadeAnewWithTheCancelsOfItsOrdersIsNoticed() throws {
        serve(["a", "b"])
        cluster[.orders, 0].clear()
        for id in ["a", "b"] { cluster.cancel(id) }

        let fault = try #require(stop())
        #expect(fault.reason.contains(#"about order "a""#), "\(fault.reason)")
        #expect(fault.reason.contains(#"the cancel of order "a""#), "\(fault.reason)")
    }

    @Test func anInputThatLostItsEndAndGrewAgainIsReadOnFromThere() throws {
        serve(["a", "b", "c"])
        cluster.truncate(.orders, 0, last: 1)
        for id in ["x", "y"] { cluster.order(id, "banana") }

        let fault = try #require(stop())
        #expect(fault.anchors.map(\.offset) == [2])
        try anchor(fault.anchors)
        #expect(stop(of: "third") == nil)
        #expect(cluster.answers().suffix(2) == ["juiceMade x", "juiceMade y"])
    }

    @Test func anInputThatIsShorterThanItWasStopsItsPartition() throws {
        serve(["a", "b", "c"])
        cluster.truncate(.orders, 0, last: 2)
        let fault = try #require(stop())
        #expect(fault.offset == 3)
        #expect(fault.anchors.map(\.offset) == [1])
    }

    /// A record that was put aside is evidence, too.
    @Test func anInputOfNothingButJunkIsKnownAgain() throws {
        for _ in 0..<3 { cluster.send(.orders, partition: 0, key: nil, value: "juice, please") }
        serve([])
        cluster[.orders, 0].clear()
        for id in ["x", "y", "z"] { cluster.order(id, "kiwi") }
        let fault = try #require(stop())
        #expect(fault.reason.contains("a record that is no command"), "\(fault.reason)")
    }

    @Test func anInputMadeAnewIsNoticedWhileItIsServed() {
        let harness = Harness(cluster)
        for id in ["a", "b"] { cluster.order(id, "kiwi") }
        harness.run()
        cluster[.orders, 0].clear()
        for id in ["x", "y", "z"] { cluster.order(id, "kiwi") }
        cluster.now += 3_001
        harness.run()
        #expect(harness.fault?.anchors.map(\.offset) == [0])
        #expect(!cluster.answers().contains("juiceMade z"))
    }

    /// A shorter log is for the takeover to tell. The check must not wait for records that will never come.
    @Test func aShorterInputIsNoticedWhileItIsServed() {
        let harness = Harness(cluster)
        for id in ["a", "b"] { cluster.order(id, "kiwi") }
        harness.run()
        cluster.truncate(.orders, 0, last: 1)
        cluster.now += 3_001
        harness.run()
        #expect(harness.fault?.anchors.map(\.offset) == [1])
    }

    /// Commands do not wait for a check that waits for brokers. The next one will do.
    @Test func aCheckThatMustWaitIsLeft() {
        let harness = Harness(cluster)
        cluster.order("a", "kiwi")
        harness.run()
        cluster.now += 3_001
        cluster.order("b", "banana")
        harness.log.fault = { $0 == .readBack ? LogError(.retry, "slow") : nil }
        harness.run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b"])
    }

    // MARK: - Journal and stock

    @Test func resultsMadeAnewStopThePartition() throws {
        serve(["a", "b"])
        cluster[.results, 0].clear()
        let fault = try #require(stop())
        #expect(fault.kind == .journal)
        try anchor(fault.anchors)
        cluster.order("a", "kiwi")
        #expect(stop(of: "third") == nil)
    }

    /// After a restart nobody else knows how far the inputs were handled.
    @Test func theGroupIsToldWhatALostJournalSaid() {
        let harness = Harness(cluster)
        cluster.order("a", "kiwi")
        harness.run()
        cluster.order("b", "banana")
        harness.run()
        #expect(cluster.committed(.orders) != 2)
        cluster[.results, 0].clear()
        cluster.restock("c", #""add":{"kiwi":1}"#)
        harness.run()
        #expect(harness.fault?.kind == .journal)
        #expect(harness.fault?.anchors.map(\.offset) == [2, 0])
        #expect(cluster.committed(.orders) == 2)
    }

    /// Somebody else wrote on in the new log before anybody looked, without a claim.
    @Test(arguments: [
        #"{"type":"position","orders":1,"restocks":0,"stock":0,"claim":5,"ids":["gone/0/0/0/0"]}"#,
        #"{"type":"deadLetter","topic":"orders","offset":0,"code":"notJSON"}"#,
    ])
    func resultsWithoutTheWritersClaimStopThePartition(record: String) throws {
        cluster.order("a", "kiwi")
        if record.contains("position") { cluster.claim() }
        cluster.send(.results, partition: 0, key: nil, value: record)
        let fault = try #require(stop())
        #expect(fault.kind == .journal)
        let claim = record.contains("position") ? 5 : 0
        #expect(fault.reason.contains("the claim at offset \(claim)"), "\(fault.reason)")
        #expect(fault.anchors.map(\.offset) == [1, 0])
        try anchor(fault.anchors)
        cluster.order("b", "kiwi")
        #expect(stop(of: "third") == nil)
        #expect(cluster.answers() == ["juiceMade b"])
    }

    /// What was answered behind the journal's end is answered again.
    @Test(arguments: [true, false]) func aJournalThatLostItsEndGoesOn(isIdle: Bool) {
        let harness = Harness(cluster)
        cluster.order("a", "kiwi")
        harness.run()
        cluster.order("b", "kiwi", quantity: 100)
        harness.run()
        cluster.truncate(.results, 0, last: 2)
        if isIdle { cluster.now += 3_001 } else { cluster.order("c", "kiwi", quantity: 99) }
        harness.run()
        #expect(harness.fault == nil, "\(harness.events) \(cluster.values(.results))")
        #expect(cluster.answers() == ["juiceMade a", "outOfStock b"] + (isIdle ? [] : ["outOfStock c"]))
    }

    /// Memory makes good what a stock topic has lost, also for the next worker.
    @Test(arguments: [true, false]) func aStockThatLostItsEndIsWrittenAgain(isIdle: Bool) {
        let harness = Harness(cluster, member: "first")
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster[.stock, 0].clear()
        if isIdle { cluster.now += 3_001 } else { cluster.restock("c", #""add":{"kiwi":1}"#) }
        harness.run()
        #expect(harness.events.contains { if case .stockRewritten(0) = $0 { true } else { false } })
        #expect(cluster.values(.stock).last?.contains(#""revision":\#(isIdle ? 2 : 3)"#) == true)
        harness.log.leave()
        #expect(stop() == nil)
    }

    /// A state that was kept is not used again before its logs are compared.
    @Test func aStateIsNotResumedOnAnEmptyStock() {
        let harness = Harness(cluster)
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster[.stock, 0].clear()
        cluster.group.rebalance()
        harness.run()
        #expect(cluster.values(.stock).last?.contains(#""revision":2"#) == true)
    }

    /// All of it is made from the answers, as long as none has expired. Otherwise only the last of them would be read.
    @Test(arguments: [true, false]) func aStockThatNobodyHasInMemoryIsMadeFromTheAnswers(hasExpired: Bool) {
        let harness = Harness(cluster, member: "first", window: DuplicateWindow(age: 3_600_000, count: 100))
        for id in ["a", "b"] { cluster.order(id, "banana", store: "early") }
        for id in 0..<3_000 { cluster.restock("\(id)", #""set":{"kiwi":\#(id)}"#) }
        harness.run(limit: 10_000)
        harness.log.leave()
        cluster[.stock, 0].clear()
        if hasExpired { cluster[.results, 0].start = 5 }

        let fault = stop(window: DuplicateWindow(age: 3_600_000, count: 100))
        guard hasExpired else {
            #expect(fault == nil)
            let stock = cluster.values(.stock)
            #expect(stock.contains { $0.contains(#""store":"early","revision":2"#) })
            #expect(stock.contains { $0.contains(#""store":"gangnam","revision":3000"#) && $0.contains(#""kiwi":2999"#) })
            return
        }
        #expect(fault?.kind == .stock)
        #expect(fault?.reason.contains("lost its end") == true)
        #expect(fault?.anchors.map(\.offset) == [2])
    }

    /// What was read of a log is gone before the rest of it: it was made anew in between.
    @Test func aTakeoverThatReadsNothingForLongStartsOver() {
        serve(["a"])
        let harness = Harness(cluster, member: "second")
        harness.log.longestRead = 0
        for _ in 0..<50 { harness.step() }
        cluster.now += 30_001
        for _ in 0..<5 { harness.step() }
        #expect(harness.hasStartedOver)
        harness.log.longestRead = 5
        harness.run()
        #expect(harness.held.partitions == 1)
    }

    /// In a new journal, somebody else's claim may stand where the state's claim stood.
    @Test func aStateIsNotResumedInANewJournal() {
        let harness = Harness(cluster)
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster[.results, 0].clear()
        cluster.claim()
        for _ in 0..<20 { cluster.send(.results, partition: 0, key: nil, value: #"{"type":"later"}"#) }
        cluster.group.rebalance()
        harness.run()
        #expect(harness.fault?.kind == .journal)
    }

    // MARK: - Two groups

    @Test func onlyOneOfTwoGroupsGoesOn() {
        let first = Harness(cluster, member: "first")
        cluster.order("a", "kiwi")
        first.run()
        let second = Harness(cluster, member: "second", group: 1)
        second.run()
        cluster.order("b", "banana")
        let step = first.run()
        guard case .failed(let error) = step else { return #expect(Bool(false), "\(step)") }
        #expect(error.message.contains(#"the group "group-1""#), "\(error.message)")
        second.run()
        #expect(cluster.answers() == ["juiceMade a", "juiceMade b"])
    }

    /// Also if neither can serve them.
    @Test func onlyOneOfTwoGroupsGoesOnWithWhatIsStopped() {
        cluster.send(.stock, partition: 0, key: "gangnam", value: "{")
        let first = Harness(cluster, member: "first")
        first.run()
        let second = Harness(cluster, member: "second", group: 1)
        second.run()
        cluster.now += 3_001
        #expect(first.run() != .idle)
        cluster.now += 3_001
        #expect(second.run() == .idle)
    }

    /// Claims of its own, made in vain before the last one, are nobody else's.
    @Test func aWorkersEarlierClaimsAreItsOwn() {
        let harness = Harness(cluster)
        harness.loseReply(of: .commit, with: LogError(.startOver, "a test"))
        harness.run()
        let claims = cluster.values(.results).filter { $0.contains(#""claim""#) && $0.contains("since") }.count
        #expect(claims > 1)
        cluster.now += 3_001
        harness.run()
        #expect(cluster.values(.results).filter { $0.contains("since") }.count == claims)
    }
}

extension InputAssignment {
    fileprivate static let whole = InputAssignment(orders: [0], partitionCount: 1, orderCount: 1, restockCount: 1)
}

extension WorkerSettings {
    fileprivate static var anchor: WorkerSettings {
        WorkerSettings(menu: .standard, language: .english, partitionCount: 1, group: "group-0", instance: "anchor")
    }
}
