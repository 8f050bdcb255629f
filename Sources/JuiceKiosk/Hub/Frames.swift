import Foundation
import JuiceMaker
import JuiceMessages
import NIOCore

/// Encodes the server-sent events that the page reads.
enum Frames {
    /// The length of a step of the chart, in seconds.
    static let stepLength = 5

    struct LinkFrame: Encodable {
        let state: Link.State
        let reason: String?
    }

    struct StoresFrame: Encodable { let stores: [String] }

    struct StockFrame: Encodable {
        let store: String
        let revision: Int
        let stock: [FruitAmount]
        /// Whether orders for the store are accepted.
        let takesOrders: Bool
    }

    struct BoardFrame: Encodable {
        /// Orders per second at present.
        let rate: Double
        /// The consumer group's lag, in commands; nil while it is unknown.
        let lag: Int?
        let stepLength: Int
        /// Counts by step, oldest first.
        let made: [Int]
        let outOfStock: [Int]
        let rejected: [Int]
        let cancelled: [Int]
        /// The last gap in a store's revisions; nil if there was none.
        let gap: StoreGap?
    }

    /// A gap in the revisions of a store.
    struct StoreGap: Encodable {
        let store: String
        /// When the answer after the gap was written, in milliseconds since 1970.
        let time: Int64
        let first: Int
        let last: Int

        init?(_ timed: TimedAnswer) {
            guard let gap = timed.gap else { return nil }
            (store, time) = (timed.answer.store, timed.pageTime)
            (first, last) = (gap.lowerBound, gap.upperBound)
        }
    }

    /// An answer, with arrays where the topic has objects: the page shows fruits in the menu's order.
    struct AnswerFrame: Encodable {
        let answer: Answer
        /// The page's own id for the command; nil in answers to other pages, which must not learn it.
        let id: String?
        let time: Int64
        let gap: Gap?

        /// The first and the last of the store's revisions that are missing before the answer.
        struct Gap: Encodable {
            let first: Int
            let last: Int
        }

        init(_ timed: TimedAnswer, id: String? = nil) {
            answer = timed.answer
            self.id = id
            time = timed.pageTime
            gap = timed.gap.map { Gap(first: $0.lowerBound, last: $0.upperBound) }
        }

        private enum Field: String, CodingKey { case kind, id, time, gap }

        func encode(to encoder: any Encoder) throws {
            try answer.encode(to: encoder)
            var fields = encoder.container(keyedBy: Field.self)
            try fields.encode("\(answer.command)", forKey: .kind)
            try fields.encodeIfPresent(id, forKey: .id)
            try fields.encode(time, forKey: .time)
            try fields.encodeIfPresent(gap, forKey: .gap)
        }
    }

    // MARK: - Events

    static func link(_ board: Board) -> ByteBuffer {
        event("link", LinkFrame(state: board.link.state, reason: board.link.reason))
    }

    static func stores(_ names: [String]) -> ByteBuffer { event("stores", StoresFrame(stores: names)) }

    static func stock(_ board: Board, of store: Name) -> ByteBuffer {
        let record = board.stock(of: store)
        return event(
            "stock",
            StockFrame(
                store: record.store, revision: record.revision, stock: record.stock,
                takesOrders: board.takesOrders(for: store) ?? true))
    }

    static func board(_ board: Board, scope: Name?, now: Int) -> ByteBuffer {
        var activity = board.activity(of: scope, now: now)
        let steps = activity.steps(of: stepLength, now: now)
        return event(
            "board",
            BoardFrame(
                rate: activity.rate(now: now), lag: board.lag, stepLength: stepLength, made: steps.map(\.made),
                outOfStock: steps.map(\.outOfStock), rejected: steps.map(\.rejected), cancelled: steps.map(\.cancelled),
                gap: activity.answerAfterGap.flatMap(StoreGap.init)))
    }

    /// An answer for every page that shows its store.
    static func answer(_ answer: TimedAnswer) -> ByteBuffer { event("answer", AnswerFrame(answer)) }

    /// An answer for the page that sent the command.
    static func own(_ answer: TimedAnswer) -> ByteBuffer {
        event("own", AnswerFrame(answer, id: KioskID.part(answer.answer.id)))
    }

    /// JSON escapes line ends, so the data is always one line.
    private static func event(_ name: String, _ content: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        let json = (try? encoder.encode(content)) ?? Data("{}".utf8)
        var buffer = ByteBuffer()
        buffer.writeString("event: \(name)\ndata: ")
        buffer.writeBytes(json)
        buffer.writeString("\n\n")
        return buffer
    }
}

extension TimedAnswer {
    /// The time, within what JavaScript's `Date` can represent.
    fileprivate var pageTime: Int64 { min(max(0, time), 8_640_000_000_000_000) }
}
