import JuiceDomain
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Moves the position of an input partition, for `juice anchor`. Its calls block the thread that makes them.
package final class PositionAnchor {
    /// Where the position may be moved to.
    package enum Destination {
        case offset(Offset)
        /// The oldest record.
        case earliest
        /// Behind the newest record.
        case latest
        /// Behind the order or restock with this id, which was answered.
        case after(id: String)
    }

    /// What a move means.
    package struct Move: Equatable {
        /// The next offset by the journal; nil if it does not say.
        package let from: Offset?
        /// The next offset from now on.
        package let to: Offset
        /// From the oldest record to behind the newest one.
        package let log: Range<Offset>
        /// In a copy, what the next offset was in the other cluster; else nil.
        package var copied: Offset?
        /// How many records were handled there that the copy lacks.
        package var lacking = 0
        /// What journal and stock lack, which the move accepts; nil if nothing.
        package var fault: PartitionFault?
    }

    private let group: String
    private let topics: TopicNames
    private let author: String
    private let input: InputPartition
    /// The partition whose journal says how far the input is read.
    private let partition: Int32
    private let storePartitions: Int32
    private let menu: Menu
    private let reader: Consumer
    /// How long each call may wait for the cluster.
    private let timeout: Duration
    private var anchoring: Anchoring<KafkaCommandLog>

    /// - Parameters:
    ///   - author: who moves the position, for the journal.
    ///   - timeout: how long each call may wait for the cluster.
    /// - Throws: ``ServiceError`` if the topics are not there, or have no such partition.
    package init(
        configuration: ServiceConfiguration, topic: InputTopic, partition number: Int32, author: String, timeout: Duration,
        logger: Logger
    ) throws(ServiceError) {
        var configuration = configuration
        // All anchors of a group share their ids, so that only one is at work.
        configuration.instanceID = ServiceConfiguration.anchorInstance
        (group, topics, self.author, self.timeout) = (configuration.group, configuration.topics, author, timeout)
        menu = configuration.menu
        input = InputPartition(topic: topic, partition: number)
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger)
        do throws(KafkaError) {
            let hooks = ClientHooks(logger: logger, logCeiling: .debug)
            reader = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
            let names = topics
            let metadata = try watch.metadata(
                of: names.all.filter { $0 != names.deadLetters }, from: reader, while: Self.until(timeout))
            func count(_ topic: Topic) -> Int { metadata[names[topic]]?.partitionCount ?? 0 }
            guard number < count(topic.topic) else {
                let reason = "\(names[topic]) has no partition \(number), only \(count(topic.topic))"
                throw KafkaError(code: .unknownPartition, message: reason)
            }
            let uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            let stores = StorePartitions(reader: uncommitted, timeout: timeout)
            var claimed: Int32?
            try retrying(while: Self.until(timeout)) { () throws(KafkaError) in
                claimed = try stores.claimed(in: names.results, partitionCount: count(.results))
            }
            storePartitions = claimed ?? Int32(clamping: count(.stock))
            partition = number % storePartitions
            let share = InputAssignment(
                orders: [partition], partitionCount: storePartitions, orderCount: Int32(clamping: count(.orders)),
                restockCount: Int32(clamping: count(.restocks)))
            let log = try KafkaCommandLog(
                configuration: configuration, worker: 0,
                // It writes no dead letters.
                partitions: .init(stores: storePartitions, inputs: max(count(.orders), count(.restocks)), deadLetters: 1),
                share: share, watch: watch, logger: logger)
            let settings = WorkerSettings(
                menu: configuration.menu, language: configuration.language, partitionCount: storePartitions, group: group,
                instance: author)
            anchoring = Anchoring(log: log, settings: settings, share: share)
        } catch { throw .failed(error.description + error.code.neededRights) }
    }

    private static func until(_ timeout: Duration) -> () -> Bool {
        let deadline = ContinuousClock.now + timeout
        return { ContinuousClock.now < deadline }
    }

    /// What a move would mean. Nothing is changed.
    ///
    /// - Parameters:
    ///   - destination: nil, in a copy, for behind the last record that was handled.
    ///   - isCopy: whether the topics were copied from another cluster, by whose offsets the journal goes so far.
    package func look(_ destination: Destination?, isCopy: Bool = false) throws(ServiceError) -> Move {
        var (move, fault) = try consider(destination, isCopy: isCopy)
        move.fault = fault
        return move
    }

    private func consider(
        _ destination: Destination?, isCopy: Bool
    ) throws(ServiceError) -> (Move, PartitionFault?) {
        let survey = try asking { () throws(LogError) in try anchoring.survey() }
        // A service takes a claim of another group for a second service on its topics, and stops.
        if let group = survey.group, group != self.group {
            throw .badConfiguration("the partition belongs to the group \"\(group)\": add --group \(group)")
        }
        // It writes stock.
        if survey.hasOtherMenu { throw .badConfiguration("the partition's owner has another menu: add --menu FILE") }
        let fault = survey.fault.flatMap { $0.missing > 0 ? $0 : nil }
        let log = survey.extents.inputs[input] ?? 0..<0
        let from = survey.positions.first { $0.topic == input.topic && $0.partition == input.partition }?.offset
        let target: Offset
        switch destination {
        case .offset(let offset): target = offset
        case .earliest: target = log.lowerBound
        case .latest: target = log.upperBound
        case .after(let id):
            let place = try place(upTo: id, survey.extents, log)
            if isCopy || place.next != place.told { return (Move(place, in: log), fault) }
            target = place.next
        case nil: return (Move(try place(upTo: nil, survey.extents, log), in: log), fault)
        }
        guard target >= log.lowerBound, target <= log.upperBound else {
            throw .badConfiguration(
                "\(topics[input.topic]) [\(input.partition)] holds offsets \(log.lowerBound) to"
                    + " \(log.upperBound - 1): \(target) is none to go on at")
        }
        return (isCopy ? Move(from: nil, to: target, log: log, copied: from ?? 0) : Move(from: from, to: target, log: log), fault)
    }

    /// The place behind a command, or behind all that was handled. It is looked up in the input itself: in a copy, the offset in an
    /// answer is that of another cluster.
    private func place(
        upTo id: String?, _ extents: PartitionExtents, _ log: Range<Offset>
    ) throws(ServiceError) -> HandledRecords.Place {
        var handled = HandledRecords(of: input, in: partition, upTo: id, menu: menu, partitionCount: storePartitions)
        var revisions: [String: Int] = [:]
        let journal = JournalReader(menu: menu)
        try read(topics[.results, partition], extents.results) { record in
            guard let value = record.value, let entry = try? journal.read(value) else { return }
            handled.add(entry)
            // A repeat tells the revision of the first answer again.
            guard id == nil, case .answer(let answer) = entry, answer.revision > 0, !answer.head.isDuplicate else { return }
            revisions[String(answer.head.store)] = answer.revision
        }
        if let id, !handled.hasCommand {
            throw .badConfiguration(
                "partition \(partition) of \(topics.results) has no answer to \"\(id)\", or none since an anchor")
        }
        if id == nil { try check(extents.stock, against: revisions, isWhole: handled.isWhole ?? true) }
        try read(topics[input], log) { record in
            handled.add(
                CommandRecord(
                    topic: input.topic, partition: input.partition, offset: record.offset, timestamp: nil, key: record.key,
                    value: record.value, index: 0))
        }
        do throws(HandledRecords.Mismatch) {
            return try handled.place(in: log)
        } catch {
            guard case .ambiguous = error else { throw describe(error) }
        }
        try addCopies(to: &handled)
        do throws(HandledRecords.Mismatch) { return try handled.place(in: log) } catch { throw describe(error) }
    }

    private func describe(_ mismatch: HandledRecords.Mismatch) -> ServiceError {
        let name = "\(topics[input.topic]) [\(input.partition)]"
        let reason =
            switch mismatch {
            case .nothingToCompare: "\(topics.results) [\(partition)] does not tell which records of \(name) were handled"
            case .nowhere: "\(name) does not hold the last records that were handled"
            case .ambiguous(let offsets):
                "what was handled fits into \(name) at several offsets ("
                    + offsets.prefix(5).map(String.init).joined(separator: ", ") + (offsets.count > 5 ? ", …)" : ")")
            }
        return .badConfiguration(reason + ": see that all is copied, or add --topic, --partition and --offset")
    }

    /// Adds the copies of what was forwarded and put aside, which hold more of it than the journal tells.
    private func addCopies(to handled: inout HandledRecords) throws(ServiceError) {
        var places = handled.owners.map { topics[input.topic.topic, $0] }
        var logs: [TopicPartition: Range<Offset>] = [:]
        do throws(KafkaError) {
            if handled.hasLetters { places += try reader.partitions(of: [topics.deadLetters], timeout: timeout) }
            logs = try reader.watermarks(of: places, timeout: timeout)
        } catch { throw .failed(error.description) }
        for (place, log) in logs {
            try read(place, log) { record in
                guard let source = source(of: record), source.partition == input.partition else { return }
                handled.addCopy(of: source.offset, key: record.key, value: record.value)
            }
        }
    }

    /// Where a record of the input, or a dead letter of it, was first read; nil if it does not say so.
    private func source(of record: ConsumedRecord) -> ForwardSource? {
        var values: [String: [UInt8]] = [:]
        for header in record.headers { values[header.name] = header.value }
        func text(_ name: String) -> String { String(decoding: values[name] ?? [], as: UTF8.self) }
        if record.topic != topics.deadLetters { return values[HeaderName.forwardedFrom].flatMap(ForwardSource.init) }
        guard text(HeaderName.sourceTopic) == topics[input.topic], values[HeaderName.truncatedFrom] == nil,
            let partition = Int32(text(HeaderName.sourcePartition)), let offset = Offset(text(HeaderName.sourceOffset))
        else { return nil }
        return ForwardSource(partition: partition, offset: offset)
    }

    /// The stock is written after the answers. A copy that has more of it would use fruits twice.
    ///
    /// - Parameter isWhole: whether no answer has expired.
    private func check(_ stock: Range<Offset>, against revisions: [String: Int], isWhole: Bool) throws(ServiceError) {
        let decoder = StockDecoder()
        var ahead: (StockRecord, told: Int)?
        try read(topics[.stock, partition], stock) { record in
            guard let value = record.value, let stock = try? decoder.decode(value),
                let told = revisions[stock.store] ?? (isWhole ? 0 : nil)
            else { return }
            if stock.revision > told { ahead = (stock, told) }
        }
        guard let (stock, told) = ahead else { return }
        throw .badConfiguration(
            "the copy of \(topics.stock) [\(partition)] is ahead of that of \(topics.results): store \"\(stock.store)\" has revision"
                + " \(stock.revision), but its last answer has \(told); see \"Another cluster\" in docs/OPERATIONS.md")
    }

    /// Reads a partition in parts, each within the timeout.
    private func read(
        _ place: TopicPartition, _ range: Range<Offset>, _ body: (ConsumedRecord) -> Void
    ) throws(ServiceError) {
        do throws(KafkaError) {
            for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.readAtOnce)) {
                try reader.read([place: start..<min(start + Self.readAtOnce, range.upperBound)], timeout: timeout) { record in
                    body(record)
                    return true
                }
            }
        } catch { throw .failed(error.description) }
    }

    private static let readAtOnce: Offset = 100_000

    /// Moves the position, and writes who did it and why into the journal.
    ///
    /// - Parameters:
    ///   - copied: what the offset was in the cluster that the topics were copied from; nil if they were not.
    ///   - missing: how many records and changes journal and stock may lack.
    package func move(
        to offset: Offset, reason: String?, copied: Offset? = nil, accepting missing: Int64 = 0
    ) throws(ServiceError) {
        let place = InputPlace(topic: input.topic, partition: input.partition == partition ? nil : input.partition, offset: offset)
        try asking { () throws(LogError) in
            try anchoring.write(place, by: author, reason: reason, copied: copied, accepting: missing)
        }
    }

    /// Makes a call again while it may succeed. A service that runs takes the partition back as soon as it finds itself fenced, at
    /// times before the note is written.
    private func asking<Answer>(_ call: () throws(LogError) -> Answer) throws(ServiceError) -> Answer {
        let isWorthWaiting = Self.until(timeout)
        var mustStartOver = false
        while true {
            do throws(LogError) {
                if mustStartOver { try anchoring.startOver() }
                mustStartOver = false
                return try call()
            } catch {
                guard error.remedy != .stop, isWorthWaiting() else { throw .failed(error.message) }
                mustStartOver = mustStartOver || error.remedy == .startOver
            }
        }
    }
}

extension PositionAnchor.Move {
    /// A move in a copy. The position of before is one of the other cluster.
    fileprivate init(_ place: HandledRecords.Place, in log: Range<Offset>) {
        self.init(from: nil, to: place.next, log: log, copied: place.told, lacking: place.lacking)
    }
}
