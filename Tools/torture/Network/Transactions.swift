/// The state of each transactional id's transactions, derived from the responses.
struct Transactions {
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
        let opens = request.key == .addPartitions || request.key == .addOffsets
        return state.isOpen || !opens ? state.number : state.number + 1
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
