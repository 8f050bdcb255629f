import JuiceClient
import Kafka

/// Reads answers as soon as they are committed.
///
/// It belongs to one thread.
final class AnswerStream {
    private let reader: TopicReader

    /// Reads the topic from its start.
    init(_ connection: Connection, topic: String) throws(Failure) {
        reader = try TopicReader(
            connection,
            topic: topic,
            fetchWait: 10,
            deadline: Deadline(after: BenchSite.idleTimeout)
        )
        try reader.start(at: reader.watermarks.mapValues(\.low))
    }

    /// Calls `body` with the number of each order whose answer is at hand, after waiting for the first for a moment.
    ///
    /// - Returns: when they were at hand; nil where there are none.
    func poll(
        _ body: (Int, ContinuousClock.Instant) throws(Failure) -> Void
    ) throws(Failure) -> ContinuousClock.Instant? {
        var found: ContinuousClock.Instant?
        try reader.poll(timeout: .milliseconds(20)) { record throws(Failure) in
            guard let value = record.value, let number = BenchOrders.number(in: value) else { return }
            let now = found ?? .now
            try body(number, now)
            found = now
        }
        return found
    }
}
