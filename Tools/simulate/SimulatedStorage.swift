import JuiceDomain
import JuiceEngine
import JuiceMessages

/// Damage to a topic by storage or a careless operator.
struct StorageFault {
    enum Kind {
        /// The topic is deleted and recreated.
        case recreated
        /// A partition loses its last records: its new leader was behind.
        case truncated
        /// A batch of records can no longer be read.
        case damaged
        /// A partition loses its first records, as if its retention were too short.
        case trimmed
    }

    let kind: Kind
    let topic: Topic
    let step: Int

    init(steps: Int, using random: inout SeededGenerator) {
        let topics: [Topic] = [.orders, .restocks, .results, .stock]
        kind = random.pick([Kind.recreated, .truncated, .damaged]) ?? .recreated
        topic = random.pick(topics) ?? .orders
        step = random.number(steps / 4...steps - 1)
    }

    /// Whether it strikes now. Retention strikes again and again.
    func isDue(at step: Int) -> Bool {
        step == self.step || kind == .trimmed && step > self.step && (step - self.step).isMultiple(of: 5)
    }

    /// The loss of a journal's beginning, in a tenth of the runs.
    init?(trimming steps: Int, using random: inout SeededGenerator) {
        guard random.chance(10) else { return nil }
        (kind, topic, step) = (.trimmed, .results, random.number(steps / 4...steps - 1))
    }
}

/// The damage of storage to a cluster, and the operator who repairs the partitions that stopped.
///
/// The operator knows where reading should continue: in a new log at its beginning, in one that lost its end at the cut, and in one
/// with a damaged record after it. An unreadable stock cannot be repaired.
struct SimulatedStorage {
    let cluster: SimulatedCluster
    /// For each partition that may stop, where reading of its inputs continues.
    private var wounds: [Int32: [Place: Offset]] = [:]
    /// Partitions that stopped and wait for the operator, with the faults that the service reported.
    private var stopped: [Int32: PartitionFault] = [:]
    /// Whether the logs are unchanged except for single records.
    var hasDamage = false
    /// Partitions that cannot be repaired.
    private(set) var lost: Set<Int32> = []
    /// Where the journals begin to describe the present logs and stock: at the last anchor.
    private(set) var cuts: [Int32: Offset] = [:]

    /// A flaw of the operator's tool.
    private let flaw: Flaw?

    init(_ cluster: SimulatedCluster, flaw: Flaw?) { (self.cluster, self.flaw) = (cluster, flaw) }

    /// Commands whose answers were lost.
    var unanswered: [(place: Place, command: SimulatedPartition.Record)] = []

    var hasStopped: Bool { !stopped.isEmpty }

    /// Carries out a fault, unless no worker could notice it.
    ///
    /// - Returns: what happened, for the trace.
    mutating func strike(_ fault: StorageFault) -> String {
        let partitions = 0..<cluster.count(of: fault.topic)
        let place = Place(topic: fault.topic, partition: cluster.random.pick(partitions) ?? 0)
        let log = cluster[place]
        switch fault.kind {
        case .recreated:
            for place in partitions.map({ Place(topic: fault.topic, partition: $0) }) where isNoticed(place, cutTo: 0) {
                recreate(place)
            }
            return "\(fault.topic) is recreated"
        case .truncated:
            let count = cluster.random.number(1...20)
            let end = log.end(afterLosing: count)
            guard isNoticed(place, cutTo: end) else { return "nothing is cut" }
            wound(place, anchor: end)
            cluster.truncate(place.topic, place.partition, last: count)
            return "\(place) is cut to \(end)"
        case .trimmed:
            guard place.partition < cluster.partitionCount else { return "nothing is deleted" }
            // Keeps the journal's positions, which are still known now.
            wound(place, anchor: 0)
            let start = max(log.start, log.end - Offset(cluster.random.number(0...10)))
            log.deleteRecords(before: start)
            return "\(place) begins at \(start)"
        case .damaged:
            let records = log.read(from: log.lastStableOffset - 20).records
            guard let offset = cluster.random.pick(records)?.offset else { return "nothing can be damaged" }
            // A whole batch, which in most fetches is not the first.
            let batch = offset..<min(offset + Offset(cluster.random.number(1...4)), log.lastStableOffset)
            log.damaged.formUnion(batch)
            hasDamage = fault.topic != .results
            wound(place, anchor: batch.upperBound)
            if fault.topic == .stock { lost.insert(place.partition) }
            return "\(place)@\(batch) is damaged"
        }
    }

    /// Whether a worker that takes the partition over can notice or repair the truncation of a log.
    private func isNoticed(_ place: Place, cutTo end: Offset) -> Bool {
        guard place.partition < cluster.partitionCount else { return place.topic != .results && place.topic != .stock }
        switch place.topic {
        case .results where end > 0 && !hasData(place, before: end):
            // If a journal has no data left, only the stock shows that there was more.
            return cluster[.stock, place.partition].end > 0
        default: return true
        }
    }

    /// Whether a journal has other records than claims before an offset.
    private func hasData(_ place: Place, before end: Offset) -> Bool {
        cluster[place].read(.uncommitted).records.contains { offset, record in
            guard offset < end, let value = record.value?.view else { return false }
            return SimulatedJournal.members(of: value)["type"] as? String != "claim"
        }
    }

    mutating func recreate(_ place: Place) {
        wound(place, anchor: 0)
        cluster[place].clear()
    }

    /// Notes that a partition may stop. Reading of its inputs continues where its journal says.
    mutating func wound(_ partition: Int32) {
        // Reads the journal now: the operator knows what it said so far.
        _ = cluster.journal(of: partition)
        wounds[partition] = wounds[partition] ?? [:]
    }

    /// Notes that a partition may stop, and where reading of its inputs continues.
    private mutating func wound(_ place: Place, anchor: Offset) {
        let partition = place.partition % cluster.partitionCount
        if place.topic == .orders || place.topic == .restocks {
            wounds[partition, default: [:]][place] = anchor
        } else {
            wounds[partition, default: [:]].merge(cluster.journal(of: partition).positions) { max($0, $1) }
        }
    }

    /// Notes that the service has stopped a partition.
    ///
    /// - Returns: whether the service has a reason for that.
    mutating func stop(_ partition: Int32, _ fault: PartitionFault) -> Bool {
        if wounds[partition] == nil { return false }
        stopped[partition] = fault
        return true
    }

    /// Repairs one of the partitions that stopped.
    ///
    /// - Returns: what was done, for the trace.
    mutating func repair() -> String? {
        guard !cluster.isDown, cluster.hasLeaders, let (partition, fault) = stopped.min(by: { $0.key < $1.key }) else { return nil }
        stopped[partition] = nil
        let known = (wounds[partition] ?? [:]).merging(cluster.journal(of: partition).positions, uniquingKeysWith: max)
        var anchors: [InputPosition] = []
        switch fault.kind {
        case .input(let input):
            let place = Place(input)
            let anchor = wounds[partition]?[place] ?? known[place] ?? cluster[place].start
            anchors = [InputPosition(topic: input.topic, partition: input.partition, offset: anchor)]
        case .journal:
            // The operator deletes damaged records.
            if let last = cluster[.results, partition].damaged.max() {
                cluster[.results, partition].deleteRecords(before: last + 1)
            }
            fallthrough
        default:
            guard !lost.contains(partition) else { return nil }
            anchors = cluster.assignment(ofOrders: [partition]).inputs(of: partition).map { input in
                let log = cluster[Place(input)]
                let anchor = min(max(known[Place(input)] ?? 0, log.start), log.end)
                return InputPosition(topic: input.topic, partition: input.partition, offset: anchor)
            }
        }
        if !hasDamage { cuts[partition] = cluster[.results, partition].end }
        for anchor in anchors { try? cluster.anchor(anchor, flaw: flaw) }
        return "an operator anchors \(anchors.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " "))"
    }
}
