import JuiceMaker
import JuiceMessages

/// What every command has.
struct ReceivedCommand {
    let kind: CommandKind
    let store: BorrowedText
    let storeKey: ByteKeyTable.Key
    let id: BorrowedText
    let fingerprint: CommandFingerprint

    init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        self.kind = kind
        self.store = store
        self.id = id
        storeKey = ByteKeyTable.Key(store.bytes)
        fingerprint = CommandFingerprint(kind, store: store, id: id)
    }
}

/// What a command asks for. Apart from what every one has, which is passed on without counting references.
enum CommandContent {
    case make(OrderCommand)
    case apply(RestockCommand)
    case reject(Rejection)
}

/// Finds out what a record is, by itself: it knows nothing of what came before.
///
/// What it returns is valid until it reads again.
struct CommandReader {
    /// What a record turned out to be.
    enum Reading {
        /// A command to be carried out.
        case command(ReceivedCommand, CommandContent)
        /// A command for a store of another partition.
        case misrouted(owner: Int32)
        /// No command, and why.
        case undecodable(DeadLetterReason)
        /// No record: there are no more.
        case end
    }

    private let decoder: CommandDecoder
    private let partitionCount: Int32

    /// - Parameter partitionCount: how many partitions the stores are spread over.
    init(menu: Menu, partitionCount: Int32) {
        decoder = CommandDecoder(menu: menu)
        self.partitionCount = partitionCount
    }

    /// - Parameters: what it takes of a record. The record itself is not handed over: that would count references.
    func read(
        _ topic: InputTopic,
        _ partition: Int32,
        key: UnsafeRawBufferPointer?,
        value: UnsafeRawBufferPointer?
    ) -> Reading {
        guard let store = StoreID.read(key: key) else { return .undecodable(.badStore) }
        let reading =
            switch topic {
            case .orders: decodeOrder(value, for: store)
            case .restocks: decodeRestock(value, for: store)
            }
        // What cannot be decoded is put aside where it was read.
        guard case .command = reading else { return reading }
        let owner = Murmur2.partition(of: store.bytes, count: partitionCount)
        return owner == partition ? reading : .misrouted(owner: owner)
    }

    private func decodeOrder(_ value: UnsafeRawBufferPointer?, for store: BorrowedText) -> Reading {
        switch decoder.decodeOrder(value) {
        case .command(let order): .command(ReceivedCommand(.order, store: store, id: order.id), .make(order))
        case .rejected(let id, let reason):
            .command(ReceivedCommand(.order, store: store, id: id), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }

    private func decodeRestock(_ value: UnsafeRawBufferPointer?, for store: BorrowedText) -> Reading {
        switch decoder.decodeRestock(value) {
        case .command(let restock):
            .command(ReceivedCommand(.restock, store: store, id: restock.id), .apply(restock))
        case .rejected(let id, let reason):
            .command(ReceivedCommand(.restock, store: store, id: id), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }
}
