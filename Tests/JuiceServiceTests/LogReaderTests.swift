import JuiceEngine
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import JuiceService

/// The reader of changelogs, whose clients a worker serves between any two steps.
@Suite(.concurrencyLimited) struct LogReaderTests {
    private static let journal = ChangelogPosition(topic: .results, partition: 0, offset: 0)

    /// A worker looks for a rebalance before each step of a takeover. What it took away from the journal would be missing.
    @Test(arguments: [Isolation.committed, .uncommitted])
    func servingItsClientsTakesNothingAway(isolation: Isolation) async throws {
        let cluster = try await TestCluster.single { try $0.leaveSomeStock() }
        try await onThread {
            let recorder = LogRecorder()
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties["debug"] = "fetch"
            let reader = try LogReader(configuration: configuration, hooks: ClientHooks(logger: recorder.makeLogger(level: .debug)))
            try reader.open([Self.journal], isolation: isolation)
            // Both records are at hand once the one that follows is asked for.
            #expect(wait { recorder.all.contains { $0.contains("juice.results [0] at offset 2") } })
            for _ in 0..<3 { reader.poll() }
            var (offsets, ends): ([Int64], [Int64]) = ([], [])
            try wait {
                let batch = try reader.read(timeout: .milliseconds(100))
                offsets += batch.records.map(\.offset)
                ends += batch.ends.map(\.offset)
                return !ends.isEmpty
            }
            #expect(offsets == [0, 1])
            #expect(ends == [2])
        }
    }

    /// The events of a client that nobody polls pile up.
    @Test func itsClientsAreServedWhileNothingIsRead() async throws {
        let cluster = try await TestCluster.single { try $0.leaveSomeStock() }
        try await onThread {
            let reports = Mutex<[String: Int]>([:])
            var hooks = ClientHooks(logger: quietLogger)
            hooks.onStatistics = { text in
                let client = text.prefix { $0 != "," }
                reports.withLock { $0[String(client), default: 0] += 1 }
            }
            var configuration = cluster.serviceConfiguration()
            configuration.kafkaProperties["statistics.interval.ms"] = "10"
            let reader = try LogReader(configuration: configuration, hooks: hooks)
            for isolation in [Isolation.committed, .uncommitted] {
                try reader.open([Self.journal], isolation: isolation)
                try reader.open([], isolation: isolation)
                reports.withLock { $0 = [:] }
                wait {
                    reader.poll()
                    return reports.withLock { $0.count == 2 && $0.values.allSatisfy { $0 > 1 } }
                }
                #expect(reports.withLock(\.count) == 2)
            }
        }
    }
}
