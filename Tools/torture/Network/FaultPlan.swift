import JuiceMaker

/// A fault in a request.
enum Fault: Equatable, Sendable {
    case none
    /// Not forwarded, and the client's connection is closed, so that it resends the request; this copy arrives late.
    case holdBack(Moment)
    /// Not forwarded, and the client's connection is closed.
    case cut
    /// Forwarded, and the client's connection is closed instead of delivering the response.
    case dropAnswer
    /// Forwarded late, which delays all requests behind it.
    case delayRequest(Duration)
    /// Answered late, which delays all responses behind it.
    case delayAnswer(Duration)
    /// Forwarded, the client's connection is closed instead of delivering the response, and a copy is forwarded later. Only the
    /// broken connection makes this realistic: after a response no copy of the request can still be in flight.
    case replay(Moment)
}

/// Chooses a fault for each request at random, by its kind.
struct FaultPlan {
    /// The percentage of transactional requests that get a fault.
    let rate: Double
    /// The kinds of requests that may get a fault; nil is all.
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
        guard Self.mayComeLate.contains(key) else { return sessionFault() }
        switch Int.random(in: 0..<100, using: &random) {
        case ..<45: return .holdBack(moment(for: key))
        case ..<60: return .replay(moment(for: key))
        case ..<70: return .cut
        case ..<85: return .dropAnswer
        case ..<93: return .delayRequest(delay())
        default: return .delayAnswer(delay())
        }
    }

    /// The share of the rate for each kind: frequent requests get less.
    private static let shares: [ApiKey: Double] = [
        .endTxn: 1, .initProducerID: 1, .addPartitions: 0.5, .produce: 0.5, .offsetCommit: 0.5,
        .findCoordinator: 1, .offsetFetch: 0.5, .listOffsets: 0.5, .joinGroup: 0.5, .syncGroup: 0.5,
        .metadata: 0.2, .heartbeat: 0.1, .fetch: 0.05,
    ]

    /// The kinds of requests that may get a fault.
    static let kinds = Set(shares.keys)
    /// Those that may arrive late. Most others would only be one more query.
    static let mayComeLate = ApiKey.transactional.union([.offsetCommit])

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

    /// A random moment, or one in a later transaction of the same producer, where the request does most harm: an EndTxn when some
    /// of the records are written, which commits these without the others.
    private mutating func moment(for key: ApiKey) -> Moment {
        let draw = Int.random(in: 0..<100, using: &random)
        switch key {
        case .endTxn where draw < 20: return .answered(.addPartitions)
        case .endTxn where draw < 35: return .before(.produce)
        case .endTxn where draw < 70: return .answered(.produce)
        case .endTxn where draw < 80: return .before(.endTxn)
        case .initProducerID where draw < 30: return .answered(.addPartitions)
        case .initProducerID where draw < 60, .produce where draw < 30: return .answered(.produce)
        case .addPartitions where draw < 30, .produce where draw < 60: return .before(.produce)
        case .addPartitions where draw < 60: return .before(.endTxn)
        default: return .after(.milliseconds(Int.random(in: 50..<5_000, using: &random)))
        }
    }
}
