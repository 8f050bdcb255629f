/// The service's settings that the contract depends on.
public struct AuditRules: Sendable {
    /// Which versions of the service wrote the answers.
    public enum Versions: Sendable {
        /// Only such as know baskets, cancels and revisions.
        case current
        /// Also such as know none of them: their answers name no revision, they reject baskets, take a cancel for an order without
        /// a juice, and make an order that was cancelled, or repeat its answer or its cancel's.
        case alsoOlder
    }

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
    /// Which versions of the service wrote the answers.
    public var versions: Versions

    /// The rules of a service with these settings; the defaults are the service's.
    public init(
        partitionCount: Int,
        memoryWindow: Int64 = 3_600_000,
        memoryCount: Int = 1_000_000,
        topicPrefix: String = "juice.",
        menu: AuditMenu = .builtIn,
        versions: Versions = .current
    ) {
        self.partitionCount = partitionCount
        self.memoryWindow = memoryWindow
        self.memoryCount = memoryCount
        self.topicPrefix = topicPrefix
        self.menu = menu
        self.versions = versions
    }
}
