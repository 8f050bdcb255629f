import Kafka

/// Ends the transactions that dead bots left open, by taking over their transactional ids: otherwise the service could read no
/// restock of those partitions, and no other bot go on, until the broker gives the transaction up after some 20 s.
///
/// Whose it may be says the note at the committed offsets. A bot that is not dead but only paused finds itself fenced.
final class FormerBots {
    private let clients: BotClients
    private let ownName: String
    /// Those that take over, by the former bot's name. They work in the background for as long as they are kept.
    private var successors: [String: TransactionalProducer] = [:]

    init(_ clients: BotClients, ownName: String) {
        self.clients = clients
        self.ownName = ownName
    }

    /// Begins to end what these bots have left open, each of them once.
    func endTransactions(of names: Set<String>) {
        for name in names.sorted()
        where name != ownName && name.hasPrefix("\(clients.plan.group)/") && successors[name] == nil {
            clients.logger.info("ending the transaction that \(name) has left open")
            guard let successor = try? clients.producer(id: name) else { continue }
            // The first request of its kind ends the transaction; its outcome is seen by the log becoming stable.
            _ = try? successor.initTransactions(timeout: .milliseconds(1))
            successors[name] = successor
        }
    }
}
