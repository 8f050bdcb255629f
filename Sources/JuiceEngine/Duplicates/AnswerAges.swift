import JuiceMessages

/// Decides when first answers are old enough to be forgotten.
///
/// What a repeat may still ask for has to stay, however late that is read. So a first answer goes only when each of two
/// clocks has moved on by more than the retention since it came:
///
/// - **The active clock** runs while transactions are committed. It stands still in an outage, so that what clients could
///   not deliver meanwhile is still known when they can.
/// - **The stream's clock** is the latest time of the commands of its kind: its repeat can only come in the same topic, in
///   order. It falls behind with a backlog, so that one that is read slower than it grew ages nothing. One client whose
///   clock is behind does not hold it up; nor does one that is ahead drive it, since no time is taken to be in the
///   future.
///
/// A kind waits for its own topic only: where no restock ever came, none holds up the orders. But answers leave in their
/// order, so a restock that has to stay keeps what came after it.
struct AnswerAges {
    /// A time for each kind of command; `none` where there is none.
    private struct Times {
        static let none = Timestamp.min
        var orders = none
        var restocks = none

        subscript(kind: CommandKind) -> Timestamp {
            get { kind == .order ? orders : restocks }
            set { if kind == .order { orders = newValue } else { restocks = newValue } }
        }
    }

    /// What the clocks showed when answer `number` came. Those that follow, until the next mark, came no more than a
    /// granule later by any of them; of a kind that has no time, none did.
    private struct Mark {
        let number: Int
        var active: Timestamp
        var stream: Times
    }

    private let retention: Timestamp
    /// A mark for each thousandth of the window is exact enough, and spares every answer times of its own.
    private let granule: Timestamp
    /// The most by which one commit moves the active clock.
    private let step: Timestamp
    /// More are made only where answers cannot be forgotten by their age: of long ago, coarser ones do.
    private static let mostMarks = 4096

    private var marks: [Mark] = []
    private var active: Timestamp = 0
    private var lastCommit: Timestamp?
    private var stream = Times()
    /// What it showed at the last commit.
    private var committed = Times()
    /// The latest answer that was restored. Its command's time is not known, but it was no later.
    private var restored: Timestamp = 0
    /// Up to these times of the stream, the last mark tells of an answer that comes now.
    private var covered = Times()

    init(window: DuplicateWindow) {
        retention = window.retention
        granule = window.age / 1000
        step = max(1, window.age / 100)
    }

    /// Takes note of the answer to a command of this time.
    @inline(__always)
    mutating func note(_ kind: CommandKind, at time: Timestamp, number: Int) {
        let latest = max(stream[kind], time)
        stream[kind] = latest
        if latest > covered[kind] { mark(kind, at: latest, number: number) }
    }

    /// Takes note of an answer that is read back, and that was given at this time.
    ///
    /// The stream's clock stays where it is: what it showed then is no longer known, and what it shows now is known with
    /// the first command that is read.
    mutating func noteRestored(_ kind: CommandKind, answeredAt time: Timestamp, number: Int) {
        active = max(active, time)
        restored = max(restored, time)
        mark(kind, at: restored, number: number)
    }

    /// Takes note of a commit.
    mutating func advance(to now: Timestamp) {
        if let lastCommit { active += min(max(0, now - lastCommit), step) }
        lastCommit = now
        committed = stream
        covered = Times()
    }

    /// Takes back all from `next` on, and what their commands told of the stream: they are read again, and until then
    /// other transactions are committed.
    mutating func undo(to next: Int) {
        while let last = marks.last, last.number >= next { marks.removeLast() }
        stream = committed
        covered = Times()
    }

    /// The first answer that has to stay, where there are `numbers`.
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
        // A step of it may have passed before the answers came: since the commit before them.
        active > mark.active + granule + step + retention && hasPassed(mark, .order)
            && hasPassed(mark, .restock)
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

    /// Makes one mark of every two: at the place of the first, with the times of both.
    private mutating func thin() {
        marks = stride(from: 0, to: marks.count, by: 2).map { index in
            let (mark, next) = (marks[index], marks[min(index + 1, marks.count - 1)])
            return Mark(
                number: mark.number,
                active: next.active,
                stream: Times(
                    orders: max(mark.stream.orders, next.stream.orders),
                    restocks: max(mark.stream.restocks, next.stream.restocks)
                )
            )
        }
    }
}
