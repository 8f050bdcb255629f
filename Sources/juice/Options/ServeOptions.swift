import ArgumentParser

/// Everything that can be said of the service on the command line.
struct ServeOptions: ParsableArguments {
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var service: ServiceOptions
    @OptionGroup var topics: TopicOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions

    @Flag(inversion: .prefixedNo, help: "Create the topics that are missing.")
    var createTopics: Bool?

    @Option(
        help: ArgumentHelp(
            "Serve /health/live, /health/ready and /metrics there. (default: nowhere)",
            valueName: "host:port"
        )
    )
    var http: String?

    @Option(
        help: ArgumentHelp(
            "A file that is there while the service is ready: for health checks. (default: none)",
            valueName: "file"
        ),
        completion: .file()
    )
    var readyFile: String?
}
