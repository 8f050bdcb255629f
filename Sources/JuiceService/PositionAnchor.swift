import Foundation
import JuiceEngine
import JuiceMessages
import Kafka
import Logging

/// Moves the positions of inputs, for `juice anchor`. Its calls block the thread that makes them.
package final class PositionAnchor {
    /// Where a position may be moved to.
    package enum Destination {
        case offset(Offset)
        /// The first record at or after this time; after the newest record if there is none. In a copy, only if the copy lacks the
        /// last handled record.
        case time(Timestamp)
        /// The oldest record.
        case earliest
        /// After the newest record.
        case latest
        /// In a copy, after the last handled record.
        case handled
    }

    /// One input's move.
    package struct Move: Equatable {
        /// The next offset by the journal (in a copy, the other cluster's); nil if the journal does not name one.
        package let from: Offset?
        /// The next offset from now on.
        package let to: InputPosition
        /// The offsets from the oldest to the newest record.
        package let log: Range<Offset>
    }

    /// The number of partitions that hold stores.
    package let storePartitions: Int32
    private let configuration: ServiceConfiguration
    private let author: String
    private let isCopy: Bool
    private let inputs: [InputPartition]
    private let reader: Consumer
    /// How long each call may wait for the cluster.
    private let timeout: Duration
    private var anchoring: Anchoring<LibrdkafkaPort>

    /// - Parameters:
    ///   - topic: the topic of the only input to move; nil for all inputs of the partition.
    ///   - number: the partition of that topic; without a topic, a partition that holds stores.
    ///   - author: the operator's name, for the journal.
    ///   - isCopy: whether the topics were copied from another cluster, so that the journal still has that cluster's offsets.
    ///   - timeout: how long each call may wait for the cluster.
    /// - Throws: ``ServiceError`` if the topics do not exist, or have no such partition.
    package init(
        configuration: ServiceConfiguration, topic: InputTopic?, partition number: Int32, author: String, isCopy: Bool = false,
        timeout: Duration, logger: Logger
    ) throws(ServiceError) {
        var configuration = configuration
        // All anchors of a group share their transactional ids, so that only one is at work.
        configuration.instanceID = ServiceConfiguration.anchorInstance
        (self.configuration, self.author, self.timeout, self.isCopy) = (configuration, author, timeout, isCopy)
        let watch = BrokerWatch(bootstrapServers: configuration.bootstrapServers, logger: logger)
        do throws(KafkaError) {
            let hooks = ClientHooks(logger: logger, logCeiling: .debug)
            let uncommitted = try Consumer(configuration: configuration.logEndConsumer, hooks: hooks)
            let names = configuration.topics
            let metadata = try watch.metadata(
                of: names.all.filter { $0 != names.deadLetters }, from: uncommitted, while: Self.until(timeout))
            func count(_ topic: Topic) -> Int32 { Int32(clamping: metadata[names[topic]]?.partitionCount ?? 0) }
            if let topic, number >= count(topic.topic) {
                let reason = "\(names[topic.topic]) has no partition \(number), only \(count(topic.topic))"
                throw KafkaError(code: .unknownPartition, message: reason)
            }
            let claimed = try retrying(while: Self.until(timeout)) { () throws(KafkaError) in
                try metadata[names.results].flatMap { journal throws(KafkaError) in
                    try uncommitted.claims(in: journal, timeout: timeout).partitions
                }
            }
            storePartitions = claimed ?? count(.stock)
            let partition = number % storePartitions
            let assignment = InputAssignment(
                orders: [partition], partitionCount: storePartitions, orderCount: count(.orders), restockCount: count(.restocks))
            inputs = topic.map { [InputPartition(topic: $0, partition: number)] } ?? assignment.inputs(of: partition)
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

    private static func until(_ timeout: Duration) -> () -> Bool {
        let deadline = ContinuousClock.now + timeout
        return { ContinuousClock.now < deadline }
    }

    /// What moving the inputs there would change, and what the journal and the stock lack, which the move accepts. Changes nothing.
    package func look(_ destination: Destination) throws(ServiceError) -> (moves: [Move], fault: PartitionFault?) {
        let known = try asking { () throws(LogError) in try anchoring.inspect() }
        // A service takes a claim of another group for a second service on its topics, and stops.
        if let group = known.owner?.group, group != configuration.group {
            throw .badConfiguration("the partition belongs to the group \"\(group)\": add --group \(group)")
        }
        // The anchor writes stock, which depends on the menu.
        if known.hasOtherMenu { throw .badConfiguration("the partition's owner has another menu: add --menu FILE") }
        var moves: [Move] = []
        for input in inputs {
            let (place, log, next) = (configuration.topics[input], known.extents?.inputs[input] ?? 0..<0, known.next(of: input))
            let target =
                switch destination {
                case .offset(let offset): offset
                case .earliest: log.lowerBound
                case .latest: log.upperBound
                case .time(let time) where !isCopy: try offset(since: time, of: place, log)
                case .time(let time): try handledEnd(of: input, log, after: next, orSince: time)
                case .handled: try handledEnd(of: input, log, after: next)
                }
            guard target >= log.lowerBound, target <= log.upperBound else {
                throw .badConfiguration(
                    "\(place) holds offsets \(log.lowerBound) to \(log.upperBound - 1), so it cannot be read from \(target)")
            }
            moves.append(Move(from: next, to: InputPosition(input, target), log: log))
        }
        var fault = known.fault.flatMap { $0.missing > 0 ? $0 : nil }
        let others = Anchoring<LibrdkafkaPort>.others(than: inputs, at: known.positions, after: fault)
        fault?.reason += others.map { ". With it, \($0.topic) [\($0.partition)] goes on at offset \($0.offset)" }.joined()
        return (moves, fault)
    }

    private func offset(since time: Timestamp, of place: TopicPartition, _ log: Range<Offset>) throws(ServiceError) -> Offset {
        guard configuration.capabilities.findsOffsetsByTime else {
            throw .badConfiguration("the embedded broker finds no offsets by time: give --offset")
        }
        do throws(KafkaError) {
            return try reader.offsets(since: [place: time], timeout: timeout)[place] ?? log.upperBound
        } catch { throw .failed(error.description) }
    }

    /// In a copy, the offset after the last handled record.
    ///
    /// - Parameter time: the time from which to go on if the copy lacks that record.
    private func handledEnd(
        of input: InputPartition, _ log: Range<Offset>, after next: Offset?, orSince time: Timestamp? = nil
    ) throws(ServiceError) -> Offset {
        let place = configuration.topics[input]
        var copies = anchoring.copies
        do throws(KafkaError) {
            // In parts, each of which must finish within the timeout.
            for start in stride(from: log.lowerBound, to: log.upperBound, by: 100_000) {
                try reader.read([place: start..<min(start + 100_000, log.upperBound)], timeout: timeout) { _, record in
                    copies?.add(
                        CommandRecord(
                            topic: input.topic, partition: input.partition, offset: record.offset, timestamp: nil,
                            key: record.key, value: record.value, index: 0))
                    return true
                }
            }
        } catch { throw .failed(error.description) }
        let byHand = "add --topic, --partition and --offset"
        guard let copies, let places = copies.places(of: input, after: next, in: log) else {
            throw .badConfiguration("the results do not say which record of \(place) was handled last: \(byHand)")
        }
        guard places.isEmpty else {
            if places.count == 1 { return places[0] }
            let offsets = places.map { "\($0)" }.joined(separator: ", ")
            throw .badConfiguration("\(place) has the last handled records before each of the offsets \(offsets): \(byHand)")
        }
        let times = copies.times(of: input)
        if let time, times?.contains(time) ?? false { return try offset(since: time, of: place, log) }
        let remedy = times.map { "add --after-time \(Self.text($0.upperBound)), or up to an hour before that" } ?? byHand
        throw .badConfiguration("\(place) lacks the last records that were handled: see that all is copied, or \(remedy)")
    }

    private static func text(_ time: Timestamp) -> String { Date(milliseconds: time).formatted(.iso8601) }

    /// Moves the positions in one transaction, and writes who did it and why into the journal.
    ///
    /// - Parameter missing: how many records and changes the journal and the stock may lack.
    package func move(_ moves: [Move], reason: String?, accepting missing: Int64 = 0) throws(ServiceError) {
        let moves = moves.map { (to: $0.to, copied: isCopy ? $0.from ?? 0 : nil) }
        try asking { () throws(LogError) in
            try anchoring.write(moves, by: author, reason: reason, accepting: missing)
        }
    }

    /// Repeats a call while it may succeed. A running service takes the partition back as soon as it finds itself fenced, sometimes
    /// before the note is written.
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
