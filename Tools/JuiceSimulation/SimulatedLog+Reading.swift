import JuiceEngine
import JuiceMessages

// MARK: - The inputs

extension SimulatedLog {
    /// How many records of a partition come in a row. Few, so that a batch has several runs of the same partition, as batches
    /// of librdkafka have.
    private static let longestRun = 2

    func readCommands(max: Int) throws(LogError) -> PollResult {
        if let damage = nextDamage() { return damage }
        var commands: [CommandRecord] = []
        var ends: [InputPosition] = []
        lentRecords = []
        var before: Int
        repeat {
            before = commands.count
            for topic in InputTopic.allCases {
                for partition in 0..<cluster.count(of: topic.topic) {
                    let place = SimulatedCluster.Place(topic: topic.topic, partition: partition)
                    guard let position = try readablePosition(in: place) else { continue }
                    let room = min(Self.longestRun, max - commands.count)
                    let span = cluster[place].read(isolationOfInputs, from: position, max: room, ignoringDamage: ignoresDamage)
                    positions[place] = span.next
                    commands += span.records.compactMap { offset, record in
                        flaws.read(place, offset, record).map { lend($0, as: topic, partition, offset) }
                    }
                    if span.next == cluster[place].lastStableOffset, reportedEnds[place] != span.next, flaw != .markersNotPassed {
                        reportedEnds[place] = span.next
                        ends.append(InputPosition(topic: topic, partition: partition, offset: span.next))
                    }
                }
            }
        } while commands.count > before && commands.count < max
        if !commands.isEmpty {
            point = .polled
            trace?("poll: " + commands.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " "))
        }
        return .records(commands, ends: ends)
    }

    private var isolationOfInputs: Isolation { flaw == .abortedRecordsRead ? .uncommitted : .committed }
    private var ignoresDamage: Bool { flaw == .damagedRecordTaken }

    /// Where to read on; nil if the partition is not read, or cannot be for now.
    private func readablePosition(in place: SimulatedCluster.Place) throws(LogError) -> Offset? {
        guard let position = positions[place], !cluster[place].isLeaderless else { return nil }
        let log = cluster[place]
        if position > log.end, flaw == .truncationNotNoticed { return nil }
        guard position >= log.start, position <= log.end else {
            throw LogError(.startOver, "\(place.topic)[\(place.partition)]: offset \(position) is out of range")
        }
        return position
    }

    /// A place from which on an input cannot be read. It is reported once.
    private func nextDamage() -> PollResult? {
        if ignoresDamage { return nil }
        for (place, position) in positions.sorted(by: { $0.key < $1.key }) where cluster[place].hasDamage {
            let span = cluster[place].read(.committed, from: position, max: 1)
            guard span.isDamaged, span.records.isEmpty else { continue }
            positions[place] = nil
            trace?("poll: \(place.topic)[\(place.partition)]@\(span.next) is damaged")
            return .damaged(
                InputPosition(topic: place.topic == .orders ? .orders : .restocks, partition: place.partition, offset: span.next),
                "its checksum is wrong")
        }
        return nil
    }

    private func lend<Source>(
        _ record: SimulatedPartition.Record,
        as topic: Source,
        _ partition: Int32,
        _ offset: Offset
    ) -> LogRecord<Source> {
        // A batch of commands outlasts the reading of changelogs.
        if topic is ChangelogTopic { lentChanges.append(record) } else { lentRecords.append(record) }
        return LogRecord(
            topic: topic, partition: partition, offset: offset,
            // Without a timestamp, the age of a command depends on the reader's clock alone.
            timestamp: flaw == .windowByReadersClock && topic is InputTopic ? nil : record.visibleTimestamp, key: record.key?.view,
            value: record.value?.view, index: lentRecords.count - 1)
    }

    package func headers(of record: CommandRecord) -> [MessageHeader] { lentRecords[record.index].headers }

    package func start(at positions: [InputPosition]) throws(LogError) {
        try call(.start) { () throws(LogError) in
            reportedEnds = [:]
            if flaw == .notRewound, !self.positions.isEmpty, !positions.isEmpty { return }
            self.positions = flaws.started(at: places(positions), given: given)
        }
    }

    package func readBack(_ ranges: [InputPartition: Range<Offset>]) throws(LogError) -> (
        records: [CommandRecord], damaged: Set<InputPartition>
    ) {
        try call(.readBack) { () throws(LogError) in
            var damaged: Set<InputPartition> = []
            var records: [CommandRecord] = []
            lentRecords = []
            for (input, range) in ranges.sorted(by: { $0.key < $1.key }) {
                let place = SimulatedCluster.Place(input)
                if cluster[place].isLeaderless { throw LogError(.retry, "\(input) has no leader") }
                let span = cluster[place].read(isolationOfInputs, from: range.lowerBound, ignoringDamage: ignoresDamage)
                if span.isDamaged, span.next < range.upperBound {
                    damaged.insert(input)
                    continue
                }
                let found = flaws.readBack(place, range) ?? span.records.filter { $0.offset < range.upperBound }
                records += found.map { lend($0.record, as: input.topic, input.partition, $0.offset) }
            }
            return (records, damaged)
        }
    }
}

// MARK: - Taking over

extension SimulatedLog {
    package func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        try call(.extents) { () throws(LogError) in
            fencing = []
            point = .measured
            var extents: [PartitionExtents] = []
            var withoutLeader: [Int32: String] = [:]
            for partition in partitions {
                if leaderless.contains(partition) {
                    withoutLeader[partition] = "results"
                } else if let place = places(of: partition).first(where: { cluster[$0].isLeaderless }) {
                    withoutLeader[partition] = "\(place.topic)"
                } else {
                    extents.append(self.extents(of: partition))
                }
            }
            trace?("extents " + extents.map { "results[\($0.partition)] \($0.results) stock \($0.stock)" }.joined(separator: ", "))
            return (extents, withoutLeader)
        }
    }

    private func places(of partition: Int32) -> [SimulatedCluster.Place] {
        [.init(topic: .results, partition: partition), .init(topic: .stock, partition: partition)]
            + (share?.inputs(of: partition).map(SimulatedCluster.Place.init) ?? [])
    }

    private func extents(of partition: Int32) -> PartitionExtents {
        var inputs: [InputPartition: Range<Offset>] = [:]
        var disturbed: Set<InputPartition> = []
        for input in share?.inputs(of: partition) ?? [] {
            let place = SimulatedCluster.Place(input)
            inputs[input] = flaws.extent(place)
            // A client may overlook that a leader changed.
            let isLost = seenLosses.updateValue(cluster[place].losses, forKey: place).map { $0 != cluster[place].losses }
            if isLost ?? false, !cluster.isDisorderly(), flaw != .truncationNotNoticed { disturbed.insert(input) }
        }
        let places = (
            results: SimulatedCluster.Place(topic: .results, partition: partition),
            stock: SimulatedCluster.Place(topic: .stock, partition: partition)
        )
        var rewound: Set<ChangelogTopic> = []
        if written.takeLoss(of: places.results, endingAt: cluster[places.results].end) { rewound.insert(.results) }
        if written.takeLoss(of: places.stock, endingAt: cluster[places.stock].end) { rewound.insert(.stock) }
        return PartitionExtents(
            partition: partition, inputs: inputs, results: flaws.extent(places.results), stock: flaws.extent(places.stock),
            disturbed: disturbed, rewound: rewound)
    }

    package func answerStarts(at positions: [InputPosition], retention: Timestamp) throws(LogError) -> [Int32: Offset] {
        try call(.answerStarts) { () throws(LogError) in
            let places = places(positions)
            return Set(positions.map { $0.partition % cluster.partitionCount }).sorted().reduce(into: [:]) {
                let results = cluster[.results, $1]
                let time = horizon(of: $1, places).start(retention: retention)
                $0[$1] = flaw == .answersNotReadBack ? results.end : results.firstOffset(since: time) ?? results.end
            }
        }
    }

    /// Adds the last answers, the last read commands and the first unread one, all of them committed or not.
    private func horizon(of partition: Int32, _ positions: [SimulatedCluster.Place: Offset]) -> AnswerHorizon {
        var horizon = AnswerHorizon(now: now)
        // Without records, the horizon depends on the reader's clock alone.
        if flaw == .windowByReadersClock { return horizon }
        let results = cluster[.results, partition]
        for (_, record) in results.read(.uncommitted, from: results.end - AnswerHorizon.lookBack).records {
            horizon.addAnswer(at: record.timestamp)
        }
        for topic in InputTopic.allCases {
            let place = SimulatedCluster.Place(topic: topic.topic, partition: partition)
            let log = cluster[place]
            let next = positions[place] ?? log.start
            let span = log.read(.uncommitted, from: next - AnswerHorizon.lookBack, max: Int(AnswerHorizon.lookBack) + 1)
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

    package func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {
        try call(.openChangelog) { () throws(LogError) in
            self.isolation = isolation
            trace?("open \(isolation): " + positions.map { "\($0.topic)[\($0.partition)]@\($0.offset)" }.joined(separator: " "))
            changelog = Dictionary(
                uniqueKeysWithValues: positions.map {
                    (.init(topic: $0.topic.topic, partition: $0.partition), ($0.topic, $0.offset))
                })
        }
    }

    /// A few records at a time, so that a restore takes several steps.
    package func readChangelog() throws(LogError) -> ChangelogBatch {
        try call(.readChangelog) { () throws(LogError) in
            var batch: [ChangelogBatch.Record] = []
            var ends: [ChangelogPosition] = []
            var damages: [ChangelogPosition: String] = [:]
            lentChanges = []
            guard !cluster.isDown else { return ChangelogBatch(records: [], ends: []) }
            point = .journalRead
            for (place, (topic, position)) in changelog.sorted(by: { $0.key < $1.key }) {
                let log = cluster[place]
                guard !log.isLeaderless else { continue }
                guard position <= log.end else {
                    throw LogError(.startOver, "\(place.topic)[\(place.partition)]: offset \(position) is out of range")
                }
                let isolation = flaws.isolation(isolation)
                let span = log.read(isolation, from: position, max: longestRead)
                changelog[place] = (topic, span.next)
                for (offset, record) in flaws.restored(span.records, of: place, upTo: span.next) {
                    batch.append(lend(record, as: topic, place.partition, offset))
                }
                if span.isDamaged {
                    damages[.init(topic: topic, partition: place.partition, offset: span.next)] = "its checksum is wrong"
                    changelog[place] = nil
                } else if span.next == (isolation == .committed ? log.lastStableOffset : log.end) {
                    let end = flaws.end(of: place, at: span.next, isolation: self.isolation)
                    ends.append(.init(topic: topic, partition: place.partition, offset: end))
                }
            }
            trace?("read " + changelog.map { "\($0.topic)[\($0.partition)]..<\($1.next)" }.sorted().joined(separator: " "))
            return ChangelogBatch(records: batch, ends: ends, damages: damages)
        }
    }
}
