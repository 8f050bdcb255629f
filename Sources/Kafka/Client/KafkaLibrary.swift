import CRdKafka
import Foundation

/// The librdkafka that this process has loaded, which need not be the version it was compiled against.
public enum KafkaLibrary {
    /// Its version, such as `2.0.2`.
    public static var version: String { String(cString: rd_kafka_version_str()) }
}

extension KafkaConfiguration {
    /// The names of all properties that librdkafka lists, aliases included.
    public static let knownNames: [String] = {
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
        let names = rows.filter { $0.count > 4 }.map { $0[0].trimmingCharacters(in: .whitespaces) }
        return names.filter { $0.contains { $0.isLetter } && $0 != "Property" }
    }()

    /// Whether librdkafka accepts a property of that name, listed or not.
    public static func isKnown(_ name: String) -> Bool {
        guard let handle = rd_kafka_conf_new() else { return true }
        defer { rd_kafka_conf_destroy(handle) }
        return rd_kafka_conf_set(handle, name, nil, nil, 0) != RD_KAFKA_CONF_UNKNOWN
    }
}
