/// How long and among how many commands of its partition a command is remembered, so that a repeat gets the first answer
/// again.
public struct DuplicateWindow: Sendable, Equatable {
    /// The most time between the timestamps of a command and a repeat that is recognized, in milliseconds.
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

    /// How far before the latest commands a restore reads first answers, in milliseconds. Longer than the window, because a repeat
    /// sent within it may reach Kafka after it.
    public var retention: Timestamp { age + delay }

    /// How late a command may be and still be on time, in milliseconds: clients try to deliver a record for up to five minutes.
    public var delay: Timestamp { min(age, 300_000) }
}
