import JuiceMessages

/// The ids under which a kiosk sends commands: what the page chose, behind a beginning that is the kiosks' alone. So no page can
/// take an id that a till is going to use.
enum KioskID {
    static let prefix = "kiosk-"
    /// How long the page's part may be, in bytes.
    static let maximumPartLength = CommandKind.maximumIDLength - prefix.utf8.count

    /// The id for what a page chose. The page sends it again under the same.
    static func whole(_ part: String) throws(Refusal) -> String {
        guard (1...maximumPartLength).contains(part.utf8.count) else {
            throw .badRequest("an id has from 1 to \(maximumPartLength) bytes")
        }
        return prefix + part
    }

    /// What the page chose.
    static func part(_ id: String) -> String {
        // By bytes: to `String`, an id that goes on with an accent does not begin so.
        guard id.utf8.starts(with: prefix.utf8) else { return id }
        return String(Substring(id.utf8.dropFirst(prefix.utf8.count)))
    }
}
