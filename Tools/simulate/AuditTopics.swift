import JuiceAudit
import JuiceEngine
import JuiceMessages

extension AuditTopics {
    /// The committed records of a cluster, for the auditor.
    ///
    /// - Parameter cuts: from where on the journals of some partitions are judged. What they say before is about other logs.
    init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        var (records, starts): ([AuditTopic: [[AuditRecord]]], [AuditTopic: [Int64]]) = ([:], [:])
        for (topic, own) in zip([AuditTopic.orders, .restocks, .results, .stock, .deadLetters], Topic.allCases) {
            let logs = (0..<cluster.count(of: own)).map { ($0, cluster[own, $0]) }
            starts[topic] = logs.map { topic == .results ? cuts[$0] ?? 0 : $1.start }
            records[topic] = logs.map { _, log in
                // What was deleted from a journal still says what its owner knew.
                log.read(ignoringDamage: true, includingDeleted: topic == .results).records.map { offset, record in
                    AuditRecord(
                        offset: offset, timestamp: record.timestamp, key: record.key?.bytes, value: record.value?.bytes,
                        headers: record.headers.map { AuditHeader($0.name, $0.value) })
                }
            }
        }
        self.init(records, starts: starts)
    }
}
