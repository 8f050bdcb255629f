import Kafka
import Logging
import Metrics

/// Looks every five seconds at the settings of the topics on which correctness rests: a topic that was fit at the start may be
/// compacted or trimmed later, by a command of a few seconds. It needs a thread of its own.
struct SettingsWatch {
    private let gauge: Gauge?
    private let logger: Logger
    /// What was wrong when it last looked.
    private var problems: [TopicCheck.Problem] = []

    private static let interval = Duration.seconds(5)

    init(metrics: (any MetricsFactory)?, logger: Logger) {
        gauge = metrics?.gauge(.wrongSettings, [])
        gauge?.record(0)
        self.logger = logger
    }

    /// Looks until the stop is requested. A look that fails, for want of brokers or of a right, is made again five seconds later.
    mutating func watch(_ check: TopicCheck, _ admin: Admin, until stop: StopSignal) {
        while !stop.isRequested {
            if let found = try? check.wrongSettings(admin, timeout: .seconds(2)) { self.found(found) }
            stop.wait(for: Self.interval)
        }
    }

    /// Logs a line for each change.
    mutating func found(_ found: [TopicCheck.Problem]) {
        gauge?.record(Double(found.count))
        for problem in found where !problems.contains(problem) {
            logger.critical("\(problem.fault). Answers may be lost or given twice; to fix it: \(problem.fix)")
        }
        for problem in problems where !found.contains(problem) { logger.notice("no longer: \(problem.fault)") }
        problems = found
    }
}
