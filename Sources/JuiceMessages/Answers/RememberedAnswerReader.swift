import JuiceMaker

/// What is remembered of an answer, as a record of the results topic has it.
public struct RememberedAnswer {
    /// The command that it answers. Its texts are valid until the reader reads again.
    public let head: AnswerHead
    /// The answer in 16 bytes, if writing it again gives the record's value to the byte.
    ///
    /// `nil` if an ``AnswerTemplate`` of the value is needed: the answer is a rejection, does not fit, or was written in
    /// another language or by another menu.
    public let compact: CompactAnswer?
}

/// Reads answers back from the results topic, to remember them. Made for a million of them.
///
/// Reading an answer allocates no memory. One reader is for one thread.
public final class RememberedAnswerReader {
    private let reader = JSONReader(capacity: 4096)
    private let encoder: AnswerEncoder
    private let menu: Menu
    private let juices: ByteKeyTable
    private let fruits: ByteKeyTable
    // Kept from record to record.
    private var rewritten = OutputBuffer()
    private var content = AnswerContent()

    /// A reader of answers which this encoder is to write again.
    public init(encoder: AnswerEncoder) {
        self.encoder = encoder
        menu = encoder.phrasebook.menu
        juices = ByteKeyTable(keys: menu.juices.lazy.map(\.id))
        fruits = ByteKeyTable(keys: menu.fruits.lazy.map(\.id))
    }

    /// The answer in the value of a record.
    ///
    /// - Throws: ``MalformedMessage`` for what could not be given again: an answer whose first member is not its type, or
    ///   with an id or store that no command can have. An unknown type, of a newer service, is no fault.
    public func read(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> RememberedAnswer {
        let answer = try reader.readObject(value)
        try checkType(of: answer)
        let head = try answer.answerHead()
        try check(head.id, longest: CommandKind.maximumIDLength, head.command.idField)
        try check(head.store, longest: StoreID.maximumLength, "store")
        return RememberedAnswer(head: head, compact: compact(answer, head, value))
    }

    // The answer to a repeat has its mark after the first comma: that must be the one after the type.
    private func checkType(of answer: JSONObject) throws(MalformedMessage) {
        let type = try answer.text("type")
        guard answer.first(where: { _ in true })?.key == BorrowedText("type") else {
            throw MalformedMessage("type", "must be the first member")
        }
        guard !type.bytes.contains(UInt8(ascii: ",")) else {
            throw MalformedMessage("type", "must not have a comma")
        }
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

    private func compact(
        _ answer: JSONObject,
        _ head: AnswerHead,
        _ value: UnsafeRawBufferPointer
    ) -> CompactAnswer? {
        guard readContent(of: answer), let compact = CompactAnswer(content) else { return nil }
        rewritten.removeAll()
        encoder.write(content, head, into: &rewritten)
        return rewritten.unsafeBytes.hasSameBytes(as: value) ? compact : nil
    }
}

// What an answer says. Writing it again shows whether that is all it says, and whether all names are right: this looks up
// only what the writing needs.
extension RememberedAnswerReader {
    /// Sets the content; false if the answer is none that the encoder writes.
    private func readContent(of answer: JSONObject) -> Bool {
        switch answer["type"]?.string.flatMap(AnswerContent.Kind.init(type:)) {
        case .juiceMade: readJuiceMade(answer)
        case .outOfStock: readOutOfStock(answer)
        case .restocked: readRestocked(answer)
        case nil: false
        }
    }

    private func readJuiceMade(_ answer: JSONObject) -> Bool {
        guard let recipe = beginOrder(.juiceMade, answer), let left = answer["left"]?.object else {
            return false
        }
        var ingredients = recipe.makeIterator()
        for (_, level) in left {
            guard let ingredient = ingredients.next(), let level = level.amount else { return false }
            content.append(ingredient.fruit, level)
        }
        return ingredients.next() == nil
    }

    private func readOutOfStock(_ answer: JSONObject) -> Bool {
        guard let recipe = beginOrder(.outOfStock, answer), let missing = answer["missing"]?.array else {
            return false
        }
        // The fruits that are short are some of the recipe's, in its order.
        var shortages = missing.makeIterator()
        var next = shortages.next()?.object
        for ingredient in recipe {
            if let short = next, let inStock = short["inStock"]?.amount, let fruit = short["fruit"]?.string,
                isName(fruit, ofFruit: ingredient.fruit)
            {
                content.append(ingredient.fruit, inStock)
                next = shortages.next()?.object
            } else {
                content.append(ingredient.fruit, AnswerContent.Level.enough)
            }
        }
        return true
    }

    private func readRestocked(_ answer: JSONObject) -> Bool {
        guard let left = answer["left"]?.object else { return false }
        content.begin(.restocked)
        var fruit = 0
        for (name, level) in left {
            // The fruits are in the order of the menu: the next one is not far.
            while fruit < fruits.count, !isName(name, ofFruit: fruit) { fruit += 1 }
            guard fruit < fruits.count, let level = level.amount else { return false }
            content.append(fruit, level)
        }
        return content.count > 0
    }

    /// Begins the content of an answer to an order, and returns the juice's recipe.
    private func beginOrder(_ kind: AnswerContent.Kind, _ answer: JSONObject) -> [Ingredient]? {
        guard let id = answer["juice"]?.string, let juice = juices.find(id.bytes),
            let quantity = answer["quantity"]?.integer, JuiceMaker.quantities.contains(quantity)
        else { return nil }
        content.begin(kind, JuiceOrder(juice: juice, quantity: quantity))
        return menu.juices[juice].recipe
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
