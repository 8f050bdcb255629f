import JuiceRestockBot
import Logging

/// Logs the bot's events, each change once.
final class BotLogger {
    private let logger: Logger
    private let target: Int
    private var fruitsBeyondTarget: Set<String> = []
    private var waitingSince: ContinuousClock.Instant?
    private var hasWarned = false
    private var failures = 0

    init(logger: Logger, target: Int) { (self.logger, self.target) = (logger, target) }

    func log(_ event: BotEvent) {
        switch event {
        case .watching(let partitions):
            let partitions = partitions.map(String.init).joined(separator: ",")
            // After a failure a restart is not news.
            let level = failures > 0 ? Logger.Level.debug : .notice
            logger.log(level: level, "watching", metadata: ["partitions": "\(partitions)"])
        case .beyondTarget(let fruit, let needed):
            guard fruitsBeyondTarget.insert(fruit).inserted else { return }
            logger.notice("an order needed \(needed) \(fruit), more than --target \(target)")
        case .rejected(let answer):
            logger.warning(
                "refill rejected, and not sent again before the stock changes: \(answer.message)",
                metadata: ["store": "\(answer.store)", "id": "\(answer.id)"])
        case .lost(let error):
            failures += 1
            // Fewer failures in a row are normal: another bot joined or left.
            let level = failures == 5 ? Logger.Level.warning : .info
            logger.log(level: level, "reading again from the committed positions: \(error)")
        case .recovered:
            if failures >= 5 { logger.notice("refills are written again") }
            failures = 0
        case .answered: update(underway: 0, now: .now)
        case .sent: break
        }
    }

    /// Warns if refills have had no answer for 30 s: the service may not be running.
    func update(underway: Int, now: ContinuousClock.Instant) {
        if underway == 0 {
            if hasWarned { logger.notice("refills are answered again") }
            (waitingSince, hasWarned) = (nil, false)
        } else if !hasWarned, now - (waitingSince ?? now) >= .seconds(30) {
            hasWarned = true
            logger.warning("\(underway) refills have no answer for 30 s: is the service running?")
        } else {
            waitingSince = waitingSince ?? now
        }
    }
}
