/// Throughput, service beside bare copy.
struct EndToEndReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let service: Throughput
        let copy: Throughput
    }

    /// Medians of the rounds, each figure on its own. A ratio is the median of the rounds' ratios: what slows a round
    /// down slows both down.
    struct Medians: Encodable, Equatable {
        let service: Throughput
        let copy: Throughput
        let throughputRatio: Double
        let cpuRatio: Double?
    }

    let benchmark = "end-to-end"
    let machine: BenchMachine
    let settings: EndToEndPlan
    let rounds: [Round]
    let medians: Medians
    let goals: [Goal]

    init(machine: BenchMachine, settings: EndToEndPlan, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.rounds = rounds
        medians = Medians(
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

    func lines(paint: Paint) -> [String] {
        var table = Table(
            [
                "round", "service orders/s", "copy", "ratio", "service µs/order", "copy", "ratio",
                "service MB", "copy",
            ]
            .map { Table.Column(title: $0, alignsRight: $0 != "round") }
        )
        for (number, round) in rounds.enumerated() {
            table.add(
                Self.row("\(number + 1)", round.service, round.copy, round.throughputRatio, round.cpuRatio)
            )
        }
        table.add(
            Self.row("median", medians.service, medians.copy, medians.throughputRatio, medians.cpuRatio)
        )
        let head =
            "\(Figure.text(Double(settings.orders), decimals: 0)) orders, "
            + "\(Figure.text(Double(settings.stores), decimals: 0)) stores, \(settings.partitions) partitions"
        return [machine.line, head, ""] + table.lines(paint: paint) + [""]
            + Goal.table(goals).lines(paint: paint)
    }

    private static func row(
        _ title: String,
        _ service: Throughput,
        _ copy: Throughput,
        _ throughputRatio: Double,
        _ cpuRatio: Double?
    ) -> [Table.Cell] {
        func figure(_ value: Double?) -> Table.Cell { .init(value.map(Figure.text) ?? "-") }
        return [
            .init(title), figure(service.ordersPerSecond), figure(copy.ordersPerSecond),
            figure(throughputRatio), figure(service.cpuMicrosecondsPerOrder),
            figure(copy.cpuMicrosecondsPerOrder), figure(cpuRatio),
            figure(service.residentBytes.map { $0 / 1e6 }), figure(copy.residentBytes.map { $0 / 1e6 }),
        ]
    }
}

extension EndToEndReport.Round {
    private enum Key: String, CodingKey {
        case service, copy, throughputRatio, cpuRatio
    }

    var throughputRatio: Double { service.ordersPerSecond / copy.ordersPerSecond }

    var cpuRatio: Double? {
        guard let own = service.cpuMicrosecondsPerOrder, let bare = copy.cpuMicrosecondsPerOrder, bare > 0
        else { return nil }
        return own / bare
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(service, forKey: .service)
        try container.encode(copy, forKey: .copy)
        try container.encode(throughputRatio, forKey: .throughputRatio)
        try container.encodeIfPresent(cpuRatio, forKey: .cpuRatio)
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
