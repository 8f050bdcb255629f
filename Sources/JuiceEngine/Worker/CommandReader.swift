import JuiceDomain
import JuiceMessages

/// A command, without its content.
///
/// Together with its content it is smaller than 128 bytes: the compiler copies that inline, but calls memcpy for more.
struct ReceivedCommand {
    /// The head of its answer.
    private(set) var head: AnswerHead
    private let storeHash: UInt32
    let fingerprint: CommandFingerprint

    init(_ kind: CommandKind, store: BorrowedText, id: BorrowedText, offset: Offset) {
        head = AnswerHead(kind, id: id, store: store, offset: offset)
        let hash = SipHash(of: store.bytes)
        storeHash = ByteKeyTable.Key(store.bytes, hash).hash
        fingerprint = CommandFingerprint(kind.ofID, store: hash, id: id)
    }

    var storeKey: ByteKeyTable.Key { ByteKeyTable.Key(head.store.bytes, hash: storeHash) }

    /// The fingerprint under which a rejected cancel is remembered; nil for other commands.
    var rejectedCancel: CommandFingerprint? {
        head.command == .cancel ? CommandFingerprint(.cancel, store: head.store, id: head.id) : nil
    }

    /// Sets the place where it was read first, if a header says that it was forwarded.
    mutating func setSource(from headers: [MessageHeader]) {
        let header = headers.first { $0.name == HeaderName.forwardedFrom }
        if let source = header?.value.flatMap(RecordPosition.init) { head.from = source }
    }
}

extension JournalAnswer {
    /// The fingerprint under which it is remembered; nil for a repeat of another answer, and for an answer that is not to be
    /// remembered. If the first answer is lost, one that says so may take its place.
    var remembered: CommandFingerprint? {
        guard !head.isDuplicate || role == .lost, role != .unremembered else { return nil }
        let isRejectedCancel = head.command == .cancel && role == .first
        return CommandFingerprint(isRejectedCancel ? .cancel : head.command.ofID, store: head.store, id: head.id)
    }

    /// The bytes of the record's value to give to repeats: none if the first answer is lost.
    func given(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer { role == .lost ? .init(start: nil, count: 0) : value }
}

/// Decodes records of the input topics. A reading is valid until the next one.
struct CommandReader {
    /// What a record is.
    enum ReceivedRecord: ~Copyable {
        /// A command to carry out.
        case command(ReceivedCommand, CommandContent)
        /// A command for a store of another partition.
        case misrouted(owner: Int32)
        /// Not a command, for this reason.
        case undecodable(DeadLetterReason)
        /// There is no further record.
        case end
    }

    private let decoder: CommandDecoder
    /// How many partitions the stores are spread over.
    private let partitionCount: Int32

    init(menu: Menu, partitionCount: Int32) {
        decoder = CommandDecoder(menu: menu)
        self.partitionCount = partitionCount
    }

    @inline(__always)
    func read(_ record: CommandRecord) -> ReceivedRecord {
        guard let store = StoreID.read(key: record.key) else { return .undecodable(.badStore) }
        switch decoder.decode(record.value, of: record.topic) {
        // It becomes a dead letter of the partition it was read from, not of the store's owner.
        case .undecodable(let reason): return .undecodable(reason)
        case .command(let kind, let id, let content):
            let owner = Murmur2.partition(of: store.bytes, count: partitionCount)
            guard owner == record.partition else { return .misrouted(owner: owner) }
            return .command(ReceivedCommand(kind, store: store, id: id, offset: record.offset), content)
        }
    }
}
