import JuiceDomain
import JuiceMessages

/// The value of a record that a page posts for a store. It goes into the topic as it is.
struct PostedCommand: Sendable {
    static let maximumLength = 8192

    let kind: CommandKind
    let id: Name
    let store: String
    let value: [UInt8]

    /// Reads the value as the service will read it.
    ///
    /// - Throws: ``Refusal`` if the service could not answer the command, or if its id is not a page's.
    init(_ value: [UInt8], to topic: InputTopic, store: String, menu: Menu) throws {
        (self.store, self.value) = (store, value)
        let decoder = CommandDecoder(menu: menu)
        (kind, id) = try withExtendedLifetime(decoder) {
            try value.withUnsafeBytes { bytes in
                switch decoder.decode(bytes, of: topic) {
                case .command(let kind, let id, _):
                    // Compares bytes: as a `String`, an id whose prefix is followed by a combining accent does not have the prefix.
                    guard id.bytes.starts(with: CommandKind.kioskPrefix.utf8) else {
                        throw Refusal.badRequest("an id begins with \(CommandKind.kioskPrefix)")
                    }
                    return (kind, Name(String(decoding: id.bytes, as: UTF8.self)))
                case .undecodable(let reason): throw Refusal.badRequest(reason.message)
                }
            }
        }
    }

    /// The name of the page that sent the command with this id: all before the last hyphen, such as `kiosk-9f3c` of
    /// `kiosk-9f3c-01`. Nil if no page did.
    static func page(ofID id: String) -> Name? {
        let prefix = CommandKind.kioskPrefix.utf8
        guard id.utf8.starts(with: prefix), let end = id.utf8.lastIndex(of: UInt8(ascii: "-")) else { return nil }
        let page = id.utf8[..<end]
        return page.count > prefix.count ? Name(String(Substring(page))) : nil
    }
}
