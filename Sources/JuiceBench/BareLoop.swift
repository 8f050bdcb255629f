import CBareLoop
import Foundation
import JuiceClient
import JuiceService

/// The baselines: the same work in plain C on librdkafka. Run them in a process of their own.
package struct BareLoop {
    private let bootstrapServers: String
    private let properties: [(name: String, value: String)]

    /// Uses the brokers and properties of a connection.
    package init(_ connection: Connection) {
        bootstrapServers = connection.bootstrapServers
        properties = connection.properties.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Ends ``copy(from:to:group:answerSize:sendsOffsets:onReady:)``. Safe to call in a signal handler.
    package static func stop() { bare_copy_stop() }

    /// Writes one record for each record read, exactly once, until ``stop()``.
    ///
    /// - Parameters:
    ///   - answerSize: the size of each written value, in bytes.
    ///   - sendsOffsets: whether each transaction sends the group's offsets, as Kafka's own recipe asks.
    ///   - onReady: called when partitions are assigned.
    package func copy(
        from input: String, to output: String, group: String, answerSize: Int, sendsOffsets: Bool, onReady: @escaping () -> Void
    ) throws(Failure) {
        try withExtendedLifetime(Callback(onReady)) { callback throws(Failure) in
            try run { client in
                withCStrings([bootstrapServers, group, input, output]) { texts in
                    var plan = bare_copy_plan(
                        bootstrap_servers: texts[0], group: texts[1], input_topic: texts[2], output_topic: texts[3],
                        // The same batch size as the service.
                        max_batch: ServiceConfiguration(bootstrapServers: "", instanceID: "").maxBatch, answer_size: answerSize,
                        sends_offsets: sendsOffsets ? 1 : 0)
                    return bare_copy(
                        &plan, &client,
                        { opaque in
                            guard let opaque else { return }
                            Unmanaged<Callback>.fromOpaque(opaque).takeUnretainedValue().body()
                        },
                        Unmanaged.passUnretained(callback).toOpaque()
                    )
                }
            }
        }
    }

    /// Reads a topic from start to end.
    ///
    /// - Returns: the number of records, and the bytes of their keys and values.
    package func read(_ topic: String, partitions: Int32) throws(Failure) -> (records: Int, bytes: Int) {
        var result = bare_read_result()
        try run { client in
            withCStrings([bootstrapServers, topic]) { texts in
                var plan = bare_read_plan(bootstrap_servers: texts[0], topic: texts[1], partition_count: partitions)
                return bare_read(&plan, &client, &result)
            }
        }
        return (Int(result.records), Int(result.bytes))
    }

    private final class Callback {
        let body: () -> Void

        init(_ body: @escaping () -> Void) { self.body = body }
    }

    /// Runs a loop with the user's Kafka properties.
    private func run(_ loop: (inout bare_client) -> Int32) throws(Failure) {
        var reason = [CChar](repeating: 0, count: 512)
        let names = properties.map { $0.name }
        let values = properties.map { $0.value }
        let status = withCStrings(names + values) { texts in
            let pairs = names.indices.map { bare_property(name: texts[$0], value: texts[names.count + $0]) }
            return pairs.withUnsafeBufferPointer { pairs in
                reason.withUnsafeMutableBufferPointer { reason in
                    var client = bare_client(
                        properties: pairs.baseAddress, property_count: pairs.count, error: reason.baseAddress,
                        error_size: reason.count)
                    return loop(&client)
                }
            }
        }
        guard status != 0 else { return }
        let text = reason.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        throw Failure(.software, String(decoding: text, as: UTF8.self))
    }
}

/// Calls `body` with C strings that are valid during the call.
private func withCStrings<Result>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
    let copies = texts.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies.map { $0.map { UnsafePointer($0) } })
}
