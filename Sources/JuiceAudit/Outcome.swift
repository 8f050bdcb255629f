/// What a command must result in.
enum Outcome {
    case juiceMade(Order)
    case outOfStock(Order)
    case restocked([AuditMenu.Amount])
    /// With what went back into stock.
    case cancelled([AuditMenu.Amount])
    case rejected(RejectionReason)

    var type: StaticString {
        switch self {
        case .juiceMade: "juiceMade"
        case .outOfStock: "outOfStock"
        case .restocked: "restocked"
        case .cancelled: "cancelled"
        case .rejected: "rejected"
        }
    }

    /// Whether it changes the store.
    var isChange: Bool {
        switch self {
        case .juiceMade, .restocked: true
        case .cancelled(let returned): !returned.isEmpty
        case .outOfStock, .rejected: false
        }
    }

    /// What a cancel of the command puts back, or has put back.
    var taken: [AuditMenu.Amount] {
        switch self {
        case .juiceMade(let order): order.needs
        case .cancelled(let returned): returned
        case .outOfStock, .restocked, .rejected: []
        }
    }

    /// Carries a command out.
    init(of task: Command.Task, on state: inout StoreState) {
        self.init(of: task, on: &state.levels)
        if isChange { state.revision = state.revision.map { $0 + 1 } }
    }

    private init(of task: Command.Task, on levels: inout Levels) {
        let start = levels
        switch task {
        case .reject(let reason):
            self = .rejected(reason)
        case .make(let order):
            guard order.needs.allSatisfy({ start[$0.fruit] >= $0.amount }) else {
                self = .outOfStock(order)
                return
            }
            for part in order.needs { levels[part.fruit] -= part.amount }
            self = .juiceMade(order)
        case .add(let amounts):
            self.init(amounts, .restocked(amounts), on: &levels) {
                start[$0.fruit].addingReportingOverflow($0.amount)
            }
        case .set(let amounts):
            self.init(amounts, .restocked(amounts), on: &levels) { ($0.amount, false) }
        case .putBack(let amounts):
            self.init(amounts, .cancelled(amounts), on: &levels) { (start[$0.fruit] + $0.amount, false) }
        }
    }

    private init(
        _ amounts: [AuditMenu.Amount],
        _ success: Outcome,
        on levels: inout Levels,
        _ next: (AuditMenu.Amount) -> (Int, Bool)
    ) {
        var after = levels
        for amount in amounts {
            let (level, overflows) = next(amount)
            // No level is below zero, so the sum can only overflow upwards.
            guard !overflows, level <= Contract.levels.upperBound else {
                self = .rejected(.wouldOverflow)
                return
            }
            guard level >= 0 else {
                self = .rejected(.wouldGoNegative)
                return
            }
            after[amount.fruit] = level
        }
        levels = after
        self = success
    }
}
