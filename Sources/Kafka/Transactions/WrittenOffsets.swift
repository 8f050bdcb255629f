import CRdKafka
import Synchronization

/// Where the records that a session wrote came to stand. It tells a topic that was made anew or has lost its end: what is written
/// later comes to a lower offset. Nothing else tells, since brokers take it.
final class WrittenOffsets: Sendable {
    /// Records that came to one partition together, with no others in between.
    struct Run {
        /// Where librdkafka's topic is in memory.
        let topic: UInt
        let partition: Int32
        let first: Offset
        var last: Offset
    }

    private struct State {
        var last: [TopicPartition: Offset] = [:]
        /// Where all records of the last transaction stand.
        var transaction: [TopicPartition: [Range<Offset>]] = [:]
        var rewound: Set<TopicPartition> = []
        var news: TopicPartition?
    }

    private let state = Mutex(State())

    func add(_ run: Run) {
        guard let name = rd_kafka_topic_name(OpaquePointer(bitPattern: run.topic)) else { return }
        add(run.first...run.last, to: TopicPartition(topic: String(cString: name), partition: run.partition))
    }

    func add(_ offsets: ClosedRange<Offset>, to place: TopicPartition) {
        state.withLock { state in
            if let last = state.last[place], offsets.lowerBound <= last {
                state.rewound.insert(place)
                state.news = place
            }
            state.last[place] = offsets.upperBound
            state.transaction[place, default: []].append(Range(offsets))
        }
    }

    /// A transaction begins.
    func begin() { state.withLock { state in state.transaction.removeAll(keepingCapacity: true) } }

    /// Where the records of the last transaction stand, in the order in which they were written.
    func transaction(in place: TopicPartition) -> [Range<Offset>] {
        state.withLock { state in state.transaction[place] ?? [] }
    }

    /// The offset after the last record that was written; nil if none was.
    func end(of place: TopicPartition) -> Offset? {
        state.withLock { state in state.last[place].map { $0 + 1 } }
    }

    /// A partition that was found to lack what was written to it since this was asked last.
    func takeNews() -> TopicPartition? {
        state.withLock { state in
            defer { state.news = nil }
            return state.news
        }
    }

    /// Whether a partition lacks what was written to it. Says so once.
    func takeLoss(of place: TopicPartition, endingAt end: Offset) -> Bool {
        state.withLock { state in
            let isShort = state.last[place].map { end <= $0 } ?? false
            if isShort { state.last[place] = nil }
            return state.rewound.remove(place) != nil || isShort
        }
    }
}
