/// The topics of the contract, in its order.
public enum Topic: Int, Sendable, CaseIterable {
    /// Orders from POS systems, and those forwarded to the partition that owns their store.
    case orders
    /// Stock edits from restock bots, and those forwarded likewise.
    case restocks
    /// One answer per command.
    case results
    /// The changelog of the stores: each one's whole stock after its last change.
    case stock
    /// Records that name no command, or whose answer no broker would take.
    case deadLetters
}
