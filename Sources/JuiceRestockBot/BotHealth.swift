import Kafka
import Synchronization

/// Tells whether a restock bot is ready and alive, and if not, why.
package final class BotHealth: Sendable {
    private static let thread = "the bot"

    private let steps = StepWatch()
    private let outage: @Sendable () -> String?
    private let state = Mutex((isReading: false, trouble: KafkaError?.none))

    /// The health of a bot that does not run yet: alive, but not ready.
    ///
    /// - Parameter outage: returns a description while no broker answers, else nil.
    package init(outage: @escaping @Sendable () -> String?) { self.outage = outage }

    /// Why the bot is not ready: no broker answers, or the group has assigned it nothing yet. An empty assignment is one, too.
    package var readiness: [String] {
        let (isReading, trouble) = state.withLock { $0 }
        if let outage = outage() { return [outage] }
        guard !isReading else { return [] }
        return ["the bot waits for its share of the stores" + (trouble.map { ": \($0.message)" } ?? "")]
    }

    /// Why the bot is not alive: its thread hangs, and only a restart helps.
    package var liveness: [String] { liveness(at: .now) }

    func liveness(at now: ContinuousClock.Instant) -> [String] { steps.stuck(at: now) }

    /// The bot made a step.
    ///
    /// - Parameter work: what it has to do; nil while it does not read what its group gave it.
    package func stepped(work: BotWork?) {
        steps.stepped(Self.thread)
        state.withLock { $0.isReading = work != nil }
    }

    /// Keeps the error that sent the bot back to the committed positions, until it has recovered.
    package func handle(_ event: BotEvent) {
        switch event {
        case .lost(let error): state.withLock { $0.trouble = error }
        case .recovered: state.withLock { $0.trouble = nil }
        case .watching, .beyondTarget, .sent, .answered, .rejected: break
        }
    }
}
