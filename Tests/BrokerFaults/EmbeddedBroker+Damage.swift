import Foundation
import Kafka

/// Batches of records that no producer would send. The embedded broker stores whatever it gets.
extension EmbeddedBroker {
    /// What is wrong with a batch.
    public enum Damage: Sendable {
        /// A bit of a record has changed since it was written.
        case bit
        /// The checksum is right, but the records cannot be decompressed.
        case compression
    }

    /// Appends a batch of one record with a null key to a partition, which the only broker leads.
    public func append(_ value: String, damaged damage: Damage?, to partition: TopicPartition) throws {
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
