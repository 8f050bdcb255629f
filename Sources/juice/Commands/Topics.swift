import ArgumentParser
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka

/// `juice topics`: creates and checks the topics.
struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics", abstract: "Create the service's topics, or check them.",
        discussion: """
            Orders, restocks, results and stock are created with the same number of partitions, and stock is compacted.

            Examples:
              juice topics create --bootstrap-servers kafka:9092 --partitions 12
              juice topics check --bootstrap-servers kafka:9092
            """,
        subcommands: [Create.self, Check.self]
    )

    struct Create: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create the topics that are missing.",
            discussion: """
                Existing topics are not changed; `juice topics check` checks them.

                Examples:
                  juice topics create --bootstrap-servers kafka:9092 --partitions 12 --replication-factor 3
                """
        )

        @Flag(inversion: .prefixedNo, help: "Print a JSON array of the topics.") var json: Bool?
        @OptionGroup var topics: TopicOptions
        @OptionGroup var timeout: TimeoutOption
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let settings = try Settings(self)
            let clients = try KafkaClients(settings)
            let plan = TopicPlan(
                names: clients.topics, partitionCount: try settings[.partitions],
                replicationFactor: try settings[.replicationFactor])
            let deadline = Deadline(after: try settings[.timeout])
            guard clients.capabilities.managesTopics else {
                throw Failure(
                    .unavailable, "the embedded broker at \(clients.bootstrapServers) cannot create topics on request",
                    hint: "it creates them at its start: `juice serve --partitions N`")
            }
            let admin = try clients.admin(reachedUntil: deadline)
            let created = try clients.ask(admin, until: deadline) { () throws(KafkaError) in
                try admin.create(plan.topics, timeout: deadline.remaining)
            }
            let results = clients.topics.all.map { Result(name: $0, created: created.contains($0)) }
            if try settings[.json] { return StandardOutput.line(try JSONText.indented(results)) }
            for result in results {
                let outcome = result.created ? "created with \(plan.partitionCount.counted("partition"))" : "exists"
                StandardOutput.line("\(result.name): \(outcome)")
            }
        }

        private struct Result: Encodable {
            let name: String
            let created: Bool
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that the topics meet the service's requirements.",
            discussion: """
                Lists the topics, or their problems and the commands that fix them. Minor problems are warnings, on standard \
                error. The number of partitions that own stores comes from the claims in the results.

                Exit status: 0 fine, 78 problems found, 69 no broker.

                Examples:
                  juice topics check --bootstrap-servers kafka:9092
                  juice topics check --json | jq -r '.problems[].fix'
                """
        )

        @Flag(inversion: .prefixedNo, help: "Print a JSON object of the topics and their problems.") var json: Bool?
        @OptionGroup var timeout: TimeoutOption
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let settings = try Settings(self)
            let clients = try KafkaClients(settings)
            let deadline = Deadline(after: try settings[.timeout])
            let admin = try clients.admin(reachedUntil: deadline)
            let check = TopicCheck(
                names: clients.topics, bootstrapServers: clients.bootstrapServers, capabilities: clients.capabilities)
            let reader = try clients.consumer(isolation: "read_uncommitted")
            defer { reader.close() }
            let (findings, metadata) = try clients.ask(admin, until: deadline) { () throws(KafkaError) in
                (
                    try check.findings(admin, reader: reader, timeout: deadline.remaining),
                    try admin.metadata(topics: clients.topics.all, timeout: deadline.remaining)
                )
            }
            let topics = metadata.topics.filter { $0.partitionCount > 0 }
            if try settings[.json] {
                StandardOutput.line(try JSONText.indented(Report(topics, findings)))
                if !findings.problems.isEmpty { throw ExitCode(Failure.Status.configuration.rawValue) }
                return
            }
            guard findings.problems.isEmpty else { throw Failure(findings.problems) }
            var table = Table([
                .init(title: "topic"), .init(title: "partitions", alignment: .right),
                .init(title: "replication factor", alignment: .right),
            ])
            for topic in topics {
                table.add([.init(topic.name, .bold), .init("\(topic.partitionCount)"), .init("\(topic.replicationFactor)")])
            }
            StandardOutput.line(table.lines(paint: .forStandardOutput()).joined(separator: "\n"))
            for warning in findings.warnings { StandardError.write("warning: \(warning.fault)\n  to fix it: \(warning.fix)\n") }
        }

        private struct Report: Encodable {
            struct Topic: Encodable {
                let name: String
                let partitions, replicationFactor: Int
            }
            struct Problem: Encodable {
                let fault, fix: String

                init(_ problem: TopicCheck.Problem) { (fault, fix) = (problem.fault, problem.fix) }
            }

            let topics: [Topic]
            let problems, warnings: [Problem]

            init(_ topics: [ClusterMetadata.Topic], _ findings: TopicCheck.Findings) {
                self.topics = topics.map {
                    Topic(name: $0.name, partitions: $0.partitionCount, replicationFactor: $0.replicationFactor)
                }
                (problems, warnings) = (findings.problems.map(Problem.init), findings.warnings.map(Problem.init))
            }
        }
    }
}
