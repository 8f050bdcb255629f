import ArgumentParser
import Foundation
import JuiceBench
import JuiceClient
import JuiceMessages
import Kafka

/// Runs a measurement and prints its report.
enum BenchRun {
    /// Measures on the configured broker.
    ///
    /// - Throws: `ExitCode` after Ctrl-C, or if a goal is missed and the settings ask to check that.
    static func run(_ settings: Settings, _ measurement: some BrokerMeasurement) throws {
        let interruption = StopSignal.onInterruption()
        let bar = ProgressBar()
        defer { bar.clear() }
        let connection = try Connection(settings)
        passOn(connection.properties)
        let site = try BenchSite(
            connection, topicPrefix: settings.string(.topicPrefix) ?? TopicNames.standardPrefix,
            replicationFactor: try settings.integer(.replicationFactor, in: 1...100), configFile: settings.file,
            onProgress: { bar.show($0) }, isInterrupted: { interruption.isRequested })
        defer { site.close() }
        do {
            let report = try measurement.measure(at: site)
            bar.clear()
            try print(report, settings)
        } catch is Interrupted {
            // The status that a shell reports for a process killed by SIGINT.
            throw ExitCode(130)
        }
    }

    /// Passes properties to the child processes in the environment. They may be secrets, so they must not be on a command
    /// line or in a file.
    private static func passOn(_ properties: [String: String]) {
        guard !properties.isEmpty else { return }
        let lines = properties.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        setenv(Setting<String?>.kafkaProperty.environmentName, lines.joined(separator: "\n"), 1)
    }

    /// Prints a report, and exits with status 1 if a goal is missed and the settings ask to check that.
    static func print(_ report: any BenchReport, _ settings: Settings) throws {
        let checks = try settings.boolean(.check)
        StandardOutput.line(
            try settings.boolean(.json)
                ? try JSONText.indented(report) : report.lines(paint: .forStandardOutput()).joined(separator: "\n"))
        let missed = report.goals.filter { $0.isMet == false }
        guard checks, !missed.isEmpty else { return }
        StandardError.write("juice: missed: \(missed.map(\.name).joined(separator: ", "))\n")
        throw ExitCode.failure
    }
}

extension BenchReport {
    /// The report for people.
    func lines(paint: Paint) -> [String] {
        [machine.line, head, ""] + Table(table).lines(paint: paint) + [""] + Table(goals).lines(paint: paint)
    }
}

extension Table {
    init(_ figures: FigureTable) {
        self.init(
            figures.columns.map { column in
                switch column.alignment {
                case .left: Column(title: column.title)
                case .right: Column(title: column.title, alignment: .right)
                }
            })
        for row in figures.rows { add(row.map { Cell($0) }) }
    }

    /// The goals: measured and wanted values.
    init(_ goals: [Goal]) {
        self.init([
            .init(title: "goal"), .init(title: "measured", alignment: .right),
            .init(title: "wanted", alignment: .right), .init(title: ""),
        ])
        for goal in goals {
            let unit = goal.unit.isEmpty ? "" : " \(goal.unit)"
            let sign = goal.bound == .atLeast ? "≥" : "≤"
            let verdict: Cell =
                switch goal.isMet {
                case true?: .init("met", .green)
                case false?: .init("missed", .red)
                case nil: .init("not measured", .yellow)
                }
            add([
                .init(goal.name), .init(goal.measured.map { Figure.text($0) + unit } ?? "-"),
                .init("\(sign) \(Figure.text(goal.limit))\(unit)"), verdict,
            ])
        }
    }
}
