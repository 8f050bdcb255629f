/// How long a command is remembered, so that its repeat gets the first answer again: for so long, and only among so
/// many of its partition.
public struct DuplicateWindow: Sendable, Equatable {
    /// The age up to which a first answer is remembered, in milliseconds.
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
}
