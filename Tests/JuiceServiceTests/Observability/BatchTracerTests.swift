import InMemoryTracing
import Instrumentation
import JuiceEngine
import JuiceMessages
import Testing
import Tracing

@testable import JuiceService
@testable import simulate

/// The spans of a worker, run on a simulated log.
@Suite struct BatchTracerTests {
    /// The headers that the tracer of these tests understands.
    private func trace(_ number: Int) -> [MessageHeader] {
        [
            MessageHeader(name: InMemoryTracer.traceIDKey, value: "trace-\(number)"),
            MessageHeader(name: InMemoryTracer.spanIDKey, value: "span-\(number)"),
        ]
    }

    @Test func aBatchIsOneSpanLinkedToItsCommands() throws {
        let worker = ObservedWorker()
        worker.run()
        #expect(worker.tracer.finishedSpans.isEmpty, "a transaction without commands is not traced")
        for number in 0..<3 { worker.order("\(number)", "kiwi", headers: number < 2 ? trace(number) : []) }
        worker.run()
        let span = try #require(worker.tracer.finishedSpans.first)
        #expect(worker.tracer.finishedSpans.count == 1)
        #expect(span.operationName == "juice batch")
        #expect(span.kind == .consumer)
        #expect(span.links.map { $0.context.inMemorySpanContext?.traceID } == ["trace-0", "trace-1"])
        #expect(span.attributes["messaging.batch.message_count"]?.toSpanAttribute() == .int64(3))
        #expect(span.attributes["juice.transaction.outcome"]?.toSpanAttribute() == .string("committed"))
        #expect(span.status == nil)
    }

    @Test func aFailedTransactionIsAFailedSpan() {
        let worker = ObservedWorker()
        worker.run()
        worker.order("a", "kiwi")
        worker.fail(.commit, with: LogError(.startOver, "a test"))
        worker.run()
        worker.order("b", "kiwi")
        worker.fail(.commit, with: LogError(.startOver, "a test"))
        worker.run()
        let outcomes = worker.tracer.finishedSpans.map { $0.status?.message }
        #expect(outcomes == ["failed", nil, "failed", nil])
        #expect(worker.tracer.activeSpans.isEmpty)
    }

    @Test func linksHaveALimit() {
        let worker = ObservedWorker()
        worker.run()
        for number in 0..<200 { worker.order("\(number)", "kiwi", headers: trace(number)) }
        worker.run()
        #expect(worker.tracer.finishedSpans.first?.links.count == 128)
    }

    @Test func withoutATracerThereIsNone() {
        #expect(BatchTracer.installed(worker: 0, topics: TopicNames()) == nil)
    }
}
