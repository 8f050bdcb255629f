import ArgumentParser
import JuiceMaker
import JuiceMessages
import Kafka
import Logging

/// The options for the configuration file and the log.
struct GeneralOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A JSON file of settings, named like the options.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The log level: trace, debug, info, notice, warning, error or critical.",
            valueName: "level"
        ),
        completion: .list(Logger.Level.allCases.map(\.rawValue))
    )
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "The log format: text, a line for people, or json, an object per line. (default: text)",
            valueName: "text|json"
        ),
        completion: .list(LogFormat.allCases.map(\.rawValue))
    )
    var logFormat: String?
}

/// The options of all commands that use Kafka.
struct KafkaOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            The Kafka brokers, separated by commas. (default: an embedded broker, which serve starts and the others \
            find; else 127.0.0.1:9092)
            """,
            valueName: "host:port,…"
        )
    )
    var bootstrapServers: String?

    @Flag(inversion: .prefixedNo, help: "Fail if no brokers are configured, instead of using an embedded one or 127.0.0.1:9092.")
    var requireBrokers: Bool?

    @Option(help: ArgumentHelp("The prefix of the topics' names. (default: juice.)", valueName: "text"))
    var topicPrefix: String?

    @Option(
        help: ArgumentHelp(
            "A librdkafka property, such as security.protocol=SSL; no passwords. Can be repeated.", valueName: "name=value"))
    var kafkaProperty: [String] = []

    @Option(
        help: ArgumentHelp("A file of such properties, one per line; it may contain passwords.", valueName: "file"),
        completion: .file()) var kafkaPropertyFile: String?

    @Option(
        help: ArgumentHelp(
            "librdkafka's debug contexts, such as cgrp,eos or all. Sets --log-level to debug by default.", valueName: "context,…"))
    var kafkaDebug: String?

    @OptionGroup var general: GeneralOptions
}

/// The option for the menu.
struct MenuOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The menu's JSON file. (default: the built-in menu)", valueName: "file"),
        completion: .file(extensions: ["json"])) var menu: String?
}

/// The option for the language.
struct LanguageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The language of names and messages: en or ko. (default: en)", valueName: "en|ko"),
        completion: .list(Language.allCases.map(\.rawValue))) var language: String?
}

/// The address for health and metrics.
struct AdminOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Serve /health/live, /health/ready and /metrics at this address. (default: off)", valueName: "host:port")
    ) var adminHttp: String?
}

/// The option for how long to wait for Kafka.
struct TimeoutOption: ParsableArguments {
    @Option(help: ArgumentHelp("How long to wait for the broker. (default: 10)", valueName: "seconds"))
    var timeout: Double?
}
