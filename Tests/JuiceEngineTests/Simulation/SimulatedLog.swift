import JuiceEngine

/// One worker's log on a ``SimulatedCluster``: a member of its group with two transactional ids.
final class SimulatedLog: CommandLog {
    /// The calls at which a fault can be injected.
    enum Call: Hashable, CaseIterable {
        case initTransactions, poll, start, restorePoints, openChangelog, readChangelog
        case begin, produce, sendOffsets, commit, abort
    }

    let cluster: SimulatedCluster
    let member: String
    private let ids: [String]
    private var epochs: [Int] = []
    private var turn = 0

    private var knownGeneration = 0
    private var isAssigned = false
    /// The generation that the partitions belong to, as the worker was told.
    private var membership = 0
    private var positions: [SimulatedCluster.Place: Offset] = [:]
    private var changelog: [Int32: Offset] = [:]
    private var lentRecords: [SimulatedPartition.Record] = []
    private(set) var hasLeft = false

    /// Asked before each call; an error is thrown instead of making it.
    var fault: (Call) -> LogError? = { _ in nil }
    /// Asked after each call that changes the cluster; an error is thrown although the call was made: its answer is lost.
    var lostReply: (Call) -> LogError? = { _ in nil }
    /// A larger record makes its transaction fail.
    var largestRecord = Int.max

    init(cluster: SimulatedCluster, member: String) {
        self.cluster = cluster
        self.member = member
        ids = ["\(member)-a", "\(member)-b"]
        cluster.join(member)
    }

    private func check(_ call: Call) throws(LogError) {
        if let error = fault(call) { throw error }
    }

    func name(of topic: InputTopic) -> String { "juice.\(topic)" }

    func leave() {
        hasLeft = true
        cluster.remove(member)
    }

    // MARK: Input

    func poll(maxRecords: Int, wait: Bool) throws(LogError) -> PollResult {
        try check(.poll)
        guard cluster.members.contains(member) else { return .records([]) }
        if knownGeneration != cluster.generation {
            if isAssigned {
                isAssigned = false
                positions = [:]
                return .revoked
            }
            knownGeneration = cluster.generation
            membership = cluster.generation
            let assignment = cluster.assignment(of: member)
            guard !assignment.isEmpty else { return .records([]) }
            isAssigned = true
            return .assigned(assignment)
        }
        return try readCommands(max: maxRecords)
    }

    private func readCommands(max: Int) throws(LogError) -> PollResult {
        var commands: [CommandRecord] = []
        lentRecords = []
        for (place, position) in positions.sorted(by: {
            ($0.key.partition, "\($0.key.topic)") < ($1.key.partition, "\($1.key.topic)")
        }) {
            let partition = cluster[place.topic, place.partition]
            guard position >= partition.start else {
                return .outOfRange(partition: place.partition, reason: "offset \(position) expired")
            }
            let (records, next) = partition.readCommitted(from: position, max: max - commands.count)
            positions[place] = next
            for (offset, record) in records {
                lentRecords.append(record)
                commands.append(
                    CommandRecord(
                        topic: place.topic == .orders ? .orders : .restocks,
                        partition: place.partition,
                        offset: offset,
                        key: record.key?.view,
                        value: record.value?.view,
                        headers: record.headers
                    )
                )
            }
        }
        return .records(commands)
    }

    func start(at positions: [InputPosition]) throws(LogError) {
        try check(.start)
        self.positions = places(positions)
    }

    private func places(_ positions: [InputPosition]) -> [SimulatedCluster.Place: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (SimulatedCluster.Place(topic: .init($0.topic), partition: $0.partition), $0.offset)
            }
        )
    }

    // MARK: Restoring

    func restorePoints(of partitions: [Int32]) throws(LogError) -> [RestorePoint] {
        try check(.restorePoints)
        let inputs = partitions.flatMap { partition in
            InputTopic.allCases.map { SimulatedCluster.Place(topic: .init($0), partition: partition) }
        }
        guard let committed = cluster.stableOffsets(inputs) else {
            throw LogError(.retry, "a transaction is undecided about the offsets")
        }
        return partitions.map { partition in
            func input(_ topic: SimulatedCluster.Topic) -> RestorePoint.Input {
                let log = cluster[topic, partition]
                return .init(
                    committed: committed[.init(topic: topic, partition: partition)],
                    log: Offset(log.start)..<log.end
                )
            }
            return RestorePoint(
                partition: partition,
                orders: input(.orders),
                restocks: input(.restocks),
                changelogEnd: cluster[.stock, partition].end
            )
        }
    }

    func openChangelog(_ partitions: [Int32]) throws(LogError) {
        try check(.openChangelog)
        changelog = Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) })
    }

    /// A few records at a time, so that a restore takes several steps.
    func readChangelog() throws(LogError) -> ChangelogBatch {
        try check(.readChangelog)
        var batch: [ChangelogBatch.Record] = []
        var ends: [(partition: Int32, next: Offset)] = []
        lentRecords = []
        for (partition, position) in changelog.sorted(by: { $0.key < $1.key }) {
            let (records, next) = cluster[.stock, partition].readCommitted(from: position, max: 3)
            changelog[partition] = next
            for (offset, record) in records {
                lentRecords.append(record)
                batch.append(
                    .init(
                        partition: partition,
                        offset: offset,
                        key: record.key?.view,
                        value: record.value?.view
                    )
                )
            }
            if next == cluster[.stock, partition].lastStableOffset { ends.append((partition, next)) }
        }
        return ChangelogBatch(records: batch, ends: ends)
    }

    // MARK: Transactions

    private var id: String { ids[turn] }

    private func checkEpoch() throws(LogError) {
        guard epochs.indices.contains(turn), cluster.isCurrent(id, epoch: epochs[turn]) else {
            throw LogError(.startOver, "\(id) is fenced")
        }
    }

    func initTransactions() throws(LogError) {
        try check(.initTransactions)
        epochs = []
        for id in ids {
            guard let epoch = cluster.initTransactions(id) else {
                throw LogError(.retry, "markers of \(id) are not written yet")
            }
            epochs.append(epoch)
        }
    }

    func begin() throws(LogError) {
        try check(.begin)
        // The other producer's turn; and like a broker, none while its last markers are being written.
        if cluster.hasUnwrittenMarkers(ids[1 - turn]) { throw LogError(.retry, "concurrent transactions") }
        turn = 1 - turn
    }

    func produce(_ record: OutputRecord) throws(LogError) {
        try check(.produce)
        try checkEpoch()
        if record.value?.count ?? 0 > largestRecord {
            throw LogError(.abort, "the record is too large", isRecordTooLarge: true)
        }
        cluster.produce(
            id,
            to: .init(topic: .init(record.topic), partition: record.partition),
            record
        )
    }

    func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        try check(.sendOffsets)
        try checkEpoch()
        guard membership == cluster.generation, cluster.members.contains(member) else {
            throw LogError(.abort, "generation \(membership) is over")
        }
        cluster.addOffsets(id, places(positions))
        if let error = lostReply(.sendOffsets) { throw error }
    }

    func commit() throws(LogError) {
        try check(.commit)
        try checkEpoch()
        cluster.decide(id, isCommit: true)
        if let error = lostReply(.commit) { throw error }
    }

    func abort() throws(LogError) {
        try check(.abort)
        try checkEpoch()
        cluster.decide(id, isCommit: false)
        if let error = lostReply(.abort) { throw error }
    }
}
