import JuiceAudit
import JuiceEngine
import JuiceMessages

/// The committed records of a cluster, for the auditor.
struct SimulatedAuditSource: AuditSource {
    private let records: [AuditTopic: [[AuditRecord]]]
    private let starts: [AuditTopic: [Int64]]

    /// - Parameter cuts: from where on the journals of some partitions are judged. What they say before is about other logs.
    init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        var (records, starts): ([AuditTopic: [[AuditRecord]]], [AuditTopic: [Int64]]) = ([:], [:])
        for (topic, own) in Self.topics {
            let partitions = 0..<cluster.count(of: own)
            starts[topic] = partitions.map { max(cluster[own, $0].start, topic == .results ? cuts[$0] ?? 0 : 0) }
            records[topic] = partitions.map { partition in
                cluster[own, partition].read(.committed, ignoringDamage: true).records.map { offset, record in
                    AuditRecord(
                        offset: offset, timestamp: record.timestamp, key: record.key?.bytes, value: record.value?.bytes,
                        headers: record.headers.map { AuditHeader($0.name, $0.value) })
                }
            }
        }
        (self.records, self.starts) = (records, starts)
    }

    private static let topics: [(AuditTopic, Topic)] = [
        (.orders, .orders), (.restocks, .restocks), (.results, .results), (.stock, .stock), (.deadLetters, .deadLetters),
    ]

    func partitionCount(of topic: AuditTopic) -> Int { records[topic]?.count ?? 0 }

    func firstOffset(of topic: AuditTopic, partition: Int) -> Int64 { starts[topic]?[partition] ?? 0 }

    func records(of topic: AuditTopic, partition: Int, from offset: Int64) -> [AuditRecord] {
        guard let all = records[topic]?[partition], let last = all.last, last.offset >= offset else { return [] }
        return offset == 0 ? all : Array(all.drop { $0.offset < offset })
    }

    /// All of them.
    var topics: AuditTopics {
        AuditTopics(
            orders: records[.orders] ?? [], restocks: records[.restocks] ?? [], results: records[.results] ?? [],
            stock: records[.stock] ?? [], deadLetters: records[.deadLetters] ?? [])
    }
}

extension Simulation {
    /// The faults of what was committed.
    func audit() -> [String] {
        let source = SimulatedAuditSource(cluster, cuts: reports.storage.cuts)
        let rules = AuditRules(
            partitionCount: Int(scenario.partitionCount), memoryWindow: scenario.window.age, memoryCount: scenario.window.count,
            // Of partitions that stopped for good.
            allowsOpen: !reports.storage.lost.isEmpty)
        let session = AuditSession(source, by: rules)
        do {
            for partition in 0..<session.partitionCount { try session.audit(partition) }
            return try session.finish().faults.map(\.description).filter(isCounted) + (bots?.faults(in: source.topics) ?? [])
        } catch { return ["the audit fails: \(error)"] }
    }

    /// A claim that was on its way while its journal lost records says that it read further than there is.
    private func isCounted(_ fault: String) -> Bool {
        scenario.storage?.topic != .results || !fault.hasSuffix("after the claim itself")
    }

    /// Stores whose stock is not what the journal says, though there was time to write it. The auditor cannot know that.
    var staleStock: [String] {
        (0..<cluster.partitionCount).filter { !reports.storage.lost.contains($0) }.flatMap { partition in
            // An operator who goes on with a new stock topic gives up what no answer says any more.
            let told = revisions(.results, partition, from: reports.storage.cuts[partition] ?? 0)
            let written = revisions(.stock, partition)
            return told.filter { $0.value > written[$0.key] ?? 0 }.keys.map { store in
                "the stock of \"\(String(decoding: store, as: UTF8.self))\" was not written"
            }.sorted()
        }
    }

    /// The last revision of each store.
    private func revisions(_ topic: Topic, _ partition: Int32, from start: Offset = 0) -> [[UInt8]: Int] {
        let log = cluster[topic, partition]
        return log.read(.committed, from: start, ignoringDamage: true).records.reduce(into: [:]) { revisions, found in
            let revision = SimulatedJournal.revision(found.record)
            if let store = found.record.key?.bytes, revision > 0 { revisions[store] = revision }
        }
    }
}
