/// A record of the journal that is no answer.
///
/// It has neither key nor headers, and its value has none of `orderId`, `restockId` and `store`: no client takes it for its answer.
public enum JournalNote: Sendable, Hashable {
    /// The record at this place was forwarded to the partition that owns its store.
    case forwarded(InputPlace, to: Int32)
    /// The record at this place went to the dead letters, for the reason with this code.
    case deadLetter(InputPlace, code: String)
    /// The record at this place was forwarded to here a second time. The first one was handled.
    case copy(InputPlace)
    /// How far the inputs were read before the transaction that this note begins.
    case position(JournalPosition)
    /// A worker owns the partition from here on.
    case claim(JournalClaim)
    /// An operator moved the position: reading goes on at this place.
    case anchored(InputPlace, by: String, reason: String?)
}

/// The place of a record in an input topic.
public struct InputPlace: Sendable, Hashable {
    /// The topic.
    public let topic: InputTopic
    /// The partition; nil for that of the journal's own number.
    public let partition: Int32?
    /// The offset there.
    public let offset: Int64

    /// A place in an input topic.
    public init(topic: InputTopic, partition: Int32?, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }
}

/// All that the owner of a partition must know to read on.
public struct JournalPosition: Sendable, Hashable {
    /// The next offset of each input, in the partition of the journal's own number; only of those that have a position.
    public var next: [InputTopic: Int64]
    /// The next offsets of the partitions that were added to the inputs later, and are journalled here.
    public var added: [InputPartition: Int64]
    /// The end of the stock's partition, as far as the owner knew it.
    public var stock: Int64
    /// The offset of the owner's claim.
    public var claim: Int64
    /// The transactional ids that the owner writes with.
    public var ids: [String]
    /// The offset from which the last command of each partition was forwarded to here.
    public var forwarded: [InputPartition: Int64]

    /// A position.
    public init(
        next: [InputTopic: Int64], added: [InputPartition: Int64], stock: Int64, claim: Int64, ids: [String],
        forwarded: [InputPartition: Int64]
    ) {
        self.next = next
        self.added = added
        self.stock = stock
        self.claim = claim
        self.ids = ids
        self.forwarded = forwarded
    }
}

/// A worker's claim to a partition.
public struct JournalClaim: Sendable, Hashable {
    /// The transactional ids that it writes with.
    public var ids: [String]
    /// The journal's end that it had read up to, undecided transactions included.
    public var since: Int64
    /// Its consumer group.
    public var group: String
    /// The name of its instance.
    public var instance: String
    /// How many partitions stores live in.
    public var partitions: Int32
    /// The positions known then, for people.
    public var next: [InputTopic: Int64]

    /// A claim.
    public init(ids: [String], since: Int64, group: String, instance: String, partitions: Int32, next: [InputTopic: Int64]) {
        self.ids = ids
        self.since = since
        self.group = group
        self.instance = instance
        self.partitions = partitions
        self.next = next
    }
}

// MARK: - Writing

extension JournalNote {
    /// Appends the value of the note's record.
    public func write(into buffer: inout OutputBuffer) {
        buffer.append(#"{"type":"#)
        switch self {
        case .forwarded(let place, let to):
            buffer.append(#""forwarded""#)
            buffer.append(place)
            buffer.append(",\"to\":", Int64(to))
        case .deadLetter(let place, let code):
            buffer.append(#""deadLetter""#)
            buffer.append(place)
            buffer.append(",\"code\":", code)
        case .copy(let place):
            buffer.append(#""copy""#)
            buffer.append(place)
        case .position(let position):
            buffer.append(#""position""#)
            buffer.append(next: position.next)
            buffer.append(",\"stock\":", position.stock)
            buffer.append(",\"claim\":", position.claim)
            buffer.append(ids: position.ids)
            buffer.append(",\"added\":{", position.added)
            buffer.append(",\"forwarded\":{", position.forwarded)
        case .claim(let claim):
            buffer.append(#""claim""#)
            buffer.append(ids: claim.ids)
            buffer.append(",\"since\":", claim.since)
            buffer.append(",\"group\":", claim.group)
            buffer.append(",\"instance\":", claim.instance)
            buffer.append(",\"partitions\":", Int64(claim.partitions))
            buffer.append(next: claim.next)
        case .anchored(let place, let by, let reason):
            buffer.append(#""anchored""#)
            buffer.append(place)
            buffer.append(",\"by\":", by)
            if let reason { buffer.append(",\"reason\":", reason) }
        }
        buffer.append("}")
    }
}

extension OutputBuffer {
    fileprivate mutating func append(_ member: StaticString, _ number: Int64) {
        append(member)
        append(decimal: Int(number))
    }

    fileprivate mutating func append(_ member: StaticString, _ text: String) {
        append(member)
        append(quoted: text)
    }

    fileprivate mutating func append(_ place: InputPlace) {
        append(",\"topic\":\"")
        append(place.topic.name)
        append("\"")
        if let partition = place.partition { append(",\"partition\":", Int64(partition)) }
        append(",\"offset\":", place.offset)
    }

    fileprivate mutating func append(next: [InputTopic: Int64]) {
        for topic in InputTopic.allCases {
            guard let offset = next[topic] else { continue }
            append(",\"")
            append(topic.name)
            append("\":", offset)
        }
    }

    fileprivate mutating func append(ids: [String]) {
        append(",\"ids\":[")
        for (place, id) in ids.enumerated() { append(place == 0 ? "" : ",", id) }
        append("]")
    }

    /// Nothing if there are no offsets.
    fileprivate mutating func append(_ member: StaticString, _ offsets: [InputPartition: Int64]) {
        if offsets.isEmpty { return }
        append(member)
        for (place, (partition, offset)) in offsets.sorted(by: { $0.key < $1.key }).enumerated() {
            append(place == 0 ? "\"" : ",\"")
            append(partition.topic.name)
            append("/", Int64(partition.partition))
            append("\":", offset)
        }
        append("}")
    }
}

// MARK: - Reading

extension JournalNote {
    /// Reads the value of a record; nil if it is none of these notes.
    public init?(_ value: UnsafeRawBufferPointer) {
        guard let note = Self.reading(value, { AnswerMembers(of: $0).isNote ? try? JournalNote($0) : nil }) else { return nil }
        self = note
    }

    /// Whether the value is a note of any type, which a reader of answers skips.
    public static func isNote(_ value: UnsafeRawBufferPointer) -> Bool {
        reading(value) { AnswerMembers(of: $0).isNote } ?? false
    }

    private static func reading<Result>(_ value: UnsafeRawBufferPointer, _ read: (JSONObject) -> Result?) -> Result? {
        let reader = JSONReader(capacity: value.count)
        return withExtendedLifetime(reader) { (try? reader.readObject(value)).flatMap(read) }
    }

    /// Reads an object that is no answer; nil if no note of this version has its type.
    init?(_ note: JSONObject) throws(MalformedMessage) {
        switch try note.text("type") {
        case "forwarded": self = .forwarded(try InputPlace(note), to: try note.number("to"))
        case "deadLetter": self = .deadLetter(try InputPlace(note), code: String(try note.text("code")))
        case "copy": self = .copy(try InputPlace(note))
        case "position": self = .position(try JournalPosition(note))
        case "claim": self = .claim(try JournalClaim(note))
        case "anchored":
            let reason = note.member("reason").isAbsent ? nil : String(try note.text("reason"))
            self = .anchored(try InputPlace(note), by: String(try note.text("by")), reason: reason)
        default: return nil
        }
    }
}

extension InputPlace {
    /// Reads the place that a note names.
    init(_ note: JSONObject) throws(MalformedMessage) {
        guard let topic = InputTopic(name: try note.text("topic")) else {
            throw MalformedMessage("topic", "no input has this name")
        }
        self.init(
            topic: topic, partition: note.member("partition").isAbsent ? nil : try note.number("partition"),
            offset: try note.number("offset"))
    }
}

extension JournalPosition {
    fileprivate init(_ note: JSONObject) throws(MalformedMessage) {
        self.init(
            next: try note.next(), added: try note.offsets("added"), stock: try note.number("stock"),
            claim: try note.number("claim"), ids: try note.ids(), forwarded: try note.offsets("forwarded"))
    }
}

extension JournalClaim {
    fileprivate init(_ note: JSONObject) throws(MalformedMessage) {
        self.init(
            ids: try note.ids(), since: try note.number("since"), group: String(try note.text("group")),
            instance: String(try note.text("instance")),
            partitions: Int32(try note.integer("partitions", from: 1...Int(Int32.max))), next: try note.next())
    }
}

extension JSONObject {
    /// A number from 0 up.
    fileprivate func number<Number: FixedWidthInteger>(_ name: StaticString) throws(MalformedMessage) -> Number {
        Number(try integer(name, from: 0...Int(Number.max)))
    }

    fileprivate func next() throws(MalformedMessage) -> [InputTopic: Int64] {
        var next: [InputTopic: Int64] = [:]
        for topic in InputTopic.allCases where !member(topic.name).isAbsent { next[topic] = try number(topic.name) }
        return next
    }

    fileprivate func ids() throws(MalformedMessage) -> [String] {
        var ids: [String] = []
        for value in try array("ids") {
            guard let id = value.string else { throw MalformedMessage("ids[\(ids.count)]", "must be a string") }
            ids.append(String(id))
        }
        return ids
    }

    /// Offsets by partition; none if the member is absent.
    fileprivate func offsets(_ name: StaticString) throws(MalformedMessage) -> [InputPartition: Int64] {
        var offsets: [InputPartition: Int64] = [:]
        if member(name).isAbsent { return offsets }
        for (key, value) in try object(name) {
            guard let partition = InputPartition(key), let offset = value.integer, offset >= 0,
                offsets.updateValue(Int64(offset), forKey: partition) == nil
            else { throw MalformedMessage("\(name).\(key.clipped())", "must be an offset by partition, once") }
        }
        return offsets
    }
}

extension InputPartition {
    /// Reads the text form, such as `orders/3`.
    fileprivate init?(_ text: BorrowedText) {
        guard let slash = text.bytes.firstIndex(of: UInt8(ascii: "/")),
            let topic = InputTopic(name: BorrowedText(UnsafeRawBufferPointer(rebasing: text.bytes[..<slash]))),
            let number = UnsafeRawBufferPointer(rebasing: text.bytes[(slash + 1)...]).decimal,
            let partition = Int32(exactly: number)
        else { return nil }
        self.init(topic: topic, partition: partition)
    }
}
