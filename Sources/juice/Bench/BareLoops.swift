import ArgumentParser
import CBareLoop
import Foundation
import JuiceService

extension Bench {
    /// `juice bench bare-copy`: the yardstick of `end-to-end` and `latency`, as a process of its own.
    struct BareCopy: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bare-copy",
            abstract: "Write a record for each that is read, exactly once, in plain C, until SIGTERM.",
            shouldDisplay: false
        )

        @Option var input: String
        @Option var output: String
        @Option var group: String
        @Option var readyFile: String
        /// How long each value is that it writes; 0 copies values as they are.
        @Option var answerSize = 0
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let connection = try Connection(Settings(kafka))
            let ready = try ReadyFile(path: readyFile)
            signal(SIGTERM) { _ in bare_copy_stop() }
            let failure = withExtendedLifetime(ReadyNote(file: ready)) { note in
                BareClient(connection).run { client in
                    withCStrings([connection.bootstrapServers, group, input, output]) { texts in
                        var plan = bare_copy_plan(
                            bootstrap_servers: texts[0],
                            group: texts[1],
                            input_topic: texts[2],
                            output_topic: texts[3],
                            // As many as the service takes.
                            max_batch: ServiceConfiguration(bootstrapServers: "", instanceID: "").maxBatch,
                            answer_size: answerSize
                        )
                        return bare_copy(
                            &plan,
                            &client,
                            { opaque in
                                guard let opaque else { return }
                                Unmanaged<ReadyNote>.fromOpaque(opaque).takeUnretainedValue().take()
                            },
                            Unmanaged.passUnretained(note).toOpaque()
                        )
                    }
                }
            }
            if let failure { throw failure }
        }
    }

    /// `juice bench bare-read`: the yardstick of `restore`, as a process of its own.
    struct BareRead: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "bare-read",
            abstract: "Read a topic from its start to its end, in plain C, and count.",
            shouldDisplay: false
        )

        @Option var topic: String
        @Option var partitions: Int32
        @OptionGroup var kafka: KafkaOptions

        func run() throws {
            let connection = try Connection(Settings(kafka))
            var result = bare_read_result()
            let failure = BareClient(connection).run { client in
                withCStrings([connection.bootstrapServers, topic]) { texts in
                    var plan = bare_read_plan(
                        bootstrap_servers: texts[0],
                        topic: texts[1],
                        partition_count: partitions
                    )
                    return bare_read(&plan, &client, &result)
                }
            }
            if let failure { throw failure }
            StandardOutput.line("\(result.records) records, \(result.bytes) bytes")
        }
    }
}

/// What C calls when the loop is given partitions.
private final class ReadyNote {
    private let file: ReadyFile

    init(file: ReadyFile) { self.file = file }

    func take() { file.note(isReady: true) }
}

/// Calls a loop in C with the user's Kafka properties, and makes a ``Failure`` of what it says.
private struct BareClient {
    private let properties: [(name: String, value: String)]

    init(_ connection: Connection) {
        properties = connection.properties.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func run(_ loop: (inout bare_client) -> Int32) -> Failure? {
        var reason = [CChar](repeating: 0, count: 512)
        let names = properties.map { $0.name }
        let values = properties.map { $0.value }
        let status = withCStrings(names + values) { texts in
            let pairs = names.indices.map {
                bare_property(name: texts[$0], value: texts[names.count + $0])
            }
            return pairs.withUnsafeBufferPointer { pairs in
                reason.withUnsafeMutableBufferPointer { reason in
                    var client = bare_client(
                        properties: pairs.baseAddress,
                        property_count: pairs.count,
                        error: reason.baseAddress,
                        error_size: reason.count
                    )
                    return loop(&client)
                }
            }
        }
        guard status != 0 else { return nil }
        let text = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return Failure(.software, String(decoding: text, as: UTF8.self))
    }
}

/// Texts as C has them, valid during the call.
private func withCStrings<Result>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let copies = texts.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { $0.map { UnsafePointer($0) } })
}
