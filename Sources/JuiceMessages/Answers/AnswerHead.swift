/// What an answer says of the command that it answers. The rest is its ``AnswerContent``, or its ``Rejection``.
public struct AnswerHead {
    /// The command's id.
    public let id: BorrowedText
    /// The store that the command was for.
    public let store: BorrowedText
    /// The kind of the command.
    public let command: CommandKind
    /// Whether the command was a repeat, and this is its first answer given again.
    public internal(set) var isDuplicate = false

    /// The head of a first answer.
    public init(_ command: CommandKind, id: BorrowedText, store: BorrowedText) {
        self.command = command
        self.id = id
        self.store = store
    }

    /// The head of the same answer, given again to a repeat.
    public var duplicate: AnswerHead {
        var head = self
        head.isDuplicate = true
        return head
    }
}

// The members that all answers begin with, in the pieces in which they are written: `{"type":"rejected","duplicate":true`
// and then `,"orderId":"pos-7-000123","store":"gangnam`, which leaves the store's string open.
extension OutputBuffer {
    mutating func append(type: StaticString, isDuplicate: Bool) {
        append(#"{"type":""#)
        append(type)
        append("\"")
        if isDuplicate { append(AnswerHead.duplicateMember) }
    }

    mutating func append(idFieldOf command: CommandKind) {
        append(",\"")
        append(command.idField)
        append(#"":""#)
    }

    mutating func append(idAndStoreOf head: AnswerHead) {
        append(escaped: head.id)
        append(AnswerHead.storeMember)
        append(escaped: head.store)
    }
}

extension AnswerHead {
    static var storeMember: StaticString { #"","store":""# }
    static var duplicateMember: StaticString { #","duplicate":true"# }
}

extension JSONObject {
    /// The head of the answer that this is.
    func answerHead() throws(MalformedMessage) -> AnswerHead {
        let command = try answeredCommand()
        var head = AnswerHead(command, id: try text(command.idField), store: try text("store"))
        head.isDuplicate = try isDuplicateAnswer()
        return head
    }

    private func answeredCommand() throws(MalformedMessage) -> CommandKind {
        switch (member(CommandKind.order.idField), member(CommandKind.restock.idField)) {
        case (.value, .absent): return isAnswerToCancel ? .cancel : .order
        case (.absent, .value): return .restock
        default: throw MalformedMessage("", "must have either an orderId or a restockId, once")
        }
    }

    /// An order and its cancel have one id. Only a cancel is answered by these.
    private var isAnswerToCancel: Bool {
        guard case .value(let value) = member("type"), let type = value.string else { return false }
        return type == BorrowedText(AnswerContent.Kind.cancelled.type)
            || type == BorrowedText(AnswerEncoder.rejectedType) && hasReason(.wouldOverflow)
    }

    private func isDuplicateAnswer() throws(MalformedMessage) -> Bool {
        if case .absent = member("duplicate") { return false }
        return try boolean("duplicate")
    }
}
