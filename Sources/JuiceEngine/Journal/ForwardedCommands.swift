import JuiceMessages

/// The commands that other partitions have forwarded to this one, to recognize a second copy: see "A transaction" in
/// docs/JOURNAL.md.
///
/// Commands of one partition are forwarded in order, so a command from no later place than the last one is a copy. But any client
/// can write the header that names the place. So it must also be the command that came from there.
struct ForwardedCommands {
    private struct Entry: Equatable {
        let place: InputPosition
        /// Half of the command's ``CommandFingerprint``.
        let command: UInt64
    }

    /// The offset of the last command from each partition.
    private(set) var last: [InputPartition: Offset] = [:]
    /// The highest offset from each partition. It is beyond `last` if that partition's position was moved back.
    private var highest: [InputPartition: Offset] = [:]
    private var latest: [Entry] = []
    /// The values of `last` at position notes, each with the offset of the last note that had it.
    private var noted: [(last: [InputPartition: Offset], note: Offset)] = []

    /// More commands than one transaction usually forwards from one partition.
    private static let most = 8_192
    private static let mostNoted = 1_024

    /// Whether a command was forwarded here before; nil if that is too long ago to know.
    func isCopy(_ command: CommandFingerprint, from place: InputPosition) -> Bool? {
        guard let last = last[place.input], place.offset <= max(last, highest[place.input] ?? 0) else { return false }
        if latest.contains(Entry(place: place, command: command.low)) { return true }
        return place.offset <= last ? nil : false
    }

    mutating func append(_ command: CommandFingerprint, from place: InputPosition) {
        last[place.input] = place.offset
        highest[place.input] = max(highest[place.input] ?? 0, place.offset)
        latest.append(Entry(place: place, command: command.low))
        if latest.count > 2 * Self.most { latest.removeFirst(Self.most) }
    }

    /// Whether the first copy of a command from this place may have been answered before an offset of the journal.
    func mayBeAnswered(_ place: InputPosition, before offset: Offset) -> Bool {
        guard offset > 0 else { return false }
        guard let noted = noted.first(where: { $0.note >= offset }) else { return true }
        return place.offset <= noted.last[place.input] ?? -1
    }

    /// Remembers what was forwarded before the position note at an offset.
    mutating func note(_ last: [InputPartition: Offset], at offset: Offset) {
        if let latest = noted.last, latest.last == last {
            noted[noted.count - 1].note = offset
        } else {
            noted.append((last, offset))
            if noted.count > Self.mostNoted { noted.removeFirst() }
        }
    }

    /// Forgets the places of a topic that was copied from another cluster, where offsets differ.
    mutating func removeAll(_ topic: InputTopic) {
        noted = []
        last = last.filter { $0.key.topic != topic }
        highest = highest.filter { $0.key.topic != topic }
        latest.removeAll { $0.place.topic == topic }
    }

    /// Takes the offsets of the last commands from a position note at an offset.
    mutating func restore(_ forwarded: [InputPartition: Offset], at offset: Offset) {
        last.merge(forwarded) { $1 }
        note(last, at: offset)
    }
}
