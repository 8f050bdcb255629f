import ArgumentParser
import Foundation
import JuiceBench
import JuiceClient

extension Bench {
    /// `juice bench bare-copy`: the baseline of `end-to-end` and `latency`, in a process of its own.
    struct BareCopy: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bare-copy", abstract: "Write one record for each record read, exactly once, in plain C, until SIGTERM.",
            shouldDisplay: false)

        @Option var input: String
        @Option var output: String
        @Option var group: String
        @Option var readyFile: String
        /// The size of each written value, in bytes.
        @Option var answerSize: Int
        /// Whether transactions are to lack the group's offsets.
        @Flag var noOffsets = false
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let ready = try ReadyFile(path: readyFile)
            signal(SIGTERM) { _ in BareLoop.stop() }
            try BareLoop(Connection(Settings(kafka)))
                .copy(
                    from: input,
                    to: output,
                    group: group,
                    answerSize: answerSize,
                    sendsOffsets: !noOffsets
                ) { ready.create() }
        }
    }

    /// `juice bench bare-read`: the baseline of `restore`, in a process of its own.
    struct BareRead: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bare-read", abstract: "Read a topic from start to end, in plain C, and count its records.",
            shouldDisplay: false)

        @Option var topic: String
        @Option var partitions: Int32
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let (records, bytes) = try BareLoop(Connection(Settings(kafka))).read(topic, partitions: partitions)
            StandardOutput.line("\(records) records, \(bytes) bytes")
        }
    }
}
