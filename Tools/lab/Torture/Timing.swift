/// How long something took.
struct Timing {
    let cause: String
    let time: Duration
    /// The longest acceptable time; nil if it is not known.
    let limit: Duration?
    /// Another time, shown beside it.
    let other: Duration

    /// A table by cause: the count, the median and the longest time, how many exceeded their limits, and the longest of the other
    /// times. Empty without timings.
    static func table(of timings: [Timing], _ what: String, other: String) -> [String] {
        guard !timings.isEmpty else { return [] }
        var causes: [String] = []
        for timing in timings where !causes.contains(timing.cause) { causes.append(timing.cause) }
        let rows = causes.map { cause in
            let mine = timings.filter { $0.cause == cause }
            let times = mine.map(\.time).sorted()
            let over = mine.count { timing in timing.limit.map { timing.time > $0 } ?? false }
            let longest = [times.last, mine.map(\.other).max()].map { $0?.text ?? "" }
            return [cause, "\(mine.count)", times[times.count / 2].text, longest[0], "\(over)", longest[1]]
        }
        return lab.table([[what, "times", "median", "max", "over limit", other]] + rows)
    }
}
