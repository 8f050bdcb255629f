import Foundation
import JuiceMessages
import Kafka

struct RecordPlace: Equatable {
    /// Milliseconds since 1970; nil if the broker stored none.
    let timestamp: Int64?
    let partition: Int32
    let offset: Offset
}

extension RecordPlace {
    init(_ record: ConsumedRecord) {
        self.init(timestamp: record.timestamp, partition: record.partition, offset: record.offset)
    }
}

/// A line of `--json` about a record: an object with its `time`, `partition` and `offset`, and then the `record`, unchanged but for
/// line ends.
enum RecordLine {
    /// - Parameters:
    ///   - place: nil if it is unknown, or if there is no record.
    ///   - members: further members before the record, as name and JSON.
    ///   - record: the record's value; nil leaves it out.
    ///   - isJSON: whether the value is known to be JSON.
    static func json(
        _ place: RecordPlace?, _ members: [(name: String, json: String)] = [], record: [UInt8]?, isJSON: Bool = true
    ) -> [UInt8] {
        var head: [(name: String, json: String)] = []
        if let time = place?.timestamp { head.append(("time", "\"\(DateTime.utc(milliseconds: time))\"")) }
        if let place { head += [("partition", "\(place.partition)"), ("offset", "\(place.offset)")] }
        var line = Array("{\((head + members).map { "\"\($0.name)\":\($0.json)" }.joined(separator: ","))".utf8)
        if let record {
            line += Array("\(line.count > 1 ? "," : "")".utf8) + value(record, isJSON)
        }
        return line + [UInt8(ascii: "}")]
    }

    /// The member that holds the record: JSON, or else text or base64.
    private static func value(_ bytes: [UInt8], _ isJSON: Bool) -> [UInt8] {
        if isJSON || (try? JSONSerialization.jsonObject(with: Data(bytes))) != nil {
            // JSON has line ends only where it may have spaces.
            let (lineFeed, carriageReturn) = (UInt8(ascii: "\n"), UInt8(ascii: "\r"))
            return Array("\"record\":".utf8) + bytes.map { $0 == lineFeed || $0 == carriageReturn ? UInt8(ascii: " ") : $0 }
        }
        let bytes = BytesText(bytes)
        let (name, value) = bytes.text.map { ("value", $0) } ?? ("valueBase64", bytes.base64 ?? "")
        return Array("\"\(name)\":\(JSONText.line(value))".utf8)
    }
}

/// Bytes in JSON: text if they are UTF-8, otherwise base64.
struct BytesText {
    let text, base64: String?

    init(_ bytes: [UInt8]?) {
        text = bytes.flatMap { String(validating: $0, as: UTF8.self) }
        base64 = text == nil ? bytes.map { Data($0).base64EncodedString() } : nil
    }
}
