import JuiceAudit
import JuiceEngine
import JuiceMessages

/// The committed records of a cluster, for the auditor.
struct SimulatedAuditSource: AuditSource {
    private var topics: [AuditTopic: [(start: Offset, records: [AuditRecord])]] = [:]

    /// - Parameter cuts: from where on the journals of some partitions are judged. What they say before is about other logs.
    init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        for (topic, own) in zip([AuditTopic.orders, .restocks, .results, .stock, .deadLetters], Topic.allCases) {
            topics[topic] = (0..<cluster.count(of: own)).map { partition in
                let log = cluster[own, partition]
                let records = log.read(ignoringDamage: true).records.map { offset, record in
                    AuditRecord(
                        offset: offset, timestamp: record.timestamp, key: record.key?.bytes, value: record.value?.bytes,
                        headers: record.headers.map { AuditHeader($0.name, $0.value) })
                }
                return (max(log.start, topic == .results ? cuts[partition] ?? 0 : 0), records)
            }
        }
    }

    func partitionCount(of topic: AuditTopic) -> Int { topics[topic]?.count ?? 0 }

    func firstOffset(of topic: AuditTopic, partition: Int) -> Offset { topics[topic]?[partition].start ?? 0 }

    func records(of topic: AuditTopic, partition: Int, from offset: Offset) -> [AuditRecord] {
        guard let all = topics[topic]?[partition].records, let last = all.last, last.offset >= offset else { return [] }
        return offset == 0 ? all : Array(all.drop { $0.offset < offset })
    }

    /// All records of a topic, by partition.
    func records(of topic: AuditTopic) -> [[AuditRecord]] { topics[topic]?.map(\.records) ?? [] }
}
