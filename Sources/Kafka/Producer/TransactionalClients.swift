/// The librdkafka clients of one ``TransactionalProducer``: the current one, and earlier ones whose work is not over.
///
/// It also decides which of several transactional ids the current client uses, and connects the topics to that client.
struct TransactionalClients {
    /// Nil once the client was dropped, until ``takeOverID(timeout:)`` makes the next.
    var current: TransactionalClient?
    /// The topics to connect to each new client.
    private(set) var topics: [TransactionalTopic] = []

    private let configuration: KafkaConfiguration
    private let hooks: ClientHooks
    private let decisionTimeout: Duration?
    /// Which transactional id is in use: 0 is the configured one, others have this number appended.
    private var generation = 0
    /// How many ids a producer has before it returns to the first: brokers remember each for days. It rarely moves on more than
    /// twice a second, as librdkafka waits that long before it sends offsets again. So a late request does harm only if it is
    /// about a minute late.
    private static let generations = 128
    /// Clients that take over ids the producer has moved on from, so that brokers refuse late requests under those ids.
    private var fences: [TransactionalClient] = []
    /// Clients that still ask for an id nobody waits for. The outcome of its transaction is decided, but a partition without
    /// a leader keeps the coordinator from writing the markers.
    private var dangling: [TransactionalClient] = []
    private var danglingAskedAt = ContinuousClock.now
    /// Clients dropped in the middle of a call, to be freed once the call has returned.
    private var stuck: [TransactionalClient] = []

    /// - Throws: ``KafkaError`` when librdkafka refuses a property.
    init(
        configuration: KafkaConfiguration,
        hooks: ClientHooks,
        decisionTimeout: Duration?
    ) throws(KafkaError) {
        self.configuration = configuration
        self.hooks = hooks
        self.decisionTimeout = decisionTimeout
        current = try makeClient(id: transactionalID)
    }

    /// The transactional id in use.
    var transactionalID: String {
        Self.transactionalID(configuration["transactional.id"] ?? "", generation: generation)
    }

    static func transactionalID(_ configured: String, generation: Int) -> String {
        generation % generations == 0 ? configured : "\(configured)/\(generation % generations)"
    }

    /// Whether a transaction can begin without asking for a transactional id first.
    var isReady: Bool {
        fences.isEmpty && (current.map { $0.isReady && !$0.lateRequests.isSuspect } ?? false)
    }

    /// The current client, once it holds its transactional id.
    var ready: TransactionalClient {
        get throws(KafkaError) {
            guard let current, current.isReady else {
                throw KafkaError(code: .state, message: "no producer is initialised")
            }
            return current
        }
    }

    mutating func add(_ topic: TransactionalTopic) throws(KafkaError) {
        if let current, current.isReady { try topic.connect(to: current.handle) }
        topics.append(topic)
    }

    private func makeClient(id: String) throws(KafkaError) -> TransactionalClient {
        try TransactionalClient(transactionalID: id, configuration: configuration, hooks: hooks)
    }
}

// MARK: - Taking over the transactional id

extension TransactionalClients {
    /// Takes over the transactional id, with a new client where there is none or the current one is a suspect.
    ///
    /// A call that ends with ``KafkaError/Remedy/retry`` goes on in the background, and the next call resumes it.
    mutating func takeOverID(timeout: Duration) throws(KafkaError) {
        if current?.lateRequests.isSuspect ?? false { leaveCurrent() }
        if current == nil { current = try makeClient(id: transactionalID) }
        // Starts the current client's request in the background, so that it runs while the fences are waited for.
        if !fences.isEmpty { _ = try? takeOverCurrentID(timeout: .milliseconds(1)) }
        while !fences.isEmpty {
            let last = fences.count - 1
            let limit = decisionLimit
            if try !fences[last].takesOverID(timeout: timeout, decisionTimeout: limit) {
                dangling.append(fences[last])
            }
            fences.removeLast()
        }
        try takeOverCurrentID(timeout: timeout)
    }

    private mutating func takeOverCurrentID(timeout: Duration) throws(KafkaError) {
        while var asking = current, !asking.isReady {
            defer { current = asking }
            if try asking.takesOverID(timeout: timeout, decisionTimeout: decisionLimit) {
                for topic in topics { try topic.connect(to: asking.handle) }
                asking.becomeReady()
            } else {
                dangling.append(asking)
                nextGeneration()
                asking = try makeClient(id: transactionalID)
            }
        }
    }

    /// How long a client waits for its id before the producer moves on. The last generation left is waited for without limit.
    private var decisionLimit: Duration? { dangling.count < Self.generations - 1 ? decisionTimeout : nil }

    private mutating func nextGeneration() {
        repeat {
            generation = (generation + 1) % Self.generations
        } while dangling.contains { $0.transactionalID == transactionalID }
    }
}

// MARK: - Dropping clients

extension TransactionalClients {
    /// Drops the current client. If it may leave a request with offsets behind, the producer moves on to the next id.
    mutating func leaveCurrent() {
        if let current, current.mayLeaveOffsets {
            let former = transactionalID
            nextGeneration()
            // If librdkafka refuses to make a client, the next call that makes one reports it.
            if let fence = try? makeClient(id: former) { fences.append(fence) }
        }
        dropCurrent()
    }

    /// Drops the current client and everything it has in progress.
    mutating func dropCurrent() {
        for topic in topics { topic.disconnect() }
        if let current, current.isCalling { stuck.append(current) }
        current = nil
    }

    /// Serves the hooks of all clients, waiting for at most `timeout`, and frees those whose work is over.
    mutating func poll(timeout: Duration) {
        current?.handle.poll(timeout: timeout)
        // Their events would pile up: a partition may lack a leader for days, and in librdkafka 2.16 a call may never return.
        for client in fences + dangling + stuck { client.handle.poll(timeout: .zero) }
        stuck.removeAll { $0.outcome(within: .zero) != nil }
        // Each call sends the coordinator a request.
        guard !dangling.isEmpty, .now - danglingAskedAt > .seconds(1) else { return }
        danglingAskedAt = .now
        dangling.removeAll { client in
            do throws(KafkaError) {
                try client.askForID(timeout: .milliseconds(1))
                return true
            } catch {
                return error.remedy != .retry
            }
        }
    }
}
