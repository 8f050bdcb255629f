import ArgumentParser
import JuiceService
import Kafka

struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics", abstract: "Create the service's topics, or check them.",
        discussion: """
            Inputs, results and stock are created with the same number of partitions, and stock is compacted.

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
                Existing topics are not changed, but checked, as `juice topics check` does. Before the service has run, they must \
                also have as many partitions as asked for. What to delete is said only of topics that are empty.

                Exit status: 0 all are there as they shall be, 78 some are not, 69 no broker.

                Examples:
                  juice topics create --bootstrap-servers kafka:9092 --partitions 12 --replication-factor 3
                """
        )

        @OptionGroup var topics: TopicOptions
        @OptionGroup var client: ClientOptions

        func run() throws {
            let clients = try KafkaClients(client)
            let plan = TopicPlan(
                names: clients.topics, partitionCount: topics.count, replicationFactor: topics.replicationFactor)
            guard clients.capabilities.managesTopics else {
                throw Failure(
                    .unavailable, "the embedded broker at \(clients.bootstrapServers) cannot create topics on request",
                    hint: "it creates them at its start: `juice serve --partitions N`")
            }
            let admin = try clients.reachedAdmin()
            let created = try clients.ask(admin) { timeout throws(KafkaError) in
                try admin.create(plan.topics, timeout: timeout)
            }
            for name in clients.topics.all {
                let isNew = created.contains(name)
                StandardOutput.line("\(name): \(isNew ? "created with \(plan.partitionCount.counted("partition"))" : "exists")")
            }
            guard created.count < clients.topics.all.count else { return }
            try TopicsCommand.check(clients, admin, asked: topics.partitions)
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that the topics meet the service's requirements.",
            discussion: """
                Lists the topics, or their problems and the commands that fix them. Minor problems are warnings, on standard \
                error. The number of partitions that own stores comes from the claims in the results. For programs, \
                `juice doctor --json` has the same problems.

                Exit status: 0 fine, 78 problems found, 69 no broker.

                Examples:
                  juice topics check --bootstrap-servers kafka:9092
                """
        )

        @OptionGroup var client: ClientOptions

        func run() throws {
            let clients = try KafkaClients(client)
            let findings = try TopicsCommand.check(clients, clients.reachedAdmin())
            for topic in findings.cluster.metadata.topics where topic.partitionCount > 0 {
                StandardOutput.line(
                    "\(topic.name): \(topic.partitionCount.counted("partition")), replication factor \(topic.replicationFactor)")
            }
        }
    }

    @discardableResult
    private static func check(_ clients: KafkaClients, _ admin: Admin, asked: Int? = nil) throws -> TopicCheck.Findings {
        let reader = try clients.consumer(isolation: "read_uncommitted")
        defer { reader.close() }
        let findings = try clients.ask(admin) { timeout throws(KafkaError) in
            try clients.topicCheck.findings(admin, reader: reader, asked: asked, timeout: timeout)
        }
        guard findings.problems.isEmpty else { throw Failure(.unfitTopics(findings.problems)) }
        for warning in findings.warnings { StandardError.write("warning: \(warning.fault)\n  to fix it: \(warning.fix)\n") }
        return findings
    }
}
