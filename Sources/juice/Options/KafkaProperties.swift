import Foundation
import JuiceService
import Kafka

/// librdkafka's properties as people write them down: `name=value`.
///
/// No error here quotes a value: it may be a password.
enum KafkaProperties {
    /// All properties that the settings give. A property wins over one of the same name that was given farther away:
    /// on the command line, in the environment, in the configuration file, in the property file.
    static func read(_ settings: Settings) throws(Failure) -> [String: String] {
        var properties: [String: String] = [:]
        if let path = settings.string(.kafkaPropertyFile) {
            properties = try parse(file: try contents(of: path), path: path)
        }
        for (text, source) in settings.all(.kafkaProperty).reversed() {
            for (position, entry) in split(text).enumerated() {
                guard let (name, value) = pair(entry) else {
                    throw .badSetting(
                        .kafkaProperty,
                        source,
                        "must be name=value, which its entry \(position + 1) is not"
                    )
                }
                if source == .commandLine, KafkaConfiguration.isSecret(name) {
                    throw Failure(
                        .usage,
                        "\(name) must not be on the command line, where every user of this machine can read it",
                        hint: "put it in a file that --kafka-property-file names, or in the environment as"
                            + " \(Setting.kafkaProperty.environmentName)"
                    )
                }
                properties[name] = value
            }
        }
        if let contexts = settings.string(.kafkaDebug) { properties["debug"] = contexts }
        try check(properties)
        return properties
    }

    /// Where a property was given, as people call it.
    static func source(of name: String, in settings: Settings) -> String {
        if name == "debug", let source = settings.all(.kafkaDebug).first?.source {
            return source.name(of: .kafkaDebug)
        }
        let nearest = settings.all(.kafkaProperty).first { text, _ in
            split(text).contains { pair($0)?.name == name }
        }
        return nearest?.source.name(of: .kafkaProperty) ?? "file \(settings.string(.kafkaPropertyFile) ?? "")"
    }

    /// Finds a name that librdkafka does not know, and those that may have been meant.
    static func checkNames(_ properties: [String: String]) throws(Failure) {
        guard let unknown = properties.keys.sorted().first(where: { !KafkaConfiguration.isKnown($0) }) else {
            return
        }
        let question = NearestNames.question(
            NearestNames.of(unknown, among: KafkaConfiguration.knownNames)
        )
        throw Failure(.configuration, "there is no Kafka property \"\(unknown.printable)\"\(question)")
    }

    /// Finds what librdkafka would refuse without naming the cause.
    static func check(_ properties: [String: String]) throws(Failure) {
        if let name = properties.keys.sorted().first(where: ServiceConfiguration.reservedProperties.contains)
        {
            throw Failure(
                .configuration,
                "Kafka property \"\(name)\" is not yours to set: juice sets it itself",
                hint: name == "bootstrap.servers" ? "use --bootstrap-servers" : nil
            )
        }
        for (name, path) in properties.sorted(by: { $0.key < $1.key }) {
            // librdkafka looks for the system's certificates where ssl.ca.location is "probe".
            guard name.hasPrefix("ssl."), name.hasSuffix(".location"), path != "probe" else { continue }
            guard access(path, R_OK) == 0 else {
                throw Failure(.configuration, "\(name): \(path.printable) cannot be read")
            }
        }
        let isSASL = properties["security.protocol"]?.lowercased().hasPrefix("sasl_") ?? false
        if isSASL, properties["sasl.mechanism"] == nil, properties["sasl.mechanisms"] == nil {
            throw Failure(
                .configuration,
                "security.protocol=\(properties["security.protocol"] ?? "") needs a sasl.mechanism",
                hint: "such as SCRAM-SHA-512, SCRAM-SHA-256 or PLAIN"
            )
        }
    }

    /// The text of a file, which may be a pipe: so passwords can come from a program and never touch a disk.
    private static func contents(of path: String) throws(Failure) -> String {
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.readToEnd() ?? Data(),
            let text = String(data: data, encoding: .utf8)
        else {
            throw Failure(.configuration, "the property file \(path) cannot be read")
        }
        return text
    }

    /// Entries on lines of their own; or, all on one line, after commas.
    ///
    /// A comma begins a new entry only before something that looks like another property: values have commas, too.
    static func split(_ text: String) -> [String] {
        let lines = text.split(whereSeparator: \.isNewline).map(String.init)
        guard lines.count <= 1 else { return lines }
        var entries: [String] = []
        for piece in text.split(separator: ",", omittingEmptySubsequences: false) {
            let looksLikeProperty = piece.prefixMatch(of: /\s*[a-z][a-z0-9._]*\s*=/) != nil
            if looksLikeProperty || entries.isEmpty {
                entries.append(String(piece))
            } else {
                entries[entries.count - 1] += ",\(piece)"
            }
        }
        return entries
    }

    /// A file of `name=value` lines; lines that are empty or begin with # are skipped.
    static func parse(file contents: String, path: String) throws(Failure) -> [String: String] {
        var properties: [String: String] = [:]
        let lines = contents.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard let (name, value) = pair(line) else {
                throw Failure(.configuration, "line \(number + 1) of \(path) is not name=value")
            }
            properties[name] = value
        }
        return properties
    }

    private static func pair(_ entry: String) -> (name: String, value: String)? {
        guard let equals = entry.firstIndex(of: "=") else { return nil }
        let name = entry[..<equals].trimmingCharacters(in: .whitespaces)
        let value = entry[entry.index(after: equals)...].trimmingCharacters(in: .whitespaces)
        return name.isEmpty ? nil : (name, value)
    }
}
