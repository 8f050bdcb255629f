import JuiceEngine
import JuiceMessages
import Logging
import Metrics
import Synchronization

/// Compares the timestamps of commands with this machine's clock, and logs when that clock is set. Repeats are recognized by the
/// senders' timestamps. A wrong clock falsifies latencies and, where brokers do not judge timestamps, those as well.
///
/// An old timestamp does not prove that a clock is behind, since the command may have waited in the log. So a command counts only
/// if it was written after the service last looked where its partition ends, which it does every 3 s. It was sent between then and
/// now, and the difference is how far its timestamp lies outside that span. One command is compared each second. The median of the
/// last ones decides, so that no single sender does.
final class ClockWatch: Sendable {
    private struct State {
        /// Where each partition ended, and when that was asked.
        var ends: [InputPartition: (offset: Offset, time: Timestamp)] = [:]
        var comparedAt: Timestamp?
        /// When the clock was looked at last, and by how much it was ahead of the uptime.
        var seen: (uptime: Timestamp, offset: Timestamp)?
        /// By how much the times of the last commands lie ahead of this clock, or behind it if negative; the oldest first.
        var differences: [Timestamp] = []
        var isLogged = false

        var median: Timestamp { differences.count < fewest ? 0 : differences.sorted()[differences.count / 2] }
    }

    /// Differences up to this are normal, in milliseconds.
    static let tolerance: Timestamp = 60_000
    private static let interval: Timestamp = 1_000
    /// A clock that moves by this much, in milliseconds, within this time was set. After more time the machine may have slept.
    private static let jump = (least: Timestamp(1_000), within: Timestamp(30_000))
    /// The fewest commands to judge by, and the most to keep.
    private static let (fewest, most) = (5, 15)

    private let gauge: Gauge?
    private let logger: Logger
    private let state = Mutex(State())

    init(metrics: (any MetricsFactory)?, logger: Logger) {
        gauge = metrics?.gauge(.clockDifference)
        self.logger = logger
    }

    /// Takes the ends of the logs, asked for at `time`, and logs if the clock was set since the last call.
    func found(_ extents: [PartitionExtents], at time: Timestamp, uptime: Timestamp) {
        state.withLock { state in
            let (seen, offset) = (state.seen, time - uptime)
            state.seen = (uptime, offset)
            if let seen, uptime - seen.uptime < Self.jump.within, (offset - seen.offset).magnitude > Self.jump.least {
                logger.warning(
                    """
                    this machine's clock was set \(spanText(Double((offset - seen.offset).magnitude) / 1000)) \
                    \(offset > seen.offset ? "forward" : "back")
                    """)
            }
            for (input, log) in extents.lazy.flatMap(\.inputs) { state.ends[input] = (log.upperBound, time) }
        }
    }

    /// Compares the timestamp of a command that was just read, if a comparison is due.
    func compare(_ command: CommandRecord, at now: Timestamp, headers: () -> [MessageHeader]) {
        guard let time = command.timestamp else { return }
        state.withLock { state in
            if let last = state.comparedAt, last..<last + Self.interval ~= now { return }
            let input = InputPartition(topic: command.topic, partition: command.partition)
            guard let end = state.ends[input], command.offset >= end.offset,
                // A forwarded command may have waited in another partition.
                !headers().contains(where: { $0.name == HeaderName.forwardedFrom })
            else { return }
            state.comparedAt = now
            state.differences.append(time > now ? time - now : min(0, max(0, time) - end.time))
            if state.differences.count > Self.most { state.differences.removeFirst() }

            let difference = state.median
            gauge?.record(Double(difference) / 1000)
            let isWrong = difference.magnitude > Self.tolerance
            guard isWrong != state.isLogged else { return }
            state.isLogged = isWrong
            // Logged under the lock, so that two changes cannot be logged in the wrong order.
            guard isWrong else { return logger.notice("the times of most commands agree with this machine's clock again") }
            logger.warning(
                """
                the times of most commands lie \(spanText(Double(difference.magnitude) / 1000)) \
                \(difference > 0 ? "ahead of" : "behind") this machine's clock. One of the clocks is wrong: see \
                docs/OPERATIONS.md#juiceclocksdiffer
                """)
        }
    }
}
