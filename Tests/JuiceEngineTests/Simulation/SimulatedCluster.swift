import JuiceEngine

/// A Kafka cluster in memory, single-threaded and deterministic: partitions, one consumer group, transactions in
/// two phases (the decision, then its markers, each at a time of the scheduler's choosing) and fencing.
final class SimulatedCluster {
    enum Topic: Hashable, CaseIterable {
        case orders, restocks, results, stock, deadLetters

        init(_ topic: InputTopic) {
            switch topic {
            case .orders: self = .orders
            case .restocks: self = .restocks
            }
        }

        init(_ topic: OutputTopic) {
            switch topic {
            case .results: self = .results
            case .stock: self = .stock
            case .deadLetters: self = .deadLetters
            }
        }
    }

    struct Place: Hashable {
        let topic: Topic
        let partition: Int32
    }

    /// An offset and its place among all that were ever sent. Of two transactions the one that sent later wins, in
    /// whichever order their markers are written: so does Apache Kafka, by the offsets' own place in the group's log.
    struct SentOffset {
        let offset: Offset
        let sequence: Int
    }

    /// What the transaction coordinator knows of a transactional id.
    struct Coordination {
        var epoch = 0
        var number = 0
        var isOpen = false
        var touched: Set<Place> = []
        var pendingOffsets: [Place: SentOffset] = [:]
        /// Decided, but the marker is not written everywhere yet.
        var unwrittenMarkers: [(place: Place?, isCommit: Bool)] = []
    }

    let partitionCount: Int32
    private(set) var partitions: [Place: SimulatedPartition] = [:]
    private(set) var coordinations: [String: Coordination] = [:]
    private var committed: [Place: SentOffset] = [:]
    private var sentOffsetCount = 0

    /// The group: members in the order in which they joined, and what each was told of last.
    private(set) var generation = 0
    private(set) var members: [String] = []
    private(set) var assignments: [String: [Int32]] = [:]

    init(partitionCount: Int32) {
        self.partitionCount = partitionCount
        for topic in Topic.allCases {
            for partition in 0..<partitionCount {
                partitions[Place(topic: topic, partition: partition)] = SimulatedPartition()
            }
        }
    }

    subscript(topic: Topic, partition: Int32) -> SimulatedPartition {
        get { partitions[Place(topic: topic, partition: partition), default: SimulatedPartition()] }
        set { partitions[Place(topic: topic, partition: partition)] = newValue }
    }

    /// Writes a record as a client does.
    func send(_ topic: InputTopic, partition: Int32, key: String?, value: String, headers: [Header] = []) {
        self[Topic(topic), partition].append(
            .init(
                key: key.map(StableBytes.init),
                value: StableBytes(value),
                headers: headers,
                transaction: nil
            )
        )
    }
}

// MARK: - The group

extension SimulatedCluster {
    func join(_ member: String) {
        if !members.contains(member) { members.append(member) }
        rebalance()
    }

    func remove(_ member: String) {
        members.removeAll { $0 == member }
        rebalance()
    }

    /// Begins a new generation and shares out the partitions by range.
    func rebalance() {
        generation += 1
        assignments = [:]
        guard !members.isEmpty else { return }
        for partition in 0..<partitionCount {
            let index = Int(partition) * members.count / Int(partitionCount)
            assignments[members[index], default: []].append(partition)
        }
    }

    /// What a member that was told of `generation` last must be told now.
    func assignment(of member: String) -> [Int32] { assignments[member] ?? [] }

    /// What a broker does with a group that was idle for too long.
    func forgetCommittedOffsets() { committed = [:] }

    var committedOffsets: [Place: Offset] { committed.mapValues(\.offset) }

    /// Committed offsets, unless a transaction is undecided about one of them.
    func stableOffsets(_ places: [Place]) -> [Place: Offset]? {
        let undecided = Set(coordinations.values.flatMap(\.pendingOffsets.keys))
        guard undecided.isDisjoint(with: places) else { return nil }
        return committedOffsets.filter { places.contains($0.key) }
    }
}

// MARK: - Transactions

extension SimulatedCluster {
    /// Takes over a transactional id: aborts what is open, fences older epochs.
    ///
    /// - Returns: the new epoch, or nil while markers of a decided transaction are unwritten.
    func initTransactions(_ id: String) -> Int? {
        abortOpen(id)
        guard coordinations[id]?.unwrittenMarkers.isEmpty ?? true else {
            coordinations[id]?.epoch += 1
            return nil
        }
        coordinations[id, default: Coordination()].epoch += 1
        return coordinations[id]?.epoch
    }

    /// What a coordinator does when a transaction has been open for too long.
    func timeOut(_ id: String) {
        guard coordinations[id]?.isOpen == true else { return }
        coordinations[id]?.epoch += 1
        abortOpen(id)
    }

    private func abortOpen(_ id: String) {
        if coordinations[id]?.isOpen == true { decide(id, isCommit: false) }
    }

    func isCurrent(_ id: String, epoch: Int) -> Bool { coordinations[id]?.epoch == epoch }

    func hasUnwrittenMarkers(_ id: String) -> Bool { coordinations[id]?.unwrittenMarkers.isEmpty == false }

    private func open(_ id: String) {
        guard coordinations[id]?.isOpen == false else { return }
        coordinations[id]?.isOpen = true
        coordinations[id]?.number += 1
    }

    func produce(_ id: String, to place: Place, _ record: OutputRecord) {
        open(id)
        coordinations[id]?.touched.insert(place)
        partitions[place]?.append(
            .init(
                key: record.key.map(StableBytes.init),
                value: record.value.map(StableBytes.init),
                headers: record.headers,
                transaction: key(id)
            )
        )
    }

    func addOffsets(_ id: String, _ offsets: [Place: Offset]) {
        open(id)
        sentOffsetCount += 1
        let sent = offsets.mapValues { SentOffset(offset: $0, sequence: sentOffsetCount) }
        coordinations[id]?.pendingOffsets.merge(sent) { _, new in new }
    }

    /// The decision. From here on it is only a matter of time.
    func decide(_ id: String, isCommit: Bool) {
        guard var coordination = coordinations[id], coordination.isOpen else { return }
        coordination.isOpen = false
        var places: [Place?] = coordination.touched.sorted {
            ($0.partition, "\($0.topic)") < ($1.partition, "\($1.topic)")
        }
        places.append(nil)
        coordination.unwrittenMarkers = places.map { ($0, isCommit) }
        coordination.touched = []
        coordinations[id] = coordination
    }

    /// Writes one marker that is due. A nil place is the group's offsets.
    func writeMarker(_ id: String, at index: Int) {
        guard let coordination = coordinations[id], coordination.unwrittenMarkers.indices.contains(index)
        else {
            return
        }
        let (place, isCommit) = coordination.unwrittenMarkers[index]
        coordinations[id]?.unwrittenMarkers.remove(at: index)
        if let place {
            partitions[place]?.appendMarker(key(id), isCommit: isCommit)
        } else {
            if isCommit {
                committed.merge(coordination.pendingOffsets) { $0.sequence < $1.sequence ? $1 : $0 }
            }
            coordinations[id]?.pendingOffsets = [:]
        }
    }

    func writeAllMarkers() {
        for id in coordinations.keys.sorted() {
            while hasUnwrittenMarkers(id) { writeMarker(id, at: 0) }
        }
    }

    private func key(_ id: String) -> TransactionKey {
        TransactionKey(transactionalID: id, number: coordinations[id]?.number ?? 0)
    }
}

// MARK: - What a monitor sees

extension SimulatedCluster {
    /// The committed values of a topic's partition, in order.
    func values(_ topic: Topic, partition: Int32) -> [String] {
        self[topic, partition].readCommitted(from: 0).records.map { _, record in
            record.value.map { String(decoding: $0.view, as: UTF8.self) } ?? ""
        }
    }
}
