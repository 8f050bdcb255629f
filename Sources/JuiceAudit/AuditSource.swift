import JuiceMessages

/// One committed record, as a consumer with `read_committed` sees it.
package struct AuditRecord: Sendable {
    package let offset: Int64
    /// Milliseconds since 1970.
    package let timestamp: Int64
    package let key, value: [UInt8]?
    package let headers: [MessageHeader]

    package init(offset: Int64, timestamp: Int64, key: [UInt8]?, value: [UInt8]?, headers: [MessageHeader] = []) {
        (self.offset, self.timestamp, self.key, self.value, self.headers) = (offset, timestamp, key, value, headers)
    }
}

/// Where an audit reads the five topics.
package protocol AuditSource: Sendable {
    func partitionCount(of topic: Topic) -> Int32

    /// The first offset of a partition that has not expired.
    func firstOffset(of topic: Topic, partition: Int32) -> Int64

    /// A reader of a partition from an offset on; nil if there is nothing. Each is used on one thread, all at the same time.
    func reader(of topic: Topic, partition: Int32, from offset: Int64) throws -> (any AuditReader)?
}

/// Reads the committed records of a partition in order.
package protocol AuditReader: AnyObject {
    /// The next records, as many as are at hand; none at the end.
    ///
    /// - Throws: what keeps the source from reading, which ends the audit.
    func next() throws -> [AuditRecord]

    /// What could not be read so far, although it existed when the audit began.
    var gaps: [AuditGap] { get }
}

extension AuditSource {
    /// How many partitions hold stores, by the first claims or, if these have expired, the partition count of the stock topic.
    package func storePartitionCount() throws -> Int32 {
        for partition in 0..<partitionCount(of: .results) {
            let first = firstOffset(of: .results, partition: partition)
            for record in try reader(of: .results, partition: partition, from: first)?.next() ?? [] {
                if case .claim(let claim) = record.value?.withUnsafeBytes({ JournalNote($0) }) { return claim.partitions }
            }
        }
        return partitionCount(of: .stock)
    }
}

/// Offsets of a partition whose records cannot be read.
package struct AuditGap: Sendable, Hashable {
    package let offsets: Range<Int64>
    /// What is wrong with them; nil if they expired before they were read.
    package let problem: String?

    package init(_ offsets: Range<Int64>, _ problem: String?) { (self.offsets, self.problem) = (offsets, problem) }
}
