/// Throughput of the service, the bare loop and the bare loop without offsets.
struct EndToEndReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let service: Throughput
        let bare: Throughput
        let least: Throughput
        /// The service's throughput divided by the bare loop's.
        let throughputRatio: Double
        /// The service's processor time per order divided by the bare loop's.
        let cpuRatio: Double?
        /// The same by the loop without offsets.
        let leastCPURatio: Double?
    }

    let benchmark = "end-to-end"
    let machine: BenchMachine
    let settings: EndToEndPlan
    /// The size of the bare loop's records: the mean size of the service's answers.
    let answerBytes: Int
    let rounds: [Round]
    /// The median of each figure. Ratios are medians of the rounds' ratios, because what slows down a round affects all
    /// contenders.
    let medians: Round
    let goals: [Goal]

    init(machine: BenchMachine, settings: EndToEndPlan, answerBytes: Int, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.answerBytes = answerBytes
        self.rounds = rounds
        medians = Round(
            service: Throughput(medianOf: rounds.map(\.service)), bare: Throughput(medianOf: rounds.map(\.bare)),
            least: Throughput(medianOf: rounds.map(\.least)),
            throughputRatio: Statistics.median(rounds.map(\.throughputRatio)) ?? 0,
            cpuRatio: Statistics.median(rounds.compactMap(\.cpuRatio)),
            leastCPURatio: Statistics.median(rounds.compactMap(\.leastCPURatio)))
        goals = [
            Goal(
                name: "orders/s, service to bare loop",
                measured: medians.throughputRatio,
                bound: .atLeast,
                limit: 0.90
            ),
            Goal(
                name: "processor time per order, service to bare loop",
                measured: medians.cpuRatio,
                bound: .atMost,
                limit: 1.10
            ),
            Goal(
                name: "processor time per order, service to the loop without offsets",
                measured: medians.leastCPURatio,
                bound: .atMost,
                limit: 1.3
            ),
        ]
    }

    var head: String {
        "\(Figure.text(settings.orders)) orders, \(Figure.text(settings.stores)) stores, "
            + "\(settings.partitions) partitions, answers of \(answerBytes) bytes"
    }

    var table: FigureTable {
        var table = FigureTable(figures: [
            "round", "service orders/s", "bare", "ratio", "least", "service µs/order", "bare", "ratio",
            "least", "service MB", "bare",
        ])
        for (number, round) in rounds.enumerated() { table.add(Self.row("\(number + 1)", round)) }
        table.add(Self.row("median", medians))
        return table
    }

    private static func row(_ title: String, _ round: Round) -> [FigureTable.Cell] {
        let (service, bare, least) = (round.service, round.bare, round.least)
        return [
            .text(title), .figure(service.ordersPerSecond), .figure(bare.ordersPerSecond),
            .figure(round.throughputRatio), .figure(least.ordersPerSecond),
            .figure(service.cpuMicrosecondsPerOrder), .figure(bare.cpuMicrosecondsPerOrder),
            .figure(round.cpuRatio), .figure(least.cpuMicrosecondsPerOrder),
            .figure(service.residentBytes.map { $0 / 1e6 }), .figure(bare.residentBytes.map { $0 / 1e6 }),
        ]
    }
}

extension EndToEndReport.Round {
    init(service: Throughput, bare: Throughput, least: Throughput) {
        func ratio(to other: Throughput) -> Double? {
            guard let own = service.cpuMicrosecondsPerOrder, let others = other.cpuMicrosecondsPerOrder, others > 0 else {
                return nil
            }
            return own / others
        }
        self.init(
            service: service, bare: bare, least: least, throughputRatio: service.ordersPerSecond / bare.ordersPerSecond,
            cpuRatio: ratio(to: bare), leastCPURatio: ratio(to: least))
    }
}

extension Throughput {
    /// The median of each figure.
    init(medianOf all: [Throughput]) {
        self.init(
            ordersPerSecond: Statistics.median(all.map(\.ordersPerSecond)) ?? 0,
            cpuMicrosecondsPerOrder: Statistics.median(all.compactMap(\.cpuMicrosecondsPerOrder)),
            residentBytes: Statistics.median(all.compactMap(\.residentBytes)))
    }
}
