/// How much of each fruit a store has.
struct Levels: Equatable {
    // One lane for each fruit; the others are unused.
    private var lanes = SIMD8<Int32>(repeating: Int32(Contract.initialLevel))

    subscript(fruit: Int) -> Int {
        get { Int(lanes[fruit]) }
        set { lanes[fruit] = Int32(newValue) }
    }
}

/// What a store holds, and how often it was changed.
struct StoreState: Equatable {
    var levels = Levels()
    var revision = 0
}

/// Every state that the stores went through, by the replay of the answers.
struct Ledger {
    /// By store.
    private var states: [StoreState]
    /// By store, then by revision.
    private var history: [[Int: Levels]]
    /// The states that a wrong answer claims, by store: they may be the true ones.
    var doubts: [Int: StoreState] = [:]

    init(storeCount: Int) {
        states = Array(repeating: StoreState(), count: storeCount)
        history = Array(repeating: [:], count: storeCount)
    }

    subscript(store: Int) -> StoreState { states[store] }

    /// The levels after so many changes; nil if there were fewer.
    func levels(of store: Int, revision: Int) -> Levels? { history[store][revision] }

    mutating func change(_ store: Int, to state: StoreState) {
        states[store] = state
        history[store][state.revision] = state.levels
    }

    /// Accepts the claimed state of a store.
    mutating func settle(_ store: Int) {
        guard let claimed = doubts[store] else { return }
        history[store][states[store].revision] = nil
        change(store, to: claimed)
    }

    var changedStores: some Sequence<Int> { states.indices.lazy.filter { states[$0].revision > 0 } }
}
