import ArgumentParser
import JuiceService
import Logging
import ServiceLifecycle

/// `juice serve`: the service.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service: read orders and restocks, answer each exactly once.",
        discussion: """
            Without --bootstrap-servers it starts an embedded broker in its own process, to try things with; \
            other juice commands of this user find it by themselves.

            It runs until Ctrl-C or SIGTERM, then finishes the transaction at hand and exits within 5 seconds.

            Examples:
              juice serve
              juice serve --bootstrap-servers kafka1:9092,kafka2:9092 --workers 2
              juice serve --bootstrap-servers kafka:9093 --kafka-property-file kafka.properties --create-topics
              JUICE_BOOTSTRAP_SERVERS=kafka:9092 juice serve --language ko
            """
    )

    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var service: ServiceOptions
    @OptionGroup var topicOptions: TopicOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var language: LanguageOptions

    @Flag(inversion: .prefixedNo, help: "Create the topics that are missing.")
    var createTopics: Bool?

    @Option(
        help: ArgumentHelp(
            "A file that is there while the service is ready: for health checks. (default: none)",
            valueName: "file"
        ),
        completion: .file()
    )
    var readyFile: String?

    @MainActor
    func run() async throws {
        var flags = Flags()
        flags.set(.readyFile, readyFile)
        service.add(to: &flags)
        topicOptions.add(to: &flags)
        menu.add(to: &flags)
        language.add(to: &flags)
        flags.set(.createTopics, createTopics)
        let settings = try kafka.settings(flags)
        let logger = Log.logger(level: try settings.logLevel(default: .notice))

        // Everything is read before anything is started, and so that librdkafka's word on its properties is not
        // preceded by a welcome, it is asked for it.
        let connection = try Connection(settings)
        _ = try connection.admin()
        var configuration = try ServiceConfiguration(settings, kafkaProperties: connection.properties)
        let partitions = try settings.partitions()
        let plan = TopicPlan(
            names: configuration.topics,
            partitionCount: partitions,
            replicationFactor: try settings.integer(.replicationFactor, in: 1...100)
        )
        let createsTopics = try settings.boolean(.createTopics)
        let readyFile = try settings.string(.readyFile).map { path throws(Failure) in
            try ReadyFile(path: path)
        }

        guard configuration.bootstrapServers.isEmpty else {
            let service = OrderService(
                configuration: configuration,
                topicPlan: createsTopics ? plan : nil,
                logger: logger,
                onReadiness: { readyFile?.note(isReady: $0) }
            )
            try await ServiceRun.untilStopped(service)
            return
        }
        let embedded = try EmbeddedKafka(
            topics: configuration.topics,
            partitions: partitions,
            runFiles: .ofThisUser(),
            logger: logger
        )
        defer { embedded.stop() }
        configuration.bootstrapServers = embedded.bootstrapServers
        configuration.isEmbedded = true
        StandardOutput.write(EmbeddedWelcome.text(embedded.bootstrapServers, topics: configuration.topics))
        let service = OrderService(
            configuration: configuration,
            logger: logger,
            onReadiness: { readyFile?.note(isReady: $0) }
        )
        try await ServiceRun.untilStopped(service)
    }
}

/// What `juice serve` says when it brings its own broker.
enum EmbeddedWelcome {
    static func text(_ servers: String, topics: TopicNames) -> String {
        """
        Embedded Kafka broker at \(servers)

        It is for trying things: it keeps everything in memory, trims each partition at 5 MB or 100,000 records,
        and nothing survives this process. For anything that matters, name a real one with --bootstrap-servers.

        Try, in another terminal:
          juice order mangoKiwi --wait
          juice stock --watch
          echo '{"orderId":"pos-1","juice":"kiwi"}' | kcat -P -b \(servers) -t \(topics.orders) -k gangnam \\
            -X partitioner=murmur2_random
          kcat -C -b \(servers) -t \(topics.results) -o beginning -f '%k %s\\n'


        """
    }
}
