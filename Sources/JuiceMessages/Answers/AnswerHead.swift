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
