import JuiceMaker

/// An answer as a client sees it. It owns its texts and needs no menu.
public struct Answer: Sendable, Hashable {
    /// Whether an order or a restock was answered.
    public let command: CommandKind
    /// The id of the order or restock.
    public let id: String
    /// The store it was for.
    public let store: String
    /// What came of it.
    public let outcome: Outcome
    /// Whether the command was a repeat and this its first answer, given again.
    public let isDuplicate: Bool
    /// What to tell people, in the language of the service.
    public let message: String

    /// What can come of a command.
    public enum Outcome: Sendable, Hashable {
        /// `quantity` of the juice were made: the fruits used, and what is left of them.
        case juiceMade(juice: String, quantity: Int, used: [FruitAmount], left: [FruitAmount])
        /// The juice could not be made: every fruit that is short, at least one.
        case outOfStock(juice: String, quantity: Int, missing: [MissingFruit])
        /// The stock was changed: the levels of the named fruits after it.
        case restocked(left: [FruitAmount])
        /// The command had no effect. The code is one of ``Rejection/Reason``, or one that a newer service added.
        case rejected(reason: String)
    }
}

/// For programs that show answers: the fields of the record but for the ids and `used`, with lists of fruits where the record has
/// objects, since a list keeps its order in every language.
extension Answer: Encodable {
    private enum Field: String, CodingKey {
        case type, store, message, duplicate, juice, quantity, left, missing, reason
    }

    /// Writes the fields.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(store, forKey: .store)
        try fields.encode(message, forKey: .message)
        try fields.encode(isDuplicate, forKey: .duplicate)
        switch outcome {
        case .juiceMade(let juice, let quantity, _, let left):
            try fields.encode("\(AnswerContent.Kind.juiceMade.type)", forKey: .type)
            try fields.encode(juice, forKey: .juice)
            try fields.encode(quantity, forKey: .quantity)
            try fields.encode(left, forKey: .left)
        case .outOfStock(let juice, let quantity, let missing):
            try fields.encode("\(AnswerContent.Kind.outOfStock.type)", forKey: .type)
            try fields.encode(juice, forKey: .juice)
            try fields.encode(quantity, forKey: .quantity)
            try fields.encode(missing, forKey: .missing)
        case .restocked(let left):
            try fields.encode("\(AnswerContent.Kind.restocked.type)", forKey: .type)
            try fields.encode(left, forKey: .left)
        case .rejected(let reason):
            try fields.encode("\(AnswerEncoder.rejectedType)", forKey: .type)
            try fields.encode(reason, forKey: .reason)
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
        let head = try object.answerHead()
        return Answer(
            command: head.command,
            id: String(head.id),
            store: String(head.store),
            outcome: try outcome(of: object),
            isDuplicate: head.isDuplicate,
            message: String(try object.text("message"))
        )
    }

    private func outcome(of answer: JSONObject) throws(MalformedMessage) -> Answer.Outcome {
        let type = try answer.text("type")
        switch AnswerContent.Kind(type: type) {
        case .juiceMade:
            return .juiceMade(
                juice: String(try answer.text("juice")),
                quantity: try answer.integer("quantity", from: JuiceMaker.quantities),
                used: try answer.amounts("used"),
                left: try answer.amounts("left")
            )
        case .outOfStock:
            return .outOfStock(
                juice: String(try answer.text("juice")),
                quantity: try answer.integer("quantity", from: JuiceMaker.quantities),
                missing: try missing(in: answer)
            )
        case .restocked:
            return .restocked(left: try answer.amounts("left"))
        case nil:
            guard type == BorrowedText(AnswerEncoder.rejectedType) else {
                throw MalformedMessage("type", "no answer has this type")
            }
            return .rejected(reason: String(try answer.text("reason")))
        }
    }

    private func missing(in answer: JSONObject) throws(MalformedMessage) -> [MissingFruit] {
        // A recipe may ask for as much as a store holds, and an order for many juices.
        let mostNeeded = FruitStore.maximumLevel * JuiceMaker.quantities.upperBound
        let missing = try answer.objects("missing") { shortage, place throws(MalformedMessage) in
            MissingFruit(
                fruit: String(try shortage.text("fruit", in: "\(place).")),
                needed: try shortage.integer("needed", in: "\(place).", from: 0...mostNeeded),
                inStock: try shortage.integer("inStock", in: "\(place).", from: 0...FruitStore.maximumLevel)
            )
        }
        guard !missing.isEmpty else { throw MalformedMessage("missing", "must not be empty") }
        return missing
    }
}
