import ArgumentParser
import Kafka

/// What a measurement found: a table for people, JSON for programs, and whether its goals are met.
protocol BenchReport: Encodable {
    var machine: BenchMachine { get }
    var goals: [Goal] { get }
    /// What was measured: a line above the table.
    var head: String { get }
    func table() -> Table
}

extension BenchReport {
    func lines(paint: Paint) -> [String] {
        [machine.line, head, ""] + table().lines(paint: paint) + [""] + Goal.table(goals).lines(paint: paint)
    }
}

/// Runs a measurement and prints what it found.
enum BenchRun {
    static func run(_ settings: Settings, _ measure: (BenchSite) throws -> any BenchReport) throws {
        let interruption = Interruption()
        let site = try BenchSite(settings, isInterrupted: { interruption.isRequested })
        defer { site.close() }
        let report = try measure(site)
        site.progress.clear()
        try print(report, settings)
    }

    /// Prints a report as the settings have it, and ends with status 1 where they want that.
    static func print(_ report: any BenchReport, _ settings: Settings) throws {
        let checks = try settings.boolean(.check)
        StandardOutput.line(
            try settings.boolean(.json)
                ? try JSONText.indented(report)
                : report.lines(paint: .forStandardOutput()).joined(separator: "\n")
        )
        let missed = report.goals.filter { $0.isMet == false }
        guard checks, !missed.isEmpty else { return }
        StandardError.write("juice: missed: \(missed.map(\.name).joined(separator: ", "))\n")
        throw ExitCode.failure
    }
}
