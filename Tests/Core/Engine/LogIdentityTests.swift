import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Topics that are recreated, cut or written to: the right answers follow, or the partition stops and names the reason.
@Suite struct LogIdentityTests {
    private let cluster = SimulatedCluster(partitionCount: 1)

    /// Answers these orders, then ends.
    private func serve(_ ids: [String]) {
        let harness = Harness(cluster, member: "first")
        for id in ids { cluster.order(id, "kiwi") }
        harness.runAndLeave()
    }

    // MARK: - Inputs

    /// A change to the orders topic after some orders were answered, the reason that the service names, the offset of the anchor
    /// that it advises, and the answers that follow.
    private struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let served: [String]
        let reason: String
        let anchor: Offset
        let answers: [String]
        let change: @Sendable (SimulatedCluster) -> Void

        init(
            _ name: String, after served: [String] = ["a", "b", "c"], reason: String = "", anchor: Offset, _ answers: String...,
            change: @escaping @Sendable (SimulatedCluster) -> Void
        ) {
            (testDescription, self.served, self.reason) = (name, served, reason)
            (self.anchor, self.answers, self.change) = (anchor, answers, change)
        }
    }

    private static let changes = [
        Change(
            "recreated", reason: #"order "x" of store "gangnam" at offset 0"#, anchor: 0, "short x", "short y", "short z",
            "made a again"
        ) { $0.recreateOrders("x", "y", "z", "a") },
        // An order and its cancel share an id, but are two commands.
        Change(
            "recreated with the cancels of its orders", after: ["a", "b"], reason: #"cancel "a""#, anchor: 0,
            "cancelled a", "cancelled b"
        ) {
            $0.recreateOrders()
            for id in ["a", "b"] { $0.cancel(id) }
        },
        Change("lost its end and grew again", anchor: 2, "made x", "made y") {
            $0.truncate(.orders, 0, last: 1)
            for id in ["x", "y"] { $0.order(id, "banana") }
        },
        Change("shorter than it was", anchor: 1) { $0.truncate(.orders, 0, last: 2) },
        // A dead letter is evidence, too.
        Change(
            "recreated, after nothing but junk", after: [], reason: #"order "x""#, anchor: 0, "made x", "made y", "made z"
        ) { $0.recreateOrders("x", "y", "z") },
    ]

    @Test(arguments: changes) private func aReplacedInputStopsItsPartitionUntilAnchored(test: Change) throws {
        if test.served.isEmpty { for _ in 0..<3 { cluster.send(.orders, key: nil, "juice, please") } }
        serve(test.served)
        test.change(cluster)
        let fault = try #require(cluster.fault())
        #expect(fault.kind == .input(InputPartition(topic: .orders, partition: 0)))
        #expect(test.reason.isEmpty || fault.reason.contains(test.reason), "\(fault.reason)")
        #expect(fault.anchors.map(\.offset) == [test.anchor])
        for anchor in fault.anchors { try cluster.anchor(anchor) }
        #expect(cluster.fault(foundBy: "third") == nil)
        #expect(cluster.answers().suffix(test.answers.count) == test.answers)
    }

    /// Even if the log is shorter: the check must not wait for records that will never come.
    @Test(arguments: [true, false]) func noticesAReplacedOrTruncatedInputWhileServing(isAnew: Bool) {
        let harness = Harness(cluster)
        for id in ["a", "b"] { cluster.order(id, "kiwi") }
        harness.run()
        if isAnew { cluster.recreateOrders("x", "y", "z") } else { cluster.truncate(.orders, 0, last: 1) }
        harness.run(after: 3_001)
        #expect(harness.fault?.anchors.map(\.offset) == [isAnew ? 0 : 1])
        #expect(!cluster.answers().contains("made z"))
    }

    /// The answers have expired. The last position note still says what was handled last.
    @Test(arguments: [false, true], [false, true]) func recognizesAReplacedInputByItsLastRecord(
        isAdded: Bool, isJunk: Bool
    ) throws {
        let partition: Int32 = isAdded ? 1 : 0
        if isAdded { cluster.enlarge(.orders, to: 2) }
        for topic in InputTopic.allCases { cluster.announcePartitions(of: topic) }
        func send(_ ids: [String]) {
            for id in ids {
                if isJunk {
                    cluster.send(.orders, partition: partition, key: nil, "juice \(id), please")
                } else {
                    cluster.order(id, "kiwi", store: cluster.store(in: 0), partition: partition)
                }
            }
        }
        send(["a", "b", "c"])
        serve([])
        // The next owner writes a note of what it found. There is nothing to answer.
        let second = Harness(cluster, member: "second")
        second.runAndLeave()
        let note = try #require(
            cluster[.results, 0].read().records.last { $0.record.text.contains(#""type":"position""#) })
        #expect(note.record.text.contains(#""orders/\#(partition)":{"offset":2,"digest":""#), "\(note.record.text)")
        cluster.now += 10_000_000
        cluster[.results, 0].deleteRecords(before: note.offset)
        #expect(cluster.fault(foundBy: "third") == nil)
        cluster[.orders, partition].clear()
        send(["a", "b", "x", "y"])
        let fault = try #require(cluster.fault(foundBy: "fourth"))
        #expect(fault.kind == .input(InputPartition(topic: .orders, partition: partition)))
        #expect(fault.anchors.map(\.offset) == [0])
    }

    // MARK: - Journal and stock

    /// After a restart, only the group's offsets say how far the inputs were handled.
    @Test func commitsOffsetsToTheGroupWhenTheJournalIsLost() {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        harness.order("b", "banana")
        #expect(cluster.committedOrders != 2)
        cluster[.results, 0].clear()
        harness.restock("c", #""add":{"kiwi":1}"#)
        #expect(harness.fault?.kind == .journal)
        #expect(harness.fault?.anchors.map(\.offset) == [2])
        #expect(cluster.committedOrders == 2)
    }

    /// Another program wrote to the new log before the next check, and its claim is missing.
    @Test(arguments: [
        #"{"type":"position","orders":1,"restocks":0,"stock":0,"claim":5,"ids":["gone/0/0/0/0"]}"#,
        #"{"type":"deadLetter","topic":"orders","offset":0,"code":"notJSON","digest":"367026dc90519f37e788e7705d3de2b4"}"#,
    ])
    func resultsWithoutTheWritersClaimStopThePartition(record: String) throws {
        cluster.order("a", "kiwi")
        if record.contains("position") { cluster.claim() }
        cluster.note(record)
        let fault = try #require(cluster.fault())
        #expect(fault.kind == .journal)
        let claim = record.contains("position") ? 5 : 0
        #expect(fault.reason.contains("the claim at offset \(claim)"), "\(fault.reason)")
        // The note's digest is of another record than the one that is there.
        #expect(fault.anchors.map(\.offset) == (claim == 5 ? [1] : [0, 0]))
        for anchor in fault.anchors { try cluster.anchor(anchor) }
        cluster.order("b", "kiwi")
        #expect(cluster.fault(foundBy: "third") == nil)
        #expect(cluster.answers() == (claim == 5 ? ["made b"] : ["made a", "made b"]))
    }

    /// Commands whose answers were lost must not be answered again: the second answer could differ.
    @Test(arguments: [true, false]) func aJournalThatLostItsEndStopsThePartition(isIdle: Bool) {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        harness.order("b", "kiwi", 100)
        cluster.truncate(.results, 0, last: 2)
        if isIdle { cluster.now += 3_001 } else { cluster.order("c", "kiwi", 99) }
        harness.run()
        #expect(harness.fault?.reason.contains("lacks 1 records that were written") == true, "\(harness.events)")
        #expect(cluster.answers() == ["made a"])
    }

    /// The owner is gone, but it has committed the record count for its group.
    @Test func aJournalThatLostItsEndStopsASuccessor() throws {
        let harness = Harness(cluster, member: "first")
        for id in ["a", "b"] { harness.order(id, "kiwi", 100) }
        cluster.now += 1_001
        harness.runAndLeave()
        cluster.truncate(.results, 0, last: 2)
        for member in ["second", "third"] {
            let fault = try #require(cluster.fault(foundBy: member))
            #expect(fault.kind == .journal && fault.missing == 1)
            #expect(fault.reason.contains("lacks 1 records that were written"), "\(fault.reason)")
            #expect(fault.anchors.first?.offset == 2)
        }
        let anchor = InputPosition(topic: .orders, partition: 0, offset: 2)
        #expect(throws: LogError.self) { try cluster.anchor(anchor, accepting: 0) }
        try cluster.anchor(anchor, accepting: 1)
        #expect(cluster.fault(foundBy: "fourth") == nil)
        #expect(cluster.answers() == ["short a"])
    }

    /// The owner reads on at once after an anchor, and would otherwise answer the commands of the other input again.
    @Test(arguments: 0..<2) func anAnchorThatAcceptsALostEndMovesBothInputs(topic: Int) throws {
        let harness = Harness(cluster)
        for number in 0..<3 {
            cluster.restock("r\(number)", #""add":{"kiwi":1}"#)
            harness.order("o\(number)", "kiwi")
        }
        harness.run(after: 1_001)
        cluster.truncate(.results, 0, last: 6)
        harness.run(after: 3_001)
        let fault = try #require(harness.fault)
        #expect(fault.kind == .journal && fault.missing > 0)
        let remaining = cluster.answers()
        #expect(fault.anchors == [InputPosition(topic: .orders, partition: 0, offset: 3)])
        let anchor = InputPosition(topic: InputTopic.allCases[topic], partition: 0, offset: 3)
        try cluster.anchor(anchor, accepting: fault.missing)
        harness.run(after: 3_001)
        #expect(cluster.answers() == remaining)
        harness.order("next", "kiwi")
        #expect(cluster.answers() == remaining + ["made next"])
    }

    /// A transaction that failed proves nothing: its record may have been lost before it was handled.
    @Test func aFailedTransactionIsNoEvidence() {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        cluster.order("lost", "kiwi")
        harness.fail(.commit, with: .startOver())
        while harness.restarts == 0 { harness.step() }
        cluster.truncate(.orders, 0, last: 1)
        harness.order("b", "kiwi")
        #expect(harness.fault == nil)
        #expect(cluster.answers() == ["made a", "made b"])
    }

    /// Offsets of the old log prove nothing about a recreated one.
    @Test func theAdviceBeginsAtANewLogsFirstRecord() throws {
        let harness = Harness(cluster)
        for id in ["a", "b", "c"] { harness.order(id, "kiwi") }
        cluster[.results, 0].clear()
        cluster.recreateOrders("w", "x", "y", "z")
        harness.run(after: 3_001)
        let fault = try #require(harness.fault)
        #expect(fault.kind == .journal && fault.missing == 3)
        #expect(fault.anchors.map(\.offset) == [0])
    }

    /// The owner rewrites lost stock from memory, even before it resumes a kept state. The next worker then finds it.
    @Test(arguments: ["restock", "idle", "rebalance"]) func aStockThatLostItsEndIsWrittenAgain(next: String) {
        let harness = Harness(cluster, member: "first")
        for id in ["a", "b"] { cluster.order(id, "banana") }
        harness.run()
        cluster[.stock, 0].clear()
        switch next {
        case "restock": cluster.restock("c", #""add":{"kiwi":1}"#)
        case "idle": cluster.now += 3_001
        default: cluster.group.rebalance()
        }
        harness.run()
        #expect(harness.rewrites > 0)
        #expect(cluster.values(.stock).last?.contains(#""revision":\#(next == "restock" ? 3 : 2)"#) == true)
        harness.log.leave(handsOver: true)
        #expect(cluster.fault() == nil)
    }

    /// The transaction that wrote the lost stock has its marker in the new log, which is as long as it was seen last.
    @Test(arguments: [true, false]) func aRecreatedStockWithAMarkerIsWrittenAgain(isIdle: Bool) {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        cluster[.stock, 0].clear()
        cluster[.stock, 0].appendMarker(of: 0, .commit)
        if !isIdle { cluster.group.rebalance() }
        for _ in 0..<3 { harness.run(after: 3_001) }
        #expect(harness.rewrites == 1)
        #expect(cluster.values(.stock).last?.contains(#""revision":1"#) == true)
    }

    /// Even if it was written just before a takeover that resumes the state in memory.
    @Test func anotherProgramsStockRecordIsNoticedAcrossATakeover() {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        cluster.send(.stock, key: cluster.store(in: 0), "rubbish")
        cluster.group.rebalance()
        harness.run()
        harness.run(after: 3_001)
        #expect(harness.rewrites > 0)
        #expect(cluster.values(.stock).last?.contains(#""revision":1"#) == true)
    }

    /// Compaction drops the worker's own records, so their count shows nothing.
    @Test(arguments: [true, false]) func anotherProgramsStockRecordIsNoticedAfterCompaction(isOldState: Bool) {
        let harness = Harness(cluster)
        for id in ["a", "b", "c"] { harness.order(id, "kiwi") }
        let old = cluster.values(.stock).first ?? ""
        cluster.send(.stock, key: cluster.store(in: 0), isOldState ? old : "rubbish")
        cluster[.stock, 0].compact()
        harness.run(after: 3_001)
        #expect(harness.rewrites > 0)
        #expect(cluster.values(.stock).last?.contains(#""revision":3"#) == true)
    }

    /// The log was recreated while it was being read, so the rest never comes.
    @Test func aTakeoverThatReadsNothingForLongStartsOver() {
        serve(["a"])
        let harness = Harness(cluster, member: "second")
        harness.log.longestRead = 0
        for _ in 0..<50 { harness.step() }
        cluster.now += 30_001
        for _ in 0..<5 { harness.step() }
        #expect(harness.restarts > 0)
        harness.log.longestRead = 5
        harness.run()
        #expect(harness.held.partitions == 1)
    }

    // MARK: - Two groups

    /// Even if the partition is stopped, so that neither can serve it.
    @Test(arguments: [true, false]) func onlyOneOfTwoGroupsGoesOn(isStopped: Bool) {
        if isStopped { cluster.send(.stock, key: "gangnam", "{") } else { cluster.order("a", "kiwi") }
        let first = Harness(cluster, member: "first")
        first.run()
        let second = Harness(cluster, member: "second", group: 1)
        second.run()
        if isStopped { cluster.now += 3_001 } else { cluster.order("b", "banana") }
        let step = first.run()
        guard case .failed(let error) = step else { return #expect(Bool(false), "\(step)") }
        #expect(error.message.contains(#"the group "group-1""#), "\(error.message)")
        cluster.now += 3_001
        #expect(second.run() == .idle)
        #expect(cluster.answers() == (isStopped ? [] : ["made a", "made b"]))
    }

    /// The other group has fenced this worker, and claims just before this worker claims again.
    @Test func aGroupThatClaimsAtTheSameTimeIsNamed() {
        let harness = Harness(cluster)
        harness.order("a", "kiwi")
        let claim = JournalClaim(ids: ["other/0/0/0/0"], since: 0, group: "other", instance: "0", partitions: 1, next: [:])
        var isFenced = false
        harness.log.fault = { [cluster] call in
            if call == .commit, !isFenced {
                isFenced = true
                return LogError(.startOver, "fenced")
            }
            guard call == .begin, isFenced else { return nil }
            harness.log.fault = { _ in nil }
            cluster.send(.results, partition: 0, key: nil, value: JournalNote.claim(claim).bytes)
            return nil
        }
        cluster.order("b", "banana")
        let step = harness.run()
        guard case .failed(let error) = step else { return #expect(Bool(false), "\(step)") }
        #expect(error.message.contains(#"the group "other""#), "\(error.message)")
    }

    /// Each fences the other before its claim is clean.
    @Test func oneOfTwoGroupsClaimingInStepGoesOn() {
        cluster.order("a", "kiwi")
        let groups = [0, 1].map { Harness(cluster, member: "member-\($0)", group: $0) }
        var ends: Set<Int> = []
        for _ in 0..<1_000 {
            cluster.writeAllMarkers()
            for group in [0, 1] where !ends.contains(group) {
                if case .failed = groups[group].step() { ends.insert(group) }
            }
            cluster.now += 1
        }
        #expect(ends.count == 1)
        #expect(cluster.answers() == ["made a"])
    }

    /// Unsuccessful claims before its last one must not look like another worker's.
    @Test func aWorkersEarlierClaimsAreItsOwn() {
        let harness = Harness(cluster)
        harness.loseReply(of: .commit, with: .startOver())
        harness.run()
        let claims = cluster.values(.results).count { $0.contains(#""claim""#) && $0.contains("since") }
        #expect(claims > 1)
        harness.run(after: 3_001)
        #expect(cluster.values(.results).count { $0.contains("since") } == claims)
    }
}

extension SimulatedCluster {
    /// Deletes the orders, and creates the topic again with these.
    fileprivate func recreateOrders(_ ids: String...) {
        self[.orders, 0].clear()
        for id in ids { order(id, "kiwi") }
    }
}
