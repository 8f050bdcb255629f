import Testing

@testable import lab

@Suite("What was acknowledged must be in the topics") struct LostRecordTests {
    private static let value = Array("an order".utf8)

    /// There is one order, at offset 7 of partition 0.
    @Test(
        arguments: [
            (0, 7, value, nil), (0, 8, value, "orders 0@8"), (0, 7, nil, "orders 0@7"),
            // A broker that had the record already acknowledges it without its offset.
            (0, nil, value, nil), (1, nil, value, "orders 1"), (0, nil, nil, "orders 0"),
        ] as [(Int32, Int64?, [UInt8]?, String?)]
    )
    func isFound(_ partition: Int32, _ offset: Int64?, _ value: [UInt8]?, _ lost: String?) {
        let topics: [String: [[Int64: [UInt8]?]]] = ["orders": [[7: Self.value], [:]], "restocks": [[:], [:]]]
        let acknowledged = Load.Acknowledged(topic: "orders", partition: partition, offset: offset, value: value)
        let expected = lost.map { ["missing: \($0): it was acknowledged and is not there"] } ?? []
        #expect(findLost([acknowledged], in: topics) == expected)
    }
}

@Suite struct InstanceTests {
    @Test func stoppedPartitionsAreFoundInTheLog() {
        let log = """
            17:43:17 info assigned; restoring partitions=3,5 worker=0
            17:43:18 critical partition stopped, its commands wait: orders [5]: the log has \
            order "b" at offset 263, but another record was handled there. To go on: \
            juice anchor --partition 5 --offset 263 offset=263 partition=5 topic=orders
            17:43:18 critical partition stopped, its commands wait: restocks [12]: beyond its end partition=12 topic=restocks
            """
        #expect(Instance.stoppedPartitions(in: log.split(separator: "\n")) == [5, 12])
    }
}

@Suite struct BrokerFailureTests {
    @Test func gapsAreTheLongestOfEachPartition() {
        var gaps = ArrivalGaps()
        let start = ContinuousClock.now
        for (partition, seconds) in [(0, 0), (1, 1), (0, 2), (0, 5), (1, 9)] as [(Int32, Int)] {
            gaps.record(arrivalFrom: partition, at: start + .seconds(seconds))
        }
        let longest = gaps.drain()
        #expect(longest.ofEach == [0: .seconds(3), 1: .seconds(8)])
        #expect(longest.longest == .seconds(8))
        #expect(longest.ofAll == .seconds(4))
        #expect(gaps.drain().ofEach.isEmpty)
    }

    /// The service cannot answer while brokers accept no writes, so the goal for a killed broker depends on the clients' gaps.
    @Test(
        arguments: [(.stop, 1.9, 0), (.stop, 2.1, 1), (.kill, 10.9, 0), (.kill, 11.1, 1), (.start, 2.1, 1)]
            as [(BrokerGapTable.Kind, Double, Int)]
    )
    func goals(_ kind: BrokerGapTable.Kind, _ gap: Double, _ over: Int) throws {
        var table = BrokerGapTable()
        #expect(table.lines.isEmpty)
        table.observations = [.init(kind: kind, answers: .seconds(gap), clients: .seconds(9))]
        let row = try #require(table.lines.dropFirst().first)
        #expect(row.hasPrefix(kind.pastTense) && row.hasSuffix(" \(over)"))
    }
}
