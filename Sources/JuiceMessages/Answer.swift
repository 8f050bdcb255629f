import JuiceDomain

/// An answer as a client sees it. It owns its texts and needs no menu.
package struct Answer: Sendable, Hashable {
    package let command: CommandKind
    /// The id of the order or restock; a cancel has its order's.
    package let id: String
    package let store: String
    /// The command's offset in its topic, in the partition with the answer's own number.
    package let offset: Int64
    /// Where the command was read first, if it was forwarded, such as `3/42`.
    package let from: String?
    package let type: AnswerType
    package let outcome: Outcome
    /// Whether the command was a repeat and this is its first answer, given again.
    package let isDuplicate: Bool
    /// In the language of the service.
    package let message: String
    /// The store's revision after the command; nil if it changed nothing.
    package let revision: Int?

    package enum Outcome: Sendable, Hashable {
        /// An order was made: the fruits used, and what is left of them.
        case juiceMade([OrderedJuice], used: [FruitAmount], left: [FruitAmount])
        /// An order could not be made: every fruit that is short, at least one.
        case outOfStock([OrderedJuice], missing: [MissingFruit])
        /// The stock was changed: the levels of the named fruits after it.
        case restocked(left: [FruitAmount])
        /// An order was taken back: the fruits returned, and their levels. Both are empty if there was nothing to return.
        case cancelled(returned: [FruitAmount], left: [FruitAmount])
        /// The command had no effect. The reason is one of the contract's, or one that a newer service added.
        case rejected(reason: String)
        /// The command was a repeat, or the cancel of an order that was made, and the first answer is lost. This time, the command
        /// changed nothing. `was` names a ``FormerOutcome``, or one that a newer service added.
        case answerLost(was: String)

        /// What an order used, or a cancel returned.
        package var amounts: [FruitAmount] {
            switch self {
            case .juiceMade(_, let amounts, _), .cancelled(let amounts, _): amounts
            case .outOfStock, .restocked, .rejected, .answerLost: []
            }
        }

        /// The levels, after the command, of the fruits that it used, changed or returned.
        package var left: [FruitAmount] {
            switch self {
            case .juiceMade(_, _, let left), .restocked(let left), .cancelled(_, let left): left
            case .outOfStock, .rejected, .answerLost: []
            }
        }
    }
}

/// The types of answers.
public enum AnswerType: Int, Sendable, CaseIterable {
    case juiceMade, outOfStock, restocked, cancelled, rejected, answerLost

    init?(_ name: BorrowedText) {
        guard let type = Self.allCases.first(where: { $0.name == String(name) }) else { return nil }
        self = type
    }

    /// As the member `type` names it.
    package var name: String { "\(self)" }

    /// The word for it in lists.
    package var word: String { [.juiceMade: "made", .outOfStock: "out of stock", .answerLost: "answer lost"][self] ?? name }
}

/// How many answers there are of each type.
package struct AnswerCounts: Sendable, Hashable, Encodable {
    // In place, with room for eight types: a dictionary would allocate, and hash for each order.
    private var counts = SIMD8<Int>()

    package init() {}

    package subscript(type: AnswerType) -> Int {
        get { counts[type.rawValue] }
        set { counts[type.rawValue] = newValue }
    }

    /// Counts an answer. In place: the subscript would copy the whole vector for each order.
    package mutating func add(_ type: AnswerType) {
        withUnsafeMutableBytes(of: &counts) { $0.assumingMemoryBound(to: Int.self)[type.rawValue] += 1 }
    }

    /// How many there are of all types.
    package var total: Int { counts.wrappedSum() }

    package static func += (counts: inout AnswerCounts, other: AnswerCounts) { counts.counts &+= other.counts }

    /// Encodes the counts by the types' names.
    package func encode(to encoder: any Encoder) throws {
        try Dictionary(uniqueKeysWithValues: AnswerType.allCases.map { ($0.name, self[$0]) }).encode(to: encoder)
    }
}

/// What became of a command, as far as that is known without its first answer.
public enum FormerOutcome: UInt32, Sendable, CaseIterable {
    /// It was carried out.
    case made
    /// It was rejected, or an order that was out of stock.
    case notMade
    /// The order was cancelled.
    case cancelled

    /// What became of a command; for a cancel that was not carried out, of its order.
    @inlinable
    package init(of command: CommandKind, isCarriedOut: Bool) {
        switch command {
        case .order, .restock: self = isCarriedOut ? .made : .notMade
        case .cancel: self = isCarriedOut ? .cancelled : .made
        }
    }

    /// As the member `was` names it.
    public var name: String { "\(self)" }
}

/// A quantity of a juice, by its id.
package struct OrderedJuice: Sendable, Hashable, CustomStringConvertible {
    package let juice: String
    package let quantity: Int

    package init(juice: String, quantity: Int = 1) { (self.juice, self.quantity) = (juice, quantity) }

    /// Such as `2 × kiwi`.
    package var description: String { quantity == 1 ? juice : "\(quantity) × \(juice)" }
}

/// An amount of a fruit, by its id.
package struct FruitAmount: Sendable, Hashable {
    package let fruit: String
    package let amount: Int

    package init(fruit: String, amount: Int) { (self.fruit, self.amount) = (fruit, amount) }
}

/// A fruit that an order was short of.
package struct MissingFruit: Sendable, Hashable {
    package let fruit: String
    package let needed, inStock: Int
}

/// Reads answers back from the results topic. Fields it does not know are ignored.
///
/// One decoder is for one thread; the answers are values of their own.
package final class AnswerDecoder {
    private let reader = JSONReader(capacity: 4096)

    package init() {}

    package func decode(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> Answer {
        try Answer(try reader.readObject(value))
    }
}

extension Answer {
    init(_ object: JSONObject) throws(MalformedMessage) {
        let members = AnswerMembers(of: object)
        let head = try members.head()
        let revision = try members.revision()
        guard let type = AnswerType(try members.type.text("type")) else {
            throw MalformedMessage("type", "no answer has this type")
        }
        self.init(
            command: head.command, id: String(head.id), store: String(head.store), offset: head.offset, from: head.from?.header,
            type: type, outcome: try Outcome(object, type), isDuplicate: head.isDuplicate,
            message: try object.text("message"), revision: revision > 0 ? revision : nil)
    }
}

extension Answer.Outcome {
    fileprivate init(_ answer: JSONObject, _ type: AnswerType) throws(MalformedMessage) {
        self =
            switch type {
            case .juiceMade: .juiceMade(try answer.juices(), used: try answer.amounts("used"), left: try answer.amounts("left"))
            case .outOfStock: .outOfStock(try answer.juices(), missing: try answer.missing())
            case .restocked: .restocked(left: try answer.amounts("left"))
            case .cancelled: .cancelled(returned: try answer.amounts("returned"), left: try answer.amounts("left"))
            case .rejected: .rejected(reason: try answer.text("reason"))
            case .answerLost: .answerLost(was: try answer.text("was"))
            }
    }
}

extension JSONObject {
    /// The items of a basket, or the only one.
    fileprivate func juices() throws(MalformedMessage) -> [OrderedJuice] {
        if member("items").isAbsent { return [try ordered("", JuiceOrder.quantities)] }
        let items = try objects("items") { item, path throws(MalformedMessage) in
            try item.ordered("\(path).", JuiceOrder.basketQuantities)
        }
        guard (1...JuiceOrder.mostItems).contains(items.count) else {
            throw MalformedMessage("items", "must be 1 to \(JuiceOrder.mostItems)")
        }
        return items
    }

    private func ordered(_ path: String, _ quantities: ClosedRange<Int>) throws(MalformedMessage) -> OrderedJuice {
        OrderedJuice(juice: try text("juice", in: path), quantity: try integer("quantity", in: path, from: quantities))
    }

    fileprivate func missing() throws(MalformedMessage) -> [MissingFruit] {
        // A recipe may ask for as much as a store holds, and a basket for many juices.
        let mostNeeded = FruitStore.maximumLevel * JuiceOrder.basketQuantities.upperBound
        let missing = try objects("missing") { shortage, path throws(MalformedMessage) in
            MissingFruit(
                fruit: try shortage.text("fruit", in: "\(path)."),
                needed: try shortage.integer("needed", in: "\(path).", from: 0...mostNeeded),
                inStock: try shortage.integer("inStock", in: "\(path).", from: 0...FruitStore.maximumLevel))
        }
        guard !missing.isEmpty else { throw MalformedMessage("missing", "must not be empty") }
        return missing
    }
}

/// The members that any answer may have, found in one pass.
struct AnswerMembers {
    private(set) var type = JSONObject.Member.absent
    private(set) var reason = JSONObject.Member.absent
    private(set) var left = JSONObject.Member.absent
    private(set) var was = JSONObject.Member.absent
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
            case "was": was.add(value)
            default: break
            }
        }
    }

    /// Whether it answers no command: it is a note of the journal.
    var isNote: Bool { orderID.isAbsent && restockID.isAbsent }

    func head() throws(MalformedMessage) -> AnswerHead {
        let command = try answeredCommand()
        let id = try (command == .restock ? restockID : orderID).text("\(command.idField)")
        let (store, offset) = (try store.text("store"), Int64(try offset.integer("offset", from: 0 ... .max)))
        var head = AnswerHead(command, id: id, store: store, offset: offset)
        if !from.isAbsent {
            head.from = RecordPosition(try from.text("from"))
            guard head.from != nil else { throw MalformedMessage("from", "must be a partition and an offset, such as 3/42") }
        }
        head.isDuplicate = try duplicate.isMarked("duplicate")
        return head
    }

    /// The store's revision after the command; 0 if the command changed nothing.
    func revision() throws(MalformedMessage) -> Int {
        changes.isAbsent ? 0 : try changes.integer("revision", from: 1 ... .max)
    }

    /// A cancel has the id of its order.
    private func answeredCommand() throws(MalformedMessage) -> CommandKind {
        switch (orderID, restockID) {
        case (.value, .absent):
            if type.string == BorrowedText("cancelled") { return .cancel }
            return try cancel.isMarked("cancel") ? .cancel : .order
        case (.absent, .value): return .restock
        default: throw MalformedMessage("", "must have either an orderId or a restockId, once")
        }
    }
}

/// Finds gaps in the revisions of one store, given its answers in the order of the results topic.
package struct RevisionTracker: Sendable {
    private var last: Int?

    package init() {}

    /// Adds the store's next answer, and returns the revisions that are missing before it; nil if none are. A revision below the
    /// expected one is a new start: the store was reset.
    package mutating func gap(before answer: Answer) -> ClosedRange<Int>? {
        // A duplicate repeats the revision of its first answer.
        guard !answer.isDuplicate, let revision = answer.revision else { return nil }
        defer { last = revision }
        guard let last, revision > last + 1 else { return nil }
        return last + 1...revision - 1
    }
}
