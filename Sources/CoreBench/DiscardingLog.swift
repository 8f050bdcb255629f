import JuiceEngine
import JuiceMessages

/// A log of endless orders that discards all writes: it measures the engine alone, without Kafka.
final class DiscardingLog: CommandLog {
    private let workload: OrderWorkload
    private let partitionCount: Int32
    private var isAssigned = false
    private var next = 0
    private(set) var producedBytes = 0

    init(workload: OrderWorkload, partitionCount: Int32) {
        self.workload = workload
        self.partitionCount = partitionCount
    }

    let now: Timestamp = 0

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        guard isAssigned else {
            isAssigned = true
            return .assigned(Array(0..<partitionCount))
        }
        guard wait == .briefly else { return .records([], ends: []) }
        var records: [CommandRecord] = []
        // At most one lap: orders of two laps share their bytes.
        let numbers = next..<next + min(maxRecords, workload.count)
        records.reserveCapacity(numbers.count)
        for number in numbers {
            let key = workload.key(of: number)
            records.append(
                CommandRecord(
                    topic: .orders,
                    partition: Murmur2.partition(of: key, count: partitionCount),
                    offset: Offset(number),
                    timestamp: nil,
                    key: key,
                    value: workload.value(of: number),
                    index: records.count
                )
            )
        }
        next += records.count
        return .records(records, ends: [])
    }

    func headers(of record: CommandRecord) -> [RecordHeader] { [] }

    func produce(_ record: OutputRecord) throws(LogError) { producedBytes += record.value?.count ?? 0 }

    func restorePoints(
        of partitions: [Int32],
        retention: Timestamp
    ) throws(LogError) -> (points: [RestorePoint], leaderless: [Int32: String]) {
        let empty = RestorePoint.Input(committed: nil, log: 0..<0)
        let points = partitions.map {
            RestorePoint(partition: $0, orders: empty, restocks: empty, stockEnd: 0, results: 0..<0)
        }
        return (points, [:])
    }

    func readChangelog() throws(LogError) -> ChangelogBatch { ChangelogBatch(records: [], ends: []) }
    func openChangelog(_ positions: [ChangelogPosition]) throws(LogError) {}
    func initTransactions() throws(LogError) {}
    func start(at positions: [InputPosition]) throws(LogError) {}
    func begin() throws(LogError) {}
    func sendOffsets(_ positions: [InputPosition]) throws(LogError) {}
    func commit() throws(LogError) {}
    func name(of topic: InputTopic) -> String { "" }
    func leave() {}
}
