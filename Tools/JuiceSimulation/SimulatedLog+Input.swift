import JuiceEngine

extension SimulatedLog {
    package func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        try call(.poll) { () throws(LogError) in
            if let change = nextRebalance() {
                trace?("poll: \(change)")
                return change
            }
            return cluster.isDown ? .records([], ends: []) : try readCommands(max: maxRecords)
        }
    }

    /// Rebalances as an eager consumer: first everything is revoked, then the new share is assigned.
    private func nextRebalance() -> PollResult? {
        guard !cluster.isDown else { return nil }
        let isMember = cluster.group.isMember(membership)
        if isMember, assignedGeneration == cluster.group.generation { return nil }
        if assignedGeneration != nil {
            assignedGeneration = nil
            positions = [:]
            return .revoked
        }
        // A member whose session has expired joins anew.
        membership =
            isMember
            ? .init(name: member, number: membership.number, generation: cluster.group.generation)
            : cluster.group.join(member)
        assignedGeneration = membership.generation
        given = cluster.group.assignment(of: member)
        let share = InputShare(
            orders: given[0],
            partitionCount: cluster.partitionCount,
            orderCount: cluster.count(of: .orders),
            restockCount: cluster.count(of: .restocks)
        )
        self.share = share
        return .assigned(
            flaw == .restocksReadAsGiven ? Set(share.partitions + given[1]).sorted() : share.partitions
        )
    }

    func reads(_ topic: InputTopic, _ partition: Int32) -> Bool {
        if flaw == .restocksReadAsGiven, topic == .restocks { return given[1].contains(partition) }
        return share?.reads(topic, partition) ?? false
    }

    /// How many records of a partition come in a row. Few, so that a batch has several runs of the same partition, as batches
    /// of librdkafka have.
    private static let longestRun = 2

    private func readCommands(max: Int) throws(LogError) -> PollResult {
        var commands: [CommandRecord] = []
        var ends: [InputPosition] = []
        lentRecords = []
        var before: Int
        repeat {
            before = commands.count
            for topic in InputTopic.allCases {
                for partition in 0..<cluster.count(of: topic.topic) {
                    let place = SimulatedCluster.Place(topic: topic.topic, partition: partition)
                    guard let position = positions[place] else { continue }
                    guard position >= cluster[place].start else {
                        throw LogError(.startOver, "\(topic)[\(partition)]: offset \(position) expired")
                    }
                    let room = min(Self.longestRun, max - commands.count)
                    let (records, next) = read(place, from: position, max: room)
                    positions[place] = next
                    commands += records.map { command(topic, partition, $0.offset, $0.record) }
                    if next == cluster[place].lastStableOffset, reportedEnds[place] != next,
                        flaw != .markersNotPassed
                    {
                        reportedEnds[place] = next
                        ends.append(InputPosition(topic: topic, partition: partition, offset: next))
                    }
                }
            }
        } while commands.count > before && commands.count < max
        if !commands.isEmpty {
            trace?(
                "poll: " + commands.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " ")
            )
        }
        return .records(commands, ends: ends)
    }

    private func command(
        _ topic: InputTopic,
        _ partition: Int32,
        _ offset: Offset,
        _ record: SimulatedPartition.Record
    ) -> CommandRecord {
        lentRecords.append(record)
        return CommandRecord(
            topic: topic,
            partition: partition,
            offset: offset,
            // Without a timestamp, the age of a command depends on the reader's clock alone.
            timestamp: flaw == .windowByReadersClock ? nil : record.visibleTimestamp,
            key: record.key?.view,
            value: record.value?.view,
            index: lentRecords.count - 1
        )
    }

    package func headers(of record: CommandRecord) -> [RecordHeader] { lentRecords[record.index].headers }

    func read(
        _ place: SimulatedCluster.Place,
        from offset: Offset,
        max: Int
    ) -> (records: [(offset: Offset, record: SimulatedPartition.Record)], next: Offset) {
        flaw == .abortedRecordsRead
            ? cluster[place].readUncommitted(from: offset, max: max)
            : cluster[place].readCommitted(from: offset, max: max)
    }

    package func start(at positions: [InputPosition]) throws(LogError) {
        try call(.start) { () throws(LogError) in
            reportedEnds = [:]
            lastOffsets = [:]
            if flaw == .notRewound, isInTransaction { return }
            self.positions = places(positions)
        }
    }

    func places(_ positions: [InputPosition]) -> [SimulatedCluster.Place: Offset] {
        Dictionary(
            uniqueKeysWithValues: positions.map {
                (SimulatedCluster.Place(topic: $0.topic.topic, partition: $0.partition), $0.offset)
            }
        )
    }
}
