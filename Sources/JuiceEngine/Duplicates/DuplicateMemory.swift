import CPrefetch
import JuiceMessages

/// The first answers of one partition's latest commands, found by the commands' fingerprints.
///
/// A queue: answers enter at its end and leave, the oldest first, when the window no longer holds them. Repeats do not
/// enter again: the window counts from the first answer.
///
/// The answers lie in a ring, 32 bytes each, and a hash table of 4-byte positions finds them: a million commands take
/// 42 bytes each, however long their ids are. Remembering and forgetting take no memory from the heap once both have
/// grown to the window's size.
package struct DuplicateMemory {
    private struct Entry {
        let command: CommandFingerprint
        /// Nil where the answer is not compact.
        let answer: CompactAnswer?

        static let none = Entry(command: .none, answer: nil)
    }

    /// From `sequence` on, until the next mark, no answer is older than `time`. A mark for each thousandth of the
    /// window's age is exact enough, and spares every answer a time of its own.
    private struct Mark {
        let time: Timestamp
        let sequence: Int
    }

    private let window: DuplicateWindow
    /// A power of two of them; answer number `n` lies at `n & (ring.count - 1)`.
    private var ring: [Entry]
    /// Positions in the ring plus one, and bits of the fingerprint, each at its fingerprint's place or soon after it; 0 is
    /// free. Twice as many as the ring has, so that free ones are near.
    private var slots: [UInt32]
    /// Answers that are not compact, by their position in the ring.
    private var verbatim: [Int: [UInt8]] = [:]
    private var marks: [Mark] = []
    /// The numbers of the oldest answer, of the first that is not committed yet, and of the next one.
    private var first = 0
    private var uncommitted = 0
    private var next = 0

    private static let smallest = 16

    package init(window: DuplicateWindow) {
        self.window = window
        ring = Array(repeating: .none, count: Self.smallest)
        slots = Array(repeating: 0, count: Self.smallest * 2)
    }

    /// How many commands are remembered.
    var count: Int { next - first }

    /// The memory that it holds, in bytes, apart from answers that are not compact.
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

    /// The first answer to a command, if it is remembered.
    package func firstAnswer(to command: CommandFingerprint) -> FirstAnswer? {
        let (slot, isFound) = find(command)
        guard isFound else { return nil }
        let position = position(in: slot)
        return ring[position].answer.map(FirstAnswer.compact) ?? verbatim[position].map(FirstAnswer.verbatim)
    }

    /// Remembers the answer to a command, given at this time. It is the command's latest first answer from now on.
    package mutating func remember(_ command: CommandFingerprint, _ answer: FirstAnswer, at time: Timestamp) {
        if count == ring.count { grow() }
        mark(time)
        let position = next & (ring.count - 1)
        switch answer {
        case .compact(let answer):
            ring[position] = Entry(command: command, answer: answer)
        case .verbatim(let bytes):
            ring[position] = Entry(command: command, answer: nil)
            verbatim[position] = bytes
        }
        slots[find(command).slot] = content(command, at: position)
        next += 1
    }

    /// Keeps what was remembered since the last commit, and forgets what the window no longer holds.
    ///
    /// Nothing is forgotten before a commit: an undo could not bring it back.
    package mutating func commit(at time: Timestamp) {
        uncommitted = next
        while let oldest = marks.first, oldest.time + granule + window.age < time {
            let end = marks.count > 1 ? marks[1].sequence : next
            while first < end { forgetOldest() }
            marks.removeFirst()
        }
        while count > window.count { forgetOldest() }
    }

    /// Takes back what was remembered since the last commit.
    mutating func undo() {
        while next > uncommitted {
            next -= 1
            forget(position: next & (ring.count - 1))
        }
        while let last = marks.last, last.sequence >= next { marks.removeLast() }
    }
}

// MARK: - Times

extension DuplicateMemory {
    private var granule: Timestamp { window.age / 1000 }

    private mutating func mark(_ time: Timestamp) {
        // A clock that was set back must not make what is new look old.
        if let last = marks.last, time <= last.time + granule { return }
        marks.append(Mark(time: time, sequence: next))
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
        UInt32(truncatingIfNeeded: command.high) & ~positionBits | UInt32(truncatingIfNeeded: position + 1)
    }

    private func position(in slot: Int) -> Int { Int(slots[slot] & positionBits) - 1 }

    /// The slot that leads to a command, or else the free one that would.
    private func find(_ command: CommandFingerprint) -> (slot: Int, isFound: Bool) {
        let (positionBits, mask) = (positionBits, slots.count - 1)
        let tag = UInt32(truncatingIfNeeded: command.high) & ~positionBits
        var slot = home(of: command)
        while slots[slot] != 0 {
            if slots[slot] & ~positionBits == tag, ring[position(in: slot)].command == command {
                return (slot, true)
            }
            slot = (slot + 1) & mask
        }
        return (slot, false)
    }

    private mutating func forgetOldest() {
        forget(position: first & (ring.count - 1))
        first += 1
    }

    private mutating func forget(position: Int) {
        if !verbatim.isEmpty { verbatim[position] = nil }
        // Where a command was restored twice, its slot belongs to the later answer.
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
        let old = (ring: ring, verbatim: verbatim)
        ring = Array(repeating: .none, count: old.ring.count * 2)
        slots = Array(repeating: 0, count: ring.count * 2)
        verbatim = [:]
        for number in first..<next {
            let before = number & (old.ring.count - 1)
            let position = number & (ring.count - 1)
            ring[position] = old.ring[before]
            if !old.verbatim.isEmpty { verbatim[position] = old.verbatim[before] }
            let command = ring[position].command
            slots[find(command).slot] = content(command, at: position)
        }
    }
}
