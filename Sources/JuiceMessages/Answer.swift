import JuiceDomain

/// What an answer says of the command that it answers. The rest is its ``AnswerContent``, or its ``Rejection``.
public struct AnswerHead {
    /// The command's id.
    public let id: BorrowedText
    /// The store that the command was for.
    public let store: BorrowedText
    /// The kind of the command.
    public let command: CommandKind
    /// The command's offset in its topic, in the partition of the answer's own number.
    public let offset: Int64
    /// Where the command was read first, if it was forwarded.
    public var from: ForwardSource?
    /// Whether the command was a repeat, and this is its first answer given again. Only an answer that is read can say so.
    public internal(set) var isDuplicate = false

    /// The head of a first answer.
    public init(_ command: CommandKind, id: BorrowedText, store: BorrowedText, offset: Int64, from: ForwardSource? = nil) {
        self.command = command
        self.id = id
        self.store = store
        self.offset = offset
        self.from = from
    }
}

// The members that all answers begin with, in the pieces in which they are written: `{"type":"rejected"`, then `,"orderId":"`, and
// then the rest, such as `pos-7-000123","store":"gangnam","offset":1234,"from":"3/42"`.
extension OutputBuffer {
    mutating func append(type: StaticString) {
        append(#"{"type":""#)
        append(type)
        append("\"")
    }

    mutating func append(idFieldOf command: CommandKind) {
        append(",\"")
        append(command.idField)
        append(#"":""#)
    }

    mutating func append(membersOf head: AnswerHead) {
        append(idFieldOf: head.command)
        append(idAndPlaceOf: head)
    }

    mutating func append(idAndPlaceOf head: AnswerHead) {
        append(idAndStoreOf: head)
        append(placeOf: head)
    }

    private mutating func append(idAndStoreOf head: AnswerHead) {
        append(escaped: head.id)
        append(#"","store":""#)
        append(escaped: head.store)
        append(#"","offset":"#)
    }

    private mutating func append(placeOf head: AnswerHead) {
        append(decimal: Int(head.offset))
        guard let from = head.from else { return }
        append(AnswerHead.sourceBeginning)
        append(decimal: Int(from.partition))
        append("/")
        append(decimal: Int(from.offset))
        append("\"")
    }

    /// Appends the answer to a repeat: the first one again, whatever menu, language or version wrote it, with `"duplicate":true`
    /// after its type, and with the repeat's own offset and source.
    ///
    /// - Parameters:
    ///   - first: the value of the first answer, as a ``JournalReader`` accepts it.
    ///   - head: the head of the answer to the repeat.
    public mutating func append(repeating first: UnsafeRawBufferPointer, for head: AnswerHead) {
        // The type is the first member of every answer, and no type has a comma in it.
        let type = first.firstIndex(of: UInt8(ascii: ",")) ?? first.endIndex
        append(UnsafeRawBufferPointer(rebasing: first[..<type]))
        append(AnswerHead.duplicateMember)
        let start = count
        append(idFieldOf: head.command)
        append(idAndStoreOf: head)
        // The same id and store take as many bytes there.
        var rest = first[type...].dropFirst(count - start).drop { $0.isDigit }
        append(placeOf: head)
        if UnsafeRawBufferPointer(rebasing: rest).begins(with: BorrowedText(AnswerHead.sourceBeginning).bytes) {
            rest = rest.dropFirst(AnswerHead.sourceBeginning.utf8CodeUnitCount)
            rest = rest.drop { $0 != UInt8(ascii: "\"") }.dropFirst()
        }
        append(UnsafeRawBufferPointer(rebasing: rest))
    }
}

extension AnswerHead {
    static var duplicateMember: StaticString { #","duplicate":true"# }
    fileprivate static var sourceBeginning: StaticString { #","from":""# }
}

extension UnsafeRawBufferPointer {
    func begins(with bytes: UnsafeRawBufferPointer) -> Bool {
        count >= bytes.count && UnsafeRawBufferPointer(rebasing: self[..<bytes.count]).hasSameBytes(as: bytes)
    }
}

extension UInt8 { fileprivate var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") } }

/// The members that any answer may have, found in one pass.
struct AnswerMembers {
    private(set) var type = JSONObject.Member.absent
    private(set) var reason = JSONObject.Member.absent
    private(set) var left = JSONObject.Member.absent
    private var changes = JSONObject.Member.absent
    private var duplicate = JSONObject.Member.absent
    private var orderID = JSONObject.Member.absent
    private var restockID = JSONObject.Member.absent
    private var store = JSONObject.Member.absent
    private var offset = JSONObject.Member.absent
    private var from = JSONObject.Member.absent
    private var cancel = JSONObject.Member.absent

    init(of answer: JSONObject) {
        for (key, value) in answer {
            switch key {
            case "type": type.add(value)
            case "duplicate": duplicate.add(value)
            case "orderId": orderID.add(value)
            case "restockId": restockID.add(value)
            case "store": store.add(value)
            case "offset": offset.add(value)
            case "from": from.add(value)
            case "cancel": cancel.add(value)
            case "reason": reason.add(value)
            case "left": left.add(value)
            case "revision": changes.add(value)
            default: break
            }
        }
    }

    /// Whether it answers no command: it is a note of the journal.
    var isNote: Bool { orderID.isAbsent && restockID.isAbsent }

    /// The head of the answer.
    func head() throws(MalformedMessage) -> AnswerHead {
        let command = try answeredCommand()
        var head = AnswerHead(
            command, id: try (command == .restock ? restockID : orderID).text("\(command.idField)"), store: try store.text("store"),
            offset: Int64(try offset.integer("offset", from: 0 ... .max)), from: try forwardSource())
        head.isDuplicate = try duplicate.isMarked("duplicate")
        return head
    }

    /// The store's revision after the command; 0 if the command changed nothing.
    func revision() throws(MalformedMessage) -> Int {
        changes.isAbsent ? 0 : try changes.integer("revision", from: 1 ... .max)
    }

    /// Whether a rejection has this reason.
    func has(_ reason: Rejection.Reason) -> Bool {
        BorrowedText.withText(reason.rawValue) { self.reason.string == $0 }
    }

    private func answeredCommand() throws(MalformedMessage) -> CommandKind {
        switch (orderID, restockID) {
        case (.value, .absent): return try isOfCancel() ? .cancel : .order
        case (.absent, .value): return .restock
        default: throw MalformedMessage("", "must have either an orderId or a restockId, once")
        }
    }

    /// Whether it answers a cancel, which has the id of its order.
    private func isOfCancel() throws(MalformedMessage) -> Bool {
        if type.string == BorrowedText(AnswerContent.Kind.cancelled.type) { return true }
        return try cancel.isMarked("cancel")
    }

    private func forwardSource() throws(MalformedMessage) -> ForwardSource? {
        if from.isAbsent { return nil }
        guard let source = ForwardSource(try from.text("from")) else {
            throw MalformedMessage("from", "must be a partition and an offset, such as 3/42")
        }
        return source
    }
}

/// An answer as a client sees it. It owns its texts and needs no menu.
public struct Answer: Sendable, Hashable {
    /// The kind of the command that was answered.
    public let command: CommandKind
    /// The id of the order or restock; a cancel has its order's.
    public let id: String
    /// The store it was for.
    public let store: String
    /// The command's offset in its topic, in the partition of the answer's own number.
    public let offset: Int64
    /// Where the command was read first, if it was forwarded, such as `3/42`.
    public let from: String?
    /// What came of it.
    public let outcome: Outcome
    /// Whether the command was a repeat and this its first answer, given again.
    public let isDuplicate: Bool
    /// What to tell people, in the language of the service.
    public let message: String
    /// The store's revision after the command; nil if it changed nothing.
    public let revision: Int?

    /// What can come of a command.
    public enum Outcome: Sendable, Hashable {
        /// An order was made: the fruits used, and what is left of them.
        case juiceMade(OrderedJuices, used: [FruitAmount], left: [FruitAmount])
        /// An order could not be made: every fruit that is short, at least one.
        case outOfStock(OrderedJuices, missing: [MissingFruit])
        /// The stock was changed: the levels of the named fruits after it.
        case restocked(left: [FruitAmount])
        /// An order was taken back: the fruits returned, and their levels. Both are empty if there was nothing to return.
        case cancelled(returned: [FruitAmount], left: [FruitAmount])
        /// The command had no effect. The code is one of ``Rejection/Reason``, or one that a newer service added.
        case rejected(reason: String)
    }
}

/// What an order asked for, by the juices' ids.
public enum OrderedJuices: Sendable, Hashable {
    /// One juice.
    case single(OrderedJuice)
    /// A basket of several.
    case basket([OrderedJuice])

    /// The items: one, or those of the basket.
    public var items: [OrderedJuice] {
        switch self {
        case .single(let item): [item]
        case .basket(let items): items
        }
    }
}

/// So many of a juice.
public struct OrderedJuice: Sendable, Hashable, Codable {
    /// The juice's id.
    public let juice: String
    /// How many of it.
    public let quantity: Int

    /// So many of the juice with this id.
    public init(juice: String, quantity: Int) {
        self.juice = juice
        self.quantity = quantity
    }

    /// As programs send it: one, unless the quantity is given.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        juice = try fields.decode(String.self, forKey: .juice)
        quantity = try fields.decodeIfPresent(Int.self, forKey: .quantity) ?? 1
    }
}

extension OrderedJuice: CustomStringConvertible {
    /// For people, such as `2 × kiwi`.
    public var description: String { quantity == 1 ? juice : "\(quantity) × \(juice)" }
}

/// For programs that show answers: the fields of the record but for the ids and `used`, with lists of fruits where the record has
/// objects, since a list keeps its order in every language.
extension Answer: Encodable {
    private enum Field: String, CodingKey {
        case type, store, message, duplicate, juice, quantity, items, returned, left, missing, reason, revision
    }

    /// Writes the fields.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode("\(outcome.type)", forKey: .type)
        try fields.encode(store, forKey: .store)
        try fields.encode(message, forKey: .message)
        try fields.encode(isDuplicate, forKey: .duplicate)
        try fields.encodeIfPresent(revision, forKey: .revision)
        switch outcome {
        case .juiceMade(let juices, _, let left):
            try encode(juices, to: &fields)
            try fields.encode(left, forKey: .left)
        case .outOfStock(let juices, let missing):
            try encode(juices, to: &fields)
            try fields.encode(missing, forKey: .missing)
        case .restocked(let left): try fields.encode(left, forKey: .left)
        case .cancelled(let returned, let left):
            try fields.encode(returned, forKey: .returned)
            try fields.encode(left, forKey: .left)
        case .rejected(let reason): try fields.encode(reason, forKey: .reason)
        }
    }

    private func encode(_ juices: OrderedJuices, to fields: inout KeyedEncodingContainer<Field>) throws {
        switch juices {
        case .single(let item):
            try fields.encode(item.juice, forKey: .juice)
            try fields.encode(item.quantity, forKey: .quantity)
        case .basket(let items): try fields.encode(items, forKey: .items)
        }
    }
}

extension Answer.Outcome {
    fileprivate var type: StaticString {
        switch self {
        case .juiceMade: AnswerContent.Kind.juiceMade.type
        case .outOfStock: AnswerContent.Kind.outOfStock.type
        case .restocked: AnswerContent.Kind.restocked.type
        case .cancelled: AnswerContent.Kind.cancelled.type
        case .rejected: AnswerEncoder.rejectedType
        }
    }
}

/// Reads answers back from the results topic. Fields it does not know are ignored.
///
/// One decoder is for one thread; the answers are values of their own.
public final class AnswerDecoder {
    private let reader = JSONReader(capacity: 4096)

    /// A decoder of answers.
    public init() {}

    /// The answer in the value of a record.
    public func decode(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> Answer {
        let object = try reader.readObject(value)
        let members = AnswerMembers(of: object)
        let head = try members.head()
        let revision = try members.revision()
        return Answer(
            command: head.command, id: String(head.id), store: String(head.store), offset: head.offset, from: head.from?.text,
            outcome: try outcome(of: object, try members.type.text("type")), isDuplicate: head.isDuplicate,
            message: String(try object.text("message")), revision: revision > 0 ? revision : nil)
    }

    private func outcome(of answer: JSONObject, _ type: BorrowedText) throws(MalformedMessage) -> Answer.Outcome {
        switch AnswerContent.Kind(type: type) {
        case .juiceMade:
            return .juiceMade(try juices(of: answer), used: try answer.amounts("used"), left: try answer.amounts("left"))
        case .outOfStock: return .outOfStock(try juices(of: answer), missing: try missing(in: answer))
        case .restocked: return .restocked(left: try answer.amounts("left"))
        case .cancelled: return .cancelled(returned: try answer.amounts("returned"), left: try answer.amounts("left"))
        case nil:
            guard type == BorrowedText(AnswerEncoder.rejectedType) else {
                throw MalformedMessage("type", "no answer has this type")
            }
            return .rejected(reason: String(try answer.text("reason")))
        }
    }

    private func juices(of answer: JSONObject) throws(MalformedMessage) -> OrderedJuices {
        if answer.member("items").isAbsent { return .single(try item(answer, "", JuiceOrder.quantities)) }
        let items = try answer.objects("items") { item, place throws(MalformedMessage) in
            try self.item(item, "\(place).", JuiceOrder.basketQuantities)
        }
        guard (1...JuiceOrder.mostItems).contains(items.count) else {
            throw MalformedMessage("items", "must be 1 to \(JuiceOrder.mostItems)")
        }
        return .basket(items)
    }

    private func item(_ item: JSONObject, _ path: String, _ quantities: ClosedRange<Int>) throws(MalformedMessage) -> OrderedJuice {
        OrderedJuice(
            juice: String(try item.text("juice", in: path)), quantity: try item.integer("quantity", in: path, from: quantities))
    }

    private func missing(in answer: JSONObject) throws(MalformedMessage) -> [MissingFruit] {
        // A recipe may ask for as much as a store holds, and a basket for many juices.
        let mostNeeded = FruitStore.maximumLevel * JuiceOrder.basketQuantities.upperBound
        let missing = try answer.objects("missing") { shortage, place throws(MalformedMessage) in
            MissingFruit(
                fruit: String(try shortage.text("fruit", in: "\(place).")),
                needed: try shortage.integer("needed", in: "\(place).", from: 0...mostNeeded),
                inStock: try shortage.integer("inStock", in: "\(place).", from: 0...FruitStore.maximumLevel))
        }
        guard !missing.isEmpty else { throw MalformedMessage("missing", "must not be empty") }
        return missing
    }
}

/// An amount of a fruit.
public struct FruitAmount: Sendable, Hashable, Encodable {
    /// The fruit's id.
    public let fruit: String
    /// The amount.
    public let amount: Int

    /// An amount of the fruit with this id.
    public init(fruit: String, amount: Int) {
        self.fruit = fruit
        self.amount = amount
    }
}

/// A fruit that an order was short of.
public struct MissingFruit: Sendable, Hashable, Encodable {
    /// The fruit's id.
    public let fruit: String
    /// How many the order needed.
    public let needed: Int
    /// How many there were.
    public let inStock: Int

    /// A fruit of which there were fewer than needed.
    public init(fruit: String, needed: Int, inStock: Int) {
        self.fruit = fruit
        self.needed = needed
        self.inStock = inStock
    }
}

/// Finds gaps in the revisions of one store. It is given the store's answers in the order of the results topic.
public struct RevisionTracker: Sendable {
    private var last: Int?

    /// A tracker of a store whose first answer with a revision sets the start.
    public init() {}

    /// Adds the store's next answer.
    ///
    /// A revision below the expected one is a new start: the store was reset.
    ///
    /// - Parameter answer: the answer.
    /// - Returns: the revisions that are missing before this answer; nil if none are.
    public mutating func gap(before answer: Answer) -> ClosedRange<Int>? {
        // A duplicate repeats the revision of its first answer.
        guard !answer.isDuplicate, let revision = answer.revision else { return nil }
        defer { last = revision }
        guard let last, revision > last + 1 else { return nil }
        return last + 1...revision - 1
    }
}
