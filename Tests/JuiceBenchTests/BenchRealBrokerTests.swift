import Foundation
import JuiceClient
import Kafka
import Logging
import TestSupport
import Testing

@testable import JuiceBench

private let realBroker = ProcessInfo.processInfo.environment["KAFKA_BOOTSTRAP_SERVERS"]

private var quiet: Logger {
    var logger = Logger(label: "bench")
    logger.logLevel = .critical
    return logger
}

struct BenchSiteTests {
    @Test func nobodyThereIsUnavailable() async throws {
        try await onThread {
            let failure = #expect(throws: Failure.self) {
                try BenchSite(
                    Connection(bootstrapServers: "127.0.0.1:1", logger: quiet), executable: "/nowhere", onProgress: { _ in },
                    isInterrupted: { false })
            }
            #expect(failure?.status == .unavailable)
        }
    }
}

/// Runs small measurements, without checking the times.
@Suite(
    .serialized, .timeLimit(.minutes(5)), .enabled(if: realBroker != nil, "KAFKA_BOOTSTRAP_SERVERS names no broker to run these on")
) struct BenchRealBrokerTests {
    /// Runs a body on a site, and expects that it leaves nothing on the broker.
    private func withSite(isInterrupted: Bool = false, _ body: @escaping @Sendable (BenchSite) throws -> Void) async throws {
        let servers = try #require(realBroker)
        // `juice` is built beside the test runner.
        let juice = try #require(Bundle.main.executableURL).deletingLastPathComponent().appendingPathComponent("juice")
        try #require(FileManager.default.isExecutableFile(atPath: juice.path), "no \(juice.path)")
        try await onThread {
            let site = try BenchSite(
                Connection(bootstrapServers: servers, logger: quiet), topicPrefix: "test-", executable: juice.path,
                onProgress: { _ in }, isInterrupted: { isInterrupted })
            do {
                defer { site.close() }
                try body(site)
            }
            #expect(site.topicNames.isEmpty)
        }
    }

    @Test func endToEnd() async throws {
        try await withSite { site in
            let plan = EndToEndPlan(orders: 100_000, stores: 1_000, initialStock: 1_000_000, partitions: 4, rounds: 2)
            let report = try EndToEndMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 2)
            for throughput in report.rounds.flatMap({ [$0.service, $0.bare, $0.least] }) {
                #expect(throughput.ordersPerSecond > 0)
                #expect(throughput.cpuMicrosecondsPerOrder ?? 1 > 0)
            }
        }
    }

    @Test func latency() async throws {
        try await withSite { site in
            let plan = LatencyPlan(rate: 50, durationSeconds: 1, initialStock: 10, partitions: 2, rounds: 1)
            let report = try LatencyMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 1)
            #expect(report.medians.service.milliseconds.p50 > 0)
            #expect(report.medians.least.milliseconds.max >= report.medians.least.milliseconds.p50)
        }
    }

    @Test func restore() async throws {
        try await withSite { site in
            let plan = RestorePlan(stores: 20_000, partitions: 2, rounds: 2)
            let report = try RestoreMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.count == 2)
            #expect(report.rounds.allSatisfy { $0.full.seconds > 0 && $0.firstAnswerSeconds > 0 })
        }
    }

    @Test func repeats() async throws {
        try await withSite { site in
            let plan = RepeatsPlan(orders: 20_000, stores: 100, partitions: 2, rounds: 1)
            let report = try RepeatsMeasurement(site: site, plan: plan).report()
            #expect(report.rounds.allSatisfy { $0.inOrderRatio > 0 && $0.scatteredRatio > 0 })
        }
    }

    @Test func anInterruptionEndsIt() async throws {
        try await withSite(isInterrupted: true) { site in
            let plan = EndToEndPlan(orders: 50_000, stores: 1_000, initialStock: 10, partitions: 4, rounds: 1)
            #expect(throws: Interrupted.self) { try plan.measure(at: site) }
        }
    }
}
