/// The answers of one partition, in their order, with a bounded look ahead.
struct AnswerQueue {
    /// The command that an answer names.
    struct Reference {
        let kind: CommandKind
        let store: Int
        let identity: Hash128
        /// The identity of a cancel's order; of others, their own.
        let remembered: Hash128
    }

    private struct Ahead {
        let record: AuditRecord
        let reference: Reference?
    }

    private var cursor: RecordCursor
    private var ahead = Queue<Ahead>()
    private var json = JSONReader()
    private let menu: AuditMenu
    /// Whether no answer has expired.
    var isWhole: Bool { cursor.bounds.first == 0 }

    init(_ cursor: RecordCursor, _ menu: AuditMenu) { (self.cursor, self.menu) = (cursor, menu) }

    mutating func next() throws -> AuditRecord? {
        if let first = ahead.popFirst() { return first.record }
        return try cursor.next()
    }

    /// How many answers of a topic ahead the one to `identity` is; nil if it is not near.
    mutating func distance(
        to identity: Hash128,
        of topic: AuditTopic,
        _ names: inout Names
    ) throws -> Int? {
        var distance = 0
        for place in 0..<Alignment.lookahead {
            guard let answer = try answer(at: place, &names) else { return nil }
            guard let found = answer.reference, found.kind.topic == topic else { continue }
            distance += 1
            if found.identity == identity { return distance }
        }
        return nil
    }

    /// The commands of a topic that the next answers name, and whether no answer is left after them.
    mutating func identities(
        of topic: AuditTopic,
        atMost count: Int,
        _ names: inout Names
    ) throws -> (identities: [Hash128], areLast: Bool) {
        var identities: [Hash128] = []
        for place in 0..<Alignment.lookahead where identities.count < count {
            guard let answer = try answer(at: place, &names) else { return (identities, true) }
            if let found = answer.reference, found.kind.topic == topic { identities.append(found.identity) }
        }
        return (identities, false)
    }

    private mutating func answer(at place: Int, _ names: inout Names) throws -> Ahead? {
        while ahead.count <= place {
            guard let record = try cursor.next() else { return nil }
            let reference = record.value?.withUnsafeBufferPointer { value in
                json.read(value) ? AnswerCheck(json: json, menu: menu).reference(&names) : nil
            }
            ahead.append(Ahead(record: record, reference: reference ?? nil))
        }
        return ahead[place]
    }
}

extension AnswerCheck {
    /// The command that the answer names; nil if it names none.
    func reference(_ names: inout Names) -> AnswerQueue.Reference? {
        guard json.tokens[0].kind == .object else { return nil }
        for topic in AuditTopic.inputs {
            guard let id = json.value(topic.idField).flatMap(json.string) else { continue }
            guard let name = json.value("store").flatMap(json.string), let store = names.store(name) else {
                return nil
            }
            let kind: CommandKind = topic == .restocks ? .restock : isOfCancel ? .cancel : .order
            let identity = names.identity(kind, store: store, id: id)
            let order = kind == .cancel ? names.identity(.order, store: store, id: id) : identity
            return AnswerQueue.Reference(kind: kind, store: store, identity: identity, remembered: order)
        }
        return nil
    }

    /// The id of the command, as faults show it.
    var id: UnsafeBufferPointer<UInt8> {
        let ids = AuditTopic.inputs.lazy.compactMap { topic in json.value(topic.idField).flatMap(json.string)
        }
        return ids.first ?? UnsafeBufferPointer(start: nil, count: 0)
    }

    /// Whether an answer with an order's id is that of a cancel. No order is rejected because fruits would be too many.
    private var isOfCancel: Bool { isType("cancelled") || isRejected(.wouldOverflow) }
}
