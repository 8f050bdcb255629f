import JuiceDomain

/// A record of the results topic, decoded: an answer or a note, and its place.
///
/// Texts and ``value`` are views, valid until its reader reads again.
public struct JournalRecord {
    /// What the record says.
    public let content: Content
    /// The number of its partition.
    public let partition: Int32
    /// Its offset there.
    public let offset: Int64
    /// When it was written, in milliseconds since 1970; nil if the log does not say.
    public let timestamp: Int64?
    /// When its command was sent, by its header ``HeaderName/sent``; nil without one, which means shortly before `timestamp`.
    public let sent: Int64?
    /// Its bytes.
    public let value: UnsafeRawBufferPointer

    /// What a record of the journal can be.
    public enum Content {
        /// The answer to a command.
        case answer(JournalAnswer)
        /// A note of a type that this version knows.
        case note(JournalNote)
        /// A note of a type that a newer service added, and the place of the record that it is about, if it names one.
        case unknown(InputPlace?)
    }

    /// The answer; nil for a note.
    public var answer: JournalAnswer? { if case .answer(let answer) = content { answer } else { nil } }

    /// The note; nil for an answer, or a note of an unknown type.
    public var note: JournalNote? { if case .note(let note) = content { note } else { nil } }

    /// The input record that this record handles, and its digest if it got no answer; nil if it handles none.
    public var handled: (input: InputPartition, offset: Int64, noted: RecordDigest?)? {
        let place: InputPlace? =
            switch content {
            case .answer(let answer):
                InputPlace(topic: answer.head.command.inputTopic, partition: nil, offset: answer.head.offset)
            case .note(.forwarded(let place, _)), .note(.deadLetter(let place, _)), .note(.copy(let place)): place
            case .unknown(let place): place
            case .note(.position), .note(.claim), .note(.anchored): nil
            }
        return place.map { ($0.input(in: partition), $0.offset, $0.digest) }
    }

    /// The digest of the handled record, if the journal has it.
    public var digest: RecordDigest? { if let answer { RecordDigest(of: answer.head) } else { handled?.noted } }
}

extension JournalRecord {
    /// A note that is about to be written. Its offset is not known yet.
    public init(_ note: JournalNote, to partition: Int32) {
        let value = UnsafeRawBufferPointer(start: nil, count: 0)
        self.init(content: .note(note), partition: partition, offset: 0, timestamp: nil, sent: nil, value: value)
    }
}

extension InputPlace {
    /// The input of this place, as the journal with this number names it.
    public func input(in journal: Int32) -> InputPartition { InputPartition(topic: topic, partition: partition ?? journal) }
}

/// The parts of an answer that a restore needs.
public struct JournalAnswer {
    /// What it says about its command. The texts are valid until the reader reads again.
    public let head: AnswerHead
    /// What it means for repeats of its command.
    public let role: Role
    /// The store's revision after the command; 0 if the command changed nothing.
    public let revision: Int
    /// What became of the command; for a rejected cancel, of its order.
    public let was: FormerOutcome

    /// What an answer means for repeats of its command.
    public enum Role: Sendable {
        /// Repeats get it again.
        case first
        /// It took an order back, and is remembered in the order's place.
        case cancel
        /// It says what became of a command whose first answer is lost. It is remembered unless the command already is.
        case lost
        /// It is not remembered: it answers an order that was cancelled before, or a cancel to an unknown store.
        case unremembered
    }
}

/// Reads the records of the results topic, to restore what they say. Made for a million of them.
///
/// Reading an answer allocates no memory. One reader is for one thread.
public final class JournalReader {
    private let reader = JSONReader(capacity: 4096)
    private let fruits: ByteKeyTable
    // Kept from record to record.
    private var beginning = OutputBuffer()
    private var object: JSONObject?
    private var left: JSONObject?

    /// A reader of answers about this menu's fruits.
    public init(menu: Menu = .standard) { fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id)) }

    /// Reads a record from its value.
    ///
    /// - Parameters:
    ///   - value: its value.
    ///   - partition: the number of the partition that it was read from.
    ///   - offset: its offset there.
    ///   - timestamp: when it was written, in milliseconds since 1970; nil if the log does not say.
    ///   - sent: what its header ``HeaderName/sent`` says.
    /// - Throws: ``MalformedMessage`` for what this project never writes: an answer whose first members are not those of the head
    ///   in their order, an answer with an id or store that no command can have, or an incomplete note. A note of a type that a
    ///   newer service added is no error.
    public func read(
        _ value: UnsafeRawBufferPointer, partition: Int32 = 0, offset: Int64 = 0, timestamp: Int64? = nil, sent: Int64? = nil
    ) throws(MalformedMessage) -> JournalRecord {
        (object, left) = (nil, nil)
        let object = try reader.readObject(value)
        self.object = object
        let members = AnswerMembers(of: object)
        let content: JournalRecord.Content =
            if !members.isNote {
                .answer(try answer(members, value))
            } else if let note = try JournalNote(object) {
                .note(note)
            } else {
                .unknown(try? InputPlace(object))
            }
        return JournalRecord(
            content: content, partition: partition, offset: offset, timestamp: timestamp, sent: sent, value: value)
    }

    /// The whole answer that was read last.
    ///
    /// - Throws: ``MalformedMessage`` if the last record was not an answer, or is incomplete.
    package func wholeAnswer() throws(MalformedMessage) -> Answer {
        guard let object else { throw MalformedMessage("", "nothing was read") }
        return try Answer(object)
    }

    /// Calls `body` with each level (`left`) of the answer that was read last, if it has a revision. A fruit is its index on the
    /// present menu; fruits that the menu lacks are skipped.
    public func forEachLevel(_ body: (_ fruit: Int, _ level: Int) -> Void) {
        guard let left else { return }
        for (name, level) in left {
            if let fruit = fruits.find(name.bytes), let level = level.amount { body(fruit, level) }
        }
    }

    private func answer(_ members: AnswerMembers, _ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> JournalAnswer {
        let head = try members.head()
        try check(head.id, longest: CommandKind.maximumIDLength, head.command.idField)
        try check(head.store, longest: StoreID.maximumLength, "store")
        let type = try members.type.text("type")
        let revision = try members.revision()
        if revision > 0 {
            let levels = try members.left.object("left")
            guard levels.allSatisfy({ $0.value.amount != nil }) else {
                throw MalformedMessage("left", "must have an amount for each fruit")
            }
            left = levels
        }
        try checkBeginning(of: value, type, head)
        let role: JournalAnswer.Role =
            switch type {
            case "cancelled": .cancel
            case "answerLost": .lost
            case "rejected" where members.reason.string == BorrowedText("cancelled"): .unremembered
            case "rejected" where members.reason.string == BorrowedText("unknownStore") && head.command == .cancel: .unremembered
            default: .first
            }
        let isCarriedOut = role == .cancel || revision > 0
        let was = try role == .lost ? formerOutcome(members) : FormerOutcome(of: head.command, isCarriedOut: isCarriedOut)
        return JournalAnswer(head: head, role: role, revision: revision, was: was)
    }

    private func formerOutcome(_ members: AnswerMembers) throws(MalformedMessage) -> FormerOutcome {
        let name = try members.was.text("was")
        for was in FormerOutcome.allCases where was.name == String(name) { return was }
        throw MalformedMessage("was", "must say what became of the command")
    }

    private func check(_ name: BorrowedText, longest: Int, _ field: StaticString) throws(MalformedMessage) {
        guard (1...longest).contains(name.bytes.count) else {
            throw MalformedMessage("\(field)", "must be of 1 to \(longest) bytes")
        }
    }

    // The answer to a repeat replaces these members, so they must be where it expects them.
    private func checkBeginning(
        of value: UnsafeRawBufferPointer, _ type: BorrowedText, _ head: AnswerHead
    ) throws(MalformedMessage) {
        guard !type.bytes.contains(UInt8(ascii: ",")) else { throw MalformedMessage("type", "must not have a comma") }
        beginning.removeAll()
        beginning.append(#"{"type":"#)
        beginning.append(quoted: type)
        if head.isDuplicate { beginning.append(AnswerHead.duplicateMember) }
        beginning.append(membersOf: head)
        guard value.begins(with: beginning.unsafeBytes) else {
            throw MalformedMessage("", "must begin with the members that all answers have, in their order")
        }
    }
}
