import JuiceMessages

/// The places of records that were handled, and what they were: evidence that a log is still the one that was read.
///
/// A topic can be made anew under the same name, and a log can lose its end and grow again. Old librdkafka tells neither. So
/// the worker now and then reads some of these places again and compares.
struct AnsweredCommands {
    /// A record that was handled.
    struct Entry: Equatable {
        let offset: Offset
        let content: Content
    }

    /// What a record was.
    enum Content: Equatable {
        /// A command that was answered, by half of its ``CommandFingerprint``.
        case command(UInt64)
        /// A command that was forwarded to this partition.
        case forwarded(to: Int32)
        /// A dead letter, since it is no command.
        case noCommand
    }

    private let home: Int32
    /// The entries of the partition's own orders and restocks, which nearly all are.
    private var orders: [Entry] = []
    private var restocks: [Entry] = []

    /// More than come in the time between two checks, unless a backlog is read. Then every second one is dropped.
    private static let most = 32_768

    init(home: Int32) { self.home = home }

    @inline(__always)
    mutating func append(_ topic: InputTopic, _ offset: Offset, _ content: Content) {
        let entry = Entry(offset: offset, content: content)
        if topic == .orders { Self.append(entry, to: &orders) } else { Self.append(entry, to: &restocks) }
    }

    private static func append(_ entry: Entry, to list: inout [Entry]) {
        if list.count >= most {
            var index = 0
            list.removeAll { _ in
                index += 1
                return index.isMultiple(of: 2)
            }
        }
        list.append(entry)
    }

    /// The entries of a topic, in the order in which they were handled.
    subscript(topic: InputTopic) -> [Entry] {
        get { topic == .orders ? orders : restocks }
        set { if topic == .orders { orders = newValue } else { restocks = newValue } }
    }

    /// Forgets what was handled in a transaction that failed.
    mutating func undo(to positions: InputPositions) {
        for topic in InputTopic.allCases {
            guard let next = positions[topic, home] else { continue }
            while let last = self[topic].last, last.offset >= next { self[topic].removeLast() }
        }
    }

    /// Keeps the last entry of each topic, and of those before it fewer the older they are.
    mutating func thin() {
        for topic in InputTopic.allCases {
            guard let last = self[topic].last else { continue }
            var kept: [Entry] = []
            var distance: Offset = 0
            for entry in self[topic].reversed() where last.offset - entry.offset >= distance {
                guard last.offset - entry.offset < LogEvidence.longest else { break }
                kept.append(entry)
                distance = max(1, 2 * (last.offset - entry.offset))
            }
            self[topic] = kept.reversed()
        }
    }

    /// Forgets all: the position was moved on purpose, perhaps to another log.
    mutating func removeAll(_ topic: InputTopic) { self[topic] = [] }
}
