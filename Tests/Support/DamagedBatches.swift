import JuiceWeb
import Kafka

/// Batches of records that no producer would send. The embedded broker stores whatever it gets.
extension EmbeddedBroker {
    /// What is wrong with a batch.
    package enum Damage: Sendable {
        /// A bit of a record has changed since it was written.
        case bit
        /// The checksum is right, but the records cannot be decompressed.
        case compression
    }

    /// Records that were written together, and what is wrong with them.
    package typealias Batch = (values: [String], damage: Damage?)

    /// Appends a batch of one record with a null key to a partition, which the only broker leads.
    package func append(_ value: String, damaged damage: Damage?, to partition: TopicPartition) throws {
        try append([([value], damage)], at: 0, to: partition)
    }

    /// Appends batches that each fetch returns together, the first one at this offset: the end of the partition's log.
    package func append(_ batches: [Batch], at offset: Int64, to partition: TopicPartition) throws {
        let count = batches.reduce(0) { $0 + $1.values.count }
        var (log, next) = ([UInt8](), offset)
        for batch in batches {
            // The broker takes the count of all records from the first batch. librdkafka counts what it finds.
            log += Self.batch(batch, at: next, count: log.isEmpty ? count : batch.values.count)
            next += Int64(batch.values.count)
        }
        try produce(log, to: partition)
    }

    private static func batch(_ batch: Batch, at offset: Int64, count: Int) -> [UInt8] {
        let (damage, time) = (batch.damage, Int64(1_700_000_000_000))
        let last = Int32(batch.values.count - 1)
        var checked = bytes(Int16(damage == .compression ? 4 : 0), last, time, time, Int64(-1), Int16(-1), Int32(-1), Int32(count))
        for (index, value) in batch.values.enumerated() {
            checked += damage == .compression ? Array(repeating: 0xA5, count: 40) : record(value, at: index)
        }
        let checksum = crc32c(checked)
        // The last byte of the value. After it, the record has only the number of its headers.
        if damage == .bit { checked[checked.count - 2] ^= 1 }
        return bytes(offset, Int32(9 + checked.count), Int32(-1), Int8(2), checksum) + checked
    }

    private func produce(_ batch: [UInt8], to partition: TopicPartition) throws {
        // Produce, version 7, without a client id or a transactional id, confirmed by all replicas within a minute.
        var request = bytes(Int16(0), Int16(7), Int32(1), Int16(-1), Int16(-1), Int16(-1), Int32(60_000))
        request += bytes(Int32(1), Int16(partition.topic.utf8.count)) + partition.topic.utf8
        request += bytes(Int32(1), partition.partition, Int32(batch.count)) + batch
        let port = bootstrapServers.split(separator: ":").last.flatMap { Int($0) } ?? 0
        let connection = try RawConnection(HTTPAddress(host: "127.0.0.1", port: port))
        guard connection.send(bytes(Int32(request.count)) + request) else { throw KafkaError(code: .transport) }
        // The answer, which begins with its length.
        _ = try connection.read(until: "\0")
    }

    private static func record(_ value: String, at index: Int) -> [UInt8] {
        func varint(_ value: Int) -> [UInt8] {
            var (rest, bytes) = (UInt64(bitPattern: Int64(value << 1 ^ value >> 63)), [UInt8]())
            while rest > 127 {
                bytes.append(UInt8(rest & 127) | 128)
                rest >>= 7
            }
            return bytes + [UInt8(rest)]
        }
        let body = [0, 0] + varint(index) + varint(-1) + varint(value.utf8.count) + Array(value.utf8) + [0]
        return varint(body.count) + body
    }

    private static func crc32c(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(~0) { checksum, byte in
            (0..<8).reduce(checksum ^ UInt32(byte)) { rest, _ in rest >> 1 ^ (rest & 1 == 0 ? 0 : 0x82F6_3B78) }
        }
    }
}

/// Numbers in network byte order.
private func bytes<each Number: FixedWidthInteger>(_ numbers: repeat each Number) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in repeat each numbers { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
    return bytes
}
