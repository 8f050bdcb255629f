/// The stores and the ids of commands, by number.
struct Names {
    private(set) var stores = ByteTable()
    /// The partition each store lives in.
    private(set) var owners: [Int] = []
    private(set) var identities = ByteTable()
    private var scratch: [UInt8] = []
    private let partitionCount: Int

    init(partitionCount: Int) { self.partitionCount = partitionCount }

    /// The store that a key names, `nil` when it can name none.
    mutating func store(key: [UInt8]?) -> Int? {
        let key = key.flatMap { $0.isEmpty ? nil : $0 } ?? Contract.mainStore
        return key.withUnsafeBufferPointer { key in
            if let store = stores.find(key) { return store }
            guard key.count <= Contract.longestName, Self.isUTF8(key) else { return nil }
            owners.append(Ownership.partition(of: key, count: partitionCount))
            return stores.insert(key)
        }
    }

    /// An id means a command only together with its store and kind.
    mutating func insertIdentity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> Int {
        assemble(kind, store, id)
        return scratch.withUnsafeBufferPointer { identities.insert($0) }
    }

    mutating func findIdentity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> Int? {
        assemble(kind, store, id)
        return scratch.withUnsafeBufferPointer { identities.find($0) }
    }

    func id(of identity: Int) -> ArraySlice<UInt8> { identities[identity].dropFirst(8) }

    private mutating func assemble(_ kind: CommandKind, _ store: Int, _ id: UnsafeBufferPointer<UInt8>) {
        scratch.removeAll(keepingCapacity: true)
        withUnsafeBytes(of: UInt64(store) << 1 | UInt64(kind.rawValue)) { scratch.append(contentsOf: $0) }
        scratch.append(contentsOf: id)
    }

    private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if bytes.allSatisfy({ $0 < 0x80 }) { return true }
        return String(validating: bytes, as: UTF8.self) != nil
    }
}
