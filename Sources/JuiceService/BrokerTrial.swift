import JuiceMessages
import Kafka

/// Tries the properties, in transactions that are aborted.
///
/// It writes only to the dead letters, which have no account and for which no takeover waits. The records are notes about a dead
/// letter that does not exist, so that no reader takes them for dead letters if they are shown. The transactional id has a random
/// part, so that several instances may try at the same time. If the process dies, brokers end its transaction after 5 s.
final class BrokerTrial {
    /// The second takes the id over from the first. Its transaction stays open after the trial.
    private let first, second: TransactionSession
    private let committed: Consumer
    private let place: TopicPartition
    private let deadline: ContinuousClock.Instant

    init(_ configuration: ServiceConfiguration, hooks: ClientHooks, timeout: Duration) throws(KafkaError) {
        (place, deadline) = (configuration.topics[.deadLetters, 0], .now + timeout)
        let id = "\(configuration.checkID)/\(UInt64.random(in: 0...(.max)))"
        let producer = configuration.producer.merging([
            // librdkafka requires the latter two to be within the first.
            "transaction.timeout.ms": "5000", "message.timeout.ms": "5000", "socket.timeout.ms": "4000",
        ])
        func session() -> TransactionSession {
            TransactionSession(
                ids: { _ in [id] }, topics: Topic.allCases.map { (configuration.topics[$0], [:]) }, configuration: producer,
                hooks: hooks)
        }
        (first, second) = (session(), session())
        committed = try Consumer(configuration: configuration.changelogConsumer, hooks: hooks)
    }

    deinit { committed.close() }

    /// - Returns: all properties but ``BrokerProof/Property/settingsReadable``.
    /// - Throws: ``KafkaError`` if nothing is known. Another trial may succeed, unless a right is missing or a setting is wrong.
    func run() throws(KafkaError) -> [BrokerProof] {
        do throws(KafkaError) { return try proofs() } catch {
            guard !error.code.isHopeless else { throw error }
            throw KafkaError(code: error.code, message: "a trial transaction: \(error.message)", isRetriable: true)
        }
    }

    private func proofs() throws(KafkaError) -> [BrokerProof] {
        let before = try end()
        try wait { timeout throws(KafkaError) in try first.initTransactions(timeout: timeout) }
        let open = try write(by: first)
        let openEnd = try end()
        let isOpenSeen = try isSeen(open, waiting: false)
        // Aborts what the first one has written.
        try wait { timeout throws(KafkaError) in try second.initTransactions(timeout: timeout) }
        var isFenced = false
        do throws(KafkaError) { try write(by: first, begins: false) } catch {
            guard error.code.isFromBroker || error.code == .fenced else { throw error }
            isFenced = true
        }
        let isAbortedSeen = try isSeen(open, waiting: true)
        let next = try write(by: second)
        func proof(_ property: BrokerProof.Property, _ faults: KeyValuePairs<String, Bool>) -> BrokerProof {
            BrokerProof(property, fault: faults.first { $0.value }?.key)
        }
        return [
            proof(
                .hiddenWhileOpen,
                [
                    "they show a record of an open transaction to readers of committed records": isOpenSeen,
                    "the log ends at offset \(openEnd) for readers of committed records, behind an undecided one at \(open)":
                        openEnd > open,
                ]),
            proof(.hiddenOnceAborted, ["they show an aborted record to readers of committed records": isAbortedSeen]),
            proof(.formerOwnerFenced, ["they take records from a producer whose transactional id was taken over": !isFenced]),
            proof(
                .offsetsRise,
                ["behind offset \(before) they put a record at \(open), and the next one at \(next)": open < before || next <= open]
            ),
        ]
    }

    /// Repeats a call while it may succeed.
    @discardableResult
    private func wait<Answer>(_ call: (_ timeout: Duration) throws(KafkaError) -> Answer) throws(KafkaError) -> Answer {
        try retrying(until: deadline) { _ throws(KafkaError) in try call(.seconds(1)) }
    }

    /// Where the log ends for readers of committed records.
    private func end() throws(KafkaError) -> Offset {
        try wait { timeout throws(KafkaError) in try committed.endOffsets(of: [place], timeout: timeout)[place] } ?? 0
    }

    /// - Returns: the offset of the record.
    @discardableResult
    private func write(by session: TransactionSession, begins: Bool = true) throws(KafkaError) -> Offset {
        if begins { try session.begin() }
        let letter = RecordHeader(name: HeaderName.resentLetter, value: "\(place.partition)/\(Offset.max)")
        try write(to: .deadLetters, by: session, headers: [letter, RecordHeader(name: HeaderName.resentTo, value: "probe")])
        return session.deliveredRanges(in: place.topic)[place.partition]?.last?.upperBound.advanced(by: -1) ?? -1
    }

    private func write(
        _ value: UnsafeRawBufferPointer? = nil, to topic: Topic, by session: TransactionSession, headers: [RecordHeader] = []
    ) throws(KafkaError) {
        try session.produce(to: topic.rawValue, partition: 0, key: nil, value: value, headers: headers)
        try wait { timeout throws(KafkaError) in try session.flush(timeout: timeout) }
    }

    /// Tries whether a topic takes a record, in a transaction that is never committed.
    func write(_ text: String, to topic: Topic) throws(KafkaError) {
        if !second.isReady {
            try wait { timeout throws(KafkaError) in try second.initTransactions(timeout: timeout) }
            try second.begin()
        }
        try Array(text.utf8).withUnsafeBufferPointer { text throws(KafkaError) in
            try write(UnsafeRawBufferPointer(text), to: topic, by: second)
        }
    }

    /// Whether a reader of committed records gets the record at an offset.
    ///
    /// - Parameter waiting: whether to wait until that is decided. An earlier open transaction may keep the record from being read.
    private func isSeen(_ offset: Offset, waiting: Bool) throws(KafkaError) -> Bool {
        let reader = PartitionReader(committed)
        try reader.start([place: offset..<offset + 1])
        defer { try? reader.stop() }
        let end = waiting ? deadline : min(deadline, .now + .seconds(1))
        repeat {
            let records = try reader.poll(timeout: .milliseconds(100))
            if !records.isEmpty { return true }
            if reader.hasReached([place: offset + 1]) || !waiting && records.ends[place] != nil { return false }
        } while .now < end
        guard waiting else { return false }
        throw KafkaError(code: .timedOut, message: "\(place): the end of an aborted transaction is not seen", isRetriable: true)
    }
}
