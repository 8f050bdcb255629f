import JuiceMessages

/// The commands that other partitions have forwarded to this one, to recognize a second copy. A transaction may be torn between a
/// forward and the note of it; then the command is forwarded again.
///
/// Commands of one partition are forwarded in order, so one that comes from no later place than the last is a copy. But anybody can
/// write the header that names the place. So it must also be the command that came from there.
struct ForwardedCommands {
    private struct Entry: Equatable {
        let source: InputPartition
        let offset: Offset
        /// Half of the command's ``CommandFingerprint``.
        let command: UInt64
    }

    /// The offset of the last command from each partition.
    private var last: [InputPartition: Offset] = [:]
    /// The same, without the open transaction.
    private(set) var committed: [InputPartition: Offset] = [:]
    /// The latest commands, and those of the open transaction.
    private var latest: [Entry] = []
    private var pending: [Entry] = []

    /// Usually more than one transaction forwards from one partition.
    private static let most = 4_096

    /// Whether a command was forwarded here before.
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

    mutating func append(_ command: CommandFingerprint, from source: InputPartition, _ offset: Offset) {
        last[source] = offset
        pending.append(Entry(source: source, offset: offset, command: command.low))
        if pending.count > 2 * Self.most { pending.removeFirst(Self.most) }
    }

    /// Takes the offsets of the last commands from a position note.
    mutating func restore(_ forwarded: [InputPartition: Offset]) { last.merge(forwarded) { $1 } }

    mutating func commit() {
        guard !pending.isEmpty || committed.count != last.count else { return }
        committed = last
        latest += pending
        pending = []
        if latest.count > 2 * Self.most { latest.removeFirst(latest.count - Self.most) }
    }

    mutating func undo() { (last, pending) = (committed, []) }
}
