import ArgumentParser

/// `juice bench`: measures the service beside a baseline that shows how fast the machine and the broker are.
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the service: its own work, throughput, latency, restore and repeats.",
        discussion: """
            The service is measured in the same run as a loop in plain C on librdkafka. For each order the loop only \
            writes a record of an answer's size, exactly once. The ratios show what the service costs beyond Kafka, \
            on any machine.

            Each measurement but core creates its own topics on the broker and deletes them. docs/PERFORMANCE.md \
            explains the numbers.

            Examples:
              juice bench core
              juice bench end-to-end --bootstrap-servers kafka:9092
              juice bench latency --bootstrap-servers kafka:9092 --rate 1000
              juice bench restore --bootstrap-servers kafka:9092 --stores 1000000
              juice bench repeats --bootstrap-servers kafka:9092
            """,
        subcommands: [
            Core.self, EndToEnd.self, Latency.self, Restore.self, Repeats.self, BareCopy.self, BareRead.self,
        ]
    )
}
