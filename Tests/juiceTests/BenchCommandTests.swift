import ArgumentParser
import Foundation
import JuiceClient
import TestSupport
import Testing

@testable import JuiceBench
@testable import juice

struct BenchCommandTests {
    @Test(arguments: [
        ["bench", "end-to-end", "--bootstrap-servers", "kafka:9092", "--orders", "100000", "--stores", "7"],
        ["bench", "end-to-end", "--partitions", "64", "--replication-factor", "3", "--json", "--check"],
        ["bench", "latency", "--rate", "100", "--duration", "5", "--rounds", "1"],
        ["bench", "restore", "--stores", "1000000", "--no-json"],
        ["bench", "repeats", "--orders", "100000", "--rounds", "1", "--json"],
        ["bench", "core", "--orders", "1000", "--stores", "1", "--rounds", "1", "--json", "--check"],
        ["bench", "bare-read", "--topic", "t", "--partitions", "1"],
    ])
    func understands(arguments: [String]) throws {
        _ = try JuiceCommand.parseAsRoot(arguments)
    }

    @Test(arguments: [
        ["bench", "end-to-end", "--orders", "many"], ["bench", "latency", "--stores", "1"],
        ["bench", "nothing"], ["bench", "core", "--bootstrap-servers", "kafka:9092"],
        ["bench", "bare-read"],
    ])
    func refuses(arguments: [String]) {
        let error = #expect(throws: (any Error).self) { try JuiceCommand.parseAsRoot(arguments) }
        #expect(error.map { JuiceCommand.exitCode(for: $0).rawValue } == Failure.Status.usage.rawValue)
    }

    @Test func theLoopsAreHidden() {
        let help = Bench.helpMessage()
        #expect(help.contains("end-to-end") && help.contains("latency") && help.contains("restore"))
        #expect(!help.contains("bare-copy") && !help.contains("bare-read"))
    }

    @Test func everyMeasurementShowsExamples() {
        let commands: [any ParsableCommand.Type] = [
            Bench.self, Bench.Core.self, Bench.EndToEnd.self, Bench.Latency.self, Bench.Restore.self, Bench.Repeats.self,
        ]
        for command in commands { #expect(command.configuration.discussion.contains("Examples:\n  juice bench "), "\(command)") }
    }

    /// The pieces really run, and the report has the times of each.
    @Test func theCoreIsMeasuredPieceByPiece() async throws {
        let plan = try CorePlan(BenchSamples.settings(["orders": "1000", "stores": "3", "rounds": "2"]))
        let samples = try await onThread { plan.samples(distinctOrders: 1 << 10) { _ in } }
        #expect(
            samples.map(\.piece) == [
                "decode", "apply", "encode", "order", "basket", "remember", "engine", "engine-basket",
                "restore",
            ]
        )
        #expect(samples.allSatisfy { $0.nanoseconds.count == 2 && $0.nanoseconds.allSatisfy { $0 > 0 } })

        let slow = CoreSample(piece: "order", summary: "", nanoseconds: [250, 301, 400])
        let report = CoreReport(plan, samples: [slow])
        #expect(report.medians == ["order": 301] && report.goals.map(\.isMet) == [false])
        let fast = CoreSample(piece: "order", summary: "", nanoseconds: [299])
        #expect(CoreReport(plan, samples: [fast]).goals.map(\.isMet) == [true])
        #expect(try JSONText.indented(report).contains(#""benchmark" : "core""#))
    }

    @Test func withoutOptionsItMeasuresWhatTheGoalsSpeakOf() throws {
        let settings = try BenchSamples.settings()
        let endToEnd = try EndToEndPlan(settings)
        #expect(endToEnd.orders == 1_000_000 && endToEnd.stores == 1_000 && endToEnd.rounds == 5)
        let latency = try LatencyPlan(settings)
        #expect(latency.rate == 1_000 && latency.durationSeconds == 20 && latency.rounds == 3)
        let restore = try RestorePlan(settings)
        #expect(restore.stores == 1_000_000 && restore.partitions == 1)
    }

    @Test(
        arguments: [
            ("orders", "49999", "--orders must be a whole number, from 50000 to 999999999, not \"49999\""),
            ("stores", "강남,홍대", "--stores must be a whole number, from 1 to 9999999, not \"강남,홍대\""),
            ("rounds", "0", "--rounds must be a whole number, from 1 to 1000, not \"0\""),
            ("initial-stock", "-1", "--initial-stock must be a whole number, from 0 to 1000000000, not \"-1\""),
            ("partitions", "x", "--partitions must be a whole number, from 1 to 1000, not \"x\""),
        ] as [(String, String, String)]
    )
    func saysWhatCannotBe(setting: String, text: String, message: String) throws {
        let settings = try BenchSamples.settings([setting: text])
        #expect(throws: Failure(.usage, message)) { try EndToEndPlan(settings) }
    }

    @Test func anotherInitialStockIsAMenuThatTheServiceReads() throws {
        let path = NSTemporaryDirectory() + "juice-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try BenchMenu.write(initialStock: 77, to: path) == path)
        let menu = try BenchSamples.settings(["menu": path]).menu()
        #expect(menu.fruits.allSatisfy { $0.initialStock == 77 })
        #expect(menu.juices.map(\.id) == ["strawberry", "banana", "kiwi", "pineapple", "strawberryBanana", "mango", "mangoKiwi"])
    }
}
