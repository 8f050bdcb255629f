import Logging

/// Ends the transactions that dead processes left open.
///
/// As long as such a transaction is undecided, its partitions cannot be restored, and the broker gives it up only after
/// the transaction timeout and the interval at which it looks, some 20 s. But taking over a transactional id ends what
/// is open under it at once. A process that is not dead but only paused finds itself fenced when it wakes, and starts over.
public struct TransactionTakeover {
    private let logger: Logger
    private let producer: (_ id: String) throws(KafkaError) -> TransactionalProducer
    /// Those that take over, by transactional id. They work in the background for as long as they are kept.
    private var successors: [String: TransactionalProducer] = [:]
    private var tried: Set<String> = []

    /// Takes over nothing yet. `producer` makes a producer of a transactional id.
    public init(
        logger: Logger,
        producer: @escaping (_ id: String) throws(KafkaError) -> TransactionalProducer
    ) {
        self.logger = logger
        self.producer = producer
    }

    /// Begins to end what is open under these transactional ids, each of them once.
    public mutating func endTransactions(of ids: Set<String>) {
        for id in ids.sorted() where tried.insert(id).inserted {
            logger.info("ending the transaction that \(id) may have left open")
            do throws(KafkaError) {
                let successor = try producer(id)
                // The first request of its kind ends the transaction; its outcome is seen by the log becoming stable.
                _ = try? successor.initTransactions(timeout: .milliseconds(1))
                successors[id] = successor
            } catch {
                logger.debug("\(error)")
            }
        }
    }
}
