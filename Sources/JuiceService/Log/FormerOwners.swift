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

    init(configuration: ServiceConfiguration, ownName: String, hooks: ClientHooks) {
        self.configuration = configuration
        self.ownName = ownName
        self.hooks = hooks
    }

    /// Begins to end what these workers have left open, each of them once.
    mutating func endTransactions(of owners: Set<String>) {
        let others = owners.filter {
            $0 != ownName && $0.hasPrefix(configuration.ownerPrefix) && successors[$0] == nil
        }
        for owner in others.sorted() {
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
            // The first request of its kind ends the transaction; its outcome is seen by the log becoming stable.
            _ = try? producer.initTransactions(timeout: .milliseconds(1))
            return producer
        } catch {
            hooks.logger.debug("\(error)")
            return nil
        }
    }
}
