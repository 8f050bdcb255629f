import ArgumentParser
import JuiceMaker
import JuiceMessages
import Kafka
import Logging

/// The options that say where the configuration file is and how much to tell.
struct GeneralOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A JSON file of settings, named like the options.", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "How much to log: trace, debug, info, notice, warning, error, critical.",
            valueName: "level"
        ),
        completion: .list(Logger.Level.allCases.map(\.rawValue))
    )
    var logLevel: String?

    @Option(
        help: ArgumentHelp(
            "How to log: text, a line for people, or json, an object on a line. (default: text)",
            valueName: "text|json"
        ),
        completion: .list(LogFormat.allCases.map(\.rawValue))
    )
    var logFormat: String?
}

/// The options that every command that talks to Kafka has.
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

    @Flag(
        inversion: .prefixedNo,
        help: "Run only where brokers are named, neither on an embedded one nor on 127.0.0.1:9092."
    )
    var requireBrokers: Bool?

    @Option(help: ArgumentHelp("What the topics' names begin with. (default: juice.)", valueName: "text"))
    var topicPrefix: String?

    @Option(
        help: ArgumentHelp(
            "A librdkafka property, such as security.protocol=SSL; no passwords. To be given once for each.",
            valueName: "name=value"
        )
    )
    var kafkaProperty: [String] = []

    @Option(
        help: ArgumentHelp(
            "A file of such properties, one a line: the place for passwords.",
            valueName: "file"
        ),
        completion: .file()
    )
    var kafkaPropertyFile: String?

    @Option(
        help: ArgumentHelp(
            "What librdkafka tells of itself, such as cgrp,eos or all. Logs from debug on, unless told otherwise.",
            valueName: "context,…"
        )
    )
    var kafkaDebug: String?

    @OptionGroup var general: GeneralOptions
}

/// The menu, for commands that need one.
struct MenuOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The menu's JSON file. (default: the built-in menu)", valueName: "file"),
        completion: .file(extensions: ["json"])
    )
    var menu: String?
}

/// The language, for commands that show names to people.
struct LanguageOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The language for people: en or ko. (default: en)", valueName: "en|ko"),
        completion: .list(Language.allCases.map(\.rawValue))
    )
    var language: String?
}
