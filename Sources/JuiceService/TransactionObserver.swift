import JuiceEngine
import JuiceMessages
import Tracing

/// Follows a worker's transactions: measures each and, if a tracer is installed, makes a span of it that links to its commands'
/// traces.
final class TransactionObserver {
    private let worker: Int
    private let topics: TopicNames
    private let metrics: WorkerMetrics?
    private let tracer: (any Tracer)?

    /// When the open transaction was begun; nil while none is open.
    private var begunAt: ContinuousClock.Instant?
    /// How many commands the next transaction answers, when they were sent, and their traces.
    private var commands = 0
    private var commandTimes: [Timestamp] = []
    private var links: [SpanLink] = []
    private var span: (any Span)?

    /// The most commands of one batch that a span is linked to.
    private static let mostLinks = 128

    /// Nil if no tracer is installed, so that tracing costs nothing.
    static var installedTracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    init(worker: Int, topics: TopicNames, metrics: WorkerMetrics?, tracer: (any Tracer)? = installedTracer) {
        (self.worker, self.topics, self.metrics, self.tracer) = (worker, topics, metrics, tracer)
    }

    /// The worker has polled the commands of its next transaction.
    func polled(_ records: [CommandRecord], headers: (CommandRecord) -> [MessageHeader]) {
        forgetCommands()
        commands = records.count
        if metrics != nil { for record in records { if let time = record.timestamp { commandTimes.append(time) } } }
        guard let tracer else { return }
        for record in records {
            guard links.count < Self.mostLinks else { return }
            let headers = headers(record)
            guard !headers.isEmpty else { continue }
            var context = ServiceContext.topLevel
            tracer.extract(headers, into: &context, using: TraceHeaders())
            if !context.isEmpty { links.append(SpanLink(context: context, attributes: [:])) }
        }
    }

    func began() {
        begunAt = .now
        // A transaction without commands only claims partitions, and is neither traced nor measured.
        guard commands > 0, let span = tracer?.startAnySpan("juice batch", context: .topLevel, ofKind: .consumer) else { return }
        for link in links { span.addLink(link) }
        // OpenTelemetry's names for messaging.
        span.attributes["messaging.system"] = "kafka"
        span.attributes["messaging.operation.type"] = "process"
        span.attributes["messaging.destination.name"] = topics.orders
        span.attributes["messaging.batch.message_count"] = commands
        span.attributes["juice.worker"] = worker
        self.span = span
    }

    func committed(at now: Timestamp) {
        if let begunAt, commands > 0 { metrics?.committed(after: .now - begunAt, commandTimes: commandTimes, at: now) }
        end(outcome: "committed")
    }

    /// The worker begins anew. If a transaction is open, it has abandoned it.
    func abandoned() {
        guard begunAt != nil else { return }
        metrics?.transactionFailed()
        span?.setStatus(SpanStatus(code: .error, message: "failed"))
        end(outcome: "failed")
    }

    private func end(outcome: String) {
        span?.attributes["juice.transaction.outcome"] = outcome
        span.take()?.end()
        begunAt = nil
        forgetCommands()
    }

    private func forgetCommands() {
        commands = 0
        commandTimes.removeAll(keepingCapacity: true)
        links.removeAll(keepingCapacity: true)
    }
}

/// Finds trace contexts in a record's headers.
private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: [MessageHeader]) -> String? {
        headers.first { $0.name == key }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
