import Foundation
import Kafka
import Synchronization

/// Reads the journal as it is committed, to detect when the service works again.
final class AnswerWatch: Sendable {
    /// The awaited answers: one from each of these partitions, written after a given time.
    struct Expectation: Sendable {
        let partitions: Set<Int32>
        /// Milliseconds since 1970. Earlier answers may come from instances that are gone.
        let madeAfter: Int64
        fileprivate(set) var arrivals: [Int32: ContinuousClock.Instant] = [:]

        /// When the first answer arrived.
        var first: ContinuousClock.Instant? { arrivals.values.min() }
        /// When the last partition answered; nil before that.
        var all: ContinuousClock.Instant? { missing.isEmpty ? arrivals.values.max() : nil }
        /// The partitions that have not answered.
        var missing: [Int32] { partitions.subtracting(arrivals.keys).sorted() }
    }

    struct State {
        fileprivate(set) var expectation = Expectation(partitions: [], madeAfter: 0)
        fileprivate var gaps = ArrivalGaps()
        /// The number of answers read.
        fileprivate(set) var count = 0
        /// Why reading failed, if it did.
        fileprivate(set) var failure: String?

        fileprivate mutating func add(_ record: ConsumedRecord, at now: ContinuousClock.Instant) {
            // Only answers have a key: a claim does not show that anything is answered.
            guard record.key != nil else { return }
            count += 1
            gaps.record(arrivalFrom: record.partition, at: now)
            guard expectation.partitions.contains(record.partition), record.timestamp ?? 0 > expectation.madeAfter,
                expectation.arrivals[record.partition] == nil
            else { return }
            expectation.arrivals[record.partition] = now
        }
    }

    private let current = Mutex(State())
    private let mayGoOn = Atomic(true)

    /// Starts to read, on a thread of its own.
    init(plan: Plan) {
        Thread.detachNewThread { [self] in
            do throws(KafkaError) {
                try run(plan)
            } catch {
                current.withLock { $0.failure = "the answers cannot be read: \(error)" }
            }
        }
    }

    func stop() { mayGoOn.store(false, ordering: .relaxed) }

    func expect(from partitions: Set<Int32>, madeAfter: Int64) {
        current.withLock { $0.expectation = Expectation(partitions: partitions, madeAfter: madeAfter) }
    }

    var state: State { current.withLock { $0 } }

    /// Returns the longest gaps in the answers since the last call.
    func drainGaps() -> ArrivalGaps.Longest { current.withLock { $0.gaps.drain() } }

    private func run(_ plan: Plan) throws(KafkaError) {
        let consumer = try Consumer(configuration: plan.reader, hooks: .silent)
        defer { consumer.close() }
        try consumer.assign(Dictionary(uniqueKeysWithValues: plan.partitions(of: "results").map { ($0, 0) }))
        while mayGoOn.load(ordering: .relaxed) {
            let batch = try consumer.poll(maxRecords: 1_000, timeout: .milliseconds(100))
            let now = ContinuousClock.now
            current.withLock { state in for case .record(let record) in batch { state.add(record, at: now) } }
        }
    }
}
