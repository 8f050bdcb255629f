import Kafka
import Logging
import TestSupport

let quietHooks = ClientHooks(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

/// Runs a test on a thread of its own, with an embedded broker that has these topics, of so many partitions each.
func withBroker(topics: [String: Int] = [:], _ test: @escaping @Sendable (EmbeddedBroker) throws -> Void) async throws {
    try await onThread { try test(EmbeddedBroker.start(topics: topics)) }
}

extension EmbeddedBroker {
    static func start(topics: [String: Int] = [:]) throws -> EmbeddedBroker {
        let broker = try EmbeddedBroker(logger: quietHooks.logger)
        for (name, count) in topics { try broker.createTopic(name, partitionCount: count) }
        return broker
    }

    func client(_ properties: [String: String] = [:]) -> KafkaConfiguration {
        KafkaConfiguration(["bootstrap.servers": bootstrapServers]).merging(properties)
    }

    func consumer(_ properties: [String: String] = [:]) throws -> Consumer {
        try Consumer(
            configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]).merging(properties), hooks: quietHooks)
    }

    /// A member of the group `test`, with its partitions assigned.
    func member(of topics: [String]) throws -> GroupConsumer {
        let member = try GroupConsumer(
            of: topics, configuration: client(["group.id": "test", "auto.offset.reset": "earliest"]), hooks: quietHooks)
        try join(member)
        return member
    }

    func producer(_ properties: [String: String] = [:]) throws -> Producer {
        try Producer(configuration: client(["linger.ms": "0"]).merging(properties), hooks: quietHooks)
    }

    /// A session with a producer `NAME/SET` of each name, which writes to the topic `out`. A session begins with any set; here
    /// that counts as number 0.
    func session(
        _ properties: [String: String] = [:], names: [String] = ["one"], setCount: Int = 1, inactivityTimeout: Duration? = nil,
        hooks: ClientHooks = quietHooks
    ) -> TransactionSession {
        let configuration = client(["linger.ms": "0"]).merging(properties)
        var first: Int?
        return TransactionSession(
            ids: { set in
                let start = first ?? set
                first = start
                return names.map { "\($0)/\((set - start + setCount) % setCount)" }
            }, setCount: setCount, topics: [("out", [:])], inactivityTimeout: inactivityTimeout,
            client: { _ in (configuration, hooks) })
    }

    /// The same, with its ids taken over.
    func readySession(
        _ properties: [String: String] = [:], names: [String] = ["one"], setCount: Int = 1, inactivityTimeout: Duration? = nil,
        hooks: ClientHooks = quietHooks
    ) throws -> TransactionSession {
        let session = session(
            properties, names: names, setCount: setCount, inactivityTimeout: inactivityTimeout, hooks: hooks)
        try session.initTransactions(timeout: .seconds(60))
        return session
    }
}

extension TransactionSession {
    /// Adds a record to the only topic.
    func produce(
        _ value: String? = nil, key: String? = nil, partition: Int32 = 0, headers: [RecordHeader] = [], timestamp: Int64? = nil
    ) throws {
        let (keyBytes, valueBytes) = (Array((key ?? "").utf8), Array((value ?? "").utf8))
        try keyBytes.withUnsafeBytes { keyBuffer in
            try valueBytes.withUnsafeBytes { valueBuffer in
                try produce(
                    to: 0, partition: partition, key: key == nil ? nil : keyBuffer, value: value == nil ? nil : valueBuffer,
                    headers: headers, timestamp: timestamp)
            }
        }
    }

    /// Writes a record in a transaction of its own.
    func transact(_ value: String? = nil) throws {
        try begin()
        try produce(value)
        try commit(timeout: .seconds(60))
    }
}

/// Polls until the member has partitions or a minute is over.
///
/// - Returns: the partitions.
@discardableResult
func join(_ member: GroupConsumer) throws -> [TopicPartition] {
    let deadline = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < deadline {
        if case .assigned(let partitions) = try member.poll(maxRecords: 1, timeout: .milliseconds(100)) { return partitions }
    }
    return []
}

/// Polls until `isDone` or a minute is over, handing each element to `body`.
func poll(_ consumer: Consumer, until isDone: () -> Bool, _ body: (RecordBatch.Element) throws -> Void) throws {
    let deadline = ContinuousClock.now + .seconds(60)
    while !isDone(), ContinuousClock.now < deadline {
        for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) { try body(element) }
    }
}

extension UnsafeRawBufferPointer { var text: String { String(decoding: self, as: UTF8.self) } }
