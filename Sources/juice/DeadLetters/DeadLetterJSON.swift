import Foundation
import JuiceMessages
import Kafka

/// A dead letter as JSON.
struct DeadLetterJSON: Encodable {
    struct Source: Encodable {
        let topic: String
        let partition: Int32?
        let offset: Int64?
    }

    struct Header: Encodable {
        let name: String
        let value: String?
        let valueBase64: String?
    }

    let partition: Int32
    let offset: Int64
    let timestamp: Int64?
    let code: String
    let message: String
    let source: Source
    let truncatedFrom: String?
    let resent: Bool
    let key: String?
    let keyBase64: String?
    let value: String?
    let valueBase64: String?
    let headers: [Header]

    init(_ letter: DeadLetter, isResent: Bool) {
        partition = letter.position.partition
        offset = letter.position.offset
        timestamp = letter.timestamp
        code = letter.code
        message = letter.message
        let from = letter.source
        source = Source(topic: from.topic, partition: Int32(from.partition), offset: Int64(from.offset))
        truncatedFrom = letter.truncatedFrom
        resent = isResent
        (key, keyBase64) = Self.text(letter.key)
        (value, valueBase64) = Self.text(letter.value)
        headers = letter.sendersHeaders.map {
            let (text, base64) = Self.text($0.value)
            return Header(name: $0.name, value: text, valueBase64: base64)
        }
    }

    /// The bytes as text, or as base64 if they are not UTF-8.
    private static func text(_ bytes: [UInt8]?) -> (String?, String?) {
        guard let bytes else { return (nil, nil) }
        guard let text = String(validating: bytes, as: UTF8.self) else { return (nil, Data(bytes).base64EncodedString()) }
        return (text, nil)
    }
}
