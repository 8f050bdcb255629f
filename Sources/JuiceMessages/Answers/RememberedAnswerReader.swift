import JuiceMaker

/// What is remembered of an answer, as a record of the results topic has it.
public struct RememberedAnswer {
    /// What was answered: an order or a restock.
    public let command: CommandKind
    /// The id of the order or restock, valid until the reader reads again.
    public let id: BorrowedText
    /// The store it was for, valid until the reader reads again.
    public let store: BorrowedText
    /// Whether the command was a repeat and this its first answer, given again.
    public let isDuplicate: Bool
    /// The answer in 16 bytes, if writing that gives the record's value again, to the byte. If not, because it is a
    /// rejection, has too many numbers or ones that no store can have, or was written in another language or by another
    /// menu, an ``AnswerTemplate`` of the value is needed.
    public let compact: CompactAnswer?
}

/// Reads answers back from the results topic, to remember them. Made for a million of them.
///
/// Reading an answer takes no memory. One reader is for one thread.
public final class RememberedAnswerReader {
    private let reader = JSONReader(capacity: 4096)
    private let encoder: AnswerEncoder
    private let juices: ByteKeyTable
    private let fruits: ByteKeyTable
    // Kept from record to record.
    private var rewritten = OutputBuffer()
    private var levels: [(fruit: Int, level: Int)] = []

    /// A reader of answers which this encoder is to write again.
    public init(encoder: AnswerEncoder) {
        self.encoder = encoder
        juices = ByteKeyTable(keys: encoder.phrasebook.menu.juices.lazy.map(\.id))
        fruits = ByteKeyTable(keys: encoder.phrasebook.menu.fruits.lazy.map(\.id))
    }

    /// The answer in the value of a record.
    ///
    /// Refuses what could not be given again: an answer without a type as its first member, or with an id or store that
    /// no command can have. An unknown type, of a newer service, is none of its business.
    public func read(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> RememberedAnswer {
        let answer = try reader.readObject(value)
        let type = try type(of: answer)
        let command = try answer.answeredCommand()
        let id = try name(command.idField, longest: CommandKind.maximumIDLength, in: answer)
        let store = try name("store", longest: StoreID.maximumLength, in: answer)
        let isDuplicate = try answer.isDuplicateAnswer()

        var compact = compact(answer, type: type)
        if let made = compact {
            rewritten.removeAll()
            let isOfMenu = encoder.write(made, id: id, store: store, duplicate: isDuplicate, into: &rewritten)
            let isSame = rewritten.unsafeBytes.hasSameBytes(as: value)
            if !isOfMenu || !isSame { compact = nil }
        }
        return RememberedAnswer(
            command: command,
            id: id,
            store: store,
            isDuplicate: isDuplicate,
            compact: compact
        )
    }

    // The answer to a repeat has its mark after the first comma: that is only right after a type without one.
    private func type(of answer: JSONObject) throws(MalformedMessage) -> BorrowedText {
        let type = try answer.text("type")
        guard answer.first(where: { _ in true })?.key == BorrowedText("type") else {
            throw MalformedMessage("type", "must be the first member")
        }
        guard !type.bytes.contains(UInt8(ascii: ",")) else {
            throw MalformedMessage("type", "must not have a comma")
        }
        return type
    }

    private func name(
        _ field: StaticString,
        longest: Int,
        in answer: JSONObject
    ) throws(MalformedMessage) -> BorrowedText {
        let name = try answer.text(field)
        guard (1...longest).contains(name.bytes.count) else {
            throw MalformedMessage("\(field)", "must be of 1 to \(longest) bytes")
        }
        return name
    }
}

// The numbers of an answer. Whether they are all there is to it, and all its names right, is seen when it is written
// again: what is looked up here is only what that needs.
extension RememberedAnswerReader {
    private func compact(_ answer: JSONObject, type: BorrowedText) -> CompactAnswer? {
        switch type {
        case BorrowedText("juiceMade"): juiceMade(answer)
        case BorrowedText("outOfStock"): outOfStock(answer)
        case BorrowedText("restocked"): restocked(answer)
        default: nil
        }
    }

    private func juiceMade(_ answer: JSONObject) -> CompactAnswer? {
        guard let juice = juice(of: answer), let quantity = answer["quantity"]?.integer,
            let left = answer["left"]?.object
        else { return nil }
        var numbers = CompactNumbers()
        numbers.append(juice)
        numbers.append(quantity)
        for (_, level) in left {
            guard let level = level.amount else { return nil }
            numbers.append(level)
        }
        return CompactAnswer(.juiceMade, numbers)
    }

    private func outOfStock(_ answer: JSONObject) -> CompactAnswer? {
        guard let juice = juice(of: answer), let quantity = answer["quantity"]?.integer,
            let missing = answer["missing"]?.array
        else { return nil }
        var shortages = missing.makeIterator()
        var next = shortages.next()?.object
        return encoder.compactOutOfStock(juice: juice, quantity: quantity) { ingredient in
            guard let short = next, let inStock = short["inStock"]?.amount,
                let fruit = short["fruit"]?.string, isName(fruit, ofFruit: ingredient.fruit)
            else { return nil }
            next = shortages.next()?.object
            return inStock
        }
    }

    private func restocked(_ answer: JSONObject) -> CompactAnswer? {
        guard let left = answer["left"]?.object else { return nil }
        levels.removeAll(keepingCapacity: true)
        var fruit = 0
        for (name, level) in left {
            // The fruits are in the order of the menu: the next one is not far.
            while fruit < fruits.count, !isName(name, ofFruit: fruit) { fruit += 1 }
            guard fruit < fruits.count, let level = level.amount else { return nil }
            levels.append((fruit, level))
        }
        return encoder.compactRestocked(left: levels)
    }

    private func isName(_ name: BorrowedText, ofFruit fruit: Int) -> Bool {
        fruits.withKey(at: fruit) { name.bytes.hasSameBytes(as: $0) }
    }

    private func juice(of answer: JSONObject) -> Int? {
        (answer["juice"]?.string).flatMap { juices.find($0.bytes) }
    }
}

extension JSONObject {
    /// The only value of this name, if there is one.
    fileprivate subscript(name: StaticString) -> JSONValue? {
        guard case .value(let value) = member(name) else { return nil }
        return value
    }
}
