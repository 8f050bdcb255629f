import JuiceDomain
import JuiceMessages

/// Judges one partition: merges its journal with the inputs that are journalled in it, and replays their commands.
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
        /// Where judging began: the offset, and when the journal named the first record that there is.
        var start: Int64?
        var since: Int64?
        /// The offset that the last answered record was forwarded from, by partition. Nil if an answered record has expired, up to
        /// the next position note.
        var sources: [InputPartition: Int64]? = [:]
        /// The last record that was handled, since the last anchor.
        var last: HandledRecord?
        var isLastKnown: Bool
        /// Faults about places and, apart from them, about answers. Where an operator moves the position back, the places are
        /// judged again. If they were wrong, it may be another log by now, and then no earlier fault counts.
        var faults: [(offset: Int64, answer: Int64?, fault: Fault)] = []

        init(_ cursor: RecordCursor, _ partition: InputPartition, isNew: Bool) {
            (self.cursor, self.partition, isLastKnown) = (cursor, partition, isNew)
        }
    }

    /// A record of an input, and what the service has to do with it.
    private struct Reading {
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
    /// The last record of the journal that goes by the offsets of another cluster; -1 if none does.
    private let endOfCopy: Int64
    /// Orders and restocks of this partition, then those that were added later.
    private var inputs: [Input] = []
    private var letters: RecordCursor
    private var nextLetter: Int64 = 0
    private var owner = OwnerAudit()
    private var account: AccountAudit
    private var answers: AnswerAudit
    /// The latest places that handled records were forwarded from.
    private var sources = Recent<Place, Bool>(65_536)
    private var hasPosition = false
    /// Whether the journal has more than claims.
    private var hasRecords = false
    /// Whether judging began after the journal's first record: at an anchor, or after records that cannot be read.
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
        journal = RecordCursor(source, .results, partition)
        endOfCopy = rules.copies[partition] ?? -1
        letters = RecordCursor(source, .deadLetters, partition)
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

    /// Judges all records.
    mutating func run() throws -> Audit {
        while let record = try journal.next() {
            if !isWhole, audit.starts.isEmpty { begin(at: record, keepsStates: true) }
            if record.offset <= endOfCopy {
                before.handled = handled
            } else if let last, last.offset + 1 < record.offset {
                before = (last.timestamp, handled)
            }
            if journal.lacks((last?.offset ?? journal.first)..<record.offset) {
                // It is unknown what the journal said just before.
                begin(at: record, keepsStates: false)
                (owner, hasPosition) = (OwnerAudit(), false)
                account.lose()
                for input in inputs { (input.next, input.since, input.sources, input.isLastKnown) = (nil, nil, nil, false) }
            }
            last = (record.offset, record.timestamp)
            try answers.readStock()
            try judge(record)
        }
        for input in inputs { try finish(input) }
        for cursor in [journal, letters] + inputs.map(\.cursor) { cursor.faults.forEach { audit.add($0) } }
        audit.add(try answers.finishStock(isEndKnown: !journal.lacks((last?.offset ?? 0)..<Int64.max)))
        while try readLetter() != nil {}
        if letters.lacks(nextLetter..<Int64.max) { transfers.audit.withLock { $0.lettersSince = .max } }
        audit.owners = owner.owners
        audit.counts.stores = answers.stores.count
        return audit
    }

    private mutating func judge(_ record: AuditRecord) throws {
        guard !inputs.isEmpty else { return report(record, "no store lives in this partition") }
        try (record.value ?? []).withUnsafeBytes { value in
            let content: JournalRecord.Content
            do throws(MalformedMessage) { content = try reader.read(value).content } catch {
                // It may be about any input, and may have changed its store.
                account.lose()
                for input in inputs { input.isLastKnown = false }
                if let store = record.key?.withUnsafeBytes({ answers.number(of: $0) }) { answers.loseState(of: store) }
                return report(record, "it is no record of the journal: \(error)")
            }
            switch content {
            case .answer(let answer): return try judge(answer, value, record)
            case .note(let note): try judge(note, record)
            case .unknown(let place):
                guard let place, let input = input(place) else { break }
                if record.offset <= endOfCopy {
                    _ = follow(place.offset, of: input, by: record)
                } else {
                    _ = try take(place.offset, of: input, by: record)
                }
            }
            if record.key != nil || !record.headers.isEmpty { report(record, "the note has a key or headers") }
        }
    }

    /// Whether nothing of the journal is unknown.
    private var isWhole: Bool { journal.first == 0 && !isRestarted }

    /// Judges from here on, without knowing what was before.
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
    private mutating func doubt(
        _ input: Input, _ offset: Int64, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong,
        isAnswer: Bool = false
    ) {
        let fault = Fault(category, record.map { journal.place($0.offset) } ?? input.cursor.place(offset), problem)
        guard input.faults.count < Audit.mostListed else { return audit.add(fault) }
        input.faults.append((offset, isAnswer ? record?.offset : nil, fault))
    }

    private mutating func doubt(_ reading: Reading, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong)
    {
        doubt(reading.input, reading.record.offset, record, problem, category)
    }
}

// MARK: - The merge

extension PartitionAudit {
    /// The record that a record of the journal is about; nil if there is none, which is counted or reported.
    private mutating func take(_ offset: Int64, of input: Input, by record: AuditRecord, isCopy: Bool = false) throws -> Reading? {
        if isWhole, let problem = owner.checkClaimed() { report(record, problem) }
        (hasRecords, handled) = (true, max(handled, record.timestamp))
        account.countRecord()
        guard offset < .max else {
            report(record, "\(input.cursor.place(offset)) is not there")
            return nil
        }
        guard offset >= input.next ?? 0 else {
            report(record, "\(input.cursor.place(offset)) is handled once more", .doubled)
            return nil
        }
        // Between the two were only records that must be in the journal.
        try move(input, to: offset, record)
        input.next = offset + 1
        guard try input.cursor.nextOffset() == offset, let found = try input.cursor.next() else {
            answers.forget(at: record.timestamp)
            if input.cursor.lacks(offset..<offset + 1) {
                audit.counts.unjudged += 1
                (input.sources, input.since) = (nil, nil)
            } else {
                doubt(input, offset, record, "\(input.cursor.place(offset)) is not there")
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
            let reading = read(record, input, handledAt: time, isHandled: false)
            count += 1
            guard isMissing else { continue }
            if case .answer = reading.verdict { audit.counts.commands += 1 }
            doubt(reading, nil, "\(reading.description) is not in the journal", .missing)
        }
        return count
    }

    private mutating func read(_ record: AuditRecord, _ input: Input, handledAt time: Int64, isHandled: Bool) -> Reading {
        audit.counts.records += 1
        let source = record.source
        if let source {
            let place = Place(topic: input.cursor.topic, partition: source.partition, offset: source.offset)
            let copy = TransferAudit.Received(
                place: input.cursor.place(record.offset), contents: record.contents(without: 1), timestamp: record.timestamp,
                isHandled: isHandled)
            transfers.audit.withLock { $0.receive(copy, from: place, isLetter: false) }
            if isHandled { sources[place] = true }
        }
        let verdict: Reading.Verdict = record.key.withBytes { key in
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
                            kind: read.kind, store: number, id: read.id, identity: identity, remembered: order, task: read.task))
                }
            }
        }
        let times = SendTimes(record, answeredAt: time, after: before.written, handledBefore: before.handled)
        return Reading(record: record, input: input, times: times, verdict: verdict, source: source)
    }

    /// The input that a note is about; nil if it is not journalled here.
    private func input(_ place: InputPlace) -> Input? {
        let input = InputPartition(topic: place.topic, partition: place.partition ?? partition)
        return place.offset < .max ? inputs.first { $0.partition == input } : nil
    }

    /// Judges what the journal has not come to.
    private mutating func finish(_ input: Input) throws {
        let start = input.start ?? input.cursor.first
        let since =
            isWhole && !input.cursor.lacks(0..<Int64.max) ? .min : input.since.map { $0 &+ AnswerMemory.longestDelay } ?? .max
        audit.judged[input.partition] = Audit.Judged(offsets: start..<max(start, input.next ?? start), since: since)
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
    private mutating func judge(_ note: JournalNote, _ record: AuditRecord) throws {
        let isCopied = record.offset <= endOfCopy
        let place: InputPlace
        switch note {
        case .claim(let claim):
            let former = owner.claim
            let problem = owner.add(claim, at: moment(record), partitionCount: rules.partitionCount, isCopied: isCopied)
            if let problem { report(record, problem) }
            if owner.claim != former { answers.changeOwner() }
            return
        case .position(let position): return try judge(position, record, isCopied: isCopied)
        case .forwarded(let noted, _), .deadLetter(let noted, _), .copy(let noted), .anchored(let noted, _, _, _): place = noted
        }
        guard let input = input(place) else {
            account.lose()
            for input in inputs { input.isLastKnown = false }
            return report(record, "the note is of no place that is journalled here")
        }
        if case .anchored(_, let by, let reason, let copied) = note {
            let anchor = AuditAnchor(
                at: moment(record), topic: input.cursor.topic.name, partition: input.partition.partition, from: input.next,
                to: place.offset, by: by, reason: reason, copied: copied)
            return try judge(anchor, input, record)
        }
        if isCopied {
            if follow(place.offset, of: input, by: record), let digest = place.digest {
                (input.last, input.isLastKnown) = (HandledRecord(offset: place.offset, digest: digest), true)
            }
            return
        }
        let isCopy = if case .copy = note { true } else { false }
        let reading = try take(place.offset, of: input, by: record, isCopy: isCopy)
        (input.last, input.isLastKnown) = (
            place.digest.map { HandledRecord(offset: place.offset, digest: $0) }, place.digest != nil
        )
        if let reading, place.digest != reading.record.digest {
            doubt(reading, record, "its digest is not that of \(reading.place)")
        }
        switch note {
        case .forwarded(_, let to):
            guard let reading else { return }
            guard case .forward(let owner) = reading.verdict else {
                return doubt(reading, record, "it forwards \(reading.place): \(reading.description)")
            }
            if to != owner { report(record, "\(reading.place) belongs to partition \(owner)") }
            let sent = TransferAudit.Sent(
                contents: reading.record.forwards, timestamp: rules.keepsTimes ? reading.record.timestamp : nil, owner: owner,
                notedAt: record.timestamp)
            transfers.audit.withLock { $0.send(sent, from: reading.place, isLetter: false) }
        case .deadLetter(_, let code): try judgeLetter(code, reading, input.cursor.place(place.offset), record)
        case .copy:
            // A record is a second copy only if one that was forwarded from the same place was handled here.
            guard let reading else { return }
            guard let source = reading.source else {
                return doubt(reading, record, "it takes \(reading.place) for a copy: \(reading.description)")
            }
            let origin = InputPartition(topic: input.partition.topic, partition: source.partition)
            let first = Place(topic: input.cursor.topic, partition: source.partition, offset: source.offset)
            let last = input.sources.map { $0[origin] ?? (hasPosition ? -1 : .max) } ?? .max
            guard sources[first] == nil, isWhole && !sources.hasForgotten || source.offset > last else { return }
            doubt(reading, nil, "\(reading.description) is taken for a second copy of \(first), and there was no first", .missing)
        default: break
        }
    }

    private mutating func judgeLetter(_ code: String, _ reading: Reading?, _ place: Place, _ record: AuditRecord) throws {
        var contents: [Int]?
        if let reading {
            audit.counts.deadLetters += 1
            // The broker may have refused the answer to any command, which the topics do not show.
            let isRight =
                switch reading.verdict {
                case .deadLetter(.misplaced): code == DeadLetterReason.misplaced.code || code == DeadLetterReason.unanswerable.code
                case .deadLetter(let reason): code == reason.code
                case .answer, .forward: code == DeadLetterReason.unanswerable.code
                }
            if isRight || code == DeadLetterReason.badHeaders.code && reading.record.mayHaveBadHeaders {
                contents = reading.record.letters(code)
            } else {
                doubt(reading, record, "it makes \(place) a dead letter, \(quoted(code.utf8)): \(reading.description)")
            }
        }
        let sent = TransferAudit.Sent(contents: contents, notedAt: record.timestamp)
        transfers.audit.withLock { $0.send(sent, from: place, isLetter: true) }
        // Letters are in the order of the notes, so the next one is that of this note, with few exceptions.
        while contents != nil, let read = try readLetter(), read != place {}
    }

    /// Reads the next letter, and returns whose it is; nil at the end.
    private mutating func readLetter() throws -> Place? {
        while let record = try letters.next() {
            if letters.lacks(nextLetter..<record.offset + 1) {
                transfers.audit.withLock { $0.lettersSince = max($0.lettersSince, record.timestamp) }
            }
            nextLetter = record.offset + 1
            if record.isResendNote { continue }
            let place = letters.place(record.offset)
            guard let (source, code) = record.letterOrigin(rules.topicPrefix) else {
                audit.add(Fault(.wrong, place, "its headers do not say where it is from, and why"))
                continue
            }
            let letter = TransferAudit.Received(
                place: place, contents: record.contents(without: 5, code), timestamp: record.timestamp, isHandled: true)
            transfers.audit.withLock { $0.receive(letter, from: source, isLetter: true) }
            return source
        }
        return nil
    }

    private mutating func judge(_ anchor: AuditAnchor, _ input: Input, _ record: AuditRecord) throws {
        var anchor = anchor
        account.anchor()
        (input.last, input.isLastKnown) = (nil, true)
        let isCopied = record.offset <= endOfCopy
        if !isCopied, let next = input.next ?? (isWhole ? input.cursor.first : nil), next <= anchor.to {
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
        input.start = isCopied ? anchor.to : min(input.start ?? anchor.to, anchor.to)
        input.next = anchor.to
        if record.offset == endOfCopy {
            for input in inputs {
                guard let next = input.next else { continue }
                input.start = next
                input.cursor.move(to: next)
            }
        }
        if !hasRecords && isWhole || record.offset == endOfCopy { begin(at: record, keepsStates: true) }
        hasRecords = true
        audit.anchors.append(anchor)
    }

    private mutating func judge(_ note: JournalPosition, _ record: AuditRecord, isCopied: Bool) throws {
        // A copied note names offsets of the other cluster's journal.
        if !isWhole || isCopied { owner.adopt(note, at: moment(record)) }
        guard let claim = owner.claim else { return report(record, "the partition has no claim") }
        var right = note
        (right.claim, right.ids, right.forwarded) = (isCopied ? note.claim : claim, owner.ids, [:])
        let now = SendTimes(record, answeredAt: record.timestamp, after: before.written, handledBefore: before.handled)
        let first = isCopied ? .max : max(journal.first, audit.starts.first?.offset ?? 0)
        right.account = account.expected(
            note.account, at: record.offset, first: first, needed: isCopied ? nil : answers.oldest(at: now))
        if account.acceptsLoss { answers.loseState() }
        for (number, input) in inputs.enumerated() {
            let topic = input.partition.topic
            if let position = number < 2 ? note.next[topic] : note.added[input.partition], position > input.next ?? -1 {
                if isCopied {
                    input.next = position
                } else if input.next == nil, isWhole, !hasRecords {
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
    private mutating func judge(_ answer: JournalAnswer, _ value: UnsafeRawBufferPointer, _ record: AuditRecord) throws {
        let head = answer.head
        let input = inputs[head.command == .restock ? 1 : 0]
        let handled = HandledRecord(offset: head.offset, digest: RecordDigest(of: head))
        func source(_ source: ForwardSource) -> InputPartition {
            InputPartition(topic: input.partition.topic, partition: source.partition)
        }
        if record.offset <= endOfCopy {
            guard follow(head.offset, of: input, by: record) else { return }
            (input.last, input.isLastKnown) = (handled, true)
            account.countChange(answer)
            if let from = head.from { input.sources?[source(from)] = from.offset }
            if let problem = answers.follow(answer, value, record, &audit.counts) { report(record, problem) }
            return
        }
        audit.counts.answers += 1
        (input.last, input.isLastKnown) = (handled, true)
        account.countChange(answer)
        guard let reading = try take(head.offset, of: input, by: record) else {
            return answers.adopt(answer, value, record, ifNew: true, &audit.counts)
        }
        guard case .answer(let command) = reading.verdict, command.identity == handled.digest else {
            answers.forget(at: record.timestamp)
            doubt(reading, record, "it answers \(reading.place), which is \(reading.description)")
            return answers.adopt(answer, value, record, ifNew: false, &audit.counts)
        }
        audit.counts.commands += 1
        if let from = reading.source { input.sources?[source(from)] = from.offset }
        var problems: [AnswerAudit.Problem] = []
        if record.key != answers.stores[command.store] { problems.append(("has an answer whose key is not its store", .wrong)) }
        if record.traces != reading.record.traces {
            problems.append(("has an answer whose trace headers are not the command's", .wrong))
        }
        if head.from != reading.source {
            let (said, right) = (head.from?.text ?? "nowhere", reading.source?.text ?? "nowhere")
            problems.append(("is answered as from \(said), should be \(right)", .wrong))
        }
        problems += answers.judge(answer, value, record, command, reading.record, at: reading.times, &audit.counts)
        for problem in problems {
            let text = "\(reading.description) \(problem.text)"
            doubt(input, head.offset, record, text, problem.category, isAnswer: true)
        }
    }

    /// Follows the journal of another cluster, whose offsets are not those of the inputs here.
    ///
    /// - Returns: whether the record is new. A copier may write one twice.
    private mutating func follow(_ offset: Int64, of input: Input, by record: AuditRecord) -> Bool {
        guard offset >= input.next ?? 0, offset < .max else { return false }
        (input.next, hasRecords, handled) = (offset + 1, true, max(handled, record.timestamp))
        account.countRecord()
        return true
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
