import Logging

/// Logs what is wrong with the cluster, a line for each change. A single command can compact or trim a topic that was fit at the
/// start.
struct FaultLog {
    let logger: Logger
    let level: Logger.Level
    /// What follows from each fault.
    var consequence = ""
    /// What was found last.
    private(set) var problems: [TopicCheck.Problem] = []

    mutating func found(_ found: [TopicCheck.Problem]) {
        for problem in found where !problems.contains(problem) {
            logger.log(level: level, "\(problem.fault)\(consequence); to fix it: \(problem.fix)")
        }
        for problem in problems where !found.contains(problem) { logger.notice("no longer: \(problem.fault)") }
        problems = found
    }
}
