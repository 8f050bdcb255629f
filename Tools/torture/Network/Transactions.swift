/// What the proxy knows of the transactions of each transactional id, from the answers that it saw.
struct Transactions {
    private struct State {
        /// Of the newest transaction that was opened.
        var number = 0
        var isOpen = false
        var producer: ProducerIdentity?
    }

    private var states: [String: State] = [:]

    /// The transaction that a request belongs to, which is the next one if it opens that.
    func number(of request: Request) -> Int {
        guard let id = request.transactionalID, let state = states[id] else { return 1 }
        let opens = request.key == .addPartitions || request.key == .addOffsets
        return state.isOpen || !opens ? state.number : state.number + 1
    }

    /// Whether a later transaction of the same transactional id is open than that of this number.
    func isOpen(after number: Int, of id: String) -> Bool {
        guard let state = states[id] else { return false }
        return state.isOpen && state.number > number
    }

    /// Whether the broker takes a request of this producer for one of the open transaction.
    func isCurrent(_ producer: ProducerIdentity?, of id: String) -> Bool {
        producer != nil && states[id]?.producer == producer
    }

    /// Takes note of what a broker answered, to a client or to a late request.
    mutating func apply(_ answer: Answer, to request: Request) {
        guard let id = request.transactionalID, answer.error == 0 else { return }
        var state = states[id, default: State()]
        switch request.key {
        case .initProducerID:
            // Whatever was open is aborted.
            state.isOpen = false
            state.producer = answer.producer
        case .addPartitions, .addOffsets:
            if !state.isOpen {
                state.isOpen = true
                state.number += 1
            }
            state.producer = request.producer
        case .endTxn: state.isOpen = false
        default: return
        }
        states[id] = state
    }
}
