/// How much of each fruit a store has.
struct Levels: Equatable {
    // One lane for each fruit; the others are unused.
    private var lanes = SIMD8<Int32>(repeating: Int32(Contract.initialLevel))

    subscript(fruit: Int) -> Int {
        get { Int(lanes[fruit]) }
        set { lanes[fruit] = Int32(newValue) }
    }
}

/// Every state that the stores went through, by the replay of the answers.
struct Ledger {
    /// By store, then by revision.
    private var states: [[Levels]]
    /// The levels that a wrong answer claims, by store: they may be the true ones.
    var doubts: [Int: Levels] = [:]

    init(storeCount: Int) {
        states = Array(repeating: [], count: storeCount)
    }

    func levels(of store: Int) -> Levels { states[store].last ?? Levels() }

    func revision(of store: Int) -> Int { states[store].count }

    /// The levels after so many changes; nil if there were fewer.
    func levels(of store: Int, revision: Int) -> Levels? {
        states[store].indices.contains(revision - 1) ? states[store][revision - 1] : nil
    }

    mutating func change(_ store: Int, to levels: Levels) { states[store].append(levels) }

    /// Accepts the claimed levels of a store.
    mutating func settle(_ store: Int) {
        guard let levels = doubts[store], let last = states[store].indices.last else { return }
        states[store][last] = levels
    }

    var changedStores: some Sequence<Int> { states.indices.lazy.filter { !states[$0].isEmpty } }
}

/// What a command must result in.
enum Outcome {
    case juiceMade(juice: Int, quantity: Int)
    case outOfStock(juice: Int, quantity: Int)
    case restocked([Contract.Amount])
    case rejected(RejectionReason)

    var type: StaticString {
        switch self {
        case .juiceMade: "juiceMade"
        case .outOfStock: "outOfStock"
        case .restocked: "restocked"
        case .rejected: "rejected"
        }
    }

    /// Whether it changes the store.
    var isChange: Bool {
        switch self {
        case .juiceMade, .restocked: true
        case .outOfStock, .rejected: false
        }
    }

    /// Carries a command out.
    init(of task: Command.Task, on levels: inout Levels) {
        switch task {
        case .reject(let reason):
            self = .rejected(reason)
        case .make(let juice, let quantity):
            let recipe = Contract.juices[juice].recipe
            guard recipe.allSatisfy({ levels[$0.fruit] >= $0.amount * quantity }) else {
                self = .outOfStock(juice: juice, quantity: quantity)
                return
            }
            for part in recipe { levels[part.fruit] -= part.amount * quantity }
            self = .juiceMade(juice: juice, quantity: quantity)
        case .add(let amounts):
            let start = levels
            self.init(amounts, on: &levels) { start[$0.fruit].addingReportingOverflow($0.amount) }
        case .set(let amounts):
            self.init(amounts, on: &levels) { ($0.amount, false) }
        }
    }

    private init(
        _ amounts: [Contract.Amount],
        on levels: inout Levels,
        _ next: (Contract.Amount) -> (Int, Bool)
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
        self = .restocked(amounts)
    }
}
