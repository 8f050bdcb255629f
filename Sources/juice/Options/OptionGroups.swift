import ArgumentParser
import Foundation
import JuiceDomain
import JuiceMessages
import Logging

struct GeneralOptions: ParsableArguments {
    @Option("A JSON file of settings, named like the options.", .file) var config: String?
    @Option("The log level. Unless given, it is notice, and in the demo warning.", .word) var logLevel: Logger.Level?
    @Option("The log format: text, a line for people, or json, an object per line.", .word) var logFormat = LogFormat.text

    func logger(default level: Logger.Level = .notice) -> Logger { .lines(level: logLevel ?? level, format: logFormat) }
}

struct KafkaOptions: ParsableArguments {
    @Option(
        "The Kafka brokers, separated by commas. Unless given: the embedded broker that serve starts; without one 127.0.0.1:9092.",
        .brokers)
    var bootstrapServers: String?
    @Flag("Fail if no brokers are configured, instead of using an embedded one or 127.0.0.1:9092.") var requireBrokers = false
    @Option("The prefix of the topics' names.", .text("text")) var topicPrefix = TopicNames.standardPrefix
    @Option(
        help: ArgumentHelp(
            "A librdkafka property, such as security.protocol=SSL; no passwords. Can be repeated.", valueName: "name=value"))
    var kafkaProperty: [String] = []
    @Option("A file of such properties, one per line; it may contain passwords.", .file) var kafkaPropertyFile: String?

    /// Reads the properties again, since passwords may be renewed; nil if they came through a pipe, which is read only once.
    var rereading: (@Sendable () throws -> [String: String])? {
        var status = stat()
        if let kafkaPropertyFile, stat(kafkaPropertyFile, &status) != 0 || status.st_mode & S_IFMT != S_IFREG { return nil }
        return { [self] in try KafkaProperties.read(self) }
    }
}

/// The options of commands that contact brokers and then end.
struct ClientOptions: ParsableArguments {
    @Option("How long to wait for brokers and answers.", .duration(in: .milliseconds(1) ... .seconds(86_400)))
    var timeout = Duration.seconds(10)
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var general: GeneralOptions
}

struct MenuOptions: ParsableArguments {
    @Option("The menu's JSON file. Unless given, it is the built-in menu.", .file) var menu: String?

    func load() throws(Failure) -> Menu { try menu.map(Self.menu) ?? .standard }

    static func menu(at path: String) throws(Failure) -> Menu {
        let bytes = try Failure.bytes(of: path, "the menu")
        do {
            return try bytes.withUnsafeBytes { try MenuFile.decode($0) }
        } catch { throw Failure(.configuration, "the menu \(path) cannot be used: \(error)") }
    }
}

struct GroupOptions: ParsableArguments {
    @Option("The service's consumer group: instances of one group share the work.", .text("name")) var group = "juice-maker"
}

struct WindowOptions: ParsableArguments {
    @Option("How long a repeated command gets the answer to the first one.", .duplicateWindow)
    var duplicateWindow = Duration.milliseconds(DuplicateWindow.standard.age)
    @Option(
        "How many commands per partition are remembered for that; 30 bytes of memory each.",
        .number(in: 0...100_000_000))
    var duplicateIds = DuplicateWindow.standard.count

    var window: DuplicateWindow { DuplicateWindow(age: Int64(duplicateWindow / .milliseconds(1)), count: duplicateIds) }
}

struct TopicOptions: ParsableArguments {
    @Option("Partitions of each topic that is created. Unless given, 4.", .number(in: 1...10_000)) var partitions: Int?
    @Option(
        "Replicas of each partition of a topic that is created. Unless given, it is the cluster's default.", .number(in: 1...100))
    var replicationFactor: Int?

    var count: Int { partitions ?? 4 }
}

struct PeriodOptions: ParsableArguments {
    @Option("Only what was written at or after this time.", .time) var since: String?
    @Option("Only what was written before this time.", .time) var until: String?

    func period() throws(Failure) -> TopicReader.Period {
        let since = max(since.flatMap { TimeText.milliseconds($0) } ?? 0, TopicReader.always.lowerBound)
        let until = until.flatMap { TimeText.milliseconds($0, after: since) } ?? TopicReader.always.upperBound
        guard since < until else {
            let times = [since, until].map { DateTime.text(milliseconds: $0) }
            throw Failure(.usage, "--since (\(times[0])) must be before --until (\(times[1]))")
        }
        return since..<until
    }
}
