/// What is noted beside every committed offset, where Kafka has room for some text: which worker committed it, and of how
/// many partitions.
struct OwnerNote: Hashable {
    let owner: String
    let partitionCount: Int32

    init(owner: String, partitionCount: Int32) {
        self.owner = owner
        self.partitionCount = partitionCount
    }

    /// Nil for what is no such note.
    init?(_ text: String) {
        guard let space = text.lastIndex(of: " "), let count = Int32(text[text.index(after: space)...]) else {
            return nil
        }
        self.init(owner: String(text[..<space]), partitionCount: count)
    }

    var text: String { "\(owner) \(partitionCount)" }
}
