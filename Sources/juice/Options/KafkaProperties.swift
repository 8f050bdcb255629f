import Foundation
import JuiceService
import Kafka

/// librdkafka properties written as `name=value`.
///
/// No error message quotes a value, because it may be a password.
enum KafkaProperties {
    /// All configured properties. Those of the property file have the lowest precedence.
    static func read(_ options: KafkaOptions) throws(Failure) -> [String: String] {
        let file = try options.kafkaPropertyFile.map { path throws(Failure) in try read(file: path) } ?? [:]
        let given = try parse(options.kafkaProperty.joined(separator: "\n")) { _ in
            Failure(.usage, "--kafka-property must be name=value")
        }
        let properties = JavaProperties.translated(file.merging(given) { _, nearer in nearer })
        try check(properties)
        return properties
    }

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
                // Brokers would spread the inputs over the members without regard to each other (KIP-848).
                case "group.protocol", "group.remote.assignor":
                    "its consumers share out partitions themselves, which only the classic protocol allows"
                default: nil
                }
            throw Failure(.configuration, "Kafka property \"\(name)\" is not yours to set: juice sets it itself", hint: hint)
        }
        for name in properties.keys.sorted() {
            guard let advice = JavaProperties.advice(for: name) else { continue }
            throw Failure(.configuration, "Kafka property \"\(name)\" exists only in Kafka's Java client", hint: advice)
        }
        if let unknown = properties.keys.sorted().first(where: { !KafkaConfiguration.isKnown($0) }) {
            let names = NearestNames.of(unknown, among: KafkaConfiguration.knownNames)
            // A name that does not look like a property's may be part of a value that was split into lines, so it is not quoted.
            let looksLikeName = unknown.contains(".") && unknown.wholeMatch(of: /[a-z0-9._-]+/) != nil
            let name = names.isEmpty && !looksLikeName ? " of a name that was given" : " \"\(unknown)\""
            throw Failure(.configuration, "there is no Kafka property\(name)\(NearestNames.question(names))")
        }
        for (location, name) in PEM.properties.sorted(by: { $0.key < $1.key }) {
            guard let text = properties[name], !PEM.isText(text) else { continue }
            let message = "\(name) takes the text of a PEM file, from its first -----BEGIN to its last -----END line"
            throw Failure(.configuration, message, hint: "\(location) names a file")
        }
        for (name, path) in properties.sorted(by: { $0.key < $1.key }) {
            // librdkafka looks for the system's certificates if ssl.ca.location is "probe".
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

    /// Parses lines of `name=value` or, as in Java's property files, `name:value`. Skips empty lines and lines that start with # or
    /// !. Values may contain commas and equals signs. The text of a PEM file may span several lines.
    ///
    /// - Parameter fault: the failure to throw for the line with this number.
    static func parse(_ text: String, orThrow fault: (Int) -> Failure) throws(Failure) -> [String: String] {
        var properties: [String: String] = [:]
        var pem: (name: String, open: Int)?
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if let (name, open) = pem, open > 0 || line.hasPrefix(PEM.beginning) {
                properties[name, default: ""] += "\n\(line)"
                pem = (name, open + PEM.balance(line))
                continue
            }
            guard !line.isEmpty, !line.hasPrefix("#"), !line.hasPrefix("!") else { continue }
            let parts = line.split(maxSplits: 1, omittingEmptySubsequences: false) { "=:".contains($0) }
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, !parts[0].isEmpty else { throw fault(number + 1) }
            properties[parts[0]] = parts[1]
            pem = parts[1].hasPrefix(PEM.beginning) ? (parts[0], PEM.balance(parts[1])) : nil
        }
        return properties.mapValues { $0.hasPrefix(PEM.beginning) ? PEM.lines(of: $0).joined(separator: "\n") : $0 }
    }
}

/// Certificates and keys given as PEM text instead of as files.
enum PEM {
    /// The properties that name a file, each with the property that takes the file's text.
    static let properties = [
        "ssl.ca.location": "ssl.ca.pem", "ssl.certificate.location": "ssl.certificate.pem", "ssl.key.location": "ssl.key.pem",
    ]
    fileprivate static let beginning = "-----BEGIN "

    /// Whether a value consists of one or more complete PEM texts.
    static func isText(_ value: String) -> Bool {
        var open: Int?
        for line in lines(of: value) {
            guard open ?? 0 > 0 || line.hasPrefix(beginning) else { return false }
            open = (open ?? 0) + balance(line)
        }
        return open == 0
    }

    /// The number of PEM texts that begin in a line, minus the number that end there.
    fileprivate static func balance(_ line: String) -> Int {
        line.ranges(of: beginning).count - line.ranges(of: "-----END ").count
    }

    /// The lines of a value. As in Java's property files, `\n` ends a line, and a line that continues may end with a backslash.
    fileprivate static func lines(of value: String) -> [String] {
        value.replacing("\\n", with: "\n").split(whereSeparator: \.isNewline)
            .map { $0.trimmingCharacters(in: .whitespaces.union(["\\"])) }.filter { !$0.isEmpty }
    }
}
