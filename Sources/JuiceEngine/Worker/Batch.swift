/// What one transaction takes in.
struct Batch {
    /// The records as they came, those of one partition that stand together as one element.
    private(set) var runs: [ArraySlice<CommandRecord>] = []
    /// Each partition's first record.
    private(set) var firsts: [ArraySlice<CommandRecord>] = []
    /// Partitions read to their present end.
    let ends: [InputPosition]
    /// How many records there are.
    let count: Int

    init(_ records: [CommandRecord] = [], ends: [InputPosition] = []) {
        self.ends = ends
        count = records.count
        var rest = records[...]
        while let partition = rest.first?.partition {
            let run = rest.prefix { $0.partition == partition }
            if !runs.contains(where: { $0.first?.partition == partition }) {
                firsts.append(run.prefix(1))
            }
            runs.append(run)
            rest = rest[run.endIndex...]
        }
    }

    /// The partitions whose commands it has.
    var partitions: [Int32] { firsts.compactMap { $0.first?.partition } }

    /// Where its record was read, if it has only one.
    var lone: InputPosition? {
        guard count == 1, let record = runs.first?.first else { return nil }
        return InputPosition(topic: record.topic, partition: record.partition, offset: record.offset)
    }
}
