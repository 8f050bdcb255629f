import CPrefetch
import JuiceMessages

/// The first answers of one partition's latest commands, found by the commands' fingerprints.
///
/// A queue: answers are appended, and the oldest are removed once they leave the window. A repeat is not appended, since the
/// window counts from the first command.
///
/// What is kept of each is where it stands in the journal. These places are in a ring buffer, 20 bytes each, and a hash table of
/// 4-byte positions finds them: a million commands take 30 bytes each, however long their ids and answers are. Once both have
/// grown to the window's size, remembering and forgetting allocate nothing. The latest answers are at hand as they were written;
/// an older one must be read back from the journal first.
///
/// A cancel is remembered in place of its order, so that one look finds what became of an order's id. Only a cancel that was
/// rejected has an entry of its own, since its order stays made.
package struct DuplicateMemory {
    /// A remembered answer.
    package struct FirstAnswer {
        fileprivate let number: Int
        /// Where it stands in the journal; -1 before it is committed.
        package let offset: Offset
        /// Whether it took an order back.
        package let isCancelled: Bool
    }

    /// Of words of 4 bytes only, since those of 8 would make it 24 bytes long.
    private struct Entry {
        private let lows: (UInt32, UInt32)
        /// The fingerprint's, with the mark of an answer that took an order back in the lowest bit.
        private let marked: UInt32
        /// When the command was sent, in units of `1 << droppedBits` milliseconds.
        let time: UInt32
        /// The lower half of the answer's offset. Before the commit it is counted from the start of the transaction.
        var place: UInt32

        static let none = Entry(low: 0, high: 0, isCancelled: false, time: 0, place: 0)

        init(low: UInt64, high: UInt32, isCancelled: Bool, time: UInt32, place: UInt32) {
            lows = (UInt32(truncatingIfNeeded: low), UInt32(truncatingIfNeeded: low >> 32))
            (marked, self.time, self.place) = (high | (isCancelled ? 1 : 0), time, place)
        }

        var low: UInt64 { UInt64(lows.1) << 32 | UInt64(lows.0) }
        var high: UInt32 { marked & ~1 }
        var isCancelled: Bool { marked & 1 == 1 }
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
    private var values: AnswerValues
    private var ages: AnswerAges
    /// Where the oldest answer stands. The others' places are within 2^32 after it.
    private var firstOffset: Offset = 0
    /// The numbers of the oldest answer, of the first uncommitted one, and of the next one.
    private var first = 0
    private var uncommitted = 0
    private var next = 0
    /// Commands sent up to this time, in the units of entries, may have been forgotten; nil if none was.
    private var forgottenUpTo: UInt32?
    /// Numbers of answers that are no longer found, because their commands were carried out again since the last commit.
    private var superseded: [Int] = []

    private static let smallest = 16

    /// - Parameter valueLimit: the most bytes of answers that are at hand, and as many of those that were read back.
    package init(window: DuplicateWindow, valueLimit: Int) {
        self.window = window
        values = AnswerValues(limit: valueLimit)
        let granule = max(16, window.age / 1000)
        droppedBits = Timestamp.bitWidth - 1 - granule.leadingZeroBitCount
        // Of two times that are both rounded down, the difference is too large by less than one.
        let unit: Timestamp = 1 << Timestamp(droppedBits)
        reach = Int32(clamping: (window.age + unit - 1) / unit)
        ages = AnswerAges(window: window)
        ring = Array(repeating: .none, count: Self.smallest)
        slots = Array(repeating: 0, count: Self.smallest * 2)
    }

    /// How many commands are remembered.
    var count: Int { next - first }

    /// The memory of the ring and the hash table, in bytes.
    var footprint: Int {
        ring.capacity * MemoryLayout<Entry>.stride + slots.capacity * MemoryLayout<UInt32>.stride
    }

    /// Prefetches the slot of a command that is about to be looked up.
    func prefetch(_ command: CommandFingerprint) {
        let home = home(of: command.low)
        slots.withUnsafeBufferPointer { slots in if let start = slots.baseAddress { CPrefetch.prefetch(start + home) } }
    }

    /// The first answer to a command that was sent at this time, if it is remembered and within the window.
    ///
    /// The first command is the one that was read first, even if it was sent later.
    package func firstAnswer(to command: CommandFingerprint, sentAt time: Timestamp) -> FirstAnswer? {
        let (slot, isFound) = find(command)
        guard isFound else { return nil }
        let position = position(in: slot)
        guard Int32(bitPattern: units(time) &- ring[position].time) <= reach else { return nil }
        return answer(at: position)
    }

    private func answer(at position: Int) -> FirstAnswer {
        let (number, entry) = (number(at: position), ring[position])
        let distance = entry.place &- UInt32(truncatingIfNeeded: firstOffset)
        return FirstAnswer(
            number: number, offset: number < uncommitted ? firstOffset + Offset(distance) : -1, isCancelled: entry.isCancelled)
    }

    /// Whether an answer's value is at hand, and need not be read back.
    package func hasValue(of answer: FirstAnswer) -> Bool {
        values.has(answer.number) || values.has(at: answer.offset)
    }

    /// Calls `body` with an answer's value, which must be at hand.
    package func withValue<Result>(of answer: FirstAnswer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        values.has(answer.number) ? values.withValue(of: answer.number, body) : values.withValue(at: answer.offset, body)
    }

    /// Makes room for values that are read back.
    mutating func beginReadBack() { values.beginReadBack() }

    /// Adds a value from the journal, if it is the first answer to this command. One that is not wanted may be left out.
    ///
    /// - Returns: whether it is the first answer.
    mutating func addReadBack(
        _ value: UnsafeRawBufferPointer,
        at offset: Offset,
        of command: CommandFingerprint,
        isWanted: Bool
    ) -> Bool {
        let (slot, isFound) = find(command)
        guard isFound else { return false }
        let answer = answer(at: position(in: slot))
        guard answer.number < uncommitted, answer.offset == offset else { return false }
        if !values.has(answer.number) { values.addReadBack(value, at: offset, isWanted: isWanted) }
        return true
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
    ///
    /// - Parameters:
    ///   - place: its place among the journal's records of this transaction, from 0.
    ///   - value: what is written.
    package mutating func remember(
        _ kind: CommandKind, _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at place: Int,
        isCancelled: Bool = false, sentAt time: Timestamp
    ) {
        ages.add(kind, at: time, number: next)
        let time = kind == .cancel ? laterUnits(of: command, time) : units(time)
        append(command, value, place: Offset(place), isCancelled, time)
    }

    /// Restores an answer from the log, which was given at this time. Its command was sent at an unknown earlier time, so a
    /// repeat is recognised for longer than the window, never for less.
    ///
    /// The answer counts as committed. Until commands are read again, the age of their repeats is unknown, so the oldest
    /// answers are forgotten by their number alone.
    mutating func restore(
        _ kind: CommandKind, _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at offset: Offset, isCancelled: Bool,
        answeredAt time: Timestamp
    ) {
        // Nothing was answered before 1970.
        ages.addRestored(kind, answeredAt: max(0, time), number: next)
        forgetFar(from: offset)
        if count == 0 { firstOffset = offset }
        append(command, value, place: offset, isCancelled, units(max(0, time)))
        keepAll()
    }

    /// Makes what was remembered since the last commit permanent, and forgets what has left the window.
    ///
    /// Nothing is forgotten before a commit, since an undo could not restore it.
    ///
    /// - Parameter records: where the transaction's records stand in the journal: at least those that were remembered.
    package mutating func commit(at time: Timestamp, _ records: [Range<Offset>]) {
        place(in: records)
        ages.advance(to: time)
        let kept = ages.firstToKeep(of: first..<next)
        keepAll()
        while first < kept { forgetOldest() }
    }

    /// Replaces places in the transaction by those in the journal.
    private mutating func place(in records: [Range<Offset>]) {
        guard uncommitted < next, var run = records.first else { return }
        var rest = records.dropFirst()
        // The place in the transaction of the run's first record.
        var start = 0
        forgetFar(from: run.lowerBound)
        for number in uncommitted..<next {
            let place = Int(ring[number & (ring.count - 1)].place)
            while place - start >= run.count, let following = rest.popFirst() {
                start += run.count
                run = following
            }
            let offset = run.lowerBound + Offset(place - start)
            if number == first { firstOffset = offset }
            ring[number & (ring.count - 1)].place = UInt32(truncatingIfNeeded: offset)
        }
    }

    /// Forgets what was remembered since the last commit.
    mutating func undo() {
        while next > uncommitted {
            next -= 1
            forget(position: next & (ring.count - 1))
        }
        ages.undo(to: next)
        values.removeAll(from: next)
        // Their commands were not carried out again after all: the earlier answers are found again.
        for number in superseded.reversed() where number < next {
            let position = number & (ring.count - 1)
            let entry = ring[position]
            slots[find(entry.low, entry.high).slot] = content(entry.high, at: position)
        }
        superseded.removeAll(keepingCapacity: true)
    }

    private mutating func keepAll() {
        uncommitted = next
        if !superseded.isEmpty { superseded.removeAll(keepingCapacity: true) }
        while count > window.count { forgetOldest() }
    }

    /// Forgets the answers that stand so far before an offset that 4 bytes do not tell how far.
    private mutating func forgetFar(from offset: Offset) {
        while first < uncommitted, offset - firstOffset > Offset(Int32.max) { forgetOldest() }
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
    private func home(of low: UInt64) -> Int { Int(truncatingIfNeeded: low) & (slots.count - 1) }

    /// The bits of a slot that hold a position in the ring plus one. The bits above are the fingerprint's: they rule out almost
    /// every other command without a cache miss in the ring.
    private var positionBits: UInt32 { UInt32(truncatingIfNeeded: ring.count * 2 - 1) }

    private func content(_ high: UInt32, at position: Int) -> UInt32 {
        high & ~positionBits | UInt32(truncatingIfNeeded: position + 1)
    }

    private func position(in slot: Int) -> Int { Int(slots[slot] & positionBits) - 1 }

    /// The slot of a command, or the free slot where it belongs.
    @inline(__always)
    private func find(_ command: CommandFingerprint) -> (slot: Int, isFound: Bool) {
        find(command.low, command.high)
    }

    /// Inlined, because the call would copy all stored properties.
    @inline(__always)
    private func find(_ low: UInt64, _ high: UInt32) -> (slot: Int, isFound: Bool) {
        let (positionBits, mask) = (positionBits, slots.count - 1)
        let tag = high & ~positionBits
        var slot = home(of: low)
        while slots[slot] != 0 {
            if slots[slot] & ~positionBits == tag {
                let entry = ring[position(in: slot)]
                if entry.low == low, entry.high == high { return (slot, true) }
            }
            slot = (slot + 1) & mask
        }
        return (slot, false)
    }

    private mutating func append(
        _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, place: Offset, _ isCancelled: Bool, _ time: UInt32
    ) {
        if count == ring.count { grow() }
        let position = next & (ring.count - 1)
        ring[position] = Entry(
            low: command.low, high: command.high, isCancelled: isCancelled, time: time, place: UInt32(truncatingIfNeeded: place))
        let (slot, isFound) = find(command)
        if isFound { superseded.append(number(at: self.position(in: slot))) }
        slots[slot] = content(command.high, at: position)
        values.append(value, number: next)
        next += 1
    }

    /// The number of the answer at a position.
    private func number(at position: Int) -> Int { next - 1 - ((next - 1 - position) & (ring.count - 1)) }

    private mutating func forgetOldest() {
        let time = ring[first & (ring.count - 1)].time
        if forgottenUpTo.map({ Int32(bitPattern: time &- $0) > 0 }) ?? true { forgottenUpTo = time }
        forget(position: first & (ring.count - 1))
        first += 1
        guard first < uncommitted else { return }
        let place = ring[first & (ring.count - 1)].place
        firstOffset += Offset(place &- UInt32(truncatingIfNeeded: firstOffset))
    }

    private mutating func forget(position: Int) {
        // If the command was carried out again after the window, its slot belongs to the later answer.
        let (slot, isFound) = find(ring[position].low, ring[position].high)
        if isFound, self.position(in: slot) == position { free(slot) }
    }

    /// Frees a slot, and moves later entries of the same probe sequence into the gap.
    private mutating func free(_ freed: Int) {
        let mask = slots.count - 1
        var gap = freed
        var slot = (gap + 1) & mask
        while slots[slot] != 0 {
            let distanceFromHome = (slot - home(of: ring[position(in: slot)].low)) & mask
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
            let entry = ring[position]
            slots[find(entry.low, entry.high).slot] = content(entry.high, at: position)
        }
    }
}
