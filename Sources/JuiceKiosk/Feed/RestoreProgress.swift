import Kafka

/// How much of the stock is still to be read before what is shown is all there is.
struct RestoreProgress {
    private var unread: [TopicPartition: Offset]

    /// - Parameter ends: of each partition the offset to get to, which may be where it begins.
    init(ends: [TopicPartition: Watermarks]) {
        unread = ends.filter { $0.value.low < $0.value.high }.mapValues(\.high)
    }

    var isDone: Bool { unread.isEmpty }

    /// Everything below an offset was read. Transactions leave markers, so the last record is not just below the end.
    mutating func passed(_ partition: TopicPartition, next: Offset) {
        guard let end = unread[partition], next >= end else { return }
        unread[partition] = nil
    }
}
