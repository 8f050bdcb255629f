/// How long a command is remembered, so that its repeat gets the first answer again: for so long, and only among so
/// many of its partition.
public struct DuplicateWindow: Sendable, Equatable {
    /// The time from a command to its repeat, by their timestamps, within which the repeat is known, in milliseconds.
    public let age: Timestamp
    /// How many first answers of a partition are remembered.
    public let count: Int

    /// One hour and a million commands per partition.
    public static let standard = DuplicateWindow(age: 3_600_000, count: 1_000_000)

    /// A window of this age, in milliseconds, and this many commands.
    public init(age: Timestamp, count: Int) {
        self.age = age
        self.count = count
    }

    /// How much older than the latest commands a first answer has to be before it is forgotten, in milliseconds.
    ///
    /// Longer than the window: a repeat that was sent within it may reach Kafka only after it. Clients give up delivering
    /// a record after two minutes (Java) or five (librdkafka).
    public var retention: Timestamp { age + min(age, 300_000) }

    /// The memory for the templates of a partition's first answers, in bytes: the oldest answers are forgotten before
    /// their templates take more.
    public var templateBytes: Int { max(1 << 20, 32 * count) }
}
