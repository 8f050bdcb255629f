import ArgumentParser
import Foundation
import JuiceEngine
import JuiceMessages
import JuiceService
import JuiceWeb
import Logging
import ServiceLifecycle

/// All options of the service.
struct ServeOptions: ParsableArguments {
    @OptionGroup var kafka: KafkaOptions
    @Option(.group) var group: String?
    @Option(
        help: ArgumentHelp(
            "The name of this instance in its group; keep it across restarts. (default: the host name)", valueName: "name"))
    var instanceId: String?
    @Option(.workers) var workers: String?
    @Option(.duplicateWindow) var duplicateWindow: String?
    @Option(.duplicateIDs) var duplicateIds: String?
    @Option(.answerBytes) var answerBytes: String?
    @OptionGroup var topics: TopicOptions
    @Option(.menu) var menu: String?
    @Option(
        .stores, value: "names|@file",
        help: """
            The only stores to serve, separated by commas, or one a line in a file. Commands to others are rejected. \
            (default: all, so that a mistyped name is a new store)
            """)
    var stores: String?
    @Option(.language) var language: String?
    @Flag(.createTopics) var createTopics: Bool?
    @Option(.http) var http: String?
    @Option(.readyFile) var readyFile: String?
}

extension Setting<String> {
    static var instanceID: Self { Self("instance-id", default: hostName) }

    /// The local host name, without a DNS lookup.
    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "juice" }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? "juice" : String(decoding: bytes, as: UTF8.self)
    }
}

extension Setting<String?> {
    static var readyFile: Self {
        Self("ready-file", value: "file", help: "A file that exists while the service is ready, for health checks. (default: none)")
    }
}

extension Setting<Int> {
    static var workers: Self {
        Self("workers", in: 1...1000, default: 1, help: "Workers in this process, each with its own thread.")
    }
    static var answerBytes: Self {
        Self(
            "answer-bytes", in: 0...1 << 40, default: ServiceConfiguration.standardAnswerBytes, value: "bytes",
            help: """
                How many bytes of each partition's latest answers are kept in memory, and as many of older ones that \
                repeats asked for. Others are read from the results again.
                """)
    }
}

extension Setting<Bool> {
    static var createTopics: Self { Self("create-topics", help: "Create the topics that are missing.") }
}

/// `juice serve`: the service.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the service: read orders and restocks, answer each exactly once.",
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
        let settings = try Settings(self)
        OutputQueue.startAll(try settings[.logFormat])
        var plan = try ServicePlan(settings)
        do { try plan.configuration.validate() } catch { throw Failure(error) }
        let readyFile = try plan.readyFile.map { path throws(Failure) in try ReadyFile(path: path) }
        var embedded: EmbeddedKafka?
        defer { embedded?.stop() }
        if plan.configuration.bootstrapServers.isEmpty {
            let broker = try EmbeddedKafka(
                topics: plan.configuration.topics, partitions: plan.partitions, runFiles: .ofThisUser(), logger: plan.logger)
            embedded = broker
            plan.configuration.bootstrapServers = broker.bootstrapServers
            plan.configuration.capabilities = .embedded
            StandardOutput.serviceLine(Self.welcome(broker.bootstrapServers, topics: plan.configuration.topics))
        }
        let configuration = plan.configuration
        try plan.logger.started(
            "serve", brokers: configuration.bootstrapServers, settings,
            [
                "group": "\(configuration.group)", "instance": "\(configuration.instanceID)",
                "workers": "\(configuration.workers)",
            ])
        let health = ServiceHealth { readyFile?.set(isReady: $0) }
        let metrics = plan.http.map { _ in
            Metrics(ServiceMetric.allCases.map { .init($0.rawValue, help: $0.help) })
        }
        let service = OrderService(
            configuration: configuration, topicPlan: configuration.capabilities.managesTopics ? plan.topicPlan : nil,
            health: health, metrics: metrics?.registry, logger: plan.logger)
        var services: [any Service] = [service]
        if let http = plan.http, let metrics {
            let server = metrics.server(
                at: http, readyMetric: ServiceMetric.ready.rawValue, liveness: { health.liveness },
                readiness: { health.readiness }, countsItself: true, logger: plan.logger)
            // The server stops last, so that it can report health while the service stops.
            services.insert(server, at: 0)
        }
        try await ServiceGroup.of(services, signals: [.sigterm, .sigint]).runForUser()
    }

    /// What is printed when an embedded broker starts.
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
          kcat -C -b \(servers) -t \(topics.results) -o beginning -f '%k %s\\n'

        """
    }
}

/// What `juice serve` runs, checked before anything starts.
struct ServicePlan {
    var configuration: ServiceConfiguration
    let partitions: Int
    let logger: Logger
    /// The path of the file that exists while the service is ready.
    let readyFile: String?
    let http: HTTPAddress?
    /// The topics to create if they are missing.
    let topicPlan: TopicPlan?

    init(_ settings: Settings) throws(Failure) {
        logger = try settings.logger(default: .notice)
        // Creating a client reports invalid librdkafka properties before the welcome text is printed.
        let clients = try KafkaClients(settings)
        _ = try clients.admin()
        configuration = try clients.service(settings, instanceID: settings[.instanceID])
        if try settings[.bootstrapServers] == nil {
            // The command starts an embedded broker, and names it and its capabilities here.
            (configuration.bootstrapServers, configuration.capabilities) = ("", .full)
        }
        configuration.workers = try settings[.workers]
        configuration.stores = try settings.stores().map { ByteKeyTable(keys: $0) }
        configuration.language = try settings[.language]
        configuration.duplicateWindow = try DuplicateWindow(settings)
        configuration.answerBytes = try settings[.answerBytes]
        configuration.openFiles = OpenFileLimit.raised
        partitions = try settings[.partitions]
        let replicationFactor = try settings[.replicationFactor]
        topicPlan =
            try settings[.createTopics]
            ? TopicPlan(names: clients.topics, partitionCount: partitions, replicationFactor: replicationFactor) : nil
        http = try settings[.http]
        readyFile = try settings[.readyFile]
    }
}

extension DuplicateWindow {
    init(_ settings: Settings) throws(Failure) {
        self.init(age: Int64(try settings[.duplicateWindow] / .milliseconds(1)), count: try settings[.duplicateIDs])
    }
}

/// A file that exists exactly while the service is ready, for health checks that can test for a file.
struct ReadyFile: Sendable {
    let path: String

    /// Removes a stale file, and checks that the file can be written.
    ///
    /// The check uses another file in the same directory, because a probe must not see this one before the service is ready.
    init(path: String) throws(Failure) {
        self.path = path
        let trial = path + ".trial"
        guard Self.set(path, exists: false), Self.set(trial, exists: true), Self.set(trial, exists: false) else {
            throw Failure(.configuration, "the ready file \(path.printable) cannot be written")
        }
    }

    /// Creates or removes the file.
    func set(isReady: Bool) { _ = Self.set(path, exists: isReady) }

    private static func set(_ path: String, exists: Bool) -> Bool {
        exists ? FileManager.default.createFile(atPath: path, contents: Data()) : unlink(path) == 0 || errno == ENOENT
    }
}

extension Failure {
    /// Why the service ended by itself.
    init(_ error: ServiceError) {
        switch error {
        case .badConfiguration(let reason): self.init(.configuration, reason)
        case .unfitTopics(let problems): self.init(problems)
        case .failed(let reason): self.init(.software, reason)
        }
    }

    /// Topics that have to be fixed.
    init(_ problems: [TopicCheck.Problem]) {
        guard let problem = problems.first, problems.count == 1 else {
            let list = problems.map(\.description).joined(separator: "\n")
            self.init(.configuration, "the topics are not fit for the service", hint: list)
            return
        }
        self.init(.configuration, problem.fault, hint: "fix it with: \(problem.fix)")
    }
}
