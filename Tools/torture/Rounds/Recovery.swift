import Foundation

/// How long the service took to answer again after a disturbance.
struct Recovery {
    /// The disturbance.
    enum Cause: String, CaseIterable {
        case restart = "kill -9, start again"
        case restartOfTwo = "kill -9 two, start again"
        case takeover = "kill -9, others take over"
        case frozen = "freeze, others take over"
        case left = "SIGTERM, others take over"
        case joined = "one more instance"
        case groupLost = "group deleted or reset"
        case broker = "broker restart"

        /// Whether the group first has to detect the loss of a member by its session timeout.
        var waitsForSession: Bool { self == .takeover || self == .frozen }
    }

    let cause: Cause
    /// The time until the first answer from a partition that had lost its reader.
    let first: Duration
    /// The time until all such partitions had answered.
    let all: Duration
}

/// The recovery times of a run as a table: the time until the first answer from a partition that had lost its reader, and in
/// the last column the longest time until all such partitions had answered.
///
/// The limit is the session timeout, after which the group reassigns the partitions, plus 1 s. It may take longer: by default
/// brokers check only every 10 s for transactions that were left open.
struct RecoveryTable {
    let recoveries: [Recovery]
    let session: Duration

    var lines: [String] {
        guard !recoveries.isEmpty else { return [] }
        let title = Self.row("first answer after", "times", "median", "max", "limit", "over", "all")
        return [title]
            + Recovery.Cause.allCases.compactMap { cause in
                let mine = recoveries.filter { $0.cause == cause }
                let first = mine.map(\.first).sorted()
                guard let longest = first.last, let all = mine.map(\.all).max() else { return nil }
                let limit = cause.waitsForSession ? session + .seconds(1) : nil
                return Self.row(
                    cause.rawValue, "\(mine.count)", first[first.count / 2].text, longest.text, limit?.text ?? "",
                    limit.map { limit in "\(first.count { $0 > limit })" } ?? "", all.text)
            }
    }

    private static func row(_ name: String, _ cells: String...) -> String {
        Console.row(name, cells, nameWidth: 26, cellWidth: 10)
    }
}
