import Kafka

/// How long to wait for a call that librdkafka cannot resume. Each attempt waits longer than the one before: with a fixed timeout,
/// a slow broker would answer every attempt too late.
struct AdaptiveTimeout {
    private(set) var current: Duration
    private let shortest, longest: Duration
    /// How many connections the client had lost when it last got an answer.
    private var closedConnections = 0

    /// After a lost connection the broker may be dead, and its successor has to be asked instead.
    private static let longestAfterLoss = Duration.seconds(2)

    init(shortest: Duration = .seconds(1), longest: Duration = .seconds(8)) {
        (current, self.shortest, self.longest) = (shortest, shortest, longest)
    }

    /// Makes a call with the timeout ``current``, then adapts it: the next call will take about as long.
    ///
    /// - Parameter closedConnections: how many connections the client has lost since it was made, evaluated after the call; 0 if
    ///   that makes no difference.
    mutating func waiting<Success>(
        closedConnections: @autoclosure () -> Int = 0, _ call: (_ timeout: Duration) throws(KafkaError) -> Success
    ) throws(KafkaError) -> Success {
        let start = ContinuousClock.now
        do throws(KafkaError) {
            let result = try call(current)
            answered(after: .now - start, closedConnections: closedConnections())
            return result
        } catch {
            if error.code == .timedOut { timedOut(closedConnections: closedConnections()) }
            throw error
        }
    }

    mutating func timedOut(closedConnections: Int = 0) {
        let isLost = closedConnections != self.closedConnections
        current = min(current * 2, isLost ? min(Self.longestAfterLoss, longest) : longest)
    }

    mutating func answered(after time: Duration, closedConnections: Int = 0) {
        current = max(shortest, min(current, time * 2))
        self.closedConnections = closedConnections
    }
}
