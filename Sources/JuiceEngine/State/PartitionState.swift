import JuiceMaker
import JuiceMessages

/// What a worker knows of one partition that stores live in: what its commands have made of it, and how much of that is
/// committed.
package final class PartitionState {
    let partition: Int32
    package var applied: AppliedState
    /// What the journal says, the open transaction left out.
    private(set) var committed: InputPositions
    /// Where this worker's claim stands in the journal, and its transactional ids.
    private(set) var claim: Offset
    private(set) var ids: [String]
    /// The ends of journal and stock that were seen last.
    private(set) var seenResults: Offset
    private var seenStock: Offset
    /// Changelogs that lack what this process wrote to them, or has seen in them.
    private(set) var rewound: Set<ChangelogTopic> = []

    private var committedRecordsSinceNote = recordsPerNote
    /// When the last position note was written. At first none was under this claim: one is due, so that the next owner need not
    /// read far.
    private var notedAt = Timestamp.min / 2
    /// When stock was written last.
    private var stockWrittenAt = Timestamp.min / 2
    /// Whether a transaction that wrote stock must be committed before a note may vouch for it.
    private var owesStock: Bool

    init(_ restored: PartitionRestore.Restored, ids: [String]) {
        partition = restored.partition
        applied = restored.applied
        committed = restored.applied.positions
        claim = restored.claim
        (seenResults, seenStock) = (restored.resultsEnd, restored.stockEnd)
        self.ids = ids
        applied.forwards.commit()
        applied.recordsSinceNote = Self.recordsPerNote
        owesStock = applied.stores.hasUnwritten
    }

    /// A position note is written at the start of the first transaction after so many records.
    static let recordsPerNote = 1_000

    /// Takes a state of before up again, under a new claim. Nobody else has written to the journal meanwhile.
    ///
    /// - Returns: whether the stock topic has lost records, and all of it is to be written again.
    func resume(claim: Offset, ids: [String], _ extents: PartitionExtents) -> Bool {
        (self.claim, self.ids) = (claim, ids)
        see(extents)
        let hasLostStock = rewound.remove(.stock) != nil
        if hasLostStock { applied.stores.rewriteAll() }
        applied.recordsSinceNote = Self.recordsPerNote
        (committedRecordsSinceNote, notedAt) = (Self.recordsPerNote, .min / 2)
        owesStock = applied.stores.hasUnwritten
        return hasLostStock
    }

    /// Compares the ends of journal and stock, which only grow, with those of before.
    func compare(_ extents: PartitionExtents) {
        rewound.formUnion(extents.rewound)
        if extents.results.upperBound < seenResults { rewound.insert(.results) }
        if extents.stock.upperBound < seenStock { rewound.insert(.stock) }
    }

    /// What lies before these ends is known.
    func see(_ extents: PartitionExtents) {
        (seenResults, seenStock) = (extents.results.upperBound, extents.stock.upperBound)
    }

    /// The next record to read of each input.
    var positions: [InputPosition] {
        applied.positions.all.map { InputPosition(topic: $0.topic, partition: $0.partition, offset: $1) }
    }

    // MARK: - Position notes

    /// The note of where the partition stands, if one is due.
    ///
    /// It says what is committed, so it is the first record of its transaction. A reader that begins at the last note but one
    /// finds every change that the stock may lack: the transaction of each note also writes all stock that changed before it.
    ///
    /// - Parameter stockEnd: up to where this worker has written stock, 0 if it has not.
    func dueNote(at now: Timestamp, interval: Timestamp, stockEnd: @autoclosure () -> Offset) -> JournalNote? {
        guard !owesStock, applied.recordsSinceNote >= Self.recordsPerNote || isNoteOld(at: now, interval) else { return nil }
        return .position(
            JournalPosition(
                next: committed.ofHome, added: committed.added, stock: max(seenStock, stockEnd()), claim: claim, ids: ids,
                forwarded: applied.forwards.committed))
    }

    /// Whether the last note may expire unless another one is written, even if nothing happens.
    func isNoteOld(at now: Timestamp, _ interval: Timestamp) -> Bool { now - notedAt >= interval }

    /// A note was written.
    func noted(at now: Timestamp) {
        (applied.recordsSinceNote, applied.journalled) = (0, 1)
        notedAt = now
    }

    // MARK: - Stock

    /// How long changes of the stock may wait to be written, in milliseconds, while commands keep coming.
    private static let stockInterval: Timestamp = 250

    /// Whether the stock topic is to get the changes that it lacks now. It also gets them with each note, so that a reader that
    /// begins at the last note but one finds the others in the answers.
    func isStockDue(at now: Timestamp) -> Bool {
        owesStock || !(stockWrittenAt..<stockWrittenAt + Self.stockInterval ~= now)
    }

    func wroteStock(at now: Timestamp) { stockWrittenAt = now }

    // MARK: - The end of a transaction

    /// Keeps what was applied.
    ///
    /// - Parameter records: where the transaction's records stand in the journal.
    /// - Throws: ``LogError`` if that is not known of all. Then only the journal tells where each answer stands.
    func commit(at time: Timestamp, _ records: [Range<Offset>]) throws(LogError) {
        let known = records.reduce(0) { $0 + $1.count }
        guard known == applied.journalled else {
            throw LogError(
                .startOver,
                "results [\(partition)]: brokers said of only \(known) of \(applied.journalled) records where they stand")
        }
        applied.stores.commit()
        committed = applied.positions
        applied.forwards.commit()
        committedRecordsSinceNote = applied.recordsSinceNote
        owesStock = false
        applied.duplicates.commit(at: time, records)
        applied.journalled = 0
    }

    /// Reverts what was applied since the last commit.
    func undo() {
        applied.stores.undo()
        applied.duplicates.undo()
        applied.positions = committed
        applied.forwards.undo()
        (applied.recordsSinceNote, applied.journalled) = (committedRecordsSinceNote, 0)
        applied.answered.undo(to: committed)
    }
}

/// What the commands of one partition have made of it: its stores, its latest answers, and how far they are applied.
///
/// One value, so that a run of commands gains access to it once.
package struct AppliedState {
    package var stores: StoreTable
    package var duplicates: DuplicateMemory
    /// The next record of each input.
    var positions: InputPositions
    var forwards = ForwardedCommands()
    /// The commands answered since the inputs were last found to be the logs that they were.
    var answered: AnsweredCommands
    /// How many records the journal has got since its last position note.
    var recordsSinceNote = 0
    /// How many records the open transaction adds to the journal.
    var journalled = 0

    /// The partition's number.
    var partition: Int32 { positions.home }

    /// Brings what a command is about to need into the processor's caches.
    func prefetch(_ command: ReceivedCommand) {
        duplicates.prefetch(command.fingerprint)
        stores.prefetch(command.storeKey)
    }

    /// Whether a record was not applied yet. One that is read again was.
    func isNew(_ record: CommandRecord) -> Bool {
        positions[record.topic, record.partition].map { record.offset >= $0 } ?? false
    }

    /// Marks a record as applied, and journalled.
    mutating func applied(_ record: CommandRecord) {
        positions[record.topic, record.partition] = record.offset + 1
        recordsSinceNote += 1
        journalled += 1
    }

    /// Remembers the first answer to a command, which is written now.
    mutating func remember(
        _ fingerprint: CommandFingerprint, _ command: ReceivedCommand, _ value: borrowing OutputBuffer, isCancelled: Bool = false,
        sentAt time: Timestamp
    ) {
        duplicates.remember(
            command.head.command, fingerprint, value.unsafeBytes, at: journalled, isCancelled: isCancelled, sentAt: time)
    }

    /// What is remembered of a command.
    func answers(to command: ReceivedCommand, sentAt time: Timestamp) -> RememberedAnswers {
        RememberedAnswers(
            first: duplicates.firstAnswer(to: command.fingerprint, sentAt: time),
            rejectedCancel: command.rejectedCancel.flatMap { duplicates.firstAnswer(to: $0, sentAt: time) })
    }

    /// Whether an answer need not be read back.
    func isAtHand(_ answer: DuplicateMemory.FirstAnswer?) -> Bool { answer.map(duplicates.hasValue) ?? true }

    /// Whether a forwarded command is here for the second time. Then it gets no answer.
    mutating func isCopy(_ command: ReceivedCommand, _ topic: InputTopic, sentAt time: Timestamp) -> Bool {
        guard let source = command.head.from else { return false }
        let partition = InputPartition(topic: topic, partition: source.partition)
        let isCopy = forwards.isCopy(
            command.fingerprint, from: partition, source.offset, isRemembered: duplicates.remembers(command.fingerprint),
            reachesBack: duplicates.reachesBack(to: time))
        if !isCopy { forwards.append(command.fingerprint, from: partition, source.offset) }
        return isCopy
    }
}

/// What is remembered of a command's id.
struct RememberedAnswers {
    /// The first answer, or that to the cancel that took the order back.
    let first: DuplicateMemory.FirstAnswer?
    /// The answer to a cancel that was rejected. Only a cancel asks for it.
    let rejectedCancel: DuplicateMemory.FirstAnswer?
}

/// The next offset to read of each input partition that belongs to one partition that stores live in.
struct InputPositions: Equatable {
    /// The partition's number.
    let home: Int32
    private var orders: Offset?
    private var restocks: Offset?
    /// Those of partitions that were added to the inputs later.
    private(set) var added: [InputPartition: Offset] = [:]

    init(home: Int32) { self.home = home }

    subscript(topic: InputTopic, partition: Int32) -> Offset? {
        get {
            guard partition == home else { return added[InputPartition(topic: topic, partition: partition)] }
            return topic == .orders ? orders : restocks
        }
        set {
            if partition != home {
                added[InputPartition(topic: topic, partition: partition)] = newValue
            } else if topic == .orders {
                orders = newValue
            } else {
                restocks = newValue
            }
        }
    }

    subscript(input: InputPartition) -> Offset? {
        get { self[input.topic, input.partition] }
        set { self[input.topic, input.partition] = newValue }
    }

    /// Those of the partitions with the home's number.
    var ofHome: [InputTopic: Offset] {
        var next: [InputTopic: Offset] = [:]
        next[.orders] = orders
        next[.restocks] = restocks
        return next
    }

    /// All, in order.
    var all: [(key: InputPartition, value: Offset)] {
        let ofHome = ofHome.map { (key: InputPartition(topic: $0, partition: home), value: $1) }
        return (ofHome + added.map { (key: $0, value: $1) }).sorted { $0.key < $1.key }
    }
}
