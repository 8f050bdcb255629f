/// Asks where the leaders of a consumer's partitions are, for versions of librdkafka that do not notice when they move.
///
/// Before 2.1 fetches carry no leader epoch. So a broker that is shutting down answers them as a follower, with nothing new for
/// seconds, and only newer metadata shows where the leader is.
///
/// librdkafka's own refresh (`topic.metadata.refresh.interval.ms`) must not run that often: while the leader of a group waits
/// for metadata to share out the partitions, each other answer with metadata makes it join anew. With round trips as long as
/// the interval it would never be done. What the application asks for leaves the group alone.
struct LeaderRefresh {
    private static let interval = Duration.milliseconds(250)

    /// The topics of the partitions that are being read.
    var topics: Set<String> = []
    private var due = ContinuousClock.now

    /// Asks, if the last time is long enough ago, and does not wait: librdkafka uses the answer when it comes.
    mutating func askIfDue(_ handle: ClientHandle) {
        guard !KafkaConfiguration.noticesMovedLeaders, due <= .now else { return }
        due = .now + Self.interval
        for topic in topics { _ = try? handle.metadata(topics: [topic], timeout: .zero) }
    }
}
