import JuiceEngine
import JuiceMessages

/// One worker's log on a ``SimulatedCluster``: a member of its group with two transactional ids.
package final class SimulatedLog: CommandLog {
    /// The calls at which a fault can be injected.
    package enum Call: Hashable, CaseIterable {
        case initTransactions, poll, start, restorePoints, openChangelog, readChangelog
        case begin, produce, sendOffsets, commit

        /// Those that send transactional requests.
        static let transactional: [Call] = [.initTransactions, .produce, .sendOffsets, .commit]

        /// Whether it asks a broker for anything. Records are sent in the background.
        var isRemote: Bool {
            switch self {
            case .initTransactions, .restorePoints, .sendOffsets, .commit: true
            case .poll, .start, .openChangelog, .readChangelog, .begin, .produce: false
            }
        }
    }

    package let cluster: SimulatedCluster
    package let member: String
    let flaw: Flaw?
    let ids: [String]
    var epochs: [Int] = []
    var turn = 0
    /// A record of the open transaction was not delivered.
    var isIncomplete = false
    var isInTransaction = false
    /// Producers, by turn, of which a request may still be on its way.
    var suspects: Set<Int> = []

    var membership: SimulatedGroup.Membership
    /// The generation of the assignment that the worker was told of.
    private var assignedGeneration: Int?
    /// What the group gave it, by topic, and what it reads.
    private var given: [[Int32]] = [[], []]
    private var share: InputShare?
    private var positions: [SimulatedCluster.Place: Offset] = [:]
    /// An end is told once, as librdkafka does.
    private var toldEnds: [SimulatedCluster.Place: Offset] = [:]
    /// What the open transaction commits, and what this worker's transactions have committed.
    var sentOffsets: [SimulatedCluster.Place: Offset] = [:]
    var ownOffsets: [SimulatedCluster.Place: Offset] = [:]
    private var changelog: [SimulatedCluster.Place: (topic: ChangelogTopic, next: Offset)] = [:]
    private var lentRecords: [SimulatedPartition.Record] = []

    /// Asked before each call; an error is thrown instead of making it.
    package var fault: (Call) -> LogError? = { _ in nil }
    /// Asked after each call that changes the cluster; an error is thrown although the call was made: its reply is lost.
    package var lostReply: (Call) -> LogError? = { _ in nil }
    /// Asked at each request of a transaction; how long its call takes, in milliseconds, if the first copy is held back.
    package var heldBack: (Call) -> Int? = { _ in nil }
    /// The next record is lost on its way.
    package var losesDelivery = false
    /// A larger record is refused, in bytes.
    package var largestRecord = Int.max
    /// Records that are refused, whatever their size.
    package var refuses: (OutputRecord) -> Bool = { _ in false }
    /// Records that cannot be written at present.
    package var breaks: (OutputRecord) -> Bool = { _ in false }
    /// A transaction of more records fails.
    package var largestTransaction = Int.max
    /// Partitions of which nothing can be said at present.
    package var leaderless: Set<Int32> = []
    var producedCount = 0
    /// Told of each call and how it went.
    package var trace: ((String) -> Void)?

    package init(cluster: SimulatedCluster, member: String, flaw: Flaw? = nil) {
        self.cluster = cluster
        self.member = member
        self.flaw = flaw
        ids = ["\(member)-a", "\(member)-b"]
        membership = cluster.group.join(member)
    }

    package var now: Timestamp { cluster.now }

    package func name(of topic: InputTopic) -> String { "juice.\(topic)" }

    package func leave() {
        trace?("leave")
        cluster.group.remove(member)
    }

    /// Makes a call, unless a fault is due or the cluster is down.
    func call<Result>(
        _ call: Call,
        _ body: () throws(LogError) -> Result
    ) throws(LogError) -> Result {
        do throws(LogError) {
            if let error = fault(call) { throw error }
            if cluster.isDown, call.isRemote { throw LogError(.retry, "no broker answers") }
            let result = try body()
            if let error = lostReply(call) {
                trace?("\(call): done, but the reply is lost")
                throw error
            }
            if call != .poll { trace?("\(call)") }
            return result
        } catch {
            trace?("\(call): \(error.remedy), \(error.message)")
            throw error
        }
    }
}

// MARK: - Input

extension SimulatedLog {
    package func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        try call(.poll) { () throws(LogError) in
            if let change = nextRebalance() {
                trace?("poll: \(change)")
                return change
            }
            return cluster.isDown ? .records([], ends: []) : try readCommands(max: maxRecords)
        }
    }

    /// As a consumer of librdkafka does: first everything is given up, then the new share comes.
    private func nextRebalance() -> PollResult? {
        guard !cluster.isDown else { return nil }
        let isMember = cluster.group.isMember(membership)
        if isMember, assignedGeneration == cluster.group.generation { return nil }
        if assignedGeneration != nil {
            assignedGeneration = nil
            positions = [:]
            return .revoked
        }
        // A member that was away too long comes back as a new one.
        membership =
            isMember
            ? .init(name: member, number: membership.number, generation: cluster.group.generation)
            : cluster.group.join(member)
        assignedGeneration = membership.generation
        given = cluster.group.assignment(of: member)
        let share = InputShare(
            orders: given[0],
            partitionCount: cluster.partitionCount,
            orderCount: cluster.count(of: .orders),
            restockCount: cluster.count(of: .restocks)
        )
        self.share = share
        return .assigned(
            flaw == .restocksReadAsGiven ? Set(share.partitions + given[1]).sorted() : share.partitions
        )
    }

    private func reads(_ topic: InputTopic, _ partition: Int32) -> Bool {
        if flaw == .restocksReadAsGiven, topic == .restocks { return given[1].contains(partition) }
        return share?.reads(topic, partition) ?? false
    }

    /// How many records of a partition come in a row before another one's turn: few, so that a batch has several such runs
    /// of the same partition, as librdkafka's have.
    private static let longestRun = 2

    private func readCommands(max: Int) throws(LogError) -> PollResult {
        var commands: [CommandRecord] = []
        var ends: [InputPosition] = []
        lentRecords = []
        var before: Int
        repeat {
            before = commands.count
            for topic in InputTopic.allCases {
                for partition in 0..<cluster.count(of: topic.topic) {
                    let place = SimulatedCluster.Place(topic: topic.topic, partition: partition)
                    guard let position = positions[place] else { continue }
                    guard position >= cluster[place].start else {
                        throw LogError(.startOver, "\(topic)[\(partition)]: offset \(position) expired")
                    }
                    let room = min(Self.longestRun, max - commands.count)
                    let (records, next) = read(place, from: position, max: room)
                    positions[place] = next
                    lentRecords += records.map(\.record)
                    commands += records.map { command(topic, partition, $0.offset, $0.record) }
                    if next == cluster[place].lastStableOffset, toldEnds[place] != next,
                        flaw != .markersNotPassed
                    {
                        toldEnds[place] = next
                        ends.append(InputPosition(topic: topic, partition: partition, offset: next))
                    }
                }
            }
        } while commands.count > before && commands.count < max
        if !commands.isEmpty {
            trace?(
                "poll: " + commands.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " ")
            )
        }
        return .records(commands, ends: ends)
    }

    private func command(
        _ topic: InputTopic,
        _ partition: Int32,
        _ offset: Offset,
        _ record: SimulatedPartition.Record
    ) -> CommandRecord {
        CommandRecord(
            topic: topic,
            partition: partition,
            offset: offset,
            // The reader's clock alone says how old a command is.
            timestamp: flaw == .windowByReadersClock ? nil : record.toldTimestamp,
            key: record.key?.view,
            value: record.value?.view,
            headers: record.headers
        )
    }

    private func read(
        _ place: SimulatedCluster.Place,
        from offset: Offset,
        max: Int
    ) -> (records: [(offset: Offset, record: SimulatedPartition.Record)], next: Offset) {
        flaw == .abortedRecordsRead
            ? cluster[place].readUncommitted(from: offset, max: max)
            : cluster[place].readCommitted(from: offset, max: max)
    }

    package func start(at positions: [InputPosition]) throws(LogError) {
        try call(.start) { () throws(LogError) in
            toldEnds = [:]
            if flaw == .notRewound, isInTransaction { return }
            self.positions = places(positions)
        }
    }

    func places(_ positions: [InputPosition]) -> [SimulatedCluster.Place: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (SimulatedCluster.Place(topic: $0.topic.topic, partition: $0.partition), $0.offset)
            }
        )
    }
}

// MARK: - Restoring

extension SimulatedLog {
    package func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        try call(.restorePoints) { () throws(LogError) in
            let inputs = partitions.flatMap { partition in
                InputTopic.allCases.filter { reads($0, partition) }.map {
                    SimulatedCluster.Place(topic: $0.topic, partition: partition)
                }
            }
            let stable = cluster.stableOffsets(inputs)
            guard var committed = flaw == .unstableOffsets ? cluster.group.committed(inputs) : stable else {
                throw LogError(.retry, "a transaction is undecided about the offsets")
            }
            // Hides what others have committed since, so the worker takes its own state for current.
            if flaw == .stateKeptBlindly { committed.merge(ownOffsets) { $1 } }
            let points = partitions.filter { !leaderless.contains($0) }.map {
                restorePoint(of: $0, committed: committed, retention: retention)
            }
            return (points, Dictionary(uniqueKeysWithValues: leaderless.map { ($0, "results") }))
        }
    }

    private func restorePoint(
        of partition: Int32,
        committed: [SimulatedCluster.Place: Offset],
        retention: Timestamp
    ) -> RestorePoint {
        func input(_ topic: InputTopic) -> RestorePoint.Input? {
            guard reads(topic, partition) else { return nil }
            let log = cluster[topic.topic, partition]
            let committed = committed[.init(topic: topic.topic, partition: partition)]
            let isSkipped = flaw == .newPartitionsReadFromTheirEnd && partition >= cluster.partitionCount
            return .init(committed: committed ?? (isSkipped ? log.end : nil), log: log.start..<log.end)
        }
        guard partition < cluster.partitionCount else {
            return RestorePoint(
                partition: partition,
                orders: input(.orders),
                restocks: input(.restocks),
                stockEnd: 0,
                results: 0..<0
            )
        }
        func end(_ topic: Topic) -> Offset {
            let log = cluster[topic, partition]
            return flaw == .restoredToLastStableOffset ? log.lastStableOffset : log.end
        }
        let resultsEnd = end(.results)
        let time = horizon(of: partition, committed: committed).start(retention: retention)
        let firstAnswer = cluster[.results, partition].firstOffset(since: time) ?? resultsEnd
        return RestorePoint(
            partition: partition,
            orders: input(.orders),
            restocks: input(.restocks),
            stockEnd: end(.stock),
            results: (flaw == .answersNotReadBack ? resultsEnd : min(firstAnswer, resultsEnd))..<resultsEnd
        )
    }

    /// Looks at the last answers, at the last commands that are read and at the first that is not, committed or not.
    private func horizon(
        of partition: Int32,
        committed: [SimulatedCluster.Place: Offset]
    ) -> AnswerHorizon {
        var horizon = AnswerHorizon(now: now)
        // The reader's clock alone says how old the answers are.
        if flaw == .windowByReadersClock { return horizon }
        let results = cluster[.results, partition]
        for (_, record) in results.readUncommitted(from: results.end - AnswerHorizon.lookBack).records {
            horizon.addAnswer(at: record.timestamp)
        }
        for topic in InputTopic.allCases {
            let log = cluster[topic.topic, partition]
            let next = committed[.init(topic: topic.topic, partition: partition)] ?? log.start
            let span = log.readUncommitted(
                from: next - AnswerHorizon.lookBack,
                max: Int(AnswerHorizon.lookBack) + 1
            )
            for (offset, record) in span.records {
                guard offset < next else {
                    horizon.addUnread(topic, at: record.toldTimestamp)
                    break
                }
                horizon.addRead(topic, at: record.toldTimestamp)
            }
        }
        return horizon
    }

    package func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {
        try call(.openChangelog) { () throws(LogError) in
            changelog = Dictionary(
                uniqueKeysWithValues: positions.map {
                    (.init(topic: $0.topic.topic, partition: $0.partition), ($0.topic, $0.offset))
                }
            )
        }
    }

    /// A few records at a time, so that a restore takes several steps.
    package func readChangelog() throws(LogError) -> ChangelogBatch {
        try call(.readChangelog) { () throws(LogError) in
            var batch: [ChangelogBatch.Record] = []
            var ends: [ChangelogPosition] = []
            lentRecords = []
            guard !cluster.isDown else { return ChangelogBatch(records: [], ends: []) }
            for (place, (topic, position)) in changelog.sorted(by: { $0.key < $1.key }) {
                let (records, next) = read(place, from: position, max: 5)
                changelog[place] = (topic, next)
                lentRecords += records.map(\.record)
                batch += records.map { offset, record in
                    ChangelogBatch.Record(
                        topic: topic,
                        partition: place.partition,
                        offset: offset,
                        timestamp: record.timestamp,
                        key: record.key?.view,
                        value: record.value?.view
                    )
                }
                if next == cluster[place].lastStableOffset {
                    ends.append(.init(topic: topic, partition: place.partition, offset: next))
                }
            }
            return ChangelogBatch(records: batch, ends: ends)
        }
    }
}
