import JuiceMaker
import JuiceMessages

/// The lines of the live view: stock, counters and the latest answers.
struct DemoView {
    let bootstrapServers: String
    let menu: Menu
    let language: Language
    let paint: Paint
    /// A line below the title, if any.
    let note: String?
    /// The latest answers as lines, oldest first.
    private var latest: [String] = []

    private static let mostLatest = 200

    init(bootstrapServers: String, menu: Menu, language: Language, paint: Paint, note: String? = nil) {
        self.note = note
        self.bootstrapServers = bootstrapServers
        self.menu = menu
        self.language = language
        self.paint = paint
    }

    mutating func add(_ answers: [Answer], time: String) {
        latest += answers.suffix(Self.mostLatest).map { AnswerLine.text($0, time: time, paint: paint) }
        latest.removeFirst(max(0, latest.count - Self.mostLatest))
    }

    /// The lines that fill a screen of this size.
    func lines(stock: [StockRecord], tally: Tally, inFlight: Int, ordersPerSecond: Double, columns: Int, rows: Int) -> [String] {
        let table = StockTable(menu: menu, language: language).fitted(to: columns, stock)
        var lines = [paint(.bold, "juice demo") + "  an embedded Kafka broker at \(bootstrapServers); Ctrl-C ends it"]
        lines += [note, ""].compactMap(\.self)
        lines += table.lines(stock, paint: paint)
        lines += ["", counters(tally, inFlight), speed(tally, ordersPerSecond), ""]
        // The newest answer is at the bottom, as in any log.
        return lines + latest.suffix(max(0, rows - lines.count))
    }

    private func counters(_ tally: Tally, _ inFlight: Int) -> String {
        [
            paint(.green, "juice made \(tally.juicesMade)"), paint(.yellow, "out of stock \(tally.outOfStock)"),
            paint(.red, "rejected \(tally.rejected)"), paint(.cyan, "cancelled \(tally.cancelled)"),
            paint(.cyan, "restocked \(tally.restocked)"), "in flight \(inFlight)",
        ].joined(separator: "   ")
    }

    private func speed(_ tally: Tally, _ ordersPerSecond: Double) -> String {
        guard let times = tally.answerTimes else { return "the service joins its consumer group, which takes some seconds" }
        let rate = ordersPerSecond < 10 ? "\((ordersPerSecond * 10).rounded() / 10)" : "\(Int(ordersPerSecond.rounded()))"
        return "\(tally.orders) orders, \(rate) a second, half answered within \(times.median.inMilliseconds),"
            + " 99 of 100 within \(times.p99.inMilliseconds)"
    }
}

extension Duration {
    /// `3.2 ms`.
    var inMilliseconds: String { "\(((self / Duration.milliseconds(1)) * 10).rounded() / 10) ms" }
}
