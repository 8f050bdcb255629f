import JuiceEngine
import JuiceMessages
import Tracing

/// One span for each transaction, linked to the traces of the commands in it.
///
/// There is only one where a tracer is installed, so that nothing of this costs anything otherwise.
final class BatchTracer {
    /// How a transaction ended.
    enum Outcome: String {
        case committed
        /// It was given up.
        case failed
    }

    private let tracer: any Tracer
    private let worker: Int
    private let topics: TopicNames
    private var commands = 0
    private var links: [SpanLink] = []
    private var span: (any Span)?

    /// Commands of one batch that it is linked to at most.
    private static let mostLinks = 128

    /// - Returns: nil where no tracer is installed.
    static func installed(worker: Int, topics: TopicNames) -> BatchTracer? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : BatchTracer(tracer, worker: worker, topics: topics)
    }

    init(_ tracer: any Tracer, worker: Int, topics: TopicNames) {
        self.tracer = tracer
        self.worker = worker
        self.topics = topics
    }

    /// Takes note of the commands of the next transaction.
    func polled(_ records: [CommandRecord]) {
        commands = records.count
        links.removeAll(keepingCapacity: true)
        for record in records where !record.headers.isEmpty {
            guard links.count < Self.mostLinks else { return }
            var context = ServiceContext.topLevel
            tracer.extract(record.headers, into: &context, using: TraceHeaders())
            if !context.isEmpty { links.append(SpanLink(context: context, attributes: [:])) }
        }
    }

    /// A transaction begins. One without commands, which only claims partitions, is not traced.
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

    /// The transaction ended.
    func ended(_ outcome: Outcome) {
        commands = 0
        guard let span else { return }
        self.span = nil
        span.attributes["juice.transaction.outcome"] = outcome.rawValue
        if outcome != .committed { span.setStatus(SpanStatus(code: .error, message: outcome.rawValue)) }
        span.end()
    }
}

/// Finds trace contexts in a record's headers.
private struct TraceHeaders: Extractor {
    func extract(key: String, from headers: [Header]) -> String? {
        headers.first { $0.name == key }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
