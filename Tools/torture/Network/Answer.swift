import CRdKafka
import NIOCore

/// The response to a transactional request.
struct Answer: Equatable, Sendable {
    /// Kafka's error code, 0 for none. If there are several, the first error.
    var error: Int16 = 0
    /// The producer id and epoch in the response to InitProducerId.
    var producer: ProducerIdentity?

    init(error: Int16, producer: ProducerIdentity? = nil) {
        self.error = error
        self.producer = producer
    }

    /// - Parameters:
    ///   - frame: the response, including the four bytes of its length.
    ///   - header: the header of the request.
    /// - Returns: nil if the proxy does not read this kind of response.
    init?(frame: ByteBuffer, to header: RequestHeader) {
        guard ApiKey.transactional.contains(header.key) else { return nil }
        guard header.version <= ApiKey.newestVersions[header.key, default: 0] else { return nil }
        do { try read(frame, header) } catch { return nil }
    }

    private mutating func read(_ frame: ByteBuffer, _ header: RequestHeader) throws(WireError) {
        var buffer = frame
        // The length and the correlation id.
        try buffer.skip(8)
        try buffer.skipTags(isFlexible: header.isFlexible)
        if header.key == .produce { return try readProduced(&buffer, header.version) }
        // The throttle time.
        try buffer.skip(4)
        switch header.key {
        case .addPartitions: try readPartitions(&buffer)
        case .initProducerID:
            error = try buffer.integer()
            producer = try ProducerIdentity(from: &buffer)
        default: error = try buffer.integer()
        }
    }

    private mutating func readPartitions(_ buffer: inout ByteBuffer) throws(WireError) {
        for _ in 0..<(try buffer.length(isFlexible: false) ?? 0) {
            _ = try buffer.string(isFlexible: false)
            for _ in 0..<(try buffer.length(isFlexible: false) ?? 0) {
                try buffer.skip(4)
                record(try buffer.integer())
            }
        }
    }

    private mutating func readProduced(_ buffer: inout ByteBuffer, _ version: Int16) throws(WireError) {
        for _ in 0..<(try buffer.length(isFlexible: false) ?? 0) {
            _ = try buffer.string(isFlexible: false)
            for _ in 0..<(try buffer.length(isFlexible: false) ?? 0) {
                try buffer.skip(4)
                record(try buffer.integer())
                // The offset and the time of the records, and where the log starts.
                try buffer.skip(8 + (version >= 2 ? 8 : 0) + (version >= 5 ? 8 : 0))
                guard version >= 8 else { continue }
                for _ in 0..<(try buffer.length(isFlexible: false) ?? 0) {
                    try buffer.skip(4)
                    _ = try buffer.string(isFlexible: false)
                }
                _ = try buffer.string(isFlexible: false)
            }
        }
    }

    private mutating func record(_ code: Int16) {
        if error == 0 { error = code }
    }

    /// The code with its name in Kafka's documentation.
    static func name(ofError code: Int16) -> String {
        "\(code) \(String(cString: rd_kafka_err2name(rd_kafka_resp_err_t(Int32(code)))))"
    }
}
