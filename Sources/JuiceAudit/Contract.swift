/// The contract's fixed words and numbers, written down a second time on purpose: a slip in the service must not
/// be a slip in its audit.
enum Contract {
    static let levels = 0...1_000_000_000
    static let quantities = 1...100
    /// How many items a basket has, before a juice that is given twice is added up.
    static let basketSizes = 1...20

    static let mainStore = Array("main".utf8)
    static let longestName = 128
    static let longestValue = 64 * 1024
    static let deepestNesting = 128
    static let longestTraceHeader = 8 * 1024
    static let mostTraceHeaders = 8
    static let mostTraceBytes = 16 * 1024
    /// How many bytes of key and of value a truncated dead letter keeps.
    static let truncatedHalf = 128 * 1024

    /// The oldest valid age of a timestamp, in milliseconds.
    static let oldestTimestamp: Int64 = 604_800_000
    /// How long after the window a repeat sent within it may arrive, in milliseconds, unless the window is shorter.
    static let longestDelay: Int64 = 300_000

    /// Beyond all offsets: added to that of a record that a copy of the topics lacks.
    static let lacking: Int64 = 1 << 60

    static let forwardedFrom = "juice.forwarded.from"
    static let truncatedFrom = "juice.truncated.from"
    static let traceHeaders = ["traceparent", "tracestate"]
    static let resentLetter = "juice.resent.letter"
    static let errorCode = "juice.error.code"
    static let errorMessage = "juice.error.message"
    static let sourceTopic = "juice.source.topic"
    static let sourcePartition = "juice.source.partition"
    static let sourceOffset = "juice.source.offset"
}

/// The kinds of commands.
enum CommandKind: Int {
    case order
    /// Takes an order back, under the order's id.
    case cancel
    case restock
}

/// Why a record cannot be answered.
enum DeadLetterCode: String {
    case emptyValue, tooLarge, notJSON, tooDeep, missingID, badID, badStore, misplaced
    /// The broker refused the answer. The topics do not show that, so any command may have this code.
    case unanswerable
}

/// Why a command was rejected.
enum RejectionReason: String, Error {
    /// The service was started with a list of stores, and this is none of them.
    case unknownStore
    case unknownJuice, unknownFruit, badQuantity, badAmount
    case wouldGoNegative, wouldOverflow, emptyRestock, badCommand
    /// The order was cancelled, before or after it came.
    case cancelled
}

/// Numbers for the stores that one partition's records name, and digests for its commands.
struct Names {
    private(set) var stores: [[UInt8]] = []
    /// The partition that owns each store.
    private(set) var owners: [Int] = []
    private var numbers: [UInt64: Int] = [:]
    private let partitionCount: Int

    init(partitionCount: Int) { self.partitionCount = partitionCount }

    /// The store that a key names; nil if it is no valid name.
    mutating func store(key: [UInt8]?) -> Int? {
        (key.flatMap { $0.isEmpty ? nil : $0 } ?? Contract.mainStore).withUnsafeBufferPointer { store($0) }
    }

    /// The store of this name; nil if it is no valid one.
    mutating func store(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        var digest = Digest()
        digest.add(name)
        if let store = numbers[digest.value] { return store }
        guard (1...Contract.longestName).contains(name.count), isUTF8(name) else { return nil }
        numbers[digest.value] = stores.count
        stores.append(Array(name))
        owners.append(Int(Self.murmur2(name) & 0x7fff_ffff) % partitionCount)
        return stores.count - 1
    }

    /// Stands for a command. Its id identifies it only together with store and kind: an order and its cancel are two.
    func identity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> UInt64 {
        var digest = Digest()
        digest.add(UInt64(store << 2 | kind.rawValue))
        digest.add(id)
        return digest.value
    }

    /// Austin Appleby's MurmurHash2 with the seed that Kafka chose for its default partitioner, as Java clients have it.
    static func murmur2(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: bytes.count)
        let tail = bytes.count & ~3
        for position in stride(from: 0, to: tail, by: 4) {
            var word = UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: position, as: UInt32.self).littleEndian
            word = word &* multiplier
            word ^= word >> 24
            hash = (hash &* multiplier) ^ (word &* multiplier)
        }
        if tail < bytes.count {
            for (shift, byte) in bytes[tail...].enumerated() { hash ^= UInt32(byte) << (8 * shift) }
            hash = hash &* multiplier
        }
        hash ^= hash >> 13
        hash = hash &* multiplier
        return hash ^ (hash >> 15)
    }
}
