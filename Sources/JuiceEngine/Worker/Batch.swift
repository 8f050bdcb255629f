/// The commands of one transaction.
struct Batch {
    /// The records in order of reading, with consecutive records of one partition as one run.
    let runs: [ArraySlice<CommandRecord>]
    /// Each partition's first record.
    private(set) var firsts: [ArraySlice<CommandRecord>] = []
    /// The number of records.
    let count: Int

    init(_ records: [CommandRecord] = []) {
        var runs: [ArraySlice<CommandRecord>] = []
        var rest = records[...]
        while let partition = rest.first?.partition {
            let run = rest.prefix { $0.partition == partition }
            runs.append(run)
            rest = rest[run.endIndex...]
        }
        self.init(runs: runs)
    }

    init(runs: [ArraySlice<CommandRecord>]) {
        self.runs = runs
        count = runs.reduce(0) { $0 + $1.count }
        for run in runs where !firsts.contains(where: { $0.first?.partition == run.first?.partition }) {
            firsts.append(run.prefix(1))
        }
    }

    /// The partitions of its commands.
    var partitions: [Int32] { firsts.compactMap { $0.first?.partition } }

    /// The position of its record, if it has only one.
    var lone: InputPosition? {
        guard count == 1, let record = runs.first?.first else { return nil }
        return InputPosition(topic: record.topic, partition: record.partition, offset: record.offset)
    }
}
