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
        throw LogError(.abort, "a record was not delivered")
    }

    package func initTransactions() throws(LogError) {
        try call(.initTransactions) { () throws(LogError) in
            epochs = []
            for id in ids {
                guard let epoch = cluster.transactions.takeOver(id) else {
                    throw LogError(.retry, "markers of \(id) are not written yet")
                }
                epochs.append(epoch)
            }
        }
    }

    package func begin() throws(LogError) {
        try call(.begin) { () throws(LogError) in
            // The other producer's turn; and like a broker, none while its last markers are being written.
            if cluster.transactions.hasUnwrittenMarkers(ids[1 - turn]) {
                throw LogError(.retry, "concurrent transactions")
            }
            turn = 1 - turn
            isIncomplete = false
        }
    }

    package func produce(_ record: OutputRecord) throws(LogError) {
        try call(.produce) { () throws(LogError) in
            try checkFence()
            let headerSize = record.headers.reduce(0) { $0 + ($1.value?.count ?? 0) }
            if headerSize + (record.value?.count ?? 0) > largestRecord {
                throw LogError(.abort, "the record is too large", isRecordTooLarge: true)
            }
            guard !losesDelivery else {
                losesDelivery = false
                isIncomplete = true
                return
            }
            if flaw == .forwardedOutsideTransaction, record.topic == .orders || record.topic == .restocks {
                cluster.write(record, transaction: nil)
            } else {
                cluster.produce(id, record)
            }
        }
    }

    package func sendOffsets(_ positions: [InputPosition]) throws(LogError) {
        try call(.sendOffsets) { () throws(LogError) in
            try checkFence()
            try checkCompleteness()
            guard cluster.group.isCurrent(membership) || flaw == .noGenerationFence else {
                throw LogError(.abort, "generation \(membership.generation) is over")
            }
            if flaw == .offsetsOutsideTransaction {
                cluster.commitAtOnce(places(positions))
            } else {
                cluster.transactions.addOffsets(id, places(positions))
            }
        }
    }

    package func commit() throws(LogError) {
        do throws(LogError) {
            try call(.commit) { () throws(LogError) in
                try checkFence()
                try checkCompleteness()
                cluster.transactions.decide(id, isCommit: true)
            }
        } catch {
            guard flaw == .unconfirmedCommitTakenForFailed else { throw error }
            throw LogError(.abort, error.message)
        }
    }

    package func abort() throws(LogError) {
        try call(.abort) { () throws(LogError) in
            try checkFence()
            cluster.transactions.decide(id, isCommit: false)
            isRewinding = true
        }
    }
}
