import ArgumentParser
import JuiceService
import Kafka

/// `juice topics`: makes and checks the topics.
struct Topics: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create the service's topics, or check them.",
        discussion: """
            Orders, restocks, results and stock have the same number of partitions, and stock is compacted.

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
                Topics that exist are left as they are; `juice topics check` tells whether they are fit.

                Examples:
                  juice topics create --bootstrap-servers kafka:9092 --partitions 12 --replication-factor 3
                """
        )

        @OptionGroup var topics: TopicOptions
        @OptionGroup var timeout: TimeoutOption
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            var flags = Flags()
            topics.add(to: &flags)
            timeout.add(to: &flags)
            let settings = try kafka.settings(flags)
            let connection = try Connection(settings)
            let plan = TopicPlan(
                names: connection.topics,
                partitionCount: try settings.partitions(),
                replicationFactor: try settings.integer(.replicationFactor, in: 1...100)
            )
            let timeout = try settings.timeout()
            guard !connection.isEmbedded else {
                throw Failure(
                    .unavailable,
                    "the embedded broker at \(connection.bootstrapServers) creates no topics on request",
                    hint: "it has them from its start: `juice serve --partitions N`"
                )
            }
            let created: [String]
            let admin = try connection.admin()
            try connection.reach(admin, deadline: Deadline(after: timeout))
            do throws(KafkaError) {
                created = try admin.create(plan.topics, timeout: timeout)
            } catch {
                throw connection.failure(error)
            }
            for name in connection.topics.all {
                let isNew = created.contains(name)
                StandardOutput.line(
                    isNew ? "\(name): created with \(plan.partitionCount) partitions" : "\(name): exists"
                )
            }
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check that the topics are fit for the service.",
            discussion: """
                Lists the topics, or what is wrong with them and the commands that mend it.

                Exit status: 0 fit, 78 to be mended, 69 no broker.

                Examples:
                  juice topics check --bootstrap-servers kafka:9092
                """
        )

        @OptionGroup var timeout: TimeoutOption
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            var flags = Flags()
            timeout.add(to: &flags)
            let settings = try kafka.settings(flags)
            let connection = try Connection(settings)
            let timeout = try settings.timeout()
            let admin = try connection.admin()
            try connection.reach(admin, deadline: Deadline(after: timeout))
            let check = TopicCheck(
                names: connection.topics,
                bootstrapServers: connection.bootstrapServers,
                isEmbedded: connection.isEmbedded
            )
            let problems: [TopicCheck.Problem]
            let metadata: ClusterMetadata
            do throws(KafkaError) {
                problems = try check.problems(admin, timeout: timeout)
                metadata = try admin.metadata(topics: connection.topics.all, timeout: timeout)
            } catch {
                throw connection.failure(error)
            }
            guard problems.isEmpty else { throw Failure(problems) }
            for topic in metadata.topics {
                StandardOutput.line(
                    "\(topic.name): \(topic.partitionCount) partitions, replication factor \(topic.replicationFactor)"
                )
            }
        }
    }
}

/// How long to wait for Kafka.
struct TimeoutOption: ParsableArguments {
    @Option(help: ArgumentHelp("How long to wait for the broker. (default: 10)", valueName: "seconds"))
    var timeout: Double?

    func add(to flags: inout Flags) {
        flags.set(.timeout, timeout)
    }
}
