import JuiceAudit
import JuiceEngine
import JuiceMessages

extension AuditTopics {
    /// The committed records of a cluster, for the auditor.
    ///
    /// - Parameter cuts: from where on the journals of some partitions are judged. What they say before is about other logs.
    init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        var (records, starts): ([Topic: [[AuditRecord]]], [Topic: [Int64]]) = ([:], [:])
        for topic in Topic.allCases {
            let logs = (0..<cluster.count(of: topic)).map { ($0, cluster[topic, $0]) }
            starts[topic] = logs.map { topic == .results ? cuts[$0] ?? 0 : $1.start }
            records[topic] = logs.map { partition, log in
                let strange = topic == .stock ? cluster.strangeStock[partition] ?? [] : []
                // What was deleted from a journal still says what its owner knew.
                var span = log.read(ignoringDamage: true, includingDeleted: topic == .results)
                if !log.removed.isEmpty, topic == .orders || topic == .restocks {
                    // Nobody need answer a record that was lost. If somebody has, it must be right.
                    let handled = Self.handled(in: Place(topic: topic, partition: partition), cluster)
                    span = log.read(ignoringDamage: true, includingDeleted: true)
                    span.records.removeAll {
                        $0.offset < log.start || log.removed[$0.offset] != nil && !handled.contains($0.offset)
                    }
                }
                return span.records.filter { !strange.contains($0.offset) }.map { offset, record in
                    AuditRecord(
                        offset: offset, timestamp: record.timestamp, key: record.key?.bytes, value: record.value?.bytes,
                        headers: record.headers.map { AuditHeader($0.name, $0.value) })
                }
            }
        }
        self.init(records, starts: starts)
    }

    /// The offsets of an input's records that the journal says are handled.
    private static func handled(in input: Place, _ cluster: SimulatedCluster) -> Set<Offset> {
        let journal = input.partition % cluster.partitionCount
        let records = cluster[.results, journal].read(ignoringDamage: true, includingDeleted: true).records
        return Set(
            records.compactMap { _, record in
                guard let place = record.value.flatMap({ SimulatedJournal.handled($0.view) }) else { return nil }
                return Place(topic: place.topic.topic, partition: place.partition ?? journal) == input ? place.offset : nil
            })
    }
}
