import SeededRandom

/// What is done to a request.
enum Fault: Equatable, Sendable {
    case none
    /// Not forwarded, and the client's connection closed, so that it sends the request again; this copy comes late.
    case holdBack(Moment)
    /// Not forwarded, and the client's connection closed.
    case cut
    /// Forwarded, and the client's connection closed in place of an answer.
    case dropAnswer
    /// Forwarded late, and all behind it on the connection with it.
    case delayRequest(Duration)
    /// Answered late, and all behind it on the connection with it.
    case delayAnswer(Duration)
    /// Forwarded, the client's connection closed in place of an answer, and forwarded once more later. Without the broken connection
    /// this would be no fault to ask a client to bear: a request that was answered is never on its way still.
    case replay(Moment)
}

/// Chooses what is done to each request, by its kind and by chance.
struct FaultPlan {
    /// The percentage of transactional requests that something is done to.
    let rate: Double
    /// The only kinds that something is done to; nil for all.
    let kinds: Set<ApiKey>?
    private var random: SeededGenerator

    init(rate: Double, kinds: Set<ApiKey>?, seed: UInt64) {
        self.rate = rate
        self.kinds = kinds
        random = SeededGenerator(seed: seed)
    }

    mutating func fault(for key: ApiKey) -> Fault {
        if let kinds, !kinds.contains(key) { return .none }
        guard let share = Self.shares[key], random.chance(rate * share) else { return .none }
        guard ApiKey.transactional.contains(key) else { return sessionFault() }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<45: return .holdBack(moment(for: key))
        case ..<60: return .replay(moment(for: key))
        case ..<70: return .cut
        case ..<85: return .dropAnswer
        case ..<93: return .delayRequest(delay())
        default: return .delayAnswer(delay())
        }
    }

    /// How much of the rate each kind gets: what is asked often in a session, less.
    private static let shares: [ApiKey: Double] = [
        .endTxn: 1, .txnOffsetCommit: 1, .addOffsets: 1, .initProducerID: 1, .addPartitions: 0.5,
        .produce: 0.5,
        .findCoordinator: 1, .offsetFetch: 0.5, .listOffsets: 0.5, .joinGroup: 0.5, .syncGroup: 0.5,
        .metadata: 0.2, .heartbeat: 0.1, .fetch: 0.05,
    ]

    private mutating func sessionFault() -> Fault {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<30: .cut
        case ..<60: .dropAnswer
        case ..<80: .delayRequest(delay())
        default: .delayAnswer(delay())
        }
    }

    /// Mostly short, sometimes seconds.
    private mutating func delay() -> Duration {
        switch Int.random(in: 0..<100, using: &random) {
        case ..<60: .milliseconds(Int.random(in: 10..<300, using: &random))
        case ..<90: .milliseconds(Int.random(in: 300..<1_000, using: &random))
        default: .milliseconds(Int.random(in: 1_000..<4_000, using: &random))
        }
    }

    /// By chance, or where the late request does most harm: an EndTxn between the answers and their offsets, old offsets behind
    /// the new ones.
    private mutating func moment(for key: ApiKey) -> Moment {
        let draw = Int.random(in: 0..<100, using: &random)
        switch key {
        case .endTxn where draw < 20: return .answered(.addPartitions)
        case .endTxn where draw < 30: return .answered(.addOffsets)
        case .endTxn where draw < 50: return .answered(.txnOffsetCommit)
        case .endTxn where draw < 60: return .before(.produce)
        case .endTxn where draw < 80: return .before(.txnOffsetCommit)
        case .txnOffsetCommit where draw < 70: return .before(.endTxn)
        case .addOffsets where draw < 40: return .answered(.addPartitions)
        default: return .after(.milliseconds(Int.random(in: 50..<5_000, using: &random)))
        }
    }
}
