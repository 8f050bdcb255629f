import JuiceMessages

/// What is known of a partition that stores live in, before anything is changed.
package struct InspectedPartition: Sendable {
    package let partition: Int32
    /// The consumer group and the instance of the last claim; nil if it has no claim.
    package let owner: (group: String, instance: String)?
    /// Where its logs begin and end; nil if they have no leader.
    package let extents: PartitionExtents?
    /// The next offset of each input, as far as the journal says.
    package let positions: [InputPosition]
    /// The last record that was handled of each input, and when. Only of those that the end of the journal names.
    package let lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)]
    /// Whether the last owner had another menu.
    package let hasOtherMenu: Bool
    /// Why a worker would not read it; nil if nothing is wrong, or not all is known yet.
    package let fault: PartitionFault?

    /// The next offset of an input.
    package func next(of input: InputPartition) -> Offset? { positions.first { $0.input == input }?.offset }

    init(_ target: TakeoverTarget, positions: [InputPosition]? = nil, menu: UInt64, fault: PartitionFault?) {
        (partition, extents, self.fault) = (target.partition, target.extents, fault)
        owner = target.tail.owners.lastClaim.map { ($0.group, $0.instance) }
        (self.positions, lastHandled) = (positions ?? target.tail.positions.all, target.tail.lastHandled)
        hasOtherMenu = target.tail.note?.position.account.map { $0.menu != menu } ?? false
    }
}

/// Finds out what a worker would find that took partitions over now, for `juice doctor`. It writes nothing: its log cannot.
///
/// A worker that runs knows more. It has seen how long the logs were, so it also notices a loss that left no trace in them.
package final class Inspection<Log: KafkaReadPort> {
    private let log: Log
    private let menu: UInt64
    private let takeover: Takeover
    private let targets: [TakeoverTarget]
    private var failures: [Int32: PartitionFault] = [:]

    /// - Parameters:
    ///   - settings: the service's menu and the number of partitions that stores live in; the rest makes no difference.
    ///   - assignment: all partitions to look at.
    package init(log: Log, settings: WorkerSettings, assignment: InputAssignment) {
        (self.log, menu) = (log, settings.menuDigest)
        takeover = Takeover(assignment: assignment, ids: [], isInspection: true, context: WorkerContext(settings))
        targets = assignment.partitions.compactMap(takeover.target)
    }

    /// Whether owners and positions are known.
    package var knowsPositions: Bool { takeover.knowsPositions }
    /// Whether all is known, the faults included.
    package var isDone: Bool { takeover.isDone }

    /// Makes the next call on the log.
    ///
    /// - Throws: ``LogError``; after ``LogError/Remedy/retry`` the same call goes on.
    package func step() throws(LogError) {
        for (partition, fault) in try takeover.look(at: log) { failures[partition] = fault }
        for refusal in takeover.refusals { failures[refusal.partition] = refusal.fault }
    }

    /// What is known so far.
    package var partitions: [InspectedPartition] {
        targets.map { target in
            InspectedPartition(
                target, positions: takeover.cached[target.partition]?.positions, menu: menu, fault: failures[target.partition])
        }
    }

    /// The stores that ever changed, of the partitions that are restored; of very many, some.
    package var stores: [String] {
        let tables = targets.lazy.compactMap { self.takeover.cached[$0.partition]?.applied.stores }
        return Array(tables.flatMap { table in (0..<table.count).lazy.map(table.name) }.prefix(100_000))
    }

    /// What is being read, for people; nil if nothing is.
    package var unread: String? { takeover.unread }
}
