import JuiceEngine
import SeededRandom

/// The transaction coordinator: epochs of transactional ids, open and decided transactions. A transaction ends in three phases,
/// each step of which comes when the scheduler decides: the decision, the markers, and the group's own step for the offsets.
package struct SimulatedTransactions {
    /// How a transaction ends.
    enum Decision: String { case commit, abort }

    private struct Coordination {
        var epoch = 0
        var number = 0
        var isOpen = false
        var touched: Set<SimulatedCluster.Place> = []
        /// Whether the open transaction includes the group's offsets.
        var includesOffsets = false
        /// The offsets sent under the id that are not applied yet.
        var offsets: [SimulatedCluster.Place: SimulatedGroup.SentOffset] = [:]
        /// Markers still to be written. A nil place is the group's offsets.
        var markers: [(place: SimulatedCluster.Place?, decision: Decision)] = []
    }

    private var coordinations: [String: Coordination] = [:]
    private var sentOffsetCount = 0
    /// Transactions whose offsets have their marker, but are not applied yet, oldest first.
    private var completions: [(id: String, decision: Decision)] = []

    package var ids: [String] { coordinations.keys.sorted() }

    /// Partitions whose offsets are part of a transaction that is undecided, or not applied yet.
    var undecidedOffsets: Set<SimulatedCluster.Place> { Set(coordinations.values.flatMap(\.offsets.keys)) }

    /// Takes over a transactional id: aborts its open transaction and fences older epochs.
    ///
    /// The epoch rises when a transaction is aborted for it, and again once all markers are written. While only markers are
    /// missing it stays.
    ///
    /// - Returns: the new epoch, or nil while markers of a decided transaction are unwritten.
    mutating func takeOver(_ id: String) -> Int? {
        if hasUnwrittenMarkers(id) { return nil }
        abortOpen(id)
        coordinations[id, default: Coordination()].epoch += 1
        return hasUnwrittenMarkers(id) ? nil : coordinations[id]?.epoch
    }

    /// Aborts a transaction that has been open for too long.
    package mutating func timeOut(_ id: String) {
        guard coordinations[id]?.isOpen == true else { return }
        coordinations[id]?.epoch += 1
        abortOpen(id)
    }

    private mutating func abortOpen(_ id: String) {
        if coordinations[id]?.isOpen == true { decide(id, .abort) }
    }

    func isCurrent(_ id: String, epoch: Int) -> Bool { coordinations[id]?.epoch == epoch }

    package func hasUnwrittenMarkers(_ id: String) -> Bool { coordinations[id]?.markers.isEmpty == false }

    /// Adds a partition to the open transaction, or to a new one.
    mutating func touch(_ id: String, _ place: SimulatedCluster.Place) -> TransactionKey {
        open(id)
        coordinations[id]?.touched.insert(place)
        return key(id)
    }

    mutating func addOffsets(_ id: String, _ offsets: [SimulatedCluster.Place: Offset]) {
        open(id)
        sentOffsetCount += 1
        let sent = offsets.mapValues(sent)
        coordinations[id]?.offsets.merge(sent) { _, new in new }
        coordinations[id]?.includesOffsets = true
    }

    /// Drops offsets that were sent under the id and have no marker yet.
    ///
    /// Like the classic group coordinator of Apache Kafka 3.x: when it refuses offsets for their epoch, it forgets the offsets of
    /// the same partitions that the open transaction of that producer has sent.
    mutating func wipeOffsets(_ id: String, _ offsets: [SimulatedCluster.Place: Offset]) {
        guard !isCompleting(id) else { return }
        for place in offsets.keys { coordinations[id]?.offsets[place] = nil }
    }

    func sent(_ offset: Offset) -> SimulatedGroup.SentOffset {
        SimulatedGroup.SentOffset(offset: offset, sequence: sentOffsetCount)
    }

    private mutating func open(_ id: String) {
        guard coordinations[id]?.isOpen == false else { return }
        coordinations[id]?.isOpen = true
        coordinations[id]?.number += 1
    }

    /// Decides the transaction. Its markers follow.
    mutating func decide(_ id: String, _ decision: Decision) {
        guard var coordination = coordinations[id], coordination.isOpen else { return }
        coordination.isOpen = false
        let places: [SimulatedCluster.Place?] =
            coordination.touched.sorted() + (coordination.includesOffsets ? [nil] : [])
        coordination.markers = places.map { ($0, decision) }
        coordination.touched = []
        coordination.includesOffsets = false
        coordinations[id] = coordination
    }

    /// Removes one of the markers that are due, at random.
    mutating func nextMarker(
        of id: String,
        using random: inout SeededGenerator
    ) -> (place: SimulatedCluster.Place?, decision: Decision, key: TransactionKey)? {
        guard let count = coordinations[id]?.markers.count, count > 0 else { return nil }
        let marker = coordinations[id]?.markers.remove(at: random.number(0...count - 1))
        return marker.map { ($0.place, $0.decision, key(id)) }
    }

    /// The marker of a transaction's offsets is written.
    mutating func complete(_ id: String, _ decision: Decision) { completions.append((id, decision)) }

    /// Whether an ended transaction's offsets are still to be applied, or to be dropped.
    func isCompleting(_ id: String) -> Bool { completions.contains { $0.id == id } }

    /// Ends the oldest transaction whose offsets have their marker.
    ///
    /// Like the classic group coordinator of Apache Kafka 3.x, it goes by the producer alone: it takes all offsets which that
    /// has sent, those of its next transaction included.
    ///
    /// - Returns: the offsets to apply; nil if none are due.
    mutating func nextCompletion() -> [SimulatedCluster.Place: SimulatedGroup.SentOffset]? {
        guard !completions.isEmpty else { return nil }
        let (id, decision) = completions.removeFirst()
        defer { coordinations[id]?.offsets = [:] }
        return decision == .commit ? coordinations[id]?.offsets ?? [:] : [:]
    }

    private func key(_ id: String) -> TransactionKey {
        TransactionKey(transactionalID: id, number: coordinations[id]?.number ?? 0)
    }
}

extension SimulatedCluster {
    func produce(_ id: String, _ record: OutputRecord) {
        write(record, transaction: transactions.touch(id, place(of: record)))
    }

    /// Dead letters may have fewer partitions than the commands.
    func place(of record: OutputRecord) -> Place {
        let isLetter = record.topic == .deadLetters
        return Place(
            topic: record.topic,
            partition: isLetter ? record.partition % count(of: record.topic) : record.partition
        )
    }

    func write(_ record: OutputRecord, transaction: TransactionKey?) {
        self[place(of: record)].append(
            .init(
                key: record.key.map(StableBytes.init),
                value: record.value.map(StableBytes.init),
                headers: record.headers,
                timestamp: record.timestamp ?? now,
                transaction: transaction
            )
        )
    }

    /// Commits offsets outside any transaction.
    func commitAtOnce(_ offsets: [Place: Offset]) {
        group.commit(offsets.mapValues { transactions.sent($0) })
    }

    /// Writes one of the markers that are due under a transactional id.
    package func writeMarker(_ id: String, using random: inout SeededGenerator) {
        guard let marker = transactions.nextMarker(of: id, using: &random) else { return }
        if let place = marker.place {
            self[place].appendMarker(marker.key, marker.decision)
        } else {
            transactions.complete(id, marker.decision)
        }
    }

    /// Applies the offsets of the oldest transaction that has its markers.
    ///
    /// - Returns: whether there was one.
    @discardableResult package func applyOffsets() -> Bool {
        guard let offsets = transactions.nextCompletion() else { return false }
        group.commit(offsets)
        return true
    }

    package func writeAllMarkers() {
        var random = SeededGenerator(seed: 0)
        for id in transactions.ids {
            while transactions.hasUnwrittenMarkers(id) { writeMarker(id, using: &random) }
        }
        while applyOffsets() {}
    }
}
