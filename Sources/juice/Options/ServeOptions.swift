import ArgumentParser

/// All options of the service.
struct ServeOptions: ParsableArguments {
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var service: ServiceOptions
    @OptionGroup var topics: TopicOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions

    @Flag(inversion: .prefixedNo, help: "Create the topics that are missing.")
    var createTopics: Bool?

    @Option(
        help: ArgumentHelp("Serve /health/live, /health/ready and /metrics at this address. (default: off)", valueName: "host:port")
    ) var http: String?

    @Option(
        help: ArgumentHelp("A file that exists while the service is ready, for health checks. (default: none)", valueName: "file"),
        completion: .file()) var readyFile: String?
}
