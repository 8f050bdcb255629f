/// When a copy of a request is let through that the broker did not get, or that it is to get again.
enum Moment: Equatable, Sendable {
    case after(Duration)
    /// As soon as a later transaction of the same transactional id is open and such a request of it is answered.
    case answered(ApiKey)
    /// As soon as a later transaction is open, just before such a request of it is forwarded.
    case before(ApiKey)
}

/// The requests that come late: a state machine over what the proxy sees, which says when to let each one go.
///
/// Times count from the start of the run.
struct LateRequests {
    typealias ID = Int

    private struct Late {
        let request: Request
        /// The transaction it belongs to.
        let transaction: Int
        let moment: Moment
        let deadline: Duration
        var isUnderWay = false
        var hasMet = false
        var isSameEpoch = false
    }

    /// What follows from an answer to a client.
    struct Consequence: Equatable {
        /// What has to go now.
        var release: [ID] = []
        /// Whether the owner of the transactional id had better not die now: see ``LateRequests/ended(_:_:)``.
        var isHarmful = false
    }

    /// Nothing is kept longer than this, met or not.
    static let longest = Duration.seconds(30)
    /// Beyond so many none is kept: each has a connection of its own.
    static let most = 200

    private(set) var power = NetworkPower()
    private var transactions = Transactions()
    private var late: [ID: Late] = [:]
    private var lastID = 0
    /// Transactional ids whose open transaction got old offsets, which its end commits.
    private var spoiled: Set<String> = []

    var isFull: Bool { late.count >= Self.most }

    /// Keeps a copy of a request for later.
    mutating func keep(_ request: Request, until moment: Moment, at now: Duration) -> ID {
        lastID += 1
        let wait = if case .after(let delay) = moment { min(delay, Self.longest) } else { Self.longest }
        late[lastID] = Late(
            request: request,
            transaction: transactions.number(of: request),
            moment: moment,
            deadline: now + wait
        )
        return lastID
    }

    /// What has to go before a client's request is forwarded.
    mutating func forwarding(_ request: Request) -> [ID] {
        // Those that found no better moment still meet the transaction before it ends.
        let isEnd = request.key == .endTxn
        return release(in: request.transactionalID) { moment in
            switch moment {
            case .before(let key): key == request.key || isEnd
            case .answered: isEnd
            case .after: false
            }
        }
    }

    /// Takes note of an answer to a client's request.
    mutating func answered(_ request: Request, _ answer: Answer) -> Consequence {
        transactions.apply(answer, to: request)
        guard let id = request.transactionalID, answer.error == 0 else { return Consequence() }
        let release = release(in: id) { $0 == .answered(request.key) }
        let isEnd = request.key == .endTxn || request.key == .initProducerID
        let wasSpoiled = isEnd && spoiled.remove(id) != nil
        return Consequence(release: release, isHarmful: wasSpoiled && request.key == .endTxn)
    }

    /// What has waited long enough.
    mutating func due(at now: Duration) -> [ID] {
        start(late.filter { !$0.value.isUnderWay && $0.value.deadline <= now }.keys.sorted())
    }

    /// Whether a late request of a transactional id is on its way: its transaction must not end before that has arrived.
    func isUnderWay(for transactionalID: String) -> Bool {
        late.values.contains { $0.isUnderWay && $0.request.transactionalID == transactionalID }
    }

    /// Takes note of what came of a late request; nil if it got no answer.
    ///
    /// - Returns: whether it ended a later transaction half-done. If the owner dies at this moment, that stays so; if it lives, the
    ///   rest may follow in one more transaction. Old offsets do their harm when the transaction that they got into is committed.
    mutating func ended(_ id: ID, _ answer: Answer?) -> Bool {
        guard let late = late.removeValue(forKey: id) else { return false }
        power.count(late.request.key, answer, hasMet: late.hasMet, isSameEpoch: late.isSameEpoch)
        guard let answer, answer.error == 0 else { return false }
        transactions.apply(answer, to: late.request)
        guard late.hasMet, let name = late.request.transactionalID else { return false }
        if late.request.key == .txnOffsetCommit { spoiled.insert(name) }
        return late.request.key == .endTxn
    }

    /// Those of a transactional id that meet a later transaction now, where their moment is right.
    private mutating func release(
        in transactionalID: String?,
        where isRight: (Moment) -> Bool
    ) -> [ID] {
        guard let transactionalID else { return [] }
        let met = late.filter { _, late in
            !late.isUnderWay && late.request.transactionalID == transactionalID && isRight(late.moment)
                && transactions.isOpen(after: late.transaction, of: transactionalID)
        }
        return start(met.keys.sorted())
    }

    private mutating func start(_ ids: [ID]) -> [ID] {
        for id in ids {
            guard var late = late[id] else { continue }
            late.isUnderWay = true
            if let name = late.request.transactionalID {
                late.hasMet = transactions.isOpen(after: late.transaction, of: name)
                late.isSameEpoch = transactions.isCurrent(late.request.producer, of: name)
            }
            self.late[id] = late
        }
        return ids
    }
}
