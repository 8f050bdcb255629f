import Kafka
import Logging
import TestSupport
import Testing

let quietHooks = ClientHooks(logger: .quiet)
let minute = Duration.seconds(60)

/// The first partition of the test brokers' topic.
let place = TopicPartition(topic: "t", partition: 0)

/// Runs a test on a thread of its own, with an embedded broker that has the topic `t`.
func withBroker(partitions: Int = 1, _ test: @escaping @Sendable (EmbeddedBroker) throws -> Void) async throws {
    try await onThread { try test(EmbeddedBroker.start(partitions: partitions)) }
}

/// Repeats `step` until a condition is true, and records an issue if it is not within a minute.
func repeating(
    until isMet: () throws -> Bool, sourceLocation: SourceLocation = #_sourceLocation, _ step: () throws -> Void = {}
) rethrows {
    let deadline = ContinuousClock.now + minute
    while try !isMet() {
        guard .now < deadline else {
            Issue.record("it did not happen within a minute", sourceLocation: sourceLocation)
            return
        }
        try step()
    }
}

extension EmbeddedBroker {
    static func start(brokerCount: Int = 1, partitions: Int = 1) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker(brokerCount: brokerCount, logger: .quiet)
        try broker.createTopic("t", partitionCount: partitions)
        return broker
    }

    func client(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration([
            "bootstrap.servers": bootstrapServers, "linger.ms": "0", "group.id": "test", "auto.offset.reset": "earliest",
        ]).merging(properties)
    }

    func consumer(_ properties: [String: String] = [:], logger: Logger = .quiet) throws -> Consumer {
        try Consumer(
            configuration: client(BrokerCapabilities.embedded.consumerProperties.merging(properties) { $1 }),
            hooks: ClientHooks(logger: logger))
    }

    /// A member of the group `test`, with its partitions assigned.
    func member(_ properties: [String: String] = [:]) throws -> Consumer {
        let member = try Consumer(configuration: client(properties), hooks: quietHooks)
        try member.subscribe(to: ["t"])
        try join(member)
        return member
    }

    func producer() throws -> Producer { try Producer(configuration: client(), hooks: quietHooks) }

    /// The values of the first records of the first partition of `t`.
    func values(_ count: Int) throws -> [String] {
        let consumer = try consumer()
        defer { consumer.close() }
        try consumer.assign([place: 0])
        var values: [String] = []
        try poll(consumer, until: { values.count >= count }) { element in
            if case .record(let record) = element { values.append(record.value?.text ?? "") }
        }
        return values
    }

    /// A session with a producer `NAME/SET` for each name, which writes to the topic `t`. A session begins with a random set, which
    /// counts as number 0 here.
    func session(
        _ properties: [String: String] = [:], names: [String] = ["one"], setCount: Int = 1, inactivityTimeout: Duration? = nil,
        hooks: ClientHooks = quietHooks
    ) -> TransactionSession {
        var first: Int?
        return TransactionSession(
            ids: { set in
                let start = first ?? set
                first = start
                return names.map { "\($0)/\((set - start + setCount) % setCount)" }
            }, setCount: setCount, topics: [("t", [:])], inactivityTimeout: inactivityTimeout,
            configuration: client(properties), hooks: hooks)
    }

    /// The same, with its ids taken over.
    func readySession(
        _ properties: [String: String] = [:], names: [String] = ["one"], setCount: Int = 1, inactivityTimeout: Duration? = nil,
        hooks: ClientHooks = quietHooks
    ) throws -> TransactionSession {
        let session = session(properties, names: names, setCount: setCount, inactivityTimeout: inactivityTimeout, hooks: hooks)
        try session.initTransactions(timeout: minute)
        return session
    }
}

extension Producer {
    /// Sends a record to the topic `t`.
    @discardableResult
    func send(_ value: String) throws(KafkaError) -> Delivery {
        try send(topic: "t", key: nil, value: Array(value.utf8), timeout: minute)
    }
}

extension TransactionSession {
    /// Adds a record to the only topic.
    func produce(
        _ value: [UInt8]?, key: String? = nil, partition: Int32 = 0, headers: [RecordHeader] = [], timestamp: Int64? = nil
    ) throws(KafkaError) {
        try Array((key ?? "").utf8).withUnsafeBufferPointer { keyBytes throws(KafkaError) in
            try (value ?? []).withUnsafeBufferPointer { valueBytes throws(KafkaError) in
                try produce(
                    to: 0, partition: partition, key: key == nil ? nil : UnsafeRawBufferPointer(keyBytes),
                    value: value == nil ? nil : UnsafeRawBufferPointer(valueBytes), headers: headers, timestamp: timestamp)
            }
        }
    }

    /// Begins a transaction with a record.
    func write(_ value: String = "") throws(KafkaError) {
        try begin()
        try produce(Array(value.utf8))
    }

    /// Writes a record in a transaction of its own.
    func transact(_ value: String = "") throws(KafkaError) {
        try write(value)
        try commit(timeout: minute)
    }
}

/// Polls until the member has partitions or a minute is over, and returns them.
@discardableResult
func join(_ member: Consumer) throws -> [TopicPartition] {
    var joined: [TopicPartition]?
    try repeating(until: { joined != nil }) {
        let batch = try member.poll(maxRecords: 1, timeout: .milliseconds(100))
        if case .assigned(let partitions) = batch.rebalance { joined = partitions }
    }
    return joined ?? []
}

/// Polls until `isDone` or a minute is over, handing each element to `body`.
func poll(_ consumer: Consumer, until isDone: () -> Bool, _ body: (RecordBatch.Element) throws -> Void) throws {
    try repeating(until: isDone) {
        for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) { try body(element) }
    }
}

extension UnsafeRawBufferPointer { var text: String { String(decoding: self, as: UTF8.self) } }
