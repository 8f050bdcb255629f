import JuiceMessages

/// Decides when first answers are old enough to be forgotten.
///
/// An answer must stay as long as a repeat may still ask for it, however late the repeat is read. So it is forgotten only when each
/// of two clocks has advanced by more than the retention since it was added:
///
/// - **The active clock** runs while transactions commit. It stops in an outage, so that commands which clients could not
///   deliver meanwhile are still known when they can.
/// - **The stream clock** of a topic is the latest timestamp of its commands. A repeat comes in the same topic, so it is read after
///   them. In a backlog this clock lags with the reader, and nothing ages too early. A client whose clock is slow does not hold it
///   up, and one whose clock is fast does not advance it, since no timestamp counts as in the future.
///
/// Answers leave in the order in which they were added, so a restock that must stay also keeps the orders after it.
struct AnswerAges {
    /// A time for each topic of commands, or `none`. Cancels come in the topic of orders.
    private struct Times {
        static let none = Timestamp.min
        var orders = none
        var restocks = none

        subscript(kind: CommandKind) -> Timestamp {
            get { kind == .restock ? restocks : orders }
            set { if kind == .restock { restocks = newValue } else { orders = newValue } }
        }
    }

    /// The clocks at the time of answer `number`. The answers up to the next mark are at most a granule later by each clock;
    /// if a kind has no time, none of them is of that kind.
    private struct Mark {
        let number: Int
        var active: Timestamp
        var stream: Times
    }

    private let retention: Timestamp
    /// A mark for each thousandth of the window saves every answer its own times.
    private let granule: Timestamp
    /// The most by which one commit moves the active clock.
    private let step: Timestamp
    /// Beyond this many, marks are merged. That happens only while answers cannot be forgotten by age.
    private static let mostMarks = 4096

    private var marks: [Mark] = []
    private var active: Timestamp = 0
    private var lastCommit: Timestamp?
    private var stream = Times()
    /// The stream clocks at the last commit.
    private var committed = Times()
    /// The time of the latest restored answer. The time of its command is unknown, but was no later.
    private var restored: Timestamp = 0
    /// An answer whose command is no later than this needs no new mark.
    private var covered = Times()

    init(window: DuplicateWindow) {
        retention = window.retention
        granule = window.age / 1000
        step = max(1, window.age / 100)
    }

    /// Adds the answer to a command of this time.
    @inline(__always)
    mutating func add(_ kind: CommandKind, at time: Timestamp, number: Int) {
        let latest = max(stream[kind], time)
        stream[kind] = latest
        if latest > covered[kind] { mark(kind, at: latest, number: number) }
    }

    /// Adds an answer that is restored, and that was given at this time. The stream clock stays: what it showed then is unknown,
    /// and the first command that is read will set it.
    mutating func addRestored(_ kind: CommandKind, answeredAt time: Timestamp, number: Int) {
        active = max(active, time)
        restored = max(restored, time)
        mark(kind, at: restored, number: number)
    }

    /// Advances the active clock at a commit.
    mutating func advance(to now: Timestamp) {
        if let lastCommit { active += min(max(0, now - lastCommit), step) }
        lastCommit = now
        committed = stream
        covered = Times()
    }

    /// Removes the answers from `next` on, and sets the stream clocks back: their commands will be read again.
    mutating func undo(to next: Int) {
        while let last = marks.last, last.number >= next { marks.removeLast() }
        stream = committed
        covered = Times()
    }

    /// The first of these answers that must not be forgotten yet.
    mutating func firstToKeep(of numbers: Range<Int>) -> Int {
        var first = numbers.lowerBound
        var over = 0
        while over < marks.count {
            let end = over + 1 < marks.count ? marks[over + 1].number : numbers.upperBound
            guard end <= first || isOver(marks[over]) else { break }
            first = max(first, end)
            over += 1
        }
        guard over > 0 else { return first }
        marks.removeFirst(over)
        covered = Times()
        return first
    }

    private func isOver(_ mark: Mark) -> Bool {
        // The active clock may have advanced by a step before the answers came, since the commit before them.
        active > mark.active + granule + step + retention && hasPassed(mark, .order) && hasPassed(mark, .restock)
    }

    private func hasPassed(_ mark: Mark, _ kind: CommandKind) -> Bool {
        mark.stream[kind] == Times.none || stream[kind] > mark.stream[kind] + granule + retention
    }
}

// MARK: - Marks

extension AnswerAges {
    private mutating func mark(_ kind: CommandKind, at time: Timestamp, number: Int) {
        let time = max(time, restored)
        if let last = marks.last, active <= last.active + granule,
            last.stream[kind] == Times.none || time <= last.stream[kind] + granule
        {
            if last.stream[kind] == Times.none { marks[marks.count - 1].stream[kind] = time }
        } else {
            if marks.count == Self.mostMarks { thin() }
            var stream = Times()
            stream[kind] = time
            marks.append(Mark(number: number, active: active, stream: stream))
        }
        guard let last = marks.last else { return }
        covered.orders = last.stream.orders + granule
        covered.restocks = last.stream.restocks + granule
    }

    /// Merges every two marks: the number of the first, with the later times of both.
    private mutating func thin() {
        marks = stride(from: 0, to: marks.count, by: 2).map { index in
            let (mark, next) = (marks[index], marks[min(index + 1, marks.count - 1)])
            return Mark(
                number: mark.number, active: next.active,
                stream: Times(
                    orders: max(mark.stream.orders, next.stream.orders), restocks: max(mark.stream.restocks, next.stream.restocks)))
        }
    }
}
