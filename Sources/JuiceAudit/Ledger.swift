/// How much of each fruit a store has.
struct Levels: Equatable {
    // One lane for each fruit, and some that are never used.
    private var lanes = SIMD8<Int32>(repeating: Int32(Contract.initialLevel))

    subscript(fruit: Int) -> Int {
        get { Int(lanes[fruit]) }
        set { lanes[fruit] = Int32(newValue) }
    }
}

/// The stores as the replay of the answers has them, with every state they went through.
struct Ledger {
    /// By store, then by revision.
    private var states: [[Levels]]
    /// Of stores about which an answer was wrong: what they are if they are as it says.
    var doubts: [Int: Levels] = [:]

    init(storeCount: Int) {
        states = Array(repeating: [], count: storeCount)
    }

    func levels(of store: Int) -> Levels { states[store].last ?? Levels() }

    func revision(of store: Int) -> Int { states[store].count }

    /// The levels after so many changes, `nil` when there were not as many.
    func levels(of store: Int, revision: Int) -> Levels? {
        states[store].indices.contains(revision - 1) ? states[store][revision - 1] : nil
    }

    mutating func change(_ store: Int, to levels: Levels) { states[store].append(levels) }

    /// Takes a store to be what was doubted.
    mutating func settle(_ store: Int) {
        guard let levels = doubts[store], let last = states[store].indices.last else { return }
        states[store][last] = levels
    }

    var changedStores: some Sequence<Int> { states.indices.lazy.filter { !states[$0].isEmpty } }
}

/// What must come of a command.
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

    /// Whether the store is another after it.
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
            // Nothing is ever added to a level below zero, so only upwards is there no number for it.
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
