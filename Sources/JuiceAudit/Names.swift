/// Numbers for stores and commands, in place of their names.
struct Names {
    /// A command: the same id of another store or kind is another command.
    struct Command {
        let kind: CommandKind
        let store: Int
        let identity: Int
    }

    private(set) var stores = ByteTable()
    /// The partition that owns each store.
    private(set) var owners: [Int] = []
    private(set) var identities = ByteTable()
    private var scratch: [UInt8] = []
    private let partitionCount: Int

    init(partitionCount: Int) { self.partitionCount = partitionCount }

    /// The store that a key names; nil if it is no valid name.
    mutating func store(key: [UInt8]?) -> Int? {
        let key = key.flatMap { $0.isEmpty ? nil : $0 } ?? Contract.mainStore
        return key.withUnsafeBufferPointer { key in
            if let store = stores.find(key) { return store }
            guard key.count <= Contract.longestName, Self.isUTF8(key) else { return nil }
            owners.append(Ownership.partition(of: key, count: partitionCount))
            return stores.insert(key)
        }
    }

    /// The number of a command. Its id identifies it only together with store and kind: an order and its cancel have two.
    mutating func insertIdentity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> Int {
        assemble(kind, store, id)
        return scratch.withUnsafeBufferPointer { identities.insert($0) }
    }

    mutating func findIdentity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> Int? {
        assemble(kind, store, id)
        return scratch.withUnsafeBufferPointer { identities.find($0) }
    }

    /// The command as faults show it.
    func describe(_ command: Command) -> String {
        let id = identities[command.identity].dropFirst(Self.storeSize)
        return "\(command.kind) \(quoted(id)) of store \(quoted(stores[command.store]))"
    }

    /// The bytes of an identity before its id.
    private static let storeSize = MemoryLayout<UInt64>.size

    private mutating func assemble(_ kind: CommandKind, _ store: Int, _ id: UnsafeBufferPointer<UInt8>) {
        scratch.removeAll(keepingCapacity: true)
        withUnsafeBytes(of: UInt64(store) << 2 | UInt64(kind.rawValue)) { scratch.append(contentsOf: $0) }
        scratch.append(contentsOf: id)
    }

    private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if bytes.allSatisfy({ $0 < 0x80 }) { return true }
        return String(validating: bytes, as: UTF8.self) != nil
    }
}
