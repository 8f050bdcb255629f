/// How times are distributed, in milliseconds.
struct LatencyDistribution: Encodable, Equatable {
    let p50: Double
    let p90: Double
    let p99: Double
    let p999: Double
    let max: Double

    /// - Parameter sorted: all times in ascending order.
    init(sorted: [Double]) {
        func percentile(_ percent: Double) -> Double { Statistics.percentile(percent, ofSorted: sorted) ?? 0 }
        p50 = percentile(50)
        p90 = percentile(90)
        p99 = percentile(99)
        p999 = percentile(99.9)
        max = sorted.last ?? 0
    }

    /// The median of each percentile.
    init(medianOf all: [LatencyDistribution]) {
        func median(_ path: KeyPath<LatencyDistribution, Double>) -> Double {
            Statistics.median(all.map { $0[keyPath: path] }) ?? 0
        }
        p50 = median(\.p50)
        p90 = median(\.p90)
        p99 = median(\.p99)
        p999 = median(\.p999)
        max = median(\.max)
    }
}

/// What a process took to answer orders at a steady rate.
struct LatencyFigures: Encodable, Equatable {
    /// From when an order was due to when its committed answer was read.
    let milliseconds: LatencyDistribution
    /// Processor time of the process, in microseconds; nil where this system does not tell.
    let cpuMicrosecondsPerOrder: Double?
    /// How late orders were sent: what the sender itself adds to the times.
    let senderLateMilliseconds: LatencyDistribution

    /// The median of each figure.
    init(medianOf all: [LatencyFigures]) {
        milliseconds = LatencyDistribution(medianOf: all.map(\.milliseconds))
        cpuMicrosecondsPerOrder = Statistics.median(all.compactMap(\.cpuMicrosecondsPerOrder))
        senderLateMilliseconds = LatencyDistribution(medianOf: all.map(\.senderLateMilliseconds))
    }

    init(
        milliseconds: LatencyDistribution,
        cpuMicrosecondsPerOrder: Double?,
        senderLateMilliseconds: LatencyDistribution
    ) {
        self.milliseconds = milliseconds
        self.cpuMicrosecondsPerOrder = cpuMicrosecondsPerOrder
        self.senderLateMilliseconds = senderLateMilliseconds
    }
}

/// Latency, service beside bare copy.
struct LatencyReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let service: LatencyFigures
        let copy: LatencyFigures
    }

    struct Medians: Encodable, Equatable {
        let service: LatencyFigures
        let copy: LatencyFigures
        /// The median of the rounds' ratios.
        let p99Ratio: Double
    }

    let benchmark = "latency"
    let machine: BenchMachine
    let settings: LatencyPlan
    let rounds: [Round]
    let medians: Medians
    let goals: [Goal]

    init(machine: BenchMachine, settings: LatencyPlan, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.rounds = rounds
        medians = Medians(
            service: LatencyFigures(medianOf: rounds.map(\.service)),
            copy: LatencyFigures(medianOf: rounds.map(\.copy)),
            p99Ratio: Statistics.median(rounds.map(\.p99Ratio)) ?? 0
        )
        goals = [
            Goal(
                name: "p99 of the service",
                measured: medians.service.milliseconds.p99,
                bound: .atMost,
                limit: 10,
                unit: "ms"
            ),
            Goal(name: "p99, service to bare copy", measured: medians.p99Ratio, bound: .atMost, limit: 1.2),
        ]
    }

    func lines(paint: Paint) -> [String] {
        var table = Table(
            ["round", "", "p50 ms", "p90", "p99", "p99.9", "max", "µs/order", "sent late p99"]
                .map { Table.Column(title: $0, alignsRight: $0 != "round" && $0 != "") }
        )
        for (number, round) in rounds.enumerated() {
            table.add(Self.row("\(number + 1)", "service", round.service))
            table.add(Self.row("", "bare copy", round.copy))
        }
        table.add(Self.row("median", "service", medians.service))
        table.add(Self.row("", "bare copy", medians.copy))
        let head =
            "\(Figure.text(Double(settings.rate), decimals: 0)) orders/s for \(settings.durationSeconds) s, "
            + "\(Figure.text(Double(settings.stores), decimals: 0)) stores, \(settings.partitions) partitions"
        return [machine.line, head, ""] + table.lines(paint: paint) + [""]
            + Goal.table(goals).lines(paint: paint)
    }

    private static func row(_ round: String, _ who: String, _ figures: LatencyFigures) -> [Table.Cell] {
        let times = figures.milliseconds
        return [.init(round), .init(who)]
            + [times.p50, times.p90, times.p99, times.p999, times.max].map { .init(Figure.text($0)) }
            + [
                .init(figures.cpuMicrosecondsPerOrder.map(Figure.text) ?? "-"),
                .init(Figure.text(figures.senderLateMilliseconds.p99)),
            ]
    }
}

extension LatencyReport.Round {
    private enum Key: String, CodingKey {
        case service, copy, p99Ratio
    }

    var p99Ratio: Double { service.milliseconds.p99 / copy.milliseconds.p99 }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(service, forKey: .service)
        try container.encode(copy, forKey: .copy)
        try container.encode(p99Ratio, forKey: .p99Ratio)
    }
}
