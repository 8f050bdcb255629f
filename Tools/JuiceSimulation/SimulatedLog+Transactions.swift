import JuiceEngine

extension SimulatedLog {
    private var id: String { ids[turn] }

    private func checkFence() throws(LogError) {
        guard epochs.indices.contains(turn) else { throw LogError(.startOver, "no producer") }
        if flaw == .noProducerFence { return }
        guard cluster.transactions.isCurrent(id, epoch: epochs[turn]) else {
            throw LogError(.startOver, "\(id) is fenced")
        }
    }

    private func checkCompleteness() throws(LogError) {
        guard isIncomplete, flaw != .failedDeliveryIgnored else { return }
        throw LogError(.startOver, "a record was not delivered")
    }

    package func initTransactions() throws(LogError) {
        try call(.initTransactions) { () throws(LogError) in
            suspects = []
            if flaw == .secondPath, epochs.count == ids.count {
                for id in ids { cluster.transactions.decide(id, .abort) }
                return
            }
            epochs = []
            for turn in ids.indices { epochs.append(try takeOver(turn)) }
        }
    }

    private func takeOver(_ turn: Int) throws(LogError) -> Int {
        sent(.takeOver, by: .initTransactions, turn)
        try moveOn(turn)
        // Not a broker's answer: a restart takes longer than that, and a producer that may have left offsets behind moves on to
        // another id, which has offsets of its own.
        if cluster.transactions.isCompleting(ids[turn]) {
            throw LogError(.retry, "offsets of \(ids[turn]) are not applied yet")
        }
        guard let epoch = cluster.transactions.takeOver(ids[turn]) else {
            throw LogError(.retry, "markers of \(ids[turn]) are not written yet")
        }
        return epoch
    }

    /// Where refused offsets wipe others, no epoch protects from them, but another id does.
    private func moveOn(_ turn: Int) throws(LogError) {
        guard offsetSuspects.contains(turn), flaw != .idKept else { return }
        guard cluster.transactions.takeOver(ids[turn]) != nil else {
            throw LogError(.retry, "markers of \(ids[turn]) are not written yet")
        }
        offsetSuspects.remove(turn)
        moves[turn] += 1
        if flaw == .idUsedAgainTooSoon { moves[turn] %= 2 }
    }

    package func begin() throws(LogError) {
        try call(.begin) { () throws(LogError) in
            // Producers take turns, unless the next one cannot begin at once.
            let next = [1 - turn, turn].first(where: isReady) ?? 1 - turn
            try replace(next)
            // As on a broker, no transaction begins while the markers of the last one are being written.
            if cluster.transactions.hasUnwrittenMarkers(ids[next]) {
                throw LogError(.retry, "concurrent transactions")
            }
            turn = next
            isIncomplete = false
            isInTransaction = true
            producedCount = 0
            sentOffsets = [:]
        }
    }

    private func replace(_ turn: Int) throws(LogError) {
        guard suspects.contains(turn), flaw != .suspectsKept else { return }
        epochs[turn] = try takeOver(turn)
        suspects.remove(turn)
    }

    private func isReady(_ turn: Int) -> Bool {
        !suspects.contains(turn) && !cluster.transactions.hasUnwrittenMarkers(ids[turn])
    }

    package func produce(_ record: OutputRecord) throws(LogError) {
        try call(.produce) { () throws(LogError) in
            try checkFence()
            let headerSize = record.headers.reduce(0) { $0 + ($1.value?.count ?? 0) }
            if headerSize + (record.value?.count ?? 0) > largestRecord || refuses(record) {
                throw LogError(.startOver, "the record is refused", subject: .record)
            }
            producedCount += 1
            if breaks(record) || producedCount > largestTransaction {
                throw LogError(.startOver, "the record cannot be written")
            }
            guard !losesDelivery else {
                losesDelivery = false
                isIncomplete = true
                return
            }
            if flaw == .forwardedOutsideTransaction, record.topic == .orders || record.topic == .restocks {
                cluster.write(record, transaction: nil)
            } else {
                let flawed = written(record)
                var record = record
                if let flawed { record.value = flawed.view }
                cluster.produce(id, record)
                sent(.addPartition(cluster.place(of: record)), by: .produce, turn)
            }
        }
    }

    package func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        try call(.sendOffsets) { () throws(LogError) in
            try checkFence()
            try checkCompleteness()
            if flaw != .suspectReplacedInItsTurn { try replace(1 - turn) }
            if flaw != .offsetsNotAwaited { try awaitOffsets() }
            guard cluster.group.isCurrent(membership) || flaw == .noGenerationFence else {
                throw LogError(.startOver, "generation \(membership.generation) is over")
            }
            sentOffsets = places(positions)
            if flaw == .offsetsOutsideTransaction {
                cluster.commitAtOnce(sentOffsets)
            } else {
                cluster.transactions.addOffsets(id, sentOffsets)
                sent(.addOffsets(sentOffsets, membership), by: .sendOffsets, turn)
            }
        }
    }

    package func commit() throws(LogError) {
        try call(.commit) { () throws(LogError) in
            try checkFence()
            try checkCompleteness()
            cluster.transactions.decide(id, .commit)
            sent(.end(.commit), by: .commit, turn)
            isInTransaction = false
        }
        ownOffsets.merge(sentOffsets) { $1 }
        awaited[turn] = OffsetEvidence(of: sentOffsets, after: lastOffsets)
        lastOffsets = sentOffsets
    }
}

// MARK: - Offsets that are applied late

/// What shows that the offsets of a transaction are applied.
struct OffsetEvidence {
    let place: SimulatedCluster.Place
    /// Nil if the offset was committed before: then only the end of all transactions on it is evidence.
    let offset: Offset?

    init?(of sent: [SimulatedCluster.Place: Offset], after last: [SimulatedCluster.Place: Offset]) {
        let places = sent.keys.sorted()
        let moved = places.first { last[$0] != nil && last[$0] != sent[$0] }
        guard let place = moved ?? places.first else { return nil }
        self.place = place
        offset = moved.flatMap { sent[$0] }
    }
}

extension SimulatedLog {
    /// The group may apply a transaction's offsets late, and would then take those sent since for committed.
    private func awaitOffsets() throws(LogError) {
        guard let evidence = awaited[turn] else { return }
        let committed = cluster.group.committed([evidence.place])[evidence.place]
        let isCommitted = evidence.offset != nil && evidence.offset == committed
        guard isCommitted || cluster.stableOffsets([evidence.place]) != nil else {
            throw LogError(.retry, "the offsets of \(id)'s last transaction are not applied yet")
        }
        awaited[turn] = nil
    }
}

// MARK: - Late requests

extension SimulatedLog {
    /// The shortest time after which the client resends a request, in milliseconds.
    private static let shortestResend = 100

    /// Records a request. If the network held it back, the client resent it, and the first copy arrives whenever the scheduler
    /// decides, or never.
    private func sent(_ kind: LateRequest.Kind, by call: Call, _ turn: Int) {
        guard let latency = heldBack(call) else { return }
        trace?("\(call): sent twice, took \(latency) ms")
        if latency >= suspectThreshold { suspects.insert(turn) }
        if case .addOffsets = kind { offsetSuspects.insert(turn) }
        guard epochs.indices.contains(turn) else { return }
        cluster.lateRequests.append(LateRequest(transactionalID: ids[turn], epoch: epochs[turn], kind: kind))
    }

    private var suspectThreshold: Int {
        switch flaw {
        case .suspectThresholdTooHigh: 10 * Self.shortestResend
        default: Self.shortestResend
        }
    }
}
