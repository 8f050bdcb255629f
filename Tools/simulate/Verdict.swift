import JuiceAudit
import JuiceEngine
import JuiceMessages

extension AuditTopics {
    /// The committed records of a cluster.
    ///
    /// - Parameter cuts: from where on the journals of some partitions are judged. What they say before is about other logs.
    fileprivate init(_ cluster: SimulatedCluster, cuts: [Int32: Offset]) {
        let topics: [(AuditTopic, Topic)] = [
            (.orders, .orders), (.restocks, .restocks), (.results, .results), (.stock, .stock), (.deadLetters, .deadLetters),
        ]
        var (records, starts): ([AuditTopic: [[AuditRecord]]], [AuditTopic: [Int64]]) = ([:], [:])
        for (topic, own) in topics {
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
        self.init(records, starts: starts)
    }
}

extension Simulation {
    /// The faults of what was committed.
    func audit() -> [String] {
        let topics = AuditTopics(cluster, cuts: reports.storage.cuts)
        let rules = AuditRules(
            partitionCount: Int(scenario.partitionCount), memoryWindow: scenario.window.age, memoryCount: scenario.window.count,
            // Of partitions that stopped for good.
            allowsOpen: !reports.storage.lost.isEmpty)
        do {
            return try Audit(of: topics, by: rules).faults.map(\.description).filter(isCounted) + (bots?.faults(in: topics) ?? [])
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
