import Foundation
import JuiceDomain
import JuiceMessages
import NIOCore

/// Encodes the server-sent events that the page reads.
enum PageEvent {
    private struct Stock: Encodable {
        let store: String
        let revision: Int
        let stock: [FruitAmount]
        /// Whether orders for the store are accepted.
        let takesOrders: Bool
    }

    private struct Board: Encodable {
        /// Orders per second at present.
        let rate: Double
        /// The consumer group's lag, in commands; nil while it is unknown.
        let lag: Int?
        /// Counts by step, oldest first.
        let made: [Int]
        let outOfStock: [Int]
        let cancelled: [Int]
        /// The last answer with a gap before it; nil if there was none.
        let afterGap: TimedAnswerContent?
    }

    /// An answer, with arrays where the topic has objects: the page shows fruits in the menu's order.
    private struct TimedAnswerContent: Encodable {
        let timed: TimedAnswer
        let menu: Menu
        /// The command's id; nil in answers to other pages, which must not learn it.
        let id: String?

        private enum Field: String, CodingKey { case kind, id, time, gap, texts }

        func encode(to encoder: any Encoder) throws {
            try timed.answer.encode(to: encoder)
            var fields = encoder.container(keyedBy: Field.self)
            try fields.encode("\(timed.answer.command)", forKey: .kind)
            try fields.encodeIfPresent(id, forKey: .id)
            // Within what JavaScript's `Date` can represent.
            try fields.encode(min(max(0, timed.time), 8_640_000_000_000_000), forKey: .time)
            let texts = Language.allCases.map { ($0.rawValue, timed.answer.message(in: $0, menu: menu)) }
            try fields.encode(Dictionary(uniqueKeysWithValues: texts), forKey: .texts)
            try fields.encodeIfPresent(timed.gap.map { ["first": $0.lowerBound, "last": $0.upperBound] }, forKey: .gap)
        }
    }

    /// The length of a step of the chart, in seconds.
    private static let stepLength = 5

    static func link(_ connection: ConnectionState) -> ByteBuffer { event("link", ["state": connection.phase]) }

    static func stores(_ names: [String]) -> ByteBuffer { event("stores", ["stores": names]) }

    static func stock(_ state: KioskState, of store: Name) -> ByteBuffer {
        let record = state.stock(of: store)
        let takesOrders = state.takesOrders(for: store) ?? true
        return event(
            "stock", Stock(store: record.store, revision: record.revision, stock: record.stock, takesOrders: takesOrders))
    }

    /// The activity at a store; nil is all stores.
    static func board(_ state: KioskState, of store: Name?, now: Int) -> ByteBuffer {
        let activity = state.activity(of: store, now: now)
        let steps = activity.window.steps(of: stepLength, now: now)
        return event(
            "board",
            Board(
                rate: activity.window.rate(now: now), lag: state.lag, made: steps.map(\.made), outOfStock: steps.map(\.outOfStock),
                cancelled: steps.map(\.cancelled),
                afterGap: activity.answerAfterGap.map { TimedAnswerContent(timed: $0, menu: state.menu, id: nil) }))
    }

    /// An answer for every page that shows its store.
    static func answer(_ answer: TimedAnswer, _ menu: Menu) -> ByteBuffer {
        event("answer", TimedAnswerContent(timed: answer, menu: menu, id: nil))
    }

    /// An answer for the page that sent the command.
    static func own(_ answer: TimedAnswer, _ menu: Menu) -> ByteBuffer {
        event("own", TimedAnswerContent(timed: answer, menu: menu, id: answer.answer.id))
    }

    /// JSON escapes line ends, so the data is always one line.
    private static func event(_ name: String, _ content: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let json = (try? encoder.encode(content)) ?? Data("{}".utf8)
        var buffer = ByteBuffer(string: "event: \(name)\ndata: ")
        buffer.writeBytes(json)
        buffer.writeString("\n\n")
        return buffer
    }
}
