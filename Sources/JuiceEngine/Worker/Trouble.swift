/// Recent failures, and what follows from them for the next batch.
///
/// A failed batch is halved, down to one record, and doubled again on success. So a backlog larger than what the network
/// carries within a transaction's timeout shrinks all the same, and a single record that cannot be answered is found. If the
/// log refuses that record, each attempt writes less of what is optional. If its transactions fail for other reasons, its
/// partition is set aside for a while, so that the others are read on. A lost connection is no fault of the batch.
struct Trouble {
    /// What is written for a record: less each time the log refuses it.
    enum Treatment: Int {
        /// Its answer with the trace headers, or the whole record if it is forwarded or a dead letter.
        case whole
        /// The answer without headers, a forwarded command with the trace headers only, a dead letter with the beginnings of
        /// key and value.
        case bare
        /// A dead letter in place of the answer, whole.
        case deadLetter
        /// A dead letter with the beginnings of key and value.
        case truncated
        /// A dead letter that only says why and where from.
        case reasonOnly
    }

    /// Why a partition is set aside.
    enum AsideReason {
        /// The transactions of its single records fail.
        case failing
        /// It has no leader. It works again as soon as it has one.
        case leaderless
        /// Claims to it fail.
        case unclaimable
    }

    /// A partition that is not read for a while.
    private struct Aside {
        let reason: AsideReason
        let since: Timestamp
        let until: Timestamp
        let pause: Timestamp
    }

    private let maxBatch: Int
    /// The most commands in the next transaction.
    private(set) var limit: Int
    /// The most partitions to claim in one transaction.
    private(set) var claimLimit = Int.max
    /// Failures since the last transaction that committed a command.
    private(set) var failures = 0
    private var batch: (partitions: [Int32], count: Int, lone: InputPosition?) = ([], 0, nil)
    private var treatments: [InputPosition: Treatment] = [:]
    /// How often in a row each partition's single record failed, and since when.
    private var failuresAlone: [Int32: (count: Int, since: Timestamp)] = [:]
    private var aside: [Int32: Aside] = [:]

    /// A transaction that took longer than this, in milliseconds, came close to its timeout: the service sets that to 10 s.
    private static let slow: Timestamp = 5_000
    /// How often and for how long a single record fails before its partition is set aside.
    private static let toleratedAlone = (failures: 3, time: Timestamp(10_000))
    /// The shortest and the longest pause of a failing partition. Each pause is twice as long as the one before.
    private static let pause: ClosedRange<Timestamp> = 5_000...300_000
    /// The same of a partition without a leader. A new leader is elected within seconds, and asking for it costs the other
    /// partitions only a moment. So a pause is a quarter of the time that the partition has been without one.
    private static let pauseWithoutLeader: ClosedRange<Timestamp> = 1_000...20_000

    init(maxBatch: Int) {
        self.maxBatch = maxBatch
        limit = maxBatch
    }

    /// What to write for the records of the batch.
    var treatment: Treatment { batch.lone.flatMap { treatments[$0] } ?? .whole }

    /// Starts the transaction of a batch.
    mutating func began(_ batch: Batch) { self.batch = (batch.partitions, batch.count, batch.lone) }

    /// The batch is committed.
    ///
    /// - Parameter duration: how long the transaction took, in milliseconds.
    /// - Returns: partitions that had been set aside and work again.
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

    /// The transaction of the batch failed.
    ///
    /// - Returns: the partition that is set aside for it, if any, and why.
    mutating func failed(_ error: LogError, at now: Timestamp) -> (partition: Int32, fault: PartitionFault)? {
        failures += 1
        guard batch.count > 0 else { return nil }
        limit = max(1, min(limit, batch.count) / 2)
        guard let lone = batch.lone else { return nil }
        let treatment = treatments[lone] ?? .whole
        if error.subject == .record, let next = Treatment(rawValue: treatment.rawValue + 1) {
            treatments[lone] = next
            return nil
        }
        guard failedAlone(lone.partition, at: now) else { return nil }
        setAside(lone.partition, .failing, at: now)
        return (lone.partition, PartitionFault(.record(lone.topic), at: lone.offset, error.message))
    }

    /// The transaction with the claims to these partitions failed. The next one claims half as many, so that one that cannot be
    /// written to is found.
    ///
    /// - Returns: the partition that is set aside for it, if any, and why.
    mutating func claimsFailed(_ partitions: [Int32], _ error: LogError, at now: Timestamp) -> (
        partition: Int32, fault: PartitionFault
    )? {
        failures += 1
        claimLimit = max(1, partitions.count / 2)
        guard partitions.count == 1, failedAlone(partitions[0], at: now) else { return nil }
        setAside(partitions[0], .unclaimable, at: now)
        return (partitions[0], PartitionFault(.journal, "claims to the partition fail: \(error.message)"))
    }

    /// The partitions are claimed, but for those set aside. These are tried one by one, so as not to fail the claims to others.
    mutating func claimed() { claimLimit = aside.values.contains { $0.reason == .unclaimable } ? 1 : .max }

    /// Counts a failure that only this partition can have caused.
    ///
    /// - Returns: whether it has failed often and for long.
    private mutating func failedAlone(_ partition: Int32, at now: Timestamp) -> Bool {
        failuresAlone[partition, default: (0, now)].count += 1
        guard let row = failuresAlone[partition] else { return false }
        return row.count >= Self.toleratedAlone.failures && now - row.since >= Self.toleratedAlone.time
    }

    /// Something failed that was not the batch's fault, outside a transaction or because a connection broke. Smaller batches
    /// would only delay what has piled up meanwhile.
    mutating func failedForOtherReasons() { failures += 1 }

    /// Keeps a partition from being read for a while, longer each time.
    ///
    /// - Returns: whether it was working before.
    @discardableResult
    mutating func setAside(_ partition: Int32, _ reason: AsideReason, at now: Timestamp) -> Bool {
        let former = aside[partition]
        let since = former?.since ?? now
        let (bounds, next) =
            switch reason {
            case .failing, .unclaimable: (Self.pause, former.map { $0.pause * 2 })
            case .leaderless: (Self.pauseWithoutLeader, former.map { _ in (now - since) / 4 })
            }
        let pause = min(max(next ?? 0, bounds.lowerBound), bounds.upperBound)
        aside[partition] = Aside(reason: reason, since: since, until: now + pause, pause: pause)
        return former == nil
    }

    /// Whether a partition's pause is not over.
    func isAside(_ partition: Int32, at now: Timestamp) -> Bool {
        // A clock that was set back must not prolong the pause.
        aside[partition].map { now < $0.until && now + $0.pause >= $0.until } ?? false
    }

    /// Whether a partition is not to be claimed now.
    func isUnclaimable(_ partition: Int32, at now: Timestamp) -> Bool {
        aside[partition]?.reason == .unclaimable && isAside(partition, at: now)
    }

    /// Whether a partition was set aside and has not worked since.
    func isFailing(_ partition: Int32) -> Bool { aside[partition] != nil }

    /// A partition is taken over, so it has a leader again and can be written to.
    ///
    /// - Returns: whether that was all that it was set aside for.
    mutating func restored(_ partition: Int32) -> Bool {
        guard let reason = aside[partition]?.reason, reason != .failing else { return false }
        (aside[partition], failuresAlone[partition]) = (nil, nil)
        return true
    }

    /// The group took the partitions back.
    mutating func forgetPartitions() {
        aside = [:]
        failuresAlone = [:]
        treatments = [:]
    }
}
