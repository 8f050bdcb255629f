import JuiceEngine

/// One worker's log on a ``SimulatedCluster``: a member of a group with transactional producers that are used in turn.
package final class SimulatedLog: CommandLog {
    /// The calls at which a fault can be injected.
    package enum Call: Hashable, CaseIterable {
        case poll, start, readBack
        case extents, groupOffsets, confirmMembership, initTransactions, fence
        case answerStarts, openChangelog, readChangelog
        case begin, produce, flush, commit

        /// Those that may take effect although they fail.
        static let lossy: Set<Call> = [.confirmMembership, .initTransactions, .fence, .flush, .commit]

        /// Whether it waits for a broker. Records are sent in the background.
        var isRemote: Bool {
            switch self {
            case .poll, .start, .openChangelog, .readChangelog, .begin, .produce: false
            default: true
            }
        }
    }

    /// Where a pause may do most harm: right after this.
    enum Point: CaseIterable {
        case initialised, measured, betweenFences, fenced, claimProduced, claimCommitted, journalRead
        case polled, midTransaction, flushed, committed

        /// Those before a partition is taken over.
        static let ofTakeovers = [initialised, measured, betweenFences, fenced, claimProduced, claimCommitted, journalRead]
    }

    package let cluster: SimulatedCluster
    package let member: String
    /// The number of its consumer group.
    let group: Int
    let flaws: SimulatedFlaws
    var flaw: Flaw? { flaws.flaw }

    /// The set of transactional ids in use, and its producers, used in turn.
    var set: Int
    var producers: [SimulatedProducer] = []
    let written = WrittenOffsets()
    var turn = 0
    var isInitialising = false
    /// The ids to fence, and those of them that are fenced.
    var fencing: Set<String> = []
    var fenced: Set<String> = []
    /// Whether the open transaction has claims.
    var isClaiming = false
    var producedCount = 0
    /// When the open transaction got its first record. All of its records have this time, as if they were written at once: the
    /// auditor takes it for the time at which the commands were read.
    var writtenAt: Timestamp?

    /// Nil for an operator's tool.
    var membership: SimulatedGroup.Membership?
    /// The generation of the assignment that the worker has.
    var assignedGeneration: Int?
    /// The assigned partitions by topic, and what the worker reads of them.
    var given: [[Int32]] = [[], []]
    var share: InputShare?
    /// Until when the member does not hear of its group.
    var deafUntil: Timestamp = .min
    var positions: [SimulatedCluster.Place: Offset] = [:]
    /// The ends already reported: like librdkafka, the log reports each end once.
    var reportedEnds: [SimulatedCluster.Place: Offset] = [:]
    /// How often each log had lost records when its extents were asked for last.
    var seenLosses: [SimulatedCluster.Place: Int] = [:]
    var changelog: [SimulatedCluster.Place: (topic: ChangelogTopic, next: Offset)] = [:]
    var isolation = Isolation.committed
    var lentRecords: [SimulatedPartition.Record] = []
    /// The records of changelogs that were read last.
    var lentChanges: [SimulatedPartition.Record] = []
    /// What the worker did last, if a pause may do harm now.
    var point: Point?

    /// Called before each call; an error is thrown instead of making the call.
    package var fault: (Call) -> LogError? = { _ in nil }
    /// Called after each call; an error is thrown although the call was made: its reply is lost.
    package var lostReply: (Call) -> LogError? = { _ in nil }
    /// Whether the next record is lost.
    package var losesDelivery = false
    /// The largest record that is not refused, in bytes.
    package var largestRecord = Int.max
    /// Records that are refused for other reasons than their size.
    package var refuses: (OutputRecord) -> Bool = { _ in false }
    /// Records that cannot be written for now.
    package var breaks: (OutputRecord) -> Bool = { _ in false }
    /// The most records of a transaction that does not fail.
    package var largestTransaction = Int.max
    /// Partitions that have no leader.
    package var leaderless: Set<Int32> = []
    /// The most records of a changelog's partition that are read at a time.
    package var longestRead = 5
    /// Called with a line for each call and its outcome.
    package var trace: ((String) -> Void)?

    package init(cluster: SimulatedCluster, member: String, group: Int = 0, set: Int = 0, flaw: Flaw? = nil) {
        self.cluster = cluster
        self.member = member
        self.group = group
        self.set = set
        flaws = SimulatedFlaws(flaw, on: cluster)
        membership = cluster.groups[group].join(member)
    }

    /// The log of an operator's tool, which is no member of a group.
    package init(operator name: String, on cluster: SimulatedCluster, share: InputShare) {
        (self.cluster, member, self.share) = (cluster, name, share)
        (group, set) = (0, 0)
        flaws = SimulatedFlaws(nil, on: cluster)
        membership = nil
    }

    package var now: Timestamp { cluster.now }

    package func name(of topic: InputTopic) -> String { "juice.\(topic)" }

    package func writtenResults(of partition: Int32) -> [Range<Offset>] {
        written.transaction(in: SimulatedCluster.Place(topic: .results, partition: partition))
    }

    package func writtenStockEnd(of partition: Int32) -> Offset {
        written.end(of: SimulatedCluster.Place(topic: .stock, partition: partition)) ?? 0
    }

    package func leave() {
        trace?("leave")
        if let membership, cluster.groups[group].isMember(membership) { cluster.groups[group].remove(member) }
        drop()
    }

    /// The process ends. What its clients have sent may still arrive.
    func drop() {
        for producer in producers { producer.drop() }
        producers = []
    }

    /// Calls that trace themselves, or are too many.
    private static let untraced: Set<Call> = [.poll, .produce, .extents, .openChangelog, .readChangelog, .fence]

    /// Makes a call, unless a fault is due or the cluster is down.
    func call<Result>(_ call: Call, _ body: () throws(LogError) -> Result) throws(LogError) -> Result {
        point = nil
        // An operator's tool waits in its calls.
        if membership == nil { cluster.writeAllMarkers() }
        do throws(LogError) {
            if let error = fault(call) { throw error }
            if cluster.isDown, call.isRemote { throw LogError(.retry, "no broker answers") }
            let result = try body()
            if let error = lostReply(call) {
                trace?("\(call): done, but the reply is lost")
                throw error
            }
            if !Self.untraced.contains(call) { trace?("\(call)") }
            return result
        } catch {
            trace?("\(call): \(error.message) (\(error.remedy))")
            throw error
        }
    }
}

// MARK: - The group

extension SimulatedLog {
    package func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        try call(.poll) { () throws(LogError) in
            if let change = try nextRebalance() {
                trace?("poll: \(change)")
                return change
            }
            return cluster.isDown ? .records([], ends: []) : try readCommands(max: maxRecords)
        }
    }

    /// Rebalances as an eager consumer: first everything is revoked, then the new share is assigned.
    private func nextRebalance() throws(LogError) -> PollResult? {
        guard !cluster.isDown, deafUntil <= now, let membership else { return nil }
        if cluster.groups[group].isReplaced(membership) { throw LogError.replaced }
        let isMember = cluster.groups[group].isMember(membership)
        if isMember, assignedGeneration == cluster.groups[group].generation { return nil }
        if assignedGeneration != nil {
            assignedGeneration = nil
            positions = [:]
            return .revoked
        }
        // A member whose session has expired joins anew.
        let renewed =
            isMember
            ? .init(name: member, number: membership.number, generation: cluster.groups[group].generation)
            : cluster.groups[group].join(member)
        (self.membership, assignedGeneration) = (renewed, renewed.generation)
        given = cluster.groups[group].assignment(of: member)
        let share = InputShare(
            orders: given[0], partitionCount: cluster.partitionCount, orderCount: cluster.count(of: .orders),
            restockCount: cluster.count(of: .restocks))
        self.share = share
        flaws.assigned()
        return .assigned(share)
    }

    package func publish(_ positions: [InputPosition]) {
        guard !cluster.isDown, let membership, cluster.groups[group].isCurrent(membership) else { return }
        let offsets = places(positions)
        trace?("publish " + offsets.map { "\($0.topic)[\($0.partition)]@\($1)" }.sorted().joined(separator: " "))
        if cluster.isDisorderly() { cluster.lateOffsets.append((group, offsets)) } else { cluster.groups[group].commit(offsets) }
    }

    package func confirmMembership(_ positions: [InputPosition]) throws(LogError) {
        try call(.confirmMembership) { () throws(LogError) in
            guard let membership else { return }
            // A coordinator that lost its data, or is confused, takes a stale member for one of its own.
            guard cluster.groups[group].isCurrent(membership) || cluster.isDisorderly() else {
                throw LogError(.startOver, "generation \(membership.generation) is over")
            }
            cluster.groups[group].commit(places(positions))
        }
    }

    package func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: Offset] {
        try call(.groupOffsets) { () throws(LogError) in
            let committed = cluster.groups[group].committed(partitions.map(SimulatedCluster.Place.init))
            return partitions.reduce(into: [:]) { $0[$1] = committed[.init($1)] }
        }
    }

    func places(_ positions: [InputPosition]) -> [SimulatedCluster.Place: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (SimulatedCluster.Place(topic: $0.topic.topic, partition: $0.partition), $0.offset)
            })
    }
}
