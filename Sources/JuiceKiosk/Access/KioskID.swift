import JuiceMessages

/// The ids of the kiosk's commands: what the page chose, behind a prefix reserved for kiosks. So a page cannot use up an id that a
/// POS system is about to use.
enum KioskID {
    static let prefix = "kiosk-"
    /// The longest part that a page may choose, in bytes.
    static let maximumPartLength = CommandKind.maximumIDLength - prefix.utf8.count

    /// The command's id for the part that the page chose. A resend has the same id.
    static func whole(_ part: String) throws(Refusal) -> String {
        guard (1...maximumPartLength).contains(part.utf8.count) else {
            throw .badRequest("an id has from 1 to \(maximumPartLength) bytes")
        }
        return prefix + part
    }

    /// The part that the page chose.
    static func part(_ id: String) -> String {
        // Compares bytes: as a `String`, an id whose prefix is followed by a combining accent does not have the prefix.
        guard id.utf8.starts(with: prefix.utf8) else { return id }
        return String(Substring(id.utf8.dropFirst(prefix.utf8.count)))
    }
}
