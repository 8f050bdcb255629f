import JuiceDomain
import JuiceMessages

/// Checks one partition: merges its journal with the inputs that are journalled in it, and replays their commands.
///
/// Each record of the journal must name the next record of an input, and say what that results in. What is held grows with the
/// partition's stores and with the duplicate window, not with its records.
struct PartitionAudit {
    /// A partition of an input, as far as the journal has come in it.
    private final class Input {
        var cursor: RecordCursor
        let partition: InputPartition
        /// The next offset, by the journal; nil as long as that is unknown.
        var next: Int64?
        /// Where the check began: the offset, and when the journal named the first record that there is.
        var start: Int64?
        var since: Int64?
        /// The offset that the last answered record was forwarded from, by partition. Nil if an answered record has expired, up to
        /// the next position note.
        var sources: [InputPartition: Int64]? = [:]
        /// The last record that was handled, since the last anchor.
        var last: HandledRecord?
        var isLastKnown: Bool
        /// Faults about places and, apart from them, about answers. Where an operator moves the position back, the places are
        /// checked again. If they were wrong, it may be another log by now, and then no earlier fault counts.
        var faults: [(offset: Int64, answer: Int64?, fault: Fault)] = []

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
        let input: Input
        let times: SendTimes
        let verdict: Verdict
        /// Where it was forwarded from, by its header.
        let source: ForwardSource?

        var place: Place { input.cursor.place(record.offset) }

        /// The record for people.
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
    /// Orders and restocks of this partition, then those that were added later.
    private var inputs: [Input] = []
    private var deadLetters: RecordCursor
    private var nextDeadLetter: Int64 = 0
    private var owner = OwnerAudit()
    private var account: AccountAudit
    private var answers: AnswerAudit
    /// The latest places that handled records were forwarded from.
    private var sources = Recent<Place, Bool>(65_536)
    private var hasPosition = false
    /// Whether the journal has more than claims.
    private var hasRecords = false
    /// Whether the check began after the journal's first record: at an anchor, or after records that cannot be read.
    private var isRestarted = false
    /// When the last record of an input was handled.
    private var handled = Int64.min / 2
    /// When the last record before the present transaction was written, and when the last one was handled. There are offsets
    /// without records between two transactions, but not in a copy.
    private var before = (written: Int64.min / 2, handled: Int64.min / 2)
    private var last: (offset: Int64, timestamp: Int64)?

    init(_ partition: Int32, of source: some AuditSource, by rules: AuditRules, _ transfers: Transfers) {
        (self.partition, self.rules, self.transfers) = (partition, rules, transfers)
        reader = JournalReader(menu: rules.menus.first ?? .standard)
        // In a copy, what is before its last anchor is about the places of another cluster.
        let copied = rules.copies.lazy.filter { $0.at.partition == partition }.map(\.at.offset).max()
        journal = RecordCursor(source, .results, partition, from: copied ?? 0)
        deadLetters = RecordCursor(source, .deadLetters, partition)
        account = AccountAudit(isWhole: journal.first == 0)
        answers = AnswerAudit(
            partition, by: rules, stock: RecordCursor(source, .stock, partition), isWhole: journal.first == 0)
        guard partition < rules.partitionCount else { return }
        let count = max(source.partitionCount(of: .orders), source.partitionCount(of: .restocks), partition + 1)
        for number in stride(from: partition, to: count, by: Int(rules.partitionCount)) {
            for topic in InputTopic.allCases {
                let cursor = RecordCursor(source, topic.topic, number)
                inputs.append(Input(cursor, InputPartition(topic: topic, partition: number), isNew: journal.first == 0))
            }
        }
    }

    /// Checks all records.
    mutating func run() throws -> Audit {
        while let record = try journal.next() {
            if !isWhole, audit.starts.isEmpty { begin(at: record, keepsStates: true) }
            if let last, last.offset + 1 < record.offset { before = (last.timestamp, handled) }
            if journal.lacks((last?.offset ?? journal.first)..<record.offset) {
                // It is unknown what the journal said just before.
                begin(at: record, keepsStates: false)
                (owner, hasPosition) = (OwnerAudit(), false)
                account.lose()
                for input in inputs { (input.next, input.since, input.sources, input.isLastKnown) = (nil, nil, nil, false) }
            }
            last = (record.offset, record.timestamp)
            try answers.readStock()
            try check(record)
        }
        for input in inputs { try finish(input) }
        for cursor in [journal, deadLetters] + inputs.map(\.cursor) { cursor.faults.forEach { audit.add($0) } }
        audit.add(try answers.finishStock(isEndKnown: !journal.lacks((last?.offset ?? 0)..<Int64.max)))
        while try readDeadLetter() != nil {}
        if deadLetters.lacks(nextDeadLetter..<Int64.max) { transfers.audit.withLock { $0.deadLettersSince = .max } }
        audit.owners = owner.owners
        audit.counts.stores = answers.stores.count
        return audit
    }

    private mutating func check(_ record: AuditRecord) throws {
        guard !inputs.isEmpty else { return report(record, "no store lives in this partition") }
        try (record.value ?? []).withUnsafeBytes { value in
            let entry: JournalRecord
            do throws(MalformedMessage) { entry = try reader.read(value, partition: partition) } catch {
                // It may be about any input, and may have changed its store.
                loseAccount()
                if let store = record.key?.withUnsafeBytes({ answers.number(of: $0) }) { answers.loseState(of: store) }
                return report(record, "it is no record of the journal: \(error)")
            }
            if entry.answer == nil, record.key != nil || !record.headers.isEmpty { report(record, "the note has a key or headers") }
            guard let handled = entry.handled else { return try check(entry.note, record) }
            guard let input = input(handled.input, handled.offset, by: record) else { return }
            var (isCopy, isUnknown) = (false, false)
            switch entry.content {
            case .answer(let answer): account.countChange(answer)
            case .note(let note): if case .copy = note { isCopy = true }
            case .unknown: isUnknown = true
            }
            if !isUnknown {
                input.last = entry.digest.map { HandledRecord(offset: handled.offset, digest: $0) }
                input.isLastKnown = input.last != nil
            }
            let found = try take(handled.offset, of: input, by: record, isCopy: isCopy)
            switch entry.content {
            case .answer(let answer): check(answer, value, record, to: found, of: input)
            case .note(let note): try check(note, about: found, input.cursor.place(handled.offset), record)
            case .unknown: break
            }
        }
    }

    /// An input that is journalled here; nil if a record of the journal names another one, which is reported.
    private mutating func input(_ partition: InputPartition, _ offset: Int64, by record: AuditRecord) -> Input? {
        if offset < .max, let input = inputs.first(where: { $0.partition == partition }) { return input }
        loseAccount()
        report(record, "it is about no place that is journalled here")
        return nil
    }

    private mutating func loseAccount() {
        account.lose()
        for input in inputs { input.isLastKnown = false }
    }

    /// Whether nothing of the journal is unknown.
    private var isWhole: Bool { journal.first == 0 && !isRestarted }

    /// Checks from here on, without knowing what was before.
    private mutating func begin(at record: AuditRecord, keepsStates: Bool) {
        isRestarted = true
        audit.starts = [moment(record)]
        answers.restart(at: record.timestamp, keepsStates: keepsStates)
    }

    private func moment(_ record: AuditRecord) -> AuditMoment {
        AuditMoment(partition: partition, offset: record.offset, timestamp: record.timestamp)
    }

    private mutating func report(_ record: AuditRecord, _ problem: String, _ category: Fault.Category = .wrong) {
        audit.add(Fault(category, journal.place(record.offset), problem))
    }

    /// Reports a fault about a place of an input, which may no longer count if an operator moves the position back to before it.
    ///
    /// - Parameter record: the record of the journal that shows it; nil if none does.
    private mutating func reportLater(
        _ input: Input, _ offset: Int64, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong,
        isAnswer: Bool = false
    ) {
        let fault = Fault(category, record.map { journal.place($0.offset) } ?? input.cursor.place(offset), problem)
        guard input.faults.count < Audit.mostListed else { return audit.add(fault) }
        input.faults.append((offset, isAnswer ? record?.offset : nil, fault))
    }

    private mutating func reportLater(
        _ found: InputRecord, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong
    ) {
        reportLater(found.input, found.record.offset, record, problem, category)
    }
}

// MARK: - The merge

extension PartitionAudit {
    /// The record that a record of the journal is about; nil if there is none, which is counted or reported.
    private mutating func take(_ offset: Int64, of input: Input, by record: AuditRecord, isCopy: Bool) throws -> InputRecord? {
        if isWhole, let problem = owner.checkClaimed() { report(record, problem) }
        (hasRecords, handled) = (true, max(handled, record.timestamp))
        account.countRecord()
        guard offset >= input.next ?? 0 else {
            report(record, "\(input.cursor.place(offset)) is handled once more", .doubled)
            return nil
        }
        // Between the two were only records that must be in the journal.
        try move(input, to: offset, record)
        input.next = offset + 1
        guard try input.cursor.nextOffset() == offset, let found = try input.cursor.next() else {
            answers.memory.forget(at: record.timestamp)
            if input.cursor.lacks(offset..<offset + 1) {
                audit.counts.unjudged += 1
                (input.sources, input.since) = (nil, nil)
            } else {
                reportLater(input, offset, record, "\(input.cursor.place(offset)) is not there")
            }
            return nil
        }
        input.since = input.since ?? record.timestamp
        return read(found, input, handledAt: record.timestamp, isHandled: !isCopy)
    }

    /// Moves on to an offset. Records in between were missed.
    private mutating func move(_ input: Input, to offset: Int64, _ record: AuditRecord) throws {
        if input.next == nil {
            input.start = isWhole ? input.cursor.first : offset
            if !isWhole { input.cursor.move(to: offset) }
        }
        try pass(input, to: offset, handledAt: record.timestamp, isMissing: true)
        input.next = offset
    }

    /// Passes over the records before an offset.
    ///
    /// - Returns: how many there were.
    @discardableResult
    private mutating func pass(_ input: Input, to offset: Int64, handledAt time: Int64, isMissing: Bool) throws -> Int {
        var count = 0
        while let record = try input.cursor.next(before: offset) {
            let found = read(record, input, handledAt: time, isHandled: false)
            count += 1
            guard isMissing else { continue }
            if case .answer = found.verdict { audit.counts.commands += 1 }
            reportLater(found, nil, "\(found.description) is not in the journal", .missing)
        }
        return count
    }

    private mutating func read(_ record: AuditRecord, _ input: Input, handledAt time: Int64, isHandled: Bool) -> InputRecord {
        audit.counts.records += 1
        let source = record.source
        if let source {
            let place = Place(topic: input.cursor.topic, partition: source.partition, offset: source.offset)
            let copy = TransferAudit.Received(
                place: input.cursor.place(record.offset), contents: record.contents(without: 1), timestamp: record.timestamp,
                isHandled: isHandled)
            transfers.audit.withLock { $0.receive(copy, from: place, isDeadLetter: false) }
            if isHandled { sources[place] = true }
        }
        let verdict: InputRecord.Verdict = record.key.withBytes { key in
            guard let store = StoreID.read(key: key) else { return .deadLetter(.badStore) }
            switch record.value.withBytes({ answers.read($0, input.partition.topic) }) {
            case .failure(let reason): return .deadLetter(reason)
            case .success(let read):
                guard input.partition.partition == partition, let number = answers.number(of: store.bytes) else {
                    return record.isForwarded ? .deadLetter(.misplaced) : .forward(to: answers.stores.owner(of: store.bytes))
                }
                return BorrowedText.withText(read.id) { id in
                    let identity = RecordDigest(of: AnswerHead(read.kind, id: id, store: store, offset: 0))
                    let isCancel = read.kind == .cancel
                    let order = isCancel ? RecordDigest(of: AnswerHead(.order, id: id, store: store, offset: 0)) : identity
                    return .answer(
                        Command(
                            kind: read.kind, store: number, id: read.id, identity: identity, remembered: order,
                            content: read.content))
                }
            }
        }
        let times = SendTimes(record, answeredAt: time, after: before.written, handledBefore: before.handled)
        return InputRecord(record: record, input: input, times: times, verdict: verdict, source: source)
    }

    /// Checks what the journal has not come to.
    private mutating func finish(_ input: Input) throws {
        let start = input.start ?? input.cursor.first
        let since =
            isWhole && !input.cursor.lacks(0..<Int64.max) ? .min : input.since.map { $0 &+ AnswerMemory.longestDelay } ?? .max
        audit.checked[input.partition] = Audit.Checked(offsets: start..<max(start, input.next ?? start), since: since)
        // If nothing is known of the position, all may have been handled.
        if input.next != nil || isWhole {
            let isOpen = rules.allowsOpen || journal.lacks((last?.offset ?? 0)..<Int64.max)
            let rest = try pass(input, to: .max, handledAt: .max, isMissing: !isOpen)
            audit.counts.open += isOpen ? rest : 0
        }
        for (_, _, fault) in input.faults { audit.add(fault) }
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
            if owner.claim != former { answers.changeOwner() }
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
    private mutating func check(_ note: JournalNote, about found: InputRecord?, _ place: Place, _ record: AuditRecord) throws {
        if let found, found.input.last?.digest != found.record.digest {
            reportLater(found, record, "its digest is not that of \(place)")
        }
        switch note {
        case .forwarded(_, let to):
            guard let found else { return }
            guard case .forward(let owner) = found.verdict else {
                return reportLater(found, record, "it forwards \(place): \(found.description)")
            }
            if to != owner { report(record, "\(place) belongs to partition \(owner)") }
            let sent = TransferAudit.Sent(
                contents: found.record.forwards, timestamp: rules.keepsTimes ? found.record.timestamp : nil, owner: owner,
                notedAt: record.timestamp)
            transfers.audit.withLock { $0.send(sent, from: place, isDeadLetter: false) }
        case .deadLetter(_, let code): try checkDeadLetter(code, found, place, record)
        case .copy:
            // A record is a second copy only if one that was forwarded from the same place was handled here.
            guard let found else { return }
            guard let source = found.source else {
                return reportLater(found, record, "it takes \(place) for a copy: \(found.description)")
            }
            let origin = InputPartition(topic: found.input.partition.topic, partition: source.partition)
            let first = Place(topic: place.topic, partition: source.partition, offset: source.offset)
            let last = found.input.sources.map { $0[origin] ?? (hasPosition ? -1 : .max) } ?? .max
            guard sources[first] == nil, isWhole && !sources.hasForgotten || source.offset > last else { return }
            let problem = "\(found.description) is taken for a second copy of \(first), and there was no first"
            reportLater(found, nil, problem, .missing)
        default: break
        }
    }

    private mutating func checkDeadLetter(_ code: String, _ found: InputRecord?, _ place: Place, _ record: AuditRecord) throws {
        var contents: [Int]?
        if let found {
            audit.counts.deadLetters += 1
            // The broker may have refused the answer to any command, which the topics do not show.
            let isRight =
                switch found.verdict {
                case .deadLetter(.misplaced): code == DeadLetterReason.misplaced.code || code == DeadLetterReason.unanswerable.code
                case .deadLetter(let reason): code == reason.code
                case .answer, .forward: code == DeadLetterReason.unanswerable.code
                }
            if isRight || code == DeadLetterReason.badHeaders.code && found.record.mayHaveBadHeaders {
                contents = found.record.deadLetters(code)
            } else {
                reportLater(found, record, "it makes \(place) a dead letter, \(quoted(code.utf8)): \(found.description)")
            }
        }
        let sent = TransferAudit.Sent(contents: contents, notedAt: record.timestamp)
        transfers.audit.withLock { $0.send(sent, from: place, isDeadLetter: true) }
        // Letters are in the order of the notes, so the next one is that of this note, with few exceptions.
        while contents != nil, let read = try readDeadLetter(), read != place {}
    }

    /// Reads the next dead letter, and returns whose it is; nil at the end.
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
                place: place, contents: record.contents(without: 5, code), timestamp: record.timestamp, isHandled: true)
            transfers.audit.withLock { $0.receive(deadLetter, from: source, isDeadLetter: true) }
            return source
        }
        return nil
    }

    private mutating func check(_ anchor: AuditAnchor, _ input: Input, _ record: AuditRecord) throws {
        var anchor = anchor
        account.anchor()
        (input.last, input.isLastKnown) = (nil, true)
        // An anchor of a copy names the place in the copy, and what is before it those in the other cluster.
        if !anchor.isOfCopy, let next = input.next ?? (isWhole ? input.cursor.first : nil), next <= anchor.to {
            anchor.skipped = try pass(input, to: anchor.to, handledAt: record.timestamp, isMissing: false)
        } else {
            input.cursor.move(to: anchor.to)
        }
        audit.counts.skipped += anchor.skipped
        if anchor.copied != nil { inputs[input.partition.topic == .orders ? 0 : 1].sources = [:] }
        let before = input.faults.count
        let isOtherLog = input.faults.contains { $0.offset >= anchor.to && $0.answer == nil }
        input.faults.removeAll { $0.offset >= anchor.to && (isOtherLog || $0.answer == nil) }
        audit.counts.unjudged += before - input.faults.count
        (input.start, input.next) = (min(input.start ?? anchor.to, anchor.to), anchor.to)
        if !hasRecords && isWhole { begin(at: record, keepsStates: true) }
        hasRecords = true
        audit.anchors.append(anchor)
    }

    private mutating func check(_ note: JournalPosition, _ record: AuditRecord) throws {
        if !isWhole { owner.adopt(note, at: moment(record)) }
        guard let claim = owner.claim else { return report(record, "the partition has no claim") }
        var right = note
        (right.claim, right.ids, right.forwarded) = (claim, owner.ids, [:])
        let now = SendTimes(record, answeredAt: record.timestamp, after: before.written, handledBefore: before.handled)
        let first = max(journal.first, audit.starts.first?.offset ?? 0)
        right.account = account.expected(note.account, at: record.offset, first: first, needed: answers.memory.oldest(at: now))
        if account.acceptsLoss { answers.loseState() }
        for (number, input) in inputs.enumerated() {
            let topic = input.partition.topic
            if let position = number < 2 ? note.next[topic] : note.added[input.partition], position > input.next ?? -1 {
                if input.next == nil, isWhole, !hasRecords {
                    // Where a journal begins, the group may have said how far the input was handled.
                    input.start = position
                    audit.counts.skipped += try pass(input, to: position, handledAt: record.timestamp, isMissing: false)
                    input.next = position
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
        guard let menu = note.account?.menu, !answers.setMenu(menu) else { return }
        for input in inputs {
            let before = input.faults.count
            input.faults.removeAll { $0.answer ?? -1 > claim }
            audit.counts.unjudged += before - input.faults.count
        }
    }
}

// MARK: - Answers

extension PartitionAudit {
    /// Checks an answer to the record of an input.
    ///
    /// - Parameter found: that record; nil if it cannot be checked.
    private mutating func check(
        _ answer: JournalAnswer, _ value: UnsafeRawBufferPointer, _ record: AuditRecord, to found: InputRecord?, of input: Input
    ) {
        let head = answer.head
        audit.counts.answers += 1
        guard let found else { return answers.adopt(answer, value, record, ifNew: true, &audit.counts) }
        guard case .answer(let command) = found.verdict, command.identity == input.last?.digest else {
            answers.memory.forget(at: record.timestamp)
            reportLater(found, record, "it answers \(found.place), which is \(found.description)")
            return answers.adopt(answer, value, record, ifNew: false, &audit.counts)
        }
        audit.counts.commands += 1
        if let from = found.source {
            input.sources?[InputPartition(topic: input.partition.topic, partition: from.partition)] = from.offset
        }
        var problems: [AnswerAudit.Problem] = []
        if record.key != answers.stores[command.store] { problems.append(("has an answer whose key is not its store", .wrong)) }
        if record.traces != found.record.traces {
            problems.append(("has an answer whose trace headers are not the command's", .wrong))
        }
        if head.from != found.source {
            let (said, right) = (head.from?.text ?? "nowhere", found.source?.text ?? "nowhere")
            problems.append(("is answered as from \(said), should be \(right)", .wrong))
        }
        problems += answers.check(answer, value, record, command, found.record, at: found.times, &audit.counts)
        for problem in problems {
            reportLater(input, head.offset, record, "\(found.description) \(problem.text)", problem.category, isAnswer: true)
        }
    }
}

extension JournalNote {
    /// Its record's value.
    var text: String {
        var buffer = OutputBuffer()
        write(into: &buffer)
        return buffer.text
    }
}

/// Where two notes differ: the members from the first to the last difference.
private func difference(between said: String, and right: String) -> String {
    let (said, right, comma) = (Array(said.utf8), Array(right.utf8), UInt8(ascii: ","))
    var start = zip(said, right).prefix { $0 == $1 }.count
    while start > 0, said[start - 1] != comma { start -= 1 }
    var end = zip(said[start...].reversed(), right[start...].reversed()).prefix { $0 == $1 }.count
    while end > 0, said[said.count - end] != comma { end -= 1 }
    func part(_ text: [UInt8]) -> String { String(decoding: text[start..<max(start, text.count - end)], as: UTF8.self) }
    return "it has \(part(said)), should be \(part(right))"
}
