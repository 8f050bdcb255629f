import NIOCore
import Testing

@testable import torture

@Suite("Requests are read in the encodings that clients are held to")
struct RequestTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let key: ApiKey
        let version: Int16
        let frame: ByteBuffer
        var id: String? = "group/a/0/2/1"
        var producer: ProducerIdentity? = ProducerIdentity(id: 4_000, epoch: 7)
        var isAnswered = true

        var testDescription: String { "\(key) version \(version)" }

        init(_ key: ApiKey, _ version: Int16, _ body: (inout WireWriter) -> Void) {
            self.key = key
            self.version = version
            frame = requestFrame(key, version: version, body)
        }

        func with(id: String?, producer: ProducerIdentity?, isAnswered: Bool = true) -> Sample {
            var sample = self
            (sample.id, sample.producer, sample.isAnswered) = (id, producer, isAnswered)
            return sample
        }
    }

    static let samples: [Sample] =
        [
            Sample(.initProducerID, 1) { writer in
                writer.string("group/a/0/2/1")
                writer.integer(Int32(10_000))
            }
            .with(id: "group/a/0/2/1", producer: nil),
            initProducerID(4_000, 7),
            initProducerID(-1, -1).with(id: "group/a/0/2/1", producer: nil),
            produce(id: "group/a/0/2/1", acks: -1),
            produce(id: nil, acks: -1).with(id: nil, producer: ProducerIdentity(id: 4_000, epoch: 7)),
            produce(id: nil, acks: 0).with(id: nil, producer: ProducerIdentity(id: 4_000, epoch: 7), isAnswered: false),
            Sample(.heartbeat, 3) { $0.string("group") }.with(id: nil, producer: nil),
            // For a version that is not advertised to clients, only the header is read.
            Sample(.endTxn, 5) { $0.bytes([1, 2, 3]) }.with(id: nil, producer: nil),
            // A truncated request is forwarded unread.
            Sample(.endTxn, 1) { $0.string("group/a/0/2/1") }.with(id: "group/a/0/2/1", producer: nil),
        ]
        + [ApiKey.addPartitions, .endTxn].flatMap { key in
            (0...2).map { version in
                Sample(key, version) { writer in
                    writer.string("group/a/0/2/1")
                    identity(&writer)
                    writer.integer(UInt8(1))
                }
            }
        }

    static func identity(_ writer: inout WireWriter, _ id: Int64 = 4_000, _ epoch: Int16 = 7) {
        writer.integer(id)
        writer.integer(epoch)
    }

    static func initProducerID(_ id: Int64, _ epoch: Int16) -> Sample {
        Sample(.initProducerID, 4) { writer in
            writer.string("group/a/0/2/1", isFlexible: true)
            writer.integer(Int32(10_000))
            identity(&writer, id, epoch)
            writer.tags()
        }
    }

    /// One topic, one partition, one batch without records.
    static func produce(id: String?, acks: Int16) -> Sample {
        Sample(.produce, 7) { writer in
            writer.string(id)
            writer.integer(acks)
            writer.integer(Int32(30_000))
            writer.count(1)
            writer.string("juice.results")
            writer.count(1)
            writer.integer(Int32(3))
            writer.count(61)
            writer.bytes(Array(repeating: 0, count: 43))
            identity(&writer)
            writer.bytes(Array(repeating: 0, count: 8))
        }
    }

    @Test(arguments: samples)
    func isRead(_ sample: Sample) throws {
        let request = try Request(frame: sample.frame)
        #expect(request.key == sample.key)
        #expect(request.header.version == sample.version)
        #expect(request.header.correlationID == 77)
        #expect(request.transactionalID == sample.id)
        #expect(request.producer == sample.producer)
        #expect(request.isAnswered == sample.isAnswered)
    }

    @Test func flexibleHeaderMayHaveTags() throws {
        var writer = WireWriter()
        for number in [ApiKey.initProducerID.rawValue, 4] { writer.integer(number) }
        writer.integer(Int32(77))
        writer.string(nil)
        // One tagged field: number 9, of two bytes.
        writer.bytes([1, 9, 2, 0xAA, 0xBB])
        writer.string("t", isFlexible: true)
        writer.integer(Int32(10_000))
        Self.identity(&writer)
        let request = try Request(frame: writer.frame)
        #expect(request.transactionalID == "t")
        #expect(request.producer == ProducerIdentity(id: 4_000, epoch: 7))
    }

    @Test func withoutAHeaderItIsNone() {
        #expect(throws: WireError.self) { try Request(frame: ByteBuffer(bytes: [0, 0, 0, 2, 0, 26])) }
    }
}
