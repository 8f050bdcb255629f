/// Keeps other producers from writing anything more: takes over their transactional ids with passing clients.
///
/// What was open under an id is aborted, and brokers refuse whatever its owner sends from then on. The owner can only begin again
/// with a new client. It belongs to one thread.
public final class ProducerFence {
    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    private let decisionTimeout: Duration
    private var fenced: Set<String> = []
    /// The clients that ask for the ids not fenced yet.
    private var asking: [TransactionalProducer] = []

    /// Each client has threads and connections of its own, so only so many ask at the same time.
    private static let mostClients = 24

    /// A fence that has fenced no id yet.
    ///
    /// - Parameters:
    ///   - configuration: of the passing clients. Their `transaction.timeout.ms` stays with the id until its owner is back.
    ///   - hooks: receives what no call returns.
    ///   - decisionTimeout: how long to wait for an id while the coordinator cannot end the transaction left open under it.
    public init(configuration: KafkaConfiguration, hooks: ClientHooks, decisionTimeout: Duration = .seconds(1)) {
        (self.configuration, self.hooks) = (configuration, hooks)
        self.decisionTimeout = decisionTimeout
    }

    /// Fences the producers of these ids, except those that an earlier call has fenced.
    ///
    /// - Returns: the ids whose transaction the coordinator cannot end now, for example because one of its partitions has no
    ///   leader. Their owners may go on once it can. Empty if all are fenced.
    /// - Throws: ``KafkaError``, with ``KafkaError/Remedy/retry`` once the time is over: the same call then goes on.
    @discardableResult
    public func fence(_ ids: Set<String>, timeout: Duration) throws(KafkaError) -> Set<String> {
        let deadline = ContinuousClock.now + timeout
        asking.removeAll { !ids.contains($0.transactionalID) }
        var undecided: Set<String> = []
        while true {
            let known = fenced.union(undecided).union(asking.map(\.transactionalID))
            let room = max(0, Self.mostClients - asking.count)
            for id in ids.subtracting(known).sorted().prefix(room) {
                asking.append(
                    try TransactionalProducer(id: id, configuration: configuration, hooks: hooks, decisionTimeout: decisionTimeout))
            }
            guard !asking.isEmpty else { return undecided }
            defer { for producer in asking { producer.poll() } }
            do throws(KafkaError) {
                try TransactionalProducer.takeOverIDs(of: asking, timeout: deadline - .now)
            } catch {
                if error.remedy != .retry { asking = [] }
                throw error
            }
            for producer in asking {
                if producer.isReady { fenced.insert(producer.transactionalID) } else { undecided.insert(producer.transactionalID) }
            }
            asking = []
        }
    }
}
