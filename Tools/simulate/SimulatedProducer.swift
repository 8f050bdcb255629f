import JuiceDomain
import JuiceEngine
import JuiceMessages

/// The client side of a transactional producer. Records are queued and reach the brokers later: at the latest when they are
/// flushed, at times even after their process has crashed or another has taken over their transactional id.
final class SimulatedProducer {
    private typealias Queued = (place: Place, record: SimulatedPartition.Record)

    let id: String
    /// The id's number at the coordinator.
    let number: Int
    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private let written: WrittenOffsets
    /// Nil until the id is taken over.
    var epoch: Int?
    private var queue: [Queued] = []
    /// All records of the open transaction, for ``Flaw/secondPath``.
    private var produced: [Queued] = []
    /// The partitions that the client has added to its open transaction. It does not add them again, whatever a late request
    /// has made of the transaction meanwhile.
    private var added: Set<Place> = []
    private var failure: LogError?
    /// How often logs had lost their ends when it was made.
    private let truncations: Int
    private var stalls = 0

    /// How often records wait in vain for a leader or markers before the client gives up.
    private static let mostStalls = 5

    init(_ id: String, on cluster: SimulatedCluster, written: WrittenOffsets, flaw: Flaw?) {
        (self.id, self.cluster, self.written, self.flaw) = (id, cluster, written, flaw)
        number = cluster.number(of: id)
        truncations = cluster.truncations
    }

    /// Whether a transaction can begin at once.
    var isReady: Bool { !cluster.transactions[number].isEnding }

    /// Whether it has records that may be delivered.
    var hasQueue: Bool { !queue.isEmpty && failure == nil }

    /// The client drops the producer. Records in flight may still arrive.
    func drop() {
        if !cluster.isDisorderly() { queue = [] }
    }

    func begin() { (queue, produced, added, failure, stalls) = ([], [], [], nil, 0) }

    func produce(_ record: SimulatedPartition.Record, to place: Place) throws(LogError) {
        if let failure { throw failure }
        enlist()
        queue.append((place, record))
        if flaw == .secondPath { produced.append((place, record)) }
        while cluster.isDisorderly(), hasQueue { deliver() }
    }

    /// Loses a record in flight.
    func loseRecord() {
        if flaw != .failedDeliveryIgnored { failure = LogError(.startOver, "a record was not delivered") }
    }

    func flush() throws(LogError) {
        do throws(LogError) {
            while hasQueue {
                guard deliver() else { throw stall() }
                cluster.interlude()
            }
            if let failure { throw failure }
            if let place = written.takeNews() { throw LogError(.startOver, "\(place) lacks records that were written to it") }
            stalls = 0
        } catch {
            guard flaw == .secondPath, error.remedy == .startOver else { throw error }
            try goOn(after: error)
        }
    }

    private func stall() -> LogError {
        stalls += 1
        return error(stalls < Self.mostStalls ? .retry : .startOver, "records wait for a leader or for markers")
    }

    /// Commits the transaction, unless it has no records.
    func commit() throws(LogError) {
        try flush()
        guard !added.isEmpty, let epoch else { return }
        switch cluster.transactions[number].end(.commit, epoch: currentEpoch(epoch)) {
        case .done: keepLate(.commit, epoch)
        case .concurrent: throw error(.retry, "markers are not written yet")
        case .fenced: throw error(.startOver, "fenced")
        case .invalid: throw error(.startOver, "the transaction is aborted already")
        }
    }

    private func error(_ remedy: LogError.Remedy, _ message: String) -> LogError { LogError(remedy, "\(id): \(message)") }

    private func keepLate(_ decision: Decision, _ epoch: Int) {
        cluster.keepLate(decision.rawValue, of: number, isEnd: true) { [number] in
            $0.transactions[number].end(decision, epoch: epoch)
        }
    }

    private func currentEpoch(_ epoch: Int) -> Int { flaw == .noProducerFence ? cluster.transactions[number].epoch : epoch }

    /// Aborts and produces all records again, in the same epoch and without checking what became of them.
    private func goOn(after failure: LogError) throws(LogError) {
        guard let epoch, cluster.transactions[number].epoch == epoch else { throw failure }
        _ = cluster.transactions[number].end(.abort, epoch: epoch)
        keepLate(.abort, epoch)
        let records = produced
        begin()
        (queue, produced) = (records, records)
        enlist()
        throw error(.retry, "aborted, once more")
    }

    private func enlist() {
        if !cluster.sending.contains(where: { $0 === self }) { cluster.sending.append(self) }
    }

    // MARK: - Delivery

    /// Delivers a record: the oldest one or, since each broker is served by itself, the oldest of another partition.
    ///
    /// - Returns: whether the next one can be tried.
    @discardableResult func deliver() -> Bool {
        guard failure == nil, let first = queue.first else { return false }
        var index = 0
        if cluster.isDisorderly(), let other = queue.last(where: { $0.place != first.place }) {
            index = queue.firstIndex { $0.place == other.place } ?? 0
        }
        guard deliver(queue[index]) else { return failure != nil }
        queue.remove(at: index)
        return true
    }

    private func deliver(_ next: Queued) -> Bool {
        let (place, partition) = (next.place, cluster[next.place])
        guard let own = epoch, !cluster.isDown, !partition.isLeaderless else { return false }
        let epoch = currentEpoch(own)
        if !added.contains(place) {
            switch cluster.transactions[number].add(place, epoch: epoch, at: cluster.now) {
            case .done: added.insert(place)
            case .concurrent: return false
            case .fenced, .invalid: return fail("fenced")
            }
            cluster.keepLate("addition of \(place)", of: number) { [number] in
                $0.transactions[number].add(place, epoch: epoch, at: $0.now)
            }
        }
        // Brokers of Kafka 3.6 and later ask the coordinator, unless the partition has records of the transaction already.
        guard
            flaw == .transactionsNotVerified || partition.hasOngoing(by: number, epoch: epoch)
                || cluster.transactions[number].verify(place, epoch: epoch)
        else { return fail("the partition is not in the transaction") }
        // A broker that lacks a producer's last records refuses the next ones.
        guard partition.truncated ?? -1 < truncations else { return fail("out of order") }
        written.add(partition.end, in: place)
        partition.append(next.record, by: number, epoch: epoch)
        return true
    }

    private func fail(_ message: String) -> Bool {
        failure = error(.startOver, message)
        return false
    }
}

/// The offsets of the records that a worker wrote.
final class WrittenOffsets {
    private var last: [Place: Offset] = [:]
    private var transaction: [Place: [Range<Offset>]] = [:]
    private var truncated: Set<Place> = []
    private var news: Place?

    func add(_ offset: Offset, in place: Place) {
        if let last = last[place], offset <= last {
            truncated.insert(place)
            news = place
        }
        last[place] = offset
        transaction[place, default: []].append(offset..<offset + 1)
    }

    func begin() { transaction = [:] }

    /// The offsets of the last transaction's records in each partition of the results.
    var results: [Int32: [Range<Offset>]] {
        transaction.reduce(into: [:]) { if $1.key.topic == .results { $0[$1.key.partition] = $1.value } }
    }

    /// A partition that was found to lack records since the last call.
    func takeNews() -> Place? {
        defer { news = nil }
        return news
    }

    /// Whether a partition lacks records that were written to it. Reported once.
    func takeLoss(of place: Place, endingAt end: Offset) -> Bool {
        let isShort = last[place].map { end <= $0 } ?? false
        if isShort { last[place] = nil }
        return truncated.remove(place) != nil || isShort
    }
}
