import Foundation
import TestSupport
import Testing

@testable import lab

struct SiteTests {
    @Test func isUnavailableWithoutABroker() async throws {
        try await onThread {
            let options = try BrokerOptions.parse(["--bootstrap-servers", "127.0.0.1:1"])
            #expect(#expect(throws: ToolError.self) { try Site(options) }?.status == 69)
        }
    }
}

/// Runs small measurements, without checking the times.
@Suite(.serialized, .timeLimit(.minutes(5)), .onRealBroker) struct RealBrokerTests {
    @Test(arguments: [
        ["end-to-end", "--orders", "100000", "--initial-stock", "1000000", "--rounds", "2"],
        ["latency", "--rate", "50", "--duration", "1", "--partitions", "2", "--rounds", "1"],
        ["restore", "--stores", "20000", "--partitions", "2", "--rounds", "2"],
        ["repeats", "--orders", "100000", "--partitions", "2", "--rounds", "1"],
    ])
    func measures(arguments: [String]) async throws {
        try await onThread {
            let place = ["--bootstrap-servers", try #require(realBroker), "--topic-prefix", "test-"]
            let command = try #require(try Bench.parseAsRoot(arguments + place) as? any BrokerMeasurement)
            let site = try Site(command.broker)
            do {
                defer { site.close() }
                let report = try command.measure(at: site)
                // A difference of few stores may be lost in the noise.
                for figure in report.figures where figure.goal == nil && !figure.name.hasPrefix("stores/s") {
                    #expect(figure.median ?? 0 >= 0, "\(figure.name)")
                }
                #expect(report.figures.count >= 9 && report.machine.juice?.isEmpty == false)
            }
            #expect(site.topics.isEmpty)
        }
    }
}
