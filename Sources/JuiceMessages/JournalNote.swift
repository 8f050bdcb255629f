/// A record of the journal that is not an answer.
///
/// It has no key, no header but `juice.sent`, no command's id and no `store`, so that no client takes it for its answer.
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
    ///
    /// In a copy of another cluster's topics, `copied` is the offset of that place there. All earlier journal records use the
    /// offsets of that cluster.
    case anchored(InputPlace, by: String, reason: String?, copied: Int64? = nil)
}

/// The place of a record in an input topic.
public struct InputPlace: Sendable, Hashable {
    /// The topic.
    public let topic: InputTopic
    /// The partition; nil for the one with the journal's own number.
    public let partition: Int32?
    /// The offset there.
    public let offset: Int64
    /// The digest of the record there, if it was noted without an answer; otherwise nil.
    public let digest: RecordDigest?

    /// A place in an input topic.
    public init(topic: InputTopic, partition: Int32?, offset: Int64, digest: RecordDigest? = nil) {
        (self.topic, self.partition, self.offset, self.digest) = (topic, partition, offset, digest)
    }
}

/// All that the owner of a partition must know to read on.
public struct JournalPosition: Sendable, Hashable {
    /// The next offset of each input, in the partition of the journal's own number; only inputs that have a position.
    public var next: [InputTopic: Int64]
    /// The next offsets of the partitions that were added to the inputs later, and are journalled here.
    public var added: [InputPartition: Int64]
    /// The offset of the owner's claim.
    public var claim: Int64
    /// The transactional ids that the owner writes with.
    public var ids: [String]
    /// For each partition, the offset of the last command that was forwarded from there to here.
    public var forwarded: [InputPartition: Int64]
    /// The counts that the note vouches for; nil if it has none.
    public var account: JournalAccount?
    /// The last handled record of each input, since the last anchor.
    public var last: [InputPartition: HandledRecord]

    /// A position.
    public init(
        next: [InputTopic: Int64], added: [InputPartition: Int64], claim: Int64, ids: [String],
        forwarded: [InputPartition: Int64], account: JournalAccount?, last: [InputPartition: HandledRecord] = [:]
    ) {
        (self.next, self.added, self.claim, self.ids) = (next, added, claim, ids)
        (self.forwarded, self.account, self.last) = (forwarded, account, last)
    }
}

/// A worker's claim to a partition.
public struct JournalClaim: Sendable, Hashable {
    /// The transactional ids that it writes with.
    public var ids: [String]
    /// The end of the journal, undecided transactions included, up to which the worker had read.
    public var since: Int64
    /// The ids of others that it fenced before.
    public var fenced: [String]
    /// Its consumer group.
    public var group: String
    /// The name of its instance.
    public var instance: String
    /// How many partitions hold stores.
    public var partitions: Int32
    /// The positions known at that time, for information only.
    public var next: [InputTopic: Int64]
    /// How many processes in a row, this one included, claimed the partition while it had commands to read, and handled none before
    /// this claim; 0 if there was nothing to read.
    public var attempt: Int
    /// The process; empty if `attempt` is 0.
    public var process: String

    /// A claim.
    public init(
        ids: [String], since: Int64, fenced: [String] = [], group: String, instance: String, partitions: Int32,
        next: [InputTopic: Int64], attempt: Int = 0, process: String = ""
    ) {
        (self.ids, self.since, self.fenced, self.group) = (ids, since, fenced, group)
        (self.instance, self.partitions, self.next) = (instance, partitions, next)
        (self.attempt, self.process) = (attempt, process)
    }
}

// MARK: - Writing

extension JournalNote {
    /// Appends the value of the note's record.
    public func write(into buffer: inout OutputBuffer) {
        let (type, members): (String, [JSONText]) =
            switch self {
            case .forwarded(let place, let to): ("forwarded", place.members + [#""to":\#(to)"#] + place.digest.members)
            case .deadLetter(let place, let code): ("deadLetter", place.members + [#""code":\#(code)"#] + place.digest.members)
            case .copy(let place): ("copy", place.members + place.digest.members)
            case .position(let position): ("position", position.members)
            case .claim(let claim): ("claim", claim.members)
            case .anchored(let place, let by, let reason, let copied):
                (
                    "anchored",
                    place.members + [#""by":\#(by)"#] + (reason.map { [#""reason":\#($0)"#] } ?? [])
                        + (copied.map { [#""copied":\#($0)"#] } ?? [])
                )
            }
        buffer.append(json: #"{"type":\#(type),\#(members)}"#)
    }
}

extension InputPlace {
    fileprivate var members: [JSONText] {
        var members: [JSONText] = [#""topic":"\#(escaped: "\(topic.name)")""#]
        if let partition { members.append(#""partition":\#(partition)"#) }
        members.append(#""offset":\#(offset)"#)
        return members
    }
}

extension RecordDigest? {
    fileprivate var members: [JSONText] { map { [#""digest":\#($0.hex)"#] } ?? [] }
}

extension JournalPosition {
    fileprivate var members: [JSONText] {
        next.members + [#""claim":\#(claim)"#, #""ids":[\#(ids.map { "\($0)" })]"#]
            + added.member("added") { "\($0)" } + forwarded.member("forwarded") { "\($0)" } + (account?.members ?? [])
            + last.member("last") { #"{"offset":\#($0.offset),\#(Optional($0.digest).members)}"# }
    }
}

extension JournalAccount {
    fileprivate var members: [JSONText] {
        (before.map { [#""before":\#($0)"#] } ?? [])
            + [#""records":\#(records)"#, #""changes":\#(changes.count)"#, #""sum":\#(String(changes.sum))"#]
            + (oldest.map { [#""oldest":\#($0)"#] } ?? []) + [#""menu":\#(menu.hex)"#]
    }

    /// Reads the account in a position note; nil if there is none.
    fileprivate init?(_ note: JSONObject) throws(MalformedMessage) {
        if note.member("records").isAbsent { return nil }
        guard let sum = UInt64(try note.text("sum")), let menu = UInt64(try note.text("menu"), radix: 16) else {
            throw MalformedMessage("sum", "must be a decimal, and menu a hexadecimal number of 64 bits")
        }
        self.init(
            before: try note.optionalNumber("before"), records: try note.number("records"),
            changes: StockChanges(count: try note.number("changes"), sum: sum), oldest: try note.optionalNumber("oldest"),
            menu: menu)
    }
}

extension UInt64 {
    /// All 16 hexadecimal digits.
    var hex: String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension JournalClaim {
    fileprivate var members: [JSONText] {
        [
            #""ids":[\#(ids.map { "\($0)" })]"#, #""since":\#(since)"#, #""group":\#(group)"#, #""instance":\#(instance)"#,
            #""partitions":\#(partitions)"#,
        ] + next.members + (fenced.isEmpty ? [] : [#""fenced":[\#(fenced.map { "\($0)" })]"#])
            + (attempt == 0 ? [] : [#""attempt":\#(attempt)"#, #""process":\#(process)"#])
    }
}

extension [InputTopic: Int64] {
    fileprivate var members: [JSONText] {
        InputTopic.allCases.compactMap { topic in self[topic].map { #""\#(escaped: "\(topic.name)")":\#($0)"# } }
    }
}

extension Dictionary where Key == InputPartition {
    /// Returns no member if there are no values.
    fileprivate func member(_ name: String, _ text: (Value) -> JSONText) -> [JSONText] {
        let values: [JSONText] = sorted { $0.key < $1.key }.map { partition, value in
            #""\#(escaped: "\(partition.topic.name)")/\#(partition.partition)":\#([text(value)])"#
        }
        return isEmpty ? [] : [#"\#(name):{\#(values)}"#]
    }
}

// MARK: - Reading

extension JournalNote {
    /// Reads the value of a record; nil if it is not one of these notes.
    public init?(_ value: UnsafeRawBufferPointer) {
        let reader = JSONReader(capacity: value.count)
        let note = withExtendedLifetime(reader) {
            (try? reader.readObject(value)).flatMap { AnswerMembers(of: $0).isNote ? try? JournalNote($0) : nil }
        }
        guard let note else { return nil }
        self = note
    }

    /// Reads an object that is not an answer; nil if this version has no note of its type.
    init?(_ note: JSONObject) throws(MalformedMessage) {
        switch try note.text("type") {
        case "forwarded": self = .forwarded(try InputPlace(note), to: try note.number("to"))
        case "deadLetter": self = .deadLetter(try InputPlace(note), code: try note.text("code"))
        case "copy": self = .copy(try InputPlace(note))
        case "position":
            self = .position(
                JournalPosition(
                    next: try note.next(), added: try note.byPartition("added", \.offset), claim: try note.number("claim"),
                    ids: try note.texts("ids"), forwarded: try note.byPartition("forwarded", \.offset),
                    account: try JournalAccount(note), last: try note.byPartition("last", \.handledRecord)))
        case "claim":
            let attempt = Int(try note.optionalNumber("attempt") ?? 0)
            self = .claim(
                JournalClaim(
                    ids: try note.texts("ids"), since: try note.number("since"),
                    fenced: note.member("fenced").isAbsent ? [] : try note.texts("fenced"), group: try note.text("group"),
                    instance: try note.text("instance"),
                    partitions: Int32(try note.integer("partitions", from: 1...Int(Int32.max))), next: try note.next(),
                    attempt: attempt, process: attempt == 0 || note.member("process").isAbsent ? "" : try note.text("process")))
        case "anchored":
            let reason = note.member("reason").isAbsent ? nil : try note.text("reason")
            self = .anchored(
                try InputPlace(note), by: try note.text("by"), reason: reason, copied: try note.optionalNumber("copied"))
        default: return nil
        }
    }
}

extension InputPlace {
    /// Reads the place that a note names.
    init(_ note: JSONObject) throws(MalformedMessage) {
        guard let topic = InputTopic(name: try note.member("topic").text("topic")) else {
            throw MalformedMessage("topic", "no input has this name")
        }
        self.init(
            topic: topic, partition: note.member("partition").isAbsent ? nil : try note.number("partition"),
            offset: try note.number("offset"), digest: note.digest)
    }
}

extension JSONObject {
    /// A number that is not negative.
    fileprivate func number<Number: FixedWidthInteger>(_ name: StaticString) throws(MalformedMessage) -> Number {
        Number(try integer(name, from: 0...Int(Number.max)))
    }

    /// The same; nil if the member is absent.
    fileprivate func optionalNumber(_ name: StaticString) throws(MalformedMessage) -> Int64? {
        member(name).isAbsent ? nil : try number(name)
    }

    fileprivate func next() throws(MalformedMessage) -> [InputTopic: Int64] {
        var next: [InputTopic: Int64] = [:]
        for topic in InputTopic.allCases where !member(topic.name).isAbsent { next[topic] = try number(topic.name) }
        return next
    }

    /// Values by partition, such as `orders/3`; none if the member is absent.
    fileprivate func byPartition<Value>(
        _ name: StaticString, _ read: (JSONValue) -> Value?
    ) throws(MalformedMessage) -> [InputPartition: Value] {
        var values: [InputPartition: Value] = [:]
        if member(name).isAbsent { return values }
        for (key, value) in try object(name) {
            guard let (text, partition) = key.split(), let topic = InputTopic(name: text),
                let partition = Int32(exactly: partition), let value = read(value),
                values.updateValue(value, forKey: InputPartition(topic: topic, partition: partition)) == nil
            else { throw MalformedMessage("\(name).\(key.clipped())", "must have one value of its kind by partition") }
        }
        return values
    }

    fileprivate var digest: RecordDigest? { (try? text("digest")).flatMap { RecordDigest(hex: String($0)) } }
}

extension JSONValue {
    fileprivate var offset: Int64? { integer.flatMap { $0 >= 0 ? Int64($0) : nil } }

    fileprivate var handledRecord: HandledRecord? {
        guard let object, let offset = try? object.number("offset") as Int64, let digest = object.digest else { return nil }
        return HandledRecord(offset: offset, digest: digest)
    }
}
