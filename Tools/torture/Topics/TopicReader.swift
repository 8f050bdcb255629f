import JuiceAudit
import Kafka

/// Reads topics completely.
struct TopicReader {
    let plan: Plan

    private static let timeout = Duration.seconds(20)

    /// All committed records of the five topics.
    ///
    /// All writers must have stopped: an open transaction would block reading.
    func readAll() throws -> AuditTopics {
        AuditTopics(
            orders: try read("orders"), restocks: try read("restocks"), results: try read("results"), stock: try read("stock"),
            deadLetters: try read("dead-letters"))
    }

    private func read(_ topic: String) throws -> [[AuditRecord]] {
        let partitions = plan.partitions(of: topic)
        // The ends of the logs, beyond decided transactions whose markers are not written yet.
        let uncommitted = try Consumer(
            configuration: plan.reader.merging(["isolation.level": "read_uncommitted"]), hooks: silentHooks)
        let ends = try uncommitted.endOffsets(of: partitions, timeout: Self.timeout)
        uncommitted.close()

        let consumer = try Consumer(configuration: plan.reader, hooks: silentHooks)
        defer { consumer.close() }
        try consumer.assign(Dictionary(uniqueKeysWithValues: partitions.map { ($0, 0) }))
        var records: [[AuditRecord]] = Array(repeating: [], count: plan.partitions)
        var unread = Set(partitions.filter { ends[$0, default: 0] > 0 })
        let isRead = try wait(for: .seconds(600)) {
            for element in try consumer.poll(maxRecords: 5_000, timeout: .milliseconds(100)) {
                switch element {
                case .record(let record):
                    records[Int(record.partition)].append(AuditRecord(record))
                case .endOfPartition(let partition, let next):
                    if next >= ends[partition, default: 0] { unread.remove(partition) }
                case .failure(_, let error):
                    if !error.isRetriable { throw TortureError("\(topic) cannot be read: \(error)") }
                }
            }
            return unread.isEmpty
        }
        guard isRead else { throw TortureError("\(topic) cannot be read to its end") }
        return records
    }

    /// Whether the group has processed all commands, as its offsets tell: no record follows them. Nothing in the service rests on
    /// these, but after a reset they must get right by themselves.
    func isDrained() throws(KafkaError) -> Bool {
        let inputs = plan.partitions(of: "orders") + plan.partitions(of: "restocks")
        let consumer = try Consumer(configuration: plan.reader, hooks: silentHooks)
        defer { consumer.close() }
        let committed = try consumer.committed(inputs, timeout: Self.timeout)
        let ends = try consumer.endOffsets(of: inputs, timeout: Self.timeout)
        // The offsets between the two may be records, or only markers of transactions that forwarded records.
        var starts: [TopicPartition: Offset] = [:]
        for partition in inputs {
            let (start, end) = ((committed[partition] ?? nil) ?? 0, ends[partition, default: 0])
            guard start <= end else { return false }
            if start < end { starts[partition] = start }
        }
        try consumer.assign(starts)
        var unread = Set(starts.keys)
        let deadline = ContinuousClock.now + Self.timeout
        while !unread.isEmpty, ContinuousClock.now < deadline {
            for element in try consumer.poll(maxRecords: 100, timeout: .milliseconds(100)) {
                switch element {
                case .record: return false
                case .endOfPartition(let partition, _): unread.remove(partition)
                case .failure: continue
                }
            }
        }
        return unread.isEmpty
    }
}

extension AuditRecord {
    fileprivate init(_ record: ConsumedRecord) {
        self.init(
            offset: record.offset, timestamp: record.timestamp ?? 0, key: record.key.map(Array.init),
            value: record.value.map(Array.init), headers: record.headers.map { AuditHeader($0.name, $0.value) })
    }
}
