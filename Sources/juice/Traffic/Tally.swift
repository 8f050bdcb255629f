import JuiceMessages

/// Counts answers and measures their latencies.
struct Tally {
    private(set) var juicesMade = 0
    private(set) var outOfStock = 0
    private(set) var rejected = 0
    private(set) var restocked = 0
    private(set) var cancelled = 0
    /// The latest times from order to answer, at most ``window``.
    private var times: [Duration] = []
    private var oldest = 0

    private static let window = 1000

    /// The number of answered orders.
    var orders: Int { juicesMade + outOfStock + rejected }

    /// Counts the answer to an order.
    mutating func count(order answer: Answer, after time: Duration) {
        switch answer.outcome {
        case .juiceMade: juicesMade += 1
        case .outOfStock: outOfStock += 1
        case .rejected: rejected += 1
        case .restocked, .cancelled: return
        }
        if times.count < Self.window {
            times.append(time)
        } else {
            times[oldest] = time
            oldest = (oldest + 1) % Self.window
        }
    }

    /// Counts the answer to a restock.
    mutating func count(restock answer: Answer) {
        if case .restocked = answer.outcome { restocked += 1 }
    }

    /// Counts the answer to a cancel.
    mutating func count(cancel answer: Answer) {
        if case .cancelled = answer.outcome { cancelled += 1 }
    }

    /// The median and p99 latency of the latest answers; nil before the first.
    var answerTimes: (median: Duration, p99: Duration)? {
        guard !times.isEmpty else { return nil }
        let sorted = times.sorted()
        return (sorted[sorted.count / 2], sorted[min(sorted.count - 1, sorted.count * 99 / 100)])
    }

    /// The demo's last line, which scripts may read.
    var summary: String {
        "orders \(orders), juice made \(juicesMade), out of stock \(outOfStock), rejected \(rejected), " + "cancelled \(cancelled)"
    }
}
