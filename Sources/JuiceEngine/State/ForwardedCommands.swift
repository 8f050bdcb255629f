import JuiceMessages

/// The commands that other partitions have forwarded to this one, to tell the second copy of one: the transaction of a forward
/// may be torn, so that the forward is there, but not the note of it.
///
/// What comes from one partition comes in order, so a place that is not beyond the last was here before. But anybody can write
/// the header. So another command than the one that came from a place is none that was here.
struct ForwardedCommands {
    private struct Entry: Equatable {
        let source: InputPartition
        let offset: Offset
        /// Half of the command's ``CommandFingerprint``.
        let command: UInt64
    }

    /// The place that the last command of each partition came from.
    private var last: [InputPartition: Offset] = [:]
    /// The same, the open transaction left out.
    private(set) var committed: [InputPartition: Offset] = [:]
    /// The latest commands, and those of the open transaction.
    private var latest: [Entry] = []
    private var pending: [Entry] = []

    /// More than are forwarded from one partition in one transaction, mostly.
    private static let most = 4_096

    /// Whether a command is here for the second time.
    ///
    /// - Parameters:
    ///   - isRemembered: whether the command was answered before.
    ///   - reachesBack: whether memory reaches back to it, so that otherwise it was never answered.
    func isCopy(
        _ command: CommandFingerprint,
        from source: InputPartition,
        _ offset: Offset,
        isRemembered: Bool,
        reachesBack: Bool
    ) -> Bool {
        guard let last = last[source], offset <= last else { return false }
        let entry = Entry(source: source, offset: offset, command: command.low)
        if pending.contains(entry) || latest.contains(entry) { return true }
        // A repeat behind a forged place is a repeat.
        return !isRemembered && !reachesBack
    }

    /// A command was answered.
    mutating func append(_ command: CommandFingerprint, from source: InputPartition, _ offset: Offset) {
        last[source] = offset
        pending.append(Entry(source: source, offset: offset, command: command.low))
        if pending.count > 2 * Self.most { pending.removeFirst(Self.most) }
    }

    /// A position note says from where the last commands came.
    mutating func restore(_ forwarded: [InputPartition: Offset]) { last.merge(forwarded) { $1 } }

    /// Keeps what was answered since the last commit.
    mutating func commit() {
        guard !pending.isEmpty || committed.count != last.count else { return }
        committed = last
        latest += pending
        pending = []
        if latest.count > 2 * Self.most { latest.removeFirst(latest.count - Self.most) }
    }

    /// Forgets what was answered since the last commit.
    mutating func undo() { (last, pending) = (committed, []) }
}
