import JuiceMessages

/// Why a partition is not read.
package struct PartitionFault: Error, Equatable {
    package enum Kind: Sendable, Equatable {
        /// An input partition: its position is outside its log, or its log is not the one that was read.
        case input(InputPartition)
        /// An input partition: processes end before they handle any of its records.
        case deadly(InputPartition)
        /// The results: they are not the journal that was written, or cannot be read.
        case journal
        /// The results: they lack answers that repeats may ask for. A running owner still knows the commands.
        case answers
        /// The stock: it lacks changes, or cannot be read.
        case stock
        /// A record of this topic, whose transactions fail.
        case record(InputTopic)
        /// This topic, which refuses what is written to it.
        case topic(Topic)
        /// The partition of this topic, which has no leader.
        case leader(topic: String)
        /// Another program's transaction in this topic, which stays open.
        case transaction(ChangelogTopic)
        /// The transactional id of a former owner, whose transaction the coordinator cannot end.
        case owner(id: String)
    }

    package let kind: Kind
    /// A description for operators.
    package var reason: String
    /// The offset concerned, if it is a single one.
    package let offset: Offset?
    /// Positions from which an operator can let reading go on, with an anchor.
    package var anchors: [InputPosition]
    /// How many records and changes journal and stock lack. An anchor must repeat this number, to accept the loss.
    package let missing: Int64

    package init(
        _ kind: Kind, at offset: Offset? = nil, _ reason: String, anchors: [InputPosition] = [], missing: Int64 = 0
    ) {
        (self.kind, self.offset, self.reason) = (kind, offset, reason)
        (self.anchors, self.missing) = (anchors, missing)
    }
}

extension PartitionFault {
    /// A journal that has lost records at its end.
    static func lostEnd(of extents: PartitionExtents, missing: Int64, anchors: [InputPosition] = []) -> Self {
        let end = extents.results.upperBound
        return PartitionFault(
            .journal, at: end,
            "results [\(extents.partition)] ends at offset \(end), and lacks \(missing) records that were written: the topic was"
                + " recreated, or lost its end. Their commands were answered; a repeat of one would be carried out again",
            anchors: anchors, missing: missing)
    }
}

/// A partition that cannot be read for now, and why.
typealias PartitionFailure = (partition: Int32, fault: PartitionFault)
