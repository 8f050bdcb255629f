import CRdKafka

/// Properties of a Kafka client under librdkafka's own names, such as `bootstrap.servers`.
///
/// Nothing is renamed or hidden: whatever librdkafka's `CONFIGURATION.md` documents can be set. Printing a
/// configuration never shows a secret.
///
/// ```swift
/// var configuration = KafkaConfiguration(["bootstrap.servers": "127.0.0.1:9092"])
/// configuration["client.id"] = "till-7"
/// ```
public struct KafkaConfiguration: Sendable, Equatable {
    /// Name and value of each property that was set.
    public private(set) var properties: [String: String]

    /// A configuration of the given properties, by librdkafka's names.
    public init(_ properties: [String: String] = [:]) {
        self.properties = properties
    }

    /// The value of a property; nil where it was not set and librdkafka's default holds.
    public subscript(name: String) -> String? {
        get { properties[name] }
        set { properties[name] = newValue }
    }

    /// These properties, with those of `other` in place of any of the same name.
    public func merging(_ other: [String: String]) -> KafkaConfiguration {
        KafkaConfiguration(properties.merging(other) { _, new in new })
    }

    /// Whether a property holds something that must not reach a log, an error or a screen.
    public static func isSecret(_ name: String) -> Bool {
        let marks = [
            "password", "passphrase", "secret", "token", "key.pem", "ssl_key", "oauthbearer.config", "jaas",
        ]
        let lowercased = name.lowercased()
        return marks.contains { lowercased.contains($0) } && !lowercased.hasSuffix(".url")
    }

    /// A line of librdkafka's log. With `debug=conf` it shows properties as `name = value`, and 2.0.2 hides most secrets,
    /// but not the one of an OAuth client.
    static func hidingSecret(in line: String) -> String {
        guard let equals = line.firstRange(of: " = "),
            let name = line[..<equals.lowerBound].split(separator: " ").last, isSecret(String(name))
        else { return line }
        return "\(line[..<equals.upperBound])********"
    }

    /// A reason of librdkafka's, which may quote what was set. What is shorter than a password is found in any text.
    func hidingValues(in reason: String) -> String {
        properties.values.filter { $0.count > 3 }.sorted { $0.count > $1.count }
            .reduce(reason) { $0.replacing($1, with: "********") }
    }

    /// librdkafka's configuration object, owned by the caller until `rd_kafka_new` takes it.
    ///
    /// - Throws: ``KafkaError`` naming the property that librdkafka refuses.
    func makeHandle() throws(KafkaError) -> OpaquePointer {
        guard let handle = rd_kafka_conf_new() else { throw .outOfMemory }
        for (name, value) in properties.sorted(by: { $0.key < $1.key }) {
            do throws(KafkaError) {
                try set(name, to: value, in: handle)
            } catch {
                rd_kafka_conf_destroy(handle)
                throw error
            }
        }
        return handle
    }

    private func set(_ name: String, to value: String, in handle: OpaquePointer) throws(KafkaError) {
        let result = rd_kafka_conf_set(handle, name, value, nil, 0)
        guard result == RD_KAFKA_CONF_OK else { throw .refusedProperty(name, result) }
    }
}

extension KafkaError {
    /// librdkafka's own reason quotes the value, which may be a secret: by a mistake also that of another property.
    static func refusedProperty(_ name: String, _ result: rd_kafka_conf_res_t) -> KafkaError {
        let fault = result == RD_KAFKA_CONF_UNKNOWN ? "there is no such property" : "its value is refused"
        return KafkaError(code: .invalidArgument, message: "Kafka property \"\(name)\": \(fault)")
    }
}

extension KafkaConfiguration: CustomStringConvertible {
    /// The properties in order of name, secrets as `********`.
    public var description: String {
        properties.sorted { $0.key < $1.key }
            .map { "\($0.key)=\(Self.isSecret($0.key) ? "********" : $0.value)" }
            .joined(separator: " ")
    }
}

/// The buffer into which librdkafka writes the reason of a refusal.
struct ErrorText {
    private var bytes = [CChar](repeating: 0, count: 512)

    mutating func withBuffer<Result>(_ body: (UnsafeMutablePointer<CChar>?, Int) -> Result) -> Result {
        bytes.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
    }

    var text: String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
