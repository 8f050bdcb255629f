import CRdKafka
import Foundation
import Kafka

/// Faults that tests inject into the embedded broker.
extension EmbeddedBroker {
    /// A request of the Kafka protocol, by its API key.
    package enum Request: Int16, Sendable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case syncGroup = 14
        case initProducerID = 22
        case addPartitionsToTransaction = 24
        case endTransaction = 26
    }

    /// Makes a broker answer its next requests of a kind with these errors, one each.
    ///
    /// It has no effect on metadata requests; see ``setError(_:ofTopic:)``.
    package func fail(next request: Request, with codes: [KafkaError.Code], broker: Int32 = 1) {
        for code in codes {
            crdkafka_mock_broker_push_request_error(cluster, broker, request.rawValue, rd_kafka_resp_err_t(code.rawValue))
        }
    }

    /// How many of the errors for a kind of request a broker has not returned yet.
    package func pendingFailures(of request: Request, broker: Int32 = 1) -> Int {
        var count = 0
        rd_kafka_mock_broker_error_stack_cnt(cluster, broker, request.rawValue, &count)
        return count
    }

    /// Sets the error of a topic in metadata; nil removes it.
    ///
    /// Clients must know the topic already, unless ``mayFailUnknownTopics``.
    package func setError(_ code: KafkaError.Code?, ofTopic topic: String) {
        let code = code.map { rd_kafka_resp_err_t($0.rawValue) } ?? RD_KAFKA_RESP_ERR_NO_ERROR
        rd_kafka_mock_topic_set_error(cluster, topic, code)
    }

    /// Whether a client may learn of a topic's error before it knows the topic.
    ///
    /// Unlike a real broker, the embedded one lists the topic's partitions together with the error. librdkafka 2.3 to 2.8 then
    /// compares the epoch of each leader with that of a partition it does not have, a null pointer
    /// (https://github.com/confluentinc/librdkafka/commit/dc48bedd1). Only the version reveals that.
    package static var mayFailUnknownTopics: Bool { !(0x0203_0000..<0x0209_0000).contains(rd_kafka_version()) }

    package func setLeader(_ broker: Int32, of partition: TopicPartition) {
        _ = rd_kafka_mock_partition_set_leader(cluster, partition.topic, partition.partition, broker)
    }

    package func setCoordinator(_ broker: Int32, ofGroup group: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "group", group, broker)
    }

    package func setCoordinator(_ broker: Int32, ofTransactionalID id: String) {
        _ = rd_kafka_mock_coordinator_set(cluster, "transaction", id, broker)
    }

    /// Delays each response of a broker.
    package func setRoundTrip(_ delay: Duration, ofBroker broker: Int32 = 1) {
        rd_kafka_mock_broker_set_rtt(cluster, broker, delay.milliseconds)
    }

    /// Cuts a broker's connections and refuses new ones.
    package func takeDown(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_down(cluster, broker) }
    }

    /// Lets a broker accept connections again.
    package func bringUp(broker: Int32 = 1) {
        _ = Self.ports.withLock { rd_kafka_mock_broker_set_up(cluster, broker) }
    }
}

/// Batches of records that no producer would send. The embedded broker stores whatever it gets.
extension EmbeddedBroker {
    /// What is wrong with a batch.
    package enum Damage: Sendable {
        /// A bit of a record has changed since it was written.
        case bit
        /// The checksum is right, but the records cannot be decompressed.
        case compression
    }

    /// Appends a batch of one record with a null key to a partition, which the only broker leads.
    package func append(_ value: String, damaged damage: Damage?, to partition: TopicPartition) throws {
        var records = Self.record(value)
        if damage == .compression { records = Array(repeating: 0xA5, count: 40) }
        var checked = Bytes()
        checked.append(Int16(damage == .compression ? 4 : 0), Int32(0))
        checked.append(Int64(1_700_000_000_000), Int64(1_700_000_000_000), Int64(-1))
        checked.append(Int16(-1), Int32(-1), Int32(1))
        checked.bytes += records
        let checksum = Self.crc32c(checked.bytes)
        // The last byte of the value: what follows in the record is the number of its headers.
        if damage == .bit { checked.bytes[checked.bytes.count - 2] ^= 1 }

        var batch = Bytes()
        batch.append(Int64(0), Int32(9 + checked.bytes.count), Int32(-1), Int8(2), checksum)
        batch.bytes += checked.bytes
        var request = Bytes()
        // Produce, version 7, without a client id or a transactional id, confirmed by all replicas within a minute.
        request.append(Int16(0), Int16(7), Int32(1), Int16(-1), Int16(-1), Int16(-1), Int32(60_000))
        request.append(Int32(1), Int16(partition.topic.utf8.count))
        request.bytes += partition.topic.utf8
        request.append(Int32(1), partition.partition, Int32(batch.bytes.count))
        request.bytes += batch.bytes
        try exchange(request.bytes)
    }

    private static func record(_ value: String) -> [UInt8] {
        func varint(_ value: Int) -> [UInt8] {
            var (rest, bytes) = (UInt64(bitPattern: Int64(value << 1 ^ value >> 63)), [UInt8]())
            while rest > 127 {
                bytes.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            return bytes + [UInt8(rest)]
        }
        let body = [0, 0, 0] + varint(-1) + varint(value.utf8.count) + Array(value.utf8) + [0]
        return varint(body.count) + body
    }

    private static func crc32c(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { rest, _ in rest >> 1 ^ (rest & 1 == 0 ? 0 : 0x82F6_3B78) }
        }
    }

    /// Sends a request over a connection of its own and waits for the answer.
    private func exchange(_ request: [UInt8]) throws {
        let port = bootstrapServers.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        #if os(Linux)
            let socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let socket = Foundation.socket(AF_INET, SOCK_STREAM, 0)
        #endif
        defer { close(socket) }
        var target = sockaddr_in()
        target.sin_family = sa_family_t(AF_INET)
        target.sin_port = port.bigEndian
        target.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &target) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        var framed = Bytes()
        framed.append(Int32(request.count))
        framed.bytes += request
        var answer: UInt8 = 0
        guard isConnected, send(socket, framed.bytes, framed.bytes.count, 0) == framed.bytes.count, recv(socket, &answer, 1, 0) == 1
        else { throw KafkaError(code: .transport) }
    }

    /// Bytes in the order of the network.
    private struct Bytes {
        var bytes: [UInt8] = []

        mutating func append<each Number: FixedWidthInteger>(_ numbers: repeat each Number) {
            for number in repeat each numbers { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
        }
    }
}
