import JuiceDomain
import JuiceMessages

/// The stores of one partition, with an undo of all changes since the last commit.
///
/// A store is added by its first change; until then it has the menu's initial stock. Stores are found by the key's bytes. Neither a
/// lookup nor a change of a known store allocates memory. All levels lie in one array, so that a million stores take a few large
/// allocations and not a million small ones.
package struct StoreTable {
    private let initial: FruitStore
    private var names = ByteKeyTable()
    private var levels: [Int32] = []
    private var revisions: [Int] = []
    /// The weight of each store in ``changes``.
    private var weights: [UInt64] = []
    /// All changes, those of the open transaction included.
    private(set) var changes = StockChanges()
    private var committedChanges = StockChanges()
    /// The store loaded last from `levels`. Reused, because a new store would allocate memory.
    private var current: FruitStore

    /// Whether each store changed since the last commit: only its first change saves levels.
    private var isChanged: [Bool] = []
    /// The stores that changed since the last commit, with their former revisions and, in `undoLevels`, their former levels.
    private var changed: [(index: Int, revision: Int)] = []
    private var undoLevels: [Int32] = []
    /// Stores whose committed state the stock topic does not have yet.
    private(set) var unwritten: [Int] = []
    private var isUnwritten: [Bool] = []
    /// How many of them the open transaction writes.
    private(set) var writing = 0

    init(menu: Menu) {
        initial = FruitStore(menu: menu)
        current = initial
    }

    /// Reserves memory for this many stores. The system provides pages only once they are used.
    mutating func reserveCapacity(_ capacity: Int) {
        names.reserveCapacity(capacity)
        levels.reserveCapacity(capacity * initial.fruitCount)
        revisions.reserveCapacity(capacity)
        weights.reserveCapacity(capacity)
        isChanged.reserveCapacity(capacity)
        isUnwritten.reserveCapacity(capacity)
    }

    /// The number of stores that ever changed.
    var count: Int { names.count }

    func prefetch(_ name: ByteKeyTable.Key) { names.prefetch(name) }

    /// Carries a command out on a store, and makes the content of its answer, with the store's revision.
    ///
    /// - Throws: why the command is rejected. The store is as it was.
    mutating func carryOut(
        _ command: CommandContent, on name: ByteKeyTable.Key, by maker: JuiceMaker, _ answer: inout AnswerContent
    ) throws(Rejection) {
        answer.revision = 0
        guard let index = names.find(name) else {
            current.restore(from: initial)
            guard try answer.carryOut(command, by: maker, on: &current) else { return }
            let index = insert(name)
            saveForUndo(index)
            put(current, at: index)
            setRevision(1, at: index)
            return answer.revision = 1
        }
        load(index)
        guard try answer.carryOut(command, by: maker, on: &current) else { return }
        if !isChanged[index] { saveForUndo(index) }
        put(current, at: index)
        // A restored revision may already be the largest integer.
        setRevision(revisions[index] + (revisions[index] < .max ? 1 : 0), at: index)
        answer.revision = revisions[index]
    }

    /// Sets a store to its record in the stock topic.
    mutating func restore(_ name: ByteKeyTable.Key, _ store: FruitStore, revision: Int) {
        let index = insert(name)
        put(store, at: index)
        setRevision(revision, at: index)
        committedChanges = changes
    }

    @inline(__always)
    private mutating func setRevision(_ revision: Int, at index: Int) {
        changes.add(revision - revisions[index], ofWeight: weights[index])
        revisions[index] = revision
    }

    func revision(at index: Int) -> Int { revisions[index] }

    func weight(at index: Int) -> UInt64 { weights[index] }

    func name(at index: Int) -> String { names.withKey(at: index) { String(BorrowedText($0)) } }

    /// Applies a change that the stock topic lacks, from its answer.
    mutating func restore(at index: Int, revision: Int, _ levels: (_ set: (_ fruit: Int, _ level: Int) -> Void) -> Void) {
        let first = firstLevel(of: index)
        levels { fruit, level in self.levels[first + fruit] = Int32(clamping: level) }
        setRevision(revision, at: index)
        committedChanges = changes
        markUnwritten(index)
    }

    /// A store's stock and its revision, the number of its changes.
    func state(of name: BorrowedText) -> (store: FruitStore, revision: Int) {
        var store = initial
        guard let index = names.find(name.bytes) else { return (store, 0) }
        store.restore(from: levels, at: firstLevel(of: index))
        return (store, revisions[index])
    }

    /// Whether the stock topic lacks a store's last change.
    func isUnwritten(_ name: UnsafeRawBufferPointer) -> Bool { names.find(name).map { isUnwritten[$0] } ?? false }

    /// The most stores that one transaction writes: a second's worth. More of them are unwritten only after the stock topic has
    /// lost records.
    static let mostWritten = 20_000

    /// Calls `body` with the next stores whose changes the stock topic lacks, ``mostWritten`` at most. Nothing may have changed
    /// since the last commit: the stock topic must never be ahead of the answers.
    mutating func writeNext<Failure: Error>(_ body: (BorrowedText, FruitStore, Int) throws(Failure) -> Void) throws(Failure) {
        writing = min(unwritten.count, Self.mostWritten)
        for index in unwritten[..<writing] {
            load(index)
            try names.withKey(at: index) { (name) throws(Failure) in try body(BorrowedText(name), current, revisions[index]) }
        }
    }

    /// Makes the changes permanent. The stock topic now lacks them, but has what the transaction wrote to it.
    mutating func commit() {
        for index in unwritten[..<writing] { isUnwritten[index] = false }
        unwritten.removeSubrange(..<writing)
        writing = 0
        for change in changed { markUnwritten(change.index) }
        committedChanges = changes
        forgetChanges()
    }

    private mutating func markUnwritten(_ index: Int) {
        guard !isUnwritten[index] else { return }
        isUnwritten[index] = true
        unwritten.append(index)
    }

    /// Marks all changed stores as unwritten: the stock topic lost records, or another program wrote to it.
    mutating func rewriteAll() {
        for index in 0..<count where revisions[index] > 0 { markUnwritten(index) }
    }

    /// Reverts every change since the last commit.
    mutating func undo() {
        writing = 0
        for (position, change) in changed.enumerated() {
            let (first, saved) = (firstLevel(of: change.index), position * initial.fruitCount)
            for fruit in 0..<initial.fruitCount { levels[first + fruit] = undoLevels[saved + fruit] }
            revisions[change.index] = change.revision
        }
        changes = committedChanges
        forgetChanges()
    }

    private mutating func forgetChanges() {
        for change in changed { isChanged[change.index] = false }
        changed.removeAll(keepingCapacity: true)
        undoLevels.removeAll(keepingCapacity: true)
    }

    private func firstLevel(of index: Int) -> Int { index * initial.fruitCount }

    private mutating func load(_ index: Int) { current.restore(from: levels, at: firstLevel(of: index)) }

    private mutating func put(_ store: FruitStore, at index: Int) { store.save(to: &levels, at: firstLevel(of: index)) }

    private mutating func saveForUndo(_ index: Int) {
        changed.append((index, revisions[index]))
        isChanged[index] = true
        let first = firstLevel(of: index)
        undoLevels.append(contentsOf: levels[first..<first + initial.fruitCount])
    }

    /// The index of a store, which is added if it is new.
    mutating func insert(_ name: ByteKeyTable.Key) -> Int {
        let (index, isNew) = names.insert(name)
        if isNew {
            initial.save(to: &levels)
            revisions.append(0)
            weights.append(StockChanges.weight(of: name.bytes))
            isChanged.append(false)
            isUnwritten.append(false)
        }
        return index
    }
}
