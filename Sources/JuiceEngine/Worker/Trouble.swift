/// What failed lately, and what follows from it for the next batch.
///
/// A batch that failed is halved, down to one record, and doubled again on success: a backlog larger than what the network
/// carries within a transaction's timeout shrinks all the same, and one record that cannot be answered is found. If the log
/// refuses that record, it is treated with less and less of what is optional. A partition whose single records only fail for
/// other reasons is set aside for a while, so that the others are read on.
struct Trouble {
    /// What is written for a record, the more sparing the more often the log refused it.
    enum Treatment: Int {
        /// Its answer with the trace headers, or the whole record where it is handed on.
        case whole
        /// The answer without headers, the command handed on with none but the trace headers, a dead letter with the beginnings
        /// of key and value.
        case bare
        /// A dead letter in place of the answer, whole.
        case deadLetter
        /// A dead letter with the beginnings of key and value.
        case truncated
        /// A dead letter that only says why and where from.
        case reasonOnly
    }

    /// A partition that is not read for a while.
    private struct Aside {
        let since: Timestamp
        let until: Timestamp
        let pause: Timestamp
        /// Whether nothing could be said of it, so that it works as soon as something can.
        let isLeaderless: Bool
    }

    private let maxBatch: Int
    /// The most commands in the next transaction.
    private(set) var limit: Int
    /// Transactions given up since the last one that committed a command.
    private(set) var failures = 0
    private var batch: (partitions: [Int32], count: Int, lone: InputPosition?) = ([], 0, nil)
    private var treatments: [InputPosition: Treatment] = [:]
    /// How often each partition's single record failed in a row, and since when.
    private var failuresAlone: [Int32: (count: Int, since: Timestamp)] = [:]
    private var aside: [Int32: Aside] = [:]

    /// A transaction that took longer than this, in milliseconds, was close to the broker's giving it up: the service's
    /// transactions time out after 10 s.
    private static let slow: Timestamp = 5_000
    /// How often a single record fails, and for how long, before its partition is set aside.
    private static let toleratedAlone = (failures: 3, time: Timestamp(10_000))
    /// How long a partition is set aside, at first and at most; twice as long each time.
    private static let pause: ClosedRange<Timestamp> = 5_000...300_000
    /// Another leader is there within seconds, and to ask for it costs the other partitions no more than a moment. So the pause
    /// is a quarter of the time that the partition has been without one.
    private static let pauseWithoutLeader: ClosedRange<Timestamp> = 1_000...20_000

    init(maxBatch: Int) {
        self.maxBatch = maxBatch
        limit = maxBatch
    }

    /// How the records of the batch are to be treated.
    var treatment: Treatment { batch.lone.flatMap { treatments[$0] } ?? .whole }

    /// A transaction of this batch begins.
    mutating func begins(_ batch: Batch) {
        self.batch = (batch.partitions, batch.count, batch.lone)
    }

    /// The batch is committed.
    ///
    /// - Parameter duration: how long that took, in milliseconds.
    /// - Returns: partitions that were failing before.
    mutating func committed(after duration: Timestamp) -> [Int32] {
        failures = 0
        if duration > Self.slow {
            limit = max(1, min(limit, batch.count) / 2)
        } else if duration < Self.slow / 2, limit < maxBatch {
            limit = min(maxBatch, limit * 2)
        }
        if let lone = batch.lone { treatments[lone] = nil }
        for partition in batch.partitions { failuresAlone[partition] = nil }
        return batch.partitions.filter { aside.removeValue(forKey: $0) != nil }
    }

    /// The worker starts over.
    ///
    /// - Parameter isInTransaction: whether the batch failed, and not something before it.
    /// - Returns: a partition that is set aside for it, and why.
    mutating func failed(
        _ error: LogError,
        isInTransaction: Bool,
        at now: Timestamp
    ) -> (partition: Int32, fault: PartitionFault)? {
        failures += 1
        guard isInTransaction, batch.count > 0 else { return nil }
        limit = max(1, min(limit, batch.count) / 2)
        guard let lone = batch.lone else { return nil }
        let treatment = treatments[lone] ?? .whole
        if error.isRefusalOfRecord, let next = Treatment(rawValue: treatment.rawValue + 1) {
            treatments[lone] = next
            return nil
        }
        failuresAlone[lone.partition, default: (0, now)].count += 1
        guard let row = failuresAlone[lone.partition], row.count >= Self.toleratedAlone.failures,
            now - row.since >= Self.toleratedAlone.time
        else { return nil }
        setAside(lone.partition, isLeaderless: false, at: now)
        return (lone.partition, PartitionFault(.record(lone.topic), at: lone.offset, error.message))
    }

    /// Keeps a partition from being read for a while, the longer the more often.
    ///
    /// - Returns: whether it was not failing before.
    @discardableResult
    mutating func setAside(_ partition: Int32, isLeaderless: Bool, at now: Timestamp) -> Bool {
        let former = aside[partition]
        let since = former?.since ?? now
        let bounds = isLeaderless ? Self.pauseWithoutLeader : Self.pause
        let next = former.map { isLeaderless ? (now - since) / 4 : $0.pause * 2 } ?? 0
        let pause = min(max(next, bounds.lowerBound), bounds.upperBound)
        aside[partition] = Aside(since: since, until: now + pause, pause: pause, isLeaderless: isLeaderless)
        return former == nil
    }

    /// Whether a partition is not to be read now.
    func isAside(_ partition: Int32, at now: Timestamp) -> Bool {
        aside[partition].map { now < $0.until && now + $0.pause >= $0.until } ?? false
    }

    /// Whether a partition was set aside and has not been seen to work since.
    func isFailing(_ partition: Int32) -> Bool { aside[partition] != nil }

    /// The log can say how a partition stands.
    ///
    /// - Returns: whether that is all it was set aside for.
    mutating func restored(_ partition: Int32) -> Bool {
        guard aside[partition]?.isLeaderless ?? false else { return false }
        aside[partition] = nil
        return true
    }

    /// The partitions are another worker's now.
    mutating func forgetPartitions() {
        aside = [:]
        failuresAlone = [:]
        treatments = [:]
    }
}
