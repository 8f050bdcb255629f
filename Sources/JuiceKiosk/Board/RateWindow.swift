/// What came of the orders of the last minutes, counted by the second.
///
/// It is told the time with every call, in whole seconds, so that tests need not wait for any.
struct RateWindow: Sendable {
    /// What came of orders.
    struct Counts: Sendable, Equatable {
        var made = 0
        var outOfStock = 0
        var rejected = 0

        var orders: Int { made + outOfStock + rejected }

        static func + (first: Counts, second: Counts) -> Counts {
            Counts(
                made: first.made + second.made,
                outOfStock: first.outOfStock + second.outOfStock,
                rejected: first.rejected + second.rejected
            )
        }
    }

    /// How far back it looks, in seconds.
    static let length = 300
    /// Over how many seconds the present rate is averaged.
    static let rateLength = 10

    /// The counts of each second, at its number modulo the length.
    private var seconds = [Counts](repeating: Counts(), count: length)
    /// The latest second that was counted or passed.
    private var latest: Int

    /// A window that begins to count now.
    init(now: Int) {
        latest = now
    }

    /// Counts one order that was answered at a time. One of before the window counts nowhere, one of the future now: clocks
    /// differ.
    mutating func count(_ outcome: WritableKeyPath<Counts, Int>, at time: Int, now: Int) {
        advance(to: now)
        let time = min(time, latest)
        guard time > latest - Self.length else { return }
        seconds[Self.index(time)][keyPath: outcome] += 1
    }

    /// Lets seconds pass.
    mutating func advance(to now: Int) {
        guard now > latest else { return }
        for second in (latest + 1)...min(now, latest + Self.length) { seconds[Self.index(second)] = Counts() }
        latest = now
    }

    /// Orders a second, over the last seconds that are whole.
    mutating func rate(now: Int) -> Double {
        Double(sum((now - Self.rateLength)..<now, now: now).orders) / Double(Self.rateLength)
    }

    /// The counts in steps of so many seconds, oldest first. The last step is the present one and grows. Steps begin at
    /// multiples of their length, so that what is in a step stays in it.
    mutating func steps(of length: Int, now: Int) -> [Counts] {
        let start = now / length * length
        let count = Self.length / length
        return (0..<count).map { step in
            let first = start - (count - 1 - step) * length
            return sum(first..<first + length, now: now)
        }
    }

    private mutating func sum(_ range: Range<Int>, now: Int) -> Counts {
        advance(to: now)
        return range.clamped(to: latest - Self.length + 1..<latest + 1)
            .reduce(Counts()) { $0 + seconds[Self.index($1)] }
    }

    private static func index(_ second: Int) -> Int {
        (second % length + length) % length
    }
}
