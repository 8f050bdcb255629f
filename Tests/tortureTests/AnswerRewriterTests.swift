import NIOCore
import Testing

@testable import torture

@Suite("Answers are rewritten so that clients come by the listeners")
struct AnswerRewriterTests {
    private struct Unknown: Error {}

    /// Broker `kafka-N:9092` is behind `127.0.0.1:4000N`.
    private func rewrite(_ frame: ByteBuffer, _ key: ApiKey, version: Int16) throws -> ByteBuffer {
        try AnswerRewriter.rewrite(frame, to: header(key, version: version)) { broker throws in
            guard broker.port == 9_092, let number = broker.host.last?.wholeNumberValue else { throw Unknown() }
            return BrokerAddress(host: "127.0.0.1", port: 40_000 + number)
        }
    }

    private func metadata(_ brokers: [(String, Int32)], version: Int16) -> ByteBuffer {
        answerFrame { writer in
            if version >= 3 { writer.integer(Int32(0)) }
            writer.count(brokers.count)
            for (number, (host, port)) in brokers.enumerated() {
                writer.integer(Int32(number))
                writer.string(host)
                writer.integer(port)
                if version >= 1 { writer.string(number == 0 ? nil : "rack") }
            }
            writer.bytes("and so on".utf8)
        }
    }

    @Test(arguments: [0, 1, 2, 4, 7, 8] as [Int16])
    func metadataNamesListeners(version: Int16) throws {
        let brokers = [("kafka-1", 9_092), ("kafka-2", 9_092)] as [(String, Int32)]
        let listeners = [("127.0.0.1", 40_001), ("127.0.0.1", 40_002)] as [(String, Int32)]
        let rewritten = try rewrite(metadata(brokers, version: version), .metadata, version: version)
        #expect(rewritten == metadata(listeners, version: version))
    }

    @Test(arguments: [0, 1, 2] as [Int16])
    func coordinatorIsAListener(version: Int16) throws {
        func coordinator(_ host: String, _ port: Int32, error: Int16) -> ByteBuffer {
            answerFrame { writer in
                if version >= 1 { writer.integer(Int32(0)) }
                writer.integer(error)
                if version >= 1 { writer.string("NONE") }
                writer.integer(Int32(3))
                writer.string(host)
                writer.integer(port)
            }
        }
        let rewritten = try rewrite(coordinator("kafka-3", 9_092, error: 0), .findCoordinator, version: version)
        #expect(rewritten == coordinator("127.0.0.1", 40_003, error: 0))
        let none = coordinator("", -1, error: 15)
        #expect(try rewrite(none, .findCoordinator, version: version) == none)
    }

    @Test(arguments: [0, 2, 3] as [Int16])
    func versionsAreClamped(version: Int16) throws {
        func versions(_ ranges: [(ApiKey, Int16, Int16)], error: Int16 = 0) -> ByteBuffer {
            let isFlexible = version >= 3 && error == 0
            return answerFrame { writer in
                writer.integer(error)
                writer.count(ranges.count, isFlexible: isFlexible)
                for (key, oldest, newest) in ranges {
                    for number in [key.rawValue, oldest, newest] { writer.integer(number) }
                    writer.tags(isFlexible: isFlexible)
                }
                if version >= 1 { writer.integer(Int32(0)) }
                writer.tags(isFlexible: isFlexible)
            }
        }
        let told: [(ApiKey, Int16, Int16)] = [
            (.produce, 3, 12), (.heartbeat, 0, 4), (.endTxn, 0, 1), (.metadata, 0, 13),
        ]
        let clamped: [(ApiKey, Int16, Int16)] = [
            (.produce, 3, 8), (.heartbeat, 0, 4), (.endTxn, 0, 1), (.metadata, 0, 8),
        ]
        #expect(try rewrite(versions(told), .apiVersions, version: version) == versions(clamped))
        // A broker answers a request of an unknown version in the oldest encoding.
        #expect(try rewrite(versions(told, error: 35), .apiVersions, version: version) == versions(clamped, error: 35))
        // Responses of newer versions are not passed through.
        #expect(throws: WireError.self) { try rewrite(versions([(.findCoordinator, 3, 6)]), .apiVersions, version: version) }
    }

    @Test func unknownBrokerIsTold() {
        #expect(throws: Unknown.self) { try rewrite(metadata([("kafka-1", 9_093)], version: 4), .metadata, version: 4) }
    }

    @Test func othersPass() throws {
        let frame = answerFrame { $0.bytes("as it is".utf8) }
        #expect(try rewrite(frame, .fetch, version: 11) == frame)
    }

    @Test(arguments: [
        ("a:1", ["a:1"]), ("a:1, b:2", ["a:1", "b:2"]), ("[::1]:9092", ["[::1]:9092"]),
    ])
    func addressesAreRead(text: String, addresses: [String]) {
        #expect(BrokerAddress.list(text)?.map(\.description) == addresses)
    }

    @Test(arguments: ["", "a", "a:", ":1", "a:0", "a:1,b", "a:65536"])
    func addressesAreRefused(text: String) {
        #expect(BrokerAddress.list(text) == nil)
    }
}
