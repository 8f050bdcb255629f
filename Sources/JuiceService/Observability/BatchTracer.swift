import JuiceEngine
import JuiceMessages
import Tracing

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

    /// The worker has polled the commands of its next transaction from a log.
    func polled(_ records: [CommandRecord], from log: some CommandLog) {
        commands = records.count
        links.removeAll(keepingCapacity: true)
        for record in records {
            guard links.count < Self.mostLinks else { return }
            let headers = log.headers(of: record)
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
        guard let span else { return }
        self.span = nil
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
