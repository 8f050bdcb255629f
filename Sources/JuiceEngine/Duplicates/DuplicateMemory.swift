import CPrefetch
import JuiceMessages

/// The first answers of one partition's latest commands, found by the commands' fingerprints.
///
/// A queue: answers are appended, and the oldest are removed once they leave the window. A repeat is not appended, since the
/// window counts from the first command.
///
/// The answers are in a ring buffer, 32 bytes each, and a hash table of 4-byte positions finds them: a million commands take
/// 42 bytes each, however long their ids are. Once both have grown to the window's size, remembering and forgetting allocate
/// nothing, except for answers that need more than these; what they need has a budget.
///
/// A cancel is remembered in place of its order, so that one look finds what became of an order's id. Only a cancel that was
/// rejected has an entry of its own, since its order stays made.
package struct DuplicateMemory {
    private struct Entry {
        let command: CommandFingerprint
        /// When the command was sent, in units of `1 << droppedBits` milliseconds. It fits into the fingerprint's padding.
        let time: UInt32
        /// Nil in an unused entry.
        let answer: CompactAnswer?

        static let none = Entry(command: .none, time: 0, answer: nil)
    }

    private let window: DuplicateWindow
    /// Times are kept without this many low bits: in units of at most a thousandth of the window, but at least 16 ms. So
    /// 32 bits hold differences of more than a year, longer than a command can stay unread.
    private let droppedBits: Int
    /// The window in these units, rounded up, so that a repeat just within it is recognised.
    private let reach: Int32
    /// A power of two of entries; answer number `n` is at `n & (ring.count - 1)`.
    private var ring: [Entry]
    /// An open-addressing hash table. A slot holds a position in the ring plus one, and bits of the fingerprint; 0 is free.
    /// Twice as many slots as ring entries keep probes short.
    private var slots: [UInt32]
    /// What answers need besides their entries.
    var templates: AnswerTemplates
    private var ages: AnswerAges
    /// The numbers of the oldest answer, of the first uncommitted one, and of the next one.
    private var first = 0
    private var uncommitted = 0
    private var next = 0
    /// Commands sent up to this time, in the units of entries, may have been forgotten; nil if none was.
    private var forgottenUpTo: UInt32?
    /// Numbers of answers that are no longer found, because their commands were carried out again since the last commit.
    private var superseded: [Int] = []

    private static let smallest = 16

    package init(window: DuplicateWindow) {
        self.window = window
        let granule = max(16, window.age / 1000)
        droppedBits = Timestamp.bitWidth - 1 - granule.leadingZeroBitCount
        // Of two times that are both rounded down, the difference is too large by less than one.
        let unit: Timestamp = 1 << Timestamp(droppedBits)
        reach = Int32(clamping: (window.age + unit - 1) / unit)
        ages = AnswerAges(window: window)
        templates = AnswerTemplates(budget: window.extraBytes)
        ring = Array(repeating: .none, count: Self.smallest)
        slots = Array(repeating: 0, count: Self.smallest * 2)
    }

    /// How many commands are remembered.
    var count: Int { next - first }

    /// The memory that answers take besides their entries, in bytes.
    var extraBytes: Int { templates.byteCount }

    /// The memory of the ring and the hash table, in bytes.
    var footprint: Int {
        ring.capacity * MemoryLayout<Entry>.stride + slots.capacity * MemoryLayout<UInt32>.stride
    }

    /// Prefetches the slot of a command that is about to be looked up.
    func prefetch(_ command: CommandFingerprint) {
        let home = home(of: command)
        slots.withUnsafeBufferPointer { slots in
            if let start = slots.baseAddress { CPrefetch.prefetch(start + home) }
        }
    }

    /// The first answer to a command that was sent at this time, if it is remembered and within the window.
    ///
    /// The first command is the one that was read first, even if it was sent later.
    package func firstAnswer(to command: CommandFingerprint, sentAt time: Timestamp) -> CompactAnswer? {
        let (slot, isFound) = find(command)
        guard isFound else { return nil }
        let position = position(in: slot)
        guard Int32(bitPattern: units(time) &- ring[position].time) <= reach else { return nil }
        return ring[position].answer
    }

    /// Whether an answer to a command is remembered, however old.
    func remembers(_ command: CommandFingerprint) -> Bool { find(command).isFound }

    /// Whether every command that was sent after this time, and answered, is remembered.
    func reachesBack(to time: Timestamp) -> Bool {
        guard let forgottenUpTo else { return true }
        return Int32(bitPattern: units(time) &- forgottenUpTo) > 0
    }

    /// Commands sent up to this time may have been answered, and their answers are not remembered.
    mutating func begin(at time: Timestamp) { forgottenUpTo = units(time) }

    /// Remembers the first answer to a command that was sent at this time. It replaces one from before the window.
    ///
    /// A cancel replaces its order, and counts from the later of both times: otherwise the order could be made again within its
    /// own window.
    package mutating func remember(
        _ kind: CommandKind,
        _ command: CommandFingerprint,
        _ answer: CompactAnswer,
        sentAt time: Timestamp
    ) {
        ages.add(kind, at: time, number: next)
        append(command, answer, kind == .cancel ? laterUnits(of: command, time) : units(time))
    }

    /// Restores an answer from the log, which was given at this time. Its command was sent at an unknown earlier time, so a
    /// repeat is recognised for longer than the window, never for less.
    ///
    /// The answer counts as committed. Until commands are read again, the age of their repeats is unknown, so the oldest
    /// answers are forgotten by their number alone.
    mutating func restore(
        _ kind: CommandKind,
        _ command: CommandFingerprint,
        _ answer: CompactAnswer,
        answeredAt time: Timestamp
    ) {
        // Nothing was answered before 1970.
        ages.addRestored(kind, answeredAt: max(0, time), number: next)
        append(command, answer, units(max(0, time)))
        keepAll()
        _ = forgetSurplus()
    }

    /// Makes what was remembered since the last commit permanent, and forgets what has left the window.
    ///
    /// Nothing is forgotten before a commit, since an undo could not restore it.
    ///
    /// - Returns: how many answers were forgotten only because the templates exceeded their budget.
    @discardableResult
    package mutating func commit(at time: Timestamp) -> Int {
        keepAll()
        ages.advance(to: time)
        let kept = ages.firstToKeep(of: first..<next)
        while first < kept { forgetOldest() }
        return forgetSurplus()
    }

    /// Forgets what was remembered since the last commit.
    mutating func undo() {
        while next > uncommitted {
            next -= 1
            forget(position: next & (ring.count - 1))
        }
        ages.undo(to: next)
        // Their commands were not carried out again after all: the earlier answers are found again.
        for number in superseded.reversed() where number < next {
            let position = number & (ring.count - 1)
            let command = ring[position].command
            slots[find(command).slot] = content(command, at: position)
        }
        superseded.removeAll(keepingCapacity: true)
    }

    private mutating func keepAll() {
        uncommitted = next
        if !superseded.isEmpty { superseded.removeAll(keepingCapacity: true) }
    }

    private mutating func forgetSurplus() -> Int {
        while count > window.count { forgetOldest() }
        let before = first
        while templates.isOverBudget, count > 0 { forgetOldest() }
        return first - before
    }

    private func units(_ time: Timestamp) -> UInt32 {
        UInt32(truncatingIfNeeded: time >> Timestamp(droppedBits))
    }

    /// The later of a time and that of the remembered command, if there is one.
    private func laterUnits(of command: CommandFingerprint, _ time: Timestamp) -> UInt32 {
        let (slot, isFound) = find(command)
        guard isFound else { return units(time) }
        let remembered = ring[position(in: slot)].time
        return Int32(bitPattern: remembered &- units(time)) > 0 ? remembered : units(time)
    }
}

// MARK: - The table

extension DuplicateMemory {
    private func home(of command: CommandFingerprint) -> Int {
        Int(truncatingIfNeeded: command.low) & (slots.count - 1)
    }

    /// The bits of a slot that hold a position in the ring plus one. The bits above are the fingerprint's: they rule out almost
    /// every other command without a cache miss in the ring.
    private var positionBits: UInt32 { UInt32(truncatingIfNeeded: ring.count * 2 - 1) }

    private func content(_ command: CommandFingerprint, at position: Int) -> UInt32 {
        command.high & ~positionBits | UInt32(truncatingIfNeeded: position + 1)
    }

    private func position(in slot: Int) -> Int { Int(slots[slot] & positionBits) - 1 }

    /// The slot of a command, or the free slot where it belongs.
    ///
    /// Inlined, because the call would copy all stored properties.
    @inline(__always)
    private func find(_ command: CommandFingerprint) -> (slot: Int, isFound: Bool) {
        let (positionBits, mask) = (positionBits, slots.count - 1)
        let tag = command.high & ~positionBits
        var slot = home(of: command)
        while slots[slot] != 0 {
            if slots[slot] & ~positionBits == tag, ring[position(in: slot)].command == command {
                return (slot, true)
            }
            slot = (slot + 1) & mask
        }
        return (slot, false)
    }

    private mutating func append(_ command: CommandFingerprint, _ answer: CompactAnswer, _ time: UInt32) {
        if count == ring.count { grow() }
        let position = next & (ring.count - 1)
        ring[position] = Entry(command: command, time: time, answer: answer)
        let (slot, isFound) = find(command)
        if isFound { superseded.append(number(at: self.position(in: slot))) }
        slots[slot] = content(command, at: position)
        next += 1
    }

    /// The number of the answer at a position.
    private func number(at position: Int) -> Int { next - ((next - position) & (ring.count - 1)) }

    private mutating func forgetOldest() {
        let time = ring[first & (ring.count - 1)].time
        if forgottenUpTo.map({ Int32(bitPattern: time &- $0) > 0 }) ?? true { forgottenUpTo = time }
        forget(position: first & (ring.count - 1))
        first += 1
    }

    private mutating func forget(position: Int) {
        if templates.byteCount > 0, let answer = ring[position].answer { templates.remove(answer) }
        // If the command was carried out again after the window, its slot belongs to the later answer.
        let (slot, isFound) = find(ring[position].command)
        if isFound, self.position(in: slot) == position { free(slot) }
    }

    /// Frees a slot, and moves later entries of the same probe sequence into the gap.
    private mutating func free(_ freed: Int) {
        let mask = slots.count - 1
        var gap = freed
        var slot = (gap + 1) & mask
        while slots[slot] != 0 {
            let distanceFromHome = (slot - home(of: ring[position(in: slot)].command)) & mask
            if distanceFromHome >= (slot - gap) & mask {
                slots[gap] = slots[slot]
                gap = slot
            }
            slot = (slot + 1) & mask
        }
        slots[gap] = 0
    }

    private mutating func grow() {
        let old = ring
        ring = Array(repeating: .none, count: old.count * 2)
        slots = Array(repeating: 0, count: ring.count * 2)
        for number in first..<next {
            let position = number & (ring.count - 1)
            ring[position] = old[number & (old.count - 1)]
            let command = ring[position].command
            slots[find(command).slot] = content(command, at: position)
        }
    }
}
