import JuiceMaker
import JuiceMessages

/// The stores of one partition, with an undo for everything since the last commit.
///
/// A store comes into being with its first change; until then it has the menu's initial stock. Lookup is by the
/// key's bytes, and neither it nor a change of a known store allocates memory.
struct StoreTable {
    /// One store whose stock changed since the last commit.
    struct Change {
        let index: Int
        let revision: Int
    }

    private let initial: FruitStore
    private var names = ByteKeyTable()
    private var stores: [FruitStore] = []
    private var revisions: [Int] = []

    /// The transaction in which each store was last changed, to note only the first change of each.
    private var changedIn: [UInt64] = []
    private var transaction: UInt64 = 1
    private(set) var changes: [Change] = []
    /// The levels before the first change, one run per element of `changes`.
    private var undoLevels: [Int32] = []

    init(menu: Menu) {
        initial = FruitStore(menu: menu)
    }

    /// The number of stores that were ever changed.
    var count: Int { stores.count }

    /// Lets `body` look at a store and change it. `body` says whether it did.
    mutating func update(_ name: BorrowedText, _ body: (inout FruitStore) -> Bool) {
        guard let index = names.find(name.bytes) else {
            var store = initial
            if body(&store) { insert(name, store) }
            return
        }
        let isFirstChange = changedIn[index] != transaction
        if isFirstChange { stores[index].save(to: &undoLevels) }
        let hasChanged = body(&stores[index])
        if hasChanged {
            if isFirstChange { note(index) }
            revisions[index] += 1
        } else if isFirstChange {
            undoLevels.removeLast(initial.fruitCount)
        }
    }

    /// Takes over a store as the changelog has it.
    mutating func restore(_ name: BorrowedText, _ store: FruitStore, revision: Int) {
        let index = indexOrInsert(name)
        stores[index] = store
        revisions[index] = revision
    }

    /// A store's stock and revision: how often it was changed.
    func state(of name: BorrowedText) -> (store: FruitStore, revision: Int) {
        guard let index = names.find(name.bytes) else { return (initial, 0) }
        return (stores[index], revisions[index])
    }

    /// Calls `body` with the name, stock and revision of each store changed since the last commit.
    func forEachChange<Failure: Error>(
        _ body: (BorrowedText, FruitStore, Int) throws(Failure) -> Void
    ) throws(Failure) {
        for change in changes {
            try names.withKey(at: change.index) { (name) throws(Failure) in
                try body(BorrowedText(name), stores[change.index], revisions[change.index])
            }
        }
    }

    /// Keeps the changes.
    mutating func commit() {
        changes.removeAll(keepingCapacity: true)
        undoLevels.removeAll(keepingCapacity: true)
        transaction += 1
    }

    /// Takes back every change since the last commit.
    mutating func undo() {
        for (position, change) in changes.enumerated() {
            let start = position * initial.fruitCount
            stores[change.index].restore(from: undoLevels[start..<start + initial.fruitCount])
            revisions[change.index] = change.revision
        }
        commit()
    }

    private mutating func insert(_ name: BorrowedText, _ store: FruitStore) {
        let index = indexOrInsert(name)
        initial.save(to: &undoLevels)
        note(index)
        stores[index] = store
        revisions[index] = 1
    }

    private mutating func note(_ index: Int) {
        changes.append(Change(index: index, revision: revisions[index]))
        changedIn[index] = transaction
    }

    private mutating func indexOrInsert(_ name: BorrowedText) -> Int {
        let (index, isNew) = names.insert(name.bytes)
        if isNew {
            stores.append(initial)
            revisions.append(0)
            changedIn.append(0)
        }
        return index
    }
}
