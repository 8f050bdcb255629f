import JuiceMessages

/// Records that are all in memory, by partition and in offset order.
package struct AuditTopics: AuditSource {
    private var records: [Topic: [[AuditRecord]]]
    private let starts: [Topic: [Int64]]

    /// - Parameter starts: the first offset of each partition that has not expired; those of a topic that is left out are 0.
    package init(_ records: [Topic: [[AuditRecord]]], starts: [Topic: [Int64]] = [:]) {
        (self.records, self.starts) = (records, starts)
    }

    package subscript(topic: Topic) -> [[AuditRecord]] {
        get { records[topic] ?? [] }
        set { records[topic] = newValue }
    }

    package func partitionCount(of topic: Topic) -> Int32 { Int32(self[topic].count) }

    package func firstOffset(of topic: Topic, partition: Int32) -> Int64 { starts[topic]?[Int(partition)] ?? 0 }

    package func records(of topic: Topic, partition: Int32, from offset: Int64) -> [AuditRecord] {
        let (records, first) = (self[topic][Int(partition)], max(offset, firstOffset(of: topic, partition: partition)))
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].offset < first { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? records : Array(records[low...])
    }
}
