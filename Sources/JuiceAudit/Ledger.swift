/// How much of each fruit a store has.
struct Levels: Equatable {
    // The first eight fruits without an allocation: few menus have more.
    private var lanes = SIMD8<Int32>()
    private var more: [Int32] = []

    /// The levels of a new store.
    init(_ menu: AuditMenu) {
        more = Array(repeating: 0, count: max(0, menu.fruits.count - lanes.scalarCount))
        for (fruit, entry) in menu.fruits.enumerated() { self[fruit] = entry.initialLevel }
    }

    subscript(fruit: Int) -> Int {
        get { Int(fruit < lanes.scalarCount ? lanes[fruit] : more[fruit - lanes.scalarCount]) }
        set {
            if fruit < lanes.scalarCount {
                lanes[fruit] = Int32(newValue)
            } else {
                more[fruit - lanes.scalarCount] = Int32(newValue)
            }
        }
    }
}

/// What a store holds, and how often it was changed.
struct StoreState: Equatable {
    var levels: Levels
    /// Nil while no record has told it: the answers from before have expired.
    var revision: Int?
    /// The fruits whose level no record has told.
    var unknown: [Int]
}

/// What the stores of one partition hold, by the replay of its answers.
struct Ledger {
    private struct Entry {
        var state: StoreState
        /// The state that a wrong answer claims: it may be the true one.
        var doubt: StoreState?
        /// The revision of the last change whose transaction is surely over.
        var settled = 0
        /// The revision of the last stock record.
        var recorded = 0
    }

    private struct Version: Hashable {
        let store: Int
        let revision: Int
    }

    /// How many states are held for stock records. Those of one transaction have fewer.
    static let recentCount = 65_536

    private let new: StoreState
    private var entries: [Entry] = []
    private var recent: [Version: Levels] = [:]
    private var order = Queue<Version>()
    /// Whether there were states that are not held any more, or never were known.
    private(set) var hasForgotten: Bool

    /// - Parameter isWhole: whether no answer has expired, so that every store begins with the menu's levels.
    init(_ menu: AuditMenu, isWhole: Bool) {
        new = StoreState(
            levels: Levels(menu),
            revision: isWhole ? 0 : nil,
            unknown: isWhole ? [] : Array(menu.fruits.indices)
        )
        hasForgotten = !isWhole
    }

    subscript(store: Int) -> StoreState { store < entries.count ? entries[store].state : new }

    func doubt(of store: Int) -> StoreState? { store < entries.count ? entries[store].doubt : nil }

    mutating func setDoubt(of store: Int, _ state: StoreState?) {
        if state != nil || doubt(of: store) != nil { withEntry(store) { $0.doubt = state } }
    }

    /// Whether the stock record of a change must be there, too. The latest transactions may be read in part.
    enum Settlement { case settled, open }

    mutating func change(_ store: Int, to state: StoreState, settlement: Settlement) {
        withEntry(store) {
            $0.state = state
            if settlement == .settled, let revision = state.revision { $0.settled = revision }
        }
        guard let revision = state.revision, state.unknown.isEmpty else { return }
        let version = Version(store: store, revision: revision)
        if recent.updateValue(state.levels, forKey: version) == nil { order.append(version) }
        if order.count > Self.recentCount, let oldest = order.popFirst() {
            recent[oldest] = nil
            hasForgotten = true
        }
    }

    /// What became known of a store without a change.
    mutating func learn(_ store: Int, _ state: StoreState) {
        if state != self[store] { withEntry(store) { $0.state = state } }
    }

    /// Accepts the claimed state of a store.
    mutating func settleDoubt(of store: Int) {
        guard let claimed = doubt(of: store) else { return }
        let isSettled = self[store].revision == entries[store].settled
        if let revision = self[store].revision { recent[Version(store: store, revision: revision)] = nil }
        change(store, to: claimed, settlement: isSettled ? .settled : .open)
    }

    /// The levels after so many changes; nil if they are not held.
    func levels(of store: Int, revision: Int) -> Levels? {
        let state = self[store]
        if state.revision == revision, state.unknown.isEmpty { return state.levels }
        return recent[Version(store: store, revision: revision)]
    }

    func recorded(of store: Int) -> Int { store < entries.count ? entries[store].recorded : 0 }

    mutating func record(_ store: Int, revision: Int) { withEntry(store) { $0.recorded = revision } }

    /// The stores whose last change has no stock record.
    var stale: some Sequence<Int> {
        entries.indices.lazy.filter { entries[$0].recorded < entries[$0].settled }
    }

    private mutating func withEntry(_ store: Int, _ body: (inout Entry) -> Void) {
        while entries.count <= store { entries.append(Entry(state: new)) }
        body(&entries[store])
    }
}
