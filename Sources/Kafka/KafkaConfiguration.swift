import CRdKafka
import Foundation

/// Properties of a Kafka client, by librdkafka's own names: any from its `CONFIGURATION.md`. The description hides secrets.
///
/// ```swift
/// var configuration = KafkaConfiguration(["bootstrap.servers": "127.0.0.1:9092"])
/// configuration["client.id"] = "till-7"
/// ```
public struct KafkaConfiguration: Sendable, Equatable, CustomStringConvertible {
    /// The properties that were set, by name.
    public private(set) var properties: [String: String]

    /// A configuration with these properties.
    public init(_ properties: [String: String] = [:]) { self.properties = properties }

    /// Nil if the property was not set, so that librdkafka's default applies.
    public subscript(name: String) -> String? {
        get { properties[name] }
        set { properties[name] = newValue }
    }

    /// These properties and those of `other`, which take precedence.
    public func merging(_ other: [String: String]) -> KafkaConfiguration {
        KafkaConfiguration(properties.merging(other) { _, new in new })
    }

    /// The properties sorted by name, with secrets as `********`.
    public var description: String {
        properties.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(Self.isSecret($0.key) ? "********" : $0.value)" }.joined(separator: " ")
    }

    // MARK: - What every client gets

    /// The properties with this module's defaults, as far as the installed librdkafka knows those.
    func completed(for type: rd_kafka_type_t) -> KafkaConfiguration {
        KafkaConfiguration(type == RD_KAFKA_CONSUMER ? Self.consumerDefaults : Self.defaults).merging(properties)
    }

    /// From 2.5 on, clients push metrics about themselves to brokers (KIP-714), and closing a client may wait a second for the last
    /// push.
    private static let defaults = known(["enable.metrics.push": "false"])

    /// Without checksums librdkafka hands out damaged records as data. The default pause of a second after a consumer's queue was
    /// full halves the throughput.
    private static let consumerDefaults = defaults.merging(known(["check.crcs": "true", fetchQueueBackoff: "5"])) { _, new in new }

    private static let fetchQueueBackoff = "fetch.queue.backoff.ms"

    private static func known(_ properties: [String: String]) -> [String: String] { properties.filter { isKnown($0.key) } }

    /// Whether a consumer resumes fetching by itself after its queue was full. Versions before 2.2 check only when something wakes
    /// the leader's thread, or after a second.
    static let fetchesOn = isKnown(fetchQueueBackoff)

    /// Whether a consumer notices that a partition's leader has moved. Before 2.1 fetches carry no leader epoch (KIP-320), so a
    /// broker that is shutting down answers them as a follower, with nothing new for seconds. The first version that a property
    /// reveals is 2.2.
    static let noticesMovedLeaders = fetchesOn

    // MARK: - Secrets

    /// Whether a property's value must not appear in a log, an error or on a screen.
    public static func isSecret(_ name: String) -> Bool {
        let marks = ["password", "passphrase", "secret", "token", "key.pem", "ssl_key", "oauthbearer.config", "jaas"]
        let lowercased = name.lowercased()
        return marks.contains { lowercased.contains($0) } && !lowercased.hasSuffix(".url")
    }

    /// A line of librdkafka's log without secrets. With `debug=conf` it shows properties as `name = value`, and does not hide all
    /// secrets.
    static func hidingSecret(in line: String) -> String {
        guard let equals = line.firstRange(of: " = "), let name = line[..<equals.lowerBound].split(separator: " ").last,
            isSecret(String(name))
        else { return line }
        return "\(line[..<equals.upperBound])********"
    }

    /// Why librdkafka refuses the combination of properties, without the values that it quotes: one could be a password, perhaps
    /// set under a wrong name. A property that takes only certain words or numbers would not have accepted a password.
    func hidingValues(in reason: String) -> String {
        properties.sorted { $0.value.count > $1.value.count }.reduce(reason) { reason, property in
            // Very short values are not passwords, and they occur in any text.
            guard property.value.count > 3, Self.takesText(property.key) else { return reason }
            var rest = reason.replacing(": \(property.value)", with: "")
            if Self.isSecret(property.key) { rest = rest.replacing(property.value, with: "…") }
            return rest == reason || rest.contains(property.key) ? rest : "Kafka property \"\(property.key)\": \(rest)"
        }
    }

    // MARK: - librdkafka

    /// librdkafka's object, which the caller owns until `rd_kafka_new` takes it. Throws an error that names the refused property.
    func makeHandle() throws(KafkaError) -> OpaquePointer {
        guard let handle = rd_kafka_conf_new() else { throw .outOfMemory }
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            var reason = ErrorText()
            let result = reason.withBuffer { rd_kafka_conf_set(handle, name, value, $0, $1) }
            guard result != RD_KAFKA_CONF_OK else { continue }
            rd_kafka_conf_destroy(handle)
            throw .refusedProperty(name, result, reason.text)
        }
        return handle
    }

    /// The names of all properties that librdkafka lists, aliases included.
    public static let knownNames = rows.map(\.name)

    /// Whether a property's value may be any text.
    private static func takesText(_ name: String) -> Bool { rows.first { $0.name == name }?.takesText ?? true }

    private static let rows: [(name: String, takesText: Bool)] = {
        var text: UnsafeMutablePointer<CChar>?
        var size = 0
        // librdkafka writes its list only to a file; this one is in memory.
        guard let file = open_memstream(&text, &size) else { return [] }
        rd_kafka_conf_properties_show(file)
        fclose(file)
        defer { free(text) }
        guard let text else { return [] }
        // A Markdown table whose first column is the name, and headings, which have only one column.
        let rows = String(cString: text).split(separator: "\n").map { $0.split(separator: "|") }
        let entries = rows.filter { $0.count > 4 }.map {
            (name: $0[0].trimmingCharacters(in: .whitespaces), takesText: $0.last?.contains("*Type: string*") ?? true)
        }
        return entries.filter { $0.name.contains { $0.isLetter } && $0.name != "Property" }
    }()

    /// Whether librdkafka accepts a property of that name, listed or not.
    public static func isKnown(_ name: String) -> Bool {
        guard let handle = rd_kafka_conf_new() else { return true }
        defer { rd_kafka_conf_destroy(handle) }
        return rd_kafka_conf_set(handle, name, nil, nil, 0) != RD_KAFKA_CONF_UNKNOWN
    }
}

/// The librdkafka that this process has loaded, which need not be the version it was compiled against.
package enum KafkaLibrary {
    package static var version: String { String(cString: rd_kafka_version_str()) }
}
