import JuiceEngine
import SeededRandom

/// The first copy of a transactional request that the client gave up on and resent.
package struct LateRequest {
    enum Kind {
        /// InitProducerId.
        case takeOver
        /// AddPartitionsToTxn.
        case addPartition(SimulatedCluster.Place)
        /// AddOffsetsToTxn and TxnOffsetCommit, which the client sends in sequence.
        case addOffsets([SimulatedCluster.Place: Offset], SimulatedGroup.Membership)
        /// EndTxn.
        case end(SimulatedTransactions.Decision)

        /// Sorted, since a dictionary's description differs between runs.
        var text: String {
            switch self {
            case .takeOver: "takeover"
            case .addPartition(let place): "addition of \(place.topic)[\(place.partition)]"
            case .addOffsets(let offsets, _):
                offsets.sorted { $0.key < $1.key }
                    .map { "\($0.key.topic)[\($0.key.partition)]@\($0.value)" }.joined(separator: " ")
            case .end(let decision): decision.rawValue
            }
        }
    }

    let transactionalID: String
    let epoch: Int
    let kind: Kind
}

extension SimulatedCluster {
    /// Delivers one of the late requests. The broker checks id and epoch only: it cannot tell transactions of one epoch apart.
    ///
    /// A late Produce is not simulated, since its sequence number identifies it.
    ///
    /// - Returns: what became of it, for the trace.
    package func receiveLateRequest(using random: inout SeededGenerator) -> String? {
        guard !lateRequests.isEmpty else { return nil }
        let request = lateRequests.remove(at: random.number(0...lateRequests.count - 1))
        let (id, text) = (request.transactionalID, "\(request.kind.text) of \(request.transactionalID)")
        if case .takeOver = request.kind {
            // InitProducerId asks for a new epoch, whatever the current one is.
            _ = transactions.takeOver(id)
            return "late \(text) fences it"
        }
        guard transactions.isCurrent(id, epoch: request.epoch) else {
            if case .addOffsets(let offsets, let membership) = request.kind, group.isCurrent(membership) {
                transactions.wipeOffsets(id, offsets)
            }
            return "late \(text) is refused"
        }
        guard !transactions.hasUnwrittenMarkers(id) else { return "late \(text) is refused" }
        switch request.kind {
        case .takeOver: break
        case .addPartition(let place): _ = transactions.touch(id, place)
        case .addOffsets(let offsets, let membership):
            guard group.isCurrent(membership) else { return "late \(text) is refused" }
            transactions.addOffsets(id, offsets)
        case .end(let decision): transactions.decide(id, decision)
        }
        return "late \(text) is carried out"
    }
}
