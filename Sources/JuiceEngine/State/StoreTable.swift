import JuiceMaker
import JuiceMessages

/// The stores of one partition, with an undo for everything since the last commit.
///
/// A store comes into being with its first change; until then it has the menu's initial stock. Lookup is by the
/// key's bytes, and neither it nor a change of a known store allocates memory.
///
/// All levels lie in one array, a run of one level per fruit for each store: a million stores are a few large pieces of
/// memory, not a million small ones.
package struct StoreTable {
    /// One store whose stock changed since the last commit.
    private struct Change {
        let index: Int
        let revision: Int
    }

    private let initial: FruitStore
    private var names = ByteKeyTable()
    private var levels: [Int32] = []
    private var revisions: [Int] = []
    /// The store that is being looked at, taken out of `levels`. Kept, because a store of its own takes memory.
    private var current: FruitStore

    /// Whether each store was changed since the last commit, to note only the first change of each.
    private var isChanged: [Bool] = []
    private var changes: [Change] = []
    /// The levels before the first change, one run per element of `changes`.
    private var undoLevels: [Int32] = []

    init(menu: Menu) {
        initial = FruitStore(menu: menu)
        current = initial
    }

    /// Makes room for so many stores. Memory that stays unused is only set aside: the system does not provide it.
    mutating func reserveCapacity(_ capacity: Int) {
        names.reserveCapacity(capacity)
        levels.reserveCapacity(capacity * initial.fruitCount)
        revisions.reserveCapacity(capacity)
        isChanged.reserveCapacity(capacity)
    }

    /// The number of stores that were ever changed.
    var count: Int { names.count }

    /// How many of them were changed since the last commit.
    var changeCount: Int { changes.count }

    /// Brings the place of a store that is soon looked at into the processor's caches.
    func prefetch(_ name: ByteKeyTable.Key) { names.prefetch(name) }

    /// Lets `body` look at a store and change it. `body` says whether it did.
    mutating func update(_ name: ByteKeyTable.Key, _ body: (inout FruitStore) -> Bool) {
        guard let index = names.find(name) else {
            current.restore(from: initial)
            if body(&current) {
                let index = insert(name)
                note(index)
                put(current, at: index)
                revisions[index] = 1
            }
            return
        }
        take(index)
        guard body(&current) else { return }
        if !isChanged[index] { note(index) }
        put(current, at: index)
        // A record may say that the last number there is has been reached.
        revisions[index] &+= revisions[index] < .max ? 1 : 0
    }

    /// Takes over a store as the changelog has it.
    mutating func restore(_ name: ByteKeyTable.Key, _ store: FruitStore, revision: Int) {
        let index = insert(name)
        put(store, at: index)
        revisions[index] = revision
    }

    /// A store's stock and revision: how often it was changed.
    func state(of name: BorrowedText) -> (store: FruitStore, revision: Int) {
        var store = initial
        guard let index = names.find(name.bytes) else { return (store, 0) }
        store.restore(from: levels, at: place(of: index))
        return (store, revisions[index])
    }

    /// Calls `body` with the name, stock and revision of each store changed since the last commit.
    mutating func forEachChange<Failure: Error>(
        _ body: (BorrowedText, FruitStore, Int) throws(Failure) -> Void
    ) throws(Failure) {
        for change in changes {
            take(change.index)
            try names.withKey(at: change.index) { (name) throws(Failure) in
                try body(BorrowedText(name), current, revisions[change.index])
            }
        }
    }

    /// Keeps the changes.
    mutating func commit() {
        for change in changes { isChanged[change.index] = false }
        changes.removeAll(keepingCapacity: true)
        undoLevels.removeAll(keepingCapacity: true)
    }

    /// Takes back every change since the last commit.
    mutating func undo() {
        for (position, change) in changes.enumerated() {
            let (place, saved) = (place(of: change.index), position * initial.fruitCount)
            for fruit in 0..<initial.fruitCount { levels[place + fruit] = undoLevels[saved + fruit] }
            revisions[change.index] = change.revision
        }
        commit()
    }

    private func place(of index: Int) -> Int { index * initial.fruitCount }

    private mutating func take(_ index: Int) { current.restore(from: levels, at: place(of: index)) }

    private mutating func put(_ store: FruitStore, at index: Int) {
        store.save(to: &levels, at: place(of: index))
    }

    private mutating func note(_ index: Int) {
        changes.append(Change(index: index, revision: revisions[index]))
        isChanged[index] = true
        let place = place(of: index)
        undoLevels.append(contentsOf: levels[place..<place + initial.fruitCount])
    }

    private mutating func insert(_ name: ByteKeyTable.Key) -> Int {
        let (index, isNew) = names.insert(name)
        if isNew {
            initial.save(to: &levels)
            revisions.append(0)
            isChanged.append(false)
        }
        return index
    }
}
