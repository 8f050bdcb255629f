import JuiceMessages

/// Decides batch sizes, pauses, and cuts of single records from recent failures.
///
/// A failed batch is halved, down to one record, and doubled again on success. So a backlog larger than what the network carries
/// within a transaction's timeout still gets through, and a single record that cannot be answered is isolated. "After a failure" in
/// docs/JOURNAL.md says what happens to such a record, and to one that the log refuses.
struct FailurePolicy {
    /// Why a partition is paused.
    enum PauseReason: Equatable {
        /// The transactions of its single records fail.
        case failing
        /// A topic refuses what is written for a record.
        case refused
        /// A topic refuses stock, or a note that no command waits for.
        case owing
        /// It has no leader. It works again as soon as it has one.
        case leaderless
        /// Claims to it fail.
        case unclaimable
        /// Another program's transaction is open in it. The pause ends once a check finds that transaction ended.
        case undecided
        /// This many processes took it over and ended before they handled anything. Each process reads such partitions in another
        /// order, by a turn from 0 to 15, so that each of them gets ahead of the deadly one in some process.
        case deadly(processes: Int, turn: Int)
    }

    private struct Pause {
        let reason: PauseReason
        var until: Timestamp
        let duration: Timestamp
    }

    private let maxBatch: Int
    /// How many partitions hold stores.
    private let partitionCount: Int32
    /// The most commands in the next transaction.
    private(set) var batchLimit: Int
    /// The most partitions to claim in one transaction.
    private(set) var claimLimit = Int.max
    /// Failures since the last transaction that committed a command.
    private(set) var count = 0
    /// The open transaction's batch, by partitions that hold stores. The batch itself is not kept: the log reuses its memory.
    private var batch: (partitions: [Int32], count: Int, onlyRecord: InputPosition?) = ([], 0, nil)
    /// The cuts of records that a topic has refused while each was alone in its batch.
    private var cuts: [InputPosition: Cut] = [:]
    /// How often in a row a single record of each partition, or the claim to it, has failed, and since when.
    private var failuresAlone: [Int32: (count: Int, since: Timestamp)] = [:]
    private var pauses: [Int32: Pause] = [:]

    /// A transaction that took longer than this, in milliseconds, came close to its timeout: the service sets that to 10 s.
    private static let slow: Timestamp = 5_000
    /// How often and for how long a single record fails before its partition is paused.
    private static let toleratedAlone = (failures: 3, time: Timestamp(10_000))
    /// After this many owners have ended, a partition is paused before it is read.
    static let mostDeaths = 4

    init(maxBatch: Int, partitionCount: Int32 = .max) {
        (self.maxBatch, batchLimit, self.partitionCount) = (maxBatch, maxBatch, partitionCount)
    }

    /// What to cut from the open transaction's only record.
    var cut: Cut { batch.onlyRecord.flatMap { cuts[$0] } ?? [] }

    /// Starts the transaction of a batch. An empty one is for stock and notes that are due.
    mutating func began(_ batch: Batch) {
        self.batch = (batch.partitions.map { $0 % partitionCount }, batch.count, batch.onlyRecord)
    }

    /// The batch is committed, in a transaction of this many milliseconds. Returns partitions that had been paused and work again.
    mutating func committed(after duration: Timestamp) -> [Int32] {
        count = 0
        if duration > Self.slow {
            batchLimit = max(1, min(batchLimit, batch.count) / 2)
        } else if duration < Self.slow / 2, batchLimit < maxBatch {
            batchLimit = min(maxBatch, batchLimit * 2)
        }
        if let record = batch.onlyRecord { cuts[record] = nil }
        for partition in batch.partitions { failuresAlone[partition] = nil }
        return batch.partitions.filter { pauses.removeValue(forKey: $0) != nil }
    }

    /// A transaction without commands is committed, so these partitions owe nothing any more. Returns those that had been paused
    /// for that and work again.
    mutating func wroteOwed(of partitions: [Int32]) -> [Int32] {
        guard batch.count == 0 else { return [] }
        return partitions.filter { pauses[$0]?.reason == .owing && pauses.removeValue(forKey: $0) != nil }
    }

    /// The transaction of the batch failed. Returns the partition that is paused for it, if any.
    mutating func failed(_ error: LogError, at now: Timestamp) -> PartitionFailure? {
        count += 1
        let refusal = error.subject.refusal
        // A smaller batch would not reduce the stock and notes that are due.
        let isOwed = batch.count == 0 || refusal?.topic == .stock
        if !isOwed { batchLimit = max(1, min(batchLimit, batch.count) / 2) }
        guard let refusal else {
            cuts = [:]
            guard let record = batch.onlyRecord, failedAlone(batch.partitions[0], at: now) else { return nil }
            pause(batch.partitions[0], .failing, at: now)
            return (batch.partitions[0], PartitionFault(.record(record.topic), at: record.offset, error.message))
        }
        guard isOwed || batch.count == 1 else { return nil }
        var partition = refusal.partition
        // Only forwards and dead letters have what a sender wrote. All else is small, so its refusal is the topic's fault.
        if let record = batch.onlyRecord, refusal.topic != .results, !isOwed {
            if cuts[record, default: []].insert(refusal.cut).inserted { return nil }
            cuts[record] = nil
            partition = batch.partitions[0]
        }
        pause(partition, isOwed ? .owing : .refused, at: now)
        return (partition, PartitionFault(.topic(refusal.topic), error.message))
    }

    /// The transaction with the claims to these partitions failed. The next one claims half as many, to isolate a partition that
    /// cannot be written to. Returns the partition that is paused for it, if any.
    mutating func claimsFailed(_ partitions: [Int32], _ error: LogError, at now: Timestamp) -> PartitionFailure? {
        count += 1
        cuts = [:]
        claimLimit = max(1, partitions.count / 2)
        let alone = partitions.count == 1 && failedAlone(partitions[0], at: now) ? partitions[0] : nil
        guard let failing = error.subject.refusal?.partition ?? alone else { return nil }
        pause(failing, .unclaimable, at: now)
        return (failing, PartitionFault(.journal, "claims to the partition fail: \(error.message)"))
    }

    /// All partitions but the paused ones are claimed. Those are retried one by one, so that they do not fail the claims of others.
    /// Likewise, records that a topic may still refuse are retried in batches of one.
    mutating func claimed(at now: Timestamp) {
        claimLimit = pauses.values.contains { $0.reason == .unclaimable } ? 1 : .max
        let isRetrying = pauses.contains { ($1.reason == .refused || $1.reason == .owing) && !isPaused($0, at: now) }
        if isRetrying { batchLimit = 1 }
    }

    /// Counts a failure that was not the batch's fault: outside a transaction, or because a connection broke. Smaller batches would
    /// only delay the backlog.
    mutating func failedElsewhere() { (count, cuts) = (count + 1, [:]) }

    /// Counts a failure that only this partition can have caused. Returns whether it has failed often and for long.
    private mutating func failedAlone(_ partition: Int32, at now: Timestamp) -> Bool {
        let former = failuresAlone[partition] ?? (count: 0, since: now)
        failuresAlone[partition] = (former.count + 1, former.since)
        return former.count + 1 >= Self.toleratedAlone.failures && now - former.since >= Self.toleratedAlone.time
    }

    // MARK: - Pauses

    /// Keeps a partition from being read for a while, longer each time. Returns whether it was working before.
    @discardableResult
    mutating func pause(_ partition: Int32, _ reason: PauseReason, at now: Timestamp) -> Bool {
        let former = pauses[partition]
        let (shortest, longest): (Timestamp, Timestamp) =
            switch reason {
            // An operator who has fixed the cause waits for the answers.
            case .failing, .unclaimable, .refused, .owing: (5_000, 60_000)
            // A new leader is elected within seconds, and asking for it costs the other partitions only a moment.
            case .leaderless: (1_000, 16_000)
            // Brokers end a transaction after `transaction.max.timeout.ms`, 15 minutes by default.
            case .undecided: (900_000, 900_000)
            case .deadly(let count, let turn):
                ((10_000 << Timestamp(min(max(count - Self.mostDeaths, 0), 5))) + Timestamp(turn) * 1_000, 0)
            }
        let duration = max(shortest, min(2 * (former?.duration ?? 0), longest))
        pauses[partition] = Pause(reason: reason, until: now + duration, duration: duration)
        return former == nil
    }

    /// Whether a partition is still paused.
    func isPaused(_ partition: Int32, at now: Timestamp) -> Bool {
        pauses[partition].map { now < $0.until } ?? false
    }

    /// Whether a partition must not be claimed now.
    func isUnclaimable(_ partition: Int32, at now: Timestamp) -> Bool {
        guard let reason = pauses[partition]?.reason, isPaused(partition, at: now) else { return false }
        return if case .deadly = reason { true } else { [.unclaimable, .undecided].contains(reason) }
    }

    /// The partitions that wait for another program's transaction.
    var undecided: [Int32] { pauses.filter { $0.value.reason == .undecided }.keys.sorted() }

    /// Another program's transaction has ended, so its partition can be taken over now.
    mutating func decided(_ partition: Int32, at now: Timestamp) {
        if pauses[partition]?.reason == .undecided { pauses[partition]?.until = now }
    }

    /// Whether a partition was paused and has not worked since.
    func isFailing(_ partition: Int32) -> Bool { pauses[partition] != nil }

    /// A partition is taken over, so it has a leader again and can be written to. Returns whether it was paused for that alone.
    mutating func tookOver(_ partition: Int32) -> Bool {
        guard let reason = pauses[partition]?.reason, [.leaderless, .unclaimable, .undecided].contains(reason) else { return false }
        stopped(partition)
        return true
    }

    /// Drops the pause of a stopped partition, so that its end does not cause a takeover.
    mutating func stopped(_ partition: Int32) { (pauses[partition], failuresAlone[partition]) = (nil, nil) }

    /// The group took the partitions back.
    mutating func forgetPartitions() { (pauses, failuresAlone, cuts) = ([:], [:], [:]) }
}

/// What to cut from a forwarded command or a dead letter.
struct Cut: OptionSet {
    let rawValue: Int

    /// If it is large: all headers of a command but those of traces, or all but the beginnings of a dead letter's key and value.
    static let contents = Cut(rawValue: 1)
    /// The time at which a command was sent.
    static let time = Cut(rawValue: 2)
}

extension LogError.Subject {
    /// The topic that refused a record, the record's partition, and what to cut from the record.
    fileprivate var refusal: (topic: Topic, partition: Int32, cut: Cut)? {
        switch self {
        case .record(let topic, let partition): (topic, partition, .contents)
        case .time(let topic, let partition): (topic, partition, .time)
        case .call, .connection, .setting, .right: nil
        }
    }
}
