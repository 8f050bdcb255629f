import JuiceAudit
import Testing

@testable import torture

/// What was acknowledged must be in the topics.
@Suite struct ReportTests {
    private static let value = Array("an order".utf8)

    private static func lost(offset: Int64?, value: [UInt8]?, partition: Int32 = 0) -> [String] {
        let record = AuditRecord(offset: 7, timestamp: 0, key: nil, value: Self.value)
        let topics = AuditTopics(orders: [[record], []], restocks: [[], []], results: [], stock: [], deadLetters: [])
        let acknowledged = Load.Acknowledged(topic: "orders", partition: partition, offset: offset, value: value)
        return Report.lost([acknowledged], in: topics)
    }

    @Test func aRecordIsFoundAtItsOffset() {
        #expect(Self.lost(offset: 7, value: Self.value).isEmpty)
        #expect(Self.lost(offset: 8, value: Self.value) == ["missing: orders 0@8: it was acknowledged and is not there"])
        #expect(Self.lost(offset: 7, value: nil).count == 1)
    }

    /// A broker that had the record already acknowledges it without its offset.
    @Test func withoutAnOffsetItIsFoundByItsValue() {
        #expect(Self.lost(offset: nil, value: Self.value).isEmpty)
        #expect(
            Self.lost(offset: nil, value: Self.value, partition: 1) == ["missing: orders 1: it was acknowledged and is not there"])
        #expect(Self.lost(offset: nil, value: nil).count == 1)
    }

    @Test func stoppedPartitionsAreFoundInTheLog() {
        let log = """
            17:43:17 info assigned; restoring partitions=3,5 worker=0
            17:43:18 critical partition stopped, its commands wait: orders [5]: the answer to offset 263 is about order "a", but \
            the log has order "b" there. To go on: juice anchor --partition 5 --offset 263 offset=263 partition=5 topic=orders
            17:43:18 critical partition stopped, its commands wait: restocks [12]: beyond its end partition=12 topic=restocks
            """
        #expect(Instance.stoppedPartitions(in: log.split(separator: "\n")) == [5, 12])
    }
}
