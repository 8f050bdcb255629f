import JuiceEngine
import JuiceMessages
import Tracing

/// Follows a worker's transactions, for metrics and traces.
final class TransactionObserver {
    private let metrics: WorkerMetrics?
    private let tracer: BatchTracer?

    /// When the open transaction was begun; nil while none is open.
    private var begunAt: ContinuousClock.Instant?
    /// The timestamps of the commands polled last, which the next transaction answers.
    private var commandTimes: [Timestamp] = []
    private var hasCommands = false

    init(metrics: WorkerMetrics?, tracer: BatchTracer?) {
        self.metrics = metrics
        self.tracer = tracer
    }

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord], headers: (CommandRecord) -> [MessageHeader]) {
        hasCommands = !records.isEmpty
        if metrics != nil {
            commandTimes.removeAll(keepingCapacity: true)
            for record in records { if let time = record.timestamp { commandTimes.append(time) } }
        }
        tracer?.polled(records, headers: headers)
    }

    func began() {
        begunAt = .now
        tracer?.began()
    }

    func committed(at now: Timestamp) {
        // A transaction without commands only claims partitions, and is not measured.
        if let metrics, let begunAt, hasCommands {
            metrics.committed(after: .now - begunAt, commandTimes: commandTimes, at: now)
        }
        end(.committed)
    }

    /// The worker begins anew. If a transaction is open, it has abandoned it.
    func abandoned() {
        guard begunAt != nil else { return }
        metrics?.transactionFailed()
        end(.failed)
    }

    private func end(_ outcome: BatchTracer.Outcome) {
        tracer?.ended(outcome)
        begunAt = nil
        hasCommands = false
        commandTimes.removeAll(keepingCapacity: true)
    }
}

/// Makes one span for each transaction, linked to the traces of its commands.
///
/// It exists only if a tracer is installed, so that tracing costs nothing otherwise.
final class BatchTracer {
    /// How a transaction ended.
    enum Outcome: String {
        case committed
        /// It was abandoned.
        case failed
    }

    private let tracer: any Tracer
    private let worker: Int
    private let topics: TopicNames
    private var commands = 0
    private var links: [SpanLink] = []
    private var span: (any Span)?

    /// The most commands of one batch that a span is linked to.
    private static let mostLinks = 128

    /// - Returns: nil if no tracer is installed.
    static func installed(worker: Int, topics: TopicNames) -> BatchTracer? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : BatchTracer(tracer, worker: worker, topics: topics)
    }

    init(_ tracer: any Tracer, worker: Int, topics: TopicNames) {
        self.tracer = tracer
        self.worker = worker
        self.topics = topics
    }

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord], headers: (CommandRecord) -> [MessageHeader]) {
        commands = records.count
        links.removeAll(keepingCapacity: true)
        for record in records {
            guard links.count < Self.mostLinks else { return }
            let headers = headers(record)
            guard !headers.isEmpty else { continue }
            var context = ServiceContext.topLevel
            tracer.extract(headers, into: &context, using: TraceHeaders())
            if !context.isEmpty { links.append(SpanLink(context: context, attributes: [:])) }
        }
    }

    /// A transaction begins. A claim-only transaction, which has no commands, is not traced.
    func began() {
        guard commands > 0 else { return }
        let span = tracer.startAnySpan("juice batch", context: .topLevel, ofKind: .consumer)
        for link in links { span.addLink(link) }
        // OpenTelemetry's names for messaging.
        span.attributes["messaging.system"] = "kafka"
        span.attributes["messaging.operation.type"] = "process"
        span.attributes["messaging.destination.name"] = topics.orders
        span.attributes["messaging.batch.message_count"] = commands
        span.attributes["juice.worker"] = worker
        self.span = span
    }

    /// The transaction has ended.
    func ended(_ outcome: Outcome) {
        commands = 0
        guard let span = span.take() else { return }
        span.attributes["juice.transaction.outcome"] = outcome.rawValue
        if outcome != .committed { span.setStatus(SpanStatus(code: .error, message: outcome.rawValue)) }
        span.end()
    }
}

/// Finds trace contexts in a record's headers.
private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: [MessageHeader]) -> String? {
        headers.first { $0.name == key }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
