import Foundation
import Kafka
import Logging
import TestSupport
import Testing

@testable import juice

private let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

/// Small runs of what is measured, without a look at how long anything takes.
@Suite(
    .serialized,
    .timeLimit(.minutes(5)),
    .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
)
struct BenchRealBrokerTests {
    /// Runs a body on a site, and expects that nothing of it is left on the broker.
    private func withSite(_ body: @escaping @Sendable (BenchSite) throws -> Void) async throws {
        let settings = try BenchSamples.settings([
            .bootstrapServers: try #require(realBroker), .topicPrefix: "test-", .logLevel: "critical",
        ])
        // The test runner is built beside it.
        let juice = try #require(Bundle.main.executableURL).deletingLastPathComponent()
            .appendingPathComponent("juice")
        try #require(FileManager.default.isExecutableFile(atPath: juice.path), "no \(juice.path)")
        try await onThread {
            let site = try BenchSite(
                settings,
                executable: juice.path,
                progress: BenchProgress(isTerminal: false, isQuiet: true),
                isInterrupted: { false }
            )
            do {
                defer { site.close() }
                try body(site)
            }
            #expect(site.topicNames.isEmpty)
        }
    }

    @Test func endToEnd() async throws {
        try await withSite { site in
            let plan = try EndToEndPlan(
                BenchSamples.settings([.orders: "100000", .rounds: "2", .initialStock: "1000000"])
            )
            let report = try EndToEndMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 2)
            for throughput in report.rounds.flatMap({ [$0.service, $0.bare, $0.copy] }) {
                #expect(throughput.ordersPerSecond > 0)
                #expect(throughput.cpuMicrosecondsPerOrder ?? 1 > 0)
            }
        }
    }

    @Test func latency() async throws {
        try await withSite { site in
            let plan = try LatencyPlan(
                BenchSamples.settings([.rate: "50", .duration: "1", .rounds: "1", .partitions: "2"])
            )
            let report = try LatencyMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 1)
            #expect(report.medians.service.milliseconds.p50 > 0)
            #expect(report.medians.copy.milliseconds.max >= report.medians.copy.milliseconds.p50)
        }
    }

    @Test func restore() async throws {
        try await withSite { site in
            let plan = try RestorePlan(
                BenchSamples.settings([.stores: "20000", .rounds: "2", .partitions: "2"])
            )
            let report = try RestoreMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 2)
            #expect(report.rounds.allSatisfy { $0.full.seconds > 0 && $0.firstAnswerSeconds > 0 })
        }
    }

    @Test func ctrlCEndsIt() async throws {
        let settings = try BenchSamples.settings([
            .bootstrapServers: try #require(realBroker), .topicPrefix: "test-",
        ])
        try await onThread {
            let site = try BenchSite(
                settings,
                executable: "/bin/false",
                progress: BenchProgress(isTerminal: false, isQuiet: true),
                isInterrupted: { true }
            )
            defer { site.close() }
            let plan = try EndToEndPlan(BenchSamples.settings([.orders: "50000"]))
            let measurement = EndToEndMeasurement(site: site, plan: plan)
            #expect(throws: (any Error).self) { try measurement.report() }
        }
    }
}
