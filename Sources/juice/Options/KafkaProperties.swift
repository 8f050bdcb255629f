import Foundation
import JuiceService
import Kafka

/// librdkafka properties written as `name=value`.
///
/// No error message quotes a value, because it may be a password.
enum KafkaProperties {
    /// All configured properties, those of the property file last.
    static func read(_ options: KafkaOptions) throws(Failure) -> [String: String] {
        let file = try options.kafkaPropertyFile.map { path throws(Failure) in try read(file: path) } ?? [:]
        let given = try parse(options.kafkaProperty.joined(separator: "\n")) { _ in
            Failure(.usage, "--kafka-property must be name=value")
        }
        let properties = file.merging(given) { _, nearer in nearer }
        try check(properties)
        return properties
    }

    /// The properties in a file.
    static func read(file path: String) throws(Failure) -> [String: String] {
        let bytes = try Failure.bytes(of: path, "the property file", mayBeEmpty: true)
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Failure(.configuration, "the property file \(path) is not UTF-8")
        }
        return try parse(text) { Failure(.configuration, "line \($0) of \(path) is not name=value") }
    }

    /// Reports errors for which librdkafka's message would not name the cause.
    static func check(_ properties: [String: String]) throws(Failure) {
        if let name = properties.keys.sorted().first(where: ServiceConfiguration.reservedProperties.contains) {
            let hint: String? =
                switch name {
                case "bootstrap.servers": "use --bootstrap-servers"
                // Brokers would spread orders and restocks over the members without regard to each other (KIP-848).
                case "group.protocol", "group.remote.assignor":
                    "its consumers share out partitions themselves, which only the classic protocol allows"
                default: nil
                }
            throw Failure(.configuration, "Kafka property \"\(name)\" is not yours to set: juice sets it itself", hint: hint)
        }
        if let unknown = properties.keys.sorted().first(where: { !KafkaConfiguration.isKnown($0) }) {
            let names = NearestNames.of(unknown, among: KafkaConfiguration.knownNames)
            // What does not even look like a property's name may be part of a value that was split into lines, so it is not quoted.
            let looksLikeName = unknown.contains(".") && unknown.wholeMatch(of: /[a-z0-9._-]+/) != nil
            let name = names.isEmpty && !looksLikeName ? " of a name that was given" : " \"\(unknown)\""
            throw Failure(.configuration, "there is no Kafka property\(name)\(NearestNames.question(names))")
        }
        for (name, path) in properties.sorted(by: { $0.key < $1.key }) {
            // librdkafka looks for the system's certificates where ssl.ca.location is "probe".
            guard name.hasPrefix("ssl."), name.hasSuffix(".location"), path != "probe" else { continue }
            try Failure.checkFile(path, "the file that \(name) names")
        }
        let isSASL = properties["security.protocol"]?.lowercased().hasPrefix("sasl_") ?? false
        if isSASL, properties["sasl.mechanism"] == nil, properties["sasl.mechanisms"] == nil {
            throw Failure(
                .configuration, "security.protocol is one of SASL's, which needs a sasl.mechanism",
                hint: "such as SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN")
        }
    }

    /// Parses `name=value` lines; empty lines and lines starting with # are skipped. Values may contain commas and equals signs.
    ///
    /// - Parameter fault: the failure to throw for the line with this number.
    static func parse(_ text: String, orThrow fault: (Int) -> Failure) throws(Failure) -> [String: String] {
        var properties: [String: String] = [:]
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, !parts[0].isEmpty else { throw fault(number + 1) }
            properties[parts[0]] = parts[1]
        }
        return properties
    }
}
