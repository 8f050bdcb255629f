/// How many connections a server has at once, and how long it waits for the other end of one.
public struct ConnectionLimits: Sendable {
    /// How many connections are served at once. One more is answered 503, unless another makes way.
    public var connections: Int
    /// How many refused connections are kept open at once, for ``linger``, so that their peers can read why.
    public var refusals: Int
    /// How long the other end may take to send a whole request, or to read anything of an answer that waits.
    public var timeout = Duration.seconds(30)
    /// Where there are no more connections, the one that waits for a request for the longest makes way if it has for so long.
    public var minimumIdleTime = Duration.seconds(1)
    /// How long a refused connection is kept open.
    public var linger = Duration.seconds(1)

    /// No more than a server is good for, and no more than a share of the files that the process may have open.
    ///
    /// - Parameters:
    ///   - most: how many connections there may be in any case.
    ///   - parts: the share is one of so many parts.
    init(most: Int, parts: Int, of files: Int) {
        let share = files / parts
        connections = max(1, min(most, share - share / 5))
        refusals = max(1, min(most, share) / 10)
    }

    /// For what people open in browsers: half of the files.
    public static var pages: Self { Self(most: 4096, parts: 2, of: OpenFileLimit.raised) }
    /// For probes and Prometheus: an eighth of the files. What remains is Kafka's and the rest of the process'.
    public static var probes: Self { Self(most: 512, parts: 8, of: OpenFileLimit.raised) }
}
