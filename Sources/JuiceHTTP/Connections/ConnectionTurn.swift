/// Whose turn it is on a connection: the other end's, to send a request or to read, or the server's, to answer.
struct ConnectionTurn: Equatable {
    /// Requests that have come to their ends, less those whose answers are written. Below zero after an answer that was quicker
    /// than its request.
    private var unanswered = 0
    private var isWritable = true

    /// Whether no request is being answered.
    var awaitsRequest: Bool { unanswered <= 0 }
    /// Whether the other end keeps the server waiting. A body that is being sent counts, however it trickles in, and so does an
    /// answer of which too much waits to be read.
    var isPeers: Bool { awaitsRequest || !isWritable }

    mutating func requestEnded() { unanswered += 1 }
    mutating func answerEnded() { unanswered -= 1 }
    mutating func becameWritable(_ isWritable: Bool) { self.isWritable = isWritable }
}
