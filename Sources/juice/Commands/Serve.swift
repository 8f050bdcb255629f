import ArgumentParser
import Foundation
import JuiceMessages
import JuiceService
import JuiceWeb
import Logging
import ServiceLifecycle

struct ServeOptions: ParsableArguments {
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var general: GeneralOptions
    @OptionGroup var group: GroupOptions
    @Option("The name of this instance in its group; keep it across restarts.", .text("name"))
    var instanceId = ProcessInfo.processInfo.hostName
    @Option("Workers in this process, each with its own thread.", .number(in: 1...1000)) var workers = 1
    @Option(
        """
        The least time between two transactions of a worker: under a steady load fewer of them carry more commands, which cost \
        less and wait longer. The first command after a pause does not wait.
        """, .duration(in: .zero ... .seconds(1)))
    var commitInterval = Duration.zero
    @OptionGroup var repeats: WindowOptions
    @OptionGroup var topics: TopicOptions
    @OptionGroup var menu: MenuOptions
    @Option(
        """
        The only stores to serve, separated by commas, or one a line in a file. Commands to others are rejected. Unless given, it \
        serves all, so that a mistyped name is a new store.
        """, .stores)
    var stores: StoreList?
    @Option("The language of messages in answers.", .word) var language = Language.english
    @Flag("Create the topics that are missing.") var createTopics = false
    @Option("Serve /health/live, /health/ready and /metrics at this address. Unless given, it does not.", .address)
    var http: HTTPAddress?
    @Flag("Start although another group's instances serve these topics; they end.") var takeOver = false
}

struct ServeCommand: AsyncParsableCommand, PatientCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the service: read commands, answer each exactly once.",
        discussion: """
            Without --bootstrap-servers it starts an embedded broker in its own process, for trying things out; \
            other juice commands of this user find it by themselves.

            It runs until Ctrl-C or SIGTERM, then finishes the current transaction and exits within 5 seconds.

            --dry-run shows what `juice doctor` does, and tries on the dead letters if brokers hide aborted records and refuse \
            former owners. If so, it tries what it may write to the other topics, and leaves nothing there to read. It claims no \
            partition, and may run beside the service. Whether it may join the group, and read topics that are empty, shows only \
            at a start. Exit status: 0 it can start and read every partition, 69 no broker or no leader, 78 something has to be \
            fixed first.

            Examples:
              juice serve
              juice serve --bootstrap-servers kafka1:9092,kafka2:9092 --workers 2
              juice serve --bootstrap-servers kafka:9093 --kafka-property-file kafka.properties --create-topics
              juice serve --bootstrap-servers kafka:9092 --http 127.0.0.1:8080 --log-format json
              juice serve --bootstrap-servers kafka:9092 --create-topics --dry-run
              JUICE_BOOTSTRAP_SERVERS=kafka:9092 juice serve --language ko
            """
    )

    @OptionGroup var options: ServeOptions
    @Flag("Only find out whether it could start, and read every partition.") var dryRun = false

    @MainActor
    func run() async throws {
        OutputQueue.startAll(options.general.logFormat)
        let stop = EndingSignals.stopSignal()
        let logger = options.general.logger(default: .notice)
        let patience = dryRun ? nil : Patience(logger, until: stop)
        var configuration = try Patience.having(patience) { () throws(Failure) in try options.configuration() }
        configuration.isRehearsal = dryRun
        do { try configuration.validate() } catch { throw Failure(error) }
        if dryRun { return try rehearse(configuration) }
        // An instance in the group can be asked for its health, so it does not join before the address is there.
        try Patience.having(patience) { () throws(Failure) in try options.http?.check() }
        var embedded: EmbeddedKafka?
        defer { embedded?.stop() }
        if configuration.bootstrapServers.isEmpty {
            let broker = try EmbeddedKafka(
                topics: configuration.topics, partitions: options.topics.count, runFiles: .ofThisUser(), logger: logger)
            embedded = broker
            (configuration.bootstrapServers, configuration.capabilities) = (broker.bootstrapServers, .embedded)
            StandardOutput.serviceLine(Self.welcome(broker.bootstrapServers, topics: configuration.topics))
        }
        let about: Logger.Metadata = [
            "group": "\(configuration.group)", "instance": "\(configuration.instanceID)", "workers": "\(configuration.workers)",
            "menu": "\(options.menu.menu ?? "built-in")",
        ]
        logger.started("serve", brokers: configuration.bootstrapServers, options.kafka, about)
        let health = ServiceHealth()
        let metrics = options.http.map { _ in Metrics(ServiceMetric.allCases.map { ($0.rawValue, $0.help) }) }
        let creates = configuration.createsTopics && configuration.capabilities.managesTopics
        let topicPlan = TopicPlan(
            names: configuration.topics, partitionCount: options.topics.count,
            replicationFactor: options.topics.replicationFactor)
        let service = OrderService(
            configuration: configuration, rereading: options.kafka.rereading, topicPlan: creates ? topicPlan : nil, health: health,
            metrics: metrics?.registry, logger: logger)
        var services: [any Service] = [service]
        if let http = options.http, let metrics {
            let server = metrics.server(
                at: http, readyMetric: ServiceMetric.ready.rawValue, liveness: { health.liveness },
                readiness: { health.readiness }, warnings: { health.warnings }, countsItself: true, logger: logger)
            // The server stops last, so that it can report health while the service stops.
            services.insert(server, at: 0)
        }
        try await ServiceGroup.of(services, until: stop).runForUser()
    }

    private func rehearse(_ configuration: ServiceConfiguration) throws {
        guard configuration.capabilities.managesTopics, !configuration.bootstrapServers.isEmpty else {
            throw Failure(.usage, "--dry-run needs brokers that are not embedded", hint: "name them with --bootstrap-servers")
        }
        let report = try DoctorReport(on: KafkaClients(options.kafka, logger: options.general.logger()), configuration)
        for line in report.lines(.forStandardOutput()) { StandardOutput.line(line) }
        let isFit = report.status <= Finding.Severity.warning.rawValue
        StandardOutput.line(isFit ? "\nit can start, and read every partition" : "\nit cannot start, or not read every partition")
        if !isFit { throw ExitCode(report.status) }
    }

    private static func welcome(_ servers: String, topics: TopicNames) -> String {
        """
        Embedded Kafka broker at \(servers)

        It is for trying things: it keeps everything in memory, trims each partition at 5 MB or 100,000 records,
        and nothing survives this process. For anything that matters, name a real one with --bootstrap-servers.

        Try, in another terminal:
          juice order mangoKiwi --wait
          juice stock --watch
          echo '{"orderId":"pos-1","juice":"kiwi"}' | kcat -P -b \(servers) -t \(topics.orders) -k gangnam \\
            -X partitioner=murmur2_random
          kcat -C -b \(servers) -t \(topics.results) -o beginning -X isolation.level=read_committed -f '%k %s\\n'

        """
    }
}

extension ServeOptions {
    /// The service's configuration. Without brokers `bootstrapServers` is empty, and the caller starts an embedded broker.
    func configuration() throws(Failure) -> ServiceConfiguration {
        // Creating a client reports invalid librdkafka properties before the welcome text is printed.
        // The service itself says when no broker answers.
        let clients = try KafkaClients(kafka, logger: .lines(level: .critical))
        _ = try clients.admin()
        var configuration = clients.service(group: group.group, instanceID: instanceId, menu: try menu.load())
        if kafka.bootstrapServers == nil { (configuration.bootstrapServers, configuration.capabilities) = ("", .full) }
        configuration.workers = workers
        let stores = try stores?.ids()
        configuration.stores = stores.map { ByteKeyTable(keys: $0) }
        configuration.language = language
        (configuration.duplicateWindow, configuration.commitInterval) = (repeats.window, commitInterval)
        configuration.openFiles = OpenFileLimit.raised
        (configuration.takesOver, configuration.createsTopics) = (takeOver, createTopics)
        return configuration
    }
}

extension Failure {
    /// Why the service ended by itself.
    init(_ error: ServiceError) {
        switch error {
        case .badConfiguration(let reason): self.init(.configuration, reason)
        case .unfitTopics(let problems):
            guard let problem = problems.first, problems.count == 1 else {
                let list = problems.map(\.description).joined(separator: "\n")
                self.init(.configuration, "the topics are not fit for the service", hint: list)
                return
            }
            self.init(.configuration, problem.fault, hint: "fix it with: \(problem.fix)")
        case .passing(let reason), .failed(let reason): self.init(.software, reason)
        }
    }
}
