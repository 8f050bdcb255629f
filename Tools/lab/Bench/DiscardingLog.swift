import JuiceDomain
import JuiceEngine
import JuiceMessages
import MessageSamples

/// The mean size of the answers to the first orders, in bytes, found by answering them without Kafka.
func meanAnswerSize(orders: Int, stores: Int, initialStock: Int) throws -> Int {
    let distinct = 1 << min(20, Int.bitWidth - orders.leadingZeroBitCount)
    let log = DiscardingLog(OrderWorkload(count: distinct, storeCount: stores))
    var answered = 0
    var worker = log.worker(menu: try .standard { _ in initialStock }) { answered += $0 }
    while answered < orders { _ = worker.step() }
    return log.journalBytes / answered
}

/// A log of endless orders that discards all writes: it measures the engine alone, without Kafka.
final class DiscardingLog: KafkaPort {
    private static let partitionCount: Int32 = 1

    private let workload: OrderWorkload
    private var isAssigned = false
    private var next = 0
    private(set) var journalBytes = 0
    /// The worker's claim of the partition, for the worker to read.
    private var claim: UnsafeRawBufferPointer?
    private var isClaimed = false
    /// The offsets of the last transaction's answers.
    private var journalled: Range<Offset> = 0..<0
    private let assignment = InputAssignment(
        orders: [0], partitionCount: partitionCount, orderCount: partitionCount, restockCount: partitionCount)

    init(_ workload: OrderWorkload) { self.workload = workload }

    deinit { claim?.deallocate() }

    /// A worker on this log; `onCommit` gets the number of commands in each transaction.
    func worker(menu: Menu, onCommit: @escaping (Int) -> Void) -> Worker<DiscardingLog> {
        let settings = WorkerSettings(
            menu: menu, language: .english, partitionCount: Self.partitionCount, group: "bench", instance: "bench",
            window: workload.window)
        return Worker(log: self, settings: settings) { if case .committed(let summary) = $0 { onCommit(summary.commands) } }
    }

    let (now, uptime): (Timestamp, Timestamp) = (0, 0)

    func poll(maxRecords: Int, wait: PollWait) throws(LogError) -> PollResult {
        guard isAssigned else {
            isAssigned = true
            return .assigned(assignment)
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
                    topic: .orders, partition: Murmur2.partition(of: key, count: Self.partitionCount), offset: Offset(number),
                    timestamp: nil, key: key, value: workload.value(of: number), index: records.count))
        }
        next += records.count
        return .records(records, ends: [])
    }

    func headers(of record: CommandRecord) -> [MessageHeader]? { [] }

    func produce(_ record: OutputRecord) throws(LogError) {
        guard record.topic == .results, let value = record.value else { return }
        journalBytes += value.count
        journalled = journalled.lowerBound..<journalled.upperBound + 1
        guard !isClaimed else { return }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: value.count, alignment: 1)
        copy.copyMemory(from: value)
        claim?.deallocate()
        claim = UnsafeRawBufferPointer(copy)
    }

    func extents(of partitions: [Int32]) throws(LogError) -> (extents: [PartitionExtents], leaderless: [Int32: String]) {
        let extents = partitions.map { partition in
            PartitionExtents(
                partition: partition, inputs: assignment.inputs(of: partition).reduce(into: [:]) { $0[$1] = 0..<0 },
                results: 0..<(claim == nil ? 0 : 1), stock: 0..<0)
        }
        return (extents, [:])
    }

    func readChangelog() throws(LogError) -> ChangelogBatch {
        isClaimed = true
        let record = ChangelogBatch.Record(
            topic: .results, partition: 0, offset: 0, timestamp: nil, key: nil, value: claim, index: 0)
        return ChangelogBatch(records: [record], ends: [])
    }

    func readBack(
        _ ranges: [InputPartition: Range<Offset>]
    ) throws(LogError) -> (records: [CommandRecord], damaged: Set<InputPartition>) { ([], []) }
    func groupOffsets(of partitions: [InputPartition]) throws(LogError) -> [InputPartition: GroupOffset] { [:] }
    func openTransactions(in extents: [PartitionExtents]) throws(LogError) -> [ChangelogPosition] { [] }

    func answerReaches(
        at positions: [InputPosition], handledAt: [Int32: Timestamp], _ settings: WorkerSettings
    ) throws(LogError) -> [Int32: AnswerReach] { [:] }
    func openChangelog(_ positions: [ChangelogPosition], isolation: Isolation) throws(LogError) {}
    func headers(of record: ChangelogBatch.Record) -> [MessageHeader]? { [] }
    func initTransactions() throws(LogError) -> [String] { ["bench"] }
    func fence(_ ids: Set<String>) throws(LogError) -> Set<String> { [] }
    func confirmMembership(_ offsets: [InputPartition: GroupOffset]) throws(LogError) {}
    func publish(_ offsets: [InputPartition: GroupOffset]) {}
    func start(at positions: [InputPosition]) throws(LogError) {}
    func begin() throws(LogError) { journalled = journalled.upperBound..<journalled.upperBound }
    func flush() throws(LogError) {}
    func commit() throws(LogError) -> [Int32: [Range<Offset>]] { [0: [journalled]] }
    func rejoin() throws(LogError) {}
    func leave(handsOver: Bool) {}
}
