import JuiceMessages

/// What is known of a partition that holds stores, before anything is changed.
package struct InspectedPartition: Sendable {
    package let partition: Int32
    /// The consumer group and the instance of the last claim; nil if it has no claim.
    package let owner: (group: String, instance: String)?
    /// Where its logs begin and end; nil if they have no leader.
    package let extents: PartitionExtents?
    /// The next offset of each input, as far as the journal says.
    package let positions: [InputPosition]
    /// The last handled record of each input that the end of the journal names, and its time.
    package let lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)]
    /// Whether the last owner had another menu.
    package let hasOtherMenu: Bool
    /// Why a worker would not read it; nil if nothing is wrong, or not all is known yet.
    package let fault: PartitionFault?

    package func next(of input: InputPartition) -> Offset? { positions.first { $0.input == input }?.offset }

    init(_ target: TakeoverTarget, positions: [InputPosition]? = nil, menu: UInt64, fault: PartitionFault?) {
        (partition, extents, self.fault) = (target.partition, target.extents, fault)
        owner = target.tail.owners.lastClaim.map { ($0.group, $0.instance) }
        (self.positions, lastHandled) = (positions ?? target.tail.positions.all, target.tail.lastHandled)
        hasOtherMenu = target.tail.note?.position.account.map { $0.menu != menu } ?? false
    }
}

/// Reports what a takeover would find now, for `juice doctor`. It writes nothing: its log can only be read.
///
/// A running worker knows more: it has seen the earlier ends of the logs, so it also notices a loss that left no trace in them.
package final class Inspection<Log: KafkaReadPort> {
    private let log: Log
    private let menu: UInt64
    private let takeover: Takeover
    private let targets: [TakeoverTarget]
    private var failures: [Int32: PartitionFault] = [:]

    /// - Parameters:
    ///   - settings: those of the service.
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

    /// The stores of restored partitions that ever changed, at most 100,000.
    package var stores: [String] {
        let tables = targets.lazy.compactMap { self.takeover.cached[$0.partition]?.applied.stores }
        return Array(tables.flatMap { table in (0..<table.count).lazy.map(table.name) }.prefix(100_000))
    }

    /// A description of what is being read; nil if nothing is.
    package var unread: String? { takeover.unread }
}
