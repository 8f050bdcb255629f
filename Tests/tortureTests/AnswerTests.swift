import NIOCore
import Testing

@testable import torture

@Suite("Answers to transactional requests are read")
struct AnswerTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let key: ApiKey
        let version: Int16
        let frame: ByteBuffer
        var error: Int16 = 0
        var producer: ProducerIdentity?

        var testDescription: String { "\(key) version \(version), error \(error)" }
    }

    static let samples: [Sample] = [
        Sample(key: .endTxn, version: 1, frame: short(47), error: 47), Sample(key: .endTxn, version: 2, frame: short(0)),
        Sample(
            key: .initProducerID, version: 4,
            frame: answerFrame(hasTags: true) { writer in
                writer.integer(Int32(0))
                writer.integer(Int16(0))
                writer.integer(Int64(4_000))
                writer.integer(Int16(8))
                writer.tags()
            },
            producer: ProducerIdentity(id: 4_000, epoch: 8)
        ),
        Sample(key: .addPartitions, version: 0, frame: partitions([0, 51, 0]), error: 51),
        Sample(key: .addPartitions, version: 2, frame: partitions([0, 0])),
        Sample(key: .produce, version: 3, frame: produced([0, 0], version: 3)),
        Sample(key: .produce, version: 7, frame: produced([0, 48], version: 7), error: 48),
        Sample(key: .produce, version: 8, frame: produced([0, 0, 90], version: 8), error: 90),
    ]

    static func short(_ error: Int16) -> ByteBuffer {
        answerFrame { writer in
            writer.integer(Int32(0))
            writer.integer(error)
        }
    }

    static func partitions(_ errors: [Int16]) -> ByteBuffer {
        answerFrame { writer in
            writer.integer(Int32(0))
            writer.count(1)
            writer.string("juice.orders")
            writer.count(errors.count)
            for (number, error) in errors.enumerated() {
                writer.integer(Int32(number))
                writer.integer(error)
            }
        }
    }

    static func produced(_ errors: [Int16], version: Int16) -> ByteBuffer {
        answerFrame { writer in
            writer.count(1)
            writer.string("juice.results")
            writer.count(errors.count)
            for (number, error) in errors.enumerated() {
                writer.integer(Int32(number))
                writer.integer(error)
                writer.integer(Int64(100))
                writer.integer(Int64(-1))
                if version >= 5 { writer.integer(Int64(0)) }
                guard version >= 8 else { continue }
                writer.count(1)
                writer.integer(Int32(0))
                writer.string("bad record")
                writer.string(nil)
            }
            writer.integer(Int32(0))
        }
    }

    @Test(arguments: samples)
    func isRead(_ sample: Sample) throws {
        let answer = try #require(
            Answer(frame: sample.frame, to: header(sample.key, version: sample.version))
        )
        #expect(answer.error == sample.error)
        #expect(answer.producer == sample.producer)
    }

    @Test func othersAreNot() throws {
        #expect(try Answer(frame: Self.short(0), to: header(.heartbeat, version: 3)) == nil)
        #expect(try Answer(frame: Self.short(0), to: header(.endTxn, version: 5)) == nil)
        #expect(try Answer(frame: answerFrame { $0.integer(UInt8(0)) }, to: header(.endTxn, version: 1)) == nil)
    }
}
