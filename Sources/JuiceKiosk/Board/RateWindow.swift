/// Counts the outcomes of the last minutes' orders and cancels, second by second.
///
/// Callers pass the time, in whole seconds, so that tests need not wait.
struct RateWindow: Sendable {
    /// The number of orders by outcome, and of cancels.
    struct Counts: Sendable, Equatable {
        var made = 0
        var outOfStock = 0
        var rejected = 0
        var cancelled = 0

        var orders: Int { made + outOfStock + rejected }

        static func + (first: Counts, second: Counts) -> Counts {
            Counts(
                made: first.made + second.made, outOfStock: first.outOfStock + second.outOfStock,
                rejected: first.rejected + second.rejected, cancelled: first.cancelled + second.cancelled)
        }
    }

    /// How far back the window reaches, in seconds.
    static let length = 300
    /// Over how many seconds the current rate is averaged.
    static let rateLength = 10

    /// A ring buffer: the counts of second `s` are at `s` modulo the length.
    private var seconds = [Counts](repeating: Counts(), count: length)
    /// The latest second in the window.
    private var latest: Int

    /// An empty window that ends now.
    init(now: Int) { latest = now }

    /// Counts an order or cancel that was answered at `time`. A time before the window is ignored. A time in the future counts as
    /// now: clocks differ.
    mutating func count(_ outcome: WritableKeyPath<Counts, Int>, at time: Int, now: Int) {
        advance(to: now)
        let time = min(time, latest)
        guard time > latest - Self.length else { return }
        seconds[Self.index(time)][keyPath: outcome] += 1
    }

    /// Moves the end of the window to `now`.
    mutating func advance(to now: Int) {
        guard now > latest else { return }
        for second in (latest + 1)...min(now, latest + Self.length) { seconds[Self.index(second)] = Counts() }
        latest = now
    }

    /// Orders per second, averaged over the last complete seconds.
    mutating func rate(now: Int) -> Double {
        Double(sum((now - Self.rateLength)..<now, now: now).orders) / Double(Self.rateLength)
    }

    /// The counts in steps of `length` seconds, oldest first. The last step is still growing. Steps start at multiples of their
    /// length, so that an order stays in its step.
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
        return range.clamped(to: latest - Self.length + 1..<latest + 1).reduce(Counts()) { $0 + seconds[Self.index($1)] }
    }

    private static func index(_ second: Int) -> Int { (second % length + length) % length }
}
