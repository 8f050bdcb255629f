import JuiceMaker

/// A record of the journal.
public enum JournalEntry {
    /// The answer to a command.
    case answer(RememberedAnswer)
    /// What became of another record, or how far the inputs are read, or whose the partition is.
    case note(JournalNote)
    /// A note of a type that a newer service added, and the place of the record that it is about, if it names one.
    case unknown(InputPlace?)
}

/// What is remembered of an answer, as a record of the results topic has it.
public struct RememberedAnswer {
    /// The command that it answers. Its texts are valid until the reader reads again.
    public let head: AnswerHead
    /// Whether the content was set, and writing it again gives the record's value to the byte.
    ///
    /// If not, an ``AnswerTemplate`` of the value is needed: the answer is a rejection, or was written in another language or by
    /// another menu.
    public let hasContent: Bool
    /// What it means for repeats of its command.
    public let role: Role
    /// The store's revision after the command; 0 if the command changed nothing.
    public let revision: Int

    /// What an answer means for repeats of its command.
    public enum Role: Sendable {
        /// They get it again.
        case first
        /// It took an order back, and is remembered in the order's place.
        case cancel
        /// It answers an order that was cancelled before. The cancel stays what is remembered.
        case afterCancel
    }
}

/// Reads the records of the results topic, to restore what they tell. Made for a million of them.
///
/// Reading an answer allocates no memory. One reader is for one thread.
public final class JournalReader {
    private let reader = JSONReader(capacity: 4096)
    private let encoder: AnswerEncoder
    private let maker: JuiceMaker
    private let juices: ByteKeyTable
    private let fruits: ByteKeyTable
    // Kept from record to record.
    private var rewritten = OutputBuffer()
    private var left: JSONObject?

    /// A reader of answers which this encoder is to write again.
    public init(encoder: AnswerEncoder) {
        self.encoder = encoder
        let menu = encoder.phrasebook.menu
        maker = JuiceMaker(menu: menu)
        juices = ByteKeyTable(keys: menu.juices.lazy.map(\.id))
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
    }

    /// Reads the value of a record.
    ///
    /// - Parameters:
    ///   - value: the record's value.
    ///   - content: becomes what the answer says, if the encoder would write it like that.
    /// - Throws: ``MalformedMessage`` for what this project never writes: an answer whose first members are not those of the head
    ///   in their order, or with an id or store that no command can have, and a note that lacks something. An unknown type, of
    ///   a newer service, is no fault.
    public func read(
        _ value: UnsafeRawBufferPointer,
        into content: inout AnswerContent
    ) throws(MalformedMessage) -> JournalEntry {
        left = nil
        let object = try reader.readObject(value)
        let members = AnswerMembers(of: object)
        guard !members.isNote else {
            if let note = try JournalNote(object) { return .note(note) }
            return .unknown(try? InputPlace(object))
        }
        return .answer(try answer(object, members, value, into: &content))
    }

    /// Calls `body` with the levels (`left`) of the answer that was read last: those of fruits of the present menu, by the fruit's
    /// place in it. Only for an answer with a revision; of others nothing is known.
    public func forEachLevel(_ body: (_ fruit: Int, _ level: Int) -> Void) {
        guard let left else { return }
        for (name, level) in left {
            if let fruit = fruits.find(name.bytes), let level = level.amount { body(fruit, level) }
        }
    }

    private func answer(
        _ answer: JSONObject,
        _ members: AnswerMembers,
        _ value: UnsafeRawBufferPointer,
        into content: inout AnswerContent
    ) throws(MalformedMessage) -> RememberedAnswer {
        let head = try members.head()
        try check(head.id, longest: CommandKind.maximumIDLength, head.command.idField)
        try check(head.store, longest: StoreID.maximumLength, "store")
        let type = try members.type.text("type")
        let revision = try members.revision()
        if revision > 0 {
            left = try members.left.object("left")
            guard left?.allSatisfy({ $0.value.amount != nil }) == true else {
                throw MalformedMessage("left", "must have an amount for each fruit")
            }
        }
        content.revision = revision
        let hasContent = read(answer, type, into: &content) && isWritten(content, head, as: value)
        if !hasContent { try checkBeginning(of: value, type, head) }
        return RememberedAnswer(
            head: head,
            hasContent: hasContent,
            role: role(of: members, type),
            revision: revision
        )
    }

    private func role(of members: AnswerMembers, _ type: BorrowedText) -> RememberedAnswer.Role {
        if type == BorrowedText(AnswerContent.Kind.cancelled.type) { return .cancel }
        let isRejection = type == BorrowedText(AnswerEncoder.rejectedType)
        return isRejection && members.has(.cancelled) ? .afterCancel : .first
    }

    private func check(
        _ name: BorrowedText,
        longest: Int,
        _ field: StaticString
    ) throws(MalformedMessage) {
        guard (1...longest).contains(name.bytes.count) else {
            throw MalformedMessage("\(field)", "must be of 1 to \(longest) bytes")
        }
    }

    private func isWritten(
        _ content: AnswerContent,
        _ head: AnswerHead,
        as value: UnsafeRawBufferPointer
    ) -> Bool {
        rewritten.removeAll()
        encoder.write(content, head, into: &rewritten)
        return rewritten.unsafeBytes.hasSameBytes(as: value)
    }

    // Its template puts other members in place of these: a repeat has its own offset.
    private func checkBeginning(
        of value: UnsafeRawBufferPointer,
        _ type: BorrowedText,
        _ head: AnswerHead
    ) throws(MalformedMessage) {
        guard !type.bytes.contains(UInt8(ascii: ",")) else {
            throw MalformedMessage("type", "must not have a comma")
        }
        rewritten.removeAll()
        rewritten.append(#"{"type":"#)
        rewritten.append(quoted: type)
        if head.isDuplicate { rewritten.append(AnswerHead.duplicateMember) }
        rewritten.append(membersOf: head)
        guard value.begins(with: rewritten.unsafeBytes) else {
            throw MalformedMessage("", "must begin with the members that all answers have, in their order")
        }
    }
}

// What an answer says. Writing it again shows whether that is all it says, and whether all names are right: this looks up
// only what the writing needs.
extension JournalReader {
    /// Sets the content; false if the answer is none that the encoder writes.
    private func read(_ answer: JSONObject, _ type: BorrowedText, into content: inout AnswerContent) -> Bool {
        guard let kind = AnswerContent.Kind(type: type) else { return false }
        content.kind = kind
        return switch kind {
        case .juiceMade: readOrder(answer, &content) && readLevels(answer, &content)
        case .outOfStock: readOrder(answer, &content) && readShortages(answer, &content)
        case .restocked: readRestocked(answer, &content)
        case .cancelled: readCancelled(answer, &content)
        }
    }

    /// Sets the levels of the order's fruits.
    private func readLevels(_ answer: JSONObject, _ content: inout AnswerContent) -> Bool {
        guard let left = answer["left"]?.object else { return false }
        var place = 0
        for (_, level) in left {
            guard place < content.fruits.count, let level = level.amount else { return false }
            content.fruits[place].level = level
            place += 1
        }
        return place == content.fruits.count
    }

    private func readShortages(_ answer: JSONObject, _ content: inout AnswerContent) -> Bool {
        guard let missing = answer["missing"]?.array else { return false }
        // The fruits that are short are some of the order's, in its order.
        var shortages = missing.makeIterator()
        var next = shortages.next()?.object
        for place in 0..<content.fruits.count {
            let line = content.fruits[place]
            if let short = next, let inStock = short["inStock"]?.amount, let fruit = short["fruit"]?.string,
                isName(fruit, ofFruit: line.fruit)
            {
                content.fruits[place].level = inStock
                next = shortages.next()?.object
            } else {
                content.fruits[place].level = line.amount
            }
        }
        return true
    }

    private func readRestocked(_ answer: JSONObject, _ content: inout AnswerContent) -> Bool {
        guard let left = answer["left"]?.object else { return false }
        content.fruits.removeAll()
        var fruit = 0
        for (name, level) in left {
            // The fruits are in the order of the menu: the next one is not far.
            while fruit < fruits.count, !isName(name, ofFruit: fruit) { fruit += 1 }
            guard fruit < fruits.count, let level = level.amount else { return false }
            content.fruits.append(FruitTally.Line(fruit: fruit, amount: 0, level: level))
        }
        return content.fruits.count > 0
    }

    private func readCancelled(_ answer: JSONObject, _ content: inout AnswerContent) -> Bool {
        guard let returned = answer["returned"]?.object else { return false }
        content.fruits.removeAll()
        for (name, amount) in returned {
            guard let fruit = fruits.find(name.bytes), let amount = amount.amount,
                !(0..<content.fruits.count).contains(where: { content.fruits[$0].fruit == fruit })
            else { return false }
            content.fruits.append(FruitTally.Line(fruit: fruit, amount: amount, level: 0))
        }
        return readLevels(answer, &content)
    }

    /// Sets the order, and the fruits that it needs.
    private func readOrder(_ answer: JSONObject, _ content: inout AnswerContent) -> Bool {
        if let item = item(answer, JuiceOrder.quantities) {
            content.order = .single(item)
        } else {
            guard let items = answer["items"]?.array else { return false }
            var basket: [OrderItem] = []
            for value in items {
                guard let item = value.object.flatMap({ item($0, JuiceOrder.basketQuantities) }) else {
                    return false
                }
                basket.append(item)
            }
            guard (1...JuiceOrder.mostItems).contains(basket.count) else { return false }
            content.order = .basket(basket)
        }
        maker.count(content.order, &content.fruits)
        return true
    }

    private func item(_ object: JSONObject, _ quantities: ClosedRange<Int>) -> OrderItem? {
        guard let id = object["juice"]?.string, let juice = juices.find(id.bytes),
            let quantity = object["quantity"]?.integer, quantities.contains(quantity)
        else { return nil }
        return OrderItem(juice: juice, quantity: quantity)
    }

    private func isName(_ name: BorrowedText, ofFruit fruit: Int) -> Bool {
        fruits.withKey(at: fruit) { name.bytes.hasSameBytes(as: $0) }
    }
}

extension JSONObject {
    /// The only value of this name, if there is one.
    fileprivate subscript(name: StaticString) -> JSONValue? {
        guard case .value(let value) = member(name) else { return nil }
        return value
    }
}
