import JuiceAudit
import JuiceEngine
import JuiceMessages

/// An audit source in memory: records by partition, in offset order.
struct AuditTopics: AuditSource {
    private var records: [Topic: [[AuditRecord]]]
    private let starts: [Topic: [Int64]]

    /// - Parameter starts: the first offset of each partition that has not expired; 0 for topics that are left out.
    init(_ records: [Topic: [[AuditRecord]]], starts: [Topic: [Int64]] = [:]) {
        (self.records, self.starts) = (records, starts)
    }

    subscript(topic: Topic) -> [[AuditRecord]] {
        get { records[topic] ?? [] }
        set { records[topic] = newValue }
    }

    func partitionCount(of topic: Topic) -> Int32 { Int32(self[topic].count) }

    func firstOffset(of topic: Topic, partition: Int32) -> Int64 { starts[topic]?[Int(partition)] ?? 0 }

    func reader(of topic: Topic, partition: Int32, from offset: Int64) -> (any AuditReader)? {
        MemoryReader(records(of: topic, partition: partition, from: offset))
    }

    func records(of topic: Topic, partition: Int32, from offset: Int64) -> ArraySlice<AuditRecord> {
        let first = max(offset, firstOffset(of: topic, partition: partition))
        return self[topic][Int(partition)].drop { $0.offset < first }
    }
}

/// Reads records that are in memory, all at once or a few at a time.
final class MemoryReader: AuditReader {
    private var rest: ArraySlice<AuditRecord>
    private let most: Int

    init(_ records: ArraySlice<AuditRecord>, most: Int = .max) { (rest, self.most) = (records, most) }

    func next() -> [AuditRecord] {
        let records = Array(rest.prefix(most))
        rest = rest.dropFirst(most)
        return records
    }

    var gaps: [AuditGap] { [] }
}

extension AuditTopics {
    /// The committed records of a cluster, for the auditor.
    ///
    /// - Parameter cuts: for some partitions, where the audit of the journal starts. Earlier records describe other logs.
    init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        var (records, starts): ([Topic: [[AuditRecord]]], [Topic: [Int64]]) = ([:], [:])
        for topic in Topic.allCases {
            let logs = (0..<cluster.count(of: topic)).map { ($0, cluster[topic, $0]) }
            starts[topic] = logs.map { topic == .results ? cuts[$0] ?? 0 : $1.start }
            records[topic] = logs.map { partition, log in
                let strange = topic == .stock ? cluster.strangeStock[partition] ?? [] : []
                // Records deleted from a journal still show what its owner knew.
                var span = log.read(ignoringDamage: true, includingDeleted: topic == .results)
                if !log.removed.isEmpty, topic == .orders || topic == .restocks {
                    // A lost record needs no answer. If it has one, the answer must be right.
                    let handled = Self.handled(in: Place(topic: topic, partition: partition), cluster)
                    span = log.read(ignoringDamage: true, includingDeleted: true)
                    span.records.removeAll {
                        $0.offset < log.start || log.removed[$0.offset] != nil && !handled.contains($0.offset)
                    }
                }
                return span.records.filter { !strange.contains($0.offset) }.map { offset, record in
                    AuditRecord(
                        offset: offset, timestamp: record.timestamp, key: record.key?.bytes, value: record.value?.bytes,
                        headers: record.headers)
                }
            }
        }
        self.init(records, starts: starts)
    }

    /// The offsets of an input's records that the journal has as handled.
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
