import NIOCore
import Testing

@testable import FaultyNetwork

@Suite("Requests are read in the versions that clients may use") struct RequestTests {
    private static let producer = ProducerIdentity(id: 4_000, epoch: 7)
    private static let identity: [Field] = [.int64(4_000), .int16(7)]
    private static let end: [Field] = [.string("t")] + identity + [.int8(1)]

    /// One topic, one partition, one batch without records.
    private static func produce(id: String?) -> [Field] {
        [
            .string(id), .int16(-1), .int32(30_000), .int32(1), .string("juice.results"), .int32(1), .int32(3), .int32(61),
            .bytes(Array(repeating: 0, count: 43)),
        ] + identity + [.int64(0)]
    }

    private static let samples: [(ApiKey, Int16, [Field], String?, ProducerIdentity?)] = [
        (.initProducerId, 1, [.string("t"), .int32(10_000)], "t", nil),
        (.initProducerId, 4, [.compact("t"), .int32(10_000)] + identity + [.int8(0)], "t", producer),
        (.initProducerId, 4, [.compact("t"), .int32(10_000), .int64(-1), .int16(-1), .int8(0)], "t", nil),
        (.addPartitionsToTxn, 0, end, "t", producer), (.endTxn, 0, end, "t", producer), (.endTxn, 2, end, "t", producer),
        (.produce, 7, produce(id: "t"), "t", producer), (.produce, 7, produce(id: nil), nil, producer),
        // Of other requests only the header is read, and of a truncated one as much as is there.
        (.heartbeat, 3, [.string("group")], nil, nil), (.endTxn, 5, [.bytes([1, 2, 3])], nil, nil),
        (.endTxn, 1, [.string("t")], "t", nil),
    ]

    @Test(arguments: samples)
    func isRead(_ key: ApiKey, _ version: Int16, _ body: [Field], _ id: String?, _ producer: ProducerIdentity?) throws {
        let request = try Request(frame: requestFrame(key, version, body))
        #expect(request.key == key)
        #expect(request.version == version)
        #expect(request.correlationID == 77)
        #expect(request.transactionalID == id)
        #expect(request.producer == producer)
    }

    @Test func refusesARequestWithoutAHeader() {
        #expect(throws: WireError.self) { try Request(frame: ByteBuffer(bytes: [0, 0, 0, 2, 0, 26])) }
    }
}

@Suite("Responses are read") struct ResponseTests {
    private static func error(_ code: Int16) -> [Field] { [.int32(0), .int16(code)] }

    private static func topic(_ errors: [Int16], _ bytesAfterError: Int) -> [Field] {
        [.int32(1), .string("juice.results"), .int32(Int32(errors.count))]
            + errors.flatMap { [.int32(3), .int16($0), .bytes(Array(repeating: 1, count: bytesAfterError))] }
    }

    private static let producer = ProducerIdentity(id: 4_000, epoch: 8)

    private static let samples: [(ApiKey, Int16, [Field], Response?)] = [
        (.endTxn, 1, error(47), Response(error: 47)), (.endTxn, 2, error(0), Response()),
        (.initProducerId, 4, [.int8(0)] + error(0) + [.int64(4_000), .int16(8), .int8(0)], Response(producer: producer)),
        (.addPartitionsToTxn, 0, [.int32(0)] + topic([0, 51, 0], 0), Response(error: 51)),
        (.produce, 3, topic([0, 0], 16) + [.int32(0)], Response()),
        (.produce, 7, topic([0, 48, 90], 24) + [.int32(0)], Response(error: 48)),
        // Other responses, newer versions and truncated ones are not read.
        (.heartbeat, 3, error(0), nil), (.endTxn, 5, error(0), nil), (.endTxn, 1, [.int8(0)], nil),
    ]

    @Test(arguments: samples) func isRead(_ key: ApiKey, _ version: Int16, _ body: [Field], _ response: Response?) throws {
        #expect(Response(frame: frame([.int32(77)] + body), to: try request(key, version: version)) == response)
    }
}

@Suite("Responses are rewritten so that clients come by the listeners") struct RewritingTests {
    /// Broker `kafka-N:9092` is behind `127.0.0.1:4000N`.
    private func rewritten(_ body: [Field], _ key: ApiKey, _ version: Int16) throws -> ByteBuffer {
        let listeners = (1...3).map { number in
            (BrokerAddress(host: "kafka-\(number)", port: 9_092), BrokerAddress(host: "127.0.0.1", port: 40_000 + number))
        }
        let response = frame([.int32(77)] + body)
        return try request(key, version: version).rewritten(response, Dictionary(uniqueKeysWithValues: listeners))
    }

    @Test(arguments: [.metadata, .findCoordinator] as [ApiKey]) func brokersBecomeListeners(key: ApiKey) throws {
        func brokers(_ brokers: [(host: String, port: Int32)]) -> [Field] {
            [.int32(1)] + brokers.flatMap { [.int32(5), .string($0.host), .int32($0.port)] } + [.string("and so on")]
        }
        let named = brokers([("kafka-1", 9_092), ("kafka-3", 9_092), ("kafka-1", 9_093)])
        let listeners = brokers([("127.0.0.1", 40_001), ("127.0.0.1", 40_003), ("kafka-1", 9_093)])
        #expect(try rewritten(named, key, 2) == frame([.int32(77)] + listeners))
        #expect(try rewritten(named, .fetch, 11) == frame([.int32(77)] + named))
        // Unread, it could lead the client past the proxy.
        #expect(throws: WireError.self) { try rewritten(named, key, 9) }
    }

    @Test(arguments: [0, 2, 3] as [Int16]) func versionsAreLimited(version: Int16) throws {
        func versions(_ ranges: [(ApiKey, Int16, Int16)], error: Int16 = 0) -> [Field] {
            let isFlexible = version >= 3 && error == 0
            let tags: [Field] = isFlexible ? [.int8(0)] : []
            var fields: [Field] = [.int16(error), isFlexible ? .int8(UInt8(ranges.count + 1)) : .int32(Int32(ranges.count))]
            for (key, oldest, newest) in ranges { fields += [.int16(key.rawValue), .int16(oldest), .int16(newest)] + tags }
            return fields + (version >= 1 ? [.int32(0)] : []) + tags
        }
        let offered: [(ApiKey, Int16, Int16)] = [(.produce, 3, 12), (.heartbeat, 0, 4), (.endTxn, 0, 1), (.metadata, 0, 13)]
        let kept: [(ApiKey, Int16, Int16)] = [(.produce, 3, 7), (.heartbeat, 0, 4), (.endTxn, 0, 1), (.metadata, 0, 8)]
        // A broker refuses a request of an unknown version, error 35, in the oldest encoding.
        for error in [0, 35] as [Int16] {
            let rewritten = try rewritten(versions(offered, error: error), .apiVersions, version)
            #expect(rewritten == frame([.int32(77)] + versions(kept, error: error)))
        }
        #expect(throws: WireError.self) {
            try rewritten(versions([(.findCoordinator, 3, 6)]), .apiVersions, version)
        }
    }

    @Test(arguments: [
        ("a:1", ["a:1"]), ("a:1, b:2", ["a:1", "b:2"]), ("[::1]:9092", ["[::1]:9092"]),
        ("", nil), ("a", nil), ("a:", nil), (":1", nil), ("a:0", nil), ("a:1,b", nil), ("a:65536", nil),
    ])
    func addressesAreRead(text: String, addresses: [String]?) {
        #expect(BrokerAddress.list(text)?.map(\.description) == addresses)
    }
}
