import ArgumentParser
import Foundation
import JuiceClient
import JuiceEngine
import JuiceService

/// The option that identifies a service on a cluster.
struct GroupOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The consumer group: instances of one group share the work. (default: juice-maker)", valueName: "name"))
    var group: String?
}

/// The options of the service itself.
struct ServiceOptions: ParsableArguments {
    @OptionGroup var group: GroupOptions

    @Option(
        help: ArgumentHelp(
            "The name of this instance in its group; keep it across restarts. (default: the host name)", valueName: "name"))
    var instanceId: String?

    @Option(help: ArgumentHelp("Workers in this process, each with its own thread. (default: 1)", valueName: "count")) var workers:
        Int?

    @Option(
        help: ArgumentHelp(
            "How long a repeated order or restock gets the answer to the first one. (default: 3600)", valueName: "seconds"))
    var duplicateWindow: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many orders, cancels and restocks per partition are remembered for that; 30 bytes of memory each. \
            (default: 1000000)
            """,
            valueName: "count"
        )
    )
    var duplicateIds: Int?

    @Option(
        help: ArgumentHelp(
            """
            How many bytes of each partition's latest answers are kept in memory, and as many of older ones that \
            repeats asked for. Others are read from the results again. (default: 4194304)
            """,
            valueName: "bytes"
        )
    )
    var answerBytes: Int?
}

/// The options for creating topics.
struct TopicOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Partitions of each topic that is created. (default: 4)", valueName: "count"))
    var partitions: Int?

    @Option(
        help: ArgumentHelp("Replicas of each partition of a topic that is created. (default: the cluster's)", valueName: "count"))
    var replicationFactor: Int?
}

extension DuplicateWindow {
    /// The duplicate window in the settings.
    init(_ settings: Settings) throws(Failure) {
        let standard = DuplicateWindow.standard
        let seconds = try settings.integer(.duplicateWindow, in: 0...31_536_000)
        let count = try settings.integer(.duplicateIDs, in: 0...100_000_000)
        self.init(age: seconds.map { Int64($0) * 1000 } ?? standard.age, count: count ?? standard.count)
    }
}

extension ServiceConfiguration {
    /// The configuration in the settings. Without brokers, `bootstrapServers` is empty.
    ///
    /// - Parameter kafkaProperties: the properties in the settings. They can be read only once, because their file may be a pipe.
    init(_ settings: Settings, kafkaProperties: [String: String]) throws(Failure) {
        self.init(
            bootstrapServers: settings.string(.bootstrapServers) ?? "", group: settings.group(),
            instanceID: settings.string(.instanceID) ?? Self.hostName, workers: try settings.integer(.workers, in: 1...1000) ?? 1,
            topics: settings.topics(), menu: try settings.menu(), language: try settings.language(),
            kafkaProperties: kafkaProperties, duplicateWindow: try DuplicateWindow(settings),
            answerBytes: try settings.integer(.answerBytes, in: 0...1 << 40) ?? Self.standardAnswerBytes)
    }

    /// The local host name, without a DNS lookup.
    private static var hostName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "juice" }
        let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return bytes.isEmpty ? "juice" : String(decoding: bytes, as: UTF8.self)
    }
}
