import JuiceHTTP
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

    /// Appends a batch of one record with a null key to a partition, which the only broker leads.
    package func append(_ value: String, damaged damage: Damage?, to partition: TopicPartition) throws {
        let records = damage == .compression ? Array(repeating: 0xA5, count: 40) : Self.record(value)
        let time = Int64(1_700_000_000_000)
        var checked = bytes(Int16(damage == .compression ? 4 : 0), Int32(0), time, time, Int64(-1), Int16(-1), Int32(-1), Int32(1))
        checked += records
        let checksum = Self.crc32c(checked)
        // The last byte of the value: what follows in the record is the number of its headers.
        if damage == .bit { checked[checked.count - 2] ^= 1 }
        let batch = bytes(Int64(0), Int32(9 + checked.count), Int32(-1), Int8(2), checksum) + checked

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
}

/// Numbers in the order of the network.
private func bytes<each Number: FixedWidthInteger>(_ numbers: repeat each Number) -> [UInt8] {
    var bytes: [UInt8] = []
    for number in repeat each numbers { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
    return bytes
}
