import JuiceMaker

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
