import Kafka
import Logging

/// Ends the transactions that dead instances left open.
///
/// As long as such a transaction is undecided, its partitions cannot be restored, and the broker gives it up only after
/// the transaction timeout and the interval at which it looks, some 20 s. But taking over a transactional id ends what
/// is open under it at once. Every committed offset carries a note of whose it is, so the successor knows whose to take
/// over. An instance that is not dead but only paused finds itself fenced when it wakes, and starts over.
struct FormerOwners {
    private let configuration: ServiceConfiguration
    private let ownName: String
    private let hooks: ClientHooks
    /// Those that take over, by the former owner's name. They work in the background for as long as they are kept.
    private var successors: [String: [TransactionalProducer]] = [:]

    init(configuration: ServiceConfiguration, worker: Int, hooks: ClientHooks) {
        self.configuration = configuration
        ownName = configuration.ownerName(worker: worker)
        self.hooks = hooks
    }

    /// Begins to end what the last to commit these partitions' offsets have left open, each of them once.
    ///
    /// - Parameter consumer: sees committed offsets also while a transaction is undecided about them. That it answers
    ///   where the group's consumer does not is what tells such a transaction from a slow broker.
    mutating func endTransactions(
        of partitions: [TopicPartition],
        askedOf consumer: Consumer,
        timeout: Duration
    ) {
        guard let notes = try? consumer.committedNotes(partitions, timeout: timeout) else { return }
        let owners = Set(notes.values).filter {
            $0 != ownName && $0.hasPrefix(configuration.ownerPrefix) && successors[$0] == nil
        }
        for owner in owners.sorted() {
            hooks.logger.info("ending the transaction that \(owner) has left open")
            successors[owner] = ServiceConfiguration.turns.compactMap { successor(of: owner, turn: $0) }
        }
    }

    private func successor(of owner: String, turn: Int) -> TransactionalProducer? {
        do throws(KafkaError) {
            let producer = try TransactionalProducer(
                configuration: configuration.producer(owner: owner, turn: turn),
                hooks: hooks
            )
            // The first request of its kind ends the transaction; its outcome is seen by the offsets becoming stable.
            _ = try? producer.initTransactions(timeout: .milliseconds(1))
            return producer
        } catch {
            hooks.logger.debug("\(error)")
            return nil
        }
    }
}
