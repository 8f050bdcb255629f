import JuiceDomain
import JuiceMessages

/// The configuration of a worker.
package struct WorkerSettings {
    package let menu: Menu
    let menuDigest: UInt64
    package let language: Language
    /// The only stores that commands are carried out in; nil for any store.
    package let stores: ByteKeyTable?
    /// The topics' names in Kafka, which dead letters mention.
    let topics: TopicNames
    /// How many partitions the stores are spread over.
    package let partitionCount: Int32
    /// The consumer group and the instance's name in it, for claims.
    package let group: String
    package let instance: String
    /// A hexadecimal number that identifies the process, and differs after each restart.
    package let process: String
    /// How long repeats of a command are recognized.
    package let window: DuplicateWindow
    /// The most bytes to keep of each partition's latest answers, so that repeats of them need not be read back, and as many again
    /// of older answers that were read back. 4 MiB are some 20,000 answers.
    package let answerBytes: Int
    /// The most commands in one transaction.
    package let maxBatch: Int
    /// The least time between the beginnings of two transactions with commands, in milliseconds, unless the first one is full.
    package let commitInterval: Timestamp
    /// After this many milliseconds without one, a position note is written even if nothing happens: the last one must not expire.
    package let noteInterval: Timestamp
    /// From this age on, in milliseconds, a command is forwarded with the time of forwarding, because the topics may refuse its
    /// own; nil if they refuse no age.
    package let oldestForward: Timestamp?
    /// Which timestamps of commands count.
    package let times: CommandTimes
    /// The session timeout, in milliseconds: how long a member that stalls keeps its partitions.
    package let session: Timestamp

    package init(
        menu: Menu, language: Language, stores: ByteKeyTable? = nil, topics: TopicNames = TopicNames(), partitionCount: Int32,
        group: String, instance: String, process: String = "", window: DuplicateWindow = .standard, answerBytes: Int = 4 << 20,
        maxBatch: Int = 10_000, commitInterval: Timestamp = 0, noteInterval: Timestamp = 24 * 3_600_000,
        oldestForward: Timestamp? = nil, times: CommandTimes = CommandTimes(), session: Timestamp = 15_000
    ) {
        (self.menu, self.language, self.stores, self.topics) = (menu, language, stores, topics)
        self.partitionCount = partitionCount
        menuDigest = JournalAccount.digest(of: menu)
        (self.group, self.instance, self.process, self.window) = (group, instance, process, window)
        (self.answerBytes, self.maxBatch, self.commitInterval) = (answerBytes, maxBatch, commitInterval)
        self.noteInterval = noteInterval
        (self.oldestForward, self.times, self.session) = (oldestForward, times, session)
    }

    /// A worker that has not looked at the logs for this many milliseconds has stalled. No other worker has its partitions yet.
    /// Brokers accept sessions from 6 s on (`group.min.session.timeout.ms`), and logs are checked more often than this.
    var longestUnchecked: Timestamp { max(4_000, session * 4 / 5) }

    /// A number from 0 to 15 that differs between processes.
    func turn(of partition: Int32) -> Int {
        Int(((UInt32(bitPattern: partition) &+ 1) &* ((UInt32(process, radix: 16) ?? 0) | 1)) >> 28)
    }
}

/// A worker's settings, and the encoders and decoders made for them.
final class WorkerContext {
    let settings: WorkerSettings
    let maker: JuiceMaker
    let answerEncoder: AnswerEncoder
    let answerDecoder = AnswerDecoder()
    /// Two, for reading one record ahead: a reading is valid until the same reader's next one.
    let commandReaders: (CommandReader, CommandReader)
    let journalReader: JournalReader
    let stockRestorer: StockRestorer

    init(_ settings: WorkerSettings) {
        self.settings = settings
        let (menu, count) = (settings.menu, settings.partitionCount)
        maker = JuiceMaker(menu: menu)
        answerEncoder = AnswerEncoder(menu: menu, language: settings.language)
        commandReaders = (CommandReader(menu: menu, partitionCount: count), CommandReader(menu: menu, partitionCount: count))
        journalReader = JournalReader(menu: menu)
        stockRestorer = StockRestorer(menu: menu)
    }

    /// An empty memory of answers.
    var newMemory: DuplicateMemory { DuplicateMemory(window: settings.window, valueLimit: settings.answerBytes) }
}
