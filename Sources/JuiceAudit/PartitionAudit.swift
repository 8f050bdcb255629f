import JuiceDomain
import JuiceMessages

/// Checks one partition: merges its journal with the inputs that are journalled in it, and replays their commands.
///
/// Each record of the journal must name the next record of an input, and say what it results in. Memory grows with the partition's
/// stores and with the duplicate window, not with its records.
struct PartitionAudit {
    /// An input partition, and how far the journal has come in it.
    private final class Input {
        var cursor: RecordCursor
        let partition: InputPartition
        /// The next offset, by the journal; nil while it is unknown.
        var next: Int64?
        /// The offset from which the journal is known to name every handled record.
        var start: Int64?
        /// The first record that was read after unknown ones.
        var since: Int64?
        /// The offset that the last answered record was forwarded from, by partition. Nil if an answered record has expired, up to
        /// the next position note.
        var sources: [InputPartition: Int64]? = [:]
        /// The last record handled since the last anchor.
        var last: HandledRecord?
        var isLastKnown: Bool

        init(_ cursor: RecordCursor, _ partition: InputPartition, isNew: Bool) {
            (self.cursor, self.partition, isLastKnown) = (cursor, partition, isNew)
        }
    }

    /// A record of an input, and what the service has to do with it.
    private struct InputRecord {
        enum Verdict {
            case answer(Command)
            /// It is a command for a store of another partition.
            case forward(to: Int32)
            case deadLetter(DeadLetterReason)
        }

        let record: AuditRecord
        let place: Place
        let verdict: Verdict
        /// Where it was forwarded from, by its header, and the copy that this makes it.
        let origin: Place?
        let copy: TransferAudit.Received

        var description: String {
            switch verdict {
            case .deadLetter(let reason): "no command (\(reason.code))"
            case .forward(let owner): "a command of partition \(owner)"
            case .answer(let command):
                "\(command.kind) \(quoted(command.id.utf8)) of store "
                    + (record.key?.isEmpty == false ? quoted(record.key ?? []) : quoted(StoreID.main.utf8))
            }
        }
    }

    private let partition: Int32
    private let rules: AuditRules
    private let transfers: Transfers
    private var audit = Audit()
    private var journal: RecordCursor
    private let reader: JournalReader
    /// Orders and restocks of this partition, then those of added partitions.
    private var inputs: [Input] = []
    private var deadLetters: RecordCursor
    private var nextDeadLetter: Int64 = 0
    private var owner = OwnerAudit()
    private var account: AccountAudit
    private var answers: AnswerAudit
    /// The latest handled records that were forwarded, by the places they came from.
    private var copies = Recent<Place, TransferAudit.Received>(65_536)
    /// Faults about records of inputs and, apart from them, about the answers at these offsets. If an operator moves the position
    /// back, the records are checked again. If records were wrong, the log may be another one by now, and no earlier fault counts.
    private var findings: [(place: Place, answer: Int64?, fault: Fault)] = []
    private var hasPosition = false
    /// Whether the journal has more than claims.
    private var hasRecords = false
    /// Whether the whole journal is known: the check began neither at an anchor nor after records that cannot be read.
    private var isWhole: Bool
    /// Whether nothing bounds the times of the unknown records yet. A claim does not: it has its writer's clock.
    private var isTimeUnknown = false
    /// When the latest handled command was sent, by now and before the present transaction. Between two transactions there are
    /// offsets without records, but not in a copy.
    private var (handled, handledBefore) = (Int64.min / 2, Int64.min / 2)
    private var last: Int64?

    init(_ partition: Int32, of source: some AuditSource, by rules: AuditRules, _ transfers: Transfers) {
        (self.partition, self.rules, self.transfers) = (partition, rules, transfers)
        reader = JournalReader(menu: rules.menus.first ?? .standard)
        // In a copy, everything before its last anchor is about places in another cluster.
        let copied = rules.copies.lazy.filter { $0.at.partition == partition }.map(\.at.offset).max()
        journal = RecordCursor(source, .results, partition, from: copied ?? 0)
        deadLetters = RecordCursor(source, .deadLetters, partition)
        isWhole = journal.first == 0
        account = AccountAudit(isWhole: isWhole)
        answers = AnswerAudit(partition, by: rules, stock: RecordCursor(source, .stock, partition), isWhole: isWhole)
        guard partition < rules.partitionCount else { return }
        let count = max(source.partitionCount(of: .orders), source.partitionCount(of: .restocks), partition + 1)
        for number in stride(from: partition, to: count, by: Int(rules.partitionCount)) {
            for topic in InputTopic.allCases {
                let cursor = RecordCursor(source, topic.topic, number)
                inputs.append(Input(cursor, InputPartition(topic: topic, partition: number), isNew: isWhole))
            }
        }
    }

    mutating func run() throws -> Audit {
        while let record = try journal.next() {
            if !isWhole, audit.starts.isEmpty { begin(at: record) }
            if let last, last + 1 < record.offset { handledBefore = handled }
            if journal.lacks((last ?? journal.first)..<record.offset) {
                // It is unknown what the journal said just before.
                begin(at: record)
                (owner, hasPosition) = (OwnerAudit(), false)
                account.lose()
                for input in inputs { (input.next, input.since, input.sources, input.isLastKnown) = (nil, nil, nil, false) }
            }
            last = record.offset
            try answers.readStock()
            try check(record)
        }
        for input in inputs { try finish(input) }
        for finding in findings { audit.add(finding.fault) }
        for cursor in [journal, deadLetters] + inputs.map(\.cursor) { cursor.faults.forEach { audit.add($0) } }
        audit.add(try answers.finish(isEndKnown: !journal.lacks((last ?? 0)..<Int64.max)))
        while try readDeadLetter() != nil {}
        if deadLetters.lacks(nextDeadLetter..<Int64.max) { transfers.audit.withLock { $0.deadLettersSince = .max } }
        audit.owners = owner.owners
        return audit
    }

    private mutating func check(_ record: AuditRecord) throws {
        guard !inputs.isEmpty else { return report(record, "no store lives in this partition") }
        try (record.value ?? []).withUnsafeBytes { value in
            let entry: JournalRecord
            do throws(MalformedMessage) { entry = try reader.read(value, partition: partition) } catch {
                return report(record, "it is no record of the journal: \(error)")
            }
            if entry.answer == nil, record.key != nil || record.headers.contains(where: { $0.name != HeaderName.sent }) {
                report(record, "the note has a key or headers")
            }
            guard let handled = entry.handled else { return try check(entry.note, record) }
            guard let input = input(handled.input, handled.offset, by: record) else { return }
            let place = input.cursor.place(handled.offset)
            account.count(entry.answer)
            let isUnknown = if case .unknown = entry.content { true } else { false }
            let isCopy = if case .note(.copy) = entry.content { true } else { false }
            if !isUnknown {
                input.last = entry.digest.map { HandledRecord(offset: handled.offset, digest: $0) }
                input.isLastKnown = input.last != nil
            }
            if isWhole, let problem = owner.checkClaimed() { report(record, problem) }
            (hasRecords, self.handled) = (true, max(self.handled, record.headers.sent ?? record.timestamp))
            if isTimeUnknown { answers.memory.forget(at: record.timestamp) }
            isTimeUnknown = false
            var found: InputRecord?
            if handled.offset < input.next ?? 0 {
                report(record, "\(place) is handled once more", .doubled)
            } else {
                // All records in between must be in the journal.
                try move(input, to: handled.offset, record)
                found = try take(place, of: input, by: record)
            }
            if let found, let origin = found.origin, !isCopy {
                if case .answer = found.verdict, let first = copies[origin], first.isRepeated(by: found.copy) {
                    report(place, nil, "it was forwarded from \(origin), and handled before as \(first.place)", .doubled)
                }
                copies[origin] = found.copy
            }
            switch entry.content {
            case .answer(let answer):
                let given = JournalledAnswer(
                    answer: answer, whole: try? reader.wholeAnswer(), value: value, offset: record.offset,
                    timestamp: record.timestamp)
                check(given, record, to: found, of: input)
            case .note(let note): try check(note, about: found, place, of: input, record)
            case .unknown: break
            }
        }
    }

    /// An input that is journalled here; nil if a record of the journal names another one, which is reported.
    private mutating func input(_ partition: InputPartition, _ offset: Int64, by record: AuditRecord) -> Input? {
        if offset < .max, let input = inputs.first(where: { $0.partition == partition }) { return input }
        report(record, "it is about no place that is journalled here")
        return nil
    }

    /// Checks from here on, without knowing what was before.
    private mutating func begin(at record: AuditRecord) {
        (isWhole, isTimeUnknown) = (false, true)
        audit.starts = [moment(record)]
        answers.memory.forget(at: record.timestamp)
        answers.forgetStores()
    }

    private func moment(_ record: AuditRecord) -> AuditMoment {
        AuditMoment(partition: partition, offset: record.offset, timestamp: record.timestamp)
    }

    private mutating func report(_ record: AuditRecord, _ problem: String, _ category: Fault.Category = .wrong) {
        audit.add(Fault(category, journal.place(record.offset), problem))
    }

    /// Reports a fault about a record of an input, which may no longer count if an operator moves the position back to before it.
    ///
    /// - Parameters:
    ///   - record: the record of the journal that shows it; nil if none does.
    ///   - isAnswer: whether the fault is in what an answer says.
    private mutating func report(
        _ place: Place, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong, isAnswer: Bool = false
    ) {
        let fault = Fault(category, record.map { journal.place($0.offset) } ?? place, problem)
        guard findings.count < Audit.mostListed else { return audit.add(fault) }
        findings.append((place, isAnswer ? record?.offset : nil, fault))
    }

    private mutating func withdraw(where isVoid: (_ place: Place, _ answer: Int64?) -> Bool) {
        let count = findings.count
        findings.removeAll { isVoid($0.place, $0.answer) }
        audit.counts.unjudged += count - findings.count
    }
}

// MARK: - The merge

extension PartitionAudit {
    /// The record of an input that a record of the journal is about; nil if it is not there, which is counted or reported.
    private mutating func take(_ place: Place, of input: Input, by record: AuditRecord) throws -> InputRecord? {
        input.next = place.offset + 1
        guard try input.cursor.nextOffset() == place.offset, let found = try input.cursor.next() else {
            answers.memory.forget(at: record.timestamp)
            if input.cursor.lacks(place.offset..<place.offset + 1) {
                audit.counts.unjudged += 1
                (input.sources, input.since) = (nil, nil)
            } else {
                report(place, record, "\(place) is not there")
            }
            return nil
        }
        return read(found, input, handledBy: record)
    }

    /// Moves on to an offset, and reports the records in between as missing.
    private mutating func move(_ input: Input, to offset: Int64, _ record: AuditRecord) throws {
        if input.next == nil {
            input.start = isWhole ? input.cursor.first : offset
            if !isWhole { input.cursor.move(to: offset) }
        }
        try pass(input, to: offset, handledBy: record, isMissing: true)
        input.next = offset
    }

    /// Passes over the records before an offset.
    ///
    /// - Returns: how many there were.
    @discardableResult
    private mutating func pass(_ input: Input, to offset: Int64, handledBy entry: AuditRecord, isMissing: Bool) throws -> Int {
        var count = 0
        while let record = try input.cursor.next(before: offset) {
            let found = read(record, input, handledBy: entry)
            count += 1
            guard isMissing else { continue }
            if case .answer = found.verdict { audit.counts.commands += 1 }
            report(found.place, nil, "\(found.description) is not in the journal", .missing)
        }
        return count
    }

    private mutating func read(_ record: AuditRecord, _ input: Input, handledBy entry: AuditRecord) -> InputRecord {
        let place = input.cursor.place(record.offset)
        let since = input.since ?? record.offset
        input.since = since
        let origin = record.source.map { Place(topic: place.topic, partition: $0.partition, offset: $0.offset) }
        let copy = TransferAudit.Received(
            place: place, contents: origin == nil ? 0 : record.contents(without: 1), timestamp: record.timestamp, since: since)
        if let origin { transfers.audit.withLock { $0.receive(copy, from: origin) } }
        let verdict: InputRecord.Verdict = record.key.withBytes { key in
            guard let store = StoreID.read(key: key) else { return .deadLetter(.badStore) }
            switch record.value.withBytes({ answers.read($0, input.partition.topic) }) {
            case .failure(let reason): return .deadLetter(reason)
            case .success(let read):
                guard input.partition.partition == partition, let number = answers.number(of: store.bytes) else {
                    return record.isForwarded ? .deadLetter(.misplaced) : .forward(to: answers.owner(of: store.bytes))
                }
                return BorrowedText.withText(read.id) { id in
                    func identity(_ kind: CommandKind) -> RecordDigest {
                        RecordDigest(of: AnswerHead(kind, id: id, store: store, offset: 0))
                    }
                    return .answer(
                        Command(
                            kind: read.kind, store: number, id: read.id, identity: identity(read.kind),
                            remembered: identity(read.kind.ofID), content: read.content,
                            value: record.value,
                            times: SendTimes(record, handledBy: entry, handledBefore: handledBefore, rules.window)))
                }
            }
        }
        return InputRecord(record: record, place: place, verdict: verdict, origin: origin, copy: copy)
    }

    private mutating func finish(_ input: Input) throws {
        // If nothing is known of the position, all may have been handled.
        if input.next != nil || isWhole {
            let isOpen = rules.allowsOpen || journal.lacks((last ?? 0)..<Int64.max)
            let end = AuditRecord(offset: .max, timestamp: .max, key: nil, value: nil)
            let rest = try pass(input, to: .max, handledBy: end, isMissing: !isOpen)
            audit.counts.open += isOpen ? rest : 0
        }
        let isAllRead = isWhole && !input.cursor.lacks(0..<Int64.max)
        let since = isAllRead ? .min : input.since.flatMap { input.cursor.lacks($0..<Int64.max) ? nil : $0 }
        let start = input.start ?? input.cursor.first
        audit.checked[input.partition] = (since, start..<max(start, input.next ?? start))
    }
}

// MARK: - Notes

extension PartitionAudit {
    /// Checks a note that is about no record of an input.
    private mutating func check(_ note: JournalNote?, _ record: AuditRecord) throws {
        switch note {
        case .claim(let claim):
            let former = owner.claim
            let problem = owner.add(claim, at: moment(record), partitionCount: rules.partitionCount)
            if let problem { report(record, problem) }
            if owner.claim != former { answers.setMenu(nil) }
        case .position(let position): try check(position, record)
        case .anchored(let place, let by, let reason, let copied):
            guard let input = input(place.input(in: partition), place.offset, by: record) else { return }
            let anchor = AuditAnchor(
                at: moment(record), topic: input.cursor.topic.name, partition: input.partition.partition, from: input.next,
                to: place.offset, by: by, reason: reason, copied: copied)
            try check(anchor, input, record)
        default: break
        }
    }

    /// Checks a note about a record of an input.
    ///
    /// - Parameter found: the record at the place; nil if it cannot be checked.
    private mutating func check(
        _ note: JournalNote, about found: InputRecord?, _ place: Place, of input: Input, _ record: AuditRecord
    ) throws {
        if let found, input.last?.digest != found.record.digest { report(place, record, "its digest is not that of \(place)") }
        switch note {
        case .forwarded(_, let to):
            guard let found else { return }
            guard case .forward(let owner) = found.verdict else {
                return report(place, record, "it forwards \(place): \(found.description)")
            }
            if to != owner { report(record, "\(place) belongs to partition \(owner)") }
            let sent = TransferAudit.Sent(
                contents: found.record.forwards, timestamp: rules.keepsTimes ? record.headers.sent ?? found.record.timestamp : nil,
                owner: owner, notedAt: record.timestamp)
            transfers.audit.withLock { $0.send(sent, from: place) }
        case .deadLetter(_, let code): try checkDeadLetter(code, found, place, record)
        case .copy:
            // A record is a second copy only if one that was forwarded from the same place was handled here.
            guard let found else { return }
            guard let origin = found.origin else {
                return report(place, record, "it takes \(place) for a copy: \(found.description)")
            }
            let last = input.sources.map { $0[origin.input] ?? (hasPosition ? -1 : .max) } ?? .max
            guard copies[origin] == nil, isWhole && !copies.hasForgotten || origin.offset > last else { return }
            report(place, nil, "\(found.description) is taken for a second copy of \(origin), and there was no first", .missing)
        default: break
        }
    }

    private mutating func checkDeadLetter(_ code: String, _ found: InputRecord?, _ place: Place, _ record: AuditRecord) throws {
        var contents: [Int]?
        if let found {
            audit.counts.deadLetters += 1
            let isRight = if case .deadLetter(let reason) = found.verdict { code == reason.code } else { false }
            if isRight || code == DeadLetterReason.badHeaders.code && found.record.mayHaveBadHeaders {
                contents = found.record.deadLetters(code)
            } else {
                report(place, record, "it makes \(place) a dead letter, \(quoted(code.utf8)): \(found.description)")
            }
        }
        let sent = TransferAudit.Sent(contents: contents, notedAt: record.timestamp)
        transfers.audit.withLock { $0.send(sent, from: place) }
        // Dead letters are in the order of their notes, so the next one is nearly always that of this note.
        while contents != nil, let read = try readDeadLetter(), read != place {}
    }

    /// Reads the next dead letter, and returns the place of its record; nil at the end.
    private mutating func readDeadLetter() throws -> Place? {
        while let record = try deadLetters.next() {
            if deadLetters.lacks(nextDeadLetter..<record.offset + 1) {
                transfers.audit.withLock { $0.deadLettersSince = max($0.deadLettersSince, record.timestamp) }
            }
            nextDeadLetter = record.offset + 1
            if record.isResendNote { continue }
            let place = deadLetters.place(record.offset)
            guard let (source, code) = record.deadLetterOrigin(rules.topicPrefix) else {
                audit.add(Fault(.wrong, place, "its headers do not say where it is from, and why"))
                continue
            }
            let deadLetter = TransferAudit.Received(
                place: place, contents: record.contents(without: 5, code), timestamp: record.timestamp)
            transfers.audit.withLock { $0.receive(deadLetter, from: source) }
            return source
        }
        return nil
    }

    private mutating func check(_ anchor: AuditAnchor, _ input: Input, _ record: AuditRecord) throws {
        var anchor = anchor
        account.anchor()
        (input.last, input.isLastKnown) = (nil, true)
        // An anchor of a copy names a place in the copy. Earlier records name places in the other cluster.
        if !anchor.isOfCopy, let next = input.next ?? (isWhole ? input.cursor.first : nil), next <= anchor.to {
            anchor.skipped = try pass(input, to: anchor.to, handledBy: record, isMissing: false)
            audit.counts.skipped += anchor.skipped
        } else {
            input.cursor.move(to: anchor.to)
        }
        if anchor.copied != nil { inputs[input.partition.topic.rawValue].sources = [:] }
        let isOtherLog = findings.contains { anchor.reaches($0.place) && $0.answer == nil }
        withdraw { place, answer in anchor.reaches(place) && (isOtherLog || answer == nil) }
        (input.start, input.next) = (min(input.start ?? anchor.to, anchor.to), anchor.to)
        if !hasRecords && isWhole { begin(at: record) }
        hasRecords = true
        audit.anchors.append(anchor)
    }

    private mutating func check(_ note: JournalPosition, _ record: AuditRecord) throws {
        if !isWhole { owner.adopt(note, at: moment(record)) }
        guard let claim = owner.claim else { return report(record, "the partition has no claim") }
        var right = note
        (right.claim, right.ids, right.forwarded) = (claim, owner.ids, [:])
        let now = SendTimes(record, handledBy: record, handledBefore: handledBefore, rules.window)
        let first = max(journal.first, audit.starts.first?.offset ?? 0)
        right.account = account.expected(note.account, at: record.offset, first: first, needed: answers.memory.oldest(at: now))
        if account.acceptsLoss { answers.forgetStores() }
        for (number, input) in inputs.enumerated() {
            let topic = input.partition.topic
            if let position = number < 2 ? note.next[topic] : note.added[input.partition], position > input.next ?? -1 {
                if input.next == nil, isWhole, !hasRecords {
                    // Where a journal begins, the group may have said how far the input was handled.
                    audit.counts.skipped += try pass(input, to: position, handledBy: record, isMissing: false)
                    (input.start, input.next) = (position, position)
                } else {
                    // Only transaction markers may be in between.
                    try move(input, to: position, record)
                }
            }
            if number < 2 { right.next[topic] = input.next } else { right.added[input.partition] = input.next }
            if input.isLastKnown { right.last[input.partition] = input.last }
            guard number < 2 else { continue }
            if !isWhole, !hasPosition { input.sources = nil }
            let sources = input.sources ?? note.forwarded.filter { $0.key.topic == topic }
            right.forwarded.merge(sources) { $1 }
            input.sources = sources
        }
        if right != note {
            report(record, difference(between: JournalNote.position(note).text, and: JournalNote.position(right).text))
        }
        (hasPosition, hasRecords) = (true, true)
        // Its owner has had this menu since its claim.
        if let menu = note.account?.menu, !answers.setMenu(menu) { withdraw { $1 ?? -1 > claim } }
    }
}

// MARK: - Answers

extension PartitionAudit {
    /// Checks an answer to the record of an input.
    ///
    /// - Parameter found: that record; nil if it cannot be checked.
    private mutating func check(_ given: JournalledAnswer, _ record: AuditRecord, to found: InputRecord?, of input: Input) {
        audit.counts.answers += 1
        guard let found else { return answers.adopt(given, ifNew: true) }
        guard case .answer(let command) = found.verdict, command.identity == input.last?.digest else {
            answers.memory.forget(at: record.timestamp)
            report(found.place, record, "it answers \(found.place), which is \(found.description)")
            return answers.adopt(given, ifNew: false)
        }
        audit.counts.commands += 1
        if let origin = found.origin { input.sources?[origin.input] = origin.offset }
        var problems: [AnswerAudit.Problem] = []
        if record.key != answers.name(of: command.store) { problems.append(("has an answer whose key is not its store", .wrong)) }
        if record.headers.ofTraces != found.record.headers.ofTraces {
            problems.append(("has an answer whose trace headers are not the command's", .wrong))
        }
        if given.head.from != found.record.source {
            let (said, right) = (given.head.from?.header ?? "nowhere", found.record.source?.header ?? "nowhere")
            problems.append(("is answered as from \(said), should be \(right)", .wrong))
        }
        problems += answers.check(given, to: command)
        for (text, category) in problems {
            report(found.place, record, "\(found.description) \(text)", category, isAnswer: true)
        }
    }
}

extension JournalNote {
    var text: String {
        var buffer = OutputBuffer()
        write(into: &buffer)
        return buffer.text
    }
}

/// Where two notes differ: the members from the first to the last difference.
private func difference(between said: String, and right: String) -> String {
    let (said, right) = (said.split(separator: ","), right.split(separator: ","))
    let start = zip(said, right).prefix { $0 == $1 }.count
    let end = zip(said[start...].dropFirst().reversed(), right[start...].dropFirst().reversed()).prefix { $0 == $1 }.count
    func part(_ members: [Substring]) -> String { members[start..<members.count - end].joined(separator: ",") }
    return "it has \(part(said)), should be \(part(right))"
}
