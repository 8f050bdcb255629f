import ArgumentParser
import Foundation
import Testing

@testable import lab

struct ReportTests {
    private static let peer = Contender.peer(name: "loop", command: "loop.py")

    private static func endToEnd() -> Report {
        var report = Report("end-to-end", ["orders": 200_000, "rounds": 3])
        for (service, bare) in [(450_000.0, 500_000.0), (400_000, 500_000), (440_000, 400_000)] {
            report.compare(
                "orders/s", [.service: service, .bare: bare, .least: 600_000, peer: 500_000], goals: [.bare: .atLeast(0.90)])
        }
        for cpu in [1.2, nil, 1.5] {
            report.compare("µs/order", [.service: cpu, .bare: 1, .least: 0.8], goals: [.least: .atMost(1.3)])
        }
        report.add("bytes/store", nil, .atMost(200))
        return report
    }

    /// The ratio is 0.90, not 440,000 / 500,000: what slows down a round affects both.
    @Test func theReportIsATable() {
        let lines = Self.endToEnd().text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0] == "end-to-end: orders 200,000, rounds 3")
        #expect(lines[1].contains("cores") && lines[1].contains("librdkafka"))
        #expect(Set(lines[3..<7].map(\.count)).count == 1)
        #expect(
            lines[3...].map { $0.split(separator: " ").joined(separator: " ") } == [
                "median least most", "orders/s, service 440,000 400,000 450,000", "orders/s, bare loop 500,000 400,000 500,000",
                "orders/s, no offsets 600,000 600,000 600,000", "orders/s, loop 500,000 500,000 500,000",
                "orders/s, service to bare loop 0.90 0.80 1.10 ≥ 0.90 met", "orders/s, service to loop 0.88 0.80 0.90",
                "µs/order, service 1.35 1.20 1.50", "µs/order, bare loop 1.00 1.00 1.00", "µs/order, no offsets 0.80 0.80 0.80",
                "µs/order, service to no offsets 1.69 1.50 1.88 ≤ 1.30 missed", "bytes/store - - - ≤ 200 not measured",
            ])
    }

    @Test func jsonHasItsDocumentedMembers() throws {
        let report = try JSONSerialization.jsonObject(with: Data(Self.endToEnd().json.utf8)) as? [String: Any]
        let json = try #require(report)
        #expect(Set(json.keys) == ["benchmark", "machine", "settings", "figures"])
        #expect(Set((json["machine"] as? [String: Any] ?? [:]).keys) == ["cores", "system", "brokers", "librdkafka"])
        #expect(json["settings"] as? [String: Int] == ["orders": 200_000, "rounds": 3])
        let figures = try #require(json["figures"] as? [[String: Any]])
        let ratio = try #require(figures.first { $0["name"] as? String == "orders/s, service to bare loop" })
        #expect(Set(ratio.keys) == ["name", "rounds", "median", "goal", "met"])
        #expect(ratio["median"] as? Double == 0.9 && ratio["met"] as? Bool == true)
        #expect((ratio["goal"] as? [String: Any])?["bound"] as? String == "atLeast")
        let service = try #require(figures.first { $0["name"] as? String == "µs/order, service" })
        #expect((service["rounds"] as? [Any])?.map { $0 is NSNull } == [false, true, false])
    }

    @Test func aMissedGoalIsAFailureIfChecked() throws {
        try OutputOptions.parse([]).show(Self.endToEnd())
        #expect(throws: ExitCode.failure) { try OutputOptions.parse(["--check", "--json"]).show(Self.endToEnd()) }
        try OutputOptions.parse(["--check"]).show(Report("core", [:]))
    }

    /// The usual textbook example of the nearest-rank method.
    @Test(arguments: [(5, 15), (30, 20), (40, 20), (50, 35), (100, 50), (0, 15), (99.9, 50)] as [(Double, Double)])
    func findsPercentiles(percent: Double, value: Double) {
        #expect(Figure.percentile(percent, ofSorted: [15, 20, 35, 40, 50]) == value)
    }

    @Test(
        arguments: [
            (0, "0"), (1_234_567, "1,234,567"), (999.6, "1,000"), (12.34, "12.3"), (9.999, "10.00"), (0.85, "0.85"),
            (0.0123, "0.012"), (-1234.5, "-1,234"), (nil, "-"),
        ] as [(Double?, String)]
    )
    func writesFigures(value: Double?, text: String) {
        #expect(Figure.text(value) == text)
    }
}

struct OptionTests {
    @Test func defaultsMatchTheGoals() throws {
        let endToEnd = try EndToEnd.parse([])
        #expect(endToEnd.orders == 1_000_000 && endToEnd.stores == 1_000 && endToEnd.initialStock == 10 && endToEnd.rounds == 5)
        let latency = try Latency.parse([])
        #expect(latency.rate == 1_000 && latency.duration == 20 && latency.partitions == 4 && latency.rounds == 3)
        let restore = try Restore.parse([])
        #expect(restore.stores == 1_000_000 && restore.partitions == 1)
    }

    @Test(arguments: [
        ["end-to-end", "--orders", "49999"], ["repeats", "--orders", "2000000"], ["latency", "--stores", "1"],
        ["restore", "--rounds", "0"], ["latency", "--peer", "loop"], ["latency", "--peer", "bare loop=./loop"],
        ["end-to-end", "--peer", "a=./one", "--peer", "a=./two"], ["end-to-end", "--broker-process", "4194303"],
        ["core", "--bootstrap-servers", "kafka:9092"], ["nothing"],
    ])
    func refuses(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try Bench.parseAsRoot(arguments) }
        #expect(error.map { Bench.exitCode(for: $0) } == .validationFailure)
    }

    @Test func peersAreNamedWithTheirCommands() throws {
        let latency = try Latency.parse(["--peer", "go=/opt/peer --transactions=3", "--peer", "py=python3 loop.py"])
        #expect(latency.comparison.contenders.map(\.name) == ["service", "bare loop", "no offsets", "go", "py"])
        #expect(latency.comparison.peers.first == .peer(name: "go", command: "/opt/peer --transactions=3"))
    }

    @Test func propertiesComeFromAFile() throws {
        let text = "# TLS\nsecurity.protocol = SSL\n\nssl.ca.location=/a=b\n"
        #expect(try ClusterOptions.properties(in: text) == ["security.protocol": "SSL", "ssl.ca.location": "/a=b"])
        let error = #expect(throws: ToolError.self) { try ClusterOptions.properties(in: "sasl.password hunter2") }
        #expect(error?.message.contains("hunter2") == false)
    }
}
