/// One committed record, as a consumer with `read_committed` sees it.
public struct AuditRecord: Sendable, Hashable {
    /// Its offset in the partition.
    public let offset: Int64
    /// Milliseconds since 1970.
    public let timestamp: Int64
    /// The key; nil if there is none.
    public let key: [UInt8]?
    /// The value; nil if there is none.
    public let value: [UInt8]?
    /// The headers in their order.
    public let headers: [AuditHeader]

    /// A record.
    public init(offset: Int64, timestamp: Int64, key: [UInt8]?, value: [UInt8]?, headers: [AuditHeader] = []) {
        (self.offset, self.timestamp, self.key, self.value, self.headers) = (offset, timestamp, key, value, headers)
    }
}

/// One header of a record.
public struct AuditHeader: Sendable, Hashable {
    /// The header's name.
    public let name: String
    /// Its value; nil if there is none.
    public let value: [UInt8]?

    /// A header.
    public init(_ name: String, _ value: [UInt8]?) { (self.name, self.value) = (name, value) }
}

extension [AuditHeader] {
    /// The trace headers that an answer must carry over from its command.
    var traces: [AuditHeader] {
        var room = Contract.mostTraceBytes
        let fitting = filter { header in
            let size = header.value?.count ?? 0
            guard Contract.traceHeaders.contains(header.name), size <= Swift.min(Contract.longestTraceHeader, room) else {
                return false
            }
            room -= size
            return true
        }
        return Array(fitting.prefix(Contract.mostTraceHeaders))
    }
}

/// A topic of the contract.
public enum AuditTopic: String, Sendable, Hashable {
    /// Orders, written by clients.
    case orders
    /// Stock edits, written by clients.
    case restocks
    /// The journal: the answers, and notes of what else was done.
    case results
    /// Each store's stock.
    case stock
    /// Records that have no answer.
    case deadLetters = "dead-letters"
}

/// The committed records of the five topics, by partition and in offset order.
public struct AuditTopics: Sendable {
    /// Orders, by partition.
    public var orders: [[AuditRecord]]
    /// Stock edits, by partition.
    public var restocks: [[AuditRecord]]
    /// The journal, by partition.
    public var results: [[AuditRecord]]
    /// Stock, by partition. Compaction may have removed all but a store's last record.
    public var stock: [[AuditRecord]]
    /// Dead letters, by partition. The number of partitions need not be that of the other topics.
    public var deadLetters: [[AuditRecord]]

    /// The records of the five topics.
    public init(
        orders: [[AuditRecord]], restocks: [[AuditRecord]], results: [[AuditRecord]], stock: [[AuditRecord]],
        deadLetters: [[AuditRecord]]
    ) {
        (self.orders, self.restocks, self.results) = (orders, restocks, results)
        (self.stock, self.deadLetters) = (stock, deadLetters)
    }

    subscript(topic: AuditTopic) -> [[AuditRecord]] {
        switch topic {
        case .orders: orders
        case .restocks: restocks
        case .results: results
        case .stock: stock
        case .deadLetters: deadLetters
        }
    }
}
