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
        do {
            try read(frame, header)
        } catch {
            return nil
        }
    }

    private mutating func read(_ frame: ByteBuffer, _ header: RequestHeader) throws(WireError) {
        var buffer = frame
        // The length and the correlation id.
        try buffer.skip(8)
        try buffer.skipTags(isFlexible: header.isFlexible)
        if header.key == .produce {
            return try readProduced(&buffer, header.version)
        }
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

    /// The code with its name in Kafka's documentation, for the codes that late requests get.
    static func name(ofError code: Int16) -> String {
        let names: [Int16: String] = [
            3: "UNKNOWN_TOPIC_OR_PARTITION", 6: "NOT_LEADER_OR_FOLLOWER", 14: "COORDINATOR_LOAD_IN_PROGRESS",
            15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 22: "ILLEGAL_GENERATION",
            19: "NOT_ENOUGH_REPLICAS", 25: "UNKNOWN_MEMBER_ID", 45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
            46: "DUPLICATE_SEQUENCE_NUMBER",
            47: "INVALID_PRODUCER_EPOCH", 48: "INVALID_TXN_STATE", 49: "INVALID_PRODUCER_ID_MAPPING",
            51: "CONCURRENT_TRANSACTIONS", 55: "OPERATION_NOT_ATTEMPTED", 59: "UNKNOWN_PRODUCER_ID",
            82: "FENCED_INSTANCE_ID", 90: "PRODUCER_FENCED", 120: "TRANSACTION_ABORTABLE",
        ]
        return names[code].map { "\(code) \($0)" } ?? "\(code)"
    }
}
