/// Asks where the leaders of partitions are, when librdkafka would find out too late.
///
/// It does not use librdkafka's own refresh (`topic.metadata.refresh.interval.ms`), which must not run that often: while the
/// leader of a group waits for metadata to share out the partitions, each other answer with metadata makes it join anew. With
/// round trips as long as the interval it would never be done. What the application asks for leaves the group alone.
struct LeaderRefresh {
    private static let interval = Duration.milliseconds(250)

    private var due = ContinuousClock.now

    /// Asks, if the last time is long enough ago, and does not wait: librdkafka uses the answer when it comes.
    mutating func askIfDue(about topics: some Sequence<String>, _ handle: ClientHandle) {
        guard due <= .now else { return }
        due = .now + Self.interval
        for topic in topics { _ = try? handle.metadata(topics: [topic], timeout: .zero) }
    }
}
