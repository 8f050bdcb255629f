import JuiceEngine

extension SimulatedLog {
    /// How many sets of ids a worker has, used in turn.
    static let setCount = 8

    private func id(_ index: Int) -> String { "\(group)/\(member)/\(set)/\(["a", "b"][index])" }

    package func initTransactions() throws(LogError) -> [String] {
        do throws(LogError) {
            let ids = try call(.initTransactions) { () throws(LogError) in try takeOverNextSet() }
            isInitialising = false
            return ids
        } catch {
            // After anything but a retry, the next call uses the next set.
            if error.remedy != .retry { isInitialising = false }
            throw error
        }
    }

    private func takeOverNextSet() throws(LogError) -> [String] {
        if !isInitialising {
            drop()
            set = (set + 1) % Self.setCount
            producers = (0..<2).map { SimulatedProducer(id($0), on: cluster, written: written, flaw: flaw) }
            isInitialising = true
        }
        for (index, producer) in producers.enumerated() where producer.epoch == nil {
            if flaw == .secondIDInitialisedLate, index > 0 { continue }
            try takeOver(producer)
            cluster.interlude()
        }
        point = .initialised
        // The first one comes first.
        turn = 1
        return producers.map(\.id)
    }

    private func takeOver(_ producer: SimulatedProducer) throws(LogError) {
        guard let epoch = cluster.transactions.takeOver(producer.number) else {
            // An id that cannot be decided for long is left for another set.
            if cluster.isDisorderly() { isInitialising = false }
            throw LogError(.retry, "markers of \(producer.id) are not written yet")
        }
        producer.epoch = epoch
        cluster.keepLate(.takeOver, producer.number, epoch)
    }

    package func fence(_ ids: Set<String>) throws(LogError) -> Set<String> {
        if flaw == .fenceLeftOut { return [] }
        if flaw == .fenceAfterClaim {
            flaws.postponedFences.formUnion(ids)
            return []
        }
        do throws(LogError) {
            return try call(.fence) { () throws(LogError) in try takeOver(ids) }
        } catch {
            if flaw == .failedFenceIgnored { return [] }
            throw error
        }
    }

    private func takeOver(_ ids: Set<String>) throws(LogError) -> Set<String> {
        if fencing != ids { (fencing, fenced) = (ids, []) }
        var undecided: Set<String> = []
        for id in ids.sorted() where !fenced.contains(id) {
            if !fenced.isEmpty, cluster.isDisorderly() {
                point = .betweenFences
                throw LogError(.retry, "not all ids are taken over yet")
            }
            let number = cluster.transactions.number(of: id)
            if cluster.transactions.takeOver(number) != nil {
                fenced.insert(id)
            } else if cluster.transactions.places(of: number).contains(where: { cluster[$0].isLeaderless }) {
                undecided.insert(id)
            } else {
                throw LogError(.retry, "markers of \(id) are not written yet")
            }
            cluster.interlude()
        }
        fencing = []
        point = .fenced
        trace?("fence \(ids.sorted().joined(separator: " "))" + (undecided.isEmpty ? "" : " but \(undecided.sorted())"))
        return undecided
    }

    package func begin() throws(LogError) {
        try call(.begin) { () throws(LogError) in
            guard !producers.isEmpty else { throw LogError(.startOver, "no producer") }
            // Producers take turns, unless the next one cannot begin at once.
            turn = [1 - turn, turn].first { producers[$0].isReady } ?? 1 - turn
            if producers[turn].epoch == nil { try takeOver(producers[turn]) }
            producers[turn].begin()
            written.begin()
            isClaiming = false
            (producedCount, writtenAt) = (0, nil)
            flaws.began()
        }
    }

    package func produce(_ record: OutputRecord) throws(LogError) {
        try call(.produce) { () throws(LogError) in
            let headerSize = record.headers.reduce(0) { $0 + ($1.value?.count ?? 0) }
            if headerSize + (record.value?.count ?? 0) > largestRecord || refuses(record) {
                throw LogError(.startOver, "the record is refused", subject: .record)
            }
            producedCount += 1
            let time = writtenAt ?? now
            writtenAt = time
            if breaks(record) || producedCount > largestTransaction { throw LogError(.startOver, "the record cannot be written") }
            if record.key == nil, record.value?.starts(with: Self.claimBeginning) ?? false { isClaiming = true }
            point = isClaiming ? .claimProduced : .midTransaction
            trace?("produce \(record.topic)[\(record.partition)] " + Clients.text(record.value.map { Array($0) }, 160))
            guard !losesDelivery else {
                losesDelivery = false
                return producers[turn].loseRecord()
            }
            let place = cluster.place(of: record)
            if let written = flaws.written(record, at: place, time) { try producers[turn].produce(written, to: place) }
        }
    }

    private static var claimBeginning: [UInt8] { Array(#"{"type":"claim""#.utf8) }

    package func flush() throws(LogError) {
        try call(.flush) { () throws(LogError) in
            if flaw == .notesAndForwardsInOneFlush { return }
            try producers[turn].flush()
            point = .flushed
        }
    }

    package func commit() throws(LogError) {
        try call(.commit) { () throws(LogError) in
            for (record, place) in flaws.held() { try producers[turn].produce(record, to: place) }
            try flaws.committing(producers[turn], isClaim: isClaiming)?.commit()
            point = isClaiming ? .claimCommitted : .committed
        }
        if isClaiming { flaws.claimed() }
    }
}

extension SimulatedCluster {
    /// Dead letters may have fewer partitions than the commands.
    func place(of record: OutputRecord) -> Place {
        let isLetter = record.topic == .deadLetters
        return Place(topic: record.topic, partition: isLetter ? record.partition % count(of: record.topic) : record.partition)
    }
}
