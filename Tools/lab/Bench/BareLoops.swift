import ArgumentParser
import CLab
import Foundation
import JuiceService

// The baselines, each in a process of its own, which measurements start.

/// The baseline of `end-to-end` and `latency`.
struct BareCopy: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-copy", abstract: "Write one record for each record read, exactly once, in plain C, until SIGTERM.",
        shouldDisplay: false)

    @Option var input: String
    @Option var output: String
    @Option var group: String
    @Option var answerBytes: Int
    @Flag(help: "Leave the group's offsets out of the transactions.") var noOffsets = false
    @OptionGroup var cluster: ClusterOptions

    func run() throws {
        process_catch_signals()
        var plan = bare_copy_plan(
            cluster: try BenchCluster(cluster).forC, group: cString(group), input_topic: cString(input),
            output_topic: cString(output),
            max_batch: ServiceConfiguration.maxBatch, answer_size: answerBytes, sends_offsets: !noOffsets)
        if bare_copy(&plan) != 0 { throw ExitCode.failure }
    }
}

/// The baseline of `restore`.
struct BareRead: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bare-read", abstract: "Read a topic from start to end, in plain C, and count its records.",
        shouldDisplay: false)

    @Option var topic: String
    @Option var partitions: Int32
    @OptionGroup var cluster: ClusterOptions

    func run() throws {
        var cluster = try BenchCluster(cluster).forC
        if bare_read(&cluster, topic, partitions) != 0 { throw ExitCode.failure }
    }
}

extension BenchCluster {
    /// The cluster for the C loops. Its memory is never released.
    fileprivate var forC: bare_cluster {
        let pairs = UnsafeMutableBufferPointer<bare_property>.allocate(capacity: properties.count)
        _ = pairs.initialize(from: properties.map { bare_property(name: cString($0), value: cString($1)) })
        return bare_cluster(
            bootstrap_servers: cString(bootstrapServers), properties: pairs.baseAddress, property_count: pairs.count)
    }
}

/// A C string that is never released: the process runs one loop, then ends.
private func cString(_ text: String) -> UnsafePointer<CChar>? { UnsafePointer(strdup(text)) }
