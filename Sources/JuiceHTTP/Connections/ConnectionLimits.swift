/// How many connections a server keeps open, and how long it waits for a client.
public struct ConnectionLimits: Sendable {
    /// The most connections served at once. Another one displaces an idle connection, or is refused with 503.
    public var connections: Int
    /// The most refused connections that linger at once, so that clients can read the response.
    public var refusals: Int
    /// How long a client may take to send a whole request, or to read a part of a waiting response.
    public var timeout = Duration.seconds(30)
    /// At the limit, the connection that has been idle longest is displaced if it has been idle for at least this long.
    public var minimumIdleTime = Duration.seconds(1)
    /// How long a refused connection stays open.
    public var linger = Duration.seconds(1)

    /// Limits that use at most a share of the process' file descriptors.
    ///
    /// - Parameters:
    ///   - most: the upper bound, whatever the share.
    ///   - parts: the share is `1 / parts`.
    ///   - files: the process' limit of open files.
    init(most: Int, parts: Int, of files: Int) {
        let share = files / parts
        connections = max(1, min(most, share - share / 5))
        refusals = max(1, min(most, share) / 10)
    }

    /// For pages in browsers: half of the open files.
    public static var pages: Self { Self(most: 4096, parts: 2, of: OpenFileLimit.raised) }
    /// For probes and Prometheus: an eighth of the open files. The remainder is for Kafka and the rest of the process.
    public static var probes: Self { Self(most: 512, parts: 8, of: OpenFileLimit.raised) }
}
