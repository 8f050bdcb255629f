/// Decides from the traffic when each late request is forwarded.
struct LateRequests: Sendable {
    typealias ID = Int

    private struct Late {
        let request: Request
        /// The transaction it belongs to.
        let transaction: Int
        let moment: Moment
        var isUnderWay = false
        var hasMet = false
        var isSameEpoch = false
    }

    /// The most late requests at a time, because each has a connection of its own.
    private static let most = 200

    /// The effects of the late requests.
    private(set) var power = LatePower()
    private var transactions: [String: Transactions] = [:]
    private var late: [ID: Late] = [:]
    private var lastID = 0

    var isFull: Bool { late.count >= Self.most }

    /// Keeps a request for later.
    mutating func keep(_ request: Request, until moment: Moment) -> ID {
        let transaction = request.transactionalID.flatMap { transactions[$0] }?.number(of: request) ?? 1
        lastID += 1
        late[lastID] = Late(request: request, transaction: transaction, moment: moment)
        return lastID
    }

    /// Returns the late requests to forward before a client's request.
    mutating func forwarding(_ request: Request) -> [ID] {
        // Before a transaction ends, requests that still wait for a better moment are forwarded, too.
        let isEnd = request.key == .endTxn
        return releaseMet(in: request.transactionalID) { moment in
            switch moment {
            case .before(let key): key == request.key || isEnd
            case .answered: isEnd
            case .after: false
            }
        }
    }

    /// Records the response to a client's request, and returns the late requests to forward now.
    mutating func answered(_ request: Request, _ response: Response) -> [ID] {
        record(response, to: request)
        return response.error == 0 ? releaseMet(in: request.transactionalID) { $0 == .answered(request.key) } : []
    }

    /// Notes that a request is forwarded now. Returns whether it was still waiting.
    mutating func release(_ id: ID) -> Bool {
        guard var released = late[id], !released.isUnderWay else { return false }
        released.isUnderWay = true
        if let state = released.request.transactionalID.flatMap({ transactions[$0] }) {
            released.hasMet = state.isOpen(after: released.transaction)
            released.isSameEpoch = released.request.producer != nil && released.request.producer == state.producer
        }
        late[id] = released
        return true
    }

    /// Whether a late request of a transactional id is in flight: the transaction must not end before it has arrived.
    func isUnderWay(for transactionalID: String) -> Bool {
        late.values.contains { $0.isUnderWay && $0.request.transactionalID == transactionalID }
    }

    /// Records that a late request has ended, with a response if it was answered. If it ended a later transaction too early,
    /// returns the transactional id. If the owner dies now, only a part of that transaction remains.
    mutating func ended(_ id: ID, _ response: Response?) -> String? {
        guard let late = late.removeValue(forKey: id) else { return nil }
        power.record(response, hasMet: late.hasMet, isSameEpoch: late.isSameEpoch)
        guard let response, response.error == 0 else { return nil }
        record(response, to: late.request)
        return late.hasMet && late.request.key == .endTxn ? late.request.transactionalID : nil
    }

    /// Releases the requests of a transactional id that meet a later transaction at the right moment.
    private mutating func releaseMet(in transactionalID: String?, where isRight: (Moment) -> Bool) -> [ID] {
        guard let transactionalID, let state = transactions[transactionalID] else { return [] }
        let met = late.filter { _, late in
            late.request.transactionalID == transactionalID && isRight(late.moment) && state.isOpen(after: late.transaction)
        }
        return met.keys.sorted().filter { release($0) }
    }

    private mutating func record(_ response: Response, to request: Request) {
        guard let id = request.transactionalID, response.error == 0 else { return }
        transactions[id, default: Transactions()].record(response, to: request)
    }
}

/// The transactions of a transactional id, derived from the responses.
private struct Transactions {
    private(set) var producer: ProducerIdentity?
    /// The number of the newest transaction.
    private var number = 0
    private var isOpen = false

    /// The number of the transaction that a request belongs to, or opens.
    func number(of request: Request) -> Int { isOpen || request.key != .addPartitionsToTxn ? number : number + 1 }

    /// Whether a transaction with a higher number is open.
    func isOpen(after number: Int) -> Bool { isOpen && self.number > number }

    /// Records that a request was carried out.
    mutating func record(_ response: Response, to request: Request) {
        switch request.key {
        // The coordinator aborts an open transaction.
        case .initProducerId: (isOpen, producer) = (false, response.producer)
        case .addPartitionsToTxn:
            if !isOpen { number += 1 }
            (isOpen, producer) = (true, request.producer)
        case .endTxn: isOpen = false
        default: return
        }
    }
}

/// The statistical power of a run: whether it could have detected clients that are not protected from late requests.
struct LatePower: Sendable {
    /// How many late requests there were, and how many met a later transaction of their transactional id. Of these, how many had
    /// its producer id and epoch, how many the brokers carried out, and how many they refused.
    private var (late, met, ofSameEpoch, done, refused) = (0, 0, 0, 0, 0)

    /// Records a late request and its response, if there was one.
    mutating func record(_ response: Response?, hasMet: Bool, isSameEpoch: Bool) {
        late += 1
        guard hasMet else { return }
        met += 1
        if isSameEpoch { ofSameEpoch += 1 }
        guard let response else { return }
        if response.error == 0 { done += 1 } else { refused += 1 }
    }

    var line: String {
        let proof =
            met == 0
            ? "none met a later transaction: this run proves nothing about late requests"
            : "\(met) met a later transaction of their transactional id, \(ofSameEpoch) of these in its own epoch; of the \(met), "
                + "brokers carried out \(done) and refused \(refused)"
        return "power: \(late) late requests, \(proof)"
    }
}
