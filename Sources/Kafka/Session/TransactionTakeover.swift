import Logging

/// Ends the transactions that dead processes have left open.
///
/// While such a transaction is undecided, its partitions cannot be restored, and the broker aborts it only after the
/// transaction timeout plus its check interval, some 20 s. Taking over the transactional id ends it at once. If the process
/// was only paused, it finds itself fenced when it wakes, and starts over.
public struct TransactionTakeover {
    private let logger: Logger
    private let producer: (_ id: String) throws(KafkaError) -> TransactionalProducer
    /// The producers that take over, by transactional id. They work in the background as long as they exist.
    private var successors: [String: TransactionalProducer] = [:]
    private var tried: Set<String> = []

    /// A takeover that has tried no id yet.
    ///
    /// - Parameters:
    ///   - logger: receives a line for each id that is taken over.
    ///   - producer: makes a producer with the given transactional id.
    public init(
        logger: Logger,
        producer: @escaping (_ id: String) throws(KafkaError) -> TransactionalProducer
    ) {
        self.logger = logger
        self.producer = producer
    }

    /// Begins to end the transactions under these ids, unless it has done so before.
    public mutating func endTransactions(of ids: Set<String>) {
        for id in ids.sorted() where tried.insert(id).inserted {
            logger.info("ending the transaction that \(id) may have left open")
            do throws(KafkaError) {
                let successor = try producer(id)
                // The first request ends the transaction; its outcome shows when the log becomes stable.
                _ = try? successor.initTransactions(timeout: .milliseconds(1))
                successors[id] = successor
            } catch {
                logger.debug("\(error)")
            }
        }
    }
}
