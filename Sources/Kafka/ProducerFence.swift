import Dispatch

/// Keeps other producers from writing anything more: takes over their transactional ids with short-lived clients.
///
/// Brokers abort what was open under an id, and refuse whatever its owner sends until it begins again with a new client. A fence
/// belongs to one thread.
package final class ProducerFence {
    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    private var fenced: Set<String> = []
    /// The clients that are taking over ids not fenced yet.
    private var asking: [TransactionalProducer] = []
    /// Left by each client that has ended.
    private let ends = DispatchGroup()

    /// How many clients may ask at the same time. Each has two connections, which brokers may limit. A second one asks once a
    /// coordinator takes longer than `patience`.
    private var limit = 1
    private static let mostClients = 2
    private static let patience = Duration.milliseconds(100)

    /// A fence that holds no id yet. Each fenced id keeps the configuration's `transaction.timeout.ms` until its owner is back.
    package init(configuration: KafkaConfiguration, hooks: ClientHooks) {
        (self.configuration, self.hooks) = (configuration, hooks)
    }

    /// Fences the producers of these ids, except those that an earlier call has fenced.
    ///
    /// - Returns: the ids whose transaction the coordinator cannot end now. Their owners may go on once it can. Empty if all are
    ///   fenced.
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` once the time is over: the same call then goes on.
    @discardableResult
    package func fence(_ ids: Set<String>, timeout: Duration) throws(KafkaError) -> Set<String> {
        let deadline = ContinuousClock.now + timeout
        asking.removeAll { !ids.contains($0.transactionalID) }
        var undecided: Set<String> = []
        while true {
            let known = fenced.union(undecided).union(asking.map(\.transactionalID))
            for id in ids.subtracting(known).sorted().prefix(max(0, limit - asking.count)) {
                // Its connections replace those of a client that is ending.
                ends.hasEnded(within: .milliseconds(100))
                asking.append(
                    try TransactionalProducer(
                        id: id, configuration: configuration, hooks: hooks, decisionTimeout: TransactionSession.decisionTimeout,
                        ends: ends))
            }
            guard !asking.isEmpty else { return undecided }
            var failure: KafkaError?
            do throws(KafkaError) {
                try TransactionalProducer.takeOverIDs(of: asking, timeout: min(deadline - .now, Self.patience))
            } catch {
                if error.remedy != .retry { asking = [] }
                guard error.remedy == .retry else { throw error }
                (failure, limit) = (error, min(limit + 1, Self.mostClients))
            }
            for producer in asking {
                if producer.isReady { fenced.insert(producer.transactionalID) }
                if producer.isUndecided { undecided.insert(producer.transactionalID) }
                producer.handle.poll(timeout: .zero)
            }
            asking.removeAll { $0.isReady || $0.isUndecided }
            if let failure, ContinuousClock.now >= deadline { throw failure }
        }
    }
}
