/// When a late copy of a request is forwarded to the broker.
enum Moment: Equatable, Sendable {
    case after(Duration)
    /// As soon as a request of this kind is answered in a later open transaction of the same transactional id.
    case answered(ApiKey)
    /// Just before a request of this kind is forwarded in a later open transaction.
    case before(ApiKey)
}

/// A state machine that decides from the proxy's traffic when to forward each late request.
///
/// Times are relative to the start of the run.
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

    /// A request is forwarded after this time at the latest.
    static let longest = Duration.seconds(30)
    /// The most late requests at a time, because each has a connection of its own.
    static let most = 200

    private(set) var power = NetworkPower()
    private var transactions = Transactions()
    private var late: [ID: Late] = [:]
    private var lastID = 0

    var isFull: Bool { late.count >= Self.most }

    /// Keeps a copy of a request for later.
    mutating func keep(_ request: Request, until moment: Moment, at now: Duration) -> ID {
        lastID += 1
        let wait = if case .after(let delay) = moment { min(delay, Self.longest) } else { Self.longest }
        late[lastID] = Late(request: request, transaction: transactions.number(of: request), moment: moment, deadline: now + wait)
        return lastID
    }

    /// The late requests to forward before a client's request.
    mutating func forwarding(_ request: Request) -> [ID] {
        // Before the transaction ends, forward also those that are still waiting for a better moment.
        let isEnd = request.key == .endTxn
        return release(in: request.transactionalID) { moment in
            switch moment {
            case .before(let key): key == request.key || isEnd
            case .answered: isEnd
            case .after: false
            }
        }
    }

    /// The late requests to forward after the response to a client's request.
    mutating func answered(_ request: Request, _ answer: Answer) -> [ID] {
        transactions.record(answer, to: request)
        return answer.error == 0 ? release(in: request.transactionalID) { $0 == .answered(request.key) } : []
    }

    /// The late requests whose deadline has passed.
    mutating func due(at now: Duration) -> [ID] {
        start(late.filter { !$0.value.isUnderWay && $0.value.deadline <= now }.keys.sorted())
    }

    /// Whether a late request of a transactional id is in flight: the transaction must not end before it has arrived.
    func isUnderWay(for transactionalID: String) -> Bool {
        late.values.contains { $0.isUnderWay && $0.request.transactionalID == transactionalID }
    }

    /// Processes the response to a late request; nil if there was none.
    ///
    /// - Returns: whether it ended a later transaction prematurely. If the owner dies now, a part of it is all that there is.
    mutating func ended(_ id: ID, _ answer: Answer?) -> Bool {
        guard let late = late.removeValue(forKey: id) else { return false }
        power.record(late.request.key, answer, hasMet: late.hasMet, isSameEpoch: late.isSameEpoch)
        guard let answer, answer.error == 0 else { return false }
        transactions.record(answer, to: late.request)
        return late.hasMet && late.request.key == .endTxn
    }

    /// The late requests of a transactional id that meet a later transaction at the right moment.
    private mutating func release(in transactionalID: String?, where isRight: (Moment) -> Bool) -> [ID] {
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

/// The state of each transactional id's transactions, derived from the responses.
private struct Transactions {
    private struct State {
        /// The number of the newest transaction.
        var number = 0
        var isOpen = false
        var producer: ProducerIdentity?
    }

    private var states: [String: State] = [:]

    /// The number of the transaction that a request belongs to, or opens.
    func number(of request: Request) -> Int {
        guard let id = request.transactionalID, let state = states[id] else { return 1 }
        return state.isOpen || request.key != .addPartitions ? state.number : state.number + 1
    }

    /// Whether a transaction with a higher number is open.
    func isOpen(after number: Int, of id: String) -> Bool {
        guard let state = states[id] else { return false }
        return state.isOpen && state.number > number
    }

    /// Whether the broker would attribute a request of this producer to the open transaction.
    func isCurrent(_ producer: ProducerIdentity?, of id: String) -> Bool {
        producer != nil && states[id]?.producer == producer
    }

    /// Records a broker's response to a client or to a late request.
    mutating func record(_ answer: Answer, to request: Request) {
        guard let id = request.transactionalID, answer.error == 0 else { return }
        var state = states[id, default: State()]
        switch request.key {
        case .initProducerID:
            // The coordinator aborts an open transaction.
            (state.isOpen, state.producer) = (false, answer.producer)
        case .addPartitions:
            if !state.isOpen { state.number += 1 }
            (state.isOpen, state.producer) = (true, request.producer)
        case .endTxn: state.isOpen = false
        default: return
        }
        states[id] = state
    }
}
