import BrokerFaults
import TestSupport
import Testing

@testable import Kafka

/// Assignments and revocations are events of the poll.
@Suite(.concurrencyLimited) struct RebalanceTests {
    @Test func partitionsAreReadFromWhereTheOwnerSays() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let producer = try broker.producer()
            for number in 0..<5 { try producer.send(topic: "t", key: nil, value: [UInt8(number)], timeout: .seconds(60)) }
            let member = try broker.member(of: ["t"])
            #expect(member.hasAssignment)
            var values: [UInt8] = []
            func poll() throws {
                guard case .records(let batch) = try member.poll(maxRecords: 10, timeout: .milliseconds(100)) else { return }
                for case .record(let record) in batch { values.append(record.value?.first ?? 0) }
            }
            for _ in 0..<3 { try poll() }
            #expect(values.isEmpty)
            try member.start(at: [TopicPartition(topic: "t", partition: 0): 3])
            let deadline = ContinuousClock.now + .seconds(20)
            while values.count < 2, ContinuousClock.now < deadline { try poll() }
            #expect(values == [3, 4])
            member.close()
        }
    }

    @Test func anAssignmentThatEndsIsRevokedAndMembershipGone() async throws {
        try await withBroker(topics: ["t": 2]) { broker in
            let member = try GroupConsumer(
                of: ["t"],
                configuration: broker.client([
                    "group.id": "test", "session.timeout.ms": "3500", "heartbeat.interval.ms": "200",
                ]),
                hooks: quietHooks
            )
            #expect(try join(member).count == 2)
            // 27: REBALANCE_IN_PROGRESS.
            broker.fail(next: .heartbeat, with: [KafkaError.Code(rawValue: 27)])
            var isRevoked = false
            let deadline = ContinuousClock.now + .seconds(20)
            while !isRevoked, ContinuousClock.now < deadline {
                if case .revoked = try member.poll(maxRecords: 1, timeout: .milliseconds(100)) { isRevoked = true }
            }
            #expect(isRevoked)
            #expect(!member.hasAssignment)
            #expect(try join(member).count == 2)
            #expect(member.hasAssignment)
            member.close()
            member.close()
        }
    }

    @Test func committedOffsetsAreKeptForTheGroup() async throws {
        try await withBroker(topics: ["t": 2]) { broker in
            let partitions = [0, 1].map { TopicPartition(topic: "t", partition: $0) }
            let consumer = try broker.consumer()
            try consumer.assign([partitions[0]: 0, partitions[1]: 0])
            try consumer.commit([partitions[1]: 7])
            let committed = try consumer.committed(partitions, timeout: .seconds(60))
            #expect(committed[partitions[0]] == .some(nil))
            #expect(committed[partitions[1]] == 7)
            // 25: UNKNOWN_MEMBER_ID.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 25)])
            let error = #expect(throws: KafkaError.self) { try consumer.commit([partitions[1]: 8]) }
            #expect(error?.code.rawValue == 25)
            broker.setRoundTrip(.seconds(2))
            let late = #expect(throws: KafkaError.self) { try consumer.commit([partitions[1]: 9], timeout: .milliseconds(10)) }
            #expect(late?.remedy == .retry)
            consumer.close()
        }
    }

    @Test func publishedOffsetsAreCommittedInTheBackground() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let partition = TopicPartition(topic: "t", partition: 0)
            let consumer = try broker.consumer()
            // 16: NOT_COORDINATOR. Nobody hears of it.
            broker.fail(next: .offsetCommit, with: [KafkaError.Code(rawValue: 16)])
            consumer.publish([:])
            let deadline = ContinuousClock.now + .seconds(60)
            var committed: Offset?
            while committed != 7, .now < deadline {
                consumer.publish([partition: 7])
                committed = try consumer.committed([partition], timeout: .seconds(60))[partition] ?? nil
            }
            #expect(committed == 7)
            consumer.close()
        }
    }

    /// Without a wait in between, librdkafka would stop partitions twice and end the process.
    @Test func partitionsAreRewoundInQuickSuccession() async throws {
        try await withBroker(topics: ["t": 8]) { broker in
            let producer = try broker.producer()
            for number in 0..<8 { try producer.send(topic: "t", key: [UInt8(number)], value: [1], timeout: .seconds(60)) }
            let start = (0..<8).map { (TopicPartition(topic: "t", partition: $0), Offset(0)) }
            let consumer = try broker.consumer()
            for _ in 0..<50 {
                try consumer.assign(Dictionary(uniqueKeysWithValues: start))
                try consumer.assign(Dictionary(uniqueKeysWithValues: start))
            }
            var count = 0
            try poll(consumer, until: { count == 8 }) { if case .record = $0 { count += 1 } }
            #expect(count == 8)
            consumer.close()
        }
    }
}

/// Records whose bytes have changed in the log are never taken for data, and nothing after them is read by accident.
@Suite(.concurrencyLimited) struct DamageTests {
    private static let partition = TopicPartition(topic: "in", partition: 0)

    /// What librdkafka does after the error depends on the size of the batch: it reads it again and again, or from a place that it
    /// takes out of the damaged bytes.
    @Test(
        arguments: [
            (EmbeddedBroker.Damage.bit, KafkaError.Code.badMessage), (.compression, .badCompression),
        ],
        [10, 5_000]
    )
    func damageIsToldBeforeAnythingElse(
        _ damage: (kind: EmbeddedBroker.Damage, code: KafkaError.Code),
        size: Int
    ) async throws {
        try await withBroker(topics: ["in": 1]) { broker in
            let value = String(repeating: "x", count: size)
            try broker.append("before", damaged: nil, to: Self.partition)
            try broker.append(value, damaged: damage.kind, to: Self.partition)
            try broker.append("after", damaged: nil, to: Self.partition)
            // Nobody can switch the check off.
            let consumer = try broker.consumer(["auto.offset.reset": "error", "check.crcs": "false"])
            try consumer.assign([Self.partition: 0])
            var failure: KafkaError?
            var values: [String] = []
            try poll(consumer, until: { failure != nil }) { element in
                switch element {
                case .record(let record) where failure == nil: values.append(record.value?.text ?? "")
                case .failure(Self.partition, let error): failure = failure ?? error
                default: break
                }
            }
            #expect(values == ["before"])
            #expect(failure?.code == damage.code)
            #expect(failure?.code.isDamage == true)
            #expect(failure?.offset == 1)

            // Whoever wants to can read on behind it.
            try consumer.assign([Self.partition: 2])
            try poll(consumer, until: { values.count > 1 }) { element in
                if case .record(let record) = element { values.append(record.value?.text ?? "") }
            }
            #expect(values == ["before", "after"])
            consumer.close()
        }
    }

    @Test func damageEndsAMembership() async throws {
        try await withBroker(topics: ["in": 1]) { broker in
            try broker.append("before", damaged: nil, to: Self.partition)
            try broker.append("damaged", damaged: .bit, to: Self.partition)
            let reader = GroupReader(
                of: ["in"], configuration: broker.client(["group.id": "test"]),
                watch: BrokerWatch(bootstrapServers: broker.bootstrapServers, logger: quietHooks.logger), hooks: quietHooks)
            let deadline = ContinuousClock.now + .seconds(60)
            let error = #expect(throws: KafkaError.self) {
                while .now < deadline {
                    if case .rebalanced = try reader.poll(maxRecords: 10), let offsets = try reader.startOffsets() {
                        try reader.start(at: offsets)
                    }
                }
            }
            #expect(error?.code == .badMessage)
        }
    }
}

/// The headers of received records. Whether a record has any is read from the byte after its value.
@Suite(.concurrencyLimited) struct HeaderTests {
    private struct Written: Equatable {
        let value: [UInt8]?
        let headers: [RecordHeader]
    }

    /// Values of many sizes, so that some end at the end of a page, with and without headers after them.
    private static let records: [Written] = (0..<1_500).map { number in
        Written(value: value(number), headers: headers[number % headers.count])
    }

    private static let headers: [[RecordHeader]] = [
        [],
        [RecordHeader(name: "a", value: "1")],
        [],
        [
            RecordHeader(name: "", value: nil), RecordHeader(name: "b", value: []),
            RecordHeader(name: "b", value: "2"),
        ],
    ]

    private static func value(_ number: Int) -> [UInt8]? {
        switch number % 50 {
        case 0, 1: nil
        case 2, 3: []
        default: Array(repeating: UInt8(number % 3), count: number < 700 ? number : number % 5)
        }
    }

    @Test(arguments: ["none", "gzip", "lz4"])
    func headersAreFoundAfterValuesOfAnySize(compression: String) async throws {
        try await withBroker(topics: ["out": 1]) { broker in
            let session = try broker.readySession(["compression.type": compression])
            try session.begin()
            for record in Self.records {
                try (record.value ?? []).withUnsafeBytes { value in
                    try session.produce(
                        to: 0, partition: 0, key: nil, value: record.value == nil ? nil : value, headers: record.headers)
                }
            }
            try session.commit(timeout: .seconds(60))

            let reader = try broker.consumer()
            defer { reader.close() }
            try reader.assign([TopicPartition(topic: "out", partition: 0): 0])
            var read: [Written] = []
            var asked = 0
            try poll(reader, until: { read.count >= Self.records.count }) { element in
                guard case .record(let record) = element else { return }
                read.append(Written(value: record.value.map(Array.init), headers: record.headers))
                if ConsumedRecord.mayHaveHeaders(after: record.value) { asked += 1 }
            }
            #expect(read.count == Self.records.count)
            // Not all of them at once: a failure would print more than anybody reads.
            for (read, written) in zip(read, Self.records) where read != written { #expect(read == written) }
            // librdkafka is asked for the others only if there is no value, or if it ends with its page.
            let certain = Self.records.count { !$0.headers.isEmpty || $0.value?.isEmpty ?? true }
            #expect((certain...certain + 20).contains(asked))
        }
    }
}

/// Leaders that moved are found where librdkafka would find them too late.
@Suite(.concurrencyLimited) struct LeaderRefreshTests {
    @Test(
        .enabled(if: !KafkaConfiguration.noticesMovedLeaders, "this librdkafka is refused by a former leader, and asks by itself"))
    func aLeaderThatMovedIsFoundWithoutAnError() async throws {
        try await onThread {
            let partition = TopicPartition(topic: "in", partition: 0)
            let broker = try EmbeddedBroker(brokerCount: 2, logger: quietHooks.logger)
            try broker.createTopic("in", partitionCount: 1)
            broker.setLeader(1, of: partition)
            let consumer = try broker.consumer()
            try consumer.assign([partition: 0])
            let producer = try broker.producer()
            func isRead(_ text: String) throws -> Bool {
                try producer.send(topic: "in", key: nil, value: Array(text.utf8), timeout: .seconds(60))
                var isRead = false
                try poll(consumer, until: { isRead }) { element in
                    if case .record(let record) = element { isRead = record.value?.text == text }
                }
                return isRead
            }
            #expect(try isRead("before"))

            // What a broker that is shutting down answers: nothing new, and no hint. Twice a second, for longer than the test.
            broker.fail(next: .fetch, with: Array(repeating: KafkaError.Code(rawValue: 78), count: 1000))
            broker.setLeader(2, of: partition)
            #expect(try isRead("after"))
            #expect(broker.pendingFailures(of: .fetch) > 900)
            consumer.close()
        }
    }
}

/// A member of a group that reads from the committed offsets on and detects the ends of partitions.
@Suite(.concurrencyLimited) struct GroupReaderTests {
    private static let first = TopicPartition(topic: "t", partition: 0)
    private static let second = TopicPartition(topic: "t", partition: 1)

    private func reader(_ broker: EmbeddedBroker) -> GroupReader {
        GroupReader(
            of: ["t"],
            // The embedded broker waits for a second less than the session timeout before members join again.
            configuration: broker.client([
                "group.id": "readers", "session.timeout.ms": "2500", "heartbeat.interval.ms": "200",
            ]),
            watch: BrokerWatch(bootstrapServers: broker.bootstrapServers, logger: quietHooks.logger), hooks: quietHooks)
    }

    /// Polls from the reader's start offsets until `isDone` or 20 seconds are over.
    private func read(_ reader: GroupReader, until isDone: ([UInt8], [TopicPartition: Offset]) throws -> Bool) throws -> (
        starts: [TopicPartition: Offset], values: [UInt8]
    ) {
        var (starts, values, ends) = ([TopicPartition: Offset](), [UInt8](), [TopicPartition: Offset]())
        let deadline = ContinuousClock.now + .seconds(20)
        while try !isDone(values, ends), ContinuousClock.now < deadline {
            switch try reader.poll(maxRecords: 100) {
            case .rebalanced:
                guard let offsets = try reader.startOffsets() else { continue }
                starts = offsets
                try reader.start(at: offsets)
            case .records(let batch, let reached):
                for case .record(let record) in batch { values.append(record.value?.first ?? 0) }
                ends.merge(reached) { _, new in new }
            }
        }
        return (starts, values)
    }

    private func send(_ values: Range<UInt8>, to broker: EmbeddedBroker, partition: Int32 = 0) throws {
        let producer = try broker.producer()
        try producer.send(values.map { OutgoingRecord(topic: "t", partition: partition, key: nil, value: [$0]) })
    }

    /// After a close, a poll joins the group again.
    @Test(
        arguments: [
            (3, 3, [3, 4]),
            // An offset that is not in the log is not read from.
            (1000, 0, [0, 1, 2, 3, 4]),
        ] as [(Offset, Offset, [UInt8])])
    func itBeginsWithTheOldestAndGoesOnWhereItCommitted(committed: Offset, start: Offset, rest: [UInt8]) async throws {
        try await withBroker(topics: ["t": 2]) { broker in
            try send(0..<5, to: broker)
            let reader = reader(broker)
            let all = try read(reader) { values, ends in values.count == 5 && ends == [Self.first: 5, Self.second: 0] }
            #expect(all.starts == [Self.first: 0, Self.second: 0])
            #expect(all.values == [0, 1, 2, 3, 4])
            try reader.commit([Self.first: committed])
            reader.close()

            let more = try read(reader) { values, _ in values.count == rest.count }
            #expect(more.starts == [Self.first: start, Self.second: 0])
            #expect(more.values == rest)
            reader.close()
        }
    }

    @Test func aRangeIsReadOnceItsEndIsPassed() {
        let partitions = (0..<3).map { TopicPartition(topic: "t", partition: $0) }
        var unread = UnreadRanges([partitions[0]: 5..<10, partitions[1]: 0..<1, partitions[2]: 4..<4])
        #expect(!unread.isEmpty)
        unread.passed(partitions[0], next: 9)
        unread.passed(partitions[2], next: 100)
        unread.passed(partitions[1], next: 1)
        #expect(!unread.isEmpty)
        // The end of the partition reveals a marker at the end of the range.
        unread.passed(partitions[0], next: 12)
        #expect(unread.isEmpty)
    }

    @Test func theEndIsKnownAgainAfterMoreCame() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            try send(0..<1, to: broker)
            let reader = reader(broker)
            _ = try read(reader) { _, ends in ends == [Self.first: 1] }
            try send(1..<3, to: broker)
            let more = try read(reader) { _, ends in ends == [Self.first: 3] }
            #expect(more.values == [1, 2])
            reader.close()
        }
    }

    @Test func aRightThatIsMissingEndsTheMembership() async throws {
        try await withBroker(topics: ["t": 1]) { broker throws in
            broker.fail(next: .joinGroup, with: Array(repeating: .groupAuthorizationFailed, count: 10))
            let reader = reader(broker)
            let error = #expect(throws: KafkaError.self) { _ = try read(reader) { _, _ in false } }
            #expect(error?.code == .groupAuthorizationFailed)
        }
    }
}

/// Sending many records at once.
@Suite(.concurrencyLimited) struct SendManyTests {
    @Test func allAreConfirmedAlsoWhenTheQueueIsSmall() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let producer = try broker.producer(["queue.buffering.max.messages": "10"])
            let records = (0..<100).map {
                OutgoingRecord(topic: "t", partition: 0, key: nil, value: [UInt8($0)], timestamp: 1000 + $0)
            }
            try producer.send(records)
            let consumer = try broker.consumer()
            try consumer.assign([TopicPartition(topic: "t", partition: 0): 0])
            var values: [UInt8] = []
            try poll(consumer, until: { values.count == 100 }) {
                if case .record(let record) = $0 { values.append(record.value?.first ?? 0) }
            }
            #expect(values == (0..<100).map(UInt8.init))
            consumer.close()
        }
    }

    @Test func theFirstFailureIsThrown() async throws {
        try await withBroker(topics: ["t": 1]) { broker in
            let producer = try broker.producer(["message.max.bytes": "2000"])
            let error = #expect(throws: KafkaError.self) {
                try producer.send([
                    OutgoingRecord(topic: "t", key: nil, value: [1]),
                    OutgoingRecord(topic: "t", key: nil, value: Array(repeating: 0, count: 4000)),
                ])
            }
            #expect(error?.code == .messageTooLarge)
        }
    }
}
