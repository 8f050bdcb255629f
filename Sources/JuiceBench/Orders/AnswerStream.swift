import JuiceClient
import Kafka

/// Reads answers as soon as they are committed.
///
/// Use it on one thread.
final class AnswerStream {
    private let reader: TopicReader

    /// Starts at the beginning of the topic.
    init(_ connection: Connection, topic: String) throws(Failure) {
        reader = try TopicReader(connection, topic: topic, fetchWait: 10, deadline: Deadline(after: BenchSite.idleTimeout))
        try reader.start(at: reader.watermarks.mapValues(\.low))
    }

    /// Calls `body` with the order number of each available answer, after waiting up to 20 ms for the first.
    ///
    /// - Returns: when the answers were read; nil if there were none.
    func poll(_ body: (Int, ContinuousClock.Instant) throws(Failure) -> Void) throws(Failure) -> ContinuousClock.Instant? {
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
