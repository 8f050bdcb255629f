/// Restore times of the service and of librdkafka alone.
struct RestoreReport: BenchReport, Equatable {
    /// A start of a process until it was ready.
    struct Start: Encodable, Equatable {
        let seconds: Double
        /// Processor time of the process until then; nil if the system does not report it.
        let cpuSeconds: Double?
        /// Resident memory when it was ready; nil if the system does not report it.
        let residentBytes: Int?
    }

    struct Round: Encodable, Equatable {
        /// The service on empty topics.
        let empty: Start
        /// The service on topics with the stock.
        let full: Start
        /// The bare read of an empty topic and of the stock.
        let emptyReadSeconds: Double
        let fullReadSeconds: Double
        /// From the start of the service until it answered an order that was waiting in otherwise empty topics.
        let firstAnswerSeconds: Double
        let storesPerSecond: Double?
        let readPerSecond: Double?
        /// The service's speed divided by the bare read's.
        let speedRatio: Double?
        let bytesPerStore: Double?
    }

    /// The median of each figure; nil if there were too few stores to measure it.
    struct Medians: Encodable, Equatable {
        let storesPerSecond: Double?
        let readPerSecond: Double?
        let speedRatio: Double?
        let bytesPerStore: Double?
        let firstAnswerSeconds: Double?
    }

    let benchmark = "restore"
    let machine: BenchMachine
    let settings: RestorePlan
    let rounds: [Round]
    let medians: Medians
    let goals: [Goal]

    init(machine: BenchMachine, settings: RestorePlan, rounds: [Round]) {
        self.machine = machine
        self.settings = settings
        self.rounds = rounds
        let medians = Medians(
            storesPerSecond: Statistics.median(rounds.compactMap(\.storesPerSecond)),
            readPerSecond: Statistics.median(rounds.compactMap(\.readPerSecond)),
            speedRatio: Statistics.median(rounds.compactMap(\.speedRatio)),
            bytesPerStore: Statistics.median(rounds.compactMap(\.bytesPerStore)),
            firstAnswerSeconds: Statistics.median(rounds.map(\.firstAnswerSeconds)))
        self.medians = medians
        goals = [
            Goal(
                name: "memory per store",
                measured: medians.bytesPerStore,
                bound: .atMost,
                limit: 200,
                unit: "bytes"
            ),
            Goal(
                name: "stores/s, service to librdkafka alone",
                measured: medians.speedRatio,
                bound: .atLeast,
                limit: 0.5
            ),
            Goal(
                name: "start to first answer",
                measured: medians.firstAnswerSeconds,
                bound: .atMost,
                limit: 0.5,
                unit: "s"
            ),
        ]
    }

    var head: String {
        let partitions = settings.partitions == 1 ? "partition" : "partitions"
        return "\(Figure.text(settings.stores)) stores in \(settings.partitions) \(partitions)"
    }

    var table: FigureTable {
        var table = FigureTable(figures: [
            "round", "ready, empty", "with stores", "stores/s", "read, empty", "with stores", "records/s",
            "ratio", "bytes/store", "first answer",
        ])
        for (number, round) in rounds.enumerated() {
            table.add([
                .text("\(number + 1)"), .figure(round.empty.seconds, " s"), .figure(round.full.seconds, " s"),
                .figure(round.storesPerSecond), .figure(round.emptyReadSeconds, " s"),
                .figure(round.fullReadSeconds, " s"), .figure(round.readPerSecond), .figure(round.speedRatio),
                .figure(round.bytesPerStore), .figure(round.firstAnswerSeconds, " s"),
            ])
        }
        table.add([
            .text("median"), .figure(Statistics.median(rounds.map(\.empty.seconds)), " s"),
            .figure(Statistics.median(rounds.map(\.full.seconds)), " s"), .figure(medians.storesPerSecond),
            .figure(Statistics.median(rounds.map(\.emptyReadSeconds)), " s"),
            .figure(Statistics.median(rounds.map(\.fullReadSeconds)), " s"), .figure(medians.readPerSecond),
            .figure(medians.speedRatio), .figure(medians.bytesPerStore), .figure(medians.firstAnswerSeconds, " s"),
        ])
        return table
    }
}

extension RestoreReport.Round {
    init(
        stores: Int, empty: RestoreReport.Start, full: RestoreReport.Start, emptyReadSeconds: Double, fullReadSeconds: Double,
        firstAnswerSeconds: Double
    ) {
        /// The share of the stores alone; nil if it is not positive.
        func difference(_ full: Double, _ empty: Double) -> Double? { full > empty ? full - empty : nil }
        let restoring = difference(full.seconds, empty.seconds)
        let reading = difference(fullReadSeconds, emptyReadSeconds)
        let stores = Double(stores)
        self.init(
            empty: empty, full: full, emptyReadSeconds: emptyReadSeconds, fullReadSeconds: fullReadSeconds,
            firstAnswerSeconds: firstAnswerSeconds, storesPerSecond: restoring.map { stores / $0 },
            readPerSecond: reading.map { stores / $0 },
            speedRatio: restoring.flatMap { restoring in reading.map { $0 / restoring } },
            bytesPerStore: full.residentBytes.flatMap { full in empty.residentBytes.map { Double(full - $0) / stores } })
    }
}
