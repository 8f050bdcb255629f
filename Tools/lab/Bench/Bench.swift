import ArgumentParser
import CLab
import Foundation
import JuiceMessages

/// `lab bench`: the measurements.
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measures the service: its own work, throughput, latency, restore and repeats.",
        discussion: """
            The service is measured in the same run as a loop in plain C on librdkafka. For each order the loop only writes a \
            record of an answer's size, exactly once. The ratios show what the service costs beyond Kafka, on any machine.

            Each measurement but core and heap creates its own topics on the broker and deletes them. docs/PERFORMANCE.md \
            explains the numbers.

            Exit status: 0 done, 1 a goal was missed (with --check), 64 usage, 69 no broker, 70 failed, \
            78 bad configuration, 130 interrupted.

            Examples:
              lab bench core
              lab bench end-to-end --bootstrap-servers kafka:9092
              lab bench latency --bootstrap-servers kafka:9092 --rate 1000
              lab bench restore --bootstrap-servers kafka:9092 --stores 1000000
              lab bench repeats --bootstrap-servers kafka:9092
            """,
        subcommands: [
            Core.self, Heap.self, EndToEnd.self, Latency.self, Restore.self, Repeats.self, RunPiece.self, BareCopy.self,
            BareRead.self,
        ])
}

/// A measurement that needs a broker.
protocol BrokerMeasurement: ParsableCommand {
    var broker: BrokerOptions { get }
    /// Blocks the calling thread, on which the measured processes depend.
    func measure(at site: Site) throws -> Report
}

extension BrokerMeasurement {
    func run() throws {
        process_catch_signals()
        let site = try Site(broker)
        defer { site.close() }
        try broker.output.show(try measure(at: site))
    }
}

// MARK: - Options

/// The options of all measurements.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON, documented in docs/PERFORMANCE.md.") var json = false
    @Flag(help: "Exit with status 1 if a goal is missed.") var check = false

    func show(_ report: Report) throws {
        print(try json ? report.json : report.text)
        let missed = report.figures.filter { $0.met == false }
        guard check, !missed.isEmpty else { return }
        note("bench: missed: \(missed.map(\.name).joined(separator: "; "))")
        throw ExitCode.failure
    }
}

/// How all clients find the brokers, including the C loops.
struct ClusterOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The Kafka brokers, separated by commas.", valueName: "host:port,…"))
    var bootstrapServers = "127.0.0.1:9092"

    @Option(
        help: ArgumentHelp(
            "A file of librdkafka properties, name=value, one per line, for the service and all other clients.", valueName: "file"),
        completion: .file())
    var kafkaPropertyFile: String?

    /// These options, for a process that uses the same brokers.
    var arguments: [String] {
        ["--bootstrap-servers", bootstrapServers] + (kafkaPropertyFile.map { ["--kafka-property-file", $0] } ?? [])
    }

    /// The user's librdkafka properties, which may contain secrets.
    var properties: [String: String] {
        get throws {
            guard let path = kafkaPropertyFile else { return [:] }
            guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
                throw ToolError("the property file \(path) cannot be read", status: 78)
            }
            return try Self.properties(in: text)
        }
    }

    /// Parses `name=value` lines; empty lines and lines that start with # are skipped.
    static func properties(in text: String) throws -> [String: String] {
        let lines = text.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
        return try lines.reduce(into: [:]) { properties, line in
            guard !line.isEmpty, !line.hasPrefix("#") else { return }
            let pair = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            // The line is not quoted, since it may hold a password.
            guard pair.count == 2 else { throw ToolError("a line of the property file is not name=value", status: 78) }
            properties[pair[0]] = pair[1]
        }
    }
}

/// The options of all measurements on a broker.
struct BrokerOptions: ParsableArguments {
    @OptionGroup var cluster: ClusterOptions

    @Option(help: ArgumentHelp("The prefix of the names of topics and groups.", valueName: "text"))
    var topicPrefix = TopicNames.standardPrefix

    @Option(help: ArgumentHelp("Replicas of each partition. (default: the broker's)", valueName: "count"))
    var replicationFactor: Int?

    @Option(help: ArgumentHelp("The service to measure. (default: juice beside lab)", valueName: "path"), completion: .file())
    var juice: String?

    @OptionGroup var output: OutputOptions
}

/// Reads an option that is a whole number in a range.
func whole(_ range: ClosedRange<Int>) -> @Sendable (String) throws -> Int {
    { text in
        guard let number = Int(text), range.contains(number) else {
            throw ValidationError("must be a whole number, from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
