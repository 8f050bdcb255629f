/// Numbers for the stores that one partition's records name, and hashes for its commands.
struct Names {
    private(set) var stores = ByteTable()
    /// The partition that owns each store.
    private(set) var owners: [Int] = []
    private let partitionCount: Int

    init(partitionCount: Int) { self.partitionCount = partitionCount }

    /// The store that a key names; nil if it is no valid name.
    mutating func store(key: [UInt8]?) -> Int? {
        let key = key.flatMap { $0.isEmpty ? nil : $0 } ?? Contract.mainStore
        return key.withUnsafeBufferPointer { store($0) }
    }

    /// The store of this name; nil if it is no valid one.
    mutating func store(_ name: UnsafeBufferPointer<UInt8>) -> Int? {
        if let store = stores.find(name) { return store }
        guard (1...Contract.longestName).contains(name.count), Self.isUTF8(name) else { return nil }
        owners.append(Ownership.partition(of: name, count: partitionCount))
        return stores.insert(name)
    }

    /// Stands for a command. Its id identifies it only together with store and kind: an order and its cancel are two.
    func identity(_ kind: CommandKind, store: Int, id: UnsafeBufferPointer<UInt8>) -> Hash128 {
        var hasher = Hasher128()
        hasher.add(store << 2 | kind.rawValue)
        hasher.add(id)
        return hasher.hash
    }

    /// The command as faults show it.
    func describe(_ kind: CommandKind, _ id: some Collection<UInt8>, store: Int) -> String {
        "\(kind) \(quoted(id)) of store \(quoted(stores[store]))"
    }

    private static func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        if bytes.allSatisfy({ $0 < 0x80 }) { return true }
        return String(validating: bytes, as: UTF8.self) != nil
    }
}
