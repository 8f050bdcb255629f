import JuiceDomain
import JuiceEngine

/// A transactional producer, as a client has it. Records are queued and reach the brokers later: at the latest when they are
/// flushed, at times even after their process has crashed or another has taken over their transactional id.
final class SimulatedProducer {
    private struct Queued {
        let place: Place
        let record: SimulatedPartition.Record
    }

    let id: String
    /// The id's number at the coordinator.
    let number: Int
    private let cluster: SimulatedCluster
    private let flaw: Flaw?
    private let written: WrittenOffsets?
    /// Nil until the id is taken over.
    var epoch: Int?
    private var queue: [Queued] = []
    /// All records of the open transaction, for ``Flaw/secondPath``.
    private var produced: [Queued] = []
    /// The partitions that the client has added to its open transaction. It does not add them again, whatever a late request
    /// has made of the transaction meanwhile.
    private var added: Set<Place> = []
    private var failure: LogError?
    /// How many logs had lost their ends when it was made.
    private let truncations: Int
    private var stalls = 0

    /// How often a request fails for want of a leader before the client gives up.
    private static let mostStalls = 5

    init(_ id: String, on cluster: SimulatedCluster, written: WrittenOffsets? = nil, flaw: Flaw?) {
        (self.id, self.cluster, self.written, self.flaw) = (id, cluster, written, flaw)
        number = cluster.transactions.number(of: id)
        truncations = cluster.truncations
    }

    /// Whether a transaction can begin at once.
    var isReady: Bool { !cluster.transactions.isEnding(number) }

    /// Whether it has records that may be delivered.
    var hasQueue: Bool { !queue.isEmpty && failure == nil }

    /// The client drops it. What is under way may still arrive.
    func drop() {
        if !cluster.isDisorderly() { queue = [] }
    }

    func begin() { (queue, produced, added, failure, stalls) = ([], [], [], nil, 0) }

    func produce(_ record: SimulatedPartition.Record, to place: Place) throws(LogError) {
        if let failure { throw failure }
        enlist()
        queue.append(Queued(place: place, record: record))
        if flaw == .secondPath { produced.append(Queued(place: place, record: record)) }
        while cluster.isDisorderly(), hasQueue { deliver() }
    }

    /// A record is lost on its way.
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
            if let place = written?.takeNews() { throw LogError(.startOver, "\(place) lacks records that were written to it") }
            stalls = 0
        } catch {
            guard flaw == .secondPath, error.remedy == .startOver else { throw error }
            try goOn(after: error)
        }
    }

    private func stall() -> LogError {
        stalls += 1
        let remedy: LogError.Remedy = stalls < Self.mostStalls ? .retry : .startOver
        return LogError(remedy, "\(id): records wait for a leader or for markers")
    }

    /// Commits the transaction, unless it has no records.
    func commit() throws(LogError) {
        try flush()
        guard !added.isEmpty, let epoch else { return }
        switch cluster.transactions.end(number, epoch: currentEpoch(epoch), .commit) {
        case .done: cluster.keepLate(.end(.commit), number, epoch)
        case .concurrent: throw LogError(.retry, "\(id): markers are not written yet")
        case .fenced: throw fenced
        case .invalid: throw LogError(.startOver, "\(id): the transaction is aborted already")
        }
    }

    private var fenced: LogError { LogError(.startOver, "\(id) is fenced") }

    private func currentEpoch(_ epoch: Int) -> Int {
        flaw == .noProducerFence ? cluster.transactions.epoch(of: number) : epoch
    }

    /// Aborts and produces all records again, in the same epoch and without a look at what became of them.
    private func goOn(after error: LogError) throws(LogError) {
        guard let epoch, cluster.transactions.epoch(of: number) == epoch else { throw error }
        _ = cluster.transactions.end(number, epoch: epoch, .abort)
        cluster.keepLate(.end(.abort), number, epoch)
        let records = produced
        begin()
        (queue, produced) = (records, records)
        enlist()
        throw LogError(.retry, "\(id): aborted, once more")
    }

    private func enlist() {
        if !cluster.sending.contains(where: { $0 === self }) { cluster.sending.append(self) }
    }

    // MARK: - Delivery

    /// Delivers a record: the oldest one or, as brokers are served one by one, the oldest of another partition.
    ///
    /// - Returns: whether the next one can be tried.
    @discardableResult func deliver() -> Bool {
        guard failure == nil, let first = queue.first else { return false }
        var index = 0
        if cluster.isDisorderly(), let other = queue.lastIndex(where: { $0.place != first.place }) {
            let place = queue[other].place
            index = queue.firstIndex { $0.place == place } ?? 0
        }
        let next = queue[index]
        guard deliver(next) else { return failure != nil }
        queue.remove(at: index)
        return true
    }

    private func deliver(_ next: Queued) -> Bool {
        guard let own = epoch, !cluster.isDown, !cluster[next.place].isLeaderless else { return false }
        let epoch = currentEpoch(own)
        if !added.contains(next.place) {
            switch cluster.transactions.add(next.place, to: number, epoch: epoch, at: cluster.now) {
            case .done: break
            case .concurrent: return false
            case .fenced, .invalid:
                failure = fenced
                return false
            }
            added.insert(next.place)
            cluster.keepLate(.addPartition(next.place), number, epoch)
        }
        // Brokers of Kafka 3.6 and later ask the coordinator, unless the partition has records of the transaction already.
        guard
            flaw == .transactionsNotVerified || cluster[next.place].hasOngoing(by: number, epoch: epoch)
                || cluster.transactions.verify(next.place, of: number, epoch: epoch)
        else {
            failure = LogError(.startOver, "\(id): the partition is not in the transaction")
            return false
        }
        // A broker that lacks a producer's last records refuses the next ones.
        guard cluster[next.place].truncated ?? -1 < truncations else {
            failure = LogError(.startOver, "\(id): out of order")
            return false
        }
        written?.add(cluster[next.place].end, in: next.place)
        cluster[next.place].append(next.record, by: number, epoch: epoch)
        return true
    }
}

/// Where the records that a worker wrote came to stand.
final class WrittenOffsets {
    private var last: [Place: Offset] = [:]
    private var transaction: [Place: [Range<Offset>]] = [:]
    private var rewound: Set<Place> = []
    private var news: Place?

    func add(_ offset: Offset, in place: Place) {
        if let last = last[place], offset <= last {
            rewound.insert(place)
            news = place
        }
        last[place] = offset
        transaction[place, default: []].append(offset..<offset + 1)
    }

    func begin() { transaction = [:] }

    /// Where the records of the last transaction stand.
    func transaction(in place: Place) -> [Range<Offset>] { transaction[place] ?? [] }

    /// The offset after the last record.
    func end(of place: Place) -> Offset? { last[place].map { $0 + 1 } }

    /// A partition that was found to lack records since this was asked last.
    func takeNews() -> Place? {
        defer { news = nil }
        return news
    }

    /// Whether a partition lacks records that were written to it. Says so once.
    func takeLoss(of place: Place, endingAt end: Offset) -> Bool {
        let isShort = last[place].map { end <= $0 } ?? false
        if isShort { last[place] = nil }
        return rewound.remove(place) != nil || isShort
    }
}
