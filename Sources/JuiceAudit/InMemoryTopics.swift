/// Records that are all in memory, by partition and in offset order.
package struct AuditTopics: AuditSource {
    private var records: [AuditTopic: [[AuditRecord]]]
    private let starts: [AuditTopic: [Int64]]

    /// - Parameter starts: the first offset of each partition that has not expired; those of a topic that is left out are 0.
    package init(_ records: [AuditTopic: [[AuditRecord]]], starts: [AuditTopic: [Int64]] = [:]) {
        (self.records, self.starts) = (records, starts)
    }

    package subscript(topic: AuditTopic) -> [[AuditRecord]] {
        get { records[topic] ?? [] }
        set { records[topic] = newValue }
    }

    package func partitionCount(of topic: AuditTopic) -> Int { self[topic].count }

    package func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 { starts[topic]?[partition] ?? 0 }

    package func records(of topic: AuditTopic, partition: Int, from offset: Int64) -> [AuditRecord] {
        let (records, first) = (self[topic][partition], max(offset, firstOffset(of: topic, partition: partition)))
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].offset < first { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? records : Array(records[low...])
    }
}
