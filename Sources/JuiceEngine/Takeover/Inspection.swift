import JuiceMessages

/// Finds out what a worker would find that took partitions over now, for `juice doctor`. It writes nothing: its log cannot.
///
/// A worker that runs knows more. It has seen how long the logs were, so it also notices a loss that left no trace in them.
package final class Inspection<Log: KafkaReadPort> {
    /// What is known of a partition that stores live in.
    package struct Partition: Sendable {
        package let partition: Int32
        /// The consumer group and the instance of the last claim; nil if it has no claim.
        package var owner: (group: String, instance: String)?
        /// Where its logs begin and end; nil if they have no leader.
        package var extents: PartitionExtents?
        /// The next offset of each input, as far as the journal says.
        package var positions: [InputPosition] = []
        /// The last record that was handled of each input, and when. Only of those that the end of the journal names.
        package var lastHandled: [InputPartition: (offset: Offset, at: Timestamp?)] = [:]
        /// Why a worker would not read it.
        package var fault: PartitionFault?
    }

    private let log: Log
    private let takeover: Takeover
    private let targets: [TakeoverTarget]
    private var failures: [Int32: PartitionFault] = [:]

    /// - Parameters:
    ///   - settings: the service's menu and the number of partitions that stores live in; the rest makes no difference.
    ///   - assignment: all partitions to look at.
    package init(log: Log, settings: WorkerSettings, assignment: InputAssignment) {
        self.log = log
        takeover = Takeover(assignment: assignment, ids: [], isInspection: true, context: WorkerContext(settings))
        targets = assignment.partitions.compactMap(takeover.target)
    }

    /// Whether owners and positions are known.
    package var isSurveyed: Bool { takeover.isSurveyed }
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
    package var partitions: [Partition] {
        targets.map { target in
            let known = takeover.cached[target.partition]?.positions ?? target.tail.positions.all
            return Partition(
                partition: target.partition, owner: target.tail.owners.lastClaim.map { ($0.group, $0.instance) },
                extents: target.extents,
                positions: known, lastHandled: target.tail.lastHandled, fault: failures[target.partition])
        }
    }

    /// What is being read, for people; nil if nothing is.
    package var unread: String? { takeover.unread }
}
