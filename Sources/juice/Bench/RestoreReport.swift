/// Restoring, service beside librdkafka alone.
struct RestoreReport: BenchReport, Equatable {
    /// A process that was started and waited for until it was ready.
    struct Start: Encodable, Equatable {
        let seconds: Double
        /// Processor time of the process until then; nil where this system does not tell.
        let cpuSeconds: Double?
        /// When it was ready; nil where this system does not tell.
        let residentBytes: Int?
    }

    struct Round: Equatable {
        let stores: Int
        /// The service, on empty topics.
        let empty: Start
        /// The service, on topics that hold the stock.
        let full: Start
        /// The bare read, of an empty topic and of the stock.
        let emptyReadSeconds: Double
        let fullReadSeconds: Double
        /// From the start of the service to the answer to an order that was waiting in otherwise empty topics.
        let firstAnswerSeconds: Double
    }

    /// Medians of the rounds, each figure on its own; nil where there were too few stores to tell.
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
            firstAnswerSeconds: Statistics.median(rounds.map(\.firstAnswerSeconds))
        )
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
                limit: 1,
                unit: "s"
            ),
        ]
    }

    func lines(paint: Paint) -> [String] {
        var table = Table(
            [
                "round", "ready, empty", "with stores", "stores/s", "read, empty", "with stores", "records/s",
                "ratio", "bytes/store", "first answer",
            ]
            .map { Table.Column(title: $0, alignsRight: $0 != "round") }
        )
        func figure(_ value: Double?, _ unit: String = "") -> Table.Cell {
            .init(value.map { Figure.text($0) + unit } ?? "-")
        }
        for (number, round) in rounds.enumerated() {
            table.add([
                .init("\(number + 1)"), figure(round.empty.seconds, " s"), figure(round.full.seconds, " s"),
                figure(round.storesPerSecond), figure(round.emptyReadSeconds, " s"),
                figure(round.fullReadSeconds, " s"), figure(round.readPerSecond), figure(round.speedRatio),
                figure(round.bytesPerStore), figure(round.firstAnswerSeconds, " s"),
            ])
        }
        table.add([
            .init("median"), figure(Statistics.median(rounds.map(\.empty.seconds)), " s"),
            figure(Statistics.median(rounds.map(\.full.seconds)), " s"), figure(medians.storesPerSecond),
            figure(Statistics.median(rounds.map(\.emptyReadSeconds)), " s"),
            figure(Statistics.median(rounds.map(\.fullReadSeconds)), " s"), figure(medians.readPerSecond),
            figure(medians.speedRatio), figure(medians.bytesPerStore),
            figure(medians.firstAnswerSeconds, " s"),
        ])
        let head =
            "\(Figure.text(Double(settings.stores), decimals: 0)) stores in \(settings.partitions) "
            + (settings.partitions == 1 ? "partition" : "partitions")
        return [machine.line, head, ""] + table.lines(paint: paint) + [""]
            + Goal.table(goals).lines(paint: paint)
    }
}

extension RestoreReport.Round: Encodable {
    private enum Key: String, CodingKey {
        case empty, full, emptyReadSeconds, fullReadSeconds, firstAnswerSeconds
        case storesPerSecond, readPerSecond, speedRatio, bytesPerStore
    }

    /// What the service takes for the stores alone; nil where that is nothing.
    private var restoring: Double? { Self.difference(full.seconds, empty.seconds) }
    private var reading: Double? { Self.difference(fullReadSeconds, emptyReadSeconds) }

    var storesPerSecond: Double? { restoring.map { Double(stores) / $0 } }
    var readPerSecond: Double? { reading.map { Double(stores) / $0 } }

    /// The service's speed in parts of the bare read's.
    var speedRatio: Double? {
        guard let restoring, let reading else { return nil }
        return reading / restoring
    }

    var bytesPerStore: Double? {
        guard let empty = empty.residentBytes, let full = full.residentBytes else { return nil }
        return Double(full - empty) / Double(stores)
    }

    private static func difference(_ full: Double, _ empty: Double) -> Double? {
        full > empty ? full - empty : nil
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(empty, forKey: .empty)
        try container.encode(full, forKey: .full)
        try container.encode(emptyReadSeconds, forKey: .emptyReadSeconds)
        try container.encode(fullReadSeconds, forKey: .fullReadSeconds)
        try container.encode(firstAnswerSeconds, forKey: .firstAnswerSeconds)
        try container.encodeIfPresent(storesPerSecond, forKey: .storesPerSecond)
        try container.encodeIfPresent(readPerSecond, forKey: .readPerSecond)
        try container.encodeIfPresent(speedRatio, forKey: .speedRatio)
        try container.encodeIfPresent(bytesPerStore, forKey: .bytesPerStore)
    }
}
