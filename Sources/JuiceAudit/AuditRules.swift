/// The service's settings that the contract depends on.
public struct AuditRules: Sendable {
    /// How many partitions stores live in. Topics may have more: commands there are forwarded, and none is answered there.
    public var partitionCount: Int
    /// For how many milliseconds a repeated id must be recognised, by the timestamps of the commands.
    public var memoryWindow: Int64
    /// For how many further ids of its partition a repeated id must be recognised.
    public var memoryCount: Int
    /// The prefix of all topic names.
    public var topicPrefix: String
    /// The menu that the service was started with.
    public var menu: AuditMenu

    /// The rules of a service with these settings; the defaults are the service's.
    public init(
        partitionCount: Int,
        memoryWindow: Int64 = 3_600_000,
        memoryCount: Int = 1_000_000,
        topicPrefix: String = "juice.",
        menu: AuditMenu = .builtIn
    ) {
        self.partitionCount = partitionCount
        self.memoryWindow = memoryWindow
        self.memoryCount = memoryCount
        self.topicPrefix = topicPrefix
        self.menu = menu
    }
}
