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
        /// Behind the order or restock with this id, by its answer.
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
    }

    private let group: String
    private let topics: TopicNames
    private let author: String
    private let input: InputPartition
    /// The partition whose journal says how far the input is read.
    private let partition: Int32
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
            let storePartitions = claimed ?? Int32(clamping: count(.stock))
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
    package func look(_ destination: Destination) throws(ServiceError) -> Move {
        let survey = try asking { () throws(LogError) in try anchoring.survey() }
        // A service takes a claim of another group for a second service on its topics, and stops.
        if let group = survey.group, group != self.group {
            throw .badConfiguration("the partition belongs to the group \"\(group)\": add --group \(group)")
        }
        let log = survey.extents.inputs[input] ?? 0..<0
        let from = survey.positions.first { $0.topic == input.topic && $0.partition == input.partition }?.offset
        let target: Offset
        switch destination {
        case .offset(let offset): target = offset
        case .earliest: target = log.lowerBound
        case .latest: target = log.upperBound
        case .after(let id): target = try offset(ofCommand: id, in: survey.extents.results) + 1
        }
        guard target >= log.lowerBound, target <= log.upperBound else {
            throw .badConfiguration(
                "\(topics[input.topic]) [\(input.partition)] holds offsets \(log.lowerBound) to"
                    + " \(log.upperBound - 1): \(target) is none to go on at")
        }
        return Move(from: from, to: target, log: log)
    }

    /// The offset of a command, by its last answer.
    private func offset(ofCommand id: String, in results: Range<Offset>) throws(ServiceError) -> Offset {
        let decoder = AnswerDecoder()
        var found: Offset?
        do throws(KafkaError) {
            try reader.read([topics[.results, partition]: results], timeout: timeout) { record in
                if let value = record.value, let answer = try? decoder.decode(value), answer.id == id,
                    (answer.command == .restock) == (input.topic == .restocks)
                {
                    found = answer.offset
                }
                return true
            }
        } catch { throw .failed(error.description) }
        guard let found else {
            throw .badConfiguration("partition \(partition) of \(topics.results) has no answer to \"\(id)\"")
        }
        return found
    }

    /// Moves the position, and writes who did it and why into the journal.
    package func move(to offset: Offset, reason: String?) throws(ServiceError) {
        let place = InputPlace(topic: input.topic, partition: input.partition == partition ? nil : input.partition, offset: offset)
        try asking { () throws(LogError) in try anchoring.write(place, by: author, reason: reason) }
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
