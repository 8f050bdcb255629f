import JuiceDomain

/// A record of the journal.
public enum JournalEntry {
    case answer(JournalAnswer)
    case note(JournalNote)
    /// A note of a type that a newer service added, and the place of the record that it is about, if it names one.
    case unknown(InputPlace?)
}

/// What restoring needs of an answer.
public struct JournalAnswer {
    /// What it says of its command. The texts are valid until the reader reads again.
    public let head: AnswerHead
    /// What it means for repeats of its command.
    public let role: Role
    /// The store's revision after the command; 0 if the command changed nothing.
    public let revision: Int
    /// What became of the command; of an order, if its cancel was rejected.
    public let was: FormerOutcome

    /// What an answer means for repeats of its command.
    public enum Role: Sendable {
        /// They get it again.
        case first
        /// It took an order back, and is remembered in the order's place.
        case cancel
        /// It says what became of a command whose first answer is lost. It is remembered unless the command is.
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
    private var left: JSONObject?

    /// A reader of answers about this menu's fruits.
    public init(menu: Menu) { fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id)) }

    /// Reads the value of a record. It refuses what this project never writes: an answer whose first members are not those of the
    /// head in their order, or with an id or store that no command can have, and a note that lacks something. An unknown type,
    /// of a newer service, is no fault.
    public func read(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> JournalEntry {
        left = nil
        let object = try reader.readObject(value)
        let members = AnswerMembers(of: object)
        if !members.isNote { return .answer(try answer(members, value)) }
        if let note = try JournalNote(object) { return .note(note) }
        return .unknown(try? InputPlace(object))
    }

    /// Calls `body` with the levels (`left`) of the answer that was read last, if it has a revision: those of fruits of the present
    /// menu, by the fruit's place in it.
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
            case "rejected": role(ofRejection: members.reason.string, head)
            default: .first
            }
        let was: FormerOutcome =
            switch (role, head.command) {
            case (.lost, _): try formerOutcome(members)
            case (.cancel, _): .cancelled
            // The order of a cancel that was rejected stays made.
            case (_, .cancel): .made
            case (_, .restock): revision > 0 ? .restocked : .notMade
            case (_, .order): revision > 0 ? .made : .notMade
            }
        return JournalAnswer(head: head, role: role, revision: revision, was: was)
    }

    private func formerOutcome(_ members: AnswerMembers) throws(MalformedMessage) -> FormerOutcome {
        let name = try members.was.text("was")
        for was in FormerOutcome.allCases where was.name == String(name) { return was }
        throw MalformedMessage("was", "must say what became of the command")
    }

    private func role(ofRejection reason: BorrowedText?, _ head: AnswerHead) -> JournalAnswer.Role {
        switch reason {
        case BorrowedText("cancelled"): .unremembered
        case BorrowedText("unknownStore") where head.command == .cancel: .unremembered
        default: .first
        }
    }

    private func check(_ name: BorrowedText, longest: Int, _ field: StaticString) throws(MalformedMessage) {
        guard (1...longest).contains(name.bytes.count) else {
            throw MalformedMessage("\(field)", "must be of 1 to \(longest) bytes")
        }
    }

    // The answer to a repeat has other members in place of these.
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
