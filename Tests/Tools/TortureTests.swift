import Testing

@testable import lab

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

    /// The service cannot answer while brokers accept no writes, so the limit for a killed broker depends on the clients' gaps.
    @Test(
        arguments: [(.stop, 1.9, 0), (.stop, 2.1, 1), (.kill, 10.9, 0), (.kill, 11.1, 1), (.start, 2.1, 1)]
            as [(BrokerFailures.Kind, Double, Int)]
    )
    func theLimitDependsOnTheKindOfFailure(_ kind: BrokerFailures.Kind, _ gap: Double, _ over: Int) throws {
        #expect(Timing.table(of: [], "broker", other: "clients").isEmpty)
        let limit = kind.limit(clients: .seconds(9))
        let timing = Timing(cause: kind.pastTense, time: .seconds(gap), limit: limit, other: .seconds(9))
        let row = try #require(Timing.table(of: [timing], "broker", other: "clients").last)
        #expect(row.hasPrefix(kind.pastTense) && row.hasSuffix(" \(over)   9.00 s"))
    }
}
