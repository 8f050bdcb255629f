/// What the proxy does to a request.
enum Fault: Equatable, Sendable {
    case none
    /// Not forwarded, and the client's connection is closed, so that it sends the request again. The first copy arrives late.
    case holdBack(Moment)
    /// Not forwarded, and the client's connection is closed.
    case cut
    /// Forwarded, and the client's connection is closed instead of delivering the response.
    case dropResponse
    /// Forwarded late, which delays all requests behind it.
    case delayRequest(Duration)
    /// Answered late, which delays all responses behind it.
    case delayResponse(Duration)
    /// Forwarded, the client's connection is closed instead of delivering the response, and a copy is forwarded later. Only the
    /// broken connection makes this realistic: after a response no copy of the request can still be in flight.
    case replay(Moment)
}

/// When a late copy of a request is forwarded to the broker.
enum Moment: Equatable, Sendable {
    case after(Duration)
    /// As soon as a request of this kind is answered in a later open transaction of the same transactional id.
    case answered(ApiKey)
    /// Just before a request of this kind is forwarded in a later open transaction.
    case before(ApiKey)

    /// A request does not wait longer than this for its moment.
    static let longestWait = Duration.seconds(30)

    /// How long a request waits for its moment at most.
    var wait: Duration { if case .after(let delay) = self { min(delay, Self.longestWait) } else { Self.longestWait } }
}

/// Chooses a fault for each request at random, by its kind.
struct FaultPlan: Sendable {
    /// The percentage of requests of a transaction that get a fault.
    let rate: Double
    /// The kinds of requests that may get a fault.
    let kinds: Set<ApiKey>
    var random: any RandomNumberGenerator & Sendable

    /// The share of the rate for each kind: frequent requests get less, and kinds that are not listed get none.
    static let shares: [ApiKey: Double] = [
        .endTxn: 1, .initProducerId: 1, .addPartitionsToTxn: 0.5, .produce: 0.5, .offsetCommit: 0.5,
        .findCoordinator: 1, .offsetFetch: 0.5, .listOffsets: 0.5, .joinGroup: 0.5, .syncGroup: 0.5,
        .metadata: 0.2, .heartbeat: 0.1, .fetch: 0.05,
    ]
    /// The kinds that may arrive late. Most others would only be one more query.
    static let mayComeLate = ApiKey.transactional.union([.offsetCommit])

    mutating func fault(for key: ApiKey) -> Fault {
        guard kinds.contains(key), let share = Self.shares[key], Double.random(in: 0..<100, using: &random) < rate * share else {
            return .none
        }
        let draw = Int.random(in: 0..<100, using: &random)
        guard Self.mayComeLate.contains(key) else {
            return switch draw {
            case ..<30: .cut
            case ..<60: .dropResponse
            case ..<80: .delayRequest(delay())
            default: .delayResponse(delay())
            }
        }
        return switch draw {
        case ..<45: .holdBack(moment(for: key))
        case ..<60: .replay(moment(for: key))
        case ..<70: .cut
        case ..<85: .dropResponse
        case ..<93: .delayRequest(delay())
        default: .delayResponse(delay())
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

    /// A random moment, or the one in a later transaction of the same producer where the request does most harm: an EndTxn after
    /// some of the records were written, which commits these without the others.
    private mutating func moment(for key: ApiKey) -> Moment {
        let draw = Int.random(in: 0..<100, using: &random)
        switch key {
        case .endTxn where draw < 20: return .answered(.addPartitionsToTxn)
        case .endTxn where draw < 35: return .before(.produce)
        case .endTxn where draw < 70: return .answered(.produce)
        case .endTxn where draw < 80: return .before(.endTxn)
        case .initProducerId where draw < 30: return .answered(.addPartitionsToTxn)
        case .initProducerId where draw < 60, .produce where draw < 30: return .answered(.produce)
        case .addPartitionsToTxn where draw < 30, .produce where draw < 60: return .before(.produce)
        case .addPartitionsToTxn where draw < 60: return .before(.endTxn)
        default: return .after(.milliseconds(Int.random(in: 50..<5_000, using: &random)))
        }
    }
}

/// Counts requests by their kind and fault.
struct RequestCounts: Sendable {
    private static let columns = ["passed", "held back", "cut", "delayed", "answer dropped", "replayed"]

    private var counts: [ApiKey: [String: Int]] = [:]

    mutating func add(_ fault: Fault, to key: ApiKey) {
        let column =
            switch fault {
            case .none: "passed"
            case .holdBack: "held back"
            case .cut: "cut"
            case .delayRequest, .delayResponse: "delayed"
            case .dropResponse: "answer dropped"
            case .replay: "replayed"
            }
        counts[key, default: [:]][column, default: 0] += 1
    }

    /// The cells of a table with a row for each kind of request, below a title row.
    var table: [[String]] {
        let (ofTransactions, others) = (
            ApiKey.allCases.filter(ApiKey.transactional.contains), ApiKey.allCases.filter { !ApiKey.transactional.contains($0) }
        )
        return [["requests"] + Self.columns]
            + (ofTransactions + others).compactMap { key in
                counts[key].map { mine in [key.name] + Self.columns.map { "\(mine[$0] ?? 0)" } }
            }
    }
}
