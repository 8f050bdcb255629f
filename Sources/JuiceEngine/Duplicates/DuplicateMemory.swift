import CProcessor
import JuiceMessages

/// The first answers of one partition's latest commands, found by the commands' fingerprints.
///
/// It is a queue: a new answer is appended, and the oldest are removed once there are more than the window's count. A ring buffer
/// of 20-byte entries has the offset of each answer in the journal, and a hash table has 4-byte positions in the ring. So a million
/// commands take 30 bytes each, however long their ids and answers are. Once both have grown to the window's size, nothing more is
/// allocated. "Repeats" in docs/JOURNAL.md says where the answers' bytes come from.
///
/// A cancel is remembered under its order's fingerprint, so that one lookup says what became of an order. Only a rejected cancel
/// has a fingerprint of its own, since its order stays made.
package struct DuplicateMemory {
    package struct FirstAnswer {
        let number: Int
        /// Its offset in the journal; -1 before it is committed.
        package let offset: Offset
        /// What became of the command.
        package let was: FormerOutcome

        /// Whether it is the answer to a cancel that was carried out.
        package var isCancelled: Bool { was == .cancelled }
    }

    /// Made of 4-byte words only: with 8-byte ones it would take 24 bytes.
    private struct Entry {
        private let lows: (UInt32, UInt32)
        /// The fingerprint's upper part, with the upper bits of `time` and `was` in the lowest bits.
        private let marked: UInt32
        private let lowTime: UInt32
        /// The lower half of the answer's offset; before the commit, its index among the transaction's journal records.
        var offset: UInt32

        static let none = Entry(low: 0, high: 0, was: .made, time: 0, offset: 0)

        init(low: UInt64, high: UInt32, was: FormerOutcome, time: Int64, offset: UInt32) {
            lows = (UInt32(truncatingIfNeeded: low), UInt32(truncatingIfNeeded: low >> 32))
            marked = high | UInt32(UInt8(truncatingIfNeeded: time >> 32)) << 2 | was.rawValue
            (lowTime, self.offset) = (UInt32(truncatingIfNeeded: time), offset)
        }

        var low: UInt64 { UInt64(lows.1) << 32 | UInt64(lows.0) }
        var high: UInt32 { marked & ~CommandFingerprint.freeBits }
        var was: FormerOutcome { FormerOutcome(rawValue: marked & 3) ?? .made }
        /// When the command was sent, in units of `1 << droppedBits` milliseconds since 1970. 40 bits hold centuries, so that the
        /// difference of two times is right whatever clocks they come from.
        var time: Int64 { Int64(Int8(truncatingIfNeeded: marked >> 2)) << 32 | Int64(lowTime) }
    }

    private let window: DuplicateWindow
    /// Times drop this many low bits. The unit is at most a thousandth of the window, but at least 16 ms.
    private let droppedBits: Int
    /// The window in these units, rounded up, so that a repeat just within it is recognised.
    private let reach: Int64
    /// The number of entries is a power of two: see `position(of:)`.
    private var ring: [Entry]
    /// An open-addressing hash table. A slot holds a position in the ring plus one, and bits of the fingerprint; 0 is free.
    /// Twice as many slots as ring entries keep probes short.
    private var slots: [UInt32]
    private var values: AnswerValues
    /// The latest time in each block of the ring, to find an answer by time without scanning all entries.
    private var blocks: [Int64] = [0]
    /// The offset of the oldest answer. All others lie within 2^31 after it.
    private var firstOffset: Offset = 0
    /// The numbers of the oldest answer, of the first uncommitted one, and of the next one.
    private var first = 0
    private var uncommitted = 0
    private var next = 0
    /// The number of the first answer that is not in the hash table yet. Only a restore leaves some out for a moment.
    private var unindexed = 0
    /// Answers before this place in the journal were not restored.
    private var restoredFrom: Offset = 0
    /// Answers that the open transaction has superseded: their commands came again after the window, and were carried out again.
    private var superseded: [Int] = []

    private static let smallest = 16
    /// The number of entries in a block.
    private static let block = 4_096
    /// How many answers a restore reads ahead of the hash table.
    private static let fetchDistance = 8

    /// - Parameter valueLimit: the most bytes of the latest answers in memory, and as many again of those that were read back.
    package init(window: DuplicateWindow, valueLimit: Int) {
        self.window = window
        values = AnswerValues(limit: valueLimit)
        let granule = max(16, window.age / 1000)
        droppedBits = Timestamp.bitWidth - 1 - granule.leadingZeroBitCount
        // The difference of two times that are both rounded down is too large by less than one unit.
        let unit: Timestamp = 1 << Timestamp(droppedBits)
        reach = (window.age + unit - 1) / unit
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
        slots.withUnsafeBufferPointer { slots in if let start = slots.baseAddress { CProcessor.prefetch(start + home) } }
    }

    /// The first answer to a command that was sent at this time, if it is remembered and within the window. The first command is
    /// the one that was read first, even if it was sent later.
    // Inlined, like the functions that it calls, because each call would copy all stored properties.
    @inline(__always)
    package func firstAnswer(to command: CommandFingerprint, sentAt time: Timestamp) -> FirstAnswer? {
        guard let position = find(command), units(time) - ring[position].time <= reach else { return nil }
        return answer(at: position)
    }

    @inline(__always)
    private func answer(at position: Int) -> FirstAnswer {
        let (number, entry) = (number(at: position), ring[position])
        let distance = entry.offset &- UInt32(truncatingIfNeeded: firstOffset)
        return FirstAnswer(
            number: number, offset: number < uncommitted ? firstOffset + Offset(distance) : -1, was: entry.was)
    }

    /// Whether an answer's bytes are in memory, or known to be lost.
    package func hasValue(of answer: FirstAnswer) -> Bool { values.has(answer) }

    /// Calls `body` with an answer's bytes; returns nil if they are not in memory, or lost.
    package func withValue<Result>(of answer: FirstAnswer, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        values.withValue(of: answer) { $0.isEmpty ? nil : body($0) } ?? nil
    }

    /// Makes room for answers that are read back.
    mutating func beginReadBack() { values.beginReadBack() }

    /// Adds the bytes of an answer from the journal. Unless they are wanted, they may be left out.
    ///
    /// - Returns: whether it is the first answer to this command. If not, nothing is added.
    mutating func addReadBack(
        _ value: UnsafeRawBufferPointer, at offset: Offset, of command: CommandFingerprint, isWanted: Bool
    ) -> Bool {
        guard let position = find(command) else { return false }
        let answer = answer(at: position)
        guard answer.number < uncommitted, answer.offset == offset else { return false }
        if !values.isRecent(answer) { values.addReadBack(value, at: offset, isWanted: isWanted) }
        return true
    }

    /// Marks the answer at this offset as lost: it can never be read back. Its command is still known.
    mutating func lose(at offset: Offset) { values.addReadBack(.init(start: nil, count: 0), at: offset, isWanted: true) }

    /// Whether an answer to a command is remembered, however old.
    func remembers(_ command: CommandFingerprint) -> Bool { find(command) != nil }

    /// The place in the journal before which answers may have been forgotten.
    var forgottenBefore: Offset { first > 0 ? max(restoredFrom, firstOffset) : restoredFrom }

    /// Sets the place in the journal before which answers are not restored.
    mutating func forget(before offset: Offset) { restoredFrom = offset }

    /// Remembers the first answer to a command that was sent at this time. It replaces one from before the window. A cancel
    /// replaces its order, and counts from the later of both times: otherwise the order could be made again within its own window.
    ///
    /// - Parameter index: the answer's index among the journal records of this transaction.
    /// - Returns: the time from which it counts.
    @discardableResult
    package mutating func remember(
        _ kind: CommandKind, _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at index: Int,
        was: FormerOutcome, sentAt sent: Timestamp
    ) -> Timestamp {
        var time = units(sent)
        if kind == .cancel, let order = find(command) { time = max(time, ring[order].time) }
        append(command, value, at: Offset(index), was, time)
        return max(sent, time << Timestamp(droppedBits))
    }

    /// Restores an answer from the journal, to a command that was sent at this time or a little earlier. If earlier, a repeat may
    /// be recognised for longer than the window, but never for less. The answer counts as committed.
    ///
    /// It is found only after ``finishRestore()``: answers wait here until the processor has fetched their slots, which are rarely
    /// in its caches.
    mutating func restore(
        _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at offset: Offset, was: FormerOutcome,
        sentAt time: Timestamp
    ) {
        forgetFar(from: offset)
        if count == 0 { firstOffset = offset }
        enqueue(command, value, at: offset, was, units(time))
        prefetch(command)
        while next - unindexed > Self.fetchDistance { index() }
        makePermanent()
    }

    /// Adds the last restored answers to the hash table, so that all are found.
    mutating func finishRestore() {
        guard unindexed < next else { return }
        while unindexed < next { index() }
        makePermanent()
    }

    /// Makes all answers since the last commit permanent, and evicts those beyond the window's count. Not earlier, since an undo
    /// could not restore them.
    ///
    /// - Parameter records: the offsets of the transaction's journal records, at least of all remembered answers.
    package mutating func commit(_ records: [Range<Offset>]) {
        resolveOffsets(in: records)
        makePermanent()
    }

    /// The offset of the oldest answer to a command sent at a time or later; nil if there is none. All must be committed.
    func oldest(since time: Timestamp) -> Offset? {
        let (time, newest) = (units(time), position(of: next) / Self.block)
        var number = first
        while number < next {
            let position = position(of: number)
            // The newest block may still hold the oldest entries, too.
            if position / Self.block != newest, blocks[position / Self.block] < time {
                number += Self.block - position % Self.block
            } else if ring[position].time < time {
                number += 1
            } else {
                return answer(at: position).offset
            }
        }
        return nil
    }

    /// When the last command with an answer before an offset was sent; nil if there is none. All must be committed.
    func lastTime(before offset: Offset) -> Timestamp? {
        var numbers = first..<next
        while !numbers.isEmpty {
            let middle = numbers.lowerBound + numbers.count / 2
            let isBefore = answer(at: position(of: middle)).offset < offset
            numbers = isBefore ? middle + 1..<numbers.upperBound : numbers.lowerBound..<middle
        }
        guard numbers.lowerBound > first else { return nil }
        return ring[position(of: numbers.lowerBound - 1)].time << Timestamp(droppedBits)
    }

    /// Replaces indices in the transaction by offsets in the journal.
    private mutating func resolveOffsets(in records: [Range<Offset>]) {
        guard uncommitted < next, var run = records.first else { return }
        var rest = records.dropFirst()
        // The index of the run's first record.
        var start = 0
        forgetFar(from: run.lowerBound)
        for number in uncommitted..<next {
            let index = Int(ring[position(of: number)].offset)
            while index - start >= run.count, let following = rest.popFirst() {
                start += run.count
                run = following
            }
            let offset = run.lowerBound + Offset(index - start)
            if number == first { firstOffset = offset }
            ring[position(of: number)].offset = UInt32(truncatingIfNeeded: offset)
        }
    }

    /// Forgets what was remembered since the last commit.
    mutating func undo() {
        while next > uncommitted {
            next -= 1
            forget(position: position(of: next))
        }
        values.removeAll(from: next)
        unindexed = min(unindexed, next)
        // Their commands were not carried out again after all: the earlier answers are found again.
        for number in superseded.reversed() where number < next {
            let position = position(of: number)
            let entry = ring[position]
            slots[slot(of: entry.low, entry.high).slot] = content(entry.high, at: position)
        }
        superseded.removeAll(keepingCapacity: true)
    }

    private mutating func makePermanent() {
        uncommitted = next
        if !superseded.isEmpty { superseded.removeAll(keepingCapacity: true) }
        while count > window.count { forgetOldest() }
    }

    /// Forgets the answers that lie too far before an offset for 4 bytes to hold the distance.
    private mutating func forgetFar(from offset: Offset) {
        while first < uncommitted, offset - firstOffset > Offset(Int32.max) { forgetOldest() }
    }

    @inline(__always)
    private func units(_ time: Timestamp) -> Int64 { time >> Timestamp(droppedBits) }
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

    /// The position of a command's first answer in the ring.
    @inline(__always)
    private func find(_ command: CommandFingerprint) -> Int? {
        let (slot, isFound) = slot(of: command.low, command.high)
        return isFound ? position(in: slot) : nil
    }

    /// The slot of a command, or the free slot where it belongs. Inlined, because the call would copy all stored properties.
    @inline(__always)
    private func slot(of low: UInt64, _ high: UInt32) -> (slot: Int, isFound: Bool) {
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
        _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at offset: Offset, _ was: FormerOutcome, _ time: Int64
    ) {
        enqueue(command, value, at: offset, was, time)
        while unindexed < next { index() }
    }

    private mutating func enqueue(
        _ command: CommandFingerprint, _ value: UnsafeRawBufferPointer, at offset: Offset, _ was: FormerOutcome, _ time: Int64
    ) {
        if count == ring.count { grow() }
        let position = position(of: next)
        ring[position] = Entry(
            low: command.low, high: command.high, was: was, time: time, offset: UInt32(truncatingIfNeeded: offset))
        noteTime(time, at: position)
        values.append(value, number: next)
        next += 1
    }

    /// Adds the next answer to the hash table.
    private mutating func index() {
        let position = position(of: unindexed)
        let entry = ring[position]
        let (slot, isFound) = slot(of: entry.low, entry.high)
        if isFound { superseded.append(number(at: self.position(in: slot))) }
        slots[slot] = content(entry.high, at: position)
        unindexed += 1
    }

    @inline(__always)
    private mutating func noteTime(_ time: Int64, at position: Int) {
        let isFirst = position % Self.block == 0
        if isFirst || blocks[position / Self.block] < time { blocks[position / Self.block] = time }
    }

    private func position(of number: Int) -> Int { number & (ring.count - 1) }

    /// The number of the answer at a position.
    private func number(at position: Int) -> Int { next - 1 - ((next - 1 - position) & (ring.count - 1)) }

    private mutating func forgetOldest() {
        if unindexed == first { index() }
        forget(position: position(of: first))
        first += 1
        guard first < uncommitted else { return }
        let offset = ring[position(of: first)].offset
        firstOffset += Offset(offset &- UInt32(truncatingIfNeeded: firstOffset))
    }

    private mutating func forget(position: Int) {
        // If the command was carried out again after the window, its slot belongs to the later answer.
        let (slot, isFound) = slot(of: ring[position].low, ring[position].high)
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
        blocks = Array(repeating: 0, count: max(1, ring.count / Self.block))
        for number in first..<next {
            let position = position(of: number)
            ring[position] = old[number & (old.count - 1)]
            let entry = ring[position]
            noteTime(entry.time, at: position)
            slots[slot(of: entry.low, entry.high).slot] = content(entry.high, at: position)
        }
        unindexed = next
    }
}
