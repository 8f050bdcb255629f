import JuiceDomain
import JuiceMessages
import NIOCore

/// Reads the records that the page posts, with the service's own decoder, and refuses what the service would not carry out.
///
/// Commands are written again, so that a page puts nothing else into a topic.
struct PostedCommand {
    /// The longest request body, in bytes.
    static let maximumLength = 8192
    /// What ids begin with. It is reserved for kiosks, so that a page cannot use up an id that a POS system is about to use.
    private static let idPrefix = "kiosk-"

    let menu: Menu
    let store: String

    /// A command of this topic. Only the page that ordered knows the id of its order: it is random, and no other page gets it. The
    /// service decides whether the stock allows it.
    func command(_ value: ByteBuffer, of topic: InputTopic) throws -> OutgoingCommand {
        let decoder = CommandDecoder(menu: menu)
        // What was decoded borrows its texts from the decoder.
        return try value.withUnsafeReadableBytes { bytes in
            try withExtendedLifetime(decoder) {
                switch decoder.decode(bytes, of: topic) {
                case .command(_, let id, .make(let juices)):
                    let items = juices.items.map { OrderedJuice(juice: menu.juices[$0.juice].id, quantity: $0.quantity) }
                    return .order(id: try own(id), store: store, items)
                case .command(_, let id, .cancel): return .cancel(id: try own(id), store: store)
                case .command(_, let id, .apply(let edit)):
                    let amounts = edit.entries.map { FruitAmount(fruit: menu.fruits[$0.fruit].id, amount: $0.amount) }
                    return .restock(id: try own(id), store: store, edit.kind, amounts)
                case .command(_, _, .reject(let rejection)):
                    throw Refusal.badRequest("the service rejects it: \(rejection.reason.rawValue)")
                case .undecodable(let reason): throw Refusal.badRequest(reason.message)
                }
            }
        }
    }

    /// The name of the page that sent the command of this id: all before the last hyphen, such as `kiosk-9f3c` of `kiosk-9f3c-01`.
    /// Nil if no page did.
    static func page(ofID id: String) -> Name? {
        guard id.utf8.starts(with: idPrefix.utf8), let end = id.utf8.lastIndex(of: UInt8(ascii: "-")) else { return nil }
        let page = id.utf8[..<end]
        return page.count > idPrefix.utf8.count ? Name(String(Substring(page))) : nil
    }

    private func own(_ id: BorrowedText) throws -> String {
        // Compares bytes: as a `String`, an id whose prefix is followed by a combining accent does not have the prefix.
        guard id.bytes.starts(with: Self.idPrefix.utf8) else { throw Refusal.badRequest("an id begins with \(Self.idPrefix)") }
        return String(id)
    }
}
