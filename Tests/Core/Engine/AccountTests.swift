import JuiceEngine
import JuiceMessages
import Testing

@testable import simulate

/// Losses of journal and stock, at the beginning, in the middle or of a single record: they are restored, or the partition stops
/// and says how much is missing.
@Suite struct AccountTests {
    private static let window = DuplicateWindow(age: 60_000, count: 10_000)
    private static let retention: Timestamp = 60_000 + 60_000
    private let cluster = SimulatedCluster(partitionCount: 1)

    /// Answers an order of the store `quiet`, then `count` orders of another store, enough by default for position notes.
    private func serve(_ count: Int = 3_000, interval: Timestamp = 0, by member: String = "first") {
        let harness = Harness(cluster, member: member, window: Self.window)
        cluster.order("quiet", "banana", store: "quiet")
        harness.run()
        for number in 0..<count {
            cluster.order("\(number)", "kiwi", store: "busy")
            cluster.now += interval
            if number % 100 == 99 { harness.run(limit: 10_000) }
        }
        harness.runAndLeave()
    }

    /// Why a worker that takes the partition over now stops it; nil if it does not.
    private func takeOver(_ member: String = "second", window: DuplicateWindow = window) -> PartitionFault? {
        cluster.fault(foundBy: member, window: window)
    }

    // MARK: - The stock

    private static let losses: [@Sendable (SimulatedCluster) -> Void] = [
        { $0[.stock, 0].deleteRecords(before: 3) },
        { $0.send(.stock, partition: 0, key: Array("quiet".utf8), value: nil) },
        { $0[.stock, 0].deleteRecords(before: $0[.stock, 0].end) },
    ]

    /// A lost stock record is rebuilt from the answers, if they are still there.
    @Test(arguments: losses.indices, [true, false]) func aStoreThatTheStockLacksIsRestoredOrStopsThePartition(
        loss: Int, hasAnswers: Bool
    ) throws {
        serve(1_200)
        cluster.now += 10 * Self.retention
        serve(1_200, by: "later")
        Self.losses[loss](cluster)
        if !hasAnswers { cluster[.results, 0].deleteRecords(before: 10) }
        let fault = takeOver()
        if hasAnswers {
            #expect(fault == nil)
            #expect(cluster.values(.stock).contains { $0.contains(#""store":"quiet","revision":2"#) })
        } else {
            let fault = try #require(fault)
            let isNumbered = fault.reason.contains("changes are there") || fault.reason.contains("between are gone")
            #expect(fault.kind == .stock && isNumbered, "\(fault.reason)")
        }
    }

    /// The owner overwrites another program's record, but at most once in three minutes.
    @Test func overwritesForeignStockRecordsAtIntervals() {
        let harness = Harness(cluster, window: Self.window)
        harness.order("a", "banana")
        let rounds: [(pause: Timestamp, rewritten: Int, isWritten: Bool)] = [
            (3_001, 1, true), (3_001, 1, false), (180_000, 2, true),
        ]
        for round in rounds {
            cluster.send(.stock, partition: 0, key: Array(cluster.store(in: 0).utf8), value: nil)
            harness.run(after: round.pause)
            #expect(harness.rewrites == round.rewritten)
            #expect(cluster.values(.stock).last?.contains(#""revision":1"#) == round.isWritten)
        }
        harness.log.leave(handsOver: true)
    }

    /// A coordinator that has moved may write its last markers again. Another program's record is still noticed beside them.
    @Test func aMarkerThatIsWrittenTwiceIsNoStrangersRecord() {
        let harness = Harness(cluster, window: Self.window)
        for number in 0..<10 {
            cluster[.stock, 0].appendMarker(of: 0, .commit)
            cluster.now += 3_001
            harness.order("\(number)", "kiwi")
        }
        #expect(harness.rewrites == 0)
        cluster.send(.stock, partition: 0, key: Array(cluster.store(in: 0).utf8), value: nil)
        harness.run(after: 3_001)
        #expect(harness.rewrites == 1)
        harness.log.leave(handsOver: true)
    }

    /// The stock of a transaction that failed may have been written or not.
    @Test func stockThatWasNotWrittenHidesNoStrangersRecord() {
        let harness = Harness(cluster, window: Self.window)
        for id in ["a", "b", "c"] { cluster.order(id, "banana", store: id) }
        var isDue = true
        harness.log.refusal = { record in
            guard record.topic == .stock, String(BorrowedText(record.key ?? .init(start: nil, count: 0))) == "c", isDue else {
                return nil
            }
            isDue = false
            return LogError(.startOver, "fenced")
        }
        harness.run()
        #expect(!isDue)
        cluster.send(.stock, partition: 0, key: Array("a".utf8), value: nil)
        harness.run(after: 3_001)
        #expect(harness.rewrites == 1)
        harness.log.leave(handsOver: true)
    }

    @Test func stockThatIsAheadOfItsAnswersIsNotBelieved() throws {
        serve(10)
        cluster.send(
            .stock, key: "invented", #"{"store":"invented","revision":2,"stock":{"kiwi":7}}"#)
        let fault = try #require(takeOver())
        #expect(fault.kind == .journal && fault.reason.contains("another program wrote"), "\(fault.reason)")
    }

    // MARK: - The journal

    @Test func aCompactedJournalStopsThePartition() throws {
        serve(1_500)
        let end = cluster[.results, 0].end
        serve(2_200, by: "second")
        cluster[.results, 0].compact(upTo: end)
        let fault = try #require(takeOver("third"))
        #expect(fault.kind == .journal && fault.reason.contains("is gone"), "\(fault.reason)")
        // Reading began after the gap, but the count covers the whole journal.
        #expect(fault.reason.contains("records are missing up to offset"), "\(fault.reason)")
        try cluster.anchor(try #require(fault.anchors.first), accepting: fault.missing)
        #expect(takeOver("fourth") == nil)
    }

    /// By its time, the claim is older than anything repeats may ask for. The deleted answers have later times.
    @Test func aClaimOfAClockThatWasBehindHidesNoLoss() throws {
        serve(500)
        let end = cluster[.results, 0].end
        cluster.clockOffsets["behind"] = -10 * Self.retention
        let harness = Harness(cluster, member: "behind", window: Self.window)
        harness.run()
        cluster[.results, 0].deleteRecords(before: end)
        for _ in 0..<2 {
            harness.run(after: 3_001)
        }
        harness.log.leave(handsOver: true)
        #expect(cluster.values(.results).count { $0.contains(#""position""#) } == 1)
        let fault = try #require(takeOver())
        #expect(fault.kind == .answers, "\(fault.reason)")
    }

    /// A successor could not distinguish a journal without notes from one that lost its content.
    @Test func aDeletedNoteIsReplacedByItsOwner() {
        let harness = Harness(cluster, member: "first", window: Self.window)
        for number in 0..<10 { harness.order("\(number)", "kiwi") }
        cluster.now += 2 * Self.retention
        let end = cluster[.results, 0].end
        harness.order("later", "kiwi")
        cluster[.results, 0].deleteRecords(before: end)
        for _ in 0..<2 {
            harness.run(after: 3_001)
        }
        harness.log.leave(handsOver: true)
        #expect(takeOver() == nil)
    }

    @Test(arguments: [0, 50, 900]) func aTrimmedJournalStopsThePartition(rest: Offset) throws {
        serve(2_500)
        let end = cluster[.results, 0].end
        cluster[.results, 0].deleteRecords(before: end - rest)
        let fault = try #require(takeOver())
        #expect(fault.kind == (rest < 900 ? .journal : .answers), "\(fault.reason)")
        #expect(
            fault.reason.contains(rest < 900 ? "without a position note" : "repeats may still ask for answers"), "\(fault.reason)")
    }

    /// Only the owner still knows which commands were answered. It says until when it must not be restarted.
    @Test func theOwnerReportsAnswersThatWereDeletedTooEarly() throws {
        let harness = Harness(cluster, window: Self.window)
        for number in 0..<10 { harness.order("\(number)", "kiwi") }
        cluster[.results, 0].deleteRecords(before: cluster[.results, 0].end - 3)
        harness.run(after: 3_001)
        harness.run(after: 3_001)
        let times = harness.events.compactMap { if case .answersDeleted(0, let until) = $0 { until } else { nil } }
        #expect(times.count == 1)
        let until = try #require(times.first)
        #expect((cluster.now - 60_000...cluster.now + Self.retention).contains(until))
    }

    /// An inspection beside the owner finds that a successor would not know these commands.
    @Test(arguments: [true, false]) func aLookFindsAnswersThatWereDeletedTooEarly(isEarly: Bool) throws {
        let owner = Harness(cluster, member: "owner", window: Self.window)
        for number in 0..<2_500 { cluster.order("\(number)", "kiwi") }
        owner.run(limit: 10_000)
        if !isEarly { cluster.now += 2 * Self.retention }
        cluster[.results, 0].deleteRecords(before: 1_400)
        owner.order("later", "kiwi")
        let fault = try look().first.flatMap(\.self)
        #expect((fault?.kind == .answers) == isEarly, "\(fault?.reason ?? "-")")
        #expect(fault?.reason.contains("begin at offset 1400, but repeats may still ask") ?? !isEarly)
    }

    // MARK: - No false alarm

    /// Records expire and time passes between workers.
    @Test(arguments: [0, 1, 10, 100] as [Timestamp]) func retentionStopsNothing(interval: Timestamp) {
        for round in 0..<8 {
            serve(700, interval: interval, by: "member-\(round)")
            // Twice the sum of the window and the allowed delay.
            cluster[.results, 0].expire(before: cluster.now - 2 * Self.retention)
            if round % 3 == 2 { cluster.now += Self.retention / 2 }
            #expect(takeOver("look-\(round)") == nil)
        }
    }

    @Test(arguments: [1_000, 60_000, 3_600_000] as [Timestamp], [3, 1_000, 100_000])
    func anotherWindowStopsNothing(age: Timestamp, count: Int) {
        serve(1_500, interval: 100)
        cluster[.results, 0].expire(before: cluster.now - 2 * Self.retention)
        #expect(takeOver(window: DuplicateWindow(age: age, count: count)) == nil)
    }

    @Test func anIdlePartitionGoesOn() {
        serve(10)
        let harness = Harness(cluster, member: "second", window: Self.window)
        for _ in 0..<30 {
            harness.run(after: Self.retention / 4)
        }
        harness.log.leave(handsOver: true)
        #expect(takeOver("third") == nil)
    }

    /// The owner answers and commits group offsets between any two steps of the inspection.
    @Test(arguments: 0..<16) func aLookBesideAnOwnerFindsNoLoss(steps: Int) throws {
        let owner = Harness(cluster, member: "owner")
        owner.order("a", "banana")
        let faults = try look { step in
            guard step == steps else { return }
            owner.order("b", "kiwi")
            owner.run(after: 1_500)
        }
        #expect(faults == [nil])
    }

    /// The faults that `juice doctor` would find.
    private func look(before step: (Int) -> Void = { _ in }) throws -> [PartitionFault?] {
        let assignment = cluster.assignment(ofOrders: [0])
        let settings = WorkerSettings(
            menu: cluster.menu, language: .english, partitionCount: 1, group: "group-0", instance: "doctor", window: Self.window)
        let inspection = Inspection(
            log: SimulatedPort(cluster: cluster, member: "doctor", operatorOf: assignment), settings: settings,
            assignment: assignment)
        for number in 0..<1_000 where !inspection.isDone {
            step(number)
            try inspection.step()
        }
        #expect(inspection.isDone)
        return inspection.partitions.map(\.fault)
    }
}
