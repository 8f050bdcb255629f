import Logging
import Metrics

/// Reports wrong settings of the topics on which correctness rests: a topic that was fit at the start may be compacted or trimmed
/// later, by a command of a few seconds.
struct SettingsWatch {
    private let gauge: Gauge?
    private let logger: Logger
    /// What was wrong when it last looked.
    private var problems: [TopicCheck.Problem] = []

    init(metrics: (any MetricsFactory)?, logger: Logger) {
        gauge = metrics?.gauge(.wrongSettings)
        self.logger = logger
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
