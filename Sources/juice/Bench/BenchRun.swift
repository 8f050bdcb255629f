import ArgumentParser
import Kafka

/// What a measurement found: a table for people, JSON for programs, and whether its goals are met.
protocol BenchReport: Encodable {
    var goals: [Goal] { get }
    func lines(paint: Paint) -> [String]
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
