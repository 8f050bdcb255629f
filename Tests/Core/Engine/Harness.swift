import JuiceEngine
import JuiceMessages

@testable import simulate

/// A worker on a simulated cluster, driven step by step.
final class Harness {
    let cluster: SimulatedCluster
    private let worker: SimulatedWorker
    private let recorder: Recorder

    /// Collects the worker's events.
    private final class Recorder { var events: [WorkerEvent] = [] }

    init(
        _ cluster: SimulatedCluster = SimulatedCluster(partitionCount: 1), member: String = "one", group: Int = 0,
        maxBatch: Int = 100, window: DuplicateWindow = .standard, answerBytes: Int = 4 << 20, commitInterval: Timestamp = 0,
        oldestForward: Timestamp? = nil, process: String = ""
    ) {
        self.cluster = cluster
        let recorder = Recorder()
        self.recorder = recorder
        let log = SimulatedPort(cluster: cluster, member: member, group: group)
        worker = SimulatedWorker(
            log, maxBatch: maxBatch, window: window, answerBytes: answerBytes, commitInterval: commitInterval,
            oldestForward: oldestForward, process: process
        ) { recorder.events.append($0) }
    }

    convenience init(partitions: Int32) { self.init(SimulatedCluster(partitionCount: partitions)) }

    var log: SimulatedPort { worker.log }
    var events: [WorkerEvent] { recorder.events }
    var held: HeldState { worker.held }

    /// Why partitions stopped, and the first of the reasons.
    var faults: [PartitionFault] { events.compactMap { if case .partitionStopped(_, let fault) = $0 { fault } else { nil } } }
    var fault: PartitionFault? { faults.first }
    var restored: [(stores: Int, records: Int)] {
        events.compactMap { if case .restored(_, let state, let records) = $0 { (state.stores, records) } else { nil } }
    }
    /// How often the worker started over, and how often it wrote the stock again.
    var restarts: Int { events.count { if case .startingOver = $0 { true } else { false } } }
    var rewrites: Int { events.count { if case .stockRewritten = $0 { true } else { false } } }
    /// Why partitions failed for a while.
    var failures: [PartitionFault] { events.compactMap { if case .partitionFailing(_, let fault) = $0 { fault } else { nil } } }
    var hasRecovered: Bool { events.contains { if case .partitionRecovered = $0 { true } else { false } } }
    /// The transactions that had commands.
    var transactions: [TransactionSummary] {
        events.compactMap { if case .committed(let summary) = $0, summary.commands > 0 { summary } else { nil } }
    }

    @discardableResult func step() -> Worker<SimulatedPort>.Step { worker.step() }

    func requestStop() { worker.requestStop() }

    /// Sends an order and answers it.
    func order(_ id: String, _ juice: String, _ count: Int = 1, timestamp: Timestamp? = nil) {
        cluster.order(id, juice, count, timestamp: timestamp)
        run()
    }

    /// Sends a restock and answers it.
    func restock(_ id: String, _ body: String) {
        cluster.restock(id, body)
        run()
    }

    /// Answers what was sent, then leaves the group.
    func runAndLeave() {
        run()
        log.leave(handsOver: true)
    }

    /// Lets so many milliseconds pass, and then runs.
    func run(after time: Timestamp) {
        cluster.now += time
        run()
    }

    /// Steps until the worker is idle twice, 20 ms apart. Writes transaction markers before each step.
    ///
    /// - Returns: the last step, idle unless the worker ended or the limit was reached.
    @discardableResult func run(limit: Int = 1000) -> Worker<SimulatedPort>.Step {
        var step = Worker<SimulatedPort>.Step.worked
        var isQuiet = false
        for _ in 0..<limit {
            cluster.writeAllMarkers()
            step = worker.step()
            switch step {
            case .idle where !isQuiet:
                // Stock is written once no command has come for a moment.
                isQuiet = true
                cluster.now += 20
            case .idle, .stopped, .failed: return step
            case .waiting(let time): cluster.now += time
            case .worked, .backOff: isQuiet = false
            }
        }
        return step
    }

    /// Makes the next call of a kind fail, before it does anything.
    func fail(_ call: SimulatedPort.Call, with error: LogError) { log.fault = Self.once(call, error) }

    /// Loses the reply of the next call of a kind, after the call took effect.
    func loseReply(of call: SimulatedPort.Call, with error: LogError) { log.lostReply = Self.once(call, error) }

    private static func once(_ call: SimulatedPort.Call, _ error: LogError) -> (SimulatedPort.Call) -> LogError? {
        var isDue = true
        return { made in
            guard isDue, made == call else { return nil }
            isDue = false
            return error
        }
    }

    /// Refuses the records of a topic whose values have this text.
    func refuse(of topic: Topic, having text: String) {
        refuse { record in
            record.topic == topic && record.value.map { String(decoding: $0, as: UTF8.self).contains(text) } ?? false
        }
    }

    /// Refuses the records that match, with an error that names the record.
    func refuse(_ isRefused: @escaping (OutputRecord) -> Bool) {
        log.refusal = { record in
            guard isRefused(record) else { return nil }
            let subject = LogError.Subject.record(record.topic, partition: record.partition)
            return LogError(.startOver, "the record is refused", subject: subject)
        }
    }
}

extension LogError {
    static func retry() -> LogError { LogError(.retry, "a test") }
    static func startOver() -> LogError { LogError(.startOver, "a test") }
}

extension OutputRecord {
    /// The bytes of the value and of the headers' values.
    var size: Int { headers.reduce(value?.count ?? 0) { $0 + ($1.value?.count ?? 0) } }
}

extension SimulatedCluster {
    /// A store that lives in this partition.
    func store(in partition: Int32) -> String {
        let names = ["gangnam"] + (0..<1000).map { "store-\($0)" }
        return names.first { name in
            BorrowedText.withText(name) { Murmur2.partition(of: $0.bytes, count: partitionCount) } == partition
        } ?? ""
    }

    /// Writes the claim of a former worker. It must come before that worker's other records.
    func claim() {
        note(#"{"type":"claim","ids":["gone/0/0/0/0"],"since":0,"group":"gone","instance":"0","partitions":1}"#)
    }

    /// Why a worker that takes partition 0 over now stops it; nil if it does not.
    func fault(foundBy member: String = "second", window: DuplicateWindow = .standard) -> PartitionFault? {
        let harness = Harness(self, member: member, window: window)
        harness.run(limit: 10_000)
        harness.log.leave(handsOver: true)
        return harness.fault
    }

    /// Writes a record without a key to the journal, such as a note.
    func note(_ value: String) { send(.results, key: nil, value) }

    /// Sends an order, by default for a store of the partition.
    func order(
        _ id: String, _ juice: String, _ count: Int = 1, store: String? = nil, partition: Int32 = 0,
        headers: [MessageHeader] = [], timestamp: Timestamp? = nil
    ) {
        let value = #"{"orderId":"\#(id)","juice":"\#(juice)","quantity":\#(count)}"#
        send(
            .orders, partition: partition, key: store ?? self.store(in: partition), value, headers: headers, timestamp: timestamp)
    }

    /// Sends the cancel of an order, by default for a store of the partition.
    func cancel(_ id: String, partition: Int32 = 0, timestamp: Timestamp? = nil) {
        let value = #"{"orderId":"\#(id)","cancel":true}"#
        send(.orders, partition: partition, key: store(in: partition), value, timestamp: timestamp)
    }

    /// Sends a basket of these juices, for a store of partition 0.
    func basket(_ id: String, _ items: (juice: String, count: Int)...) {
        let items = items.map { #"{"juice":"\#($0.juice)","quantity":\#($0.count)}"# }.joined(separator: ",")
        send(.orders, key: store(in: 0), #"{"orderId":"\#(id)","items":[\#(items)]}"#)
    }

    /// Sends a restock for a store of partition 0.
    func restock(_ id: String, _ body: String) { send(.restocks, key: store(in: 0), #"{"restockId":"\#(id)",\#(body)}"#) }

    func send(
        _ topic: Topic, partition: Int32 = 0, key: String?, _ value: String, headers: [MessageHeader] = [],
        timestamp: Timestamp? = nil
    ) {
        send(
            topic, partition: partition, key: key.map { Array($0.utf8) }, value: Array(value.utf8), headers: headers,
            timestamp: timestamp)
    }

    /// The committed records of a topic's partition, in order.
    func records(_ topic: Topic, partition: Int32 = 0) -> [SimulatedPartition.Record] {
        self[topic, partition].read().records.map(\.record)
    }

    func values(_ topic: Topic, partition: Int32 = 0) -> [String] { records(topic, partition: partition).map(\.text) }

    /// The committed answers, without the notes in between.
    func answerRecords(partition: Int32 = 0) -> [SimulatedPartition.Record] {
        let reader = JournalReader()
        return records(.results, partition: partition).filter { record in
            record.value.map { (try? reader.read($0.view))?.answer != nil } ?? true
        }
    }

    func answerValues(partition: Int32 = 0) -> [String] { answerRecords(partition: partition).map(\.text) }

    /// Each committed answer in words, such as `made a` or, to a repeat, `made a again`.
    func answers(partition: Int32 = 0) -> [String] {
        answerRecords(partition: partition).map { $0.answer?.summary ?? "malformed: \($0.text)" }
    }

    /// The group's committed offset of the orders; nil if there is none.
    var committedOrders: Offset? { group.offsets[Place(topic: .orders, partition: 0)] }
}

extension Answer {
    fileprivate var summary: String {
        let outcome =
            switch outcome {
            case .juiceMade: "made"
            case .outOfStock: "short"
            case .restocked: "edited"
            case .cancelled: "cancelled"
            case .rejected: "rejected"
            case .answerLost(let was): "lost (\(was))"
            }
        return "\(outcome) \(id)\(isDuplicate ? " again" : "")"
    }
}
