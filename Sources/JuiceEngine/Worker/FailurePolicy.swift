import JuiceMessages

/// What follows from recent failures for the next batch.
///
/// A failed batch is halved, down to one record, and doubled again on success. So a backlog larger than what the network carries
/// within a transaction's timeout still gets through, and a single record that cannot be answered is found. "After a failure" in
/// docs/JOURNAL.md says what becomes of that, and of a record that the log refuses.
struct FailurePolicy {
    /// Why a partition is paused.
    enum PauseReason: Equatable {
        /// The transactions of its single records fail.
        case failing
        /// A topic refuses whatever is written for a record.
        case refused
        /// A topic refuses what is owed to it.
        case owing
        /// It has no leader. It works again as soon as it has one.
        case leaderless
        /// Claims to it fail.
        case unclaimable
        /// Another program's transaction is open in it. It is watched, and ends the pause.
        case undecided
        /// So many processes that took it over ended before they handled anything. Each process tries its partitions in other
        /// turns, from 0 to 15, so that each gets its own before that which ends them.
        case deadly(processes: Int, turn: Int)
    }

    private struct Pause {
        let reason: PauseReason
        let since: Timestamp
        let until: Timestamp
        let duration: Timestamp
    }

    /// What is known of a record that the log refused.
    private struct Refusal {
        var fallback = Fallback.none
        /// The partition of a topic to probe first; nil if the record's next transaction is an ordinary one.
        var suspect: (topic: Topic, partition: Int32)?
    }

    private let maxBatch: Int
    /// How many partitions stores live in.
    private let partitionCount: Int32
    /// The most commands in the next transaction.
    private(set) var batchLimit: Int
    /// The most partitions to claim in one transaction.
    private(set) var claimLimit = Int.max
    /// Failures since the last transaction that committed a command.
    private(set) var count = 0
    /// The open transaction's batch, with the partitions that stores live in.
    private var batch: (partitions: [Int32], count: Int, onlyRecord: InputPosition?) = ([], 0, nil)
    private var refusals: [InputPosition: Refusal] = [:]
    /// Whether what is owed is to be written in a transaction of its own first.
    private(set) var owesFirst = false
    /// Whether the open transaction has both commands and what was owed before them.
    private var isMixed = false
    /// Whether the topic that is suspected took the open transaction's probe.
    private var isProbed = false
    /// How often in a row each partition's single record, or the claim to it, failed, and since when.
    private var failuresAlone: [Int32: (count: Int, since: Timestamp)] = [:]
    private var pauses: [Int32: Pause] = [:]

    /// A transaction that took longer than this, in milliseconds, came close to its timeout: the service sets that to 10 s.
    private static let slow: Timestamp = 5_000
    /// How often and for how long a single record fails before its partition is paused.
    private static let toleratedAlone = (failures: 3, time: Timestamp(10_000))
    /// The shortest and the longest pause of a failing partition. Each pause is twice as long as the one before.
    private static let pause: ClosedRange<Timestamp> = 5_000...300_000
    /// The same of a partition for which a topic refuses records. An operator who has set that right waits for the answers.
    private static let pauseWhileRefused: ClosedRange<Timestamp> = 5_000...60_000
    /// The same of a partition without a leader. A new leader is elected within seconds, and asking for it costs the other
    /// partitions only a moment. So a pause is a quarter of the time that the partition has been without one.
    private static let pauseWithoutLeader: ClosedRange<Timestamp> = 1_000...20_000

    /// The same of a partition whose owners end, by how many have.
    private static func pause(afterDeaths count: Int) -> Timestamp { 10_000 << Timestamp(min(max(count - mostDeaths, 0), 5)) }
    /// After this many, a partition is paused before it is read.
    static let mostDeaths = 4

    /// Brokers end a transaction after `transaction.max.timeout.ms`, 15 minutes by default.
    private static let longestUndecided: Timestamp = 900_000

    init(maxBatch: Int, partitionCount: Int32 = .max) {
        (self.maxBatch, batchLimit, self.partitionCount) = (maxBatch, maxBatch, partitionCount)
    }

    private var refusal: Refusal { batch.onlyRecord.flatMap { refusals[$0] } ?? Refusal() }
    var fallback: Fallback { refusal.fallback }
    /// Where to write a probe first; nil unless the open transaction is a trial.
    var suspect: (topic: Topic, partition: Int32)? { refusal.suspect }

    /// Whether the transaction of a batch will be a trial.
    func isSuspected(_ batch: Batch) -> Bool { batch.onlyRecord.map { refusals[$0]?.suspect != nil } ?? false }

    /// Starts the transaction of a batch; of an empty one for what is owed.
    mutating func began(_ batch: Batch) {
        self.batch = (batch.partitions.map { $0 % partitionCount }, batch.count, batch.onlyRecord)
        (isMixed, isProbed) = (false, false)
    }

    /// The open transaction is about to get something that was owed before its batch.
    mutating func writesOwed() { isMixed = batch.count > 0 }

    /// The suspected topic took the probe.
    mutating func probed() { isProbed = true }

    /// The batch is committed, in a transaction of this many milliseconds. Returns partitions that had been paused and work again.
    mutating func committed(after duration: Timestamp) -> [Int32] {
        count = 0
        if duration > Self.slow {
            batchLimit = max(1, min(batchLimit, batch.count) / 2)
        } else if duration < Self.slow / 2, batchLimit < maxBatch {
            batchLimit = min(maxBatch, batchLimit * 2)
        }
        if let record = batch.onlyRecord { refusals[record] = nil }
        for partition in batch.partitions { failuresAlone[partition] = nil }
        return batch.partitions.filter { pauses.removeValue(forKey: $0) != nil }
    }

    /// A transaction without commands is committed, so these partitions owe nothing any more. Returns those that had been paused
    /// for that and work again.
    mutating func wroteOwed(of partitions: [Int32]) -> [Int32] {
        guard batch.count == 0 else { return [] }
        owesFirst = false
        return partitions.filter { pauses[$0]?.reason == .owing && pauses.removeValue(forKey: $0) != nil }
    }

    /// The transaction of the batch failed. Returns the partition that is paused for it, if any.
    mutating func failed(_ error: LogError, at now: Timestamp) -> PartitionFailure? {
        count += 1
        guard batch.count > 0 else {
            guard case .record(let topic, let partition) = error.subject else { return nil }
            pause(partition, .owing, at: now)
            return (partition, PartitionFault(.topic(topic), error.message))
        }
        batchLimit = max(1, min(batchLimit, batch.count) / 2)
        guard case .record(let topic, let partition) = error.subject else {
            refusals = [:]
            guard let record = batch.onlyRecord, failedAlone(batch.partitions[0], at: now) else { return nil }
            pause(batch.partitions[0], .failing, at: now)
            return (batch.partitions[0], PartitionFault(.record(record.topic), at: record.offset, error.message))
        }
        owesFirst = owesFirst || isMixed
        guard !isMixed, let record = batch.onlyRecord else { return nil }
        // It is the cause only if that shows in a trial, whose probe the topic took.
        guard let suspect, suspect.topic == topic || !isProbed else {
            refusals[record] = Refusal(fallback: fallback, suspect: (topic, partition))
            return nil
        }
        if isProbed, let next = fallback.next(refusedBy: topic) {
            refusals[record] = Refusal(fallback: next)
            return nil
        }
        refusals[record] = nil
        pause(batch.partitions[0], .refused, at: now)
        return (batch.partitions[0], PartitionFault(.topic(topic), error.message))
    }

    /// The transaction with the claims to these partitions failed. The next one claims half as many, so that one that cannot be
    /// written to is found. Returns the partition that is paused for it, if any.
    mutating func claimsFailed(_ partitions: [Int32], _ error: LogError, at now: Timestamp) -> PartitionFailure? {
        count += 1
        refusals = [:]
        claimLimit = max(1, partitions.count / 2)
        var failing: Int32?
        if case .record(_, let partition) = error.subject { failing = partition }
        if failing == nil, partitions.count == 1, failedAlone(partitions[0], at: now) { failing = partitions[0] }
        guard let failing else { return nil }
        pause(failing, .unclaimable, at: now)
        return (failing, PartitionFault(.journal, "claims to the partition fail: \(error.message)"))
    }

    /// The partitions are claimed, but for those that are paused. These are tried one by one, so that they fail no others' claims.
    /// Nor do records that a topic may still refuse fail large batches.
    mutating func claimed(at now: Timestamp) {
        claimLimit = pauses.values.contains { $0.reason == .unclaimable } ? 1 : .max
        let isRetrying = pauses.contains { ($1.reason == .refused || $1.reason == .owing) && !isPaused($0, at: now) }
        if isRetrying { (batchLimit, owesFirst) = (1, true) }
    }

    /// Something failed that was not the batch's fault, outside a transaction or because a connection broke. Smaller batches would
    /// only delay what has piled up meanwhile.
    mutating func failedElsewhere() { (count, refusals) = (count + 1, [:]) }

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
        let since = former?.since ?? now
        let (bounds, next) =
            switch reason {
            case .failing, .unclaimable: (Self.pause, former.map { $0.duration * 2 })
            case .refused, .owing: (Self.pauseWhileRefused, former.map { $0.duration * 2 })
            case .leaderless: (Self.pauseWithoutLeader, former.map { _ in (now - since) / 4 })
            case .undecided: (Self.longestUndecided...Self.longestUndecided, nil)
            case .deadly(let count, let turn): (0 ... .max, Self.pause(afterDeaths: count) + Timestamp(turn) * 1_000)
            }
        let duration = min(max(next ?? 0, bounds.lowerBound), bounds.upperBound)
        pauses[partition] = Pause(reason: reason, since: since, until: now + duration, duration: duration)
        return former == nil
    }

    /// Whether a partition's pause is not over.
    func isPaused(_ partition: Int32, at now: Timestamp) -> Bool {
        pauses[partition].map { now < $0.until } ?? false
    }

    /// Whether a partition is not to be claimed now.
    func isUnclaimable(_ partition: Int32, at now: Timestamp) -> Bool {
        guard let reason = pauses[partition]?.reason, isPaused(partition, at: now) else { return false }
        return if case .deadly = reason { true } else { [.unclaimable, .undecided].contains(reason) }
    }

    /// The partitions that wait for another program's transaction.
    var undecided: [Int32] { pauses.filter { $0.value.reason == .undecided }.keys.sorted() }

    /// Another program's transaction has ended. Its partition is taken over now.
    mutating func decided(_ partition: Int32, at now: Timestamp) {
        if let pause = pauses[partition], pause.reason == .undecided {
            pauses[partition] = Pause(reason: pause.reason, since: pause.since, until: now, duration: pause.duration)
        }
    }

    /// Whether a partition was paused and has not worked since.
    func isFailing(_ partition: Int32) -> Bool { pauses[partition] != nil }

    /// A partition is taken over, so it has a leader again and can be written to. Returns whether it was paused for that alone.
    mutating func tookOver(_ partition: Int32) -> Bool {
        guard let reason = pauses[partition]?.reason, [.leaderless, .unclaimable, .undecided].contains(reason) else { return false }
        stopped(partition)
        return true
    }

    /// A partition is stopped. The end of its pause must not have it taken over again.
    mutating func stopped(_ partition: Int32) { (pauses[partition], failuresAlone[partition]) = (nil, nil) }

    /// The group took the partitions back.
    mutating func forgetPartitions() { (pauses, failuresAlone, refusals) = ([:], [:], [:]) }
}

/// What is written for a record instead of what should be: less each time the log refuses it.
enum Fallback: Int {
    /// All: its answer with the trace headers, or the whole record if it is forwarded or a dead letter.
    case none
    /// The answer without headers, a forwarded command with the trace headers only, a dead letter with the beginnings of key and
    /// value.
    case withoutHeaders
    /// A dead letter in place of the answer: whole, with the beginnings of key and value, or only why and where from.
    case deadLetter, truncatedDeadLetter, emptyDeadLetter

    var isDeadLetter: Bool { rawValue >= Self.deadLetter.rawValue }
    var isTruncated: Bool { rawValue >= Self.truncatedDeadLetter.rawValue }

    /// What to write once a topic has refused a record of this; nil if there is nothing less.
    func next(refusedBy topic: Topic) -> Fallback? {
        switch self {
        case _ where topic == .deadLetters && !isTruncated: .truncatedDeadLetter
        case .none: .withoutHeaders
        case .withoutHeaders: .deadLetter
        case .truncatedDeadLetter where topic == .deadLetters: .emptyDeadLetter
        case .deadLetter, .truncatedDeadLetter, .emptyDeadLetter: nil
        }
    }
}
