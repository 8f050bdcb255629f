import JuiceMaker
import JuiceMessages

@testable import JuiceEngine

/// A worker on a simulated cluster, driven step by step.
final class Harness {
    let cluster: SimulatedCluster
    let log: SimulatedLog
    private(set) var worker: Worker<SimulatedLog>
    private let recorder: Recorder

    /// Collects what the worker says of itself.
    private final class Recorder {
        var events: [WorkerEvent] = []
    }

    init(
        _ cluster: SimulatedCluster = SimulatedCluster(partitionCount: 2),
        member: String = "one",
        maxBatch: Int = 100
    ) {
        self.cluster = cluster
        log = SimulatedLog(cluster: cluster, member: member)
        let recorder = Recorder()
        self.recorder = recorder
        worker = Worker(log: log, menu: .standard, language: .english, maxBatch: maxBatch) {
            recorder.events.append($0)
        }
    }

    var events: [WorkerEvent] { recorder.events }

    @discardableResult func step() -> Worker<SimulatedLog>.Step { worker.step() }

    func requestStop() { worker.requestStop() }

    /// Steps until the worker has nothing to do; markers are written as they fall due.
    ///
    /// - Returns: the last step, idle unless the worker ended or the limit was reached.
    @discardableResult func run(limit: Int = 1000) -> Worker<SimulatedLog>.Step {
        var step = Worker<SimulatedLog>.Step.worked
        for _ in 0..<limit {
            cluster.writeAllMarkers()
            step = worker.step()
            switch step {
            case .idle, .stopped, .failed: return step
            case .worked, .backOff: continue
            }
        }
        return step
    }

    /// Makes the next call of a kind fail, before it does anything.
    func fail(_ call: SimulatedLog.Call, with error: LogError) {
        log.fault = Self.once(call, error)
    }

    /// Makes the answer to the next call of a kind get lost, after it did what it should.
    func loseReply(of call: SimulatedLog.Call, with error: LogError) {
        log.lostReply = Self.once(call, error)
    }

    private static func once(
        _ call: SimulatedLog.Call,
        _ error: LogError
    ) -> (SimulatedLog.Call) -> LogError? {
        var isDue = true
        return { made in
            guard isDue, made == call else { return nil }
            isDue = false
            return error
        }
    }
}

extension SimulatedCluster {
    func order(
        _ id: String,
        _ juice: String,
        store: String = "gangnam",
        quantity: Int = 1,
        partition: Int32 = 0
    ) {
        send(
            .orders,
            partition: partition,
            key: store,
            value: #"{"orderId":"\#(id)","juice":"\#(juice)","quantity":\#(quantity)}"#
        )
    }

    func restock(_ id: String, _ body: String, store: String = "gangnam", partition: Int32 = 0) {
        send(.restocks, partition: partition, key: store, value: #"{"restockId":"\#(id)",\#(body)}"#)
    }

    /// `type id` of each committed answer.
    func answers(partition: Int32 = 0) -> [String] {
        values(.results, partition: partition).map { value in
            let bytes = StableBytes(value)
            do throws(MalformedMessage) {
                return try AnswerDecoder().decode(bytes.view).summary
            } catch {
                return "malformed: \(error)"
            }
        }
    }
}

extension Answer {
    var summary: String {
        switch outcome {
        case .juiceMade: "juiceMade \(id)"
        case .outOfStock: "outOfStock \(id)"
        case .restocked: "restocked \(id)"
        case .rejected: "rejected \(id)"
        }
    }
}
