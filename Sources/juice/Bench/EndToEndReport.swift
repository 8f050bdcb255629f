/// Throughput, service beside bare copy.
struct EndToEndReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let service: Throughput
        let copy: Throughput
        let throughputRatio: Double
        let cpuRatio: Double?
    }

    let benchmark = "end-to-end"
    let machine: BenchMachine
    let settings: EndToEndPlan
    let rounds: [Round]
    /// Medians of the rounds, each figure on its own. A ratio is the median of the rounds' ratios: what slows a round
    /// down slows both down.
    let medians: Round
    let goals: [Goal]

    init(machine: BenchMachine, settings: EndToEndPlan, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.rounds = rounds
        medians = Round(
            service: Throughput(medianOf: rounds.map(\.service)),
            copy: Throughput(medianOf: rounds.map(\.copy)),
            throughputRatio: Statistics.median(rounds.map(\.throughputRatio)) ?? 0,
            cpuRatio: Statistics.median(rounds.compactMap(\.cpuRatio))
        )
        goals = [
            Goal(
                name: "orders/s, service to bare copy",
                measured: medians.throughputRatio,
                bound: .atLeast,
                limit: 0.85
            ),
            Goal(
                name: "processor time per order, service to bare copy",
                measured: medians.cpuRatio,
                bound: .atMost,
                limit: 1.5
            ),
        ]
    }

    var head: String {
        "\(Figure.text(settings.orders)) orders, \(Figure.text(settings.stores)) stores, "
            + "\(settings.partitions) partitions"
    }

    func table() -> Table {
        var table = Table(
            [
                "round", "service orders/s", "copy", "ratio", "service µs/order", "copy", "ratio",
                "service MB", "copy",
            ]
            .map { Table.Column(title: $0, alignsRight: $0 != "round") }
        )
        for (number, round) in rounds.enumerated() { table.add(Self.row("\(number + 1)", round)) }
        table.add(Self.row("median", medians))
        return table
    }

    private static func row(_ title: String, _ round: Round) -> [Table.Cell] {
        let (service, copy) = (round.service, round.copy)
        return [
            .init(title), .init(service.ordersPerSecond), .init(copy.ordersPerSecond),
            .init(round.throughputRatio), .init(service.cpuMicrosecondsPerOrder),
            .init(copy.cpuMicrosecondsPerOrder), .init(round.cpuRatio),
            .init(service.residentBytes.map { $0 / 1e6 }), .init(copy.residentBytes.map { $0 / 1e6 }),
        ]
    }
}

extension EndToEndReport.Round {
    init(service: Throughput, copy: Throughput) {
        var cpuRatio: Double?
        if let own = service.cpuMicrosecondsPerOrder, let bare = copy.cpuMicrosecondsPerOrder, bare > 0 {
            cpuRatio = own / bare
        }
        self.init(
            service: service,
            copy: copy,
            throughputRatio: service.ordersPerSecond / copy.ordersPerSecond,
            cpuRatio: cpuRatio
        )
    }
}

extension Throughput {
    /// The median of each figure.
    init(medianOf all: [Throughput]) {
        self.init(
            ordersPerSecond: Statistics.median(all.map(\.ordersPerSecond)) ?? 0,
            cpuMicrosecondsPerOrder: Statistics.median(all.compactMap(\.cpuMicrosecondsPerOrder)),
            residentBytes: Statistics.median(all.compactMap(\.residentBytes))
        )
    }
}
