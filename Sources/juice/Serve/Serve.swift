import ArgumentParser
import JuiceClient
import JuiceMessages
import JuiceService

/// `juice serve`: the service.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the service: read orders and restocks, answer each exactly once.",
        discussion: """
            Without --bootstrap-servers it starts an embedded broker in its own process, for trying things out; \
            other juice commands of this user find it by themselves.

            It runs until Ctrl-C or SIGTERM, then finishes the current transaction and exits within 5 seconds.

            Examples:
              juice serve
              juice serve --bootstrap-servers kafka1:9092,kafka2:9092 --workers 2
              juice serve --bootstrap-servers kafka:9093 --kafka-property-file kafka.properties --create-topics
              juice serve --bootstrap-servers kafka:9092 --http 127.0.0.1:8080 --log-format json
              JUICE_BOOTSTRAP_SERVERS=kafka:9092 juice serve --language ko
            """
    )

    @OptionGroup var options: ServeOptions

    @MainActor
    func run() async throws {
        var plan = try ServicePlan(Settings(self))
        let readyFile = try plan.readyFile.map { path throws(Failure) in try ReadyFile(path: path) }
        guard plan.configuration.bootstrapServers.isEmpty else { return try await ServiceRun.untilStopped(plan, readyFile) }
        let embedded = try EmbeddedKafka(
            topics: plan.configuration.topics, partitions: plan.partitions, runFiles: .ofThisUser(), logger: plan.logger)
        defer { embedded.stop() }
        plan.configuration.bootstrapServers = embedded.bootstrapServers
        plan.configuration.capabilities = .embedded
        StandardOutput.write(EmbeddedWelcome.text(embedded.bootstrapServers, topics: plan.configuration.topics))
        try await ServiceRun.untilStopped(plan, readyFile)
    }
}

/// What `juice serve` prints when it starts an embedded broker.
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
