import JuiceMaker
import JuiceMessages

/// What every command has.
///
/// Together with its content it is smaller than 128 bytes, which the compiler copies inline; it copies more by calls of memcpy.
struct ReceivedCommand {
    /// The head of its answer.
    private(set) var head: AnswerHead
    private let storeHash: UInt32
    let fingerprint: CommandFingerprint

    init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText, offset: Offset) {
        head = AnswerHead(kind, id: id, store: store, offset: offset)
        storeHash = ByteKeyTable.Key(store.bytes).hash
        fingerprint = CommandFingerprint(kind.ofID, store: store, id: id)
    }

    var storeKey: ByteKeyTable.Key { ByteKeyTable.Key(head.store.bytes, hash: storeHash) }

    /// What the answer to a cancel is remembered by if the cancel is rejected; nil for other commands.
    var rejectedCancel: CommandFingerprint? {
        head.command == .cancel ? CommandFingerprint(.cancel, store: head.store, id: head.id) : nil
    }

    /// Sets where it was read first, if it was forwarded.
    mutating func setSource(from headers: [MessageHeader]) {
        guard let source = headers.first(where: { $0.name == HeaderName.forwardedFrom })?.value.flatMap(ForwardSource.init) else {
            return
        }
        head.from = source
    }
}

extension CommandKind {
    /// A cancel is looked up, and remembered, in the place of its order.
    var ofID: CommandKind { self == .cancel ? .order : self }
}

extension JournalAnswer {
    /// What it is remembered by; nil for an answer that only repeats another, or tells of a cancel.
    var remembered: CommandFingerprint? {
        guard !head.isDuplicate, role != .afterCancel else { return nil }
        let isRejectedCancel = head.command == .cancel && role != .cancel
        return CommandFingerprint(isRejectedCancel ? .cancel : head.command.ofID, store: head.store, id: head.id)
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

    /// Reads a record.
    @inline(__always)
    func read(_ record: CommandRecord) -> Reading {
        guard let store = StoreID.read(key: record.key) else { return .undecodable(.badStore) }
        let reading =
            switch record.topic {
            case .orders: decodeOrder(record.value, for: store, record.offset)
            case .restocks: decodeRestock(record.value, for: store, record.offset)
            }
        // An undecodable record becomes a dead letter of the partition it was read from.
        let isCommand =
            switch reading {
            case .command: true
            default: false
            }
        guard isCommand else { return reading }
        let owner = Murmur2.partition(of: store.bytes, count: partitionCount)
        return owner == record.partition ? reading : .misrouted(owner: owner)
    }

    private func decodeOrder(_ value: UnsafeRawBufferPointer?, for store: BorrowedText, _ offset: Offset) -> Reading {
        switch decoder.decodeOrder(value) {
        case .command(let command):
            switch command.request {
            case .make(let order): .command(ReceivedCommand(.order, store: store, id: command.id, offset: offset), .make(order))
            case .cancel: .command(ReceivedCommand(.cancel, store: store, id: command.id, offset: offset), .cancel)
            }
        case .rejected(let id, let reason): .command(ReceivedCommand(.order, store: store, id: id, offset: offset), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }

    private func decodeRestock(_ value: UnsafeRawBufferPointer?, for store: BorrowedText, _ offset: Offset) -> Reading {
        switch decoder.decodeRestock(value) {
        case .command(let restock):
            .command(ReceivedCommand(.restock, store: store, id: restock.id, offset: offset), .apply(restock.edit))
        case .rejected(let id, let reason):
            .command(ReceivedCommand(.restock, store: store, id: id, offset: offset), .reject(reason))
        case .undecodable(let reason): .undecodable(reason)
        }
    }
}
