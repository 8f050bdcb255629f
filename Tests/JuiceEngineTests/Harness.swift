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
        maxBatch: Int = 100, window: DuplicateWindow = .standard, answerBytes: Int = 4 << 20
    ) {
        self.cluster = cluster
        let recorder = Recorder()
        self.recorder = recorder
        let log = SimulatedLog(cluster: cluster, member: member, group: group)
        worker = SimulatedWorker(log, maxBatch: maxBatch, window: window, answerBytes: answerBytes) { recorder.events.append($0) }
    }

    var log: SimulatedLog { worker.log }
    var events: [WorkerEvent] { recorder.events }
    var held: HeldState { worker.held }

    /// Why partitions stopped.
    var faults: [PartitionFault] { events.compactMap { if case .partitionStopped(_, let fault) = $0 { fault } else { nil } } }
    var fault: PartitionFault? { faults.first }
    var restored: [RestoredState] { events.compactMap { if case .restored(_, let state) = $0 { state } else { nil } } }
    var hasStartedOver: Bool { events.contains { if case .startingOver = $0 { true } else { false } } }
    var hasRecovered: Bool { events.contains { if case .partitionRecovered = $0 { true } else { false } } }
    /// The transactions that had commands.
    var transactions: [TransactionSummary] {
        events.compactMap { if case .committed(let summary) = $0, summary.commands > 0 { summary } else { nil } }
    }

    @discardableResult func step() -> Worker<SimulatedLog>.Step { worker.step() }

    func requestStop() { worker.requestStop() }

    /// Sends an order with these headers, and answers it.
    ///
    /// - Returns: the first answer.
    func answer(toOrderWith headers: [MessageHeader]) -> SimulatedPartition.Record? {
        let order = #"{"orderId":"a","juice":"kiwi"}"#
        cluster.send(.orders, partition: 0, key: nil, value: order, headers: headers)
        run()
        return cluster[.results, 0].readCommitted().records.first { $0.record.key != nil }?.record
    }

    /// Steps until the worker has nothing to do, even after a moment, and writes markers as they fall due.
    ///
    /// - Returns: the last step, idle unless the worker ended or the limit was reached.
    @discardableResult func run(limit: Int = 1000) -> Worker<SimulatedLog>.Step {
        var step = Worker<SimulatedLog>.Step.worked
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
            case .worked, .backOff: isQuiet = false
            }
        }
        return step
    }

    /// Makes the next call of a kind fail, before it does anything.
    func fail(_ call: SimulatedLog.Call, with error: LogError) {
        log.fault = Self.once(call, error)
    }

    /// Loses the reply of the next call of a kind, after the call took effect.
    func loseReply(of call: SimulatedLog.Call, with error: LogError) {
        log.lostReply = Self.once(call, error)
    }

    private static func once(_ call: SimulatedLog.Call, _ error: LogError) -> (SimulatedLog.Call) -> LogError? {
        var isDue = true
        return { made in
            guard isDue, made == call else { return nil }
            isDue = false
            return error
        }
    }
}

extension SimulatedCluster {
    /// A store that lives in this partition.
    func store(in partition: Int32) -> String {
        let names = ["gangnam"] + (0..<1000).map { "store-\($0)" }
        return names.first { owner(of: $0) == partition } ?? ""
    }

    func owner(of store: String) -> Int32 {
        BorrowedText.withText(store) { Murmur2.partition(of: $0.bytes, count: partitionCount) }
    }

    /// Sends the claim of a worker that is gone, which must precede what else it has written.
    func claim(partition: Int32 = 0, since: Offset = 0) {
        send(
            .results, partition: partition, key: nil,
            value: #"{"type":"claim","ids":["gone/0/0/0/0"],"since":\#(since),"group":"gone","instance":"0","partitions":1}"#)
    }

    /// Sends an order, by default for a store of the partition.
    func order(
        _ id: String, _ juice: String, store: String? = nil, quantity: Int = 1, partition: Int32 = 0, timestamp: Timestamp? = nil
    ) {
        send(
            .orders, partition: partition, key: store ?? self.store(in: partition),
            value: #"{"orderId":"\#(id)","juice":"\#(juice)","quantity":\#(quantity)}"#, timestamp: timestamp)
    }

    /// Sends the cancel of an order, by default for a store of the partition.
    func cancel(_ id: String, store: String? = nil, partition: Int32 = 0, timestamp: Timestamp? = nil) {
        send(
            .orders, partition: partition, key: store ?? self.store(in: partition), value: #"{"orderId":"\#(id)","cancel":true}"#,
            timestamp: timestamp)
    }

    /// Sends a basket of these items, for a store of partition 0.
    func basket(_ id: String, _ items: String) {
        send(.orders, partition: 0, key: store(in: 0), value: #"{"orderId":"\#(id)","items":[\#(items)]}"#)
    }

    /// Sends a restock, by default for a store of the partition.
    func restock(_ id: String, _ body: String, store: String? = nil, partition: Int32 = 0) {
        send(.restocks, partition: partition, key: store ?? self.store(in: partition), value: #"{"restockId":"\#(id)",\#(body)}"#)
    }

    func send(
        _ topic: Topic, partition: Int32, key: String?, value: String, headers: [MessageHeader] = [], timestamp: Timestamp? = nil
    ) {
        send(
            topic, partition: partition, key: key.map { Array($0.utf8) }, value: Array(value.utf8), headers: headers,
            timestamp: timestamp)
    }

    /// The committed values of a topic's partition, in order.
    func values(_ topic: Topic, partition: Int32 = 0) -> [String] {
        self[topic, partition].readCommitted().records.map { _, record in
            record.value.map { String(decoding: $0.view, as: UTF8.self) } ?? ""
        }
    }

    /// `type id` of each committed answer, repeats marked.
    func answers(partition: Int32 = 0) -> [String] {
        answerValues(partition: partition).map { value in
            let bytes = StableBytes(value)
            do throws(MalformedMessage) {
                return try AnswerDecoder().decode(bytes.view).summary
            } catch {
                return "malformed: \(error)"
            }
        }
    }

    /// The committed values of the answers, without the notes in between.
    func answerValues(partition: Int32 = 0) -> [String] {
        values(.results, partition: partition).filter { value in
            let bytes = StableBytes(value)
            return withExtendedLifetime(bytes) { !JournalNote.isNote(bytes.view) }
        }
    }

    /// The group's committed offset; nil if there is none.
    func committed(_ topic: Topic, _ partition: Int32 = 0) -> Offset? {
        let place = Place(topic: topic, partition: partition)
        return group.committed([place])[place]
    }
}

extension Answer {
    var summary: String {
        let type =
            switch outcome {
            case .juiceMade: "juiceMade"
            case .outOfStock: "outOfStock"
            case .restocked: "restocked"
            case .cancelled: "cancelled"
            case .rejected: "rejected"
            }
        return "\(type) \(id)\(isDuplicate ? " again" : "")"
    }
}
