/// The distribution of times, in milliseconds.
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

/// The latency and cost of a process at a steady rate.
struct LatencyFigures: Encodable, Equatable {
    /// From when an order was due until its committed answer was read.
    let milliseconds: LatencyDistribution
    /// Processor time of the process, in microseconds; nil if the system does not report it.
    let cpuMicrosecondsPerOrder: Double?
    /// How late orders were sent: the sender's own share of the latencies.
    let senderLateMilliseconds: LatencyDistribution
}

extension LatencyFigures {
    /// The median of each figure.
    init(medianOf all: [LatencyFigures]) {
        self.init(
            milliseconds: LatencyDistribution(medianOf: all.map(\.milliseconds)),
            cpuMicrosecondsPerOrder: Statistics.median(all.compactMap(\.cpuMicrosecondsPerOrder)),
            senderLateMilliseconds: LatencyDistribution(medianOf: all.map(\.senderLateMilliseconds)))
    }
}

/// Latency of the service, the bare loop and the bare loop without offsets.
struct LatencyReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let service: LatencyFigures
        let bare: LatencyFigures
        let least: LatencyFigures
        /// The service's times divided by the bare loop's.
        let p50Ratio: Double
        let p99Ratio: Double
        /// The same by the loop without offsets.
        let leastP50Ratio: Double
        let leastP99Ratio: Double
    }

    let benchmark = "latency"
    let machine: BenchMachine
    let settings: LatencyPlan
    /// The size of the bare loop's records: the mean size of the service's answers.
    let answerBytes: Int
    let rounds: [Round]
    /// The median of each figure and ratio.
    let medians: Round
    let goals: [Goal]

    init(machine: BenchMachine, settings: LatencyPlan, answerBytes: Int, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.answerBytes = answerBytes
        self.rounds = rounds
        medians = Round(
            service: LatencyFigures(medianOf: rounds.map(\.service)), bare: LatencyFigures(medianOf: rounds.map(\.bare)),
            least: LatencyFigures(medianOf: rounds.map(\.least)), p50Ratio: Statistics.median(rounds.map(\.p50Ratio)) ?? 0,
            p99Ratio: Statistics.median(rounds.map(\.p99Ratio)) ?? 0,
            leastP50Ratio: Statistics.median(rounds.map(\.leastP50Ratio)) ?? 0,
            leastP99Ratio: Statistics.median(rounds.map(\.leastP99Ratio)) ?? 0)
        // At a low rate an order has a transaction of its own, and the offsets that the service does not send weigh most.
        let isLow = settings.rate <= 300
        goals = [
            ("p50, service to bare loop", medians.p50Ratio, isLow ? 0.80 : 0.85),
            ("p99, service to bare loop", medians.p99Ratio, 1.0),
            ("p50, service to the loop without offsets", medians.leastP50Ratio, isLow ? 1.15 : 1.3),
            ("p99, service to the loop without offsets", medians.leastP99Ratio, 1.3),
        ].map { Goal(name: $0, measured: $1, bound: .atMost, limit: $2) }
    }

    var head: String {
        "\(Figure.text(settings.rate)) orders/s for \(settings.durationSeconds) s, "
            + "\(Figure.text(settings.stores)) stores, \(settings.partitions) partitions, " + "answers of \(answerBytes) bytes"
    }

    var table: FigureTable {
        var table = FigureTable(
            [("round", .left), ("", .left)]
                + ["p50 ms", "p90", "p99", "p99.9", "max", "µs/order", "sent late p99"].map { ($0, .right) })
        for (title, round) in rounds.enumerated().map({ ("\($0 + 1)", $1) }) + [("median", medians)] {
            table.add(Self.row(title, Contender.service.name, round.service))
            table.add(Self.row("", Contender.bare.name, round.bare))
            table.add(Self.row("", Contender.least.name, round.least))
        }
        return table
    }

    private static func row(_ round: String, _ contender: String, _ figures: LatencyFigures) -> [FigureTable.Cell] {
        let times = figures.milliseconds
        return [
            .text(round), .text(contender), .figure(times.p50), .figure(times.p90), .figure(times.p99),
            .figure(times.p999), .figure(times.max), .figure(figures.cpuMicrosecondsPerOrder),
            .figure(figures.senderLateMilliseconds.p99),
        ]
    }
}

extension LatencyReport.Round {
    init(service: LatencyFigures, bare: LatencyFigures, least: LatencyFigures) {
        let (own, loop, floor) = (service.milliseconds, bare.milliseconds, least.milliseconds)
        self.init(
            service: service, bare: bare, least: least, p50Ratio: own.p50 / loop.p50, p99Ratio: own.p99 / loop.p99,
            leastP50Ratio: own.p50 / floor.p50, leastP99Ratio: own.p99 / floor.p99)
    }
}
