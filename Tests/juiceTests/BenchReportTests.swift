import Foundation
import Testing

@testable import JuiceBench
@testable import juice

struct BenchReportTests {
    @Test func aRatioIsTheMedianOfTheRoundsRatios() throws {
        let medians = try BenchSamples.endToEnd().medians
        // Not 440,000 / 500,000: what slows down a round affects both.
        #expect(medians.throughputRatio == 0.9)
        #expect(medians.service.ordersPerSecond == 440_000)
        #expect(medians.cpuRatio == 1.35)
    }

    @Test func endToEndIsATable() throws {
        let lines = try BenchSamples.endToEnd().lines(paint: .none)
        #expect(lines.first == BenchSamples.machine.line)
        #expect(lines[1] == "200,000 orders, 1,000 stores, 4 partitions, answers of 240 bytes")
        #expect(
            lines[3...].map { $0.split(separator: " ").joined(separator: " ") } == [
                "round service orders/s bare ratio least service µs/order bare ratio least service MB bare",
                "1 450,000 500,000 0.90 600,000 1.20 1.00 1.20 0.80 50.0 50.0",
                "2 400,000 500,000 0.80 600,000 1.50 1.00 1.50 0.80 50.0 50.0",
                "3 440,000 400,000 1.10 500,000 - 1.00 - 0.80 50.0 50.0",
                "median 440,000 500,000 0.90 600,000 1.35 1.00 1.35 0.80 50.0 50.0", "", "goal measured wanted",
                "orders/s, service to bare loop 0.90 ≥ 0.90 met",
                "processor time per order, service to bare loop 1.35 ≤ 1.10 missed",
                "processor time per order, service to the loop without offsets 1.69 ≤ 1.30 missed",
            ])
        #expect(Set(lines[3...7].map { DisplayWidth.of($0) }).count == 1)
    }

    @Test func missedAndUnmeasuredGoalsAreSaid() throws {
        let latency = try BenchSamples.latency().lines(paint: .none)
        #expect(latency.contains { $0.hasPrefix("p50, service to bare loop") && $0.hasSuffix("≤ 0.85  missed") })
        #expect(latency.contains { $0.hasPrefix("p99, service to bare loop") && $0.hasSuffix("missed") })
        let goal = Goal(name: "memory", measured: nil, bound: .atMost, limit: 1)
        #expect(Table([goal]).lines(paint: .none).last?.hasSuffix("not measured") == true)
    }

    @Test func restoringIsTheDifferenceOfTwoStarts() throws {
        let report = try BenchSamples.restore()
        #expect(report.medians.storesPerSecond == 1000)
        #expect(report.medians.readPerSecond == 2000)
        #expect(report.medians.speedRatio == 0.5)
        #expect(report.medians.bytesPerStore == 150)
        #expect(report.goals.map(\.isMet) == [true, true, true])
    }

    @Test func repeatsAreComparedWithNewOrders() throws {
        let report = try BenchSamples.repeats()
        #expect(report.medians.inOrderRatio == 0.5 && report.medians.scatteredRatio == 0.02)
        #expect(report.goals.map(\.isMet) == [true])
    }

    @Test func jsonHasItsDocumentedMembers() throws {
        let reports: [(any BenchReport, String, round: Set<String>, medians: Set<String>)] = [
            (
                try BenchSamples.endToEnd(), "end-to-end",
                ["service", "bare", "least", "throughputRatio", "cpuRatio", "leastCPURatio"],
                ["service", "bare", "least", "throughputRatio", "cpuRatio", "leastCPURatio"]
            ),
            (
                try BenchSamples.latency(), "latency",
                ["service", "bare", "least", "p50Ratio", "p99Ratio", "leastP50Ratio", "leastP99Ratio"],
                ["service", "bare", "least", "p50Ratio", "p99Ratio", "leastP50Ratio", "leastP99Ratio"]
            ),
            (
                try BenchSamples.restore(), "restore",
                [
                    "empty", "full", "emptyReadSeconds", "fullReadSeconds", "firstAnswerSeconds",
                    "storesPerSecond", "readPerSecond", "speedRatio", "bytesPerStore",
                ],
                ["storesPerSecond", "readPerSecond", "speedRatio", "bytesPerStore", "firstAnswerSeconds"]
            ),
            (
                try BenchSamples.repeats(), "repeats", ["new", "inOrder", "scattered", "inOrderRatio", "scatteredRatio"],
                ["new", "inOrder", "scattered", "inOrderRatio", "scatteredRatio"]
            ),
        ]
        for (report, name, round, medians) in reports {
            let parsed = try JSONSerialization.jsonObject(with: Data(try JSONText.indented(report).utf8))
            let json = try #require(parsed as? [String: Any])
            let common: Set = ["benchmark", "machine", "settings", "rounds", "medians", "goals"]
            #expect(Set(json.keys) == common.union(["restore", "repeats"].contains(name) ? [] : ["answerBytes"]))
            #expect(json["benchmark"] as? String == name)
            let machine = json["machine"] as? [String: Any]
            #expect(Set(machine?.keys ?? [:].keys) == ["cores", "system", "brokers", "librdkafka", "juice"])
            #expect((json["rounds"] as? [[String: Any]])?.first.map { Set($0.keys) } == round)
            #expect((json["medians"] as? [String: Any]).map { Set($0.keys) } == medians)
            let goal = (json["goals"] as? [[String: Any]])?.first
            #expect(goal.map { Set($0.keys) } == ["name", "measured", "bound", "limit", "unit", "met"])
        }
    }

    @Test func progressIsABar() {
        #expect(
            ProgressBar.line("filling", 1, of: 2) == "filling  " + String(repeating: "█", count: 15)
                + String(repeating: " ", count: 15) + "  50%")
        #expect(ProgressBar.line("x", 9, of: 0).hasSuffix("100%"))
    }
}
