import ArgumentParser
import JuiceMessages
import Logging

extension Option {
    /// An option that gives a setting. Its help ends with the setting's default. Stores are completed wherever they are named.
    init<Given: ExpressibleByArgument>(
        _ setting: Setting<some Sendable>, value: String, help: String, completion: CompletionKind? = nil
    ) where Value == Given? {
        let standard = setting.show(setting.standard).map { " (default: \($0))" } ?? ""
        let stores: [String: CompletionKind] = ["store": .stores, "stores": .storeList]
        self.init(help: ArgumentHelp("\(help)\(standard)", valueName: value), completion: completion ?? stores[setting.name])
    }
}

extension Option where Value == String? {
    /// An option that gives a duration. Its help shows how to write one.
    init(_ setting: Setting<Duration>, help: String) {
        self.init(setting, value: "duration", help: "\(help) Such as \(DurationText.examples).")
    }
}

/// The options for the configuration file and the log.
struct GeneralOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A JSON file of settings, named like the options.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var config: String?

    @Option(
        .logLevel, value: "level", help: "The log level: trace, debug, info, notice, warning, error or critical.",
        completion: .list(Logger.Level.allCases.map(\.rawValue)))
    var logLevel: String?

    @Option(
        .logFormat, value: "text|json", help: "The log format: text, a line for people, or json, an object per line.",
        completion: .list(LogFormat.allCases.map(\.rawValue)))
    var logFormat: String?
}

/// The options of all commands that use Kafka.
struct KafkaOptions: ParsableArguments {
    @Option(
        .bootstrapServers, value: "host:port,…",
        help: """
            The Kafka brokers, separated by commas. (default: an embedded broker, which serve starts and the others \
            find; else 127.0.0.1:9092)
            """)
    var bootstrapServers: String?

    @Flag(inversion: .prefixedNo, help: "Fail if no brokers are configured, instead of using an embedded one or 127.0.0.1:9092.")
    var requireBrokers: Bool?

    @Option(.topicPrefix, value: "text", help: "The prefix of the topics' names.")
    var topicPrefix: String?

    @Option(
        help: ArgumentHelp(
            "A librdkafka property, such as security.protocol=SSL; no passwords. Can be repeated.", valueName: "name=value"))
    var kafkaProperty: [String] = []

    @Option(
        .kafkaPropertyFile, value: "file", help: "A file of such properties, one per line; it may contain passwords.",
        completion: .file())
    var kafkaPropertyFile: String?

    @Option(
        .kafkaDebug, value: "context,…",
        help: "librdkafka's debug contexts, such as cgrp,eos or all. Sets --log-level to debug by default.")
    var kafkaDebug: String?

    @OptionGroup var general: GeneralOptions
}

/// The option for the menu.
struct MenuOptions: ParsableArguments {
    @Option(
        .menu, value: "file", help: "The menu's JSON file. (default: the built-in menu)", completion: .file(extensions: ["json"]))
    var menu: String?
}

/// The option for the language.
struct LanguageOptions: ParsableArguments {
    @Option(
        .language, value: "en|ko", help: "The language of names and messages: en or ko.",
        completion: .list(Language.allCases.map(\.rawValue)))
    var language: String?
}

/// The option that identifies a service on a cluster.
struct GroupOptions: ParsableArguments {
    @Option(.group, value: "name", help: "The consumer group: instances of one group share the work.")
    var group: String?
}

/// The options for creating topics.
struct TopicOptions: ParsableArguments {
    @Option(.partitions, value: "count", help: "Partitions of each topic that is created.")
    var partitions: Int?

    @Option(
        .replicationFactor, value: "count",
        help: "Replicas of each partition of a topic that is created. (default: the cluster's)")
    var replicationFactor: Int?
}

/// The address for health and metrics.
struct AdminOptions: ParsableArguments {
    @Option(
        .adminHTTP, value: "host:port", help: "Serve /health/live, /health/ready and /metrics at this address. (default: off)")
    var adminHttp: String?
}

/// The option for how long to wait for Kafka.
struct TimeoutOption: ParsableArguments {
    @Option(.timeout, help: "How long to wait for the broker.")
    var timeout: String?
}

/// The options of commands that send something to a store.
struct SubmissionOptions: ParsableArguments {
    @Option(.store, value: "store", help: "The store. One that no command has changed is warned of. (default: main)")
    var store: String?

    @Flag(inversion: .prefixedNo, help: "Wait for the answer and print it.")
    var wait: Bool?

    @Option(.timeout, help: "How long to wait for the broker and the answer.")
    var timeout: String?

    @Flag(inversion: .prefixedNo, help: "Print JSON: where the command stands, or with --wait the answer and where it stands.")
    var json: Bool?

    @Option(
        .language, value: "en|ko", help: "The language of messages: en or ko. Unless given, answers are in the service's.",
        completion: .list(Language.allCases.map(\.rawValue)))
    var language: String?

    @OptionGroup var kafka: KafkaOptions
}

/// The options of commands that send an order or a restock, whose names are looked up on the menu.
struct CommandOptions: ParsableArguments {
    @OptionGroup var submission: SubmissionOptions

    @Flag(inversion: .prefixedNo, help: "Send names that are not on this menu, because the service has another one.")
    var unchecked: Bool?

    @OptionGroup var menu: MenuOptions
}
