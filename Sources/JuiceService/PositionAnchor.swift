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
        /// The first record with this time or a later one; behind the newest record if there is none.
        case time(Timestamp)
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

    private let configuration: ServiceConfiguration
    private let author: String
    private let isCopy: Bool
    private let input: InputPartition
    /// The partition whose journal says how far the input is read.
    private let partition: Int32
    private let storePartitions: Int32
    private let reader: Consumer
    /// How long each call may wait for the cluster.
    private let timeout: Duration
    private var anchoring: Anchoring<LibrdkafkaPort>

    /// - Parameters:
    ///   - author: who moves the position, for the journal.
    ///   - isCopy: whether the topics were copied from another cluster, by whose offsets the journal goes so far.
    ///   - timeout: how long each call may wait for the cluster.
    /// - Throws: ``ServiceError`` if the topics are not there, or have no such partition.
    package init(
        configuration: ServiceConfiguration, topic: InputTopic, partition number: Int32, author: String, isCopy: Bool = false,
        timeout: Duration, logger: Logger
    ) throws(ServiceError) {
        var configuration = configuration
        // All anchors of a group share their ids, so that only one is at work.
        configuration.instanceID = ServiceConfiguration.anchorInstance
        (self.configuration, self.author, self.timeout, self.isCopy) = (configuration, author, timeout, isCopy)
        input = InputPartition(topic: topic, partition: number)
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger)
        do throws(KafkaError) {
            let hooks = ClientHooks(logger: logger, logCeiling: .debug)
            let uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            let names = configuration.topics
            let metadata = try watch.metadata(
                of: names.all.filter { $0 != names.deadLetters }, from: uncommitted, while: Self.until(timeout))
            func count(_ topic: Topic) -> Int { metadata[names[topic]]?.partitionCount ?? 0 }
            guard number < count(topic.topic) else {
                let reason = "\(names[topic]) has no partition \(number), only \(count(topic.topic))"
                throw KafkaError(code: .unknownPartition, message: reason)
            }
            let claimed = try retrying(while: Self.until(timeout)) { () throws(KafkaError) in
                try metadata[names.results].flatMap { journal throws(KafkaError) in
                    try uncommitted.claims(in: journal, timeout: timeout).partitions
                }
            }
            storePartitions = claimed ?? Int32(clamping: count(.stock))
            partition = number % storePartitions
            let assignment = InputAssignment(
                orders: [partition], partitionCount: storePartitions, orderCount: Int32(clamping: count(.orders)),
                restockCount: Int32(clamping: count(.restocks)))
            let log = try LibrdkafkaPort(
                configuration: configuration, worker: 0, storePartitions: storePartitions, assignment: assignment, watch: watch,
                logger: logger)
            let settings = configuration.workerSettings(partitionCount: storePartitions, instance: author)
            reader = try log.committed
            anchoring = Anchoring(log: log, settings: settings, assignment: assignment, isCopy: isCopy)
        } catch {
            if error.code == .unknownPartition { throw .badConfiguration(error.message) }
            throw .failed(error.advised)
        }
    }

    private var topics: TopicNames { configuration.topics }

    private static func until(_ timeout: Duration) -> () -> Bool {
        let deadline = ContinuousClock.now + timeout
        return { ContinuousClock.now < deadline }
    }

    /// What a move would mean. Nothing is changed.
    ///
    /// - Parameter destination: nil, in a copy, for behind the last record that was handled.
    package func look(_ destination: Destination?) throws(ServiceError) -> Move {
        let known = try asking { () throws(LogError) in try anchoring.inspect() }
        // A service takes a claim of another group for a second service on its topics, and stops.
        if let group = known.owner?.group, group != configuration.group {
            throw .badConfiguration("the partition belongs to the group \"\(group)\": add --group \(group)")
        }
        // It writes stock.
        if known.hasOtherMenu { throw .badConfiguration("the partition's owner has another menu: add --menu FILE") }
        var fault = known.fault.flatMap { $0.missing > 0 ? $0 : nil }
        let others = Anchoring<LibrdkafkaPort>.others(than: input, at: known.positions, after: fault)
        fault?.reason += others.map { ". With it, \($0.topic) [\($0.partition)] goes on at offset \($0.offset)" }.joined()
        var move = try move(to: destination, known)
        move.fault = fault
        return move
    }

    private func move(to destination: Destination?, _ known: InspectedPartition) throws(ServiceError) -> Move {
        let log = known.extents?.inputs[input] ?? 0..<0
        let from = known.next(of: input)
        let target: Offset
        switch destination {
        case .offset(let offset): target = offset
        case .time(let time):
            guard configuration.capabilities.findsOffsetsByTime else {
                throw .badConfiguration("the embedded broker finds no offsets by time: give --offset")
            }
            let place = topics[input]
            do throws(KafkaError) {
                target = try reader.offsets(since: [place: time], timeout: timeout)[place] ?? log.upperBound
            } catch { throw .failed(error.description) }
        case .earliest: target = log.lowerBound
        case .latest: target = log.upperBound
        case .after(let id):
            let move = try move(upTo: id, known.extents?.results ?? 0..<0, log)
            if isCopy || move.to != move.copied { return move }
            target = move.to
        case nil: return try move(upTo: nil, known.extents?.results ?? 0..<0, log)
        }
        guard target >= log.lowerBound, target <= log.upperBound else {
            throw .badConfiguration(
                "\(topics[input]) holds offsets \(log.lowerBound) to"
                    + " \(log.upperBound - 1), so it cannot be read from \(target)")
        }
        return isCopy ? Move(from: nil, to: target, log: log, copied: from ?? 0) : Move(from: from, to: target, log: log)
    }

    /// The move behind a command, or behind all that was handled. That is looked up in the input itself: in a copy, the offset in
    /// an answer is that of another cluster.
    private func move(upTo id: String?, _ answered: Range<Offset>, _ log: Range<Offset>) throws(ServiceError) -> Move {
        let menu = configuration.menu
        var handled = CopyAlignment(of: input, in: partition, upTo: id, menu: menu, partitionCount: storePartitions)
        let (journal, results) = (JournalReader(menu: menu), topics[.results, partition])
        do throws(KafkaError) {
            for (place, range) in [(results, answered), (topics[input], log)] {
                // In parts, each within the timeout.
                for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(Self.readAtOnce)) {
                    try reader.read([place: start..<min(start + Self.readAtOnce, range.upperBound)], timeout: timeout) {
                        _, record in
                        if place != results {
                            handled.add(
                                CommandRecord(
                                    topic: input.topic, partition: input.partition, offset: record.offset, timestamp: nil,
                                    key: record.key, value: record.value, index: 0))
                        } else if let value = record.value,
                            let entry = try? journal.read(
                                value, partition: partition, offset: record.offset)
                        {
                            handled.add(entry)
                        }
                        return true
                    }
                }
            }
        } catch { throw .failed(error.description) }
        let (name, hint) = ("\(topics[input])", "add --topic, --partition and --offset")
        guard let places = handled.places(in: log) else {
            let what = id.map { "has no answer to \"\($0)\"" } ?? "names no handled record of \(name)"
            throw .badConfiguration("\(topics[.results, partition]) \(what), or none since an anchor: \(hint)")
        }
        guard let place = places.first, places.count == 1 else {
            let offsets = places.map { "\($0.next)" }.joined(separator: ", ")
            let reason = places.isEmpty ? "does not hold" : "has at several offsets (\(offsets))"
            throw .badConfiguration("\(name) \(reason) the last records that were handled: see that all is copied, or \(hint)")
        }
        return Move(from: nil, to: place.next, log: log, copied: place.journaled, lacking: place.lacking)
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
        let position = InputPosition(topic: input.topic, partition: input.partition, offset: offset)
        try asking { () throws(LogError) in
            try anchoring.write(position, by: author, reason: reason, copied: copied, accepting: missing)
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
