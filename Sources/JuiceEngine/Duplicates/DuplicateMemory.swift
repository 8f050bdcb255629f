import CPrefetch
import JuiceMessages

/// The first answers of one partition's latest commands, found by the commands' fingerprints.
///
/// A queue: answers enter at its end and leave, the oldest first, when the window no longer holds them. Repeats do not
/// enter again: the window counts from the first command.
///
/// The answers lie in a ring, 32 bytes each, and a hash table of 4-byte positions finds them: a million commands take
/// 42 bytes each, however long their ids are. Remembering and forgetting take no memory from the heap once both have
/// grown to the window's size, but for answers that need a template, whose memory has a budget.
package struct DuplicateMemory {
    private struct Entry {
        let command: CommandFingerprint
        /// When the command was sent, in units of the memory. Behind the fingerprint it takes no room of its own.
        let time: UInt32
        /// Nil where there was none yet.
        let answer: CompactAnswer?

        static let none = Entry(command: .none, time: 0, answer: nil)
    }

    private let window: DuplicateWindow
    /// Times are kept without so many bits: in units of at most a thousandth of the window, but of no less than 16 ms. So
    /// a difference of more than a year can be told, longer than anything read can lie back.
    private let droppedBits: Int
    /// The window in these units, rounded up: a repeat just within it is known.
    private let reach: Int32
    /// A power of two of them; answer number `n` lies at `n & (ring.count - 1)`.
    private var ring: [Entry]
    /// Positions in the ring plus one, and bits of the fingerprint, each at its fingerprint's place or soon after it; 0 is
    /// free. Twice as many as the ring has, so that free ones are near.
    private var slots: [UInt32]
    /// What the answers need that the encoder cannot write.
    private var templates: AnswerTemplates
    private var ages: AnswerAges
    /// The numbers of the oldest answer, of the first that is not committed yet, and of the next one.
    private var first = 0
    private var uncommitted = 0
    private var next = 0
    /// Numbers of answers that are found no more, since their commands were carried out anew after the last commit.
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
        templates = AnswerTemplates(budget: window.templateBytes)
        ring = Array(repeating: .none, count: Self.smallest)
        slots = Array(repeating: 0, count: Self.smallest * 2)
    }

    /// How many commands are remembered.
    var count: Int { next - first }

    /// The memory that the templates of answers take, in bytes.
    var templateBytes: Int { templates.byteCount }

    /// The memory that it holds besides, in bytes.
    var footprint: Int {
        ring.capacity * MemoryLayout<Entry>.stride + slots.capacity * MemoryLayout<UInt32>.stride
    }

    /// Brings the place of a command that is soon looked up into the processor's caches.
    func prefetch(_ command: CommandFingerprint) {
        let home = home(of: command)
        slots.withUnsafeBufferPointer { slots in
            if let start = slots.baseAddress { CPrefetch.prefetch(start + home) }
        }
    }

    /// The first answer to a command that was sent at this time, if it is remembered and the window holds it.
    ///
    /// The two may have been read in any order: a first that was sent later is one all the same.
    package func firstAnswer(to command: CommandFingerprint, sentAt time: Timestamp) -> CompactAnswer? {
        let (slot, isFound) = find(command)
        guard isFound else { return nil }
        let position = position(in: slot)
        guard Int32(bitPattern: units(time) &- ring[position].time) <= reach else { return nil }
        return ring[position].answer
    }

    /// Keeps the template of an answer that has no compact content. The answer must be remembered at once.
    ///
    /// - Returns: the answer, as it is to be remembered.
    package mutating func keep(_ answer: UnsafeRawBufferPointer, _ head: AnswerHead) -> CompactAnswer {
        templates.add(answer, head)
    }

    /// Writes an answer that has a template.
    ///
    /// - Returns: false, having written nothing, for an answer that has a content instead.
    package func write(_ answer: CompactAnswer, _ head: AnswerHead, into buffer: inout OutputBuffer) -> Bool {
        templates.write(answer, head, into: &buffer)
    }

    /// Remembers the answer to a command that was sent at this time. It is the command's first answer from now on: one
    /// that was remembered before, too long ago to count, is not found any more.
    package mutating func remember(
        _ kind: CommandKind,
        _ command: CommandFingerprint,
        _ answer: CompactAnswer,
        sentAt time: Timestamp
    ) {
        ages.note(kind, at: time, number: next)
        append(command, answer, time)
    }

    /// Remembers an answer that is read back from the log, where it was given at this time. Nothing tells when its command
    /// was sent, but it was no later than that: so the repeat is known for longer, and not for less.
    ///
    /// It is committed, and the oldest are forgotten by their number alone: until the commands are read on, nothing tells
    /// how far back their repeats may lie.
    mutating func restore(
        _ kind: CommandKind,
        _ command: CommandFingerprint,
        _ answer: CompactAnswer,
        answeredAt time: Timestamp
    ) {
        // Nothing was answered before 1970.
        ages.noteRestored(kind, answeredAt: max(0, time), number: next)
        append(command, answer, max(0, time))
        keepAll()
        _ = forgetSurplus()
    }

    /// Keeps what was remembered since the last commit, and forgets what the window no longer holds.
    ///
    /// Nothing is forgotten before a commit: an undo could not bring it back.
    ///
    /// - Returns: how many answers it forgot only because the templates took more memory than they may.
    @discardableResult
    package mutating func commit(at time: Timestamp) -> Int {
        keepAll()
        ages.advance(to: time)
        let kept = ages.firstToKeep(of: first..<next)
        while first < kept { forgetOldest() }
        return forgetSurplus()
    }

    /// Takes back what was remembered since the last commit.
    mutating func undo() {
        while next > uncommitted {
            next -= 1
            forget(position: next & (ring.count - 1))
        }
        ages.undo(to: next)
        // What was carried out anew is not, so what was known of it before is known again.
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
}

// MARK: - The table

extension DuplicateMemory {
    private func home(of command: CommandFingerprint) -> Int {
        Int(truncatingIfNeeded: command.low) & (slots.count - 1)
    }

    /// The bits of a slot that hold a position in the ring plus one. The bits above them are the fingerprint's: they tell
    /// almost every other command apart without a look at the ring, which would be a cache miss.
    private var positionBits: UInt32 { UInt32(truncatingIfNeeded: ring.count * 2 - 1) }

    private func content(_ command: CommandFingerprint, at position: Int) -> UInt32 {
        command.high & ~positionBits | UInt32(truncatingIfNeeded: position + 1)
    }

    private func position(in slot: Int) -> Int { Int(slots[slot] & positionBits) - 1 }

    /// The slot that leads to a command, or else the free one that would.
    ///
    /// Inlined: the call would copy all of the memory's own fields.
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

    private mutating func append(_ command: CommandFingerprint, _ answer: CompactAnswer, _ time: Timestamp) {
        if count == ring.count { grow() }
        let position = next & (ring.count - 1)
        ring[position] = Entry(command: command, time: units(time), answer: answer)
        let (slot, isFound) = find(command)
        if isFound { superseded.append(number(at: self.position(in: slot))) }
        slots[slot] = content(command, at: position)
        next += 1
    }

    /// The number of the answer at a position.
    private func number(at position: Int) -> Int { next - ((next - position) & (ring.count - 1)) }

    private mutating func forgetOldest() {
        forget(position: first & (ring.count - 1))
        first += 1
    }

    private mutating func forget(position: Int) {
        if templates.byteCount > 0, let answer = ring[position].answer { templates.remove(answer) }
        // Where a command was carried out again after the window, its slot belongs to the later answer.
        let (slot, isFound) = find(ring[position].command)
        if isFound, self.position(in: slot) == position { free(slot) }
    }

    /// Frees a slot and closes the gap: whatever comes after it and belongs before it moves up.
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
