/// Judges one partition: merges its journal with the inputs that are journalled in it.
///
/// Each record of the journal must name the next place of an input, and say what the record there results in. What is held
/// grows with the partition's stores and with the duplicate window, not with its records.
struct PartitionAudit {
    /// A partition of an input, as far as the journal has come in it.
    private struct Input {
        var cursor: RecordCursor
        /// The next offset, by the journal; nil as long as that is unknown.
        var next: Int64?
        /// Where judging began: the offset, and when the journal named the first record that there is.
        var start: Int64?
        var since: Int64?
        var times = SendTimes()
        /// The offset that the last answered record was forwarded from, by partitions such as `orders/3`.
        var sources: [String: Int64] = [:]
        /// Faults about places and, apart from them, about answers. Where an operator moves the position back, the places are
        /// judged again. If they were wrong, it may be another log by now, and then nothing that was said of it counts.
        var faults: [(offset: Int64, isAnswer: Bool, fault: Fault)] = []

        var name: String { place(0).ofPartition.name }

        func place(_ offset: Int64) -> Place {
            Place(topic: cursor.topic, partition: cursor.partition, offset: offset)
        }
    }

    /// A record of an input, and what it is.
    private struct Reading {
        let record: AuditRecord
        let place: Place
        let moment: SendTimes.Moment
        let verdict: Verdict
        /// Where it was forwarded from, by its header.
        let source: Place?
    }

    private let partition: Int
    private let rules: AuditRules
    private let transfers: TransferAudit
    private var findings = Findings()
    private var journal: RecordCursor
    /// Orders and restocks of this partition, then those that were added later.
    private var inputs: [Input] = []
    private var letters: RecordCursor
    private var hasLetters = false
    private var owner = OwnerAudit()
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
    /// Whether the journal begins with an anchor: an operator went on with a new one.
    private var isAnew = false
    /// When the last record before the present transaction was written. There are offsets without records between the two.
    private var transaction = Int64.min / 2
    private var last: (offset: Int64, timestamp: Int64)?
    private var json = JSONReader()

    init(_ source: some AuditSource, _ partition: Int, _ rules: AuditRules, _ transfers: TransferAudit) {
        (self.partition, self.rules, self.transfers) = (partition, rules, transfers)
        journal = RecordCursor(source, .results, partition)
        letters = RecordCursor(source, .deadLetters, partition)
        stock = StockAudit(RecordCursor(source, .stock, partition), rules.menu)
        (memory, names, reader) = (AnswerMemory(rules), Names(partitionCount: rules.partitionCount), CommandReader(rules.menu))
        guard partition < rules.partitionCount else { return }
        let count = AuditTopic.inputs.map(source.partitionCount).max() ?? 0
        for number in stride(from: partition, to: max(count, partition + 1), by: rules.partitionCount) {
            inputs += AuditTopic.inputs.map { Input(cursor: RecordCursor(source, $0, number)) }
        }
    }

    /// Judges all records.
    mutating func run() throws -> Findings {
        while let record = try journal.next() {
            if !isWhole, findings.starts.isEmpty { begin(at: record) }
            if let last, last.offset + 1 < record.offset { transaction = last.timestamp }
            last = (record.offset, record.timestamp)
            try stock.read(&names)
            try judge(record)
        }
        for input in inputs.indices { try finish(input) }
        let (states, rest) = (states, newStore(isKnown: isWhole))
        try stock.finish({ ($0 < states.count ? states[$0] : rest).revision }, &names)
        while try readLetter() != nil {}
        findings.list.add(stock.list)
        findings.owners = owner.owners
        findings.counts.stores = names.owners.count { $0 == partition }
        return findings
    }

    private mutating func judge(_ record: AuditRecord) throws {
        guard !inputs.isEmpty else { return report(.wrong, record, "no store lives in this partition") }
        try (record.value ?? []).withUnsafeBufferPointer { value in
            guard json.readObject(value) else { return report(.wrong, record, "it is not a JSON object") }
            if let answer = Answer(json) { return try judge(answer, record) }
            if json.value("orderId") == nil, json.value("restockId") == nil, json.value("store") == nil {
                return try judgeNote(record)
            }
            report(.wrong, record, "it does not begin like an answer: \(quoted(value))")
            followAnswer()
        }
    }

    /// Whether nothing of the journal has expired, and none stood there before it.
    private var isWhole: Bool { journal.first == 0 && !isAnew }

    /// Judges from here on, without knowing what was before.
    private mutating func begin(at record: AuditRecord) {
        findings.starts = [moment(record)]
        memory.forget(at: record.timestamp)
    }

    private func moment(_ record: AuditRecord) -> AuditMoment {
        AuditMoment(partition: partition, offset: record.offset, timestamp: record.timestamp)
    }

    private mutating func report(_ category: Fault.Category, _ record: AuditRecord, _ problem: String) {
        findings.list.add(category, .results, partition, record.offset, problem)
    }
}

// MARK: - The merge

extension PartitionAudit {
    /// The record that a record of the journal is about; nil if there is none, which is counted or reported.
    private mutating func take(_ offset: Int64, of input: Int, by record: AuditRecord, isCopy: Bool = false) throws -> Reading? {
        if let problem = owner.checkData(isWhole: isWhole) { report(.wrong, record, problem) }
        hasRecords = true
        let place = inputs[input].place(offset)
        guard offset >= inputs[input].next ?? 0 else {
            report(.doubled, record, "\(place.description) is handled once more")
            return nil
        }
        try move(input, to: offset, record)
        inputs[input].next = offset + 1
        guard try inputs[input].cursor.nextOffset() == offset, let found = try inputs[input].cursor.next() else {
            memory.forget(at: record.timestamp)
            if offset < inputs[input].cursor.first {
                findings.counts.unjudged += 1
            } else {
                doubt(place, .wrong, record, "\(place.description) is not there")
            }
            return nil
        }
        inputs[input].since = inputs[input].since ?? record.timestamp
        return read(found, input, handledAt: record.timestamp, isHandled: !isCopy)
    }

    /// Moves on to an offset. What is in between was missed.
    private mutating func move(_ input: Int, to offset: Int64, _ record: AuditRecord) throws {
        if inputs[input].next == nil {
            inputs[input].start = isWhole ? inputs[input].cursor.first : offset
            if !isWhole { inputs[input].cursor.move(to: offset) }
        }
        try pass(input, to: offset, handledAt: record.timestamp, isMissing: true)
        inputs[input].next = offset
    }

    /// Passes over the records before an offset.
    ///
    /// - Returns: how many there were.
    @discardableResult
    private mutating func pass(_ input: Int, to offset: Int64, handledAt time: Int64, isMissing: Bool) throws
        -> Int
    {
        var count = 0
        while let next = try inputs[input].cursor.nextOffset(), next < offset, let record = try inputs[input].cursor.next() {
            let reading = read(record, input, handledAt: time, isHandled: false)
            count += 1
            guard isMissing else { continue }
            if case .answer = reading.verdict { findings.counts.commands += 1 }
            doubt(reading.place, .missing, nil, "\(describe(reading)) is not in the journal")
        }
        return count
    }

    private mutating func read(_ record: AuditRecord, _ input: Int, handledAt time: Int64, isHandled: Bool) -> Reading {
        findings.counts.records += 1
        let place = inputs[input].place(record.offset)
        let source = record.source(in: place.topic)
        if let source {
            let (contents, time) = (record.contents(without: 1), record.timestamp)
            let copy = TransferAudit.Received(place: place, contents: contents, timestamp: time, isHandled: isHandled)
            transfers.receive(copy, from: source, isLetter: false)
            if isHandled { sources[source] = true }
        }
        return Reading(
            record: record, place: place, moment: inputs[input].times.read(record, at: time, after: transaction),
            verdict: reader.verdict(on: record, place.topic, place.partition, &names), source: source)
    }

    /// Reports a fault about a place, which may no longer count if an operator moves the position back behind it.
    private mutating func doubt(
        _ place: Place, _ category: Fault.Category, _ record: AuditRecord?, _ problem: String, isAnswer: Bool = false
    ) {
        let journal = record.map { Place(topic: .results, partition: partition, offset: $0.offset) }
        let fault = Fault(category, journal ?? place, problem)
        if let input = input(place.topic, place.partition), inputs[input].faults.count < FaultList.longest {
            inputs[input].faults.append((place.offset, isAnswer, fault))
        } else {
            findings.list.add(fault)
        }
    }

    /// Which of the inputs a partition of a topic is; nil if it is not journalled here.
    private func input(_ topic: AuditTopic, _ number: Int) -> Int? {
        guard 0...Int(Int32.max) ~= number, number % rules.partitionCount == partition else { return nil }
        let place = number / rules.partitionCount * 2 + (topic == .restocks ? 1 : 0)
        return place < inputs.count ? place : nil
    }

    /// What a record of an input is, for people.
    private mutating func describe(_ reading: Reading) -> String {
        switch reading.verdict {
        case .putAside(let codes): "no command (\(codes[0].rawValue))"
        case .forward(let owner): "a command of partition \(owner)"
        case .answer(let command): reader.describe(reading.record, reading.place.topic, store: names.stores[command.store])
        }
    }

    /// Judges what the journal has not come to.
    private mutating func finish(_ input: Int) throws {
        let (first, next) = (inputs[input].cursor.first, inputs[input].next)
        let start = inputs[input].start ?? first
        let since = isWhole && first == 0 ? .min : inputs[input].since.map { $0 &+ Contract.longestDelay } ?? .max
        findings.judged[inputs[input].place(0)] = Findings.Judged(offsets: start..<max(start, next ?? start), since: since)
        // If nothing is known of the position, all may have been handled.
        if next != nil || isWhole {
            let rest = try pass(input, to: .max, handledAt: .max, isMissing: !rules.allowsOpen)
            findings.counts.open += rules.allowsOpen ? rest : 0
        }
        for fault in inputs[input].faults { findings.list.add(fault.fault) }
    }
}

// MARK: - Notes

extension PartitionAudit {
    private mutating func judgeNote(_ record: AuditRecord) throws {
        if record.key != nil || !record.headers.isEmpty { report(.wrong, record, "the note has a key or headers") }
        if json.isType("claim") {
            let problem = owner.add(json, at: moment(record), partitionCount: rules.partitionCount)
            if let problem { report(.wrong, record, problem) }
            return
        }
        if json.isType("position") { return try judgePosition(record) }
        let topic = AuditTopic.inputs.first { $0.rawValue == json.string("topic") }
        guard let topic, let input = input(topic, json.integer("partition") ?? partition),
            let offset = json.integer("offset").map(Int64.init), 0..<Int64.max ~= offset
        else {
            let known: [StaticString] = ["forwarded", "deadLetter", "copy", "anchored"]
            if known.contains(where: json.isType) { report(.wrong, record, "the note is of no place that is journalled here") }
            return
        }
        if json.isType("anchored") { return try judgeAnchor(offset, input, record) }
        let (isCopy, isLetter) = (json.isType("copy"), json.isType("deadLetter"))
        guard let reading = try take(offset, of: input, by: record, isCopy: isCopy) else {
            return isLetter ? send(nil, inputs[input].place(offset), record) : ()
        }
        if isCopy { judgeCopy(reading, input, record) }
        if isLetter { try judgeLetter(reading, record) }
        if json.isType("forwarded") { judgeForward(reading, record) }
    }

    private mutating func judgeForward(_ reading: Reading, _ record: AuditRecord) {
        guard case .forward(let owner) = reading.verdict else {
            return doubt(reading.place, .wrong, record, "it forwards \(reading.place.description): \(describe(reading))")
        }
        if json.integer("to") != owner { report(.wrong, record, "\(reading.place.description) belongs to partition \(owner)") }
        let sent = TransferAudit.Sent(
            contents: [reading.record.contents()], timestamp: reading.record.timestamp, owner: owner, notedAt: record.timestamp)
        transfers.send(sent, from: reading.place, isLetter: false)
    }

    private mutating func judgeLetter(_ reading: Reading, _ record: AuditRecord) throws {
        let codes: [DeadLetterCode] = if case .putAside(let codes) = reading.verdict { codes } else { [.unanswerable] }
        let code = json.string("code") ?? ""
        findings.counts.deadLetters += 1
        guard codes.contains(where: { $0.rawValue == code }) else {
            send(nil, reading.place, record)
            let problem = "it puts \(reading.place.description) aside as \(quoted(code.utf8)): \(describe(reading))"
            return doubt(reading.place, .wrong, record, problem)
        }
        send(reading.record.letters(code), reading.place, record)
        // Letters are in the order of the notes, so the next one is that of this note, with few exceptions.
        while let place = try readLetter(), place != reading.place {}
    }

    /// The journal says that there is a letter.
    private func send(_ contents: [UInt64]?, _ place: Place, _ record: AuditRecord) {
        transfers.send(TransferAudit.Sent(contents: contents, notedAt: record.timestamp), from: place, isLetter: true)
    }

    /// Reads the next letter, and returns whose it is; nil at the end.
    private mutating func readLetter() throws -> Place? {
        while let record = try letters.next() {
            if letters.first > 0, !hasLetters { transfers.expired(lettersBefore: record.timestamp) }
            hasLetters = true
            if record.isResendNote { continue }
            let place = Place(topic: .deadLetters, partition: partition, offset: record.offset)
            guard let (source, code) = record.letterOrigin(rules) else {
                findings.list.add(Fault(.wrong, place, "its headers do not say where it is from, and why"))
                continue
            }
            let (contents, time) = (record.contents(without: 5, code), record.timestamp)
            let letter = TransferAudit.Received(place: place, contents: contents, timestamp: time, isHandled: true)
            transfers.receive(letter, from: source, isLetter: true)
            return source
        }
        return nil
    }

    /// A record is a second copy only if one that was forwarded from the same place was handled here.
    private mutating func judgeCopy(_ reading: Reading, _ input: Int, _ record: AuditRecord) {
        guard let source = reading.source else {
            return doubt(reading.place, .wrong, record, "it takes \(reading.place.description) for a copy: \(describe(reading))")
        }
        let last = inputs[input].sources[source.name] ?? (hasPosition ? -1 : .max)
        guard sources[source] == nil, isWhole && !sources.hasForgotten || source.offset > last else { return }
        let problem = "\(describe(reading)) is taken for a second copy of \(source.description), and there was no first"
        doubt(reading.place, .missing, nil, problem)
    }

    private mutating func judgeAnchor(_ offset: Int64, _ input: Int, _ record: AuditRecord) throws {
        var anchor = AuditAnchor(
            at: moment(record), topic: inputs[input].cursor.topic, partition: inputs[input].cursor.partition,
            from: inputs[input].next, to: offset, by: json.string("by") ?? "", reason: json.string("reason"))
        if let next = inputs[input].next ?? (isWhole ? inputs[input].cursor.first : nil), next <= offset {
            anchor.skipped = try pass(input, to: offset, handledAt: record.timestamp, isMissing: false)
        } else {
            inputs[input].cursor.move(to: offset)
        }
        findings.counts.skipped += anchor.skipped
        let before = inputs[input].faults.count
        let isOtherLog = inputs[input].faults.contains { $0.offset >= offset && !$0.isAnswer }
        inputs[input].faults.removeAll { $0.offset >= offset && (isOtherLog || !$0.isAnswer) }
        findings.counts.unjudged += before - inputs[input].faults.count
        inputs[input].start = min(inputs[input].start ?? offset, offset)
        inputs[input].next = offset
        if !hasRecords, isWhole {
            isAnew = true
            begin(at: record)
        }
        hasRecords = true
        findings.anchors.append(anchor)
    }

    private mutating func judgePosition(_ record: AuditRecord) throws {
        if let problem = owner.check(json, at: moment(record), isWhole: isWhole) { report(.wrong, record, problem) }
        if json.integer("stock") ?? -1 < 0 { report(.wrong, record, "it does not say where the stock ends") }
        let (added, forwarded) = (json.offsets("added"), json.offsets("forwarded"))
        for input in inputs.indices {
            let (name, topic) = (inputs[input].name, inputs[input].cursor.topic)
            let said = input < 2 ? json.integer(topic == .orders ? "orders" : "restocks").map(Int64.init) : added[name]
            if let said {
                try judge(position: said, input, record)
            } else if let next = inputs[input].next {
                report(.wrong, record, "it does not say the position in \(name), which is \(next)")
            }
            guard input < 2 else { continue }
            let sources = forwarded.filter { $0.key.hasPrefix("\(topic.rawValue)/") }
            if !isWhole, !hasPosition { inputs[input].sources = sources }
            if sources != inputs[input].sources {
                report(.wrong, record, "its forwarded is \(sources), should be \(inputs[input].sources)")
            }
        }
        (hasPosition, hasRecords) = (true, true)
    }

    private mutating func judge(position said: Int64, _ input: Int, _ record: AuditRecord) throws {
        let next = inputs[input].next
        if let next, said < next {
            return report(.wrong, record, "its position in \(inputs[input].name) is \(said), should be \(next)")
        }
        // Where a journal begins, the group may have said how far the input was handled. Later, only markers may be in between.
        guard next == nil, isWhole, !hasRecords else { return try move(input, to: said, record) }
        // What is before that has no note, whatever became of it.
        inputs[input].start = said
        findings.counts.skipped += try pass(input, to: said, handledAt: record.timestamp, isMissing: false)
        inputs[input].next = said
    }
}

// MARK: - Answers

extension PartitionAudit {
    private mutating func judge(_ answer: Answer, _ record: AuditRecord) throws {
        findings.counts.answers += 1
        let input = answer.kind == .restock ? 1 : 0
        guard let reading = try take(answer.offset, of: input, by: record) else { return followAnswer(ifAhead: true) }
        guard case .answer(let command) = reading.verdict, isSame(json.text(answer.store), names.stores[command.store]),
            names.identity(answer.kind, store: command.store, id: json.text(answer.id)) == command.identity
        else {
            memory.forget(at: record.timestamp)
            doubt(reading.place, .wrong, record, "it answers \(reading.place.description), which is \(describe(reading))")
            return followAnswer()
        }
        findings.counts.commands += 1
        if let source = reading.source { inputs[input].sources[source.name] = source.offset }
        if let problem = problem(of: answer, record, reading, names.stores[command.store]) { blame(reading, record, problem) }
        if answer.isDuplicate {
            findings.counts.duplicates += 1
            judgeDuplicate(answer, record, command, reading)
        } else {
            judgeFirst(answer, record, command, reading)
        }
    }

    private mutating func blame(_ reading: Reading, _ record: AuditRecord, _ problem: String, _ category: Fault.Category = .wrong) {
        doubt(reading.place, category, record, "\(describe(reading)) \(problem)", isAnswer: true)
    }

    /// What is wrong with what surrounds an answer.
    private func problem(of answer: Answer, _ record: AuditRecord, _ reading: Reading, _ store: [UInt8]) -> String? {
        if record.key != store { return "has an answer whose key is not its store" }
        let asked = reading.record.headers
        if !asked.isEmpty || !record.headers.isEmpty, asked.traces != record.headers.traces {
            return "has an answer whose trace headers are not the command's"
        }
        let (from, source) = (answer.from.map { String(decoding: json.text($0), as: UTF8.self) }, reading.source?.header)
        return from == source ? nil : "is answered as from \(from ?? "nowhere"), should be \(source ?? "nowhere")"
    }

    private mutating func judgeDuplicate(_ answer: Answer, _ record: AuditRecord, _ command: Command, _ reading: Reading) {
        guard let first = memory.firstAnswer(to: command), first.kind == command.kind else {
            if memory.mayHaveExpired(reading.moment) { return findings.counts.unjudged += 1 }
            return blame(reading, record, "is answered as a duplicate, and is none")
        }
        if answer.contents(json) != first.contents { blame(reading, record, "is answered otherwise than at \(first.offset)") }
    }

    private mutating func judgeFirst(_ answer: Answer, _ record: AuditRecord, _ command: Command, _ reading: Reading) {
        let first = memory.firstAnswer(to: command)
        let contents = answer.contents(json)
        let tasks = memory.tasks(of: command, at: reading.moment, returned: json.amounts("returned", rules.menu))
        var before = state(of: command.store)
        if before.revision == nil, let revision = json.integer("revision") {
            before = revision == 1 ? newStore(isKnown: true) : StoreState(levels: before.levels, revision: revision &- 1)
        }
        var (outcome, difference) = carryOut(tasks.first, command, before, answer)
        if difference != nil, let second = tasks.second {
            let other = carryOut(second, command, before, answer)
            if other.difference == nil { (outcome, difference) = other }
        }
        if let first, first.kind == command.kind, memory.isRemembered(first, reading.moment) {
            blame(reading, record, "is carried out again, after \(first.offset)", .doubled)
            // The first answer repeated, only not marked as a duplicate, changed nothing.
            if contents == first.contents, difference != nil { return }
        }
        // It should be one fault, and not one more for each answer after it.
        if let difference {
            blame(reading, record, difference)
            outcome = Outcome(saidBy: json, on: before, rules.menu)
        }
        let sent = inputs[command.kind == .restock ? 1 : 0].times.first(reading.moment)
        memory.remember(contents, at: record.offset, command, outcome, reading.moment, first: sent)
        count(outcome)
        if outcome.isChange { set(outcome.after, of: command.store) }
    }

    /// What a task results in, and how the answer differs from that.
    private mutating func carryOut(_ task: Command.Task, _ command: Command, _ before: StoreState, _ answer: Answer) -> (
        outcome: Outcome, difference: String?
    ) {
        guard before.decides(task) else {
            findings.counts.unjudged += 1
            return (Outcome(saidBy: json, on: before, rules.menu), nil)
        }
        let outcome = Outcome(of: task, command, on: before, rules.menu)
        guard let text = answer.text(json) else { return (outcome, "has an answer that does not end with a message") }
        let type = json.text(answer.type)
        if isSame(text, outcome.text), type.elementsEqual(outcome.kind.rawValue.utf8) { return (outcome, nil) }
        let (said, should) = (String(decoding: text, as: UTF8.self), String(decoding: outcome.text, as: UTF8.self))
        return (outcome, "is \(String(decoding: type, as: UTF8.self))\(said), should be \(outcome.kind)\(should)")
    }

    /// Nobody knows whether the answer is right. What it says of the stock counts.
    ///
    /// - Parameter ifAhead: whether it must be of a later revision, as it is not if it only stands there twice.
    private mutating func followAnswer(ifAhead: Bool = false) {
        guard let store = json.value("store").flatMap(json.string).flatMap({ names.store($0) }), names.owners[store] == partition
        else { return }
        let (before, claimed) = (state(of: store), json.claimed(from: state(of: store), rules.menu))
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

    private mutating func count(_ outcome: Outcome) {
        switch outcome.kind {
        case .juiceMade: findings.counts.juicesMade += 1
        case .outOfStock: findings.counts.outOfStock += 1
        case .restocked: findings.counts.restocked += 1
        case .cancelled: findings.counts.cancelled += 1
        case .rejected: findings.counts.rejected += 1
        }
    }
}
