import JuiceMaker
import JuiceMessages
import Kafka

/// Turns records into events. It skips records that are neither answers nor stock: one of them must not stop all pages.
final class RecordReader {
    private let topics: TopicNames
    /// For each partition of the results, the first offset that is not history.
    private let beginnings: [TopicPartition: Offset]
    private let answers = AnswerDecoder()
    private let stock = StockDecoder()
    private var revisions: [Name: RevisionTracker] = [:]

    init(topics: TopicNames, beginnings: [TopicPartition: Offset]) {
        self.topics = topics
        self.beginnings = beginnings
    }

    /// The event that a record stands for; nil if it cannot be decoded.
    func event(_ record: ConsumedRecord, topic: String) -> Board.Event? {
        topic == topics.stock ? stockEvent(record) : answerEvent(record, topic: topic)
    }

    private func stockEvent(_ record: ConsumedRecord) -> Board.Event? {
        guard let key = record.key else { return nil }
        guard let value = record.value else {
            let store = String(decoding: key, as: UTF8.self)
            // The store starts over at revision 1.
            revisions[Name(store)] = nil
            return .stockRemoved(store: store)
        }
        return (try? stock.decode(value)).map(Board.Event.stock)
    }

    private func answerEvent(_ record: ConsumedRecord, topic: String) -> Board.Event? {
        guard let value = record.value, let answer = try? answers.decode(value) else { return nil }
        let partition = TopicPartition(topic: topic, partition: record.partition)
        let gap = revisions[Name(answer.store), default: RevisionTracker()].gap(before: answer)
        return .answer(
            TimedAnswer(answer: answer, time: record.timestamp ?? 0, gap: gap),
            isHistory: record.offset < beginnings[partition] ?? 0)
    }
}
