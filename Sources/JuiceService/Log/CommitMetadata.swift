import Kafka

/// What is noted beside every committed offset, where Kafka has room for some text: under which transactional ids whoever
/// committed it writes, and of how many partitions.
struct OwnerNote: Hashable {
    /// The worker: what its transactional ids begin with.
    let owner: String
    /// How they go on.
    let turns: [String]
    let partitionCount: Int32

    private static let ordinaryTurns = ServiceConfiguration.turns.map(String.init)

    /// - Parameter transactionalIDs: nil is the worker's first ones.
    init(owner: String, transactionalIDs: [String]? = nil, partitionCount: Int32) {
        self.owner = owner
        turns = transactionalIDs?.map { String($0.dropFirst(owner.count + 1)) } ?? Self.ordinaryTurns
        self.partitionCount = partitionCount
    }

    /// Nil for what is no such note.
    init?(_ text: String) {
        guard let space = text.lastIndex(of: " "), let count = Int32(text[text.index(after: space)...]) else {
            return nil
        }
        let parts = text[..<space].split(separator: "#", omittingEmptySubsequences: false)
        partitionCount = count
        // A worker's name may have the character, too; what comes after the last is only ever digits, commas and slashes.
        if let last = parts.last, parts.count > 1, last.allSatisfy({ $0.isNumber || $0 == "," || $0 == "/" })
        {
            owner = parts.dropLast().joined(separator: "#")
            turns = last.split(separator: ",").map(String.init)
        } else {
            owner = String(text[..<space])
            turns = Self.ordinaryTurns
        }
    }

    var transactionalIDs: [String] { turns.map { "\(owner)/\($0)" } }

    /// Under which ids its producers go on when they leave these behind, before any note says so.
    var nextTransactionalIDs: [String] {
        turns.map { turn in
            let parts = turn.split(separator: "/")
            return TransactionalProducer.transactionalID(
                "\(owner)/\(parts.first ?? "")",
                generation: (parts.dropFirst().first.flatMap { Int($0) } ?? 0) &+ 1
            )
        }
    }

    var text: String {
        turns == Self.ordinaryTurns
            ? "\(owner) \(partitionCount)" : "\(owner)#\(turns.joined(separator: ",")) \(partitionCount)"
    }
}
