/// How long and among how many commands of its partition a command is remembered, so that a repeat gets the first answer
/// again.
public struct DuplicateWindow: Sendable, Equatable {
    /// The most time between the timestamps of a command and a repeat that is recognised, in milliseconds.
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

    /// How much older than the latest commands a first answer must be to be forgotten, in milliseconds.
    ///
    /// Longer than the window, because a repeat sent within it may reach Kafka after it: clients give up delivering a record
    /// after two minutes (Java) or five (librdkafka).
    public var retention: Timestamp { age + min(age, 300_000) }
}
