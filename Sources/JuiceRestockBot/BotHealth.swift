import Kafka
import Synchronization

/// Whether a restock bot is ready and alive, and why not.
package final class BotHealth: Sendable {
    private static let thread = "the bot"

    private let steps = StepWatch()
    private let outage: @Sendable () -> String?
    private let state = Mutex((isReading: false, trouble: KafkaError?.none))

    /// The health of a bot that does not run yet: alive, but not ready. `outage` says so while no broker answers.
    package init(outage: @escaping @Sendable () -> String?) { self.outage = outage }

    /// What keeps the bot from refilling: no broker answers, or the group has given it no share to read. A share may be empty.
    package var readiness: [String] {
        let (isReading, trouble) = state.withLock { $0 }
        if let outage = outage() { return [outage] }
        guard !isReading else { return [] }
        return ["the bot waits for its share of the stores" + (trouble.map { ": \($0.message)" } ?? "")]
    }

    /// What only a restart mends: it hangs.
    package var liveness: [String] { liveness(at: .now) }

    func liveness(at now: ContinuousClock.Instant) -> [String] { steps.stuck(at: now) }

    /// The bot made a step, and reads what its group gave it or not.
    package func stepped(isReading: Bool) {
        steps.stepped(Self.thread)
        state.withLock { $0.isReading = isReading }
    }

    /// Takes note of what the bot did.
    package func note(_ event: BotEvent) {
        switch event {
        case .lost(let error): state.withLock { $0.trouble = error }
        case .recovered: state.withLock { $0.trouble = nil }
        case .watching, .beyondTarget, .sent, .answered, .rejected: break
        }
    }
}
