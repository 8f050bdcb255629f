import CRdKafka

/// Properties of a Kafka client under librdkafka's own names, such as `bootstrap.servers`.
///
/// Every property in librdkafka's `CONFIGURATION.md` can be set, under the name it has there. Printing a configuration never
/// shows a secret.
///
/// ```swift
/// var configuration = KafkaConfiguration(["bootstrap.servers": "127.0.0.1:9092"])
/// configuration["client.id"] = "till-7"
/// ```
public struct KafkaConfiguration: Sendable, Equatable {
    /// The properties that were set, by name.
    public private(set) var properties: [String: String]

    /// A configuration with these properties.
    public init(_ properties: [String: String] = [:]) { self.properties = properties }

    /// The value of a property; nil if it was not set, so that librdkafka's default applies.
    public subscript(name: String) -> String? {
        get { properties[name] }
        set { properties[name] = newValue }
    }

    /// These properties and those of `other`, which take precedence.
    public func merging(_ other: [String: String]) -> KafkaConfiguration {
        KafkaConfiguration(properties.merging(other) { _, new in new })
    }

    /// Whether a property's value must not appear in a log, an error or on a screen.
    public static func isSecret(_ name: String) -> Bool {
        let marks = ["password", "passphrase", "secret", "token", "key.pem", "ssl_key", "oauthbearer.config", "jaas"]
        let lowercased = name.lowercased()
        return marks.contains { lowercased.contains($0) } && !lowercased.hasSuffix(".url")
    }

    /// A line of librdkafka's log without secrets. With `debug=conf` lines show properties as `name = value`, and 2.0.2 hides
    /// most secrets but not an OAuth client's.
    static func hidingSecret(in line: String) -> String {
        guard let equals = line.firstRange(of: " = "), let name = line[..<equals.lowerBound].split(separator: " ").last,
            isSecret(String(name))
        else { return line }
        return "\(line[..<equals.upperBound])********"
    }

    /// A message of librdkafka's without the values it may quote. Very short values are no passwords and occur in any text.
    func hidingValues(in reason: String) -> String {
        properties.values.filter { $0.count > 3 }.sorted { $0.count > $1.count }
            .reduce(reason) { $0.replacing($1, with: "********") }
    }

    /// librdkafka's configuration object, which the caller owns until `rd_kafka_new` takes it.
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
    /// librdkafka's own message quotes the value, which may be a secret, possibly set under the wrong name.
    static func refusedProperty(_ name: String, _ result: rd_kafka_conf_res_t) -> KafkaError {
        let fault = result == RD_KAFKA_CONF_UNKNOWN ? "there is no such property" : "its value is refused"
        return KafkaError(code: .invalidArgument, message: "Kafka property \"\(name)\": \(fault)")
    }
}

extension KafkaConfiguration: CustomStringConvertible {
    /// The properties sorted by name, with secrets as `********`.
    public var description: String {
        properties.sorted { $0.key < $1.key }.map { "\($0.key)=\(Self.isSecret($0.key) ? "********" : $0.value)" }.joined(
            separator: " ")
    }
}

/// A buffer for librdkafka's error messages.
struct ErrorText {
    private var bytes = [CChar](repeating: 0, count: 512)

    mutating func withBuffer<Result>(_ body: (UnsafeMutablePointer<CChar>?, Int) -> Result) -> Result {
        bytes.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
    }

    var text: String {
        String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
