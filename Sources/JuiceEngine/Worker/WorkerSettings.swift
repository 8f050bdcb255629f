import JuiceMaker
import JuiceMessages

/// What a worker is to know.
public struct WorkerSettings {
    /// The juices, and the initial stock.
    public var menu: Menu
    /// The language of messages in answers.
    public var language: Language
    /// How many partitions the stores are spread over.
    public var partitionCount: Int32
    /// The consumer group, for claims.
    public var group: String
    /// The instance's name within the group, for claims.
    public var instance: String
    /// How long repeats of a command are known.
    public var window: DuplicateWindow
    /// The most bytes of each partition's latest answers that are kept, so that repeats of them need not be read back.
    public var answerBytes: Int
    /// The most commands in one transaction.
    public var maxBatch: Int
    /// After so many milliseconds without one, a position note is written even if nothing happens, so that the last one does not
    /// expire.
    public var noteInterval: Timestamp

    /// Settings.
    public init(
        menu: Menu, language: Language, partitionCount: Int32, group: String, instance: String, window: DuplicateWindow = .standard,
        answerBytes: Int = 4 << 20, maxBatch: Int = 10_000, noteInterval: Timestamp = 24 * 3_600_000
    ) {
        self.menu = menu
        self.language = language
        self.partitionCount = partitionCount
        self.group = group
        self.instance = instance
        self.window = window
        self.answerBytes = answerBytes
        self.maxBatch = maxBatch
        self.noteInterval = noteInterval
    }
}

/// When a worker is to do what it does now and then.
struct WorkerTimers {
    /// How often positions are published, in milliseconds.
    private static let publishInterval: Timestamp = 1_000
    /// How often the logs are checked.
    private static let checkInterval: Timestamp = 3_000
    /// How long a worker waits for the next command before it writes the stock that the last ones changed.
    private static let quietTime: Timestamp = 20

    private var publishedAt: Timestamp = 0
    private var checkedAt: Timestamp = 0
    private var committedAt: Timestamp = 0
    private var hasNews = false

    mutating func committed(at now: Timestamp, commands: Int) {
        committedAt = now
        hasNews = hasNews || commands > 0
    }

    /// New positions are known, and the logs have just been looked at.
    mutating func tookOver(at now: Timestamp) {
        (checkedAt, committedAt, hasNews) = (now, now, true)
    }

    mutating func checked(at now: Timestamp) { checkedAt = now }

    func isCheckDue(at now: Timestamp) -> Bool { !(checkedAt...checkedAt + Self.checkInterval ~= now) }

    mutating func isPublishDue(at now: Timestamp) -> Bool {
        guard hasNews, !(publishedAt...publishedAt + Self.publishInterval ~= now) else { return false }
        (publishedAt, hasNews) = (now, false)
        return true
    }

    /// Whether no transaction was committed for a moment.
    func isQuiet(at now: Timestamp) -> Bool { !(committedAt..<committedAt + Self.quietTime ~= now) }
}
