import Foundation
import JuiceEngine
import Kafka

/// Waits until the transactions on restored partitions are decided, and ends those whose owner must be dead.
///
/// The metadata of every committed offset names the transactional ids of the worker that committed it, so it is known whose
/// transaction may be open.
struct UndecidedTransactions {
    private let configuration: ServiceConfiguration
    private let partitionCount: Int32
    /// Gets an answer about offsets only once no open transaction includes them.
    private let group: Consumer
    /// Sees past undecided transactions.
    private let logEnds: Consumer
    private var takeover: TransactionTakeover
    /// The transactional ids of the worker that restores.
    private let ownIDs: Set<String>
    private let ownPrefix: String
    /// The ids of the workers that committed last, and the ids they may have moved on to.
    private var suspects: Set<String> = []
    /// How long a transaction may stay undecided before its owner is assumed dead.
    private var decisionTimeout = Duration.zero

    /// A live owner decides its transaction within this time, plus the time the cluster takes to answer.
    private static let leastDecisionTimeout = Duration.milliseconds(200)

    /// - Parameters:
    ///   - worker: the worker that restores.
    ///   - ownIDs: its transactional ids.
    ///   - partitionCount: the number of partitions that stores live in.
    ///   - group: the worker's member of the group.
    ///   - logEnds: a consumer that sees past undecided transactions.
    init(
        configuration: ServiceConfiguration,
        worker: Int,
        ownIDs: [String],
        partitionCount: Int32,
        group: Consumer,
        logEnds: Consumer,
        hooks: ClientHooks
    ) {
        self.configuration = configuration
        self.partitionCount = partitionCount
        self.group = group
        self.logEnds = logEnds
        self.ownIDs = Set(ownIDs)
        ownPrefix = configuration.ownerName(worker: worker) + "/"
        takeover = TransactionTakeover(logger: hooks.logger) { id throws(KafkaError) in
            try TransactionalProducer(configuration: configuration.producer(id: id), hooks: hooks)
        }
    }

    /// The committed offset of each input partition, once no transaction is undecided about it.
    ///
    /// - Parameter timeout: how long to wait for each answer of the cluster.
    mutating func committedOffsets(
        of inputs: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: Offset?] {
        let owners = try owners(of: inputs, timeout: timeout)
        // Asked again now that the client is connected, to measure how long the group's consumer should wait.
        let start = ContinuousClock.now
        _ = try self.owners(of: inputs, timeout: timeout)
        decisionTimeout = Self.leastDecisionTimeout + (ContinuousClock.now - start) * 3

        let notes = inputs.compactMap { owners[$0] }
        let known = Set(notes.flatMap(\.transactionalIDs))
        suspects = known.union(notes.flatMap(\.nextTransactionalIDs))
        // An earlier run of this very worker is certainly dead.
        endTransactions(of: known.filter { $0.hasPrefix(ownPrefix) })
        do throws(KafkaError) {
            return try group.committed(inputs, timeout: decisionTimeout)
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        endTransactions(of: suspects)
        return try group.committed(inputs, timeout: timeout)
    }

    /// Waits until everything below the given ends is decided. A transaction that has written answers or stock but has not
    /// sent offsets yet shows only in the changelogs.
    mutating func waitUntilDecided(
        _ changelogs: [TopicPartition],
        in logs: [TopicPartition: Watermarks],
        timeout: Duration
    ) throws(KafkaError) {
        let start = ContinuousClock.now
        while true {
            let stable = try group.endOffsets(of: changelogs, timeout: timeout)
            let undecided = changelogs.first { stable[$0, default: 0] < logs[$0]?.high ?? 0 }
            guard let undecided else { return }
            let waited = ContinuousClock.now - start
            if waited > decisionTimeout { endTransactions(of: suspects) }
            guard waited < decisionTimeout + timeout else {
                throw KafkaError(
                    code: .timedOut,
                    message: "\(undecided): somebody's transaction is undecided",
                    isRetriable: true
                )
            }
            // No broker announces a decision, so the ends are polled.
            Thread.sleep(forTimeInterval: 0.01)
        }
    }

    /// The workers that committed last for these input partitions and for all that stores live in.
    ///
    /// - Throws: ``KafkaError``, also if one of them counted the stores' partitions differently: the stores would be split.
    private func owners(
        of inputs: [TopicPartition],
        timeout: Duration
    ) throws(KafkaError) -> [TopicPartition: CommitMetadata] {
        let all = configuration.topics.inputs.flatMap { TopicPartition.list(0..<partitionCount, of: $0) }
        let committed = try CommittedMetadata(of: Array(Set(all + inputs)), from: logEnds, timeout: timeout)
        guard committed.partitionCount ?? partitionCount == partitionCount else {
            throw KafkaError(
                code: .invalidPartitions,
                message:
                    "stores live in \(committed.partitionCount ?? 0) partitions, which this instance took to be"
                    + " \(partitionCount). Start it again"
            )
        }
        return committed.byPartition
    }

    private mutating func endTransactions(of ids: Set<String>) {
        takeover.endTransactions(
            of: ids.filter { !ownIDs.contains($0) && $0.hasPrefix(configuration.ownerPrefix) }
        )
    }
}
