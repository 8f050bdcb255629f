import JuiceMaker
import JuiceMessages

/// What every command has.
struct ReceivedCommand {
    /// The head of its answer.
    let head: AnswerHead
    let storeKey: ByteKeyTable.Key
    let fingerprint: CommandFingerprint

    init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText) {
        head = AnswerHead(kind, id: id, store: store)
        storeKey = ByteKeyTable.Key(store.bytes)
        // A cancel is looked up, and remembered, in the place of its order.
        fingerprint = CommandFingerprint(kind == .cancel ? .order : kind, store: store, id: id)
    }
}

/// What a command asks for. Kept apart from ``ReceivedCommand``, which can be passed on without counting references.
enum CommandContent {
    case make(JuiceOrder)
    case cancel
    case apply(StockEdit)
    case reject(Rejection)
}

/// Decodes a record of the input topics. It knows nothing of earlier records.
///
/// A reading is valid until the next one.
struct CommandReader {
    /// What a record is.
    enum Reading: ~Copyable {
        /// A command to carry out.
        case command(ReceivedCommand, CommandContent)
        /// A command for a store of another partition.
        case misrouted(owner: Int32)
        /// Not a command, with the reason.
        case undecodable(DeadLetterReason)
        /// There is no further record.
        case end
    }

    private let decoder: CommandDecoder
    private let partitionCount: Int32

    /// - Parameter partitionCount: how many partitions the stores are spread over.
    init(menu: Menu, partitionCount: Int32) {
        decoder = CommandDecoder(menu: menu)
        self.partitionCount = partitionCount
    }

    /// Takes the fields of a record one by one: passing the record would count references.
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
        // An undecodable record becomes a dead letter of the partition it was read from.
        let isCommand =
            switch reading {
            case .command: true
            default: false
            }
        guard isCommand else { return reading }
        let owner = Murmur2.partition(of: store.bytes, count: partitionCount)
        return owner == partition ? reading : .misrouted(owner: owner)
    }

    private func decodeOrder(_ value: UnsafeRawBufferPointer?, for store: BorrowedText) -> Reading {
        switch decoder.decodeOrder(value) {
        case .command(let command):
            switch command.request {
            case .make(let order):
                .command(ReceivedCommand(.order, store: store, id: command.id), .make(order))
            case .cancel: .command(ReceivedCommand(.cancel, store: store, id: command.id), .cancel)
            }
        case .rejected(let id, let reason):
            .command(ReceivedCommand(.order, store: store, id: id), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }

    private func decodeRestock(_ value: UnsafeRawBufferPointer?, for store: BorrowedText) -> Reading {
        switch decoder.decodeRestock(value) {
        case .command(let restock):
            .command(ReceivedCommand(.restock, store: store, id: restock.id), .apply(restock.edit))
        case .rejected(let id, let reason):
            .command(ReceivedCommand(.restock, store: store, id: id), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }
}
