import CRdKafka
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import class Kafka.ClientHandle

/// Producer and consumer over a real TCP connection, on the embedded broker.
@Suite(.concurrencyLimited) struct ClientTests {
    @Test func aRecordArrivesAsItWasSent() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 3])
            let headers = [
                RecordHeader(name: "traceparent", value: "00-1"), RecordHeader(name: "null", value: nil),
                RecordHeader(name: "empty", value: ""), RecordHeader(name: "traceparent", value: "again"),
            ]
            let delivery = try broker.producer().send(
                topic: "t", key: Array("gangnam".utf8), value: Array("hello".utf8), headers: headers, timeout: .seconds(60))
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: delivery.partition): 0])
            var isDone = false
            try poll(consumer, until: { isDone }) { element in
                guard case .record(let record) = element else { return }
                #expect(record.topic == "t")
                #expect(record.partition == delivery.partition)
                #expect(record.offset == delivery.offset)
                #expect(record.key?.text == "gangnam")
                #expect(record.value?.text == "hello")
                #expect(record.headers == headers)
                #expect(record.headers.first?.text == "00-1")
                #expect(record.timestamp != nil)
                isDone = true
            }
            #expect(isDone)
        }
    }

    @Test func nullAndEmptyAreToldApart() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let producer = try broker.producer()
            try producer.send(topic: "t", key: nil, value: nil, timeout: .seconds(60))
            try producer.send(topic: "t", key: [], value: [], timeout: .seconds(60))
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            var keys: [Bool] = []
            var values: [Bool] = []
            try poll(consumer, until: { keys.count == 2 }) { element in
                guard case .record(let record) = element else { return }
                keys.append(record.key == nil)
                values.append(record.value == nil)
            }
            #expect(keys == [true, false])
            #expect(values == [true, false])
        }
    }

    @Test func thePartitionerOfJavaClientsCanBeChosen() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 4])
            let producer = try broker.producer(["partitioner": "murmur2_random"])
            // The partitions that Java's DefaultPartitioner chooses for these keys, out of 4.
            for (key, partition) in [("21", 0), ("foobar", 2), ("a-little-bit-longer-string", 3)] {
                let delivery = try producer.send(topic: "t", key: Array(key.utf8), value: [1], timeout: .seconds(60))
                #expect(Int(delivery.partition) == partition, "\(key)")
            }
        }
    }

    @Test func theEndOfAPartitionIsTold() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            try broker.producer().send(topic: "t", key: nil, value: [1], timeout: .seconds(60))
            let consumer = try broker.consumer(["enable.partition.eof": "true"])
            let partition = TopicPartition(topic: "t", partition: 0)
            try consumer.assign([partition: 0])
            var end: Int64?
            try poll(consumer, until: { end != nil }) { element in
                if case .endOfPartition(partition, let next) = element { end = next }
            }
            #expect(end == 1)
            let watermarks = try consumer.watermarks(of: [partition], timeout: .seconds(60))
            #expect(watermarks == [partition: Watermarks(low: 0, high: 1)])
        }
    }

    @Test func anOffsetOutsideTheLogIsAFailureOfItsPartition() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let consumer = try broker.consumer(["auto.offset.reset": "error"])
            let partition = TopicPartition(topic: "t", partition: 0)
            try consumer.assign([partition: 100])
            var failure: KafkaError?
            try poll(consumer, until: { failure != nil }) { element in
                if case .failure(partition, let error) = element { failure = error }
            }
            #expect(failure?.code == .autoOffsetReset)
        }
    }

    @Test func metadataNamesPartitions() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 3])
            let metadata = try broker.producer().metadata(topics: ["t"], timeout: .seconds(60))
            #expect(metadata["t"]?.partitionCount == 3)
            #expect(metadata["t"]?.partitions.map(\.leader) == [1, 1, 1])
            #expect(metadata.brokers == [broker.bootstrapServers])
        }
    }

    @Test func aBrokerThatIsNotThereIsATimeout() async throws {
        try await onThread {
            let noticed = Mutex<[KafkaError.Code]>([])
            var hooks = quietHooks
            hooks.onError = { error in noticed.withLock { $0.append(error.code) } }
            let nowhere = KafkaConfiguration(["bootstrap.servers": "127.0.0.1:1"])
            let producer = try Producer(configuration: nowhere, hooks: hooks)
            let error = #expect(throws: KafkaError.self) {
                try producer.send(topic: "t", key: nil, value: [1], timeout: .seconds(2))
            }
            #expect(error?.code == .timedOut)
            #expect(noticed.withLock { $0 }.contains(.allBrokersDown))
        }
    }

    @Test func statisticsAndLogLinesReachTheHooks() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start(topics: ["t": 1])
            let statistics = Mutex<[String]>([])
            let recorder = LogRecorder()
            let hooks = ClientHooks(
                logger: recorder.makeLogger(level: .debug), onStatistics: { json in statistics.withLock { $0.append(json) } })
            let producer = try Producer(
                configuration: broker.client(["statistics.interval.ms": "50", "debug": "broker"]), hooks: hooks)
            let deadline = ContinuousClock.now + .seconds(10)
            while statistics.withLock({ $0.isEmpty }), ContinuousClock.now < deadline { producer.poll(timeout: .milliseconds(100)) }
            #expect(statistics.withLock { $0.first }?.contains(#""brokers""#) == true)
            #expect(recorder.all.contains { $0.hasPrefix("debug ") })
        }
    }

    /// librdkafka queues them for every client, whether or not it has a callback, until the client is polled: some 5 MB an hour.
    @Test(arguments: [ClientHandle.Kind.consumer, .producer])
    func statisticsThatNobodyTakesAreNotCollected(kind: ClientHandle.Kind) async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            let configuration = broker.client(["group.id": "g", "statistics.interval.ms": "10"])
            let silent = try ClientHandle(kind, configuration: configuration, hooks: quietHooks)
            let count = Mutex(0)
            var hooks = quietHooks
            hooks.onStatistics = { _ in count.withLock { $0 += 1 } }
            let reporting = try ClientHandle(kind, configuration: configuration, hooks: hooks)
            let deadline = ContinuousClock.now + .seconds(60)
            while count.withLock({ $0 < 20 }), .now < deadline { reporting.poll(timeout: .milliseconds(10)) }
            let reported = count.withLock(\.self)
            #expect(reported >= 20)
            #expect(rd_kafka_outq_len(silent.pointer) == 0)
        }
    }

    /// librdkafka alone tries one broker a second.
    @Test func brokersThatAreGoneDelayAClientOnlyBriefly() async throws {
        try await onThread {
            let broker = try EmbeddedBroker.start()
            let gone = (1...5).map { "127.0.0.1:\($0)" }
            let servers = (gone + [broker.bootstrapServers]).joined(separator: ",")
            let start = ContinuousClock.now
            for _ in 0..<8 {
                let consumer = try broker.consumer(["bootstrap.servers": servers])
                consumer.connect()
                #expect(try consumer.metadata(topics: [], timeout: .seconds(60)).brokers.count == 1)
                consumer.close()
            }
            // Without help it takes 20 s on average, with it half a second at most for each client.
            #expect(.now - start < .seconds(10))
        }
    }
}
