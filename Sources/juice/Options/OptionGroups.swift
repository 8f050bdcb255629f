import ArgumentParser
import JuiceMessages

extension Option {
    /// An option that gives a setting. Its help ends with the setting's default.
    ///
    /// - Parameters:
    ///   - placeholder: replaces the setting's.
    ///   - help: replaces the setting's, for a command to which it means something else.
    init<Given: ExpressibleByArgument>(
        _ setting: Setting<some Sendable>, value placeholder: String? = nil, help: String? = nil, completion: CompletionKind? = nil
    ) where Value == Given? {
        let standard = setting.standardText.map { " (default: \($0))" } ?? ""
        let placeholder = placeholder ?? setting.placeholder
        let words = placeholder.contains("@") ? [] : placeholder.split(separator: "|").map(String.init)
        self.init(
            help: ArgumentHelp("\(help ?? setting.help)\(standard)", valueName: placeholder),
            completion: completion ?? (placeholder == "file" ? .file() : words.count > 1 ? .list(words) : nil))
    }
}

extension Flag where Value == Bool? {
    /// A flag that gives a setting.
    init(_ setting: Setting<Bool>) { self.init(inversion: .prefixedNo, help: ArgumentHelp(setting.help)) }
}

/// The options for the configuration file and the log.
struct GeneralOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A JSON file of settings, named like the options.", valueName: "file"),
        completion: .file(extensions: ["json"]))
    var config: String?
    @Option(
        help: ArgumentHelp(
            "The log level: trace, debug, info, notice, warning, error or critical. (default: notice for services, else warning)",
            valueName: "level"))
    var logLevel: String?
    @Option(.logFormat) var logFormat: String?
}

/// The options of all commands that use Kafka.
struct KafkaOptions: ParsableArguments {
    @Option(.bootstrapServers) var bootstrapServers: String?
    @Flag(.requireBrokers) var requireBrokers: Bool?
    @Option(.topicPrefix) var topicPrefix: String?
    @Option(
        help: ArgumentHelp(
            "A librdkafka property, such as security.protocol=SSL; no passwords. Can be repeated.", valueName: "name=value"))
    var kafkaProperty: [String] = []
    @Option(.kafkaPropertyFile) var kafkaPropertyFile: String?
    @OptionGroup var general: GeneralOptions
}

/// The options for creating topics.
struct TopicOptions: ParsableArguments {
    @Option(.partitions) var partitions: String?
    @Option(.replicationFactor) var replicationFactor: String?
}

/// The options of commands that send something to a store.
struct SubmissionOptions: ParsableArguments {
    @Option(.store, value: "store", help: "The store. One that no command has changed is warned of. (default: main)")
    var store: String?

    @Flag(inversion: .prefixedNo, help: "Wait for the answer and print it.")
    var wait: Bool?

    @Option(.timeout, help: "How long to wait for the broker and the answer.")
    var timeout: String?

    @Flag(inversion: .prefixedNo, help: "Print JSON: the place of the command, or with --wait the answer and its place.")
    var json: Bool?

    @Option(.language, help: "The language of the answer: en or ko. Unless given, it is the service's.")
    var language: String?

    @OptionGroup var kafka: KafkaOptions
}

/// The options of commands that send an order or a restock, whose names are looked up on the menu.
struct CommandOptions: ParsableArguments {
    @OptionGroup var submission: SubmissionOptions

    @Flag(inversion: .prefixedNo, help: "Send names that are not on this menu, because the service has another one.")
    var unchecked: Bool?

    @Option(.menu) var menu: String?
}
