import ArgumentParser

/// `juice bench`: measures the service beside a yardstick that says how fast this machine and this broker are.
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the service: its own work, throughput, latency, restoring.",
        discussion: """
            What the service does is measured in the same run as a loop in plain C on librdkafka that does no more than \
            write a record for each order, as long as an answer, exactly once. The ratios say what the service costs beyond Kafka, whatever the machine.

            Each measurement but core makes topics of its own on the broker and deletes them. docs/PERFORMANCE.md tells \
            how to read the numbers.

            Examples:
              juice bench core
              juice bench end-to-end --bootstrap-servers kafka:9092
              juice bench latency --bootstrap-servers kafka:9092 --rate 1000
              juice bench restore --bootstrap-servers kafka:9092 --stores 1000000
            """,
        subcommands: [Core.self, EndToEnd.self, Latency.self, Restore.self, BareCopy.self, BareRead.self]
    )
}
