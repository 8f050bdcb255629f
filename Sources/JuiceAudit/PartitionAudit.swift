/// Judges one partition: merges its journal with the inputs that are journalled in it.
///
/// Each record of the journal must name the next place of an input, and say what the record there results in. What is held
/// grows with the partition's stores and with the duplicate window, not with its records.
struct PartitionAudit {
    /// A partition of an input, as far as the journal has come in it.
    private final class Input {
        var cursor: RecordCursor
        /// The next offset, by the journal; nil as long as that is unknown.
        var next: Int64?
        /// Where judging began: the offset, and when the journal named the first record that there is.
        var start: Int64?
        var since: Int64?
        /// The offset that the last answered record was forwarded from, by partitions such as `orders/3`. Nil if an answered record
        /// has expired, up to the next position note.
        var sources: [String: Int64]? = [:]
        /// The last record that was handled; nil if it is not known.
        var last: Handled?
        /// Faults about places and, apart from them, about answers. Where an operator moves the position back, the places are
        /// judged again. If they were wrong, it may be another log by now, and then nothing that was said of it counts.
        var faults: [(offset: Int64, isAnswer: Bool, fault: Fault)] = []

        init(_ cursor: RecordCursor, isNew: Bool) { (self.cursor, last) = (cursor, isNew ? Handled() : nil) }

        var name: String { cursor.place(0).partitionName }
    }

    /// The last record of an input that was handled.
    private struct Handled {
        /// Nil if there is none.
        private var offset: Int64?
        /// What its digest is made of, if it was answered, or else the digest that its note has.
        private var (answered, digest) = ([UInt8](), "")

        init(_ offset: Int64? = nil, digest: String = "") { (self.offset, self.digest) = (offset, digest) }

        mutating func set(_ answer: Answer, _ json: JSONReader) {
            offset = answer.offset
            answered.removeAll(keepingCapacity: true)
            answer.addHashed(json, to: &answered)
        }

        /// What position notes say of it; empty if they leave it out.
        var text: String {
            let digest = answered.isEmpty ? digest : AccountAudit.digest(of: answered)
            return offset.map { #"{"offset":\#($0),"digest":"\#(digest)"}"# } ?? ""
        }
    }

    /// A record of an input, and what it is.
    private struct Reading {
        let record: AuditRecord
        let input: Input
        let times: SendTimes
        let verdict: Verdict
        /// Where it was forwarded from, by its header.
        let source: Place?

        var place: Place { input.cursor.place(record.offset) }
    }

    private let partition: Int
    private let session: AuditSession
    private let rules: AuditRules
    private var audit = Audit()
    private var journal: RecordCursor
    private let endOfCopy: Int64
    /// Orders and restocks of this partition, then those that were added later.
    private var inputs: [Input] = []
    private var letters: RecordCursor
    private var nextLetter: Int64 = 0
    private var owner = OwnerAudit()
    private var account: AccountAudit
    private var stock: StockAudit
    private var memory: AnswerMemory
    private var states: [StoreState] = []
    private var names: Names
    private var reader: CommandReader
    /// The latest places that records were forwarded from which were handled here.
    private var sources = Recent<Place, Bool>(65_536)
    private var hasPosition = false
    /// Whether the journal says more than whose it is.
    private var hasRecords = false
    /// Whether the journal begins with an anchor: an operator went on with a new one. Or it begins behind what cannot be read.
    private var isAnew = false
    /// When the last record of an input was handled.
    private var handled = Int64.min / 2
    /// When the last record before the present transaction was written, and when the last one was handled. There are offsets
    /// without records between the two, but not in a copy.
    private var before = (written: Int64.min / 2, handled: Int64.min / 2)
    private var last: (offset: Int64, timestamp: Int64)?
    private var json = JSONReader()

    init(_ partition: Int, _ session: AuditSession) {
        let (source, rules) = (session.source, session.rules)
        (self.partition, self.session, self.rules) = (partition, session, rules)
        journal = RecordCursor(source, .results, partition)
        endOfCopy = source.endOfCopy(partition: partition)
        letters = RecordCursor(source, .deadLetters, partition)
        stock = StockAudit(RecordCursor(source, .stock, partition), rules.menu)
        account = AccountAudit(isWhole: journal.first == 0, rules.menu)
        (memory, names, reader) = (AnswerMemory(rules), Names(partitionCount: rules.partitionCount), CommandReader(rules.menu))
        guard partition < rules.partitionCount else { return }
        let count = AuditTopic.inputs.map(source.partitionCount).max() ?? 0
        for number in stride(from: partition, to: max(count, partition + 1), by: rules.partitionCount) {
            inputs += AuditTopic.inputs.map { Input(RecordCursor(source, $0, number), isNew: journal.first == 0) }
        }
    }

    /// Judges all records.
    mutating func run() throws -> Audit {
        while let record = try journal.next() {
            if !isWhole, audit.starts.isEmpty { begin(at: record) }
            if record.offset < endOfCopy {
                before.handled = handled
            } else if let last, last.offset + 1 < record.offset {
                before = (last.timestamp, handled)
            }
            if journal.lacks((last?.offset ?? journal.first)..<record.offset) { beginAgain(at: record) }
            last = (record.offset, record.timestamp)
            try stock.read(&names)
            try judge(record)
        }
        for input in inputs { try finish(input) }
        for cursor in [journal, letters] + inputs.map(\.cursor) { cursor.faults.forEach { audit.add($0) } }
        let (states, rest) = (states, newStore(isKnown: isWhole))
        let isEndKnown = !journal.lacks((last?.offset ?? 0)..<Int64.max)
        try stock.finish({ isEndKnown ? ($0 < states.count ? states[$0] : rest).revision : nil }, &names)
        while try readLetter() != nil {}
        if letters.lacks(nextLetter..<Int64.max) { session.transfers.withLock { $0.lettersSince = .max } }
        audit.add(stock.audit)
        audit.owners = owner.owners
        audit.counts.unjudged += account.otherMenus
        audit.counts.stores = names.owners.count { $0 == partition }
        return audit
    }

    private mutating func judge(_ record: AuditRecord) throws {
        guard !inputs.isEmpty else { return report(record, "no store lives in this partition") }
        try (record.value ?? []).withUnsafeBufferPointer { value in
            guard json.readObject(value) else { return lose(record, "it is not a JSON object") }
            if let answer = Answer(json) { return try judge(answer, record) }
            if json.value("orderId") == nil, json.value("restockId") == nil, json.value("store") == nil {
                return try judgeNote(record)
            }
            lose(record, "it does not begin like an answer: \(quoted(value))")
            followAnswer()
        }
    }

    /// Whether nothing of the journal has expired, and none stood there before it.
    private var isWhole: Bool { journal.first == 0 && !isAnew }

    /// Judges from here on, without knowing what was before.
    private mutating func begin(at record: AuditRecord) {
        audit.starts = [moment(record)]
        memory.forget(at: record.timestamp)
    }

    /// Judges from here on, since it is unknown what the journal said just before.
    private mutating func beginAgain(at record: AuditRecord) {
        isAnew = true
        begin(at: record)
        (states, owner, hasPosition) = ([], OwnerAudit(), false)
        account.lose()
        for input in inputs { (input.next, input.since, input.sources, input.last) = (nil, nil, nil, nil) }
    }

    private func moment(_ record: AuditRecord) -> AuditMoment {
        AuditMoment(partition: partition, offset: record.offset, timestamp: record.timestamp)
    }

    private mutating func report(_ record: AuditRecord, _ problem: String, _ category: Fault.Category = .wrong) {
        audit.add(Fault(category, journal.place(record.offset), problem))
    }

    /// Reports a record that may be about one of an input, and does not say which.
    private mutating func lose(_ record: AuditRecord, _ problem: String) {
        account.lose()
        for input in inputs { input.last = nil }
        report(record, problem)
    }

    /// Reports a fault about a place of an input, which may no longer count if an operator moves the position back behind it.
    ///
    /// - Parameter record: the record of the journal that shows it; nil if none does.
    private mutating func doubt(
        _ input: Input, _ offset: Int64, _ category: Fault.Category, _ record: AuditRecord?, _ problem: String,
        isAnswer: Bool = false
    ) {
        let fault = Fault(category, record.map { journal.place($0.offset) } ?? input.cursor.place(offset), problem)
        guard input.faults.count < Audit.mostListed else { return audit.add(fault) }
        input.faults.append((offset, isAnswer, fault))
    }

    private mutating func doubt(
        _ reading: Reading, _ record: AuditRecord?, _ problem: String, _ category: Fault.Category = .wrong, isAnswer: Bool = false
    ) {
        doubt(reading.input, reading.record.offset, category, record, problem, isAnswer: isAnswer)
    }

    /// What a record of an input is, for people.
    private mutating func describe(_ reading: Reading) -> String {
        switch reading.verdict {
        case .putAside(let codes): "no command (\(codes[0].rawValue))"
        case .forward(let owner): "a command of partition \(owner)"
        case .answer(let command):
            reader.describe(reading.record, reading.input.cursor.topic, store: names.stores[command.store])
        }
    }
}

// MARK: - The merge

extension PartitionAudit {
    /// The record that a record of the journal is about; nil if there is none, which is counted or reported.
    private mutating func take(_ offset: Int64, of input: Input, by record: AuditRecord, isCopy: Bool = false) throws -> Reading? {
        if let problem = owner.checkData(isWhole: isWhole) { report(record, problem) }
        (hasRecords, handled) = (true, max(handled, record.timestamp))
        account.add(json)
        let place = input.cursor.place(offset)
        if offset >= Contract.lacking {
            memory.forget(at: record.timestamp)
            let told = input.cursor.place(offset - Contract.lacking)
            let what =
                (json.string("orderId") ?? json.string("restockId")).map { #"the command "\#($0)""# }
                ?? "the record of a note, \(json.string("type") ?? "")"
            report(record, "the copy lacks \(told) of the other cluster: \(what)", .missing)
            return nil
        }
        guard offset >= input.next ?? 0 else {
            report(record, "\(place) is handled once more", .doubled)
            return nil
        }
        try move(input, to: offset, record)
        input.next = offset + 1
        guard try input.cursor.nextOffset() == offset, let found = try input.cursor.next() else {
            memory.forget(at: record.timestamp)
            if input.cursor.lacks(offset..<offset + 1) {
                audit.counts.unjudged += 1
                (input.sources, input.since) = (nil, nil)
            } else {
                doubt(input, offset, .wrong, record, "\(place) is not there")
            }
            return nil
        }
        input.since = input.since ?? record.timestamp
        return read(found, input, handledAt: record.timestamp, isHandled: !isCopy)
    }

    /// Moves on to an offset. What is in between was missed.
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
            doubt(reading, nil, "\(describe(reading)) is not in the journal", .missing)
        }
        return count
    }

    private mutating func read(_ record: AuditRecord, _ input: Input, handledAt time: Int64, isHandled: Bool) -> Reading {
        audit.counts.records += 1
        let topic = input.cursor.topic
        let source = record.source(in: topic)
        if let source {
            let copy = TransferAudit.Received(
                place: input.cursor.place(record.offset), contents: record.contents(without: 1), timestamp: record.timestamp,
                isHandled: isHandled)
            session.transfers.withLock { $0.receive(copy, from: source, isLetter: false) }
            if isHandled { sources[source] = true }
        }
        return Reading(
            record: record, input: input,
            times: SendTimes(record, answeredAt: time, after: before.written, handledBefore: before.handled),
            verdict: reader.verdict(on: record, topic, input.cursor.partition, &names), source: source)
    }

    /// The input that a note is about, and the offset there; nil if it is not journalled here.
    private var notedPlace: (Input, Int64)? {
        let topic = AuditTopic.inputs.firstIndex { $0.rawValue == json.string("topic") }
        let number = json.integer("partition") ?? partition
        guard let topic, 0...Int(Int32.max) ~= number, number % rules.partitionCount == partition,
            let offset = json.integer("offset").map(Int64.init), 0..<Int64.max ~= offset
        else { return nil }
        let place = number / rules.partitionCount * 2 + topic
        return place < inputs.count ? (inputs[place], offset) : nil
    }

    /// Judges what the journal has not come to.
    private mutating func finish(_ input: Input) throws {
        let start = input.start ?? input.cursor.first
        let since = isWhole && !input.cursor.lacks(0..<Int64.max) ? .min : input.since.map { $0 &+ Contract.longestDelay } ?? .max
        audit.judged[input.name] = Audit.Judged(offsets: start..<max(start, input.next ?? start), since: since)
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
    private mutating func judgeNote(_ record: AuditRecord) throws {
        if record.key != nil || !record.headers.isEmpty { report(record, "the note has a key or headers") }
        let type = json.string("type") ?? ""
        switch type {
        case "claim":
            let problem = owner.add(json, at: moment(record), partitionCount: rules.partitionCount)
            if let problem { report(record, problem) }
            return
        case "position": return try judgePosition(record)
        default: break
        }
        guard let (input, offset) = notedPlace else {
            guard ["forwarded", "deadLetter", "copy", "anchored"].contains(type) else { return }
            return lose(record, "the note is of no place that is journalled here")
        }
        if type == "anchored" { return try judgeAnchor(offset, input, record) }
        let (reading, digest) = (try take(offset, of: input, by: record, isCopy: type == "copy"), json.string("digest") ?? "")
        if ["copy", "deadLetter", "forwarded"].contains(type) {
            input.last = Handled(offset, digest: digest)
            if let reading, digest != reading.record.digest { doubt(reading, record, "its digest is not that of \(reading.place)") }
        }
        guard let reading else {
            if type == "deadLetter" { send(nil, input.cursor.place(offset), record) }
            return
        }
        switch type {
        case "copy": judgeCopy(reading, record)
        case "deadLetter": try judgeLetter(reading, record)
        case "forwarded": judgeForward(reading, record)
        default: break
        }
    }

    private mutating func judgeForward(_ reading: Reading, _ record: AuditRecord) {
        guard case .forward(let owner) = reading.verdict else {
            return doubt(reading, record, "it forwards \(reading.place): \(describe(reading))")
        }
        if json.integer("to") != owner { report(record, "\(reading.place) belongs to partition \(owner)") }
        let sent = TransferAudit.Sent(
            contents: reading.record.forwards, timestamp: rules.keepsTimes ? reading.record.timestamp : nil, owner: owner,
            notedAt: record.timestamp)
        let was = json.integer("was").map {
            Place(topic: reading.place.topic, partition: reading.place.partition, offset: Int64($0))
        }
        session.transfers.withLock { $0.send(sent, from: was ?? reading.place, isLetter: false) }
    }

    private mutating func judgeLetter(_ reading: Reading, _ record: AuditRecord) throws {
        let codes: [DeadLetterCode] = if case .putAside(let codes) = reading.verdict { codes } else { [.unanswerable] }
        let code = json.string("code") ?? ""
        audit.counts.deadLetters += 1
        guard codes.contains(where: { $0.rawValue == code }) || code == "badHeaders" && reading.record.mayHaveBadHeaders else {
            send(nil, reading.place, record)
            return doubt(reading, record, "it puts \(reading.place) aside as \(quoted(code.utf8)): \(describe(reading))")
        }
        send(reading.record.letters(code), reading.place, record)
        // Letters are in the order of the notes, so the next one is that of this note, with few exceptions.
        while let place = try readLetter(), place != reading.place {}
    }

    /// The journal says that there is a letter.
    private func send(_ contents: [UInt64]?, _ place: Place, _ record: AuditRecord) {
        let sent = TransferAudit.Sent(contents: contents, notedAt: record.timestamp)
        session.transfers.withLock { $0.send(sent, from: place, isLetter: true) }
    }

    /// Reads the next letter, and returns whose it is; nil at the end.
    private mutating func readLetter() throws -> Place? {
        while let record = try letters.next() {
            if letters.lacks(nextLetter..<record.offset + 1) {
                session.transfers.withLock { $0.lettersSince = max($0.lettersSince, record.timestamp) }
            }
            nextLetter = record.offset + 1
            if record.isResendNote { continue }
            let place = letters.place(record.offset)
            guard let (source, code) = record.letterOrigin(rules) else {
                audit.add(Fault(.wrong, place, "its headers do not say where it is from, and why"))
                continue
            }
            let letter = TransferAudit.Received(
                place: place, contents: record.contents(without: 5, code), timestamp: record.timestamp, isHandled: true)
            session.transfers.withLock { $0.receive(letter, from: source, isLetter: true) }
            return source
        }
        return nil
    }

    /// A record is a second copy only if one that was forwarded from the same place was handled here.
    private mutating func judgeCopy(_ reading: Reading, _ record: AuditRecord) {
        guard let source = reading.source else {
            return doubt(reading, record, "it takes \(reading.place) for a copy: \(describe(reading))")
        }
        let last = reading.input.sources.map { $0[source.partitionName] ?? (hasPosition ? -1 : .max) } ?? .max
        guard sources[source] == nil, isWhole && !sources.hasForgotten || source.offset > last else { return }
        doubt(reading, nil, "\(describe(reading)) is taken for a second copy of \(source), and there was no first", .missing)
    }

    private mutating func judgeAnchor(_ offset: Int64, _ input: Input, _ record: AuditRecord) throws {
        account.anchor()
        input.last = Handled()
        var anchor = AuditAnchor(
            at: moment(record), topic: input.cursor.topic, partition: input.cursor.partition, from: input.next, to: offset,
            by: json.string("by") ?? "", reason: json.string("reason"), copied: json.integer("copied").map(Int64.init))
        if let next = input.next ?? (isWhole ? input.cursor.first : nil), next <= offset {
            anchor.skipped = try pass(input, to: offset, handledAt: record.timestamp, isMissing: false)
        } else {
            input.cursor.move(to: offset)
        }
        audit.counts.skipped += anchor.skipped
        if anchor.copied != nil { inputs[input.cursor.topic == .orders ? 0 : 1].sources = [:] }
        let before = input.faults.count
        let isOtherLog = input.faults.contains { $0.offset >= offset && !$0.isAnswer }
        input.faults.removeAll { $0.offset >= offset && (isOtherLog || !$0.isAnswer) }
        audit.counts.unjudged += before - input.faults.count
        input.start = min(input.start ?? offset, offset)
        input.next = offset
        if !hasRecords, isWhole {
            isAnew = true
            begin(at: record)
        }
        hasRecords = true
        audit.anchors.append(anchor)
    }

    private mutating func judgePosition(_ record: AuditRecord) throws {
        if let problem = owner.check(json, at: moment(record), isWhole: isWhole) { report(record, problem) }
        // A copied note names offsets of the other cluster.
        let first = record.offset < endOfCopy ? .max : max(journal.first, audit.starts.first?.offset ?? 0)
        let now = SendTimes(record, answeredAt: record.timestamp, after: before.written, handledBefore: before.handled)
        let needed = record.offset < endOfCopy ? nil : memory.oldest(at: now)
        if let problem = account.check(json, at: record.offset, first: first, needed: needed) { report(record, problem) }
        if account.acceptsLoss { states = states.map { _ in newStore(isKnown: false) } }
        let last = record.offset < endOfCopy ? [:] : json.members("last")
        let (added, forwarded) = (json.offsets("added"), json.offsets("forwarded"))
        for (number, input) in inputs.enumerated() {
            let topic = input.cursor.topic
            let said = number < 2 ? json.integer(topic == .orders ? "orders" : "restocks").map(Int64.init) : added[input.name]
            if let said {
                try judge(position: said, input, record)
            } else if let next = input.next {
                report(record, "it does not say the position in \(input.name), which is \(next)")
            }
            if let expected = input.last?.text, record.offset >= endOfCopy, last[input.name] ?? "" != expected {
                report(record, "its last of \(input.name) is \(last[input.name] ?? "left out"), should be \(expected)")
            }
            guard number < 2 else { continue }
            let sources = forwarded.filter { $0.key.hasPrefix("\(topic.rawValue)/") }
            if !isWhole, !hasPosition { input.sources = nil }
            let expected = input.sources ?? sources
            if sources != expected { report(record, "its forwarded is \(sources), should be \(expected)") }
            input.sources = expected
        }
        (hasPosition, hasRecords) = (true, true)
    }

    private mutating func judge(position said: Int64, _ input: Input, _ record: AuditRecord) throws {
        if let next = input.next, said < next {
            return report(record, "its position in \(input.name) is \(said), should be \(next)")
        }
        // Where a journal begins, the group may have said how far the input was handled. Later, only markers may be in between.
        guard input.next == nil, isWhole, !hasRecords else { return try move(input, to: said, record) }
        // What is before that has no note, whatever became of it.
        input.start = said
        audit.counts.skipped += try pass(input, to: said, handledAt: record.timestamp, isMissing: false)
        input.next = said
    }
}

// MARK: - Answers

extension PartitionAudit {
    private mutating func judge(_ answer: Answer, _ record: AuditRecord) throws {
        audit.counts.answers += 1
        let input = inputs[answer.kind == .restock ? 1 : 0]
        if input.last == nil { input.last = Handled() }
        input.last?.set(answer, json)
        guard let reading = try take(answer.offset, of: input, by: record) else { return followAnswer(ifAhead: true) }
        guard case .answer(let command) = reading.verdict, isSame(json.text(answer.store), names.stores[command.store]),
            names.identity(answer.kind, store: command.store, id: json.text(answer.id)) == command.identity
        else {
            memory.forget(at: record.timestamp)
            doubt(reading, record, "it answers \(reading.place), which is \(describe(reading))")
            return followAnswer()
        }
        audit.counts.commands += 1
        if let source = reading.source { input.sources?[source.partitionName] = source.offset }
        if let problem = problem(of: answer, record, reading, names.stores[command.store]) { blame(reading, record, problem) }
        if json.isType("answerLost") {
            audit.counts.duplicates += 1
            judgeLost(answer, record, command, reading)
        } else if answer.isDuplicate {
            audit.counts.duplicates += 1
            judgeDuplicate(answer, record, command, reading)
        } else {
            judgeFirst(answer, record, command, reading)
        }
    }

    private mutating func blame(_ reading: Reading, _ record: AuditRecord, _ problem: String, _ category: Fault.Category = .wrong) {
        doubt(reading, record, "\(describe(reading)) \(problem)", category, isAnswer: true)
    }

    /// What is wrong with what surrounds an answer.
    private func problem(of answer: Answer, _ record: AuditRecord, _ reading: Reading, _ store: [UInt8]) -> String? {
        if record.key != store { return "has an answer whose key is not its store" }
        if record.traces != reading.record.traces { return "has an answer whose trace headers are not the command's" }
        let (from, source) = (answer.from.map { String(decoding: json.text($0), as: UTF8.self) }, reading.source?.header)
        return from == source ? nil : "is answered as from \(from ?? "nowhere"), should be \(source ?? "nowhere")"
    }

    private mutating func judgeLost(_ answer: Answer, _ record: AuditRecord, _ command: Command, _ reading: Reading) {
        guard let was = memory.formerOutcome(of: command) else { return audit.counts.unjudged += 1 }
        // Otherwise the order is rejected, and the cancel carried out.
        let isPossible = was != (command.kind == .cancel ? "notMade" : "cancelled")
        let text = (command.kind == .cancel ? ",\"cancel\":true" : "") + ",\"was\":\"\(was)\""
        let isRight = answer.isDuplicate && answer.text(json).map { isSame($0, Array(text.utf8)) } ?? false
        if !isPossible || !isRight { blame(reading, record, "is answered as lost, not as of a command that was \(was)") }
    }

    private mutating func judgeDuplicate(_ answer: Answer, _ record: AuditRecord, _ command: Command, _ reading: Reading) {
        guard let first = memory.firstAnswer(to: command), first.kind == command.kind else {
            if memory.mayHaveExpired(reading.times) { return audit.counts.unjudged += 1 }
            return blame(reading, record, "is answered as a duplicate, and is none")
        }
        if answer.contents(json) != first.contents { blame(reading, record, "is answered otherwise than at \(first.offset)") }
    }

    private mutating func judgeFirst(_ answer: Answer, _ record: AuditRecord, _ command: Command, _ reading: Reading) {
        let first = memory.firstAnswer(to: command)
        var command = command
        // Not the cancel of an order that is remembered, for which this is not asked.
        if isUnknown(command.store) { command.task = .reject(.unknownStore) }
        let contents = answer.contents(json)
        let tasks = memory.tasks(of: command, at: reading.times, returned: json.amounts("returned", rules.menu))
        var before = state(of: command.store)
        if before.revision == nil, let revision = json.integer("revision") {
            before = revision == 1 ? newStore(isKnown: true) : StoreState(levels: before.levels, revision: revision &- 1)
        }
        var (outcome, difference) = execute(tasks[0], command, before, answer)
        for task in tasks.dropFirst() where difference != nil {
            let other = execute(task, command, before, answer)
            if other.difference == nil { (outcome, difference) = other }
        }
        if let first, first.kind == command.kind, memory.isRemembered(first, reading.times) {
            blame(reading, record, "is carried out again, after \(first.offset)", .doubled)
            // The first answer repeated, only not marked as a duplicate, changed nothing.
            if contents == first.contents, difference != nil { return }
        }
        // It should be one fault, and not one more for each answer after it.
        if let difference {
            blame(reading, record, difference)
            outcome = Outcome(saidBy: json, on: before, rules.menu)
        }
        memory.remember(contents, at: record.offset, command, outcome, reading.times)
        audit.counts.add(outcome.kind)
        if outcome.isChange { set(outcome.after, of: command.store) }
    }

    /// Whether the service knows a store, by the rules or else by its answer.
    private func isUnknown(_ store: Int) -> Bool {
        if let stores = rules.stores { return !stores.contains(names.stores[store]) }
        return json.isType("rejected") && json.string("reason") == RejectionReason.unknownStore.rawValue
    }

    /// What a task results in, and how the answer differs from that.
    private mutating func execute(_ task: Command.Task, _ command: Command, _ before: StoreState, _ answer: Answer) -> (
        outcome: Outcome, difference: String?
    ) {
        guard before.decides(task) else {
            audit.counts.unjudged += 1
            return (Outcome(saidBy: json, on: before, rules.menu), nil)
        }
        let outcome = Outcome(of: task, command, on: before, rules.menu)
        guard let text = answer.text(json) else { return (outcome, "has an answer that does not end with a message") }
        let type = json.text(answer.type)
        if isSame(text, outcome.text), type.elementsEqual(outcome.kind.rawValue.utf8) { return (outcome, nil) }
        let (said, should) = (String(decoding: text, as: UTF8.self), String(decoding: outcome.text, as: UTF8.self))
        return (outcome, "is \(String(decoding: type, as: UTF8.self))\(said), should be \(outcome.kind)\(should)")
    }

    /// It is unknown whether the answer is right. What it says of the stock counts.
    ///
    /// - Parameter ifAhead: whether it must be of a later revision, as it is not if it only stands there twice.
    private mutating func followAnswer(ifAhead: Bool = false) {
        guard let store = json.value("store").flatMap(json.string).flatMap({ names.store($0) }), names.owners[store] == partition
        else { return }
        let before = state(of: store)
        let claimed = json.claimed(from: before, rules.menu)
        if !ifAhead || claimed.revision ?? 0 > before.revision ?? -1 { set(claimed, of: store) }
    }

    private func newStore(isKnown: Bool) -> StoreState {
        StoreState(levels: rules.menu.fruits.map { isKnown ? $0.initialLevel : -1 }, revision: isKnown ? 0 : nil)
    }

    private func state(of store: Int) -> StoreState {
        store < states.count ? states[store] : newStore(isKnown: isWhole)
    }

    private mutating func set(_ state: StoreState, of store: Int) {
        while states.count <= store { states.append(newStore(isKnown: isWhole)) }
        states[store] = state
        stock.reached(state, of: store, names)
    }
}

extension AuditCounts {
    fileprivate mutating func add(_ kind: Outcome.Kind) {
        switch kind {
        case .juiceMade: juicesMade += 1
        case .outOfStock: outOfStock += 1
        case .restocked: restocked += 1
        case .cancelled: cancelled += 1
        case .rejected: rejected += 1
        }
    }
}
