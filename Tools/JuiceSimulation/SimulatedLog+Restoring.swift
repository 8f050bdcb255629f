import JuiceEngine
import JuiceMessages

extension SimulatedLog {
    package func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        try call(.restorePoints) { () throws(LogError) in
            let inputs = partitions.flatMap { partition in
                InputTopic.allCases.filter { reads($0, partition) }.map {
                    SimulatedCluster.Place(topic: $0.topic, partition: partition)
                }
            }
            let stable = cluster.stableOffsets(inputs)
            guard var committed = flaw == .unstableOffsets ? cluster.group.committed(inputs) : stable else {
                throw LogError(.retry, "a transaction is undecided about the offsets")
            }
            // Hides what others committed since, so that the worker takes its own state for current.
            if flaw == .stateKeptBlindly { committed.merge(ownOffsets) { $1 } }
            let points = partitions.filter { !leaderless.contains($0) }.map {
                restorePoint(of: $0, committed: committed, retention: retention)
            }
            return (points, Dictionary(uniqueKeysWithValues: leaderless.map { ($0, "results") }))
        }
    }

    private func restorePoint(
        of partition: Int32,
        committed: [SimulatedCluster.Place: Offset],
        retention: Timestamp
    ) -> RestorePoint {
        func input(_ topic: InputTopic) -> RestorePoint.Input? {
            guard reads(topic, partition) else { return nil }
            let log = cluster[topic.topic, partition]
            let committed = committed[.init(topic: topic.topic, partition: partition)]
            let isSkipped = flaw == .newPartitionsReadFromTheirEnd && partition >= cluster.partitionCount
            return .init(committed: committed ?? (isSkipped ? log.end : nil), log: log.start..<log.end)
        }
        guard partition < cluster.partitionCount else {
            return RestorePoint(
                partition: partition,
                orders: input(.orders),
                restocks: input(.restocks),
                stockEnd: 0,
                results: 0..<0
            )
        }
        func end(_ topic: Topic) -> Offset {
            let log = cluster[topic, partition]
            return flaw == .restoredToLastStableOffset ? log.lastStableOffset : log.end
        }
        let resultsEnd = end(.results)
        let time = horizon(of: partition, committed: committed).start(retention: retention)
        let firstAnswer = cluster[.results, partition].firstOffset(since: time) ?? resultsEnd
        return RestorePoint(
            partition: partition,
            orders: input(.orders),
            restocks: input(.restocks),
            stockEnd: end(.stock),
            results: (flaw == .answersNotReadBack ? resultsEnd : min(firstAnswer, resultsEnd))..<resultsEnd
        )
    }

    /// Adds the last answers, the last read commands and the first unread one, all of them committed or not.
    private func horizon(
        of partition: Int32,
        committed: [SimulatedCluster.Place: Offset]
    ) -> AnswerHorizon {
        var horizon = AnswerHorizon(now: now)
        // Without records, the horizon depends on the reader's clock alone.
        if flaw == .windowByReadersClock { return horizon }
        let results = cluster[.results, partition]
        for (_, record) in results.readUncommitted(from: results.end - AnswerHorizon.lookBack).records {
            horizon.addAnswer(at: record.timestamp)
        }
        for topic in InputTopic.allCases {
            let log = cluster[topic.topic, partition]
            let next = committed[.init(topic: topic.topic, partition: partition)] ?? log.start
            let span = log.readUncommitted(
                from: next - AnswerHorizon.lookBack,
                max: Int(AnswerHorizon.lookBack) + 1
            )
            for (offset, record) in span.records {
                guard offset < next else {
                    horizon.addUnread(topic, at: record.visibleTimestamp)
                    break
                }
                horizon.addRead(topic, at: record.visibleTimestamp)
            }
        }
        return horizon
    }

    package func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {
        try call(.openChangelog) { () throws(LogError) in
            changelog = Dictionary(
                uniqueKeysWithValues: positions.map {
                    (.init(topic: $0.topic.topic, partition: $0.partition), ($0.topic, $0.offset))
                }
            )
        }
    }

    /// A few records at a time, so that a restore takes several steps.
    package func readChangelog() throws(LogError) -> ChangelogBatch {
        try call(.readChangelog) { () throws(LogError) in
            var batch: [ChangelogBatch.Record] = []
            var ends: [ChangelogPosition] = []
            lentRecords = []
            guard !cluster.isDown else { return ChangelogBatch(records: [], ends: []) }
            for (place, (topic, position)) in changelog.sorted(by: { $0.key < $1.key }) {
                let (all, next) = read(place, from: position, max: 5)
                changelog[place] = (topic, next)
                let records = all.compactMap { offset, record in
                    restored(record, of: topic).map { (offset: offset, record: $0) }
                }
                batch += records.map { offset, record in
                    lentRecords.append(record)
                    return ChangelogBatch.Record(
                        topic: topic,
                        partition: place.partition,
                        offset: offset,
                        timestamp: record.timestamp,
                        key: record.key?.view,
                        value: record.value?.view,
                        index: lentRecords.count - 1
                    )
                }
                if next == cluster[place].lastStableOffset {
                    ends.append(.init(topic: topic, partition: place.partition, offset: next))
                }
            }
            return ChangelogBatch(records: batch, ends: ends)
        }
    }
}
