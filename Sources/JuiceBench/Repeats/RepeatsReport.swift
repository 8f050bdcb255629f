/// What repeats cost beside new orders.
struct RepeatsReport: BenchReport, Equatable {
    struct Round: Encodable, Equatable {
        let new: Throughput
        let inOrder: Throughput
        let scattered: Throughput
        /// The throughput of repeats in order divided by that of new orders.
        let inOrderRatio: Double
        /// The same of scattered repeats.
        let scatteredRatio: Double
    }

    let benchmark = "repeats"
    let machine: BenchMachine
    let settings: RepeatsPlan
    let rounds: [Round]
    /// The median of each figure. Ratios are medians of the rounds' ratios, because what slows down a round affects all of it.
    let medians: Round
    let goals: [Goal]

    init(machine: BenchMachine, settings: RepeatsPlan, rounds: [Round]) {
        (self.machine, self.settings, self.rounds) = (machine, settings, rounds)
        medians = Round(
            new: Throughput(medianOf: rounds.map(\.new)), inOrder: Throughput(medianOf: rounds.map(\.inOrder)),
            scattered: Throughput(medianOf: rounds.map(\.scattered)),
            inOrderRatio: Statistics.median(rounds.map(\.inOrderRatio)) ?? 0,
            scatteredRatio: Statistics.median(rounds.map(\.scatteredRatio)) ?? 0)
        goals = [
            Goal(name: "orders/s, repeats in order to new orders", measured: medians.inOrderRatio, bound: .atLeast, limit: 0.25)
        ]
    }

    var head: String {
        "\(Figure.text(settings.orders)) orders, \(Figure.text(settings.inOrder.count)) of them again in order, "
            + "\(Figure.text(settings.scattered(1).count)) scattered; \(Figure.text(settings.stores)) stores, "
            + "\(settings.partitions) partitions"
    }

    var table: FigureTable {
        var table = FigureTable(figures: [
            "round", "new orders/s", "MB", "in order/s", "ratio", "µs each", "scattered/s", "ratio", "µs each", "MB",
        ])
        for (number, round) in rounds.enumerated() { table.add(Self.row("\(number + 1)", round)) }
        table.add(Self.row("median", medians))
        return table
    }

    private static func row(_ title: String, _ round: Round) -> [FigureTable.Cell] {
        [
            .text(title), .figure(round.new.ordersPerSecond),
            .figure(round.new.residentBytes.map { $0 / 1e6 }),
            .figure(round.inOrder.ordersPerSecond), .figure(round.inOrderRatio),
            .figure(round.inOrder.cpuMicrosecondsPerOrder), .figure(round.scattered.ordersPerSecond),
            .figure(round.scatteredRatio), .figure(round.scattered.cpuMicrosecondsPerOrder),
            .figure(round.scattered.residentBytes.map { $0 / 1e6 }),
        ]
    }
}

extension RepeatsReport.Round {
    init(new: Throughput, inOrder: Throughput, scattered: Throughput) {
        self.init(
            new: new, inOrder: inOrder, scattered: scattered, inOrderRatio: inOrder.ordersPerSecond / new.ordersPerSecond,
            scatteredRatio: scattered.ordersPerSecond / new.ordersPerSecond)
    }
}
