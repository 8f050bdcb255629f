import JuiceMessages

/// The commands of one transaction.
struct Batch {
    /// Runs of consecutive records of one partition, in order of reading. Each partition's first record comes before all others, so
    /// that the log can add all partitions to the transaction at once.
    let runs: [ArraySlice<CommandRecord>]
    /// The partitions, in the same order.
    let partitions: [Int32]

    init(_ records: [CommandRecord] = []) {
        var (firsts, runs, rest) = ([ArraySlice<CommandRecord>](), [ArraySlice<CommandRecord>](), records[...])
        while let first = rest.first {
            var run = rest.prefix { $0.partition == first.partition }
            rest = rest[run.endIndex...]
            if !firsts.contains(where: { $0.first?.partition == first.partition }) {
                firsts.append(run.prefix(1))
                run.removeFirst()
            }
            if !run.isEmpty { runs.append(run) }
        }
        self.init(runs: firsts + runs)
    }

    init(runs: [ArraySlice<CommandRecord>]) {
        self.runs = runs
        partitions = runs.reduce(into: []) { found, run in
            if let partition = run.first?.partition, !found.contains(partition) { found.append(partition) }
        }
    }

    var count: Int { runs.reduce(0) { $0 + $1.count } }

    /// The earliest time at which the first records of a partition's inputs were sent.
    func firstTime(in storePartition: Int32, of settings: WorkerSettings, readAt now: Timestamp) -> Timestamp? {
        runs.lazy.compactMap(\.first).filter { $0.partition % settings.partitionCount == storePartition }
            .map { settings.times.effective($0.timestamp, readAt: now) }.min()
    }

    /// The position of its record, if it has only one.
    var onlyRecord: InputPosition? { count == 1 ? runs.first?.first?.position : nil }
}
