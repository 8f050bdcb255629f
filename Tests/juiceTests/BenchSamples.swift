@testable import JuiceBench
@testable import juice

/// Settings and reports for tests of `juice bench`.
enum BenchSamples {
    static func settings(_ values: [String: String] = [:]) throws -> Settings {
        try Settings(options: values, environment: [:])
    }

    static let machine = BenchMachine(brokers: ["kafka:9092"])

    static func endToEnd() throws -> EndToEndReport {
        func throughput(_ orders: Double, _ cpu: Double?) -> Throughput {
            Throughput(ordersPerSecond: orders, cpuMicrosecondsPerOrder: cpu, residentBytes: 50_000_000)
        }
        return EndToEndReport(
            machine: machine, settings: try EndToEndPlan(settings(["orders": "200000", "rounds": "3"])), answerBytes: 240,
            rounds: [
                .init(
                    service: throughput(450_000, 1.2),
                    bare: throughput(500_000, 1),
                    least: throughput(600_000, 0.8)
                ),
                .init(
                    service: throughput(400_000, 1.5),
                    bare: throughput(500_000, 1),
                    least: throughput(600_000, 0.8)
                ),
                .init(
                    service: throughput(440_000, nil),
                    bare: throughput(400_000, 1),
                    least: throughput(500_000, 0.8)
                ),
            ]
        )
    }

    static func latency() throws -> LatencyReport {
        func figures(_ times: [Double]) -> LatencyFigures {
            LatencyFigures(
                milliseconds: LatencyDistribution(sorted: times), cpuMicrosecondsPerOrder: 300,
                senderLateMilliseconds: LatencyDistribution(sorted: [0.1]))
        }
        return LatencyReport(
            machine: machine,
            settings: try LatencyPlan(settings(["rounds": "1"])),
            answerBytes: 240,
            rounds: [
                .init(service: figures([4, 5, 12]), bare: figures([4, 5, 8]), least: figures([4, 5, 7]))
            ]
        )
    }

    static func repeats() throws -> RepeatsReport {
        let rates: [Double] = [1000, 500, 20]
        let measured = rates.map { Throughput(ordersPerSecond: $0, cpuMicrosecondsPerOrder: 3, residentBytes: 150e6) }
        return RepeatsReport(
            machine: machine, settings: try RepeatsPlan(settings(["rounds": "1"])),
            rounds: [.init(new: measured[0], inOrder: measured[1], scattered: measured[2])])
    }

    static func restore() throws -> RestoreReport {
        RestoreReport(
            machine: machine, settings: try RestorePlan(settings(["stores": "1000", "rounds": "1"])),
            rounds: [
                .init(
                    stores: 1000,
                    empty: .init(seconds: 0.5, cpuSeconds: 0.1, residentBytes: 30_000_000),
                    full: .init(seconds: 1.5, cpuSeconds: nil, residentBytes: 30_150_000),
                    emptyReadSeconds: 0.25,
                    fullReadSeconds: 0.75,
                    firstAnswerSeconds: 0.5
                )
            ]
        )
    }
}
